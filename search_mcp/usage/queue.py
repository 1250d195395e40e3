"""The calls that ended lately, until a thread has measured and written them.

Decides when they are written, and how many wait at most. The event loop never waits for a file.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from search_mcp.background import QueueOperation
from search_mcp.model.calls import CallLater
from search_mcp.usage.ended_calls import EndedCall, Row

if TYPE_CHECKING:
    from search_mcp.usage.store import UsageStore

log = logging.getLogger(__name__)

WAIT_SECONDS = 5.0
"""Time that calls are gathered before they are written together."""
MANY = 1000
"""Calls that are written at once, without waiting."""
MOST_HELD_BYTES = 4 << 20
"""Bytes of arguments and results that wait to be measured. A call that would be over it is measured as it ends."""
RETRY_SECONDS = 30.0
"""Time after which a locked file is tried again: the thread for files waits a second for it each time."""
MOST_WAITING = 20_000
"""Calls that wait for a file that cannot be written now, such as a locked one; the oldest are dropped."""


class UsageQueue:
    """Calls on their way to the file."""

    def __init__(
        self,
        path: Path,
        run: QueueOperation,
        later: CallLater,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        principal: str = "",
    ) -> None:
        """`run` carries out a file operation where it may block; `principal` is that of the client, if it has one."""
        self._path, self._run, self._later = path, run, later
        self.clock, self._wall_clock, self._principal = clock, wall_clock, principal
        # Both threads change only the ends.
        self._waiting: deque[EndedCall | Row | None] = deque(maxlen=MOST_WAITING)
        self._held = 0  # bytes of arguments and results that they keep in memory
        self._is_due = self._is_queued = self._is_locked = False
        self._has_warned = False
        self._store: UsageStore | None = None

    def add(self, call: EndedCall) -> None:
        """Record a call; it is written soon."""
        size = call.held()
        has_room = self._held + size <= MOST_HELD_BYTES
        self._held += size if has_room else 0
        self._waiting.append(call if has_room else self._row(call))
        if not self._is_due:
            self._is_due = True
            self._later(RETRY_SECONDS if self._is_locked else WAIT_SECONDS, self.flush)
        if len(self._waiting) >= MANY or self._held > MOST_HELD_BYTES // 2:
            self.hasten()

    def hasten(self) -> None:
        """Have the calls that wait written now, unless the file was locked a moment ago."""
        if self._waiting and not self._is_queued and not self._is_locked:
            self._queue()

    def flush(self) -> None:
        """Have the calls that wait written now."""
        self._is_due = False
        if self._waiting and not self._is_queued:
            self._queue()

    def _queue(self) -> None:
        self._is_queued = True  # before: it may be carried out at once
        if self._run(self._write) is False:
            self._is_queued = False

    def _write(self) -> None:
        """Write the calls that wait; keep them if the file is locked. Called in the thread for files."""
        self._is_queued, self._held = False, 0  # calls that are added from now on may need another write
        if self._store is None and not self._load():
            return
        assert self._store is not None
        rows = list(filter(None, (self._row(self._waiting.popleft()) for _ in range(len(self._waiting)))))
        self._is_locked = bool(rows) and not self._store.write(rows)
        room = MOST_WAITING - len(self._waiting)
        if self._is_locked and room > 0:
            self._waiting.extendleft(reversed(rows[-room:]))

    def _row(self, call: EndedCall | Row | None) -> Row | None:
        """Measure a call, unless that was done."""
        try:
            epoch = self._wall_clock() - self.clock()
            return call.row(epoch, self._principal) if isinstance(call, EndedCall) else call
        except Exception:  # a bug must not keep others from being recorded
            log.exception("! bug while a call was recorded")
            return None

    def _load(self) -> bool:
        """Load the database library, with the first calls that are written; return false if that fails.

        This Python may have none, or this process too many open files.
        """
        try:
            from search_mcp.usage.store import UsageStore
        except (ImportError, OSError) as exc:
            if not self._has_warned:
                self._has_warned = True
                log.warning("! calls are not recorded: %s", exc)
            self._waiting.clear()
            return False
        self._store = UsageStore(self._path, self._wall_clock)
        return True
