"""The first start of servers after `add`, `import` and `install`, so that a client's first list of tools is complete.

Some clients read the list only once, seconds after they start; the first start of a server may take longer, for
example to download its package.
"""

import os
from collections.abc import Collection
from pathlib import Path

from search_mcp.cli import inventory
from search_mcp.cli.command_cache import FreshLists
from search_mcp.cli.counting import counted, enumerated
from search_mcp.cli.needed_servers import only
from search_mcp.cli.problem import InterruptionError, command
from search_mcp.cli.session import Session, read_cache, run
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import mcp_remote
from search_mcp.config import location
from search_mcp.config.schema import EMPTY_CONFIG, Config
from search_mcp.model.errors import ConfigError
from search_mcp.model.names import Kind, State

NO_SERVERS = (
    "There are no servers yet: run `search-mcp import`, `search-mcp add NAME -- COMMAND`, or `search-mcp add NAME URL`."
)


def warm(
    path: Path, screen: Terminal, among: Collection[str] | None = None, used: Collection[str] | None = None
) -> None:
    """Start the servers that are not cached, among those named if any are, and report the result.

    `used` are the only servers to start and to report, if not all. Servers whose last start failed, and bridges to
    remote servers, which may open a browser, are left to `check`.
    """
    config = _configuration(path, screen) if path.exists() else EMPTY_CONFIG
    if config is None:
        return
    if not config.servers:
        screen.note(NO_SERVERS)
        return
    config = config if used is None else only(config, used)
    unknown = read_cache(
        config, None, lambda session: {each.server for each in session.statuses() if each.state == State.UNKNOWN}
    )
    _start(config, {name for name in unknown if among is None or name in among}, path, screen)


def start(path: Path, screen: Terminal, names: Collection[str]) -> bool:
    """Start servers that were just added, whatever is cached of them, and report the result.

    Bridges to remote servers are left to `check`. Returns whether one is ready.
    """
    config = _configuration(path, screen)
    return config is not None and _start(only(config, names), set(names), path, screen)


def _configuration(path: Path, screen: Terminal) -> Config | None:
    try:
        config, _ = location.load(str(path), os.environ)
    except ConfigError:
        return None  # the fault was there before; `check` and `validate` report it
    screen.conceal(config.secrets)
    return config


def _start(config: Config, names: Collection[str], path: Path, screen: Terminal) -> bool:
    bridges = {each.name for each in config.servers if each.name in names and mcp_remote.is_bridge(each.args)}
    if bridges:
        screen.note(f"Not started, because it may open a browser to log in: {', '.join(sorted(bridges))}.")
    if new := [name for name in names if name not in bridges]:
        try:
            run(only(config, new), None, FreshLists, lambda session: _settle(session, screen))
        except (InterruptionError, KeyboardInterrupt):  # the second on Windows
            check = command(config.servers, "check", *new)
            them = "it" if len(new) == 1 else "them"
            screen.note(f"Interrupted. {path} has {enumerated(sorted(new))}; `{check}` starts {them}.")
            raise
    return read_cache(config, None, lambda session: _report(session, screen))


async def _settle(session: Session, screen: Terminal) -> None:
    with screen.progress(session.awaited):
        await session.settle(Kind)


def _report(session: Session, screen: Terminal) -> bool:
    statuses = session.statuses()
    ready = [each for each in statuses if each.state is State.KNOWN]
    if ready:
        used = [each for each in statuses if each.state is not State.DISABLED]
        of = f" of {counted(len(ready), 'server')}" if len(used) > 1 else ""
        screen.note(f"Ready: {counted(len(session.tools), 'tool')}{of}.")
    inventory.report_failures(session.config, session.failures(), screen, has_data=True)
    return bool(ready)
