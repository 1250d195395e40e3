"""The tools of all servers, as `list`, `search`, `describe` and `tokens` show them.

These commands read cached lists. Decides when servers are started all the same, and what is printed about the age of
the lists and about missing servers.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import anyio

from search_mcp.cli.command_cache import CachedLists, FreshLists
from search_mcp.cli.needed_servers import only
from search_mcp.cli.options import Options
from search_mcp.cli.problem import FINE, WRONG, Misuse, command, did_you_mean, disabled, similar_names
from search_mcp.cli.session import Session, read_cache, run
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.config.subset import OPTION
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import Status
from search_mcp.model.standing import ago, standing_of

REMEMBERING_SECONDS = 10.0
"""Time that a command waits for lists it does not need, so that the server is cached for the next one."""

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Looked(Generic[_Answer]):
    """What a command found in the lists of the servers, and what is missing from them."""

    found: _Answer
    failures: Sequence[Status]
    """The servers whose lists are missing."""
    age_seconds: float | None
    """Age of the oldest cached list; None if none is."""

    def as_json(self) -> dict[str, object]:
        """Return what the JSON output says besides what was found."""
        failed = [
            {
                "name": each.server,
                "state": each.state,
                "reason": standing.reason or None,
                "remedy": standing.remedy or None,
            }
            for each, standing in zip(self.failures, map(standing_of, self.failures), strict=True)
        ]
        return {"failed": failed, "ageSeconds": round(self.age_seconds) if self.age_seconds is not None else None}


def look(
    options: Options,
    config: Config,
    at: Callable[[Session], _Answer],
    prepare: Callable[[Session], Awaitable[None]] | None = None,
) -> Looked[_Answer]:
    """Run a function with the servers' lists, and print their age.

    Cached lists are used; servers are started if none is cached, or with `--refresh`. A server whose last start failed
    counts as cached. `prepare` is waited for before that, perhaps twice.
    """
    looked = _look(options, config, lambda seen: Looked(at(seen), seen.failures(), seen.age_seconds), prepare)
    _tell_age(looked.age_seconds, options.screen)
    return looked


def _look(
    options: Options,
    config: Config,
    at: Callable[[Session], _Answer],
    prepare: Callable[[Session], Awaitable[None]] | None,
) -> _Answer:
    work = partial(_settled, options.screen, at, prepare)
    if options.refresh:
        return run(config, options.profile, FreshLists, work)

    def cached(session: Session) -> tuple[list[Status], _Answer | None]:
        statuses = session.statuses()
        states = {status.state for status in statuses}
        return statuses, at(session) if State.KNOWN in states or State.UNKNOWN not in states else None

    statuses, found = read_cache(config, options.profile, cached, prepare)
    if found is not None:
        return found
    unknown = {status.server for status in statuses if status.state is State.UNKNOWN}
    others = {status.server: status for status in statuses if status.server not in unknown}
    return run(only(config, unknown), options.profile, CachedLists, work, left_alone=others)


async def _settled(
    screen: Terminal,
    at: Callable[[Session], _Answer],
    prepare: Callable[[Session], Awaitable[None]] | None,
    session: Session,
) -> _Answer:
    """Wait for the tools of every server, and briefly for its other lists: a server is cached with all its lists."""
    with screen.progress(session.awaited):
        await session.settle([Kind.TOOLS])
        with anyio.move_on_after(REMEMBERING_SECONDS):
            await session.settle(Kind)
    if prepare is not None:
        await prepare(session)
    return at(session)


def known_server(config: Config, name: str) -> ServerConfig:
    """Return the server of a name.

    Raises:
        Misuse: there is no such server.
    """
    found = {server.name: server for server in config.servers}
    if any(server.name == name for server in config.outside):
        raise Misuse(f"{OPTION} leaves out the server {name!r}", f"leave out {OPTION}, or the name")
    if name not in found:
        remedy = did_you_mean(
            similar_names(name, found), f"the servers are {', '.join(found)}" if found else "it has none"
        )
        raise Misuse(f"there is no server {name!r} in the configuration", remedy)
    return found[name]


def narrow(config: Config, name: str) -> Config:
    """Disable all servers but one.

    Raises:
        Misuse: there is no such server.
        Problem: it is disabled.
    """
    server = known_server(config, name)
    if not server.enabled:
        raise disabled(server)
    return only(config, {name})


def _tell_age(age_seconds: float | None, terminal: Terminal) -> None:
    """Print the age of cached lists, if they are older than a minute."""
    if age_seconds is not None and age_seconds >= 60:
        terminal.note(f"Lists cached {ago(age_seconds)}; --refresh asks the servers again.")


def report_failures(config: Config, failures: Sequence[Status], terminal: Terminal, *, has_data: bool) -> int:
    """Print the servers whose tools are missing, with remedies; returns the exit code."""
    unknown = [status.server for status in failures if status.state is State.UNKNOWN]
    failed = [status for status in failures if status.state not in (State.UNKNOWN, State.HELD, State.NEEDS_LOGIN)]
    for status in failures:
        if status.state in (State.HELD, State.NEEDS_LOGIN):
            terminal.note(f"{status.state.capitalize()}: {status.server}: {standing_of(status).explanation}.")
    if unknown:
        them = "it" if len(unknown) == 1 else "them"
        terminal.note(
            f"Not started yet: {', '.join(unknown)}. `{command(config.servers, 'check', *unknown)}` starts {them}."
        )
    if len(failed) == 1:
        check = command(config.servers, "check", failed[0].server)
        terminal.note(f"Failed: {failed[0].server} ({standing_of(failed[0]).reason}). `{check}` tries again.")
    elif failed:
        listed = ", ".join(status.server for status in failed)
        reasons, check = command(config.servers, "servers"), command(config.servers, "check", "NAME")
        terminal.note(f"Failed: {listed}. `{reasons}` shows the reasons, `{check}` tries again.")
    return FINE if has_data or not failures else WRONG
