"""The view of the recorded calls: the last ones as they end, and sums by day, tool, server and client."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.cli.problem import Problem
from search_mcp.cli.usage import report, usage
from search_mcp.cli.usage.report import By, Calls, Report
from search_mcp.page.door import Session
from search_mcp.page.live import Part, Same
from search_mcp.page.record import Choice, Record, Summary
from search_mcp.page.web import Web
from search_mcp.times import iso
from search_mcp.usage.ended_calls import Row

VIEW = "usage"
SUBJECTS = (By.TOOL, By.SERVER, By.CLIENT)
PERIODS = (1, 7, 30, 90)
"""Days to choose from."""
USUAL = (By.TOOL, 30)
MOST_ROWS = 200
"""Rows of the sums that are shown, those with the most calls."""


@dataclass(frozen=True)
class Bar:
    """One day of the chart."""

    day: str
    calls: int
    errors: int


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    facts, record = web.facts, Record(web.facts)

    async def show(request: Request) -> Response:
        choice, settings = choice_in(request.query_params), facts.gateway.config.settings
        record.hasten()
        given: dict[str, Any] = {"choice": choice, "subjects": SUBJECTS, "periods": PERIODS, "is_on": settings.usage}
        try:
            given |= {**last(await record.calls()), **sums(choice, await record.summary(choice))}
        except Problem as exc:
            given |= {**last([], str(exc)), "found": None}
        recording = await run_in_thread(partial(usage.recording, record.path, is_on=settings.usage))
        return web.show(request, "usage.html", VIEW, recording=recording, **given)

    async def parts(query: Mapping[str, str], session: Session) -> dict[str, Part]:
        record.hasten()
        try:
            calls = await record.calls()
        except Problem as exc:
            said = str(exc)
            return {"calls": Part(said, lambda: web.write("usage_calls.html", session, **last([], said)))}
        choice = choice_in(query)
        summary, config = record.last_summary(choice), facts.gateway.config
        shown = {"calls": Part(Same(calls), lambda: web.write("usage_calls.html", session, **last(calls)))}
        if summary is not None:
            key = Same(summary), Same(config)
            shown["sums"] = Part(key, lambda: web.write("usage_sums.html", session, **sums(choice, summary)))
        return shown

    def sums(choice: Choice, summary: Summary) -> dict[str, Any]:
        """Return what the template of the sums is given."""
        (by, days), found = choice, summary.found
        return {
            "choice": choice,
            "found": found,
            "headline": usage.headline(found, days),
            "bars": bars(found, days),
            "headings": (usage.HEADINGS[by], *usage.NUMBERS),
            "rows": _rows(found.rows[:MOST_ROWS]),
            "more": max(0, len(found.rows) - MOST_ROWS),
            "days": _rows([each for each in reversed(found.days) if each.count]),
            "legend": usage.LEGEND,
            "long_results": summary.long_results,
            "unused": usage.never_used(found, facts.gateway.config.servers),
        }

    web.views[VIEW] = parts
    return [web.get(VIEW, show)]


def choice_in(query: Mapping[str, str]) -> Choice:
    """Read what is summed up, and how many days; for anything unknown, the usual."""
    by = next((each for each in SUBJECTS if each == query.get("by")), USUAL[0])
    return by, next((each for each in PERIODS if str(each) == query.get("days")), USUAL[1])


def last(calls: Sequence[Row], problem: str = "") -> dict[str, Any]:
    """Return what the template of the last calls is given."""
    shown = [
        (iso(ended), client, report.full_name(server, tool), usage.duration(seconds), usage.size(returned), ending)
        for ended, client, server, tool, seconds, ending, _, returned, _ in calls
    ]
    return {"calls": shown, "problem": problem}


def bars(found: Report, days: int) -> list[Bar]:
    """Return the days of a period up to today; the first is a part of a day."""
    known, today = {each.name: each for each in found.days}, datetime.date.today()
    names = [(today - datetime.timedelta(back)).isoformat() for back in range(days, -1, -1)]
    return [Bar(name, each.count, each.errors) for name in names for each in [known.get(name) or Calls(name, {})]]


def _rows(found: Sequence[Calls]) -> list[tuple[str, ...]]:
    return [(each.name, *usage.numbers(each)) for each in found]
