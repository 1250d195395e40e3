"""The user's browser, opened by a process that this command does not wait for."""

import contextlib
import subprocess
import sys
from urllib.parse import urlsplit

_PROGRAM = "import sys, webbrowser; webbrowser.open(sys.stdin.read())"


def open_page(url: str) -> None:
    """Open an address in the user's browser, if there is one; nothing is reported if there is none.

    The `webbrowser` module runs in a process of its own without a terminal: some browsers write to it, stay in the
    foreground, or draw on it. This process reads the address: its arguments would be shown to all users.

    Raises:
        ValueError: it is not the address of a web page.
        OSError: the process cannot be started.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("not the address of a web page")
    opening = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert opening.stdin is not None
    with contextlib.suppress(BrokenPipeError), opening.stdin as stdin:
        stdin.write(url.encode())
