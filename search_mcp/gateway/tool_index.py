"""The search, following a catalogue: what our own tools find tools with.

Decides when what of the catalogue is indexed. How tools rank is `search`'s business.
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
"""How long tools are indexed before calls have their turn."""
MOST_ROUNDS = 3
"""How often a catalogue is followed that changes while it is indexed; then what is indexed is searched."""
MOST_CHARACTERS = 2 << 20
"""Characters of any field that are read of all tools of one server: real servers have a tenth of that at most."""
LONGEST_TEXT = 10_000
SHORTEST_TEXT = 400
"""Characters of a field of one tool that are read where a server has few tools, and where it has very many."""


class _Listed(Struct, frozen=True):
    """What one server's place in the index is made of."""

    items: list[Item]
    title: str
    facts: ServerFacts

    def documents(self) -> Iterator[Document]:
        """Give its tools one by one: to decode a schema takes time."""
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
"""The catalogue's version, what the configuration says of the servers, and the titles they gave themselves."""


class ToolIndex:
    """The search index, made to follow a catalogue tool by tool; servers that did not change are left as they are."""

    def __init__(
        self,
        catalog: Catalog,
        facts: Callable[[], Mapping[str, ServerFacts]],
        statuses: Callable[[], Iterable[Status]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalog, self._facts, self._statuses, self._clock = catalog, facts, statuses, clock
        self._index = Index()
        self._seen: _Seen | None = None  # what `_items` is of
        self._items: dict[str, Item] = {}
        self._held: dict[str, _Listed] = {}
        self._order: Mapping[str, int] = {}
        self._work: Iterator[None] | None = None  # what is being indexed
        self._rounds = 0  # how often it was followed since it was up to date
        self._is_current = False  # it was brought up to date for the next search

    def advance(self) -> bool:
        """Go on bringing the index up to the catalogue, for some milliseconds; return whether more is due.

        What changes meanwhile is followed as well, but not for ever: a server that changes all the time holds up no
        search.
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
        """Rank tools for a query, and tell whether the first clearly does it; up to date unless that was just done."""
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
        # A copy of another server's tools ties with them: the order of the configuration decides, not the alphabet.
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
