"""The screen of `check`: a table of the servers, then their problems.

Decides the columns, their order of importance, and how a failure is shortened.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from search_mcp.catalog.remarks import ALREADY_SEEN
from search_mcp.cli.checks import notes
from search_mcp.cli.checks.findings import Examination, Finding, duration
from search_mcp.cli.counting import enumerated, summary
from search_mcp.cli.problem import command
from search_mcp.cli.terminal import Terminal
from search_mcp.model.names import Kind, State
from search_mcp.pool.sharing import NOT_SHARED

_HEADINGS = ("Server", "State", "Protocol", "Start", "Tools", "Prompts", "Resources", "Templates", "Skills")
_NUMBERS = _HEADINGS[3:]
_DISPENSABLE = ("Templates", "Resources", "Skills", "Prompts", "Protocol")
"""Columns left out on a narrow screen, in this order."""


def show(
    examination: Examination, warnings: Sequence[str], path: Path, terminal: Terminal, *, is_detailed: bool
) -> None:
    """Show the findings; if `is_detailed`, with the whole reason of each failure, and why clients share a server."""
    findings = examination.findings
    if findings:
        terminal.table(*_table(findings, is_detailed=is_detailed), _NUMBERS, dispensable=_DISPENSABLE)
        terminal.text("")
        tools = sum(each.counts[Kind.TOOLS] for each in findings)
        terminal.paragraph(summary([each.standing.word for each in findings], tools))
    else:
        terminal.note(f"There are no servers in {path}. `search-mcp import` or `search-mcp add` adds some.")
    for paragraph in (*_hints(findings, is_detailed=is_detailed), *examination.notes):
        terminal.paragraph(paragraph)
    for each in findings:
        details = _details(each) if is_detailed else ()
        _section(each.name, [*details, *each.problems, *each.changes, *_of_others(each)], terminal)
    _section("Names and lists", [remark.text for remark in examination.remarks], terminal)
    _section("Long results", [remark.text for remark in examination.long_results], terminal)
    reported = [f"mcpServers.{each.name}.command: " for each in findings if each.status.reason is not None]
    _section("Config file", [text for text in warnings if not any(key in text for key in reported)], terminal)


def _table(findings: Sequence[Finding], *, is_detailed: bool) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return headings and rows: kinds that some server has; beside a failure its reason, unless `is_detailed`."""
    has_ready = any(each.status.state is State.READY for each in findings)
    kinds = (5 + n for n, kind in enumerate([*Kind][1:]) if any(each.counts[kind] for each in findings))
    used = [*range(5), *kinds] if has_ready else [0, 1]
    rows: list[Sequence[str]] = []
    for each in findings:
        if each.status.state is State.READY:
            row = _row(each)
            rows.append([row[position] for position in used])
            continue
        is_told = is_detailed or each.status.state is State.DISABLED  # the user wants it to be off
        rows.append([each.name, each.standing.word, "" if is_told else each.standing.explanation])
    return [*(_HEADINGS[position] for position in used), *([] if has_ready else [""])], rows


def _row(ready: Finding) -> Sequence[str]:
    capabilities = ready.status.capabilities
    counts = [f"{ready.counts[kind]:,}" for kind in Kind]
    revision = capabilities.revision if capabilities is not None else ""
    return (ready.name, ready.standing.word, revision, duration(ready.status.start_seconds), *counts)


def _hints(findings: Sequence[Finding], *, is_detailed: bool) -> Iterator[str]:
    failed = [each for each in findings if each.status.state is State.FAILED and each.config.remote is None]
    if failed and not is_detailed:
        yield notes.of_failures([each.config for each in failed])
    slow = [f"{each.name} ({duration(each.slow_seconds)})" for each in findings if each.slow_seconds is not None]
    if slow:
        yield f"Slow to start: {', '.join(slow)}; the first call waits for the start."
    running = {each.name: each.status.sharing for each in findings if each.status.state is State.READY}
    sharing = {name: how for name, how in running.items() if how is not None}
    if sharing and not is_detailed:
        own = [name for name, how in sharing.items() if how.startswith(NOT_SHARED)]
        groups = {"Shared by all clients": [name for name in sharing if name not in own], "One for each client": own}
        said = " ".join(f"{how}: {enumerated(names)}." for how, names in groups.items() if names)
        yield f"{said} `{command([each.config for each in findings], 'check', 'NAME')}` says why."


def _details(finding: Finding) -> Iterator[str]:
    """Yield whether clients share a server, and why; of one that cannot be used, the whole reason and the remedies."""
    status = finding.status
    if status.state is State.READY:
        yield from filter(None, (status.sharing,))
    elif status.state is not State.DISABLED:
        yield from filter(None, (status.reason, status.remedy and f"run `{status.remedy}`", finding.remedy))


def _of_others(finding: Finding) -> Iterator[str]:
    """Yield sentences about changed definitions that only other clients were given, and about those that are gone.

    A new one is not reported: a server may list a tool only to clients with a capability, such as roots.
    """
    noted = finding.differences
    others = sorted({each.name for each in noted if each.is_of_another_client and each.before is not None})
    if others and not finding.changes:
        meaning = "" if finding.config.pin_tools else f" {ALREADY_SEEN}:"
        yield f"another client got changed definitions: {enumerated(others)}.{meaning} {finding.config.review('them')}"
    if gone := [each.name for each in noted if each.now is None]:
        yield f"no longer listed: {enumerated(gone)}"


def _section(heading: str, paragraphs: Sequence[str], terminal: Terminal) -> None:
    if not paragraphs:
        return
    terminal.text("")
    terminal.heading(heading)
    for paragraph in paragraphs:
        terminal.paragraph(paragraph, indent=2)
