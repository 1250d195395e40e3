"""Files that a person asked for: refused before any work is done, written afterwards."""

from pathlib import Path

from search_mcp.cli.problem import Misuse, Problem


def check(path: Path) -> None:
    """Refuse a file that could not be written.

    Raises:
        Misuse: there is no such folder, or it is one.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise Misuse(f"{path} is no file that could be written", "name a file in a folder that exists")


def write(path: Path, data: bytes) -> None:
    """Write a file.

    Raises:
        Problem: it cannot be written.
    """
    try:
        path.write_bytes(data)
    except OSError as exc:
        raise Problem(f"{path} cannot be written ({exc.strerror})", "name another file") from exc
