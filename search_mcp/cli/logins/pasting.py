"""Reads one long line from stdin, also from a terminal.

A terminal hands over lines of 1,024 bytes at most on macOS, and of 4,095 on Linux; pasted addresses are longer than
that at some providers. So the editing of lines by the terminal is switched off, and done here.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

from search_mcp.background import run_in_thread

LONGEST_LINE = 64 * 1024
"""Bytes of a line that are read."""
_ERASE, _END = (0x7F, 0x08), 0x04
"""Backspace and Ctrl-D, which a terminal passes on without editing of lines."""


async def read_line(prompt: Callable[[], None]) -> str:
    """Read a line, after the prompt for it; without a line break at its end if stdin has ended."""
    with _without_editing():
        prompt()
        return await run_in_thread(_read)


def _read() -> str:
    """Read a line.

    `sys.stdin` is not used: it would be locked by this thread, and the end of the process would wait for it.
    """
    line = bytearray()
    is_terminal = sys.stdin.isatty()
    while len(line) < LONGEST_LINE and not line.endswith(b"\n"):
        try:
            chunk = os.read(sys.stdin.fileno(), 4096)
        except OSError:  # it is closed
            break
        if not chunk or (is_terminal and _END in chunk):
            break
        for byte in chunk:
            if is_terminal and byte in _ERASE:
                del line[-1:]
            else:
                line.append(byte)
    return line.decode(errors="replace")


@contextlib.contextmanager
def _without_editing() -> Iterator[None]:
    """Let a terminal pass on every byte at once; signals of keys stay."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    import termios  # not on Windows

    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    changed = termios.tcgetattr(number)
    changed[3] &= ~termios.ICANON
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    termios.tcsetattr(number, termios.TCSADRAIN, changed)
    try:
        yield
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
