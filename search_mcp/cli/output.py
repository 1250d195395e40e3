"""Output files, checked before any work is done, and written afterwards."""

import os
from pathlib import Path

from search_mcp.cli.problem import Misuse, Problem


def check(path: Path) -> None:
    """Check that a file can be written.

    Raises:
        Misuse: its folder does not exist, it is a folder itself, or the user may not write there.
    """
    if path.is_dir() or not path.parent.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Misuse(f"{path} cannot be written", "choose a file in an existing folder that you may write to")


def write(path: Path, data: bytes) -> None:
    """Write a file.

    Raises:
        Problem: the file cannot be written.
    """
    try:
        path.write_bytes(data)
    except OSError as exc:
        raise Problem(f"{path} cannot be written ({exc.strerror})", "name another file") from exc
