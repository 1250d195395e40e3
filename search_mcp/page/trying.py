"""The view to try tools: the search as models have it, and a form for a call of each tool.

A call goes through the gateway of the page, as one client among the others.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.catalog.items import Item
from search_mcp.cli.problem import Problem
from search_mcp.cli.session import Session
from search_mcp.cli.tools import listing
from search_mcp.cli.tools.contents import Row, tool_row
from search_mcp.cli.tools.description import Described, declared_effect, descriptions
from search_mcp.cli.tools.invocation import body_of, fitted
from search_mcp.cli.usage.usage import duration
from search_mcp.gateway.person import OPENING
from search_mcp.model.sentences import cut
from search_mcp.own_tools.own_tools import NOTHING_CLEAR
from search_mcp.own_tools.wanted import Wanted
from search_mcp.page import door, standings
from search_mcp.page.fields import filled, form_for
from search_mcp.page.live import Part
from search_mcp.page.trial import Answer, Visitor, answered, refused, shown
from search_mcp.page.web import Form, Web
from search_mcp.search.highlights import spans
from search_mcp.wire import payload

VIEW = "try"
MOST_FOUND = 10
"""Results of a search."""
MOST_LISTED, LEAST_LISTED = 200, 3
"""Tools that are listed without a search: of all servers together, and of each of very many."""
UNKNOWN_EFFECT = "may change something"
"""The effect of a tool that is declared neither `read-only` nor `destructive`."""
LONGEST_ABOUT = 5_000
"""Characters of a description that are shown above the form; the view of the server has all."""

Pieces = Sequence[tuple[str, bool]]
"""The parts of a text, each with whether it matched the query."""


@dataclass(frozen=True)
class Hit:
    """A result of a search."""

    row: Row
    title: Pieces
    about: Pieces
    why: str


@dataclass(frozen=True)
class Group:
    """The tools of one server; `more` are not shown."""

    server: str
    rows: Sequence[Row]
    more: int


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    view = Trying(web)
    return [web.view(VIEW, view.show, view.parts), web.post(VIEW, view.call)]


class Trying:
    """The pages of this view."""

    def __init__(self, web: Web) -> None:
        self._web, self._facts = web, web.facts

    def _session(self, visitor: Visitor | None = None) -> Session:
        """Return the servers as a command uses them, with the lists that are cached or were read for other clients."""
        self._facts.rows()
        return Session(self._facts.gateway.config, self._facts.gateway, person=visitor or Visitor())

    async def show(self, request: Request) -> Response:
        query = request.query_params
        if name := query.get("tool"):
            try:
                return await self._form_page(request, _tool(self._session(), name), Form(()))
            except Problem as exc:
                return self._list_page(request, refused(exc))
        return await self._search_page(request) if query.get("q", "").strip() else self._list_page(request)

    async def parts(self, query: Mapping[str, str], session: door.Session) -> dict[str, Part]:
        """Return what changes by itself: the list of tools, or the state of the tool's server."""
        if query.get("q"):
            return {}
        if "tool" in query:
            item = self._session().find(query["tool"])
            row = self._facts.row(item.server) if item is not None else None
            return {"standing": Part(row, partial(self._web.write, "try_standing.html", session, row=row))}
        server = query.get("server", "")
        key = (self._facts.gateway.servers.catalog.version, tuple(self._facts.rows()))
        return {"tools": Part(key, lambda: self._web.write("try_list.html", session, **self._listed(server)))}

    # The search

    def _list_page(self, request: Request, answer: Answer | None = None) -> Response:
        status, listed = 200 if answer is None else 404, self._listed(request.query_params.get("server", ""))
        return self._web.show(request, "try.html", VIEW, status=status, query="", answer=answer, **listed)

    def _listed(self, server: str) -> dict[str, object]:
        return {
            "server": server,
            "unknown": self._unknown(server),
            "groups": _groups(self._session(), server),
        }

    def _unknown(self, server: str) -> list[standings.Row]:
        """Return the servers, or the one, whose tools are not known."""
        rows = self._facts.rows()
        return [each for each in rows if each.is_on and each.tools is None and server in ("", each.server)]

    async def _search_page(self, request: Request) -> Response:
        query, server = request.query_params["q"].strip(), request.query_params.get("server", "")
        session, search = self._session(), listing.Request(Wanted(query, MOST_FOUND, server or None))
        await search.look_up_meaning(session)
        found = search.found(session)
        return self._web.show(
            request,
            "try_found.html",
            VIEW,
            query=query,
            server=server,
            hits=_hits(found),
            unknown=self._unknown(server),
            nearest=found.nearest,
            note="" if found.fits else f"{NOTHING_CLEAR['tools']}; nearest:",
            without_meaning=search.without_meaning,
        )

    # The call

    async def _form_page(self, request: Request, tool: Described, form: Form, answer: Answer | None = None) -> Response:
        return self._web.show(
            request,
            "try_tool.html",
            VIEW,
            query="",
            server="",
            tool=tool,
            about=cut(payload.string(tool.definition.get("description")) or "", LONGEST_ABOUT),
            effect=declared_effect(tool) or UNKNOWN_EFFECT,
            shown=await run_in_thread(partial(form_for, tool.input_schema)),
            form=form,
            answer=answer,
            row=self._facts.row(tool.server) if tool.server is not None else None,
        )

    async def call(self, request: Request, form: Form) -> Response:
        """Call a tool; the answer is shown below its form, which stays filled."""
        visitor = Visitor(info=OPENING.info, session=self._facts.gateway)
        session = self._session(visitor)
        tool = _tool(session, form.get("tool"))
        try:
            answer = await self._answer(request, form, session, tool)
        except Problem as exc:
            answer = refused(exc)
        self._facts.forget()
        return await self._form_page(request, tool, form, replace(answer, notes=[*answer.notes, *visitor.notes()]))

    async def _answer(self, request: Request, form: Form, session: Session, tool: Described) -> Answer:
        """Call a tool, whose server is started for that if it does not run.

        Raises:
            Problem: there is no result.
        """
        given, words = filled(await run_in_thread(partial(form_for, tool.input_schema)), form)
        arguments = fitted(tool.name, given, words, tool.input_schema)
        lease = self._facts.gateway.leases.by_name.get(tool.server or "")
        if lease is not None and not lease.is_open:
            lease.open(OPENING)
        began = time.monotonic()
        outcome = await answered(request, lambda: session.call(tool.name, arguments, lambda _progress: None))
        took = duration(time.monotonic() - began)
        return await run_in_thread(partial(shown, body_of(outcome, tool.name, session.config), took))


def _tool(session: Session, name: str) -> Described:
    """Find a tool by its name.

    Raises:
        Problem: there is none.
    """
    found = descriptions(session, [name])
    for problem in found.unknown.values():
        raise problem
    return found.tools[0]


def _groups(session: Session, server: str) -> list[Group]:
    """Return the tools of all servers, or of one, in the order of the list; of many tools the first of each server."""
    by_server: dict[str, list[Item]] = {}
    for item in session.tools:
        if server in ("", item.server):
            by_server.setdefault(item.server, []).append(item)
    count, shown = sum(map(len, by_server.values())), session.shown_names()
    most = MOST_LISTED if count <= MOST_LISTED else max(LEAST_LISTED, MOST_LISTED // len(by_server))
    length = session.config.settings.description_length
    return [
        Group(name, [tool_row(item, shown[item], length) for item in items[:most]], max(0, len(items) - most))
        for name, items in by_server.items()
    ]


def _hits(found: listing.Listing) -> list[Hit]:
    terms = frozenset(part.term for why in found.explanations for part in why.contributions)
    return [
        Hit(
            row,
            _pieces(row["name"], terms),
            _pieces(row["description"], terms),
            "\n".join(line.strip() for line in str(why).splitlines()[1:]),
        )
        for row, why in zip(found.rows, found.explanations, strict=True)
    ]


def _pieces(text: str, terms: Collection[str]) -> Pieces:
    """Split a text into what matched the terms and what did not."""
    matched = [False] * len(text)
    for start, end in spans(text, terms):
        matched[start:end] = [True] * (end - start)
    grouped = groupby(zip(text, matched, strict=True), itemgetter(1))
    return [("".join(letter for letter, _ in letters), is_match) for is_match, letters in grouped]
