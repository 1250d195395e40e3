"""The resources that one client subscribed to."""

from collections.abc import Iterator

from search_mcp.model.calls import Caller
from search_mcp.wire.structs import Struct


class Subscription(Struct, frozen=True):
    """One subscribed resource: the server that was asked, and the caller that asked."""

    uri: str
    server: str
    caller: Caller

    def covers(self, uri: str) -> bool:
        # "This might be a sub-resource of the one that the client actually subscribed to."
        return uri == self.uri or uri.startswith(f"{self.uri.rstrip('/')}/")


class Subscriptions:
    """One client's subscriptions, by URI."""

    def __init__(self) -> None:
        self._by_uri: dict[str, Subscription] = {}

    def add(self, uri: str, server: str, caller: Caller) -> None:
        self._by_uri[uri] = Subscription(uri, server, caller)

    def remove(self, uri: str) -> str | None:
        """Forget a subscription; return the server it was made at, or `None` if there is none."""
        removed = self._by_uri.pop(uri, None)
        return removed.server if removed is not None else None

    def has(self, server: str, uri: str) -> bool:
        """Return whether the client subscribed to this very resource at this server."""
        found = self._by_uri.get(uri)
        return found is not None and found.server == server

    def caller(self, server: str, uri: str) -> Caller | None:
        """Return the caller that subscribed to this very resource at this server, if any did."""
        return self._by_uri[uri].caller if self.has(server, uri) else None

    def at(self, server: str) -> list[Subscription]:
        """Return the subscriptions at a server."""
        return [each for each in self._by_uri.values() if each.server == server]

    def cover(self, server: str, uri: str) -> bool:
        """Return whether the client subscribed to this resource, or to one it is a part of, at this server."""
        return any(each.server == server and each.covers(uri) for each in self._by_uri.values())

    def drain(self) -> Iterator[Subscription]:
        """Remove every subscription and give it."""
        while self._by_uri:
            yield self._by_uri.popitem()[1]
