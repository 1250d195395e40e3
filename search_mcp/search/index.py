"""The index of all tools and the search in it: what enters, what leaves, which tools answer a query, and why.

Servers come and go one at a time; nothing is rebuilt. A tool's name is opaque here: it is given back, never parsed.
Pure: no clock, no I/O, no randomness, no logging; the answer does not depend on the order in which tools came.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from search_mcp.search.analysis import Analyzer, fold, spellings, words
from search_mcp.search.documents import Document, Field, server_texts, tool_texts
from search_mcp.search.expansion import Expansion
from search_mcp.search.explanation import Contribution, Explanation
from search_mcp.search.postings import Postings, Scores, Terms
from search_mcp.search.query import Query, parse
from search_mcp.search.spelling import Spelling

_SATURATION = 1.0  # BM25's k1: fields that together weigh this much are worth half of any amount
_FINENESS = 200  # steps of a weight between 0 and 1: shared numbers, a third less memory and time
_STEPS = tuple((step + 0.5) / _FINENESS for step in range(_FINENESS + 1))
_LENGTH_SHARE = 0.5  # BM25's b: how far a long field dilutes what it says
_POOL = 40  # tools scored in full for a query
_TOOL_NAME = 0.5  # a tool whose whole name is asked for scores half as much again
_SERVER_NAME = 0.1  # the same for its server's name
_CLAUSE_POOL = 20
_CLAUSE = 0.25  # what the best tool of one clause gains, the best of the whole request having 1

# Added to the score, far above any sum of terms.
_CANONICAL, _TOOL, _FOLDED, _SERVER = 4e6, 3e6, 2e6, 1e6
_MATCHES = {_CANONICAL: "canonical name", _TOOL: "exact name", _FOLDED: "folded name", _SERVER: "server"}

_Name = tuple[str, ...]


@dataclass(frozen=True)
class Hit:
    """A tool found. Scores compare within one answer only."""

    name: str
    score: float


class Index:
    """Tools by server, searchable."""

    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._postings = Postings()
        self._spelling = Spelling()
        self._expansion = Expansion(self._analyzer, self._postings, self._spelling)
        self._documents: dict[int, Document] = {}
        self._names: dict[int, tuple[_Name, _Name]] = {}  # the terms of the tool's and the server's name
        self._servers: dict[str, set[int]] = {}
        self._spelt: dict[str, frozenset[str]] = {}  # the words of each server's texts
        self._folded: dict[str, set[int]] = {}  # folded tool and qualified names
        self._folded_servers: dict[str, set[str]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, server: str, documents: Iterable[Document]) -> None:
        """Make these the server's tools, in place of those it had. Of several with one name, one is kept."""
        self.remove(server)
        kept: dict[str, Document] = {}
        for document in documents:
            other = kept.setdefault(document.name, document)
            if (document.tool, document.description) < (other.tool, other.description):
                kept[document.name] = document
        self._servers[server] = set()
        self._folded_servers.setdefault(fold(server), set()).add(server)
        shared: dict[tuple[str, ...], Terms] = {}
        spelt: set[str] = set()
        for document in kept.values():
            self._servers[server].add(self._file(document, shared, spelt))
        self._spelt[server] = frozenset(spellings(spelt))
        self._spelling.add(self._spelt[server])

    def remove(self, server: str) -> None:
        """Forget the server and its tools; nothing happens if there is none."""
        if server not in self._servers:
            return
        for number in self._servers.pop(server):
            document = self._documents.pop(number)
            del self._names[number]
            self._postings.remove(number)
            for key in _folded_names(document):
                _discard(self._folded, key, number)
        self._spelling.discard(self._spelt.pop(server))
        _discard(self._folded_servers, fold(server), server)

    def search(self, query: str, limit: int, *, server: str | None = None) -> list[Hit]:
        """Return the best tools for a query, best first; none for an empty one."""
        asked = parse(query)
        among = self._among(asked, server)
        scores = self._scores(asked, among, max(_POOL, limit))
        for number, bonus in self._named(asked.text).items():
            if among is None or number in among:
                scores[number] = scores.get(number, 0.0) + bonus
        best: dict[str, float] = {}
        for number, score in scores.items():
            name = self._documents[number].name
            best[name] = max(score, best.get(name, 0.0))
        ranked = heapq.nsmallest(max(limit, 0), best.items(), key=lambda item: (-item[1], item[0]))
        return [Hit(name, score) for name, score in ranked]

    def explain(self, query: str, name: str) -> Explanation | None:
        """Say what a tool's place for a query is made of; None if there is no such tool."""
        number = next((n for n, document in self._documents.items() if document.name == name), None)
        if number is None:
            return None
        asked = parse(query)
        factors = self._expansion.factors(asked.words)
        held = {term: weight for term, weight in self._postings.weights(number).items() if term in factors}
        contributions = (
            Contribution(term, factors[term], weight, tuple(self._fields_with(number, term)))
            for term, weight in held.items()
        )
        return Explanation(
            name,
            query,
            _MATCHES.get(self._named(asked.text).get(number, 0.0), ""),
            _coverage(self._names[number][0], factors, self._postings.rarity),
            tuple(sorted(contributions, key=lambda part: -part.factor * part.weight)),
            tuple(sorted(set(factors) - set(held))),
        )

    def _file(self, document: Document, shared: dict[tuple[str, ...], Terms], spelt: set[str]) -> int:
        number = self._next
        self._next += 1
        key = (
            document.server,
            document.server_title,
            document.server_description,
            document.category,
            *document.tags,
        )
        if key not in shared:
            shared[key] = self._weigh(server_texts(document), spelt)
        weights = dict(shared[key])
        for term, weight in self._weigh(tool_texts(document), spelt).items():
            weights[term] = weights.get(term, 0.0) + weight
        saturated = {term: _STEPS[int(_FINENESS * weight / (_SATURATION + weight))] for term, weight in weights.items()}
        self._postings.add(number, saturated)
        self._documents[number] = document
        self._names[number] = self._name_terms(document.tool), self._name_terms(document.server)
        for folded in _folded_names(document):
            self._folded.setdefault(folded, set()).add(number)
        return number

    def _name_terms(self, name: str) -> _Name:
        return tuple(dict.fromkeys(self._analyzer.terms(words(name))))

    def _weigh(self, texts: Iterable[tuple[Field, str]], spelt: set[str]) -> Terms:
        weights: dict[str, float] = {}
        for field, text in texts:
            spelt.update(written := words(text))
            terms = self._analyzer.terms(written)
            dilution = 1.0 - _LENGTH_SHARE + _LENGTH_SHARE * len(terms) / field.usual_length
            for term, count in Counter(terms).items():
                weights[term] = weights.get(term, 0.0) + count * field.weight / dilution
        return weights

    def _among(self, asked: Query, server: str | None) -> set[int] | None:
        """Return the tools the query and the caller admit; None means all."""
        sets: list[set[int]] = []
        if server is not None:
            sets.append(self._servers.get(server) or self._tools_of(fold(server)))
        if named := [tools for name in asked.servers if (tools := self._tools_of(fold(name)))]:
            sets.append(set().union(*named))
        terms = [term for text in asked.exact for term in self._analyzer.terms(words(text))]
        if terms and (holders := set.intersection(*map(self._postings.holders, terms))):
            sets.append(holders)
        excluded = [
            self._postings.holders(term) for word in asked.without for term in self._analyzer[word][-1:]
        ]
        if not sets and not excluded:
            return None
        admitted = set.intersection(*sets) if sets else set(self._documents)
        return admitted.difference(*excluded)

    def _tools_of(self, folded_server: str) -> set[int]:
        names = self._folded_servers.get(folded_server, ())
        return set().union(*(self._servers[name] for name in names))

    def _scores(self, asked: Query, among: set[int] | None, pool: int) -> Scores:
        scores = self._scored(asked.words, among, pool)
        best = max(scores.values(), default=0.0)
        for clause in asked.clauses:
            found = self._scored(clause, among, _CLAUSE_POOL)
            top = max(found.values(), default=1.0)
            for number, score in found.items():
                scores[number] = scores.get(number, 0.0) + _CLAUSE * best * (score / top) ** 2
        return scores

    def _scored(self, words: Sequence[str], among: set[int] | None, pool: int) -> Scores:
        factors = self._expansion.factors(words)
        scores = self._postings.best(factors, pool, among)
        rarity = cache(self._postings.rarity)
        for number in scores:
            tool, server = self._names[number]
            covered = _TOOL_NAME * _coverage(tool, factors, rarity) + _SERVER_NAME * _coverage(server, factors, rarity)
            scores[number] *= 1.0 + covered
        return scores

    def _named(self, text: str) -> Scores:
        """Return the tools whose name, or whose server's name, is the whole query, with what that is worth."""
        folded = fold(text)
        text = text.strip()
        found: Scores = dict.fromkeys(self._tools_of(folded), _SERVER)
        for number in self._folded.get(folded, ()):
            document = self._documents[number]
            exact = _CANONICAL if text == document.name else _TOOL if text == document.tool else _FOLDED
            found[number] = exact
        return found

    def _fields_with(self, number: int, term: str) -> Iterator[str]:
        document = self._documents[number]
        for field, text in (*tool_texts(document), *server_texts(document)):
            if term in self._analyzer.terms(words(text)):
                yield field.label


def _coverage(name: _Name, factors: Terms, rarity: Callable[[str], float]) -> float:
    """Return the share of a name that is asked for, rare words counting more."""
    if factors.keys().isdisjoint(name):
        return 0.0
    asked = whole = 0.0
    for term in name:
        whole += (rare := rarity(term))
        if term in factors:
            asked += min(rare, factors[term])
    return asked / whole


def _folded_names(document: Document) -> set[str]:
    return {fold(document.tool), fold(document.server + document.tool), fold(document.name)} - {""}


def _discard(sets: dict[Any, set[Any]], key: Any, value: Any) -> None:
    sets[key].discard(value)
    if not sets[key]:
        del sets[key]
