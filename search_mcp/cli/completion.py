"""Shell completion of the names of servers and tools, from the configuration and the cache.

No server is started, and no error is printed: the user is in the middle of a command line.
"""

import re

import typer

from search_mcp.cli import session
from search_mcp.cli.options import configuration
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import EMPTY_CONFIG, Config
from search_mcp.gateway.own_tool_definitions import existing
from search_mcp.model.errors import ConfigError

_PLAIN = r"[\w.@/:+][\w.@/:+-]*"


def server_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of servers that begin with a text."""
    return _beginning(incomplete, [server.name for server in _configuration(context).servers])


def remote_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of remote servers that begin with a text."""
    return _beginning(incomplete, [each.name for each in _configuration(context).servers if each.remote is not None])


def tool_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of tools, including our own, that begin with a text."""
    loaded = _configuration(context)
    known = session.read_cache(loaded, None, lambda cached: list(cached.tools.names()))
    return _beginning(incomplete, [*known, *existing(loaded.settings.call_tool)])


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    """Return the names that begin with a text, without those that a shell or this command would misread."""
    return [name for name in names if name.startswith(incomplete) and re.fullmatch(_PLAIN, name)]


def _configuration(context: typer.Context) -> Config:
    try:
        return configuration(context.params.get("config"))[0]
    except FaultyFile as exc:
        return exc.rest
    except ConfigError:
        return EMPTY_CONFIG
