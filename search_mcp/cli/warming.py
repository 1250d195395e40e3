"""The first start of servers after `install` and `import`, so that a client's first list of tools is complete.

Some clients read the list only once, seconds after they start; the first start of a server may take longer, for
example to download its package.
"""

import os
from collections.abc import Collection
from pathlib import Path

from search_mcp.backends.command_cache import FreshLists
from search_mcp.cli import inventory
from search_mcp.cli.counting import counted
from search_mcp.cli.needed_servers import only
from search_mcp.cli.session import Session, read_cache, run
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import mcp_remote
from search_mcp.config import location
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
    if not path.exists():
        screen.note(NO_SERVERS)
        return
    try:
        config, _ = location.load(str(path), os.environ)
    except ConfigError:
        return  # the fault was there before; `check` and `validate` report it
    if not config.servers:
        screen.note(NO_SERVERS)
    screen.conceal(config.secrets)
    config = config if used is None else only(config, used)
    unknown = read_cache(
        config, None, lambda session: {each.server for each in session.statuses() if each.state == State.UNKNOWN}
    )
    bridges = {each.name for each in config.servers if mcp_remote.is_bridge(each.args)}
    new = {name for name in unknown - bridges if among is None or name in among}
    if remote := sorted(unknown & bridges):
        screen.note(f"Not started, because it may open a browser to log in: {', '.join(remote)}.")
    if new:
        run(only(config, new), None, FreshLists, lambda session: _settle(session, screen))
    read_cache(config, None, lambda session: _report(session, screen))


async def _settle(session: Session, screen: Terminal) -> None:
    with screen.progress(session.awaited):
        await session.settle(Kind)


def _report(session: Session, screen: Terminal) -> None:
    servers = {item.server for item in session.tools}
    if servers:
        screen.note(f"Ready: {counted(len(session.tools), 'tool')} of {counted(len(servers), 'server')}.")
    inventory.report_failures(session.config, session.failures(), screen, has_data=True)
