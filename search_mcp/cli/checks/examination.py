"""Collects the findings of `check` while the servers run.

Decides which problems of a server are reported, and what is shown while a person waits.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from search_mcp.backends.pin_records import Open
from search_mcp.catalog import remarks, uris
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.profiles import CANONICAL, Profile
from search_mcp.cli.checks import fitness, notes, start_remedies, suspicion
from search_mcp.cli.checks.findings import Examination, Finding
from search_mcp.cli.checks.fitness import Remark
from search_mcp.cli.counting import counted, enumerated
from search_mcp.cli.session import Session
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.folders import model_folder, usage_file
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import Status
from search_mcp.model.standing import standing_of
from search_mcp.semantic import choice
from search_mcp.usage import store as usage_store

_LONG_WAIT_SECONDS = 5.0
"""Time after which the names of the servers still waited for are shown."""
_LATELY_SECONDS = 30 * usage_store.DAY_SECONDS
"""Age up to which a recorded call counts: servers and their tools change."""
_DOWNLOADERS = ("npx", "uvx", "pipx", "bunx", "docker")
"""Programs that may download a package before they start a server."""


async def examine(
    session: Session, client: Profile | None, terminal: Terminal, names: Sequence[str] = ()
) -> Examination:
    """Wait for the servers and collect the findings about them, for one client or for all.

    `names` are the servers to report; without any, all are.
    """
    await _settled(session, terminal, names)
    judge = client or CANONICAL
    differences: dict[str, list[Open]] = {}
    with contextlib.suppress(OSError):  # a record that cannot be read is reported among the changes
        differences = session.differences()
    findings = _findings(session, names, differences)
    remarks = [] if names else list(fitness.of_catalog(session.catalog, session.audience, judge))
    long_results = [] if names else _long_results(session.config, client)
    about = [*notes.of_session(session, names), *(() if names else _without_meaning(session.config))]
    return Examination(findings, judge, remarks, about, long_results)


def _without_meaning(config: Config) -> Iterator[str]:
    """Give the reason why search by meaning is off, if the user has not switched it off."""
    if reason := choice.choose(choice.setting_of(config), model_folder()).reason:
        yield f"Search by meaning is off: {reason}."


def _long_results(config: Config, client: Profile | None) -> list[Remark]:
    """Compare the results that clients got lately with what they take; nothing without a readable record."""
    if not config.settings.usage:
        return []
    try:
        seen = usage_store.largest_results(usage_file(), time.time() - _LATELY_SECONDS)
    except (usage_store.LaterFormatError, sqlite3.Error, OSError):
        return []  # `search-mcp usage` reports it
    return list(fitness.of_usage(seen, config.servers, client))


def _chosen(session: Session, names: Sequence[str]) -> list[Status]:
    return [status for status in session.statuses() if not names or status.server in names]


async def _settled(session: Session, terminal: Terminal, names: Sequence[str]) -> None:
    """Wait until every server has listed everything or failed, and show the states meanwhile."""
    began = time.monotonic()

    def lines() -> list[tuple[str, str, str]]:
        return [_line(session, status, time.monotonic() - began) for status in _chosen(session, names)]

    def remark() -> str:
        if time.monotonic() - began < _LONG_WAIT_SECONDS:
            return ""
        return _awaited([name for name, state, _ in lines() if state == "starting"], session.config)

    with terminal.board(lines, remark):
        await session.settle(Kind)


def _line(session: Session, status: Status, seconds: float) -> tuple[str, str, str]:
    """Return a server's line on the screen: its name, state and details."""
    if status.state is State.STARTING or (status.state is State.READY and not session.has_listed(status.server)):
        return status.server, "starting", f"{seconds:.0f} s"
    if status.state is State.READY:
        return status.server, status.state, counted(_count(session.catalog, Kind.TOOLS, status.server), "tool")
    standing = standing_of(status)
    return status.server, standing.word, standing.explanation


def _awaited(names: Sequence[str], config: Config) -> str:
    """Name the servers that are waited for, and their programs that may be downloading."""
    if not names:
        return ""
    commands = {PurePath(server.command).stem for server in config.servers if server.name in names}
    downloading = [program for program in _DOWNLOADERS if program in commands]
    more = f" ({' and '.join(downloading)} may be downloading)" if downloading else ""
    return f"waiting for {enumerated(names)}{more}"


def _findings(session: Session, names: Sequence[str], differences: Mapping[str, Sequence[Open]]) -> list[Finding]:
    configs = {server.name: server for server in session.config.servers}
    problems, changes = _by_server(_problems(session)), _by_server(session.changes())
    return [
        _finding(
            configs[status.server],
            status,
            session,
            problems=problems.get(status.server, []),
            changes=changes.get(status.server, []),
            differences=differences.get(status.server, []),
        )
        for status in _chosen(session, names)
    ]


def _by_server(texts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for server, text in texts:
        grouped.setdefault(server, []).append(text)
    return grouped


def _problems(session: Session) -> Iterator[tuple[str, str]]:
    """Yield server and text of each problem with a definition or a name."""
    for server, problem in remarks.problems(session.catalog):
        if not problem.startswith("its list of "):  # a list that failed is reported by `_finding`
            yield server, problem
    yield from uris.taken(session.catalog)
    yield from suspicion.remarks(session.catalog, session.statuses())
    for config in session.config.servers:
        unreadable = fitness.of_prefix(config)
        if unreadable is not None and config.enabled:
            yield config.name, unreadable


def _finding(
    config: ServerConfig,
    status: Status,
    session: Session,
    *,
    problems: Sequence[str],
    changes: Sequence[str],
    differences: Sequence[Open],
) -> Finding:
    catalog, is_ready = session.catalog, status.state is State.READY
    known = [kind for kind in Kind if is_ready and catalog.is_known(config.name, kind)]
    silent = [f"it did not list its {kind.value} in time" for kind in Kind if is_ready and kind not in known]
    refused = [
        f"listing its {kind.value} failed; see {config.command_for('logs')}"
        for kind in known
        if catalog.is_unlistable(config.name, kind)
    ]
    held = [f"its {config.noun}: {status.command}"] if status.command is not None else []
    return Finding(
        config,
        status,
        {kind: _count(catalog, kind, config.name) for kind in Kind},
        (*silent, *refused, *held, *problems),
        start_remedies.of_failed(config, status.reason or "") if status.state is State.FAILED else None,
        status.state is State.DISABLED
        or (is_ready and not silent and not any(hides for _, hides in catalog.unmatched(config.name))),
        fitness.of_start(status),
        tuple(changes),
        tuple(differences),
        {kind: catalog.admissible(config.name, kind) for kind in (Kind.TOOLS, Kind.PROMPTS)},
    )


def _count(catalog: Catalog, kind: Kind, server: str) -> int:
    if kind is Kind.TOOLS:
        return sum(item.server == server for item in catalog.tools())
    if kind is Kind.PROMPTS:
        return sum(item.server == server for item in catalog.prompts())
    return sum(owner == server for owner, _ in catalog.by_uri(kind).values())
