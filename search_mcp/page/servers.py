"""The view of all servers: how each stands, and its switch."""

from collections.abc import Mapping
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.cli.files import editing
from search_mcp.page.door import Session
from search_mcp.page.live import Part
from search_mcp.page.standings import summed_up
from search_mcp.page.web import Form, Web

VIEW = "servers"


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    facts = web.facts

    async def show(request: Request) -> Response:
        rows = facts.rows()
        return web.show(request, "servers.html", VIEW, rows=rows, summary=summed_up(rows))

    async def parts(_query: Mapping[str, str], session: Session) -> dict[str, Part]:
        rows = facts.rows()
        summary = summed_up(rows)
        whole = partial(web.write, "server_list.html", session, rows=rows)
        return {
            "summary": Part(summary, partial(web.write, "summary.html", session, summary=summary)),
            "servers": Part(tuple(each.id for each in rows), whole),
            **{each.id: Part(each, partial(web.write, "server_row.html", session, row=each)) for each in rows},
        }

    async def switch(request: Request, form: Form) -> Response:
        row, _ = facts.known(form.get("server"))
        change = editing.enable_in if form.get("to") == "on" else editing.disable_in
        return web.done(request, await facts.carry_out(partial(change, names=[row.server])), form.back)

    async def start(request: Request, form: Form) -> Response:
        row, _ = facts.known(form.get("server"))
        facts.start(row.server)
        return web.done(request, "", form.back)

    return [web.view(VIEW, show, parts), web.post("switch", switch), web.post("start", start)]
