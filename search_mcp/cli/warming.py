"""Start servers once after `install` and `import`, so that a client's first list of tools is complete.

A client may read its list only once, seconds after it starts; a server that is started for the first time may need
longer, to download its package for example.
"""

import os
from collections.abc import Collection
from pathlib import Path

from search_mcp import server
from search_mcp.cli import inventory
from search_mcp.cli.memory import Renewed
from search_mcp.cli.session import Session, only, recall, run
from search_mcp.cli.terminal import Terminal
from search_mcp.errors import ConfigError
from search_mcp.model import Kind


def warm(path: Path, screen: Terminal, among: Collection[str] | None = None) -> None:
    """Start the servers of a configuration that were never listed, of these if some are named, and print the outcome.

    A server whose last start failed is not started again: `check` does that.
    """
    try:
        config = server.read(path, os.environ)
    except ConfigError:
        return  # it was written before, so a fault in it is of the user's making: `check` and `validate` print it
    screen.conceal(config.secrets)
    unknown = recall(
        config, None, lambda session: {each.server for each in session.statuses() if each.state == "unknown"}
    )
    new = {name for name in unknown if among is None or name in among}
    if new:
        run(only(config, new), None, Renewed, lambda session: _settle(session, screen))
    recall(config, None, lambda session: _report(session, screen))


async def _settle(session: Session, screen: Terminal) -> None:
    with screen.progress(session.awaited):
        await session.settle(Kind)


def _report(session: Session, screen: Terminal) -> None:
    servers = {item.server for item in session.tools}
    if servers:
        tools, of = _counted(len(session.tools), "tool"), _counted(len(servers), "server")
        screen.note(f"{tools} of {of} will be in a client's first list.")
    inventory.report_failures(session.failures(), screen, has_data=True)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
