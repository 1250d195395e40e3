"""The view of one server: its log, its tools with a switch each, and its texts as a model reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.catalog.brief import brief
from search_mcp.catalog.items import Item, is_allowed
from search_mcp.cli import command_lines
from search_mcp.cli.files import editing
from search_mcp.cli.logs import Line, of_one
from search_mcp.config.schema import ServerConfig
from search_mcp.folders import log_folder
from search_mcp.page.door import Session
from search_mcp.page.live import Kept, Part, Same
from search_mcp.page.record import state_of
from search_mcp.page.web import Form, Web
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw

VIEW = "server"
LOG_LINES = 50
MOST_TOOLS = 200
"""Tools that are shown, and the number of the others: a view of so many holds the event loop up for 20 ms."""
_COLUMNS = 90


@dataclass(frozen=True)
class Tool:
    """One tool of a server, shown or not."""

    name: str
    """The server's own name."""
    name_for_models: str
    """Empty if it is the own one behind the server's prefix."""
    effect: str
    """The declared effect, as in `Item.hint`."""
    line: str
    """The description in the results of a search."""
    description: str
    parameters: str
    """Its input schema, as JSON."""
    is_on: bool
    state: str
    """`new` or `changed` if it is not accepted, else empty."""


class Tools(NamedTuple):
    """The first tools of a server; `more` are not shown."""

    shown: Sequence[Tool]
    more: int


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    facts = web.facts
    logs, lists = Kept(), Kept()

    async def show(request: Request) -> Response:
        row, config = facts.known(request.query_params.get("name", ""))
        return web.show(
            request,
            "server.html",
            VIEW,
            row=row,
            has_log=config.remote is None,
            log=await log_of(config, logs),
            tools=await tools_of(row.server),
            program=[*command_lines.full(command_lines.entry_of(config), _COLUMNS)],
            about=facts.standings.status(config.name).capabilities,
            back=place_of(config.name),
        )

    async def parts(query: Mapping[str, str], session: Session) -> dict[str, Part]:
        row, config = facts.known(query.get("name", ""))
        log, tools = await log_of(config, logs), await tools_of(row.server)
        write = partial(web.write, session=session, row=row, back=place_of(config.name))
        return {
            "standing": Part(row, partial(write, "server_standing.html")),
            "log": Part(Same(log), partial(write, "server_log.html", log=log)),
            "tools": Part(Same(tools), partial(write, "server_tools.html", tools=tools)),
        }

    async def tools_of(name: str) -> Tools:
        _, config = facts.known(name)  # the entry as it is now: an edit may have come while the log was read
        catalog = facts.gateway.servers.catalog

        async def describe() -> Tools:
            items = catalog.every_tool(name) if config.may_run else []
            length = facts.gateway.config.settings.description_length
            states = {**dict.fromkeys(catalog.changed(name), "changed"), **dict.fromkeys(catalog.new(name), "new")}
            act = partial(_described, config, items[:MOST_TOOLS], length, states)
            return Tools(await run_in_thread(act), len(items[MOST_TOOLS:]))

        return await lists.get(name, (Same(facts.gateway.config), catalog.version), describe)

    async def switch_tool(request: Request, form: Form) -> Response:
        row, _ = facts.known(form.get("server"))
        edit = partial(editing.switch_tool, server=row.server, tool=form.get("tool"), is_on=form.get("to") == "on")
        return web.done(request, await facts.carry_out(edit), place_of(row.server))

    return [web.view(VIEW, show, parts), web.post("switch-tool", switch_tool)]


def place_of(server: str) -> str:
    """Return the path of the view of a server."""
    return f"{VIEW}?{urlencode({'name': server})}"


async def log_of(config: ServerConfig, logs: Kept) -> list[Line]:
    """Return the last lines of a log; the same list as before while its file is the same."""
    log = of_one(config, log_folder())
    state = await run_in_thread(partial(state_of, log.path))  # first: what is written meanwhile is read the next time
    read = partial(run_in_thread, lambda: [*log.last_lines(LOG_LINES), *log.rest()])
    return await logs.get(config.name, (Same(config), state), read)


def _described(config: ServerConfig, items: Sequence[Item], length: int, states: Mapping[str, str]) -> list[Tool]:
    """Describe tools, their lines at most this long; may take a while."""
    return [
        Tool(
            item.key,
            item.name if item.own != item.key else "",
            item.hint,
            brief(item.description, length),
            item.description,
            payload.indented(item.fields.get("inputSchema", Raw(b""))).decode("utf-8", "replace"),
            is_allowed(config, item.key),
            states.get(item.key, ""),
        )
        for item in items
    ]
