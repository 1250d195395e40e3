"""The search index of a catalogue, which follows its changes server by server.

Decides when tools are indexed, and how much of their text. How tools rank is decided in `search`.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import Item
from search_mcp.model.servers import ServerFacts, Status
from search_mcp.search import Document, Effect, Explanation, Index
from search_mcp.wire.structs import Struct

SLICE_SECONDS = 0.005
"""Time that tools are indexed before other messages are handled."""
MOST_ROUNDS = 3
"""Limit of rounds for a catalogue that changes while it is indexed; then the index is searched as it is."""
MOST_CHARACTERS = 2 << 20
"""Characters of one field that are read of all tools of a server; real servers have a tenth of that at most."""
LONGEST_TEXT = 10_000
SHORTEST_TEXT = 400
"""Characters of a field of one tool that are read, if its server has few tools, and if it has very many."""


class _Listed(Struct, frozen=True):
    """The tools and texts of one server that are indexed."""

    items: list[Item]
    title: str
    facts: ServerFacts

    def documents(self) -> Iterator[Document]:
        """Give the tools one by one, because decoding a schema takes time."""
        yield from map(self._document, self.items)

    def _document(self, item: Item) -> Document:
        room = MOST_CHARACTERS // len(self.items)
        return Document(
            name=item.name,
            server=item.server,
            tool=item.own,
            description=item.description,
            input_schema=item.input_schema,
            server_title=self.title,
            server_description=self.facts.description,
            tags=self.facts.tags,
            effect=Effect.declared(item.annotations.get("readOnlyHint"), item.annotations.get("destructiveHint")),
            longest_text=max(SHORTEST_TEXT, min(LONGEST_TEXT, room)),
        )


_Seen: TypeAlias = tuple[int, Mapping[str, ServerFacts], Mapping[str, str]]
"""The catalogue's version, the servers' facts from the configuration, and their own titles."""


class ToolIndex:
    """The search index of a catalogue; a server that did not change is not indexed again."""

    def __init__(
        self,
        catalog: Catalog,
        facts: Callable[[], Mapping[str, ServerFacts]],
        statuses: Callable[[], Iterable[Status]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalog, self._facts, self._statuses, self._clock = catalog, facts, statuses, clock
        self._index = Index()
        self._seen: _Seen | None = None  # the state that `_items` was made from
        self._items: dict[str, Item] = {}
        self._held: dict[str, _Listed] = {}
        self._order: Mapping[str, int] = {}
        self._work: Iterator[None] | None = None  # indexing under way
        self._rounds = 0  # passes over the catalogue since the index was up to date
        self._is_current = False  # the index is up to date for the next search

    def advance(self) -> bool:
        """Index changes of the catalogue for some milliseconds; return whether more is due.

        Changes that come meanwhile are indexed as well, but only some times: a server that changes all the time delays
        no search.
        """
        if self._work is None:
            self._work = self._catch_up()
        ends = self._clock() + SLICE_SECONDS
        for _ in self._work:
            if self._clock() > ends:
                return True
        self._work = None
        self._rounds += 1
        if self._rounds < MOST_ROUNDS and self._seen != self._now():
            return True
        self._rounds, self._is_current = 0, True
        return False

    def search(self, query: str, limit: int, server: str | None) -> tuple[list[Item], bool]:
        """Rank tools for a query, and return whether the first clearly does it; index the rest first."""
        while not self._is_current:
            self.advance()
        self._is_current = False
        answer = self._index.answer(query, limit, server=server, order=self._order)
        return [self._items[hit.name] for hit in answer.hits], answer.fits

    def explain(self, query: str, item: Item) -> Explanation | None:
        return self._index.explain(query, item.name)

    def _now(self) -> _Seen:
        titles = {
            status.server: status.capabilities.title for status in self._statuses() if status.capabilities is not None
        }
        return self._catalog.version, self._facts(), titles

    def _catch_up(self) -> Iterator[None]:
        now = self._now()
        if self._seen == now:
            return
        self._seen = now
        wanted = self._look_again(*now[1:])
        yield
        for server in sorted(wanted.keys() | self._held.keys()):
            if wanted.get(server) != self._held.get(server):
                yield from self._follow(server, wanted.get(server))

    def _look_again(self, facts: Mapping[str, ServerFacts], titles: Mapping[str, str]) -> Mapping[str, _Listed]:
        # Equal tools of two servers tie: the order of the configuration decides, not the alphabet.
        self._order = {server: position for position, server in enumerate(facts)}
        self._items = {item.name: item for item in self._catalog.tools() if item.is_for_models}
        by_server: dict[str, list[Item]] = {}
        for item in self._items.values():
            by_server.setdefault(item.server, []).append(item)
        return {server: _Listed(items, titles.get(server, ""), facts[server]) for server, items in by_server.items()}

    def _follow(self, server: str, listed: _Listed | None) -> Iterator[None]:
        if listed is None:
            del self._held[server]
            yield from self._index.removing(server)
        else:
            self._held[server] = listed
            yield from self._index.adding(server, listed.documents())
