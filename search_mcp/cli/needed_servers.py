"""The servers that a command needs. Pure."""

from collections.abc import Collection, Sequence

from search_mcp.catalog import profiles
from search_mcp.catalog.items import fold
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.wire.structs import replace


def only(config: Config, servers: Collection[str]) -> Config:
    """Disable all other servers."""
    narrowed = [server if server.name in servers else replace(server, enabled=False) for server in config.servers]
    return replace(config, servers=tuple(narrowed))


def needed(config: Config, tools: Sequence[str]) -> Config:
    """Disable the servers that cannot have tools of these names, in any spelling.

    A server without a prefix may have any tool; for a name without a known prefix all servers are needed.
    """
    wanted = {server.name for server in config.servers if not server.effective_prefix}
    for tool in tools:
        prefixed = {server.name for server in config.servers if has_prefix(server, tool)}
        if not prefixed:
            return config
        wanted |= prefixed
    return only(config, wanted)


def has_prefix(server: ServerConfig, tool: str) -> bool:
    """Return whether a name begins with the prefix of a server."""
    prefix = server.effective_prefix
    rest = profiles.without_registration(tool) or tool
    return prefix != "" and any(fold(name).startswith(fold(prefix) + "_") for name in (tool, rest))
