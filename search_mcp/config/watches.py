"""One watch of the same files for several tasks, because the system limits the number of watches of a user."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path


class _Watch:
    """A watch, and the events that it sets."""

    def __init__(self) -> None:
        self.events: set[asyncio.Event] = set()
        self.stop = contextlib.ExitStack()
        self.is_current: Callable[[], bool] = lambda: False
        """Returns false before it is begun, and once a folder was replaced."""

    def begin(self, *paths: Path) -> None:
        """Watch the files, and not those that were watched before; edits in between may not have been noticed."""
        self.stop.close()
        from search_mcp.config.watching import watched  # not loaded with the engine process

        self.is_current = self.stop.enter_context(watched(self.on_edit, *paths))
        self.on_edit()

    def on_edit(self) -> None:
        for event in self.events:
            event.set()


class Watches:
    """The watches of one process, by the files that they watch."""

    def __init__(self) -> None:
        self._watches: dict[tuple[Path, ...], _Watch] = {}

    def __len__(self) -> int:
        return len(self._watches)

    @contextlib.contextmanager
    def noticed(self, *paths: Path) -> Iterator[asyncio.Event]:
        """Yield an event that is set at every edit that `watching.watched` reports; the waiting task clears it."""
        watch = self._watches.get(paths) or _Watch()
        if not watch.is_current():
            watch.begin(*paths)
        self._watches[paths] = watch
        edited = asyncio.Event()
        watch.events.add(edited)
        try:
            yield edited
        finally:
            watch.events.discard(edited)
            if not watch.events:
                del self._watches[paths]
                watch.stop.close()
