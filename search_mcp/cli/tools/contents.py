"""`list`: the tools, prompts, resources and skills of the servers.

Decides how they are grouped and counted on the screen, and their JSON form.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import typer

from search_mcp.catalog.brief import brief
from search_mcp.catalog.items import Item
from search_mcp.catalog.skills import Skill
from search_mcp.cli import completion, inventory
from search_mcp.cli.checks.notes import of_hidden
from search_mcp.cli.counting import counted
from search_mcp.cli.options import Options, takes
from search_mcp.cli.session import Session
from search_mcp.cli.terminal import Terminal
from search_mcp.own_tools.findable import Found, entries
from search_mcp.own_tools.wanted import OTHER_KINDS
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields

Row = Mapping[str, str]
"""Members: `name`, `uri` or `uriTemplate`, of a skill the first two; `server`; `description`; and `hint` if a tool
declares it."""
Contents = Mapping[str, Sequence[Row]]
"""The lists of all servers, by noun."""

TOOLS, PROMPTS, RESOURCES, SKILLS = "tools", "prompts", "resources", "skills"
NOUNS: Final = (TOOLS, PROMPTS, RESOURCES, SKILLS)
_KEYS = ("uri", "uriTemplate", "name")
"""A row shows the first of these that it has; a skill shows its URI, because several skills may have the same name."""
LONGEST_NAME = 64
"""Most characters of a skill's name, which a server may choose freely."""


@takes("config", "client", "servers", "refresh", "no_pager", "as_json", "debug")
def list_(
    options: Options,
    of_server: Annotated[
        str | None,
        typer.Argument(
            metavar="[SERVER]", help="List only what this server has.", autocompletion=completion.server_names
        ),
    ] = None,
    prompts: Annotated[bool, typer.Option("--prompts", help="List prompts instead of tools.")] = False,
    resources: Annotated[bool, typer.Option("--resources", help="List resources instead of tools.")] = False,
    skills: Annotated[bool, typer.Option("--skills", help="List skills instead of tools.")] = False,
) -> int:
    """List the tools of all servers, or of one server."""
    screen = options.screen
    loaded, path = options.configuration()
    if of_server is not None:
        loaded = inventory.narrow(loaded, of_server)
    chosen = [noun for noun, wanted in ((PROMPTS, prompts), (RESOURCES, resources), (SKILLS, skills)) if wanted]
    nouns = chosen or [TOOLS]
    looked = inventory.look(options, loaded, lambda session: (contents(session), of_hidden(session)))
    found, hidden = looked.found
    has_data = any(found[noun] for noun in nouns)
    if options.as_json:
        screen.json({**{noun: found[noun] for noun in nouns}, **looked.as_json()})
    else:
        with screen.paged(wanted=not options.no_pager):
            show(found, nouns, screen)
            for note in hidden:
                screen.paragraph(note)
        if not has_data and not looked.failures:
            screen.note(f"There are no {' or '.join(nouns)}; the config file is {path}.")
    return inventory.report_failures(loaded, looked.failures, screen, has_data=has_data)


def contents(session: Session) -> Contents:
    """Collect the lists of all servers."""
    length = session.config.settings.description_length
    shown = session.shown_names()
    return {
        TOOLS: [tool_row(item, shown[item], length) for item in session.tools],
        **{noun: [other_row(each, length) for each in entries(session.catalog, noun)] for noun in OTHER_KINDS},
    }


def tool_row(item: Item, name: str, length: int) -> Row:
    """Return the row of a tool under a name."""
    hint = {"hint": item.hint} if item.hint else {}
    return {"name": name, "server": item.server, "description": brief(item.description, length), **hint}


def other_row(found: Found, length: int) -> Row:
    """Return the row of a prompt, a resource or a skill."""
    if isinstance(found, Item):
        return {"name": found.name, "server": found.server, "description": brief(found.description, length)}
    if isinstance(found, Skill):
        name, about = brief(found.name, LONGEST_NAME), brief(found.description, length)
        return {"name": name, "uri": found.uri, "server": found.server, "description": about}
    key = "uriTemplate" if found.is_template else "uri"
    return {key: found.uri, "server": found.server, "description": _about(found.entry.fields, length)}


def name_in(row: Row) -> str:
    return next(row[key] for key in _KEYS if key in row)


def with_hint(row: Row) -> str:
    """Write the description behind the hint, without an imitation of a hint at its own beginning."""
    description = re.sub(r"(?i)^(\s*\[\s*(read-?only|destructive)\s*\])+\s*", "", row["description"])
    return f"[{row['hint']}] {description}".rstrip() if "hint" in row else description


def _about(fields: Fields, length: int) -> str:
    texts = (payload.string(fields.get(key)) for key in ("description", "title", "name"))
    return brief(next(filter(None, texts), ""), length)


def show(found: Contents, nouns: Sequence[str], terminal: Terminal) -> None:
    """Show some of the lists, grouped by server, and their counts."""
    groups = [(server, noun, rows) for noun in nouns for server, rows in _by_server(found[noun]).items()]
    lines: list[Sequence[str]] = []
    for server, noun, rows in groups:
        lines += [[""]] if lines else []
        lines.append([f"{server}: {counted(len(rows), noun[:-1])}"])
        lines += [(name_in(row), with_hint(row)) for row in rows]
    if lines:
        terminal.table(("", ""), lines)
        terminal.text("")
        terminal.paragraph(_footer(found, nouns))


def _footer(found: Contents, nouns: Sequence[str]) -> str:
    """Count the rows shown, and name the options that show the others."""
    shown = [counted(len(found[noun]), noun[:-1]) for noun in nouns]
    servers = {row["server"] for noun in nouns for row in found[noun]}
    others = [noun for noun in NOUNS if noun not in nouns and found[noun]]
    more = [f"{counted(len(found[noun]), noun[:-1])}: list --{noun}" for noun in others if noun != TOOLS]
    return f"{', '.join(shown)} of {counted(len(servers), 'server')}{''.join(f'; {each}' for each in more)}"


def _by_server(rows: Sequence[Row]) -> Mapping[str, Sequence[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row["server"], []).append(row)
    return grouped
