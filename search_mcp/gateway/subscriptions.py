"""The resources that one client subscribed to."""


class Subscriptions:
    """The server of each resource that one client subscribed to, by URI."""

    def __init__(self) -> None:
        self._servers: dict[str, str] = {}

    def add(self, uri: str, server: str) -> None:
        self._servers[uri] = server

    def remove(self, uri: str) -> str | None:
        """Forget a subscription; return the server it was made at, or `None` if there is none."""
        return self._servers.pop(uri, None)

    def has(self, server: str, uri: str) -> bool:
        """Return whether the client subscribed to this very resource at this server."""
        return self._servers.get(uri) == server

    def cover(self, server: str, uri: str) -> bool:
        """Return whether the client subscribed to this resource, or to one it is a part of, at this server."""
        # "This might be a sub-resource of the one that the client actually subscribed to."
        return any(
            at == server and (uri == each or uri.startswith(f"{each.rstrip('/')}/"))
            for each, at in self._servers.items()
        )
