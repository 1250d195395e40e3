"""`search`: tools and skills, prompts or resources for a request, found and ranked as for a model.

Decides what a person is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from search_mcp.catalog.items import Item
from search_mcp.cli import completion, inventory
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import Misuse, Problem, did_you_mean
from search_mcp.cli.session import Session
from search_mcp.cli.terminal import Terminal
from search_mcp.cli.tools.contents import Row, name_in, other_row, tool_row, with_hint
from search_mcp.model.similar import nearest
from search_mcp.own_tools.findable import Found, entries
from search_mcp.own_tools.own_tools import NOTHING_CLEAR
from search_mcp.own_tools.wanted import OTHER_KINDS, SearchKind, Wanted
from search_mcp.search import Explanation, Meaning
from search_mcp.search.highlights import spans

NOT_MADE_YET = "the vectors of the tools are not made yet; search again in a minute"
_HEADINGS: Mapping[SearchKind, str] = {
    "tools": "Tool",
    "skills": "Skill",
    "prompts": "Prompt",
    "resources": "URI or URI template",
}


@takes("config", "client", "servers", "refresh", "as_json", "debug")
def search(
    options: Options,
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="What the tool should do, in a few words.")],
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of results.")] = 10,
    of_server: Annotated[
        str | None,
        typer.Option(
            "--server", metavar="NAME", help="Search only this server.", autocompletion=completion.server_names
        ),
    ] = None,
    prompts: Annotated[bool, typer.Option("--prompts", help="Search prompts instead of tools.")] = False,
    resources: Annotated[bool, typer.Option("--resources", help="Search resources instead of tools.")] = False,
    skills: Annotated[bool, typer.Option("--skills", help="Search skills alone.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each result was ranked.")] = False,
) -> int:
    """Search tools and skills by description, as the AI does."""
    search_kind = _search_kind(prompts=prompts, resources=resources, skills=skills)
    loaded, _ = options.configuration()
    if of_server is not None:
        loaded = inventory.narrow(loaded, of_server)
    text = " ".join(query)
    request = Request(Wanted(text, limit, of_server, search_kind))
    looked = inventory.look(options, loaded, request.found, request.look_up_meaning)
    found = looked.found
    if request.without_meaning:
        options.screen.note(f"Ranked by words alone: {request.without_meaning}.")
    for note in found.notes:
        options.screen.note(note)
    if not found.fits:
        options.screen.note(f"{NOTHING_CLEAR[search_kind]}; nearest:")
    if options.as_json:
        options.screen.json({**found.as_json(explain=explain), **looked.as_json()})
    elif explain:
        show_explanations(found, options.screen)
    else:
        show_tools(found, options.screen)
    code = inventory.report_failures(loaded, looked.failures, options.screen, has_data=bool(found.rows))
    if not found.rows:
        everything = "`search-mcp list`" if search_kind == "tools" else f"`search-mcp list --{search_kind}`"
        remedy = did_you_mean(found.nearest, f"{everything} shows all {search_kind}")
        raise Problem(f"no {search_kind.removesuffix('s')} matches {text!r}", remedy)
    return code


def _search_kind(**options: bool) -> SearchKind:
    """Return the kind of entries that is searched.

    Raises:
        Misuse: more than one is wanted.
    """
    chosen = [each for each in OTHER_KINDS if options[each]]
    if len(chosen) > 1:
        raise Misuse(f"--{chosen[0]} and --{chosen[1]} cannot be combined", "search for one after the other")
    return chosen[0] if chosen else "tools"


@dataclass(frozen=True)
class Listing:
    """The entries found."""

    rows: tuple[Row, ...]
    nearest: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    """The explanation of each row's rank."""
    fits: bool = True
    """Whether the first of them clearly fits the request."""
    search_kind: SearchKind = "tools"
    notes: Sequence[str] = ()
    """Sentences about the servers that the query names and that do not exist."""

    def as_json(self, *, explain: bool) -> dict[str, Any]:
        """Return the JSON form, with the ranking of each entry if wanted."""
        rows: Sequence[Mapping[str, Any]] = self.rows
        if explain:
            explained = zip(rows, self.explanations, strict=True)
            rows = [{**row, "explanation": _explanation(why)} for row, why in explained]
        found: dict[str, Any] = {self.search_kind: rows}
        if self.search_kind == "tools":
            tools, skills = ([row for row in rows if _is_skill(row) is wanted] for wanted in (False, True))
            found = {"tools": tools, "skills": skills} if skills else {"tools": tools}
        return {**found, "fits": self.fits}


@dataclass
class Request:
    """A search, and the meaning of its query."""

    wanted: Wanted
    meaning: Meaning | None = None
    without_meaning: str = ""
    """The reason why the results are ranked by words alone, although meaning is searched, too."""

    async def look_up_meaning(self, session: Session) -> None:
        """Ask for the meaning of the query, if there is an entry to compare it with."""
        if any(entries(session.catalog, self.wanted.search_kind)):
            self.meaning = await session.meaning_of(self.wanted)
            if self.meaning is None:
                is_wanted = session.own_tools.finders[self.wanted.search_kind].wants_meaning(self.wanted.query)
                self.without_meaning = session.meaning_problem or (NOT_MADE_YET if is_wanted else "")

    def found(self, session: Session) -> Listing:
        """Search, best first."""
        search_kind = self.wanted.search_kind
        found, fits = session.own_tools.explained(self.wanted, self.meaning)
        return Listing(
            _rows(session, [item for item, _ in found], search_kind),
            nearest=() if found else _nearest(session, self.wanted),
            explanations=tuple(why for _, why in found),
            fits=fits or not found,
            search_kind=search_kind,
            notes=session.own_tools.unknown_servers(self.wanted),
        )


def _nearest(session: Session, wanted: Wanted) -> tuple[str, ...]:
    found = session.tools if wanted.search_kind == "tools" else entries(session.catalog, wanted.search_kind)
    return tuple(nearest(wanted.query, [each.name for each in found if wanted.server in (None, each.server)]))


def _explanation(why: Explanation) -> dict[str, Any]:
    return {
        "score": why.score,
        "placedFirst": why.match.name.lower() if why.match is not None else None,
        "boost": why.boost,
        "nameCoverage": why.name_coverage,
        "terms": [
            {
                "term": part.word,
                "score": part.score,
                "factor": part.factor,
                "weight": part.weight,
                "fields": part.fields,
            }
            for part in why.contributions
        ],
        "missing": why.missing,
        "meaning": _part_of_meaning(why),
    }


def _part_of_meaning(why: Explanation) -> dict[str, Any] | None:
    if why.similarity is None or not why.meaning_factor:
        return None
    return {"score": why.meaning_score, "factor": why.meaning_factor, "similarity": round(why.similarity, 4)}


def _rows(session: Session, found: Sequence[Found], search_kind: SearchKind) -> tuple[Row, ...]:
    shown, length = session.shown_names(), session.config.settings.description_length
    return tuple(
        tool_row(each, shown[each], length)
        if isinstance(each, Item) and search_kind == "tools"
        else other_row(each, length)
        for each in found
    )


def _is_skill(row: Mapping[str, Any]) -> bool:
    return "uri" in row and "name" in row


def _name(row: Row) -> str:
    """Write the name of an entry, or the URI of a resource.

    Of a skill, write that it is one, and its server, because its name may be another's, too.
    """
    return f"skill {row['name']} ({row['server']})" if _is_skill(row) else name_in(row)


def show_tools(listing: Listing, terminal: Terminal) -> None:
    """Show the results in a table, with the found words highlighted."""
    if listing.rows:
        rows = [(_name(row), with_hint(row)) for row in listing.rows]
        terms = frozenset(part.term for why in listing.explanations for part in why.contributions)
        terminal.table((_HEADINGS[listing.search_kind], "Description"), rows, matches=lambda text: spans(text, terms))


def show_explanations(listing: Listing, terminal: Terminal) -> None:
    """Show how each result was ranked."""
    for position, (row, why) in enumerate(zip(listing.rows, listing.explanations, strict=True), 1):
        terminal.heading(f"{position}. {_name(row)}: {why.score:.3f}")
        terminal.paragraph("\n".join(str(why).splitlines()[1:]))
