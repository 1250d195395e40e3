"""Restarts of one server: whether one is due, and the watch of the files that cause them.

The supervisor restarts, `watched_files` looks at the files.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.lifecycle import Ended
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.model.names import Era

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from search_mcp.backends.watched_files import Sight, WatchedFiles
    from search_mcp.config.scanning import Watched

log = logging.getLogger(__name__)

REQUEST_SECONDS = 1.0
"""Least time between a start and the next one on request, so that requests in quick succession are one restart."""

_Opened = TypeVar("_Opened")


class Restarts:
    """The restarts of one server, through all its starts."""

    def __init__(self, entry: ServerEntry, dependencies: Dependencies, on_change: Callable[[str], None]) -> None:
        """`on_change` gets the path of the first changed file."""
        self._entry, self._dependencies, self._on_change = entry, dependencies, on_change
        self._followed = entry.config
        self.is_due = False
        """Whether the server is to be started anew, whatever it does now."""
        self.starts = 0
        """The number of its starts so far."""
        self.is_over = False
        """Whether it will not be started again."""
        self._started_at = -math.inf
        self._not_before = -math.inf
        self.era: Era | None = None
        """The era that it was last opened in: a fault in its code says nothing about its era."""
        self._scope: anyio.CancelScope | None = None  # what a restart interrupts: an opening, or a pause before a start
        self._tasks: TaskGroup | None = None
        self._watch: anyio.CancelScope | None = None
        self._watched_files: WatchedFiles | None = None

    def begin(self, least_seconds: float = 0.0) -> None:
        """Have the server started anew, with at least this time between the two starts."""
        self.is_due, self._not_before = True, self._started_at + least_seconds
        if self._scope is not None:
            self._scope.cancel()

    def note_start(self) -> None:
        """Record that the server is started now; later changes restart it."""
        self.is_due, self._started_at = False, self._dependencies.clock()
        self.starts += 1

    async def settled(self) -> None:
        """Wait while it was started only just now, or while files go on changing."""
        if (wait := self._not_before - self._dependencies.clock()) > 0:
            await anyio.sleep(wait)
        if self._watched_files is not None:
            await self._watched_files.are_quiet.wait()

    async def sleep(self, seconds: float) -> None:
        """Wait; a restart ends it."""
        with anyio.CancelScope() as self._scope:
            if not self.is_due:
                await anyio.sleep(seconds)
        self._scope = None

    async def unless_due(self, act: Callable[[], Awaitable[_Opened]]) -> _Opened | Ended:
        """Wait for an answer; a restart ends it."""
        try:
            with anyio.CancelScope() as self._scope:
                if not self.is_due:
                    answer = await act()
        finally:
            self._scope = None
        return Ended("it is restarted") if self.is_due else answer

    # The watch

    def follow(self, tasks: "TaskGroup") -> None:
        """Watch the files, if any, as long as a task group runs."""
        self._tasks, self._followed = tasks, self._entry.config
        if self._followed.watch and self._dependencies.watched is not None:
            tasks.start_soon(self._follow)

    def follow_edited(self) -> None:
        """Watch the files of an edited entry."""
        before, now = self._followed, self._entry.config
        if self._tasks is None or (before.watch, before.watch_folder) == (now.watch, now.watch_folder):
            return
        if self._watch is not None:
            self._watch.cancel()
        self.follow(self._tasks)

    async def _follow(self, watched: "dict[Watched, Sight]") -> None:
        with anyio.CancelScope() as watch:
            self._watch = watch
            run_blocking = self._dependencies.run_blocking
            # Loaded for servers under development only.
            loaded: Any = await run_blocking(partial(import_module, "search_mcp.backends.watched_files"))
            config, dependencies = self._followed, self._dependencies
            watched_files: WatchedFiles = loaded.WatchedFiles(
                config, dependencies.watched, dependencies.clock, run_blocking, self._on_change
            )
            self._watched_files = watched_files
            try:
                await watched_files.follow()
            except Exception:  # a bug here must not take the server down
                log.exception("! %s: bug while watching its files", config.name)


def _load_watched_files() -> "type[WatchedFiles]":
    from search_mcp.backends.watched_files import WatchedFiles

    return WatchedFiles
