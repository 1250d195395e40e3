"""The choice of the transport that reaches a server."""

from collections.abc import Awaitable, Callable, Sequence

from search_mcp.backends.channel import Channel, Listener, Transport
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.process.transport import ProcessTransport
from search_mcp.config import identity
from search_mcp.config.schema import Remote, ServerConfig


def transport_to(config: ServerConfig, dependencies: Dependencies) -> Transport:
    """Return the transport of an entry."""
    if config.remote is None:
        return ProcessTransport(config, dependencies)
    return RemoteTransport(config, config.remote, dependencies)


class RemoteTransport:
    """Opens channels to the address of an entry; the `Transport` of remote servers."""

    is_http = True

    def __init__(self, config: ServerConfig, remote: Remote, dependencies: Dependencies) -> None:
        self._config, self._remote, self._dependencies = config, remote, dependencies

    def program(self) -> str:
        """Return the address."""
        return self._remote.url

    def start(self, counts: Callable[[str], bool]) -> Sequence[object]:
        """Return the address, the headers and the login."""
        return identity.reached_by(self._remote)

    async def open(self, listener: Listener) -> Channel:
        open_channel = await self._dependencies.run_blocking(_load_open_channel)  # with the first remote server
        return await open_channel(self._config, self._remote, self._dependencies, listener)


def _load_open_channel() -> Callable[[ServerConfig, Remote, Dependencies, Listener], Awaitable[Channel]]:
    from search_mcp.backends.remote.transport import open_channel

    return open_channel
