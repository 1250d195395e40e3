"""`check`: is every server there, and what does it have?

Decides what is worth a person's attention, and the remedy where the reason does not bring one.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from search_mcp.catalog import Catalog
from search_mcp.cli.problem import FINE, WRONG
from search_mcp.cli.session import Session
from search_mcp.cli.terminal import Terminal
from search_mcp.config import Config, ServerConfig, redact
from search_mcp.model import Kind, Status

_COMES_WITH = {
    "npx": "npx comes with Node.js: https://nodejs.org",
    "node": "install Node.js: https://nodejs.org",
    "uvx": "uvx comes with uv: https://docs.astral.sh/uv",
    "uv": "install uv: https://docs.astral.sh/uv",
    "docker": "install Docker: https://docs.docker.com/get-docker",
}
_HEADINGS = ("Server", "State", "Protocol", "Opened in", "Tools", "Prompts", "Resources")
_NUMBERS = _HEADINGS[3:]


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
        status, offer = self.status, self.status.offer
        if offer is None:
            return (status.server, status.state, "", "", "", "", "")
        counts = (self.counts[Kind.TOOLS], self.counts[Kind.PROMPTS], self.counts[Kind.RESOURCES])
        opened = f"{self.milliseconds} ms" if self.milliseconds is not None else ""
        return (status.server, status.state, f"{_era(status)} {offer.revision}", opened, *map(str, counts))

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
    return "modern" if status.offer.modern else "legacy"


async def examine(session: Session, terminal: Terminal) -> list[Finding]:
    """Start every server and find out about it."""
    with terminal.progress(session.awaited):
        await session.settle(Kind)
    problems = list(session.catalog.problems())
    return [
        _finding(status, session, tuple(text for server, text in problems if server == status.server))
        for status in session.statuses()
    ]


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
    if shutil.which(config.command) is None:
        return _COMES_WITH.get(PurePath(config.command).stem.lower())
    line = [redact(word, config.secrets) for word in (config.command, *config.args)]
    written = subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line)
    return f"to see more, run it yourself: {written}"


def report(findings: list[Finding], config: Config, path: Path, terminal: Terminal) -> int:
    """Show what was found to a person; return the exit code."""
    if not findings:
        terminal.note(f"There are no servers in {path}; put some under mcpServers.")
    else:
        terminal.table(_HEADINGS, [finding.row() for finding in findings], _NUMBERS)
    for finding in findings:
        _report_troubles(finding, terminal)
    if config.warnings:
        terminal.text("")
        terminal.heading("Configuration")
        for warning in config.warnings:
            terminal.paragraph(warning, indent=2)
    return exit_code(findings)


def _report_troubles(finding: Finding, terminal: Terminal) -> None:
    reason = finding.status.reason if finding.status.state == "failed" else None
    if finding.status.state == "starting":
        reason = 'it did not start in time; try again, or raise its "startTimeoutSeconds"'
    troubles = [each for each in (reason, finding.remedy, *finding.problems) if each]
    if not troubles:
        return
    terminal.text("")
    terminal.heading(finding.status.server)
    for trouble in troubles:
        terminal.paragraph(trouble, indent=2)


def as_json(findings: list[Finding], config: Config, path: Path) -> dict[str, Any]:
    """The same for a program."""
    return {
        "config": str(path),
        "ok": exit_code(findings) == FINE,
        "servers": [finding.as_json() for finding in findings],
        "warnings": config.warnings,
    }


def exit_code(findings: list[Finding]) -> int:
    return FINE if all(finding.is_fine for finding in findings) else WRONG
