"""Files that others read while they are written, whole or not at all, and locks for those who change them in turn."""

import contextlib
import errno
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

log = logging.getLogger(__name__)

PAUSES_SECONDS = {"win32": (0.01, 0.02, 0.05)}.get(sys.platform, ())
"""Windows replaces no file that somebody has open, as scanners have one for a moment: it is tried again then."""
LOCK_LOOK_SECONDS = 0.01
"""How often a lock is looked at that another process has: each has it for about a millisecond."""


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
def beside(path: Path, data: bytes, prepare: Callable[[int], None] = lambda _descriptor: None) -> Iterator[Path]:
    """Write a file, the user's alone, in the folder of another whose place it may take; if it does not, it goes.

    `prepare` is given the open file's descriptor when all is written: in a folder that others write to, the name may
    mean another file by then.

    Raises:
        OSError: it cannot be written.
    """
    # Not by the process's number: in containers that share a folder, many have the same.
    new = path.with_name(f".{path.name}-{os.urandom(8).hex()}")
    try:
        with open(new, "wb", opener=_private) as file:  # a path's own `open` has no opener
            file.write(data)
            file.flush()
            prepare(file.fileno())
        yield new
    finally:
        new.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    """Make a file that was not there, and follow no link that somebody has put there."""
    return os.open(path, flags | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)


@contextlib.contextmanager
def locked(lock: Path, patience_seconds: float) -> Iterator[None]:
    """Keep out whoever else asks for this lock, a file that is made; the system frees it when its holder dies.

    Where no lock can be had, in a folder that is read-only or on a file system without locks, nobody is kept out.

    Raises:
        TimeoutError: somebody else had it all the time.
    """
    filelock = import_module("filelock")  # for the few writes there are, not at the start
    with contextlib.ExitStack() as held:
        try:
            lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            held.enter_context(
                filelock.FileLock(
                    lock, patience_seconds, 0o600, poll_interval=LOCK_LOOK_SECONDS, fallback_to_soft=False
                )
            )
        except filelock.Timeout as exc:
            reason = f"another process has not been done with it for {patience_seconds:g} s"
            raise TimeoutError(errno.ETIMEDOUT, reason, str(lock)) from exc
        except OSError as exc:
            log.debug("= nobody is kept out by %s: %s", lock, exc)
        yield
