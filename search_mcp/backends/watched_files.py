"""The files of a server under development: when a change of them restarts it.

Polled, because the system's notifications are not the same everywhere, cannot leave out folders such as `node_modules`,
and are limited in number. Decides how often to look, when a burst of changes is over, and how often files that change
all the time may restart the server. It knows no processes: the supervisor restarts.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import anyio

from search_mcp.background import RunBlocking
from search_mcp.config.scanning import MOST_FILES, Snapshot, Watched, changes, scan
from search_mcp.config.schema import ServerConfig
from search_mcp.model.visible import escaped

log = logging.getLogger(__name__)

POLL_SECONDS = 0.25
"""Time between two looks; files are quiet once two looks see the same (uvicorn looks as often)."""
LONGEST_BURST_SECONDS = 2.0
"""Time for which the server is not started while files go on changing."""
SHARE_OF_TIME = 20
"""A look is followed by a pause of this many times its duration, so that looking takes at most 5 % of one processor."""
MOST_RESTARTS = 10
RECENT_SECONDS = 60.0
"""Restarts within this time after which the next ones are delayed: the server may write a watched file itself."""
DELAY_SECONDS = 5.0
"""Least time between such restarts."""
LONGEST_PATH = 200
"""Characters of a path in a message."""


class Sight:
    """The looks at the same files, for all servers that watch them."""

    def __init__(self) -> None:
        self.users = 0
        self.snapshot: Snapshot | None = None
        self.at = 0.0  # when the last look began
        self.seconds = 0.0  # what it took
        self.lock = anyio.Lock()


Sights: TypeAlias = dict[Watched, Sight]
"""All that is watched in one process."""


class WatchedFiles:
    """The watched files of one server."""

    def __init__(
        self,
        config: ServerConfig,
        sights: Sights,
        clock: Callable[[], float],
        run_blocking: RunBlocking,
        on_change: Callable[[str], None],
    ) -> None:
        """`on_change` gets the path of the first changed file as soon as a change is seen, and restarts the server."""
        self._name, self._watched = config.name, Watched(config.watch_folder, config.watch)
        self._sights, self._clock, self._run_blocking, self._on_change = sights, clock, run_blocking, on_change
        self.are_quiet = asyncio.Event()
        """Set while no change follows another one."""
        self.are_quiet.set()
        self._restarts: deque[float] = deque(maxlen=MOST_RESTARTS)
        self._has_warned = False

    async def follow(self) -> None:
        """Look until this is cancelled."""
        with _shared(self._sights, self._watched) as sight:
            try:
                before = await self._look(sight)
                self._report(before)
                while True:
                    await self._pause(sight)
                    before = await self._compare(sight, before)
            finally:
                self.are_quiet.set()

    async def _compare(self, sight: Sight, before: Snapshot) -> Snapshot:
        """Look once more; if a file changed, restart the server, and look on until no more files change."""
        now = await self._look(sight)
        changed = next(changes(before.files, now.files), None) if now is not before else None
        if changed is None or self._is_delayed(changed):
            return now if changed is None else before
        self._restarts.append(self._clock())
        self.are_quiet.clear()
        self._on_change(shown(changed))
        while self._clock() - self._restarts[-1] < LONGEST_BURST_SECONDS:
            await self._pause(sight)
            before, now = now, await self._look(sight)
            if now is before:
                break
        self.are_quiet.set()
        return now

    def _is_delayed(self, changed: str) -> bool:
        """Return whether the server was restarted so often that a change has to wait."""
        restarts, now = self._restarts, self._clock()
        if len(restarts) < MOST_RESTARTS or now - restarts[0] > RECENT_SECONDS:
            return False
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                '! %s: its files change all the time, the last was %s; if it writes that file itself, add "!%s" to '
                '"watch". It is restarted every %g s at most',
                *(self._name, shown(changed), shown(changed), DELAY_SECONDS),
            )
        return now - restarts[-1] < DELAY_SECONDS

    def _report(self, first: Snapshot) -> None:
        patterns, folder = ", ".join(self._watched.patterns), escaped(self._watched.folder)
        if first.is_cut:
            log.warning(
                "! %s: not all files that %s may match in %s are watched: there are more than %d, or too many others; "
                "write patterns with fewer folders",
                *(self._name, patterns, folder, MOST_FILES),
            )
        elif not first.files:
            log.warning('! %s: no file matches its "watch" (%s) in %s', self._name, patterns, folder)
        else:
            count = len(first.files)
            log.info("= %s: %d file%s watched", self._name, count, " is" if count == 1 else "s are")

    async def _pause(self, sight: Sight) -> None:
        await anyio.sleep(max(POLL_SECONDS, SHARE_OF_TIME * sight.seconds * len(self._sights)))

    async def _look(self, sight: Sight) -> Snapshot:
        """Look, unless another server that watches the same files has just looked."""
        async with sight.lock:
            if sight.snapshot is None or self._clock() - sight.at >= POLL_SECONDS / 2:
                sight.at = self._clock()
                sight.snapshot = await self._run_blocking(partial(_looked, self._watched, sight.snapshot))
                sight.seconds = self._clock() - sight.at
            return sight.snapshot


@contextlib.contextmanager
def _shared(sights: Sights, watched: Watched) -> Iterator[Sight]:
    """Yield the looks at some files, which all servers that watch the same ones share."""
    sight = sights.setdefault(watched, Sight())
    sight.users += 1
    try:
        yield sight
    finally:
        sight.users -= 1
        if not sight.users:
            del sights[watched]


def _looked(watched: Watched, before: Snapshot | None) -> Snapshot:
    """Look; return the snapshot from before if nothing has changed since."""
    now = scan(watched)
    return before if before is not None and before.files == now.files else now


def shown(path: str) -> str:
    """Write the path of a file for a message; the name of a file may be anything."""
    return escaped(path if len(path) <= LONGEST_PATH else f"…{path[-LONGEST_PATH:]}")
