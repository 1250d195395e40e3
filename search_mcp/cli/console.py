"""The consoles of a command, built on rich: stdout and stderr, and how states look on them.

Decides the width without a terminal, and that a closed pipe ends the output without an error.
"""

import errno
import io
import os
import sys
from typing import Any

from rich.console import Console as RichConsole

WHOLE_LINES = 100_000
"""Width in columns without a terminal: larger than any line, so that nothing is wrapped."""

STATE_STYLES = {
    "ready": "green",
    "known": "green",
    "failed": "red",
    "held": "yellow",
    "off": "dim",
    "starting": "yellow",
    "not started": "yellow",
    "logged in": "green",
    "needs a login": "yellow",
}
_MARKS = {"ready": ("*", "\N{CHECK MARK}"), "failed": ("x", "\N{BALLOT X}"), "off": ("-", "-")}
"""Signs in ASCII and in Unicode."""


def is_of_closed_pipe(exc: OSError, platform: str) -> bool:
    """Return whether a write failed because the reader has closed the pipe.

    Windows reports that as an invalid argument: https://github.com/python/cpython/issues/79935.
    """
    return exc.errno == errno.EPIPE or (platform == "win32" and exc.errno == errno.EINVAL and exc.filename is None)


class Console(RichConsole):
    """A console that discards its output after its reader has closed it."""

    is_broken = False

    def print(self, *objects: Any, **how: Any) -> None:
        """Print; recognises a closed pipe on Windows as well."""
        try:
            super().print(*objects, **how)
        except OSError as exc:
            if not is_of_closed_pipe(exc, sys.platform):
                raise
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Discard all further output."""
        self.is_broken = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)


def open_console(*, stderr: bool = False) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if isinstance(console.file, io.TextIOWrapper):
        console.file.reconfigure(errors="replace")  # other characters are still shown where the encoding lacks some
    if not console.file.isatty():
        columns = os.environ.get("COLUMNS", "")
        console.width = int(columns) if columns.isdecimal() and int(columns) else WHOLE_LINES
    return console


def writes_unicode(target: Console) -> bool:
    """Return whether a console can show characters beyond ASCII."""
    return target.encoding.lower().startswith("utf")


def mark(state: str, target: Console) -> str:
    """Return the sign of a state, in ASCII where the console shows nothing else."""
    plain, written = _MARKS.get(state, _MARKS["failed"])
    return written if writes_unicode(target) else plain
