"""`list`, `search` and `describe`: which tools there are, and what one of them takes.

Decides what of a definition a person is shown; finding and ranking are the same as for a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from search_mcp import jsonrpc
from search_mcp.catalog import Item
from search_mcp.cli.problem import FINE, WRONG, Misuse, Problem, cut, did_you_mean, of_call
from search_mcp.cli.session import Session
from search_mcp.cli.terminal import Terminal
from search_mcp.config import Config, ServerConfig
from search_mcp.errors import NotRunning, ToolNotFound
from search_mcp.jsonrpc import Fields
from search_mcp.model import Kind, Status
from search_mcp.search import Explanation
from search_mcp.search.highlights import spans
from search_mcp.suggest import nearest
from search_mcp.tools import DEFINITIONS
from search_mcp.views import brief, full_definition, signature

_TOOL_HEADINGS = ("Tool", "Description")
_UNLIMITED = 1_000_000
"""Characters: a signature that is not cut."""
REMEMBERING_SECONDS = 10.0
"""How long a command waits for lists it does not need, so that the next one need not start the server."""


def known_server(config: Config, name: str) -> ServerConfig:
    """Find a server.

    Raises:
        Misuse: there is no such server.
    """
    found = {server.name: server for server in config.servers}
    if name not in found:
        remedy = did_you_mean(nearest(name, found), f"there are {', '.join(found) or 'none'}")
        raise Misuse(f"there is no server {name!r} in the configuration", remedy)
    return found[name]


def check_server(config: Config, name: str) -> None:
    """Refuse a server that cannot be asked.

    Raises:
        Misuse: there is no such server.
        Problem: it is disabled.
    """
    if not known_server(config, name).enabled:
        raise Problem(f"server {name!r} is disabled", 'set "enabled": true in the configuration')


async def settle_tools(session: Session, terminal: Terminal) -> None:
    """Wait for the tools of every server, and a little for the rest: a server is remembered when all is known of it."""
    with terminal.progress(session.awaited):
        await session.settle([Kind.TOOLS])
        with anyio.move_on_after(REMEMBERING_SECONDS):
            await session.settle(Kind)


def tell_age(age_seconds: float | None, terminal: Terminal) -> None:
    """Say how old it is what is shown, if it is not of this minute."""
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if age_seconds is not None and age_seconds >= length:
            count = round(age_seconds / length)
            ago = f"{count} {name}{'s' if count > 1 else ''} ago"
            terminal.note(f"as the servers listed it {ago}; --refresh asks them again")
            return


# list and search


@dataclass(frozen=True)
class Listing:
    """Some tools, and which servers' are missing among them."""

    tools: tuple[dict[str, str], ...]
    failures: tuple[Status, ...]
    age_seconds: float | None
    nearest: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    """Why each tool is where it is, if it was searched for."""

    def as_json(self) -> dict[str, Any]:
        failed = [{"name": status.server, "state": status.state, "reason": status.reason} for status in self.failures]
        age = round(self.age_seconds) if self.age_seconds is not None else None
        return {"tools": self.tools, "failed": failed, "ageSeconds": age}

    def explained_as_json(self) -> dict[str, Any]:
        """The same, with why each tool is where it is."""
        explained = zip(self.tools, self.explanations, strict=True)
        tools = [{**tool, "explanation": _explanation(why)} for tool, why in explained]
        return {**self.as_json(), "tools": tools}


def all_tools(session: Session) -> Listing:
    return Listing(_rows(session, session.tools), tuple(session.failures()), session.age_seconds)


def found_tools(session: Session, query: str, limit: int, server: str | None) -> Listing:
    """The best tools for a query, best first, and why."""
    found = session.own_tools.explained(query, limit, server)
    close = () if found else tuple(nearest(query, session.tools.names()))
    rows = _rows(session, [item for item, _ in found])
    explanations = tuple(why for _, why in found)
    return Listing(rows, tuple(session.failures()), session.age_seconds, close, explanations)


def _explanation(why: Explanation) -> dict[str, Any]:
    return {
        "score": why.score,
        "placedFirst": why.match.name.lower() if why.match is not None else None,
        "nameCoverage": why.name_coverage,
        "terms": [
            {
                "term": part.term,
                "score": part.score,
                "factor": part.factor,
                "weight": part.weight,
                "fields": part.fields,
            }
            for part in why.contributions
        ],
        "missing": why.missing,
    }


def _rows(session: Session, items: Sequence[Item]) -> tuple[dict[str, str], ...]:
    shown, length = session.shown_names(), session.config.settings.description_length
    return tuple(
        {"name": shown[item], "server": item.server, "description": brief(item.description, length)} for item in items
    )


def show_tools(listing: Listing, terminal: Terminal) -> None:
    """Show the tools in a table; those that were searched for with what was found in them."""
    if listing.tools:
        rows = [(tool["name"], tool["description"]) for tool in listing.tools]
        terms = frozenset(part.term for why in listing.explanations for part in why.contributions)
        terminal.table(_TOOL_HEADINGS, rows, matches=lambda text: spans(text, terms))


def show_explanations(listing: Listing, terminal: Terminal) -> None:
    """Show what puts each tool where it is."""
    for position, (tool, why) in enumerate(zip(listing.tools, listing.explanations, strict=True), 1):
        terminal.heading(f"{position}. {tool['name']}: {why.score:.3f}")
        terminal.paragraph("\n".join(str(why).splitlines()[1:]))


def report_failures(failures: Sequence[Status], terminal: Terminal) -> int:
    """Say which servers' tools are missing; return the exit code."""
    for status in failures:
        reason = cut(status.reason or "it did not start in time")
        terminal.warning(f"the tools of {status.server!r} are missing: {reason}; search-mcp check tells more")
    return WRONG if failures else FINE


# describe


@dataclass(frozen=True)
class Described:
    """One tool: its definition as a client gets it."""

    name: str
    server: str | None
    definition: Fields
    input_schema: Mapping[str, Any]
    is_withheld: bool = False


@dataclass(frozen=True)
class Descriptions:
    """The tools that were asked for, and what there is instead of those that do not exist."""

    tools: tuple[Described, ...]
    age_seconds: float | None
    unknown: Mapping[str, Problem]
    suggestions: Mapping[str, Sequence[str]]

    def as_json(self) -> dict[str, Any]:
        unknown = [{"name": name, "suggestions": near} for name, near in self.suggestions.items()]
        return {"tools": [tool.definition for tool in self.tools], "unknown": unknown}


def described(session: Session, name: str) -> Described | None:
    """Find a tool by any of its names, ours included."""
    item = session.find(name)
    if item is not None:
        shown = session.shown_names()[item]
        definition = full_definition(item, shown, session.audience)
        return Described(shown, item.server, definition, item.input_schema)
    if name in DEFINITIONS:
        definition = DEFINITIONS[name]
        return Described(name, None, definition, jsonrpc.value(definition["inputSchema"]))
    withheld = session.catalog.withheld_tools().find(name)
    if withheld is not None:  # nobody else is shown it, but whoever is to accept it has to see it
        definition = full_definition(withheld, withheld.name, session.audience)
        return Described(withheld.name, withheld.server, definition, withheld.input_schema, is_withheld=True)
    return None


def descriptions(session: Session, names: Sequence[str]) -> Descriptions:
    """Find tools by any of their names."""
    found = {name: described(session, name) for name in names}
    unknown = [name for name, tool in found.items() if tool is None]
    shown = session.shown_names()
    callable_names = [shown[item] for item in session.tools]
    near = {name: nearest(name, callable_names) for name in unknown}
    return Descriptions(
        tuple(tool for tool in found.values() if tool is not None),
        session.age_seconds,
        {name: _unknown(session, name, near[name]) for name in unknown},
        near,
    )


def _unknown(session: Session, name: str, near: Sequence[str]) -> Problem:
    """Say why there is no such tool: its server may have failed."""
    for status in session.needed_for(name):
        if status.state in ("failed", "starting", "disabled"):
            return of_call(NotRunning(status.server, status.state, status.reason), name)
    return of_call(ToolNotFound(name, near), name)


def show_definitions(found: Descriptions, terminal: Terminal) -> None:
    for position, tool in enumerate(found.tools):
        if position:
            terminal.text("")
        show_definition(tool, terminal)


def report_unknown(found: Descriptions, terminal: Terminal) -> int:
    """Say which names mean nothing; return the exit code."""
    for problem in found.unknown.values():
        terminal.error(str(problem))
    return WRONG if found.unknown else FINE


def show_definition(tool: Described, terminal: Terminal) -> None:
    """Show a tool to a person."""
    terminal.heading(signature(tool.name, tool.input_schema))
    hints = _hints(tool)
    if hints:
        terminal.paragraph(hints, indent=2, style="dim")
    description = jsonrpc.string(tool.definition.get("description")) or ""
    if description.strip():
        terminal.text("")
        terminal.paragraph(description.strip(), indent=2)
    parameters = _parameters(tool.input_schema)
    if parameters:
        terminal.text("")
        terminal.table(("Parameter", "Type", "Required", "Description"), parameters)
    returned = _parameters(jsonrpc.value(tool.definition.get("outputSchema", jsonrpc.EMPTY)) or {})
    if returned:
        terminal.text("")
        terminal.table(("Result", "Type", "Always", "Description"), returned)


def _hints(tool: Described) -> str:
    annotations = jsonrpc.value(tool.definition.get("annotations", jsonrpc.EMPTY))
    read = annotations if isinstance(annotations, dict) else {}
    parts = [f"of server {tool.server}" if tool.server is not None else "of search-mcp itself"]
    if tool.is_withheld:
        parts.append("withheld, because it is not defined as it was when first seen")
    if read.get("readOnlyHint") is True:
        parts.append("only reads")
    elif read.get("destructiveHint") is True:
        parts.append("may destroy something")
    if read.get("openWorldHint") is True:
        parts.append("reaches the outside world")
    return ", ".join(parts)


def _parameters(schema: Any) -> list[tuple[str, str, str, str]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    required = schema.get("required")
    wanted = required if isinstance(required, list) else []
    return [
        (key, _type(key, properties[key], schema), "yes" if key in wanted else "", _about(properties[key]))
        for key in sorted(properties, key=lambda key: key not in wanted)
    ]


def _type(key: str, schema: Any, root: Mapping[str, Any]) -> str:
    """Write one parameter's type as a signature does."""
    alone = signature("", {**root, "properties": {key: schema}, "required": [key]}, _UNLIMITED)
    return alone.removeprefix(f"({key}: ").removesuffix(")")


def _about(schema: Any) -> str:
    if not isinstance(schema, dict):
        return ""
    description = schema.get("description")
    parts = [description.strip()] if isinstance(description, str) and description.strip() else []
    if "default" in schema:
        parts.append(f"(default: {bytes(jsonrpc.encode(schema['default'])).decode()})")
    return " ".join(parts)
