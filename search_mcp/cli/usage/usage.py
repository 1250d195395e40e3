"""`usage`: which tools AI clients called, how often, how long it took, and how much came back.

Decides the columns, and which servers are reported as never used. Nothing is started.
"""

import sqlite3
import time
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from search_mcp.cli.checks import fitness
from search_mcp.cli.counting import counted
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Problem, command
from search_mcp.cli.session import read_cache
from search_mcp.cli.terminal import Terminal
from search_mcp.cli.usage import report
from search_mcp.cli.usage.report import ALL, CHARACTERS_A_TOKEN, By, Calls, Report, Wanted, full_name
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.folders import usage_file
from search_mcp.times import iso
from search_mcp.usage.ended_calls import Row
from search_mcp.usage.store import DAY_SECONDS, KEPT_DAYS, LaterFormatError, delete, largest_results, last_calls

_T = TypeVar("_T")

NUMBERS = ("Calls", "Errors", "p50", "p95", "In", "Out", "Tokens")
_USUAL_DAYS = 30
_NOT_RECORDED = "Calls in the terminal are not recorded."
_DISPENSABLE = ("In", "Tokens", "p50")
"""Columns left out on a narrow screen, in this order."""
LEAST_DAYS = 7
"""Least age of the record, and of the config file's last edit, for reports of unused servers, in days."""
HEADINGS = {
    By.TOOL: "Tool",
    By.SERVER: "Server",
    By.CLIENT: "Client",
    By.CLIENT_AND_TOOL: "Client, tool",
    By.DAY: "Day",
}
LEGEND = {
    "p50": "half of the results took this or less",
    "p95": "95 % of the results took this or less",
    "In": "characters of the arguments",
    "Out": "characters of the results, as JSON",
    "Tokens": f"an estimate, one for {CHARACTERS_A_TOKEN} characters of a result",
}


@takes("config", "as_json", "debug")
def usage(
    options: Options,
    by: Annotated[
        By,
        typer.Option("--by", metavar="WHAT", help="Sum up by tool (the default), server, client, client,tool or day."),
    ] = By.TOOL,
    days: Annotated[
        int,
        typer.Option(
            "--days",
            min=1,
            max=KEPT_DAYS,
            metavar="N",
            help=f"Only the last N days: {_USUAL_DAYS} by default, at most {KEPT_DAYS}.",
        ),
    ] = _USUAL_DAYS,
    last: Annotated[
        int | None, typer.Option("--last", min=1, metavar="N", help="List the last N calls instead.")
    ] = None,
    client: Annotated[
        str | None, typer.Option("--client", metavar="NAME", help="Only the calls of this client.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option("--server", metavar="NAME", help="Only calls to this server; `search-mcp` means its own tools."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Delete the record of all calls.")] = False,
) -> int:
    """Show which tools your AI clients have called.

    The record has the calls of all config files. `--config` only chooses the servers that are reported if they had no
    call.
    """
    screen, path = options.screen, usage_file()
    if clear:
        return _clear(path, screen)
    wanted = Wanted(client, server)
    if last is not None:
        _show_last(_reading(path, lambda: last_calls(path, last, wanted.includes)), wanted, options)
        return FINE
    read, since = options.usable_configuration(), time.time() - days * DAY_SECONDS
    config = read[0] if read is not None else None  # without a good one, calls were recorded all the same
    found = _reading(path, lambda: report.read(path, since, by, wanted))
    seen = _reading(path, lambda: largest_results(path, since)) if config is not None and wanted == ALL else ()
    long_results = [each.text for each in fitness.of_usage(seen, config.servers)] if config is not None else []
    unused = _never_used(found, *read) if read is not None and wanted == ALL else []
    if options.as_json:
        screen.json(as_json(found, by, days, path, config, long_results, unused))
    else:
        show(found, by, days, path, config, screen, long_results, unused, wanted)
    return FINE


def _reading(path: Path, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except (sqlite3.Error, LaterFormatError) as exc:
        raise unreadable(path, exc) from exc


def _show_last(calls: Sequence[Row], wanted: Wanted, options: Options) -> None:
    if options.as_json:
        options.screen.json({"file": str(usage_file()), "calls": [_call_as_json(each) for each in calls]})
    elif not calls:
        options.screen.paragraph(f"No tool call{wanted} was recorded. {_NOT_RECORDED}")
    else:
        rows = [
            (
                time.strftime("%m-%d %H:%M:%S", time.localtime(at)),
                client,
                duration(seconds),
                ending,
                full_name(server, tool),
            )
            for at, client, server, tool, seconds, ending, *_ in calls
        ]
        options.screen.table(("Time", "Client", "Took", "Outcome", "Tool"), rows, ("Took",), has_names=True)


def _call_as_json(call: Row) -> dict[str, Any]:
    at, client, server, tool, seconds, ending, given, returned, _ = call
    return {
        "time": iso(at),
        "client": client,
        "server": server or None,
        "tool": tool or None,
        "seconds": round(seconds, 6),
        "ending": ending,
        "charactersIn": given,
        "charactersOut": returned,
    }


def unreadable(path: Path, exc: Exception) -> Problem:
    """Build the error about a record that cannot be read."""
    return Problem(f"{path} cannot be read: {exc}", _remedy(exc))


def _remedy(exc: Exception) -> str:
    """Return what helps if the record cannot be read; only a damaged one is to be deleted."""
    if isinstance(exc, LaterFormatError):
        return "use the search-mcp that wrote it, or a later one"
    if isinstance(exc, sqlite3.OperationalError):  # it is locked, or the disk fails
        return "try again"
    return "`search-mcp usage --clear` deletes it"


def _clear(path: Path, screen: Terminal) -> int:
    try:
        found = delete(path)
    except OSError as exc:
        raise Problem(f"{path} cannot be deleted ({exc.strerror})", "delete it once no AI client runs") from exc
    screen.text(f"{path}: deleted" if found else f"There is no record in {path}.")
    return FINE


def never_used(found: Report, servers: Iterable[ServerConfig], file: Path, failed: Container[str]) -> list[str]:
    """Return the enabled servers without a call in the period; may block.

    None as long as that says little: while the record is new, and after an edit of the file with the servers, which may
    have added some. Those that `failed` could not be called.
    """
    before = time.time() - LEAST_DAYS * DAY_SECONDS
    if found.since is None or found.since > before or _edited(file) > before:
        return []
    return [
        each.name for each in servers if each.enabled and each.name not in found.servers and each.name not in failed
    ]


def _edited(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # it was deleted meanwhile
        return float("inf")


def _never_used(found: Report, config: Config, file: Path) -> list[str]:
    failed = read_cache(config, None, lambda session: {each.server for each in session.failures()})
    return never_used(found, config.servers, file, failed)


def as_json(
    found: Report,
    by: By,
    days: int,
    path: Path,
    config: Config | None,
    long_results: Sequence[str],
    unused: Sequence[str],
) -> dict[str, Any]:
    """Return the report for scripts."""
    return {
        "file": str(path),
        "isRecording": config.settings.usage if config is not None else None,
        "days": days,
        "since": iso(found.since),
        "by": by,
        "clients": found.clients,
        "total": found.total.as_json(),
        "rows": [each.as_json() for each in found.rows],
        "neverUsed": [*unused],
        "longResults": [*long_results],
    }


def show(
    found: Report,
    by: By,
    days: int,
    path: Path,
    config: Config | None,
    terminal: Terminal,
    long_results: Sequence[str] = (),
    unused: Sequence[str] = (),
    wanted: Wanted = ALL,
) -> None:
    """Show the report as a table."""
    terminal.paragraph(headline(found, days, wanted))
    if found.total.count:
        terminal.text("")
        headings = (*NUMBERS, HEADINGS[by])  # a long name is wrapped in the last column
        rows = [(*numbers(each), each.name) for each in found.rows]
        terminal.table(headings, rows, NUMBERS, dispensable=_DISPENSABLE, has_names=True, legend=LEGEND)
    for each in long_results:
        terminal.text("")
        terminal.paragraph(f"{each}.")
    if config is not None and unused:
        _show_unused(unused, config, days, terminal)
    terminal.text("")
    terminal.paragraph(recording(path, is_on=config is None or config.settings.usage), style="dim")


def recording(path: Path, *, is_on: bool) -> str:
    """Say whether calls are recorded, and where; may block."""
    if not is_on:
        return f'Calls are not recorded now ("usage": false).{f" Earlier ones are in {path}." if path.exists() else ""}'
    return (
        f'Recorded for {KEPT_DAYS} days, without arguments and results, in {path}; "usage": false in the settings '
        "switches this off."
    )


def headline(found: Report, days: int, wanted: Wanted = ALL) -> str:
    """Count the calls of the period."""
    total = found.total
    if not total.count:
        return f"No tool call{wanted} was recorded in {_period(days)}. {_NOT_RECORDED}"
    date = time.strftime("%Y-%m-%d", time.localtime(found.since))
    errors = f", {counted(total.errors, 'error')}" if total.errors else ""
    return (
        f"{counted(total.count, 'call')} of {counted(found.clients, 'client')} in {_period(days)}"
        f"{errors}; the first on {date}"
    )


def _period(days: int) -> str:
    return "the last day" if days == 1 else f"the last {days} days"


def _show_unused(unused: Sequence[str], config: Config, days: int, terminal: Terminal) -> None:
    was = "was" if len(unused) == 1 else "were"
    terminal.text("")
    terminal.paragraph(
        f"{counted(len(unused), 'enabled server')} {was} not called in {_period(days)}. "
        "To disable what you do not need:"
    )
    terminal.command_line(command(config.servers, "disable", *unused))


def numbers(calls: Calls) -> Sequence[str]:
    """Write the columns `NUMBERS`."""
    return (
        f"{calls.count:,}",
        f"{calls.errors:,}" if calls.errors else "",
        duration(calls.seconds(0.5)),
        duration(calls.seconds(0.95)),
        size(calls.characters_in),
        size(calls.characters_out),
        f"~{size(calls.tokens_out)}",
    )


def duration(seconds: float | None) -> str:
    """Write a time with its unit in two or three digits."""
    if seconds is None:
        return ""
    if seconds < 0.9995:
        milliseconds = seconds * 1000
        return f"{milliseconds:.1f} ms" if milliseconds < 9.95 else f"{milliseconds:.0f} ms"
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def size(count: int) -> str:
    """Write a number of characters or tokens in two or three digits."""
    for unit, factor in (("", 1), ("k", 1000), ("M", 10**6)):
        value = count / factor
        if value < 999.5:
            return f"{value:.1f}{unit}" if unit and value < 9.95 else f"{value:.0f}{unit}"
    return f"{count / 10**9:.1f}G"
