"""Whether a server can take calls: its state, the reason, its connection, and whether a client needs it.

The supervisor writes this record, the server's calls read it.
"""

import asyncio
from collections.abc import Callable

from search_mcp.backends.connection import Connection
from search_mcp.backends.known_lists import KnownLists
from search_mcp.dialects import BackDialect
from search_mcp.model.names import State
from search_mcp.model.servers import News, StateChanged, Status


class Availability:
    """The state of one server and its connection, through all its starts."""

    def __init__(
        self, name: str, known: KnownLists, publish: Callable[[News], None], clock: Callable[[], float]
    ) -> None:
        self.name = name
        self._known, self._publish, self._clock = known, publish, clock
        self.state = State.STOPPED
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

    @property
    def dialect(self) -> BackDialect | None:
        """The dialect that takes its calls; `None` while it is not ready."""
        return self.connection.dialect if self.connection is not None else None

    @property
    def status(self) -> Status:
        known = self._known
        failure = known.failure if self.state is State.STOPPED else None
        reason, remedy = self.reason, self._remedy
        if failure is not None and reason is None and not remedy:
            reason, remedy = failure.reason or None, failure.remedy
        return Status(
            self.name,
            self.state,
            reason,
            max(0.0, self.retry_at - self._clock()) if self.retry_at is not None else None,
            known.capabilities,
            self.start_seconds,
            failed_lately=known.failed_lately,
            last_failure=known.failure.reason if self.state is State.STARTING and known.failure is not None else None,
            lacked_login=failure is not None and failure.needs_login,
            is_about_changed=known.is_about_changed,
            remedy=remedy,
        )

    def publish(self) -> None:
        """Publish the state and the reason."""
        self._publish(StateChanged(self.name, self.status))

    def set_reason(self, reason: str | None, remedy: str = "") -> None:
        """Change the reason for the state, and the command that is its remedy, without publishing them."""
        self.reason, self._remedy = reason, remedy

    def explain(self, reason: str | None, remedy: str = "") -> None:
        """Change the reason for the state and its remedy, and publish them."""
        self.set_reason(reason, remedy)
        self.publish()
