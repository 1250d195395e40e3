"""The search index of one kind of a catalogue's entries, which follows their changes server by server.

Decides when entries are indexed, how much of their text, and which clients use the same index. How they rank is decided
in `search`, for which all of them are tools, with or without parameters.

Clients share an index only if all entries and texts in it are equal, names included. So nothing of one client can be
found by another, or changes its ranks. A client whose entries or texts differ from those of all others has an index of
its own.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakSet

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.in_common import InCommon
from search_mcp.catalog.items import Item
from search_mcp.catalog.list_limits import LONGEST_NAME
from search_mcp.model.servers import ServerFacts, Status
from search_mcp.own_tools.findable import Found, Resource, entries, key_of, prompt_arguments
from search_mcp.own_tools.wanted import SearchKind
from search_mcp.search import Document, Effect, Explanation, Index, Meaning
from search_mcp.search.analysis import fold
from search_mcp.search.documents import LONGEST_TEXT
from search_mcp.search.meaning import text
from search_mcp.wire.structs import Struct

if TYPE_CHECKING:
    from search_mcp.semantic.meanings import Meanings

SLICE_SECONDS = 0.005
"""Time that entries are indexed before other messages are handled."""
MOST_ROUNDS = 3
"""Limit of rounds for a catalogue that changes while it is indexed; then the index is searched as it is."""
MOST_CHARACTERS = 2 << 20
"""Characters of one field that are read of all entries of a server; real servers have a tenth of that at most."""
SHORTEST_TEXT = 400
"""Characters of a field of one entry that are read if its server has very many."""


class _Listed(Struct, frozen=True):
    """The entries and texts of one server that are indexed."""

    search_kind: SearchKind
    entries: Sequence[Found]
    title: str
    facts: ServerFacts

    def documents(self) -> Iterator[Document]:
        """Give the entries one by one, because decoding a schema takes time."""
        count = 1 << (len(self.entries) - 1).bit_length()  # rounded up: one entry more must not change all others
        longest = max(SHORTEST_TEXT, min(LONGEST_TEXT, MOST_CHARACTERS // count))
        for each in self.entries:
            is_prompt = self.search_kind == "prompts"
            yield Document(
                name=key_of(each),
                server=each.server,
                tool=_name(each),
                description=_description(each),
                input_schema=_input_schema(each, is_prompt) if isinstance(each, Item) else None,
                server_title=self.title,
                server_description=self.facts.description,
                tags=self.facts.tags,
                effect=_effect(each) if isinstance(each, Item) and not is_prompt else Effect.UNDECLARED,
                longest_text=longest,
            )

    def texts(self) -> Iterator[tuple[str, str]]:
        """Give the texts whose meaning is compared with that of a query, by the names in the index."""
        return ((key_of(each), text(_name(each), each.description)) for each in self.entries)


def _name(found: Found) -> str:
    return found.own if isinstance(found, Item) else found.name[:LONGEST_NAME]


def _description(found: Found) -> str:
    """Return the text of an entry; the words of a URI come last, where they count least."""
    return f"{found.description}\n{found.uri}" if isinstance(found, Resource) else found.description


def _input_schema(item: Item, is_prompt: bool) -> Mapping[str, Any]:
    if not is_prompt:
        return item.input_schema
    return {"properties": {each.name: {"description": each.description} for each in prompt_arguments(item)}}


def _effect(tool: Item) -> Effect:
    return Effect.declared(tool.annotations.get("readOnlyHint"), tool.annotations.get("destructiveHint"))


_Content: TypeAlias = Mapping[str, _Listed]
"""Everything that is indexed, by server."""
_Seen: TypeAlias = tuple[int, Mapping[str, ServerFacts], Mapping[str, str]]
"""The catalogue's version, the servers' facts from the configuration, and their own titles."""


class SharedIndex:
    """The search index of all catalogues with equal entries of a kind; servers that did not change are kept."""

    def __init__(self) -> None:
        self.index = Index()
        self.content: _Content = {}
        """What is indexed, or will be when `work` is done."""
        self.work: Iterator[None] = iter(())
        """The indexing under way, which any of its users advances."""
        self.users: WeakSet[CatalogIndex] = WeakSet()
        self.texts: Mapping[str, str] = {}
        """The texts whose meaning is compared with that of a query, by name; made when a search needs them."""
        self.texts_version = 0
        self._held: dict[str, _Listed] = {}
        self._texts_of: dict[str, tuple[_Listed, dict[str, str]]] = {}

    def change(self, content: _Content) -> None:
        """Begin to index another content; only what differs is indexed."""
        self.content, self.work = content, self._follow(self.work, content)

    def making_texts(self) -> Iterator[None]:
        """Make the texts of everything that is indexed now, in steps of one entry; only what differs is made."""
        held, made = dict(self._held), self._texts_of
        if held.keys() == made.keys() and all(made[server][0] is listed for server, listed in held.items()):
            return
        new: dict[str, tuple[_Listed, dict[str, str]]] = {}
        for server in sorted(held):
            listed = held[server]
            if server in made and made[server][0] is listed:
                new[server] = made[server]
                continue
            texts: dict[str, str] = {}
            for name, each in listed.texts():
                texts[name] = each
                yield
            new[server] = listed, texts
        self._texts_of = new
        self.texts = {name: each for _, texts in new.values() for name, each in texts.items()}
        self.texts_version += 1

    def _follow(self, before: Iterator[None], content: _Content) -> Iterator[None]:
        yield from before
        for server in sorted(content.keys() | self._held.keys()):
            listed = content.get(server)
            if listed == self._held.get(server):
                continue
            if listed is None:
                del self._held[server]
                yield from self.index.removing(server)
            else:
                self._held[server] = listed
                yield from self.index.adding(server, listed.documents())


class CatalogIndex:
    """The search of one kind of a catalogue's entries, with an index that equal catalogues share."""

    def __init__(
        self,
        catalog: Catalog,
        facts: Callable[[], Mapping[str, ServerFacts]],
        statuses: Callable[[], Iterable[Status]],
        in_common: InCommon,
        clock: Callable[[], float] = time.monotonic,
        meanings: "Callable[[], Meanings | None]" = lambda: None,
        search_kind: SearchKind = "tools",
    ) -> None:
        self._search_kind = search_kind
        self._catalog, self._facts, self._statuses, self._clock = catalog, facts, statuses, clock
        self._in_common, self._meanings = in_common, meanings
        self._shared = SharedIndex()
        self._content: _Content = {}  # what this catalogue needs indexed
        self._seen: _Seen | None = None  # the state that `_entries` was made from
        self._entries: dict[str, Found] = {}
        self._order: Mapping[str, int] = {}
        self._work: Iterator[None] | None = None  # indexing under way
        self._rounds = 0  # passes over the catalogue since the index was up to date
        self._is_current = False  # the index is up to date for the next search

    def advance(self) -> bool:
        """Index changes of the catalogue for some milliseconds; return whether more is due.

        Changes that come meanwhile are indexed as well, but only some times: a server that changes all the time delays
        no search.
        """
        self._is_current = False
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
        self._rounds, self._is_current = 0, True  # until the next search
        return False

    def wants_meaning(self, query: str) -> bool:
        """Return whether the meaning of a query may change the answer, and may be found."""
        return self._wanted(query) is not None

    def _wanted(self, query: str) -> "Meanings | None":
        meanings = self._meanings() if self._shared.index.uses_meaning(query) else None
        return meanings if meanings is not None and meanings.may_answer else None

    def ask(self, query: str, use: Callable[[Meaning | None], None], patience_seconds: float | None = None) -> None:
        """Give the meaning of a query to a function, once, in a short time."""
        meanings = self._wanted(query)
        if meanings is None:
            use(None)
            return
        patience = () if patience_seconds is None else (patience_seconds,)
        meanings.ask(self._shared, query, use, *patience)

    def search(
        self, query: str, limit: int, server: str | None, meaning: Meaning | None = None
    ) -> tuple[list[Found], bool]:
        """Rank entries for a query, and return whether the first clearly fits; index the rest first."""
        while not self._is_current or self._shared.content is not self._content:
            self.advance()
        self._is_current = False
        answer = self._shared.index.answer(query, limit, server=server, order=self._order, meaning=meaning)
        found = [(hit.score, self._entries[hit.name]) for hit in answer.hits]
        # A skill never precedes a tool of the same score.
        found.sort(key=lambda each: (-each[0], not isinstance(each[1], Item)))
        return [each for _, each in found], answer.fits

    def unknown_servers(self, query: str) -> list[str]:
        known = {fold(status.server) for status in self._statuses()}
        return [name for name in self._shared.index.servers_in(query) if fold(name) not in known]

    def explain(
        self, query: str, found: Found, server: str | None = None, meaning: Meaning | None = None
    ) -> Explanation | None:
        return self._shared.index.explain(query, key_of(found), meaning, server=server)

    def _now(self) -> _Seen:
        titles = {
            status.server: status.capabilities.title for status in self._statuses() if status.capabilities is not None
        }
        return self._catalog.version, self._facts(), titles

    @property
    def needs_content(self) -> bool:
        """Whether this client still needs the shared index unchanged: its own catalogue has not changed either."""
        return self._shared.content is self._content and self._seen == self._now()

    def _catch_up(self) -> Iterator[None]:
        now = self._now()
        if self._seen != now:
            self._seen = now
            self._content = self._look_again(*now[1:])
            yield
        if self._shared.content is not self._content:
            self._share()
        yield from self._shared.work
        if self._meanings() is not None:
            yield from self._shared.making_texts()

    def _share(self) -> None:
        """Use an index of equal content; else change the own one, or make one if other clients need that."""
        known: Iterable[SharedIndex] = self._in_common.indexes
        equal = next((each for each in known if each.content == self._content), None)
        if equal is not None:
            self._use(equal)
            self._content = equal.content
        else:
            is_needed = any(user.needs_content for user in self._shared.users if user is not self)
            self._use(SharedIndex() if is_needed else self._shared)
            self._shared.change(self._content)

    def _use(self, shared: SharedIndex) -> None:
        self._shared.users.discard(self)
        self._shared = shared
        shared.users.add(self)
        self._in_common.indexes.add(shared)

    def _look_again(self, facts: Mapping[str, ServerFacts], titles: Mapping[str, str]) -> _Content:
        # Equal tools of two servers tie: the order of the configuration decides, not the alphabet.
        self._order = {server: position for position, server in enumerate(facts)}
        self._entries = {key_of(each): each for each in entries(self._catalog, self._search_kind)}
        by_server: dict[str, list[Found]] = {}
        for each in self._entries.values():
            by_server.setdefault(each.server, []).append(each)
        return {
            server: _Listed(self._search_kind, listed, titles.get(server, ""), facts[server])
            for server, listed in by_server.items()
        }
