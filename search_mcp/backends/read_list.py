"""The list of one kind of one server: how it is read, how recent it is, and when it is read again.

The readings are numbered across all connections, so a call can wait for the reading that includes a change.
"""

import asyncio
import logging
from collections.abc import Callable

import anyio

from search_mcp.backends.server_entry import ServerEntry
from search_mcp.dialects import BackDialect
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire.errors import PeerError
from search_mcp.wire.structs import replace

log = logging.getLogger(__name__)

LIST_SECONDS = 60.0
"""Time limit for reading a list; after that it counts as unavailable."""
CHANGES_IN_A_ROW = 5
"""Changes in quick succession that are read immediately; before each further one, there is a pause."""
CHANGE_SECONDS = 0.5
"""Length of this pause. Changes that are no further apart are in quick succession."""
CHANGE_SECONDS_PER_ENTRY = 0.002
"""Pause for each entry of the list, if that is longer: every entry is compared and indexed again."""
LONGEST_RETRY_SECONDS = 60.0
"""Longest pause after a reading that got no answer; the first pause is one second."""
FRESH_SECONDS = 1.0
"""Age up to which a list is not read again when a client lists."""


class ReadList:
    """The last list of a kind and its readings."""

    def __init__(self, kind: Kind, entry: ServerEntry, clock: Callable[[], float]) -> None:
        self.kind, self._entry, self._clock = kind, entry, clock
        self.known: ServerList | None = None
        """The list as it was read, or cached, and compared; `None` while it is unavailable."""
        self.published: int | None = None
        """Number of its entries within the limits, which were published; `None` before."""
        self.is_missing = True
        """Whether it was neither read nor cached."""
        self.is_offered = True
        """Whether the server has such a list, as far as is known."""
        self.stale = asyncio.Event()
        """Set when it is to be read again; another one for each reading."""
        self._trouble = ""  # the reason why the server did not give it last
        self._readings = 0  # begun
        self._compared = 0  # number of the last reading on this connection that is compared
        self._failed = 0  # number of the last reading that got no answer
        self._failures = 0  # consecutive readings that got no answer
        self._changes = 0  # in a row
        self._read_at: float | None = None  # on this connection
        self._entries: dict[str, Entry] = {}  # of the list that was asked for last
        self._entries_of: ServerList | None = None

    def entry(self, key: str) -> Entry | None:
        """Return an entry of the list."""
        if self._entries_of is not self.known:
            self._entries_of = self.known
            self._entries = {entry.key: entry for entry in self.known.entries} if self.known is not None else {}
        return self._entries.get(key)

    def meet(self, *, is_offered: bool) -> None:
        """Begin with a new connection, on which the server has such a list or not."""
        self.is_offered, self._compared, self._changes, self._read_at = is_offered, 0, 0, None

    # A reading

    def begin(self) -> None:
        """Begin a reading."""
        self.stale = asyncio.Event()
        self._readings += 1

    async def read(self, dialect: BackDialect) -> ServerList | None:
        """Return the list; `None` if the server does not give it.

        Raises:
            RequestFailedError: the request got no answer; the list may still be readable.
            ConnectionEndedError: the connection ended; the next one may read the list.
        """
        try:
            with anyio.fail_after(LIST_SECONDS):
                server_list = replace(await dialect.read_list(self.kind), read_at=self._clock())
        except (PeerError, ValueError, TimeoutError) as exc:
            config = self._entry.config
            why = config.redactor.shortened(str(exc)) or f"it took more than {LIST_SECONDS:g} s"
            level = logging.DEBUG if self._trouble == why else logging.WARNING  # it may be read often
            log.log(level, "! %s: its list of %s could not be read: %s", config.name, self.kind.value, why)
            self._trouble = why
            return None
        self._trouble = ""
        return server_list

    def note_compared(self) -> None:
        """Record that this reading is compared."""
        self._compared = self._readings

    def note_read(self) -> None:
        """Record that this reading is over."""
        self._failures, self._read_at = 0, self._clock()

    def note_failure(self) -> None:
        """Record that this reading got no answer."""
        self._failures += 1
        self._failed = self._readings

    def is_compared(self, reading: int) -> bool:
        """Return whether this reading, or a later one, was compared on this connection; 0 means any."""
        return self._compared >= max(1, reading)

    def is_settled(self, reading: int) -> bool:
        """Return whether this reading, or a later one, was compared or has failed."""
        return max(self._compared, self._failed) >= reading

    # The next one

    def due_reading(self) -> int:
        """Return the number of the reading that includes every change announced until now."""
        return self._readings + self.stale.is_set()

    def is_outdated(self, *, is_announced: bool) -> bool:
        """Return whether it is read again after a client listed: its TTL expired, or no change would be announced."""
        if self._read_at is None:
            return False
        age_seconds = self._clock() - self._read_at
        # "Once the TTL expires, the response is stale and the client SHOULD re-fetch on next access."
        has_expired = self.known is not None and 0 < self.known.freshness.ttl_ms < age_seconds * 1000
        return age_seconds > FRESH_SECONDS and (has_expired or not is_announced)

    async def until_stale(self) -> None:
        """Wait until the list is to be read again, longer if it changes all the time."""
        assert self._read_at is not None, "it was read"
        await self.stale.wait()
        entries = 0 if self.known is None else len(self.known.entries)
        pause = max(CHANGE_SECONDS, CHANGE_SECONDS_PER_ENTRY * entries)
        self._changes = self._changes + 1 if self._clock() - self._read_at < pause else 0
        if self._changes > CHANGES_IN_A_ROW:  # a server may announce a change at every reading
            await anyio.sleep(pause)

    async def until_retry(self) -> None:
        """Wait after a reading that got no answer."""
        await anyio.sleep(CHANGE_SECONDS)  # a server may announce changes endlessly
        pause = min(2.0 ** (self._failures - 1), LONGEST_RETRY_SECONDS)
        with anyio.move_on_after(pause - CHANGE_SECONDS):
            await self.stale.wait()
