"""The views of the AI clients: connected now, found on this machine, and the tools of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.cli.clients.found_clients import all_found, cost_of
from search_mcp.cli.clients.selection import named
from search_mcp.cli.tokens.cost import MODES
from search_mcp.cli.tokens.tokens import headline
from search_mcp.clients.known import CLIENTS
from search_mcp.page import connecting
from search_mcp.page.door import Session
from search_mcp.page.facts import Facts
from search_mcp.page.live import Part
from search_mcp.page.web import Web
from search_mcp.times import iso

VIEW = connecting.VIEW


@dataclass(frozen=True)
class Connected:
    """A client that the engine serves."""

    name: str
    program: str
    pid: int | None
    since: str | None
    subset: str | None
    """Its option `--servers`."""
    servers: tuple[str, ...]
    """Those of which it uses a process."""


def routes(web: Web) -> list[Route]:
    """Return the routes of these views."""
    facts = web.facts

    async def overview(request: Request) -> Response:
        found = await run_in_thread(partial(all_found, facts.config_path))
        missing = [each for each in CLIENTS if each not in [file.client for file in found]]
        given: dict[str, Any] = {"connected": _connected(facts), "found": found, "missing": missing}
        return web.show(request, "clients.html", VIEW, headline=headline, **given)

    async def parts(_query: Mapping[str, str], session: Session) -> dict[str, Part]:
        now = _connected(facts)
        write = partial(web.write, "clients_connected.html", session, connected=now)
        return {"connected": Part(tuple(now), write)}

    async def details(request: Request) -> Response:
        (client,) = named([request.query_params.get("name", "")], all_found=False)
        found = await run_in_thread(partial(cost_of, facts.config_path, client))
        return web.show(request, "client.html", VIEW, client=client, cost=found, headline=headline(found), modes=MODES)

    return [web.view(VIEW, overview, parts), web.view("client", details, back=VIEW), *connecting.routes(web)]


def _connected(facts: Facts) -> list[Connected]:
    return [
        Connected(each.name, each.program, each.pid, iso(each.since), each.subset, (*facts.standings.used_by(each),))
        for each in facts.clients
    ]
