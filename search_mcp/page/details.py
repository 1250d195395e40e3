"""The view of one server: its log, its tools with a switch each, and its texts as a model reads them."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.catalog.items import is_allowed
from search_mcp.catalog.repair import declares_read_only
from search_mcp.cli import command_lines
from search_mcp.cli.logs import Line, of_one
from search_mcp.cli.options import Options
from search_mcp.config.schema import ServerConfig
from search_mcp.folders import log_folder
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry
from search_mcp.page import tool_filters
from search_mcp.page.commands import carried_out
from search_mcp.page.door import Session
from search_mcp.page.live import Part, Same
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


@dataclass(frozen=True)
class Tools:
    """The first tools of a server; `more` are not shown."""

    key: object
    """Is different whenever they are."""
    shown: Sequence[Tool]
    more: int


@dataclass(frozen=True)
class Log:
    """The last lines of a server's log, and the state of its file."""

    config: ServerConfig
    state: object
    lines: tuple[Line, ...]


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    facts = web.facts
    logs: dict[str, Log] = {}
    lists: dict[str, Tools] = {}

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
            log=(await log_of(config)).lines,
            tools=await tools_of(config),
            program=[*command_lines.full(command_lines.entry_of(config), _COLUMNS)],
            instructions=capabilities.instructions if capabilities is not None else "",
            era=capabilities.revision if capabilities is not None else "",
            back=place_of(config.name),
        )

    async def parts(query: Mapping[str, str], session: Session) -> dict[str, Part]:
        row, config = facts.known(query.get("name", ""))
        log, tools = (await log_of(config)).lines, await tools_of(config)
        write = partial(web.write, session=session, row=row, back=place_of(config.name))
        return {
            "standing": Part(row, partial(write, "server_standing.html")),
            "log": Part(log, partial(write, "server_log.html", log=log)),
            "tools": Part(tools.key, partial(write, "server_tools.html", tools=tools)),
        }

    async def log_of(config: ServerConfig) -> Log:
        known = logs.get(config.name)
        found = logs[config.name] = await run_in_thread(partial(read_log, config, log_folder(), known))
        return found

    async def tools_of(config: ServerConfig) -> Tools:
        catalog = facts.gateway.servers.catalog
        known, key = lists.get(config.name), (Same(config), Same(catalog.pages.get((config.name, Kind.TOOLS))))
        if known is not None and known.key == key:
            return known
        entries = [entry for entry, _ in catalog.entries(config.name, Kind.TOOLS)] if config.may_run else []
        changed, new = catalog.changed(config.name), catalog.new(config.name)
        described = partial(_described, config, entries[:MOST_TOOLS], changed, new)
        found = lists[config.name] = Tools(key, await run_in_thread(described), len(entries[MOST_TOOLS:]))
        return found

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


def read_log(config: ServerConfig, folder: Path, known: Log | None) -> Log:
    """Read the last lines of a log, unless its file is as it was; may block."""
    log = of_one(config, folder)
    state = state_of(log.path)  # before the lines: those that are written meanwhile are read the next time
    if known is not None and known.config is config and known.state == state:
        return known
    return Log(config, state, (*log.last_lines(LOG_LINES), *log.rest()))


def _described(config: ServerConfig, entries: Sequence[Entry], changed: Set[str], new: Set[str]) -> list[Tool]:
    """Describe tools; may take a while."""
    return [
        Tool(
            entry.key,
            config.describe.get(entry.key) or payload.string(entry.fields.get("description")) or "",
            payload.indented(entry.fields.get("inputSchema", Raw(b""))).decode("utf-8", "replace"),
            declares_read_only(entry.fields),
            is_allowed(config, entry.key),
            "new" if entry.key in new else "changed" if entry.key in changed else "",
        )
        for entry in entries
    ]
