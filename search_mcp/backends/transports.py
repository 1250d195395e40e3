"""The choice of the transport that reaches a server."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from search_mcp.backends.channel import Channel, Listener, Transport
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.process.transport import ProcessTransport
from search_mcp.config import identity
from search_mcp.config.schema import Remote, ServerConfig

if TYPE_CHECKING:
    from search_mcp.backends.remote.transport import RemoteTransport


def transport_to(config: ServerConfig, dependencies: Dependencies) -> Transport:
    """Return the transport of an entry."""
    if config.remote is None:
        return ProcessTransport(config, dependencies)
    return _LoadedWhenOpened(config.name, config.remote, dependencies)


class _LoadedWhenOpened:
    """The transport of a remote server: its code is loaded, in a thread, with the first connection to such a server."""

    is_http = True

    def __init__(self, name: str, remote: Remote, dependencies: Dependencies) -> None:
        self._name, self._remote, self._dependencies = name, remote, dependencies

    def program(self) -> str:
        """Return the address."""
        return self._remote.url

    def start(self) -> Sequence[object]:
        """Return the address, the headers and the login."""
        return identity.reached_by(self._remote)

    async def open(self, listener: Listener) -> Channel:
        remote_transport = await self._dependencies.run_blocking(_load_remote_transport)
        transport: Transport = remote_transport(self._name, self._remote, self._dependencies)
        return await transport.open(listener)


def _load_remote_transport() -> "type[RemoteTransport]":
    from search_mcp.backends.remote.transport import RemoteTransport

    return RemoteTransport
