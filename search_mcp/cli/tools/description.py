"""`describe`: the definitions of tools, for a person.

Decides the order of the parts. Every text that a model may be given is shown.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from search_mcp.catalog.rendering import full_definition
from search_mcp.catalog.signature import parameter, signature
from search_mcp.cli import completion, inventory
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, WRONG, Problem, of_call
from search_mcp.cli.session import Session, owners
from search_mcp.cli.terminal import Terminal
from search_mcp.cli.tools.other_texts import other_texts
from search_mcp.model.errors import NotRunning, ToolNotFound
from search_mcp.model.names import State
from search_mcp.model.visible import one_line
from search_mcp.own_tools.definitions import existing
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import WireError
from search_mcp.wire.structs import Fields

_MOST_OTHERS = 1000
"""Number of other texts shown of one tool."""
_UNLIMITED = 1_000_000
"""Length in characters that no signature reaches."""


@takes("config", "client", "servers", "refresh", "no_pager", "as_json", "debug")
def describe(
    options: Options,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="Name of a tool, as server.tool or as a client shows it.",
            autocompletion=completion.tool_names,
        ),
    ],
) -> int:
    """Show a tool's description, parameters and result."""
    loaded, _ = options.configuration()
    needed = owners(loaded, options.profile, names)
    found = inventory.look(options, needed, lambda running: descriptions(running, names)).found
    if options.as_json:
        options.screen.json(found.as_json())
    else:
        with options.screen.paged(wanted=not options.no_pager):
            show_definitions(found, options.screen)
    for problem in found.unknown.values():
        options.screen.error(str(problem))
    return WRONG if found.unknown else FINE


@dataclass(frozen=True)
class Described:
    """A tool with its definition as a client gets it."""

    name: str
    server: str | None
    definition: Fields
    input_schema: Mapping[str, Any]
    withheld: str = ""
    """Reason why it is withheld; empty if it is not."""


@dataclass(frozen=True)
class Descriptions:
    """The requested tools, and suggestions for names that do not exist."""

    tools: tuple[Described, ...]
    unknown: Mapping[str, Problem]
    suggestions: Mapping[str, Sequence[str]]

    def as_json(self) -> dict[str, Any]:
        unknown = [{"name": name, "suggestions": near} for name, near in self.suggestions.items()]
        return {"tools": [tool.definition for tool in self.tools], "unknown": unknown}


def described(session: Session, name: str) -> Described | None:
    """Find a tool, including our own, by any spelling of its name."""
    item = session.find(name)
    if item is not None:
        shown = session.shown_names()[item]
        definition = full_definition(item, shown, session.audience)
        return Described(shown, item.server, definition, item.input_schema)
    profile = session.audience.profile
    ours = existing(profile.call_tool, reads_results=profile.reads_results)
    if name in ours:
        definition = ours[name]
        return Described(name, None, definition, payload.value(definition["inputSchema"]))
    withheld = session.catalog.withheld_tools().find(name)
    if withheld is not None:  # clients do not get it, but the user has to see it to accept it
        definition = full_definition(withheld, withheld.name, session.audience)
        is_new = withheld.key in session.catalog.new(withheld.server)
        why = "new since the server was first seen" if is_new else "its definition is not accepted"
        return Described(withheld.name, withheld.server, definition, withheld.input_schema, why)
    return None


def descriptions(session: Session, names: Sequence[str]) -> Descriptions:
    """Find tools by any spelling of their names."""
    found = {name: described(session, name) for name in names}
    unknown = [name for name, tool in found.items() if tool is None]
    shown = session.shown_names()
    near = {name: shown.near(name) for name in unknown}
    return Descriptions(
        tuple(tool for tool in found.values() if tool is not None),
        {name: _unknown(session, name, near[name]) for name in unknown},
        near,
    )


def _unknown(session: Session, name: str, near: Sequence[str]) -> Problem:
    """Return why a tool was not found; its server may have failed."""
    absent = (State.FAILED, State.NEEDS_LOGIN, State.HELD, State.DISABLED)
    status = next((each for each in session.needed_for(name) if each.state in absent), None)
    if status is not None:
        error: WireError = NotRunning(status)
    else:
        error = session.catalog.why_hidden(name) or session.ambiguity(name) or ToolNotFound(name, near)
    return of_call(error, name, session.config.servers)


def show_definitions(found: Descriptions, terminal: Terminal) -> None:
    for position, tool in enumerate(found.tools):
        if position:
            terminal.text("")
        show_definition(tool, terminal)


def show_definition(tool: Described, terminal: Terminal) -> None:
    """Show a tool: its description, parameters and result, then every other text that a model may be given."""
    heading = signature(tool.name, tool.input_schema)
    terminal.heading(heading)
    hints = _hints(tool)
    if hints:
        terminal.paragraph(hints, indent=2, style="dim")
    description = (payload.string(tool.definition.get("description")) or "").strip()
    if description:
        terminal.text("")
        terminal.paragraph(description, indent=2)
    given = parameters(tool.input_schema)
    result = parameters(payload.value(tool.definition.get("outputSchema", structs.EMPTY)) or {})
    _show_fields("Parameters", given, terminal)
    _show_fields("Result", result, terminal)
    fields = [text for key, kind, _, about in (*given, *result) for text in (key, kind, about)]
    shown = [heading, description, *fields]
    _show_others(list(other_texts(tool.definition, shown)), terminal)
    if not tool.withheld:
        terminal.text("")
        terminal.command_line(example(tool))


def _show_fields(heading: str, fields: Sequence[tuple[str, str, bool, str]], terminal: Terminal) -> None:
    """Show parameters, or fields of a result: name and type, with the description below."""
    if not fields:
        return
    terminal.text("")
    terminal.heading(heading)
    for key, kind, is_required, about in fields:
        terminal.paragraph(one_line(f"{key}: {kind}{'' if is_required else ' (optional)'}"), indent=2)
        if about:
            terminal.paragraph(about, indent=6, style="dim")


def _show_others(texts: Sequence[tuple[str, str]], terminal: Terminal) -> None:
    """Show texts below the paths of their members."""
    if not texts:
        return
    terminal.text("")
    terminal.heading("Other texts")
    for path, text in texts[:_MOST_OTHERS]:
        terminal.paragraph(one_line(path), indent=2)
        terminal.paragraph(text, indent=6, style="dim")
    if len(texts) > _MOST_OTHERS:
        terminal.paragraph(f"{len(texts) - _MOST_OTHERS:,} more; --json shows them", indent=2)


def example(tool: Described) -> str:
    """Write the command that calls a tool, with placeholders for its required arguments."""
    required = [f"{key}=..." for key, _, is_required, _ in parameters(tool.input_schema) if is_required]
    return " ".join(["search-mcp call", tool.name, *map(shlex.quote, required)])


def declared_effect(tool: Described) -> str:
    """Return the effect that a tool declares: `read-only`, `destructive`, or empty."""
    if _annotations(tool).get("readOnlyHint") is True:
        return "read-only"
    return "destructive" if _annotations(tool).get("destructiveHint") is True else ""


def _annotations(tool: Described) -> Mapping[str, Any]:
    annotations = payload.value(tool.definition.get("annotations", structs.EMPTY))
    return annotations if isinstance(annotations, dict) else {}


def _hints(tool: Described) -> str:
    parts = [each] if (each := declared_effect(tool)) else []
    parts.append(f"server {tool.server}" if tool.server is not None else "search-mcp's own tool")
    if _annotations(tool).get("openWorldHint") is True:
        parts.append("reaches other systems")
    if tool.withheld:
        parts.append(f"withheld: {tool.withheld}")
    return ", ".join(parts)


def parameters(schema: Any) -> list[tuple[str, str, bool, str]]:
    """Return name, type, whether it is required, and description of each parameter; required ones first."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    required = schema.get("required")
    wanted = {each for each in required if isinstance(each, str)} if isinstance(required, list) else set()
    return [
        (key, _type(key, properties[key], schema), key in wanted, _about(properties[key]))
        for key in sorted(properties, key=lambda key: key not in wanted)
    ]


def _type(key: str, schema: Any, root: Mapping[str, Any]) -> str:
    """Write the type of one parameter as in a signature."""
    alone = signature("", {**root, "properties": {key: schema}, "required": [key]}, _UNLIMITED)
    return alone.removeprefix(f"({parameter(key)}: ").removesuffix(")")


def _about(schema: Any) -> str:
    if not isinstance(schema, dict):
        return ""
    description = schema.get("description")
    parts = [description.strip()] if isinstance(description, str) and description.strip() else []
    if "default" in schema:
        parts.append(f"(default: {payload.encode_text(schema['default'])})")
    return " ".join(parts)
