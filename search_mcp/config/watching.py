"""Watching files for edits, including those of editors that write another file and rename it."""

import asyncio
import contextlib
import logging
import platform
from collections.abc import Callable, Iterator, Sequence
from os import fsdecode
from pathlib import Path

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

from search_mcp.files import identity

log = logging.getLogger(__name__)

LOOKING_SECONDS = 1.0
"""Poll interval where the system does not report edits, in seconds."""
_EDITS = [events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent]


class _Handler(events.FileSystemEventHandler):
    """Selects the folders to watch, and filters the changes in them."""

    def __init__(self, paths: Sequence[Path], loop: asyncio.AbstractEventLoop, on_edit: Callable[[], None]) -> None:
        self._loop, self._on_edit = loop, on_edit
        self._folders = {path.resolve() for path in paths if path.is_dir()}
        files = [path for path in paths if not path.is_dir()]
        # The link and its target: both may be replaced.
        self._files = {name.parent.resolve() / name.name for path in files for name in (path, path.resolve())}
        self.watched = self._folders | {file.parent for file in self._files}

    def identities(self) -> dict[Path, tuple[int, int] | None]:
        """Return which folders are now at the paths of the watched ones; `None` for none."""
        return {folder: identity(folder) for folder in self.watched}

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        for path in map(Path, map(fsdecode, (event.src_path, event.dest_path))):
            if path in self._files or path.parent in self._folders or path in self._folders:
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                    self._loop.call_soon_threadsafe(self._on_edit)


@contextlib.contextmanager
def watched(on_edit: Callable[[], None], *paths: Path) -> Iterator[Callable[[], bool]]:
    """Call `on_edit` in the event loop at every edit of one of these files, or of a file in one of these folders.

    That such a folder is deleted is an edit, too.

    Symbolic links are followed. Yield a function that returns false once a folder was replaced: edits in the new one
    are not reported.
    """
    loop = asyncio.get_running_loop()
    handler = _Handler(paths, loop, on_edit)
    observer, folders = _watch(handler), handler.identities()

    def is_current() -> bool:
        # A new folder may get the number of the deleted one; watching that one has ended.
        is_running = all(each.is_alive() for each in observer.emitters)
        return is_running and _Handler(paths, loop, on_edit).identities() == folders

    try:
        yield is_current
    finally:
        observer.stop()


def _watch(handler: _Handler) -> BaseObserver:
    """Watch with the notifications of the system, or by polling where there are none."""
    if not any(tells_nothing(folder, platform.release()) for folder in handler.watched):
        try:
            return _started(Observer(), handler)
        except OSError as exc:  # no watches left, or none for this kind of folder
            log.warning("! edits are looked for every %g s, the system cannot tell of them: %s", LOOKING_SECONDS, exc)
    return _started(PollingObserver(timeout=LOOKING_SECONDS), handler)


def tells_nothing(folder: Path, release: str) -> bool:
    """Return whether this is a Windows drive in WSL, of whose edits Linux gets no notifications."""
    return "microsoft" in release.lower() and folder.parts[:2] == ("/", "mnt")


def _started(observer: BaseObserver, handler: _Handler) -> BaseObserver:
    for folder in handler.watched:
        observer.schedule(handler, str(folder), event_filter=_EDITS)
    try:
        observer.start()
    except OSError:
        observer.stop()
        raise
    return observer
