"""Which clients of a shared server its news are for.

Lists and states are for all clients, whose sessions choose. A message that may contain words of another client's call
is for no client: it is neither guessed nor given to all.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from search_mcp.model.names import Era
from search_mcp.model.servers import LogMessage, News, TaskChanged

if TYPE_CHECKING:
    from search_mcp.gateway.session import Session


class Recipient(Protocol):
    """The use of a shared server by one aggregator, as far as it decides which news it gets."""

    client: "Callable[[], Session | None]"
    """Gives its client; `None` once it has left."""

    @property
    def awaits_log_messages(self) -> bool:
        """Whether calls are with the server that it may send log messages for."""
        ...


Lease = TypeVar("Lease", bound=Recipient)


class Callers(Generic[Lease]):
    """The clients that called on one connection, as far as it matters: none, one or several."""

    def __init__(self) -> None:
        self.only: Lease | None = None
        """The only client that ever called, unless it has left."""
        self.are_none = True

    def add(self, lease: Lease) -> None:
        """Record that a client calls."""
        if self.only is not lease:
            self.only, self.are_none = lease if self.are_none else None, False

    def forget(self, lease: Lease) -> None:
        """Record that a client left; it counts as a caller still."""
        if self.only is lease:
            self.only = None


def recipients(news: News, leases: Collection[Lease], callers: Callers[Lease], era: Era | None) -> list[Lease]:
    """Return the leases whose clients news of a shared server may be for."""
    if isinstance(news, LogMessage):
        return _recipients_of_log_message(leases, callers, era)
    if isinstance(news, TaskChanged):
        return [lease for lease in leases if _has_task(lease, news)]
    return list(leases)


def _recipients_of_log_message(leases: Collection[Lease], callers: Callers[Lease], era: Era | None) -> list[Lease]:
    """Return the leases whose clients a log message may be for; it does not say which call it belongs to.

    In the modern era it belongs to a call in progress that wants such messages. A legacy server may send it after the
    answer, too: it is for the only client that ever called, or for all before the first call.
    """
    if era is Era.MODERN:
        waiting = [lease for lease in leases if lease.awaits_log_messages]
        return waiting if len(waiting) == 1 else []
    if callers.are_none:
        return list(leases)
    return [] if callers.only is None else [callers.only]


def _has_task(lease: Recipient, news: TaskChanged) -> bool:
    session = lease.client()
    return session is not None and session.state.tasks.knows_named(news.server, news.params)
