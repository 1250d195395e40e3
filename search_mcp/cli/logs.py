"""`logs`: what servers wrote to their stderr, from the files in the log folder, and what they write now.

The lines of several servers are merged in order of time. Lines of earlier versions have no time: each stays
behind the line before it. Files are opened only to be read: on Windows one that is open cannot be renamed
by whoever writes it.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.backends.process.stderr_log import file_name, split_time
from search_mcp.cli import completion, inventory
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Problem
from search_mcp.cli.session import run_alone
from search_mcp.cli.terminal import Terminal
from search_mcp.config import watching
from search_mcp.config.schema import ServerConfig
from search_mcp.config.secrets import redact
from search_mcp.folders import log_folder


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log file."""

    text: str
    time: str | None
    order: str
    """Its time, or that of the line before it; empty if neither has one."""


Show = Callable[[ServerConfig, Line], None]


@takes("config", "as_json", "debug")
def logs(
    options: Options,
    of_server: Annotated[
        str | None,
        typer.Argument(metavar="[SERVER]", help="Only this server's log.", autocompletion=completion.server_names),
    ] = None,
    following: Annotated[bool, typer.Option("--follow", "-f", help="Keep showing new lines until Ctrl-C.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, metavar="N", help="Number of lines per server.")] = 50,
) -> int:
    """Show the servers' stderr logs."""
    screen = options.screen
    loaded, _ = options.configuration()
    if of_server is not None:
        inventory.known_server(loaded, of_server)
    folder = log_folder()
    files = [LogFile(each, folder) for each in loaded.servers if of_server in (None, each.name)]

    def show(of: ServerConfig, line: Line) -> None:
        if options.as_json:
            screen.json_line({"server": of.name, "time": line.time, "line": line.text})
        elif of_server is not None:
            screen.text(" ".join(filter(None, (line.time, line.text))))
        else:
            screen.logged(line.time, of.name, line.text)

    if following:
        run_alone(lambda: follow(files, folder, lines, show, screen))
    else:
        check(files, folder)
        show_last(files, lines, show)
    return FINE


class LogFile:
    """One server's log file, read on from where it was left; it may be replaced by a new one at any time."""

    def __init__(self, server: ServerConfig, folder: Path) -> None:
        self.server = server
        self.path = folder / file_name(server.name)
        self._older = self.path.with_suffix(".old.log")
        self._position = _Position(None, 0)
        self._unfinished = b""
        self._order = ""

    def written_at(self) -> float:
        """When it was last written to; zero if never."""
        return self.path.stat().st_mtime if self.path.exists() else 0.0

    def last_lines(self, count: int) -> list[Line]:
        """Read to the end of the file; give the last lines, of the older file too where need be."""
        older = _read(self._older, _Position(None, 0))[0]
        data, self._position = _read(self.path, self._position)
        *whole, self._unfinished = (older + data).split(b"\n")
        shown_from = max(0, len(whole) - count)
        times_before = (split_time(_text(line))[0] for line in reversed(whole[:shown_from]))
        self._order = next(filter(None, times_before), "")
        return self._decoded(whole[shown_from:])

    def new_lines(self) -> list[Line]:
        """Read what was written since; a line is given once it is whole."""
        data = b""
        if self._position.file not in (None, _identity(self.path)):
            if self._position.file == _identity(self._older):
                data = _read(self._older, self._position)[0]
            self._position = _Position(None, 0)
        more, self._position = _read(self.path, self._position)
        *whole, self._unfinished = (self._unfinished + data + more).split(b"\n")
        return self._decoded(whole)

    def rest(self) -> list[Line]:
        """Give the last line, if it is not whole."""
        return self._decoded([self._unfinished] if self._unfinished else [])

    def _decoded(self, lines: Iterable[bytes]) -> list[Line]:
        decoded = []
        for line in lines:
            time, text = split_time(_text(line))
            self._order = time or self._order
            decoded.append(Line(redact(text, self.server.secrets), time, self._order))
        return decoded


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")


@dataclass(frozen=True, slots=True)
class _Position:
    file: int | None
    """The file's identity, whatever it is called now; None before it was first read."""
    offset: int


def _identity(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _read(path: Path, position: _Position) -> tuple[bytes, _Position]:
    """Read a file from a position to its end; nothing where there is none."""
    identity = _identity(path)
    if identity is None:
        return b"", position
    with path.open("rb") as file:
        file.seek(position.offset)
        data = file.read()
    return data, _Position(identity, position.offset + len(data))


def show_last(files: Sequence[LogFile], count: int, show: Show) -> None:
    """Show the last lines of each."""
    _show_merged([(log, [*log.last_lines(count), *log.rest()]) for log in _last_written_last(files)], show)


async def follow(files: Sequence[LogFile], folder: Path, count: int, show: Show, terminal: Terminal) -> None:
    """Show the last lines, then every line as it is written, until nobody reads them any more."""
    _make(folder)
    _show_merged([(log, log.last_lines(count)) for log in _last_written_last(files)], show)
    with watching.noticed(folder) as edited:
        while not terminal.is_unread:
            _show_merged([(log, log.new_lines()) for log in files], show)
            await edited.wait()
            edited.clear()


def _last_written_last(files: Iterable[LogFile]) -> list[LogFile]:
    return sorted(files, key=LogFile.written_at)


def _show_merged(lines_of: Iterable[tuple[LogFile, list[Line]]], show: Show) -> None:
    """Show the lines of several files in order of time; those of one file stay in their order."""
    streams = [[(log.server, line) for line in lines] for log, lines in lines_of]
    for server, line in heapq.merge(*streams, key=lambda entry: entry[1].order):
        show(server, line)


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # where nothing is, nothing can be watched


def check(files: Sequence[LogFile], folder: Path) -> None:
    """Refuse to show logs where there are none.

    Raises:
        Problem: no server has written any.
    """
    if not any(log.written_at() for log in files):
        raise Problem(f"there are no logs in {folder}", "servers write them there while an AI client uses search-mcp")
