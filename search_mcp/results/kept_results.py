"""The files of shortened results: one folder for each process, with a lock that the system releases when it ends.

Decides which files are deleted: the oldest where there are too many, and those of processes that have ended. It knows
no client. Every function of the files may block.
"""

import contextlib
import logging
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from search_mcp.background import Apart, FileQueue, in_own_thread, in_queue
from search_mcp.files import make_folder, write_whole
from search_mcp.folders import results_folder
from search_mcp.results.result_search import Found, Search, search_apart
from search_mcp.wire.structs import Struct

log = logging.getLogger(__name__)

KEPT_SECONDS = 3600.0
"""Time that a result is kept: as long as a model goes on with one task."""
MOST_BYTES = 256 << 20
"""Most bytes of all results of the user together."""
YOUNG_SECONDS = 5.0
"""Age of a folder below which its process may not have locked it yet."""
UNMEASURED_PART = 16
"""All files are measured again once `most_bytes / UNMEASURED_PART` were written: there may be thousands."""
_LOCK = "lock"
_NAME = "[0-9a-f]" * 16
"""Pattern of the names of folders and files; everything with another name is somebody else's."""


class KeptFiles:
    """The files of one process."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES, clock: Callable[[], float] = time.time) -> None:
        """`folder` is that of all processes of the user."""
        self._folder, self._most_bytes, self._clock = folder, most_bytes, clock
        self._own: Path | None = None
        self._lock: Any = None
        self._is_changing = threading.Lock()
        self._room = 0  # bytes that may be written before all files are measured again

    def keep(self, data: bytes) -> Path:
        """Write a file, readable by the user only.

        Raises:
            OSError: it cannot be written, or is larger than all files may be.
        """
        if len(data) > self._most_bytes:
            raise OSError(f"it is larger than {self._most_bytes:,} bytes")
        with self._is_changing:
            own = self._own_folder()
            if len(data) > self._room:
                self._make_room(len(data))
            self._room -= len(data)
            path = own / secrets.token_hex(8)
            write_whole(path, data)
            return path

    def delete(self, path: Path) -> None:
        """Delete a file, if it is still there."""
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)

    def end(self) -> None:
        """Delete all files of this process."""
        with self._is_changing:
            if self._own is not None:
                self._lock.release()
                shutil.rmtree(self._own, ignore_errors=True)
                self._own = None

    def _own_folder(self) -> Path:
        """Return the folder of this process; it is made and locked with its first file."""
        if self._own is None or not self._own.is_dir():
            own = self._folder / secrets.token_hex(8)
            make_folder(self._folder)
            own.mkdir(mode=0o700)
            self._lock = _lock_of(own)
            with contextlib.suppress(OSError):  # a file system without locks: then only the age of files counts
                self._lock.acquire(timeout=0)
            self._own = own
        return self._own

    def _make_room(self, size: int) -> None:
        """Delete the oldest files of all processes until there is room for another one."""
        found = sorted(self._files())
        room = self._most_bytes - sum(each for _, each, _ in found)
        for _, each, path in found:
            if room >= size:
                break
            self.delete(path)
            room += each
        self._room = max(size, min(room, self._most_bytes // UNMEASURED_PART))

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """Yield all results with their times and sizes."""
        for folder in self._folders():
            for path in folder.glob(_NAME):
                with contextlib.suppress(OSError):  # deleted meanwhile
                    status = path.lstat()
                    yield status.st_mtime, status.st_size, path

    def _folders(self) -> Iterator[Path]:
        """Yield the folders of all processes. A link leads to a folder of something else."""
        return (each for each in self._folder.glob(_NAME) if not each.is_symlink())

    def sweep(self) -> None:
        """Delete what processes left that were killed, and what is too old."""
        now = self._clock()
        for changed, _, path in self._files():
            if changed < now - KEPT_SECONDS - YOUNG_SECONDS:
                self.delete(path)
        for folder in self._folders():
            if folder != self._own:
                with contextlib.suppress(OSError):
                    self._sweep(folder, now)

    def _sweep(self, folder: Path, now: float) -> None:
        """Delete the folder of a process that has ended.

        Raises:
            OSError: it cannot be locked, or has no lock and is not empty, so it is not of search-mcp.
        """
        if folder.stat().st_mtime > now - YOUNG_SECONDS:
            return
        if not (folder / _LOCK).exists():
            folder.rmdir()
            return
        lock = _lock_of(folder)
        try:
            lock.acquire(timeout=0)
        except TimeoutError:  # it runs
            return
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)
        log.debug("= results of a process that ended without deleting them are deleted")


class KeptResults(Struct, frozen=True):
    """The files of a process, and how the event loop has them written and read."""

    files: KeptFiles
    write: Apart
    read: Apart
    search: Callable[[Search], Found] = search_apart
    finish: Callable[[], None] = lambda: None
    """Waits for the queue of `write`, for a short time."""

    def delete(self, path: Path) -> None:
        """Have a file deleted."""
        self.write(partial(self.files.delete, path), _ignore)

    def end(self) -> None:
        """Delete all files, at the end of the process."""
        self.write(self.files.end, _ignore)
        self.finish()


def make_kept_results() -> KeptResults:
    """Make the kept results of a process that serves: one thread writes, and each reading has its own."""
    queue = FileQueue()
    return KeptResults(KeptFiles(results_folder()), in_queue(queue), in_own_thread, finish=queue.finish)


def _ignore(_done: None) -> None:
    """Ignore that something is done."""


def _lock_of(folder: Path) -> Any:
    import filelock  # loaded with the first long result, not at the start

    return filelock.FileLock(folder / _LOCK, 0, 0o600, thread_local=False, fallback_to_soft=False)
