"""Which clients of a shared server its news are for.

Lists and states are for all clients, whose gateways filter them. A message that may belong to the call of any of
several clients is for none of them.
"""

from collections.abc import Collection

from search_mcp.model.names import Era
from search_mcp.model.servers import LogMessage, News, TaskChanged
from search_mcp.pool.tenant import Tenant
from search_mcp.wire import payload


class Callers:
    """Whether no client, one client or several clients have called on one connection."""

    def __init__(self) -> None:
        self.only: Tenant | None = None
        """The only client that ever called, unless it has left."""
        self.are_none = True

    def add(self, tenant: Tenant) -> None:
        """Record that a client calls."""
        if self.only is not tenant:
            self.only, self.are_none = tenant if self.are_none else None, False

    def forget(self, tenant: Tenant) -> None:
        """Record that a client left; it still counts as a caller."""
        if self.only is tenant:
            self.only = None


def recipients(news: News, tenants: Collection[Tenant], callers: Callers, era: Era | None) -> list[Tenant]:
    """Return the clients that news of a shared server may be for."""
    if isinstance(news, LogMessage):
        return _recipients_of_log_message(tenants, callers, era)
    if isinstance(news, TaskChanged):
        task = payload.string(news.params.get("taskId"))
        return [each for each in tenants if task is not None and each.client.has_task(news.server, task)]
    return list(tenants)


def _recipients_of_log_message(tenants: Collection[Tenant], callers: Callers, era: Era | None) -> list[Tenant]:
    """Return the clients that a log message may be for; it does not say which call it belongs to.

    In the modern era it belongs to a call in progress that wants such messages. A legacy server may send it after the
    answer, too: it is for the only client that ever called, or for all before the first call.
    """
    if era is Era.MODERN:
        waiting = [each for each in tenants if each.awaits_log_messages]
        return waiting if len(waiting) == 1 else []
    if callers.are_none:
        return list(tenants)
    return [] if callers.only is None else [callers.only]
