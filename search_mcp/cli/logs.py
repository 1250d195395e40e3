"""`logs`: what servers wrote to their stderr, from the files in the log folder, and what they write now.

The files hold no times, so what several servers wrote earlier is shown one server after the other, and
interleaved from then on. Files are opened only to be read: on Windows one that is open cannot be renamed
by whoever writes it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from search_mcp import edits
from search_mcp.aggregate import log_folder
from search_mcp.backend.journal import file_name
from search_mcp.cli import completion, inventory
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Problem
from search_mcp.cli.session import run_alone
from search_mcp.cli.terminal import Terminal
from search_mcp.config import ServerConfig, redact

Show = Callable[[ServerConfig, str], None]


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

    def show(of: ServerConfig, line: str) -> None:
        if options.as_json:
            screen.json_line({"server": of.name, "line": line})
        elif of_server is not None:
            screen.text(line)
        else:
            screen.logged(of.name, line)

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

    def written_at(self) -> float:
        """When it was last written to; zero if never."""
        return self.path.stat().st_mtime if self.path.exists() else 0.0

    def last_lines(self, count: int) -> list[str]:
        """Read to the end of the file; give the last lines, of the older file too where need be."""
        older = _read(self._older, _Position(None, 0))[0]
        data, self._position = _read(self.path, self._position)
        *whole, self._unfinished = (older + data).split(b"\n")
        return self._decoded(deque(whole, count))

    def new_lines(self) -> list[str]:
        """Read what was written since; a line is given once it is whole."""
        data = b""
        if self._position.file not in (None, _identity(self.path)):
            if self._position.file == _identity(self._older):
                data = _read(self._older, self._position)[0]
            self._position = _Position(None, 0)
        more, self._position = _read(self.path, self._position)
        *whole, self._unfinished = (self._unfinished + data + more).split(b"\n")
        return self._decoded(whole)

    def rest(self) -> list[str]:
        """Give the last line, if it is not whole."""
        return self._decoded([self._unfinished] if self._unfinished else [])

    def _decoded(self, lines: Iterable[bytes]) -> list[str]:
        return [redact(line.decode(errors="replace").rstrip("\r"), self.server.secrets) for line in lines]


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
    """Show the last lines of each; what was written to last comes last."""
    for log in sorted(files, key=LogFile.written_at):
        for line in [*log.last_lines(count), *log.rest()]:
            show(log.server, line)


async def follow(files: Sequence[LogFile], folder: Path, count: int, show: Show, terminal: Terminal) -> None:
    """Show the last lines, then every line as it is written, until nobody reads them any more."""
    _make(folder)
    for log in sorted(files, key=LogFile.written_at):
        for line in log.last_lines(count):
            show(log.server, line)
    with edits.noticed(folder) as edited:
        while not terminal.is_unread:
            for log in files:
                for line in log.new_lines():
                    show(log.server, line)
            await edited.wait()
            edited.clear()


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # where nothing is, nothing can be watched


def check(files: Sequence[LogFile], folder: Path) -> None:
    """Refuse to show logs where there are none.

    Raises:
        Problem: no server has written any.
    """
    if not any(log.written_at() for log in files):
        raise Problem(f"there are no logs in {folder}", "servers write them there while an AI client uses search-mcp")
