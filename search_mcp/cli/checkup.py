"""`check`: start the servers and report their state, what they have, and problems.

Decides what is reported, how short, and the remedy where a reason does not name one.
"""

import contextlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer

from search_mcp.backends.pin_records import Open
from search_mcp.backends.pins import TrustStore
from search_mcp.backends.process.launching import is_program
from search_mcp.backends.process.variables import child_environment, find_program
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.profiles import CANONICAL, Profile
from search_mcp.cli import acceptance, completion, consent, differences, fitness, inventory, notes, suspicion
from search_mcp.cli.acceptance import Wanted
from search_mcp.cli.counting import counted, enumerated, summary
from search_mcp.cli.fitness import Remark
from search_mcp.cli.memory import Renewed
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, WRONG, Problem, short_reason
from search_mcp.cli.session import Session, only, run
from search_mcp.cli.terminal import Terminal
from search_mcp.config.parsing import in_words
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.config.secrets import redact
from search_mcp.folders import trust_folder
from search_mcp.model.errors import for_shell
from search_mcp.model.names import Kind
from search_mcp.model.servers import Status

_HEADINGS = ("Server", "State", "Protocol", "Start", "Tools", "Prompts", "Resources", "Templates")
_NUMBERS = _HEADINGS[3:]
_DISPENSABLE = ("Templates", "Resources", "Prompts", "Protocol")
"""The first to be left out on a narrow screen."""
_RUN_IT = "to see more, run it yourself: "
_LONG_WAIT_SECONDS = 5.0
"""After this, a person is told what is being waited for."""
_DOWNLOADERS = ("npx", "uvx", "pipx", "bunx", "docker")
"""Programs that may download a package before they start a server."""


@takes("config", "client", "as_json", "debug")
def check(
    options: Options,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Check only these servers, with the whole error output.",
            autocompletion=completion.server_names,
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Approve a held command, or changed and new definitions, shown first: SERVER or SERVER.TOOL.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve without being asked at a terminal.")] = False,
) -> int:
    """Start the servers and report their state, tools and problems."""
    screen, judge = options.screen, options.profile
    loaded, path = options.configuration()
    loaded, others = consent.accept(accept or [], loaded, path, options, is_sure=yes)
    wanted = acceptance.wanted(others, loaded)
    named = [inventory.known_server(loaded, name).name for name in names or []]
    chosen = list(dict.fromkeys([*named, *(each.server.name for each in wanted)])) or [
        each.name for each in loaded.servers if each.name in (accept or []) and each.held is None
    ]
    if accept and not chosen:
        return WRONG  # all were refused, which is said already
    checked = only(loaded, chosen) if chosen else loaded
    found = run(checked, judge, Renewed, lambda running: examine(running, judge, screen, chosen))
    accepting = _accepting(wanted, found)
    if options.as_json:
        screen.json({"config": str(path), **found.as_json(), "warnings": loaded.warnings})
    elif chosen:
        _show_differences(found, accepting if wanted else None, screen)
    is_refused = bool(wanted) and not acceptance.confirmed(accepting, screen, is_sure=yes or options.as_json)
    if is_refused:
        screen.note("Nothing was accepted.")
    elif wanted:
        for name, differences in accepting.items():
            acceptance.accept(inventory.known_server(loaded, name), differences, TrustStore(trust_folder()), screen)
        found = found.without(accepting)
    if not options.as_json:
        warnings = [
            text for text in loaded.warnings if not chosen or any(f"mcpServers.{each}." in text for each in chosen)
        ]
        report(found, warnings, path, screen, is_detailed=bool(chosen))
    return WRONG if is_refused else found.exit_code


def _accepting(wanted: Sequence[Wanted], found: "Examination") -> dict[str, list[Open]]:
    """Choose what is accepted: of servers that were listed just now.

    Raises:
        Problem: one could not be listed.
        Misuse: there is nothing of that name to be accepted.
    """
    for finding in found.findings:
        if finding.status.server in [each.server.name for each in wanted] and finding.status.state != "ready":
            why = short_reason(finding.reason or finding.status.reason or finding.state)
            raise Problem(f"{finding.status.server}: nothing was accepted, because it could not be listed ({why})")
    return acceptance.chosen(wanted, {finding.status.server: finding.differences for finding in found.findings})


def _show_differences(found: "Examination", accepting: Mapping[str, Sequence[Open]] | None, screen: Terminal) -> None:
    """Show the differences of the servers that are checked, or those that are to be accepted."""
    for finding in found.findings:
        server = finding.status.server
        shown = finding.differences if accepting is None or server not in accepting else accepting[server]
        differences.show(server, shown, screen)
    if any(finding.differences for finding in found.findings):
        screen.text("")


@dataclass(frozen=True)
class Finding:
    """What was found out about one server."""

    status: Status
    counts: Mapping[Kind, int]
    problems: tuple[str, ...]
    remedy: str | None
    is_fine: bool

    slow_seconds: float | None = None
    """How long it took to start, if that is slow."""
    changes: tuple[str, ...] = ()
    """What is not as it was accepted, in sentences."""
    differences: tuple[Open, ...] = ()
    """The same, one by one; also of what other clients were given, and what is gone."""
    admissible: Mapping[Kind, frozenset[str]] = field(default_factory=dict)
    """The tools and prompts that count as soon as they are accepted."""

    @property
    def milliseconds(self) -> int | None:
        seconds = self.status.start_seconds
        return round(seconds * 1000) if seconds is not None else None

    @property
    def state(self) -> str:
        """The state as a person reads it."""
        return _STATES.get(self.status.state, self.status.state)

    @property
    def reason(self) -> str | None:
        """Why it failed."""
        if self.status.state == "starting":
            return 'it did not answer in time; raise its "startTimeoutSeconds"'
        return self.status.reason if self.status.state in ("failed", "held") else None

    def row(self) -> tuple[str, ...]:
        """The finding as a row of the table."""
        status = self.status
        if status.state != "ready":
            return (status.server, self.state)
        counts = [f"{self.counts[kind]:,}" for kind in Kind]
        revision = status.capabilities.revision if status.capabilities is not None else ""
        return (status.server, self.state, revision, _duration(status.start_seconds), *counts)

    def as_json(self) -> dict[str, Any]:
        status, capabilities = self.status, self.status.capabilities
        return {
            "name": status.server,
            "state": status.state,
            "reason": status.reason,
            "remedy": self.remedy,
            "era": _era(status),
            "revision": capabilities.revision if capabilities is not None else None,
            "openMilliseconds": self.milliseconds,
            **{_JSON_KEYS[kind]: count for kind, count in self.counts.items()},
            "problems": (
                *([_slow(self.slow_seconds)] if self.slow_seconds is not None else []),
                *self.problems,
                *self.changes,
            ),
            **({"changes": [differences.as_json(each) for each in self.differences]} if self.differences else {}),
        }


_STATES = {"disabled": "off", "starting": "failed"}
_JSON_KEYS = {
    Kind.TOOLS: "tools",
    Kind.PROMPTS: "prompts",
    Kind.RESOURCES: "resources",
    Kind.TEMPLATES: "resourceTemplates",
}


def _era(status: Status) -> str | None:
    if status.capabilities is None:
        return None
    return status.capabilities.era.value


def _duration(seconds: float | None) -> str:
    return f"{seconds:.1f} s" if seconds is not None else ""


def _slow(seconds: float) -> str:
    return f"slow to start ({_duration(seconds)}): a call that has to start it waits as long"


@dataclass(frozen=True)
class Examination:
    """What was found out about all servers, and what a client makes of what they have."""

    findings: Sequence[Finding]
    client: Profile
    remarks: Sequence[Remark]
    notes: Sequence[str] = ()
    """What is no fault."""

    @property
    def exit_code(self) -> int:
        is_fine = all(finding.is_fine for finding in self.findings) and not any(each.is_fatal for each in self.remarks)
        return FINE if is_fine else WRONG

    def without(self, accepted: Mapping[str, Sequence[Open]]) -> "Examination":
        """Leave out what is accepted by now."""
        findings = [
            replace(each, **_left(each, accepted[each.status.server])) if each.status.server in accepted else each
            for each in self.findings
        ]
        return replace(self, findings=findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.exit_code == FINE,
            "servers": [finding.as_json() for finding in self.findings],
            "client": {"name": self.client.name, "problems": [remark.text for remark in self.remarks]},
            "notes": self.notes,
        }


def _left(finding: Finding, accepted: Sequence[Open]) -> dict[str, Any]:
    """Say what of a server is still not accepted."""
    left = tuple(each for each in finding.differences if each not in accepted)
    name, count = finding.status.server, sum(each.now is not None for each in left)
    shows = f"`search-mcp check {for_shell(name)}` shows them"
    more = (f"{counted(count, 'difference')} not accepted; {shows}",) if count else ()
    counts = {
        kind: count + len(finding.admissible.get(kind, frozenset()) & names)
        for kind, count in finding.counts.items()
        for names in [{each.name for each in accepted if each.section == kind.value and not each.is_of_another_client}]
    }
    return {"differences": left, "changes": more, "counts": counts}


async def examine(
    session: Session, client: Profile | None, terminal: Terminal, names: Sequence[str] = ()
) -> Examination:
    """Start the servers and find out about them; for one client, or for all of them.

    `names` are the only servers to report on; without any, all are.
    """
    began = time.monotonic()

    def statuses() -> list[Status]:
        return [status for status in session.statuses() if not names or status.server in names]

    def standings() -> list[tuple[str, str, str]]:
        return [_standing(session, status, began) for status in statuses()]

    def remark() -> str:
        if time.monotonic() - began < _LONG_WAIT_SECONDS:
            return ""
        return _awaited([name for name, state, _ in standings() if state == "starting"], session.config)

    with terminal.board(standings, remark):
        await session.settle(Kind)
    judge = client or CANONICAL
    problems = [each for each in session.catalog.problems() if not _is_failed_list(each[1])]
    problems += suspicion.remarks(session.catalog, session.statuses())
    for server in session.config.servers:
        unreadable = fitness.of_prefix(server)
        if unreadable is not None and server.enabled:
            problems.append((server.name, unreadable))
    changes, open_ones = list(session.changes()), dict[str, list[Open]]()
    with contextlib.suppress(OSError):  # that the record cannot be read is among the changes
        open_ones = session.differences()
    findings = [
        replace(
            _finding(status, session, tuple(text for name, text in problems if name == status.server)),
            changes=tuple(text for name, text in changes if name == status.server),
            differences=tuple(open_ones.get(status.server, ())),
            admissible={kind: session.catalog.admissible(status.server, kind) for kind in (Kind.TOOLS, Kind.PROMPTS)},
        )
        for status in statuses()
    ]
    remarks = [] if names else list(fitness.of_catalog(session.catalog, session.audience, judge))
    return Examination(findings, judge, remarks, notes.of_session(session, names))


def _is_failed_list(problem: str) -> bool:
    """Whether a problem only repeats that a server has failed, or did not list something."""
    return problem.startswith("its list of ")


def _standing(session: Session, status: Status, began: float) -> tuple[str, str, str]:
    """Give a server's line on the screen while it is waited for."""
    if status.state == "starting" or (status.state == "ready" and not session.has_listed(status.server)):
        return status.server, "starting", f"{time.monotonic() - began:.0f} s"
    if status.state == "ready":
        return status.server, status.state, counted(_count(session.catalog, Kind.TOOLS, status.server), "tool")
    return status.server, _STATES.get(status.state, status.state), status.reason or ""


def _awaited(names: Sequence[str], config: Config) -> str:
    """Say which servers are waited for, and which of them may be downloading."""
    if not names:
        return ""
    commands = {PurePath(server.command).stem for server in config.servers if server.name in names}
    downloading = [program for program in _DOWNLOADERS if program in commands]
    more = f" ({' and '.join(downloading)} may be downloading)" if downloading else ""
    return f"waiting for {enumerated(names)}{more}"


def _finding(status: Status, session: Session, problems: tuple[str, ...]) -> Finding:
    config = next(server for server in session.config.servers if server.name == status.server)
    known = [kind for kind in Kind if status.state == "ready" and session.catalog.is_known(status.server, kind)]
    silent = tuple(
        f"it did not list its {kind.value} in time" for kind in Kind if status.state == "ready" and kind not in known
    )
    refused = tuple(
        f"listing its {kind.value} failed; see search-mcp logs {for_shell(status.server)}"
        for kind in known
        if session.catalog.is_unlistable(status.server, kind)
    )
    if status.command is not None:
        problems = (f"its command: {status.command}", *problems)
    return Finding(
        status,
        {kind: _count(session.catalog, kind, status.server) for kind in Kind},
        (*silent, *refused, *problems),
        _remedy(config) if status.state == "failed" else None,
        status.state == "disabled" or (status.state == "ready" and not silent),
        fitness.of_start(status),
    )


def _count(catalog: Catalog, kind: Kind, server: str) -> int:
    if kind is Kind.TOOLS:
        return sum(item.server == server for item in catalog.tools())
    if kind is Kind.PROMPTS:
        return sum(item.server == server for item in catalog.prompts())
    return sum(owner == server for owner, _ in catalog.by_uri(kind).values())


def _remedy(config: ServerConfig) -> str | None:
    if config.problem is not None:
        return None  # it says what to do
    if _program(config, config.command) is None:
        return _remedy_of_missing(config)
    line = [redact(word, config.secrets) for word in (config.command, *config.args)]
    written = subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line)
    return f"{_RUN_IT}{written}"


def _remedy_of_missing(config: ServerConfig) -> str | None:
    """Say what to do about a program that is not there, where the reason does not say it."""
    if parted := in_words(config.command):
        return parted
    stem = PurePath(config.command).stem
    if stem != config.command and (found := _program(config, stem)) is not None:
        return f'write "command": "{stem}": there is {found}'  # such as npx.exe, which is npx.cmd
    return None


def _program(config: ServerConfig, command: str) -> str | None:
    """The file that is run for a command, looked for as it is when the server is started."""
    environment = child_environment(sys.platform, os.environ, config.env, config.inherit_env, str(Path.home()))
    return find_program(sys.platform, command, environment, config.cwd, is_program)


def report(
    examination: Examination, warnings: Sequence[str], path: Path, terminal: Terminal, *, is_detailed: bool
) -> None:
    """Show what was found to a person."""
    findings = examination.findings
    if not findings:
        terminal.note(f"There are no servers in {path}; search-mcp add or search-mcp import puts some there.")
    else:
        terminal.table(*_table(findings, is_detailed=is_detailed), _NUMBERS, dispensable=_DISPENSABLE)
        terminal.text("")
        terminal.paragraph(summary([finding.state for finding in findings], _tools(findings)))
    if not is_detailed and any(finding.status.state == "failed" for finding in findings):
        terminal.paragraph("search-mcp check NAME shows all that a server wrote.")
    if slow := [finding for finding in findings if finding.slow_seconds is not None]:
        terminal.paragraph(_about_slow(slow))
    for note in examination.notes:
        terminal.paragraph(note)
    for finding in findings:
        failure = [finding.reason, finding.remedy] if is_detailed else []
        _report(
            finding.status.server,
            [*filter(None, failure), *finding.problems, *finding.changes, *_of_others(finding)],
            terminal,
        )
    _report("Names and lists", [remark.text for remark in examination.remarks], terminal)
    reported = [f"mcpServers.{each.status.server}.command: " for each in findings if each.reason is not None]
    _report("Config file", [text for text in warnings if not any(key in text for key in reported)], terminal)


def _of_others(finding: Finding) -> Iterator[str]:
    """Say what only others were given, and what is gone."""
    name, noted = finding.status.server, finding.differences
    if not finding.changes and (others := sorted({each.name for each in noted if each.is_of_another_client})):
        remedy = (
            f"`search-mcp check {for_shell(name)}` shows it, `search-mcp check --accept {for_shell(name)}` accepts it"
        )
        yield f"another client was given what is not accepted: {enumerated(others)}; {remedy}"
    if gone := [each.name for each in noted if each.now is None]:
        yield f"gone since it was first seen: {enumerated(gone)}"


def _table(findings: Sequence[Finding], *, is_detailed: bool) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Give the headings and rows: without columns that hold nothing, each failure with its reason and remedy."""
    used = [*range(5), *(5 + n for n, kind in enumerate([*Kind][1:]) if any(each.counts[kind] for each in findings))]
    rows: list[Sequence[str]] = []
    for finding in findings:
        row = finding.row()
        if len(row) == len(_HEADINGS):
            rows.append([row[position] for position in used])
            continue
        rows.append([*row, "" if finding.reason is None or is_detailed else short_reason(finding.reason)])
        if finding.remedy is not None and not is_detailed and not finding.remedy.startswith(_RUN_IT):
            rows.append(["", "", finding.remedy])
    return [_HEADINGS[position] for position in used], rows


def _tools(findings: Sequence[Finding]) -> int:
    return sum(finding.counts[Kind.TOOLS] for finding in findings)


def _about_slow(findings: Sequence[Finding]) -> str:
    servers = [f"{each.status.server} ({_duration(each.slow_seconds)})" for each in findings]
    return f"Slow to start: {', '.join(servers)}; a call that has to start a server waits as long."


def _report(heading: str, paragraphs: Sequence[str], terminal: Terminal) -> None:
    if not paragraphs:
        return
    terminal.text("")
    terminal.heading(heading)
    for paragraph in paragraphs:
        terminal.paragraph(paragraph, indent=2)
