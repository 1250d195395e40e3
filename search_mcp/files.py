"""Private folders, atomic writes of files that other processes read, and locks for changing them in turn."""

import contextlib
import errno
import logging
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from search_mcp.folders import APP

log = logging.getLogger(__name__)

PAUSES_SECONDS = {"win32": (0.01, 0.02, 0.05)}.get(sys.platform, ())
"""Pauses before new attempts: Windows replaces no open file, and virus scanners open new files for a moment."""
LOCK_LOOK_SECONDS = 0.01
"""Poll interval for a contended lock, in seconds; each holder keeps it for about a millisecond."""


def make_folder(folder: Path) -> None:
    """Make a folder of search-mcp, with those above it that are missing, for the user only.

    Of those that exist, this folder and each up to the one called `search-mcp` are narrowed if they are the user's: an
    older version, or a wide umask, may have let others write to them.

    Raises:
        OSError: it cannot be made.
    """
    _make_missing(folder)
    if not hasattr(os, "geteuid"):
        return  # Windows gives the folders in a user's profile to this user
    for each in reversed(_up_to_app(folder)):
        with contextlib.suppress(OSError):  # a read-only file system
            found = each.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and found.st_mode & 0o077:
                each.chmod(0o700)


def _up_to_app(folder: Path) -> Sequence[Path]:
    """Return a folder and those above it, up to the one called `search-mcp`."""
    above = (folder, *folder.parents)
    names = [each.name for each in above]
    return above[: names.index(APP) + 1 if APP in names else 1]


def _make_missing(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileNotFoundError:
        _make_missing(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        if not folder.is_dir():
            raise


def write_whole(path: Path, data: bytes) -> None:
    """Write a file in one step; a missing folder is created, readable by the user only.

    Raises:
        OSError: it cannot be written; the file before is unchanged.
    """
    make_folder(path.parent)
    with beside(path, data) as new:
        take_place(new, path)


def take_place(new: Path, path: Path) -> None:
    """Move a file to a place where another may be, in one step.

    Raises:
        OSError: it cannot be moved there.
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
    """Write a temporary file, readable by the user only, beside the file that it may replace; delete it afterwards.

    `prepare` is given the descriptor of the written file: in a folder that others write to, the name may belong to
    another file by then.

    Raises:
        OSError: it cannot be written.
    """
    # Not named by process number: containers that share a folder have equal numbers.
    new = path.with_name(f".{path.name}-{os.urandom(8).hex()}")
    try:
        with open(new, "wb", opener=_private) as file:  # a path's own `open` has no opener
            file.write(data)
            file.flush()
            prepare(file.fileno())
        yield new
    finally:
        new.unlink(missing_ok=True)


def without_waiting(path: str, flags: int) -> int:
    """Open a file, or create it for the user only, without waiting for the other end if it is a pipe.

    It is the `opener` of `open`: a pipe in the place of a file must not stop this process for ever.
    """
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)


def read_whole(path: Path) -> bytes:
    """Read a file; a pipe in its place is empty.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb", opener=without_waiting) as file:
        return file.read() or b""


class NotBelievedError(ValueError):
    """Another user could have written a record of the user's decisions."""


def open_own(path: Path) -> BinaryIO:
    """Open a record of the user's decisions for reading.

    Raises:
        OSError: it cannot be read.
        NotBelievedError: it, its folder, or a link to one belongs to another user, or others may write to it.
    """
    file = open(path, "rb", opener=without_waiting)  # noqa: SIM115  # the caller closes it
    try:
        is_ours = all(map(is_only_ours, (os.fstat(file.fileno()), path.parent.stat())))
        # A link of another user may lead to what this user has of theirs, such as a clone.
        if not is_ours or any(map(_is_of_another_user, _up_to_app(path.parent))):
            raise NotBelievedError("another user could have written it, because it or its folder is not yours alone")
    except BaseException:
        file.close()
        raise
    return file


def is_only_ours(found: os.stat_result) -> bool:
    """Return whether only this user could write to a file or a folder; Windows does not tell."""
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


def _is_of_another_user(folder: Path) -> bool:
    """Return whether a folder, or a link in its place, belongs to another user; Windows does not tell."""
    return hasattr(os, "geteuid") and folder.lstat().st_uid != os.geteuid()


def first_irregular(paths: Iterable[Path]) -> Path | None:
    """Return the first path at which there is no regular file, but a pipe, say, for which a library would wait."""
    for path in paths:
        with contextlib.suppress(OSError):
            if not stat.S_ISREG(path.stat().st_mode):
                return path
    return None


def make_private(path: Path) -> None:
    """Make a file that only the user can read, and its folder, unless they are there; follow no link.

    This is for a library that would make the file for everybody. SQLite gives the files beside a database its rights.

    Raises:
        OSError: the file cannot be made, or not be written.
    """
    make_folder(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))


def identity(path: Path) -> tuple[int, int] | None:
    """Return numbers that another file or folder at the same path does not have; `None` if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _private(path: str, flags: int) -> int:
    """Create a new file; follow no link."""
    return os.open(path, flags | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)


@contextlib.contextmanager
def locked(lock: Path, patience_seconds: float) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is created; the system releases it when the process ends.

    In a read-only folder, or on a file system without locks, the lock is skipped.

    Raises:
        TimeoutError: another process held it all the time.
    """
    import filelock  # loaded with the first write, not at the start

    with contextlib.ExitStack() as held:
        try:
            make_folder(lock.parent)
            held.enter_context(
                filelock.FileLock(
                    lock, patience_seconds, 0o600, poll_interval=LOCK_LOOK_SECONDS, fallback_to_soft=False
                )
            )
        except filelock.Timeout as exc:
            reason = f"another process has held it for {patience_seconds:g} s"
            raise TimeoutError(errno.ETIMEDOUT, reason, str(lock)) from exc
        except OSError as exc:
            log.debug("= %s cannot be locked: %s", lock, exc)
        yield
