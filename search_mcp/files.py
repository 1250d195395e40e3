"""Files that others read while they are written: whole or not at all."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PAUSES_SECONDS = {"win32": (0.01, 0.02, 0.05)}.get(sys.platform, ())
"""Windows replaces no file that somebody has open, as scanners have one for a moment: it is tried again then."""


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in place in one step, in a folder that is made if need be and is the user's alone.

    Raises:
        OSError: it cannot be written; what was there before is still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with beside(path, data) as new:
        take_place(new, path)


def take_place(new: Path, path: Path) -> None:
    """Put a file where another may be, in one step.

    Raises:
        OSError: it cannot be put there.
    """
    for pause in PAUSES_SECONDS:
        try:
            new.replace(path)
        except PermissionError:
            time.sleep(pause)
        else:
            return
    new.replace(path)


@contextlib.contextmanager
def beside(path: Path, data: bytes) -> Iterator[Path]:
    """Write a file, the user's alone, in the folder of another whose place it may take; if it does not, it goes.

    Raises:
        OSError: it cannot be written.
    """
    new = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with open(new, "wb", opener=_private) as file:  # a path's own `open` has no opener
            file.write(data)
        yield new
    finally:
        new.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
