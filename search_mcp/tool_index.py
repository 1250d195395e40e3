"""The search, following a catalogue: what our own tools find tools with.

Decides when what of the catalogue is indexed. How tools rank is `search`'s business.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from search_mcp.catalog import Catalog, Item
from search_mcp.jsonrpc import Struct
from search_mcp.model import ServerFacts, Status
from search_mcp.search import Document, Effect, Explanation, Index


class _Listed(Struct, frozen=True):
    """What one server's place in the index is made of."""

    items: list[Item]
    title: str
    facts: ServerFacts

    def document(self, item: Item) -> Document:
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
        )


_Seen: TypeAlias = tuple[int, Mapping[str, ServerFacts], Mapping[str, str]]
"""The catalogue's version, what the configuration says of the servers, and the titles they gave themselves."""


class ToolIndex:
    """The search index, made to follow a catalogue one server at a time; what did not change is left as it is."""

    def __init__(
        self,
        catalog: Catalog,
        facts: Callable[[], Mapping[str, ServerFacts]],
        statuses: Callable[[], Iterable[Status]],
    ) -> None:
        self._catalog, self._facts, self._statuses = catalog, facts, statuses
        self._index = Index()
        self._seen: _Seen | None = None  # what `_wanted` and `_items` are of
        self._items: dict[str, Item] = {}
        self._wanted: dict[str, _Listed] = {}
        self._held: dict[str, _Listed] = {}
        self._due: list[str] = []
        self._order: Mapping[str, int] = {}

    def advance(self) -> bool:
        """Take one server in or out, if the catalogue changed; return whether another is due."""
        titles = {status.server: status.offer.title for status in self._statuses() if status.offer is not None}
        now = self._catalog.version, self._facts(), titles
        if self._seen != now:
            self._seen = now
            self._look_again(*now[1:])
        if self._due:
            self._follow(self._due.pop())
        return bool(self._due)

    def search(self, query: str, limit: int, server: str | None) -> tuple[list[Item], bool]:
        """Rank tools for a query, and tell whether the first clearly does it; first bring the index up to date."""
        while self.advance():
            pass
        answer = self._index.answer(query, limit, server=server, order=self._order)
        return [self._items[hit.name] for hit in answer.hits], answer.fits

    def explain(self, query: str, item: Item) -> Explanation | None:
        return self._index.explain(query, item.name)

    def _look_again(self, facts: Mapping[str, ServerFacts], titles: Mapping[str, str]) -> None:
        # A copy of another server's tools ties with them: the order of the configuration decides, not the alphabet.
        self._order = {server: position for position, server in enumerate(facts)}
        self._items = {item.name: item for item in self._catalog.tools() if item.is_for_models}
        by_server: dict[str, list[Item]] = {}
        for item in self._items.values():
            by_server.setdefault(item.server, []).append(item)
        self._wanted = {
            server: _Listed(items, titles.get(server, ""), facts[server]) for server, items in by_server.items()
        }
        servers = sorted(self._wanted.keys() | self._held.keys())
        self._due = [server for server in servers if self._wanted.get(server) != self._held.get(server)]

    def _follow(self, server: str) -> None:
        listed = self._wanted.get(server)
        if listed is None:
            del self._held[server]
            self._index.remove(server)
        else:
            self._held[server] = listed
            self._index.add(server, map(listed.document, listed.items))
