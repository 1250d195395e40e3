"""Start servers once after `install` and `import`, so that a client's first list of tools is complete.

A client may read its list only once, seconds after it starts; a server that is started for the first time may need
longer, to download its package for example.
"""

import os
from collections.abc import Collection
from pathlib import Path

from search_mcp.cli import inventory
from search_mcp.cli.counting import counted
from search_mcp.cli.memory import Renewed
from search_mcp.cli.needed_servers import only
from search_mcp.cli.session import Session, recall, run
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import bridge
from search_mcp.config import location
from search_mcp.model.errors import ConfigError
from search_mcp.model.names import Kind, State

NO_SERVERS = "There are no servers yet: run `search-mcp import`, or `search-mcp add NAME -- COMMAND`."


def warm(path: Path, screen: Terminal, among: Collection[str] | None = None) -> None:
    """Start the servers of a configuration that were never listed, of these if some are named, and print the outcome.

    `check` starts the others: those whose last start failed, and bridges to remote servers, which may open a browser.
    """
    if not path.exists():
        screen.note(NO_SERVERS)
        return
    try:
        config, _ = location.load(str(path), os.environ)
    except ConfigError:
        return  # it was written before, so a fault in it is of the user's making: `check` and `validate` print it
    if not config.servers:
        screen.note(NO_SERVERS)
    screen.conceal(config.secrets)
    unknown = recall(
        config, None, lambda session: {each.server for each in session.statuses() if each.state == State.UNKNOWN}
    )
    bridges = {each.name for each in config.servers if bridge.is_bridge(each.args)}
    new = {name for name in unknown - bridges if among is None or name in among}
    if remote := sorted(unknown & bridges):
        screen.note(f"Not started, because it may open a browser to log in: {', '.join(remote)}.")
    if new:
        run(only(config, new), None, Renewed, lambda session: _settle(session, screen))
    recall(config, None, lambda session: _report(session, screen))


async def _settle(session: Session, screen: Terminal) -> None:
    with screen.progress(session.awaited):
        await session.settle(Kind)


def _report(session: Session, screen: Terminal) -> None:
    servers = {item.server for item in session.tools}
    if servers:
        screen.note(
            f"{counted(len(session.tools), 'tool')} of {counted(len(servers), 'server')} are ready to be listed."
        )
    inventory.report_failures(session.failures(), screen, has_data=True)
