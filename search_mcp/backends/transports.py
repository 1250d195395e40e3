"""The choice of the transport that reaches a server."""

from search_mcp.backends.channel import Transport
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.process.transport import ProcessTransport
from search_mcp.config.schema import ServerConfig


def transport_to(config: ServerConfig, dependencies: Dependencies) -> Transport:
    """Return the transport of an entry; every server is a child process today."""
    return ProcessTransport(config, dependencies)
