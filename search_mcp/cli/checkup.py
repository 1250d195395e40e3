"""`check`: is every server there, and what does it have?

Decides what is worth a person's attention, and the remedy where the reason does not bring one.
"""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer

from search_mcp.aggregate import trust_folder
from search_mcp.backend.environment import child_environment, find_program
from search_mcp.backend.process import is_program
from search_mcp.catalog import Catalog
from search_mcp.cli import acceptance, fitness
from search_mcp.cli.fitness import Remark
from search_mcp.cli.memory import Renewed
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, WRONG
from search_mcp.cli.session import Session, run
from search_mcp.cli.terminal import Terminal
from search_mcp.config import Config, ServerConfig, redact
from search_mcp.model import Kind, Status
from search_mcp.profiles import CANONICAL, PROFILES, Profile
from search_mcp.trust import TrustStore

_COMES_WITH = {
    "npx": "npx comes with Node.js: https://nodejs.org",
    "node": "install Node.js: https://nodejs.org",
    "uvx": "uvx comes with uv: https://docs.astral.sh/uv",
    "uv": "install uv: https://docs.astral.sh/uv",
    "docker": "install Docker: https://docs.docker.com/get-docker",
}
_HEADINGS = ("Server", "State", "Protocol", "Opened in", "Tools", "Prompts", "Resources", "Templates")
_NUMBERS = _HEADINGS[3:]


@takes("config", "client", "as_json", "debug")
def check(
    options: Options,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Approve changed tool definitions: SERVER or SERVER.TOOL."),
    ] = None,
) -> int:
    """Start the servers and report their state, tools and problems."""
    screen, judge = options.screen, options.profile
    loaded, path = options.configuration()
    acceptance.accept(accept or [], loaded, TrustStore(trust_folder()), screen)
    found = run(loaded, judge, Renewed, lambda running: examine(running, judge, screen))
    if options.as_json:
        screen.json({"config": str(path), **found.as_json(), "warnings": loaded.warnings})
    else:
        report(found, loaded, path, screen)
    return found.exit_code


@dataclass(frozen=True)
class Finding:
    """What was found out about one server."""

    status: Status
    counts: Mapping[Kind, int]
    problems: tuple[str, ...]
    remedy: str | None
    is_fine: bool

    @property
    def milliseconds(self) -> int | None:
        seconds = self.status.start_seconds
        return round(seconds * 1000) if seconds is not None else None

    def row(self) -> tuple[str, ...]:
        """The finding as a row of the table."""
        status = self.status
        if status.state != "ready":
            return (status.server, status.state, *[""] * (2 + len(Kind)))
        counts = [str(self.counts[kind]) for kind in Kind]
        return (status.server, status.state, _protocol(status), f"{self.milliseconds} ms", *counts)

    def as_json(self) -> dict[str, Any]:
        status, offer = self.status, self.status.offer
        return {
            "name": status.server,
            "state": status.state,
            "reason": status.reason,
            "remedy": self.remedy,
            "era": _era(status),
            "revision": offer.revision if offer is not None else None,
            "openMilliseconds": self.milliseconds,
            **{_JSON_KEYS[kind]: count for kind, count in self.counts.items()},
            "problems": self.problems,
        }


_JSON_KEYS = {
    Kind.TOOLS: "tools",
    Kind.PROMPTS: "prompts",
    Kind.RESOURCES: "resources",
    Kind.TEMPLATES: "resourceTemplates",
}


def _era(status: Status) -> str | None:
    if status.offer is None:
        return None
    return status.offer.era.value


def _protocol(status: Status) -> str:
    return f"{_era(status)} {status.offer.revision}" if status.offer is not None else ""


@dataclass(frozen=True)
class Examination:
    """What was found out about all servers, and what a client makes of what they have."""

    findings: Sequence[Finding]
    client: Profile
    remarks: Sequence[Remark]

    @property
    def exit_code(self) -> int:
        is_fine = all(finding.is_fine for finding in self.findings) and not any(each.is_fatal for each in self.remarks)
        return FINE if is_fine else WRONG

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.exit_code == FINE,
            "servers": [finding.as_json() for finding in self.findings],
            "client": {"name": self.client.name, "problems": [remark.text for remark in self.remarks]},
        }


async def examine(session: Session, client: Profile | None, terminal: Terminal) -> Examination:
    """Start every server and find out about it; of one client, or of all of them."""
    began = time.monotonic()
    with terminal.board(lambda: [_standing(session, status, began) for status in session.statuses()]):
        await session.settle(Kind)
    judge = client or CANONICAL
    problems = list(session.catalog.problems())
    for status in session.statuses():
        slow = fitness.of_start(status, session.config.settings, [client] if client is not None else PROFILES)
        if slow is not None:
            problems.append((status.server, slow))
    for server in session.config.servers:
        unreadable = fitness.of_prefix(server)
        if unreadable is not None and server.enabled:
            problems.append((server.name, unreadable))
    findings = [
        _finding(status, session, tuple(text for name, text in problems if name == status.server))
        for status in session.statuses()
    ]
    return Examination(findings, judge, list(fitness.of_catalog(session.catalog, session.audience, judge)))


def _standing(session: Session, status: Status, began: float) -> tuple[str, str, str]:
    """What is shown of a server while it is waited for."""
    if status.state == "starting" or (status.state == "ready" and not session.has_listed(status.server)):
        return status.server, "starting", f"{time.monotonic() - began:.0f} s"
    if status.state == "ready":
        return (
            status.server,
            status.state,
            f"{_protocol(status)}, {_count(session.catalog, Kind.TOOLS, status.server)} tools",
        )
    return status.server, status.state, status.reason or ""


def _finding(status: Status, session: Session, problems: tuple[str, ...]) -> Finding:
    config = next(server for server in session.config.servers if server.name == status.server)
    silent = tuple(
        f"it did not list its {kind.value} in time"
        for kind in Kind
        if status.state == "ready" and not session.catalog.is_known(status.server, kind)
    )
    return Finding(
        status,
        {kind: _count(session.catalog, kind, status.server) for kind in Kind},
        (*silent, *problems),
        _remedy(config) if status.state == "failed" else None,
        status.state == "disabled" or (status.state == "ready" and not silent),
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
        stem = PurePath(config.command).stem
        if stem != config.command and (found := _program(config, stem)) is not None:
            return f'write "command": "{stem}": there is {found}'  # such as npx.exe, which is npx.cmd
        return _COMES_WITH.get(stem.lower())
    line = [redact(word, config.secrets) for word in (config.command, *config.args)]
    written = subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line)
    return f"to see more, run it yourself: {written}"


def _program(config: ServerConfig, command: str) -> str | None:
    """The file that is run for a command, looked for as it is when the server is started."""
    environment = child_environment(sys.platform, os.environ, config.env, config.inherit_env, str(Path.home()))
    return find_program(sys.platform, command, environment, config.cwd, is_program)


def report(examination: Examination, config: Config, path: Path, terminal: Terminal) -> None:
    """Show what was found to a person."""
    findings = examination.findings
    if not findings:
        terminal.note(f"There are no servers in {path}; put some under mcpServers.")
    else:
        columns = len(_HEADINGS) - (not any(finding.counts[Kind.TEMPLATES] for finding in findings))
        terminal.table(_HEADINGS[:columns], [finding.row()[:columns] for finding in findings], _NUMBERS)
    for finding in findings:
        _report_troubles(finding, terminal)
    _report("Names and lists", [remark.text for remark in examination.remarks], terminal)
    _report("Configuration", config.warnings, terminal)


def _report_troubles(finding: Finding, terminal: Terminal) -> None:
    reason = finding.status.reason if finding.status.state == "failed" else None
    if finding.status.state == "starting":
        reason = 'it did not start in time; try again, or raise its "startTimeoutSeconds"'
    troubles = [each for each in (reason, finding.remedy, *finding.problems) if each]
    _report(finding.status.server, troubles, terminal)


def _report(heading: str, paragraphs: Sequence[str], terminal: Terminal) -> None:
    if not paragraphs:
        return
    terminal.text("")
    terminal.heading(heading)
    for paragraph in paragraphs:
        terminal.paragraph(paragraph, indent=2)
