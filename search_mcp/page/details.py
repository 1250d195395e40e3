"""The view of one server: its log, its tools with a switch each, and its texts as a model reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.catalog.items import is_allowed
from search_mcp.catalog.repair import declares_read_only
from search_mcp.cli import command_lines
from search_mcp.cli.logs import Line, LogFile, of_one
from search_mcp.cli.options import Options
from search_mcp.config.schema import ServerConfig
from search_mcp.folders import log_folder
from search_mcp.model.names import Kind
from search_mcp.page import tool_filters
from search_mcp.page.commands import carried_out
from search_mcp.page.door import Session
from search_mcp.page.live import Part, Same
from search_mcp.page.web import Form, Web, as_json_text
from search_mcp.wire import payload

VIEW = "server"
LOG_LINES = 50
MOST_TOOLS = 500
"""Tools that are shown; a server with more is shown the first ones, and their number."""
_COLUMNS = 90


@dataclass(frozen=True)
class Tool:
    """One tool of a server, as its server and the user describe it."""

    name: str
    """The server's own name."""
    description: str
    parameters: str
    """Its input schema, as JSON."""
    is_read_only: bool
    is_on: bool
    state: str
    """`new` or `changed` if it is not accepted, else empty."""


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    facts = web.facts

    async def show(request: Request) -> Response:
        row, config = facts.known(request.query_params.get("name", ""))
        capabilities = facts.gateway.servers.status(config.name).capabilities
        process = facts.standings.processes().get(config.name)
        if process is not None:
            capabilities = process.supervisor.status.capabilities
        return web.show(
            request,
            "server.html",
            VIEW,
            row=row,
            has_log=config.remote is None,
            log=await _log(config),
            tools=_tools(config),
            most=MOST_TOOLS,
            program=[*command_lines.full(command_lines.entry_of(config), _COLUMNS)],
            instructions=capabilities.instructions if capabilities is not None else "",
            era=capabilities.revision if capabilities is not None else "",
            back=place_of(config.name),
        )

    async def parts(query: Mapping[str, str], session: Session) -> dict[str, Part]:
        row, config = facts.known(query.get("name", ""))
        log, pages = await _log(config), facts.gateway.servers.catalog.pages
        listed = Same(pages.get((config.name, Kind.TOOLS))), Same(config)
        write = partial(web.write, session=session, row=row, back=place_of(config.name))
        return {
            "standing": Part(row, partial(write, "server_standing.html")),
            "log": Part(tuple(log), partial(write, "server_log.html", log=log)),
            "tools": Part(listed, lambda: write("server_tools.html", tools=_tools(config), most=MOST_TOOLS)),
        }

    async def _log(config: ServerConfig) -> Sequence[Line]:
        return await run_in_thread(partial(last_lines, of_one(config, log_folder())))

    def _tools(config: ServerConfig) -> list[Tool]:
        if not config.may_run:
            return []
        catalog = facts.gateway.servers.catalog
        changed, new = catalog.changed(config.name), catalog.new(config.name)
        return [
            Tool(
                entry.key,
                config.describe.get(entry.key) or payload.string(entry.fields.get("description")) or "",
                as_json_text(payload.value(entry.fields["inputSchema"])) if "inputSchema" in entry.fields else "",
                declares_read_only(entry.fields),
                is_allowed(config, entry.key),
                "new" if entry.key in new else "changed" if entry.key in changed else "",
            )
            for entry, _ in catalog.entries(config.name, Kind.TOOLS)
        ]

    async def switch_tool(request: Request, form: Form) -> Response:
        tool, is_on = form.get("tool"), form.get("to") == "on"
        row, _ = facts.known(form.get("server"))

        def edit(options: Options) -> None:
            tool_filters.switch(options, row.server, tool, is_on=is_on)

        said = await facts.edited(partial(carried_out, facts.config_path, edit))
        return web.done(request, said, place_of(row.server))

    web.views[VIEW] = parts
    return [web.get(VIEW, web.told(show, "servers")), web.post("switch-tool", switch_tool)]


def place_of(server: str) -> str:
    """Return the path of the view of a server."""
    return f"{VIEW}?{urlencode({'name': server})}"


def last_lines(log: LogFile) -> list[Line]:
    """Return the last lines of a log; may block."""
    return [*log.last_lines(LOG_LINES), *log.rest()]
