"""What the shell completes: the names of servers and tools, from the configuration and what is remembered.

Nothing is started, and whatever is wrong is not said here: somebody is in the middle of a line.
"""

import re

import typer

from search_mcp.cli import session
from search_mcp.cli.options import configuration
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import NOTHING, Config
from search_mcp.gateway.own_tool_definitions import existing
from search_mcp.model.errors import ConfigError

_PLAIN = r"[\w.@/:+][\w.@/:+-]*"


def server_names(context: typer.Context, incomplete: str) -> list[str]:
    """Give the servers whose names begin so."""
    return _beginning(incomplete, [server.name for server in _configuration(context).servers])


def tool_names(context: typer.Context, incomplete: str) -> list[str]:
    """Give the tools whose names begin so, ours included."""
    loaded = _configuration(context)
    known = session.recall(loaded, None, lambda remembered: list(remembered.tools.names()))
    return _beginning(incomplete, [*known, *existing(loaded.settings.call_tool)])


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    """Give the names that begin so, but none that a shell or this command takes for something else."""
    return [name for name in names if name.startswith(incomplete) and re.fullmatch(_PLAIN, name)]


def _configuration(context: typer.Context) -> Config:
    try:
        return configuration(context.params.get("config"))[0]
    except FaultyFile as exc:
        return exc.rest
    except ConfigError:
        return NOTHING
