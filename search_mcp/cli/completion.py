"""Shell completion of the names of servers and tools, from the configuration and the cache.

No server is started, and no error is printed: the user is in the middle of a command line.
"""

import os
import re
from collections.abc import Iterable

import typer

from search_mcp.cli import session
from search_mcp.config import location
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import EMPTY_CONFIG, Config
from search_mcp.config.subset import TAG
from search_mcp.model.errors import ConfigError
from search_mcp.own_tools.definitions import existing

_PLAIN = r"[\w.@/:+][\w.@/:+-]*"


def server_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of servers that begin with a text."""
    return _beginning(incomplete, [server.name for server in _configuration(context).servers])


def server_selectors(context: typer.Context, incomplete: str) -> list[str]:
    """Return the expressions for `--servers` whose last part, a server's name or `tag:` with a tag, begins with a text.

    The parts before it stay; none is offered twice.
    """
    *before, last = incomplete.split(",")
    sign = "-" if last.startswith("-") else ""
    servers = _configuration(context).servers
    selectors = [*(each.name for each in servers), *(f"{TAG}{tag}" for each in servers for tag in each.tags)]
    taken = {each.removeprefix("-") for each in before}
    found = _beginning(last.removeprefix(sign), dict.fromkeys(each for each in selectors if each not in taken))
    return [",".join([*before, f"{sign}{each}"]) for each in found]


def remote_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of remote servers that begin with a text."""
    return _beginning(incomplete, [each.name for each in _configuration(context).servers if each.remote is not None])


def tool_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of tools, including our own, that begin with a text."""
    loaded = _configuration(context)
    known = session.read_cache(loaded, None, lambda cached: list(cached.tools.names()))
    return _beginning(incomplete, [*known, *existing(loaded.settings.call_tool)])


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with a text, without those that a shell or this command would misread."""
    return [name for name in names if name.startswith(incomplete) and re.fullmatch(_PLAIN, name)]


def _configuration(context: typer.Context) -> Config:
    try:
        return location.load(context.params.get("config"), os.environ)[0]
    except FaultyFile as exc:
        return exc.rest
    except ConfigError:
        return EMPTY_CONFIG
