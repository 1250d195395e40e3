"""The view of the recorded calls: the last ones as they end, and sums by day, tool, server and client."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.cli.problem import Problem
from search_mcp.cli.usage import report, usage
from search_mcp.cli.usage.report import By
from search_mcp.page.door import Session
from search_mcp.page.live import Part, Same
from search_mcp.page.record import Choice, Record, Summary, client_name
from search_mcp.page.trial import TOOL_REPORTED_ERROR
from search_mcp.page.web import Web
from search_mcp.times import iso
from search_mcp.usage.ended_calls import TOOL_ERROR, Row

VIEW = "usage"
SUBJECTS = (By.TOOL, By.SERVER, By.CLIENT)
PERIODS = (1, 7, 30, 90)
"""Days to choose from."""
USUAL = (By.TOOL, 30)
HEADINGS: Final = {
    "p50": ("Typical", "half of the calls with a result took this or less"),
    "p95": ("Slowest 5 %", "5 % of the calls with a result took longer than this"),
}
"""The headings of durations in words, each with its meaning."""
ENDINGS: Final = {TOOL_ERROR: TOOL_REPORTED_ERROR}
"""Recorded endings in other words."""


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    facts, record = web.facts, Record(web.facts)

    async def show(request: Request) -> Response:
        choice, settings = choice_in(request.query_params), facts.gateway.config.settings
        record.hasten()
        given: dict[str, Any] = {"choice": choice, "subjects": SUBJECTS, "periods": PERIODS, "is_on": settings.usage}
        try:
            given |= {**last(await record.calls()), **sums(await record.summary(choice))}
        except Problem as exc:
            given |= {**last([], str(exc)), "sums": None}
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
            shown["sums"] = Part(key, lambda: web.write("usage_sums.html", session, **sums(summary)))
        return shown

    def sums(summary: Summary) -> dict[str, Any]:
        """Return what the template of the sums is given."""
        return {
            "sums": summary,
            "headings": [
                HEADINGS.get(each, (each, "")) for each in (usage.HEADINGS[summary.choice[0]], *usage.NUMBERS)
            ],
            "legend": "; ".join(": ".join(HEADINGS.get(each, (each, about))) for each, about in usage.LEGEND.items()),
            "unused": [each.server for each in facts.rows() if each.is_on and each.server in summary.unused],
        }

    return [web.view(VIEW, show, parts)]


def choice_in(query: Mapping[str, str]) -> Choice:
    """Read what is summed up, and how many days; for anything unknown, the usual."""
    by = next((each for each in SUBJECTS if each == query.get("by")), USUAL[0])
    return by, next((each for each in PERIODS if str(each) == query.get("days")), USUAL[1])


def last(calls: Sequence[Row], problem: str = "") -> dict[str, Any]:
    """Return what the template of the last calls is given."""
    shown = [
        (
            iso(ended),
            client_name(client),
            report.full_name(server, tool),
            usage.duration(seconds),
            usage.size(returned),
            ENDINGS.get(ending, ending),
        )
        for ended, client, server, tool, seconds, ending, _, returned, _ in calls
    ]
    return {"calls": shown, "problem": problem}
