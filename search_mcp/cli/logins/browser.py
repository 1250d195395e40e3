"""The user's browser, opened by a process that this command does not wait for."""

import subprocess
import sys
from urllib.parse import urlsplit


def open_page(url: str) -> None:
    """Open an address in the user's browser, if there is one; nothing is reported if there is none.

    The `webbrowser` module runs in a process of its own without a terminal: some browsers write to it, stay in the
    foreground, or draw on it.

    Raises:
        ValueError: it is not the address of a web page.
        OSError: the process cannot be started.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError("not the address of a web page")
    subprocess.Popen(
        [sys.executable, "-P", "-m", "webbrowser", url],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
