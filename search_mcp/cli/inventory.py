"""The tools there are, as `list`, `search`, `describe` and `tokens` need them.

Decides how long they are waited for, and what is said of their age and of those that are missing.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio

from search_mcp.cli.options import Options
from search_mcp.cli.problem import FINE, WRONG, Misuse, cut, did_you_mean, disabled
from search_mcp.cli.session import Session, only, run
from search_mcp.cli.terminal import Terminal
from search_mcp.config import Config, ServerConfig
from search_mcp.model import Kind, Status
from search_mcp.suggest import nearest

REMEMBERING_SECONDS = 10.0
"""How long a command waits for lists it does not need, so that the next one need not start the server."""

_Answer = TypeVar("_Answer")


def look(options: Options, config: Config, at: Callable[[Session], _Answer]) -> _Answer:
    """Look at something once the tools of every server are known."""

    async def work(running: Session) -> _Answer:
        await _settle(running, options.screen)
        return at(running)

    return run(config, options.profile, options.memory, work)


def known_server(config: Config, name: str) -> ServerConfig:
    """Find a server.

    Raises:
        Misuse: there is no such server.
    """
    found = {server.name: server for server in config.servers}
    if name not in found:
        remedy = did_you_mean(nearest(name, found), f"there are {', '.join(found) or 'none'}")
        raise Misuse(f"there is no server {name!r} in the configuration", remedy)
    return found[name]


def narrow(config: Config, name: str) -> Config:
    """Leave all servers alone but one.

    Raises:
        Misuse: there is no such server.
        Problem: it is disabled.
    """
    server = known_server(config, name)
    if not server.enabled:
        raise disabled(server)
    return only(config, {name})


async def _settle(session: Session, terminal: Terminal) -> None:
    """Wait for the tools of every server, and a little for the rest: a server is remembered when all is known of it."""
    with terminal.progress(session.awaited):
        await session.settle([Kind.TOOLS])
        with anyio.move_on_after(REMEMBERING_SECONDS):
            await session.settle(Kind)


def tell_age(age_seconds: float | None, terminal: Terminal) -> None:
    """Say how old it is what is shown, if it is not of this minute."""
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if age_seconds is not None and age_seconds >= length:
            count = round(age_seconds / length)
            ago = f"{count} {name}{'s' if count > 1 else ''} ago"
            terminal.note(f"as the servers listed it {ago}; --refresh asks them again")
            return


def report_failures(failures: Sequence[Status], terminal: Terminal) -> int:
    """Say which servers' tools are missing, and why if it is one; return the exit code."""
    if len(failures) == 1:
        reason = cut(failures[0].reason or "it did not start in time")
        terminal.warning(f"the tools of {failures[0].server!r} are missing: {reason}; search-mcp check tells more")
    elif failures:
        servers = ", ".join(repr(status.server) for status in failures)
        terminal.warning(f"the tools of {len(failures)} servers are missing: {servers}; search-mcp check tells why")
    return WRONG if failures else FINE
