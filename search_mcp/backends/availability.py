"""Whether a server can take calls: its state, the reason, its connection, and whether a client needs it.

The state changes by the table of `lifecycle` only, and every change is published.
"""

import asyncio
import logging
from collections.abc import Callable

from search_mcp.backends import lifecycle
from search_mcp.backends.connection import Connection
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.known_lists import KnownLists
from search_mcp.backends.lifecycle import Event
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.dialects import BackDialect
from search_mcp.model.names import State
from search_mcp.model.servers import News, StateChanged, Status

log = logging.getLogger(__name__)


class Availability:
    """The state of one server and its connection, through all its starts."""

    def __init__(
        self, entry: ServerEntry, known: KnownLists, publish: Callable[[News], None], dependencies: Dependencies
    ) -> None:
        self._entry, self._known, self._publish = entry, known, publish
        self._clock, self._wall_clock = dependencies.clock, dependencies.wall_clock
        self._state = State.STOPPED
        self._since: float | None = None
        self.reason: str | None = None
        self._remedy = ""  # of this reason
        self.retry_at: float | None = None
        """The time of the next start, by the clock; `None` if none is planned."""
        self.start_seconds: float | None = None
        """The time that the last start took."""
        self.connection: Connection | None = None
        """The connection, from its start to its end."""
        self.wanted = asyncio.Event()
        """Set when a client needs the server."""
        self.ending: str | None = None
        """The reason, if an edit stops it."""

    def __repr__(self) -> str:
        connection = self.connection
        details = f" {connection.channel.describe()} {connection.peer!r}" if connection is not None else ""
        return f"<Backend {self.name} {self._state.name}{details}>"

    @property
    def name(self) -> str:
        return self._entry.config.name

    @property
    def state(self) -> State:
        return self._state

    @property
    def dialect(self) -> BackDialect | None:
        """The dialect that takes its calls; `None` while it is not ready."""
        return self.connection.dialect if self.connection is not None else None

    @property
    def status(self) -> Status:
        last_failure = self._known.remembered.failure
        failure = last_failure if self._state is State.STOPPED else None
        reason, remedy, since = self.reason, self._remedy, self._since
        if failure is not None and reason is None and not remedy:
            reason, remedy, since = failure.reason or None, failure.remedy, failure.at
        return Status(
            self.name,
            self._state,
            reason,
            max(0.0, self.retry_at - self._clock()) if self.retry_at is not None else None,
            self._known.comparison.capabilities,
            self.start_seconds,
            failed_lately=self._known.has_failed_lately,
            last_failure=last_failure.reason if self._state is State.STARTING and last_failure is not None else None,
            lacked_login=failure is not None and failure.needs_login,
            is_about_changed=self._known.comparison.is_about_changed,
            remedy=remedy,
            since=since,
        )

    def advance(self, event: Event) -> None:
        """Change the state as the table says."""
        self._state, self._since = lifecycle.advance(self._state, event), self._wall_clock()
        log.debug("= %r", self)
        self._publish_status()

    def _publish_status(self) -> None:
        self._publish(StateChanged(self.name, self.status))

    def set_reason(self, reason: str | None, remedy: str = "") -> None:
        """Change the reason for the state, and the command that is its remedy, without publishing them."""
        self.reason, self._remedy = reason, remedy

    def explain(self, reason: str | None, remedy: str = "") -> None:
        """Change the reason for the state and its remedy, and publish them."""
        self.set_reason(reason, remedy)
        self._publish_status()
