"""Restarts of one server under development: when one is due, what it interrupts, and when its result is there.

The supervisor starts the server, `watched_files` looks at the files.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio

from search_mcp.backends.availability import Availability
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.known_lists import KnownLists
from search_mcp.backends.lifecycle import Ended, Event
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.model.names import Era, Kind, State

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

    def __init__(
        self, entry: ServerEntry, availability: Availability, known: KnownLists, dependencies: Dependencies
    ) -> None:
        self._entry, self._availability, self._known = entry, availability, known
        self._dependencies = dependencies
        self._followed = entry.config  # the entry whose files are watched
        self.is_due = False
        """Whether the server is to be started anew, whatever it does now."""
        self._starts = 0
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

    def request(self) -> Callable[[], bool]:
        """Restart the server, or start it; return a function that is true until it has listed its tools, or failed."""
        self._availability.wanted.set()
        self._restart("a client asked for it", REQUEST_SECONDS)
        return partial(self._is_unsettled, self._starts + 1)

    def _is_unsettled(self, start: int) -> bool:
        """Return whether the result of a start, by its number, is still to come."""
        if self.is_over or self._starts < start:
            return not self.is_over
        return self.is_starting(Kind.TOOLS)

    def is_starting(self, kind: Kind) -> bool:
        """Return whether a list is still to be read after a start."""
        if self._availability.state is State.READY:
            return not self._known.lists[kind].is_compared(0)
        return self._availability.state in (State.STARTING, State.RESTARTING)

    def _restart(self, why: str, least_seconds: float = 0.0) -> None:
        """Have the server started anew, with at least this time between the two starts; not if it is stopped."""
        now = self._availability
        if now.state in (State.STOPPED, State.STOPPING) or self.is_due:
            return
        log.info("= %s: restarting, because %s", now.name, why)
        self.is_due, self._not_before = True, self._started_at + least_seconds
        now.wanted.set()
        if now.state in (State.STARTING, State.READY):
            now.ending = f"search-mcp restarts it, because {why}"
            now.advance(Event.RESTART)
        if self._scope is not None:
            self._scope.cancel()
        if now.connection is not None:
            now.connection.restart()

    def note_start(self) -> None:
        """Record that the server is started now; later changes restart it."""
        self.is_due, self._started_at = False, self._dependencies.clock()
        self._starts += 1

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
        if self._followed.watch and (watched := self._dependencies.watched) is not None:
            tasks.start_soon(self._follow, watched)

    def follow_edited(self) -> None:
        """Watch the files of an edited entry."""
        before, now = self._followed, self._entry.config
        if self._tasks is None or (before.watch, before.watch_folder) == (now.watch, now.watch_folder):
            return
        if self._watch is not None:
            self._watch.cancel()
        self.follow(self._tasks)

    def _on_change(self, path: str) -> None:
        self._restart(f"{path} changed")

    async def _follow(self, watched: "dict[Watched, Sight]") -> None:
        with anyio.CancelScope() as watch:
            self._watch = watch
            run_blocking, clock = self._dependencies.run_blocking, self._dependencies.clock
            watched_files_type = await run_blocking(_load_watched_files)  # for servers under development only
            config = self._followed
            watched_files = watched_files_type(config, watched, clock, run_blocking, self._on_change)
            self._watched_files = watched_files
            try:
                await watched_files.follow()
            except Exception:  # a bug here must not take the server down
                log.exception("! %s: bug while watching its files", config.name)


def _load_watched_files() -> "type[WatchedFiles]":
    from search_mcp.backends.watched_files import WatchedFiles

    return WatchedFiles
