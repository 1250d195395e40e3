"""The command at a real terminal, with its screen and keys."""

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

from fork_server import Forked
from rich.cells import cell_len

from cli.conftest import COMMAND, SECONDS, Place

_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Screen:
    """One run of the command at a terminal of a given width."""

    def __init__(
        self,
        place: Place,
        *words: str,
        columns: int = 80,
        stdout: int | None = None,
        command: tuple[str, ...] | None = None,
        **variables: str,
    ) -> None:
        self._columns = columns
        self._terminal, other_end = os.openpty()
        fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {**place.variables, "TERM": "xterm-256color", "PAGER": "", **variables}
        streams = other_end, other_end if stdout is None else stdout, other_end
        self._process: Forked | subprocess.Popen[bytes]
        if command is None and (server := place.fork_server_for(environment)) is not None:
            self._process = server.start(
                ["-m", "search_mcp", *words], streams, folder=place.folder, environment=environment, terminal=True
            )
        else:
            self._process = subprocess.Popen(
                [*(command or COMMAND), *words],
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                cwd=place.folder,
                env=environment,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # makes Ctrl-C a signal
            )
        os.close(other_end)
        self._seen = b""
        self._deadline = time.monotonic() + SECONDS

    def wait_for(self, text: str) -> None:
        """Read until a text is shown."""
        while text not in self.shown:
            assert self._read(), self.shown

    def press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def end(self) -> int:
        """Read until the command exits; return the exit code."""
        while self._read():
            pass
        os.close(self._terminal)
        return self._process.wait(SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], max(0.0, self._deadline - time.monotonic()))
        assert ready, f"no output after {self.shown!r}"
        try:
            chunk = os.read(self._terminal, 65536)
        except OSError:  # on Linux, after the last process with the terminal has exited
            chunk = b""
        self._seen += chunk
        return chunk != b""

    @property
    def shown(self) -> str:
        """Return all output so far, without escape sequences."""
        return _SEQUENCE.sub("", self._seen.decode()).replace("\r\n", "\n")

    @property
    def colours(self) -> set[str]:
        return set(_COLOUR.findall(self._seen.decode())) - {"\x1b[0m"}

    @property
    def lines(self) -> list[str]:
        """Return the final content of the screen, without erased lines."""
        text = self._seen.decode().replace("\r\n", "\n").rpartition("\x1b[2K")[2]
        return _SEQUENCE.sub("", text).splitlines()

    def fits(self) -> bool:
        # A command to copy is one line, which the terminal wraps.
        texts = [line for line in self.lines if not line.startswith("  search-mcp ")]
        return all(cell_len(line) <= self._columns for line in texts)


def make_pipe(folder: Path) -> Path:
    """Make a pipe whose reader waits for a writer."""
    path = folder / "pipe"
    os.mkfifo(path)
    return path
