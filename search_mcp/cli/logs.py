"""`logs`: the stderr logs of the servers, and new lines as they are written.

The lines of several servers are merged in order of time; one without a time stays behind the line before it. Times in
the files are in UTC, and local in the output for people. A file is open only while it is read: on Windows, its writer
could not rename it otherwise.
"""

import contextlib
import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.backends.process.stderr_log import file_name, split_time
from search_mcp.cli import completion, inventory
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Problem
from search_mcp.cli.session import run_alone
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import ServerConfig
from search_mcp.config.watches import Watches
from search_mcp.files import make_folder, without_waiting
from search_mcp.folders import log_folder


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log file."""

    text: str
    time: str | None


Following = Annotated[bool, typer.Option("--follow", "-f", help="Keep showing new lines until Ctrl-C.")]
Show = Callable[[str, Line], None]
"""Shows a line of a log of this name."""


@takes("config", "as_json", "debug")
def logs(
    options: Options,
    of_server: Annotated[
        str | None,
        typer.Argument(metavar="[SERVER]", help="Only this server's log.", autocompletion=completion.server_names),
    ] = None,
    following: Following = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, metavar="N", help="Number of lines per server.")] = 50,
) -> int:
    """Show the servers' stderr logs."""
    screen = options.screen
    loaded, _ = options.configuration()
    if of_server is not None:
        inventory.known_server(loaded, of_server)
    folder = log_folder()
    files = [of_one(each, folder) for each in loaded.servers if of_server in (None, each.name)]

    def show(name: str, line: Line) -> None:
        if options.as_json:
            screen.json_line({"server": name, "time": line.time, "line": line.text})
        elif of_server is not None:
            screen.text(" ".join(filter(None, (_local(line.time), line.text))))
        else:
            screen.logged(_local(line.time), name, line.text)

    print_lines(files, folder, lines, show, options, is_following=following)
    return FINE


class LogFile:
    """One log file, read in parts; its writer may replace it with a new file at any time."""

    def __init__(self, name: str, path: Path, redact: Callable[[str], str] = lambda text: text) -> None:
        self.name, self.path, self._redact = name, path, redact
        self._older = self.path.with_suffix(".old.log")
        self._position = _Position(None, 0)
        self._unfinished = b""

    def written_at(self) -> float:
        """Return the time of the last write, in seconds since the epoch; zero if there is no file."""
        return self.path.stat().st_mtime if self.path.exists() else 0.0

    def last_lines(self, count: int) -> list[Line]:
        """Read to the end of the file; returns the last lines, with lines of the older file if necessary."""
        older = _read(self._older, _Position(None, 0))[0]
        data, self._position = _read(self.path, self._position)
        *whole, self._unfinished = (older + data).split(b"\n")
        return self._decoded(whole[max(0, len(whole) - count) :])

    def new_lines(self) -> list[Line]:
        """Read the whole lines written since the last read."""
        data = b""
        if self._position.file not in (None, _identity(self.path)):
            if self._position.file == _identity(self._older):
                data = _read(self._older, self._position)[0]
            self._position = _Position(None, 0)
        more, self._position = _read(self.path, self._position)
        *whole, self._unfinished = (self._unfinished + data + more).split(b"\n")
        return self._decoded(whole)

    def rest(self) -> list[Line]:
        """Return the last line, if it is incomplete."""
        return self._decoded([self._unfinished] if self._unfinished else [])

    def _decoded(self, lines: Iterable[bytes]) -> list[Line]:
        split = (split_time(line.decode(errors="replace").rstrip("\r")) for line in lines)
        return [Line(self._redact(text), time) for time, text in split]


def _local(time: str | None) -> str | None:
    """Write a time of a log file as local time, as in the log of an engine."""
    with contextlib.suppress(ValueError, OverflowError):  # a line may begin with any text
        return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M:%S}" if time is not None else None
    return time


def of_one(server: ServerConfig, folder: Path) -> LogFile:
    """Return the log file of a server."""
    return LogFile(server.name, folder / file_name(server.name), server.redactor)


@dataclass(frozen=True, slots=True)
class _Position:
    file: int | None
    """Inode of the file, whose name may have changed; None before the first read."""
    offset: int


def _identity(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _read(path: Path, position: _Position) -> tuple[bytes, _Position]:
    """Read a file from a position to its end; nothing if there is no file."""
    identity = _identity(path)
    if identity is None:
        return b"", position
    with open(path, "rb", opener=without_waiting) as file:
        if file.seekable():
            file.seek(position.offset)
        data = file.read() or b""
    return data, _Position(identity, position.offset + len(data))


def print_lines(
    files: Sequence[LogFile], folder: Path, lines: int, show: Show, options: Options, *, is_following: bool
) -> None:
    """Print the last lines of log files; then name the files or, if `is_following`, print new lines.

    Raises:
        Problem: there is no log yet.
    """
    if is_following:
        run_alone(lambda: follow(files, folder, lines, show, options.screen))
        return
    check(files, folder)
    show_last(files, lines, show)
    if not options.as_json:
        options.screen.note(f"From {files[0].path if len(files) == 1 else folder}; --follow shows new lines.")


def show_last(files: Sequence[LogFile], count: int, show: Show) -> None:
    """Show the last lines of each file."""
    _show_merged([(log, [*log.last_lines(count), *log.rest()]) for log in _last_written_last(files)], show)


async def follow(files: Sequence[LogFile], folder: Path, count: int, show: Show, terminal: Terminal) -> None:
    """Show the last lines, then new lines as they are written, until the reader of stdout has closed it."""
    make_folder(folder)  # only an existing folder can be watched
    _show_merged([(log, log.last_lines(count)) for log in _last_written_last(files)], show)
    with Watches().noticed(folder) as edited:
        while not terminal.is_unread:
            _show_merged([(log, log.new_lines()) for log in files], show)
            await edited.wait()
            edited.clear()


def _last_written_last(files: Iterable[LogFile]) -> list[LogFile]:
    return sorted(files, key=LogFile.written_at)


def _show_merged(lines_of: Iterable[tuple[LogFile, list[Line]]], show: Show) -> None:
    """Show the lines of several files in order of time, keeping the order within each file."""
    streams = [[(log.name, line) for line in lines] for log, lines in lines_of]
    for name, line in heapq.merge(*streams, key=lambda entry: entry[1].time or ""):
        show(name, line)


def check(files: Sequence[LogFile], folder: Path) -> None:
    """Check that there are logs to show.

    Raises:
        Problem: no server has written to its log.
    """
    if not any(log.written_at() for log in files):
        nothing = f"{files[0].name} has no log yet" if len(files) == 1 else "there are no logs yet"
        raise Problem(f"{nothing} in {folder}", "logs are written while an AI client uses search-mcp")
