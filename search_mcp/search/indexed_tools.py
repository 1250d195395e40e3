"""The tools of an index, by server: adds and removes them, with their terms, names and words.

Each server is added and removed separately, and of a server only the tools that changed. Knows no query.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from search_mcp.search.analysis import Analyzer, spellings, words
from search_mcp.search.documents import Document, server_texts, tool_texts
from search_mcp.search.names import Names
from search_mcp.search.postings import Postings, Terms
from search_mcp.search.spelling import Spelling
from search_mcp.search.weights import saturated, weigh

_OfServers: TypeAlias = dict[tuple[str, ...], tuple[dict[str, float], set[str]]]
"""The unsaturated weights and the words of servers, by their texts; tools of one server have them in common."""


@dataclass(frozen=True)
class IndexedTool:
    """A tool in the index, with the terms of its name and of its server's."""

    document: Document
    tool_terms: tuple[str, ...]
    server_terms: tuple[str, ...]

    @property
    def verb(self) -> str:
        """The first term of the name that is not in the server's name: usually a verb."""
        return next((term for term in self.tool_terms if term not in self.server_terms), "")


class _IndexedServer:
    """The tools of one server: their numbers by name, and their words, each with the number of tools that have it."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.words: dict[str, int] = {}


class IndexedTools:
    """The tools that are indexed, each under a number."""

    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._postings = Postings()
        self._spelling = Spelling()
        self._names = Names()
        self._tools: dict[int, IndexedTool] = {}
        self._servers: dict[str, _IndexedServer] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._tools)

    def add(self, server: str, documents: Iterable[Document]) -> None:
        """Replace the server's tools with these. Of several with one name, one is kept."""
        for _ in self.adding(server, _distinct(documents)):
            pass

    def adding(self, server: str, documents: Iterable[Document]) -> Iterator[None]:
        """Replace the server's tools in steps of one tool, between which other work can run; names must be unique.

        Unchanged tools are kept. Until the last step, a new one may not be found, and another be found as it was.
        """
        held = self._servers.setdefault(server, _IndexedServer())
        gone = dict(held.numbers)
        shared: _OfServers = {}
        for document in documents:
            number = gone.pop(document.name, None)
            if number is None or self._tools[number].document != document:
                if number is not None:
                    self._take_out(held, number, shared)
                self._insert(held, document, shared)
            yield
        for number in gone.values():
            self._take_out(held, number, shared)
            yield

    def remove(self, server: str) -> None:
        """Remove the server and its tools, if there are any."""
        for _ in self.removing(server):
            pass

    def removing(self, server: str) -> Iterator[None]:
        """Remove the server in steps of one tool or one word, between which other work can run."""
        held = self._servers.pop(server, None) or _IndexedServer()
        for number in held.numbers.values():
            self._forget(number)
            yield
        for word in held.words:
            self._spelling.discard((word,))
            yield

    def _insert(self, held: _IndexedServer, document: Document, shared: _OfServers) -> None:
        number = held.numbers[document.name] = self._next
        self._next += 1
        weights, written = self._read(document, shared)
        self._postings.add(number, weights)
        self._names.add(number, document)
        self._tools[number] = IndexedTool(document, self._terms(document.tool), self._terms(document.server))
        self._spelling.add(written - held.words.keys())
        for word in written:
            held.words[word] = held.words.get(word, 0) + 1

    def _take_out(self, held: _IndexedServer, number: int, shared: _OfServers) -> None:
        """Remove one tool of a server; its words go with the last tool that has them."""
        document = self._tools[number].document
        _, written = self._read(document, shared)
        for word in written:
            held.words[word] -= 1
            if not held.words[word]:
                del held.words[word]
                self._spelling.discard((word,))
        del held.numbers[document.name]
        self._forget(number)

    def _forget(self, number: int) -> None:
        self._postings.remove(number)
        self._names.remove(number, self._tools.pop(number).document)

    def _read(self, document: Document, shared: _OfServers) -> tuple[Terms, set[str]]:
        """Return the weights of a tool's terms, and its words that can be mistyped."""
        from_server = tuple(text for _, text in server_texts(document))
        if from_server not in shared:
            seen: set[str] = set()
            shared[from_server] = weigh(server_texts(document), self._analyzer, seen), seen
        weights, of_server = shared[from_server]
        seen = set(of_server)
        own = weigh(tool_texts(document), self._analyzer, seen)
        return saturated(own, weights), set(spellings(seen))

    def _terms(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._analyzer.terms(words(name))))

    def _tools_of(self, server: str) -> set[int]:
        return set(self._servers[server].numbers.values()) if server in self._servers else self._names.of_server(server)

    def _numbers(self, name: str) -> list[int]:
        return [number for number in self._names.matches(name) if self._tools[number].document.name == name]


def _distinct(documents: Iterable[Document]) -> list[Document]:
    kept: dict[str, Document] = {}
    for document in documents:
        other = kept.setdefault(document.name, document)
        if (document.tool, document.description) < (other.tool, other.description):
            kept[document.name] = document
    return list(kept.values())
