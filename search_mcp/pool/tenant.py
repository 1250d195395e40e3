"""One client of a server: its calls there, and the notifications that it gets."""

from collections.abc import Callable
from typing import Protocol

from search_mcp.model.names import Era
from search_mcp.model.servers import News
from search_mcp.pool.turns import KeptNews, Turns


class Client(Protocol):
    """A client as its servers use it; it is also the `caller.session` of its calls."""

    def has_task(self, server: str, task: str) -> bool:
        """Return whether a task of a server, by the server's own id, is this client's."""
        ...


class Tenant:
    """One client of a server."""

    def __init__(self, client: Client, publish: Callable[[News], None], turns: Turns) -> None:
        self.client, self.turns = client, turns
        self.era: Era | None = None
        """The era that the client speaks; `None` before it has opened."""
        self.log_level: str | None = None
        """The level that the client set, if it set one."""
        self._publish = publish
        self._kept = KeptNews()

    def hear(self, news: News) -> None:
        """Pass news on, or keep them while the client does not read."""
        if self.turns.is_paused:
            self._kept.keep(news)
        else:
            self._publish(news)

    def resume(self) -> None:
        """Pass on what was kept while the client did not read."""
        for news in self._kept.take():
            self._publish(news)

    @property
    def awaits_log_messages(self) -> bool:
        """Whether the server has calls of this client that want log messages; all calls of a legacy client do."""
        return self.turns.has_calls_with_log_level if self.era is Era.MODERN else self.turns.has_calls
