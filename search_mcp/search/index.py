"""The index of all tools and the search in it: what enters, what leaves, which tools answer a query, and why.

Servers come and go one at a time; nothing is rebuilt. A tool's name is opaque here: it is given back, never parsed.
Pure: no clock, no I/O, no randomness, no logging; the answer does not depend on the order in which tools came.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from search_mcp.search.analysis import Analyzer, spellings, words
from search_mcp.search.documents import Document, Effect, server_texts, tool_texts
from search_mcp.search.expansion import Expanded, Expansion
from search_mcp.search.explanation import Contribution, Explanation
from search_mcp.search.names import Match, Names
from search_mcp.search.postings import Postings, Scores, Terms
from search_mcp.search.query import LONGEST_QUERY, Query, parse, plain
from search_mcp.search.reasons import reason
from search_mcp.search.spelling import Spelling
from search_mcp.search.weights import saturated, weigh

# nDCG@10 in brackets: what leaving it out costs on the average of all development data.
_POOL = 40  # tools scored in full for a query; 100 gain .0004
_TOOL_NAME = 0.5  # a tool whose whole name is asked for scores half as much again (-.013)
_SERVER_NAME = 0.1  # the same for its server's name (-.004)
_CLAUSE_POOL = 20  # tools scored in full for one clause of a long request
# What the best tool of a clause gains; the best tool of the whole request has 1 (-.001; -.009 on long ones).
_CLAUSE = 0.25
# Factors for tools by their declared effect. The development data declare none; chosen on the reference servers.
_UNASKED = 0.9  # a destructive tool whose verb was not asked for: in a near tie another tool comes first
_QUESTION = 0.6  # a tool that writes, if the query is a question: "which", "what" and "is" ask to read
_WRITES = (Effect.ADDS, Effect.DESTROYS)
# The first tool fits if its score is at least this share of the query's information. With six servers of the
# development data, 4 % of the queries that a server answers are below it, and 64 % of those that none answers.
_FITS = 0.38
_SHORT = 6  # words; a longer request names more that no tool mentions, so a smaller share is enough
_DESTRUCTIVE_FITS = 0.5  # a destructive tool fits only if it mentions more than this share of the words
_WORDS_A_TURN = 1000  # forgotten at once: about a millisecond
_NAMED = 1e6  # per degree of `Match`: above any sum of terms


@dataclass(frozen=True)
class Hit:
    """A tool found. Scores compare within one answer only."""

    name: str
    score: float


@dataclass(frozen=True)
class Answer:
    """What a query found, best first."""

    hits: list[Hit]
    fits: bool  # whether the first tool clearly does what is asked for


_Place: TypeAlias = tuple[float, bool, int, Effect, str, int]
"""Sort key: negated score, whether it destroys, the server's position, effect, name, number of the tool."""
_ANY_ORDER: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class _Entry:
    """A tool in the index."""

    document: Document
    tool_terms: tuple[str, ...]
    server_terms: tuple[str, ...]

    @property
    def verb(self) -> str:
        """The first term of the name that does not come from the server's name: usually a verb."""
        return next((term for term in self.tool_terms if term not in self.server_terms), "")


class Index:
    """Tools by server, searchable."""

    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._postings = Postings()
        self._spelling = Spelling()
        self._expansion = Expansion(self._analyzer, self._postings, self._spelling)
        self._names = Names()
        self._entries: dict[int, _Entry] = {}
        self._servers: dict[str, tuple[list[int], set[str]]] = {}  # its entries, and the words it taught us
        self._next = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, server: str, documents: Iterable[Document]) -> None:
        """Make these the server's tools, in place of those it had. Of several with one name, one is kept."""
        for _ in self.adding(server, _distinct(documents)):
            pass

    def adding(self, server: str, documents: Iterable[Document]) -> Iterator[None]:
        """Do the same tool by tool, for others to have their turn in between; no two have one name.

        Until the end, some of the server's tools are not found.
        """
        yield from self.removing(server)
        numbers, spelt = self._servers[server] = [], set()
        shared: dict[tuple[str, ...], dict[str, float]] = {}
        for document in documents:
            seen: set[str] = set()
            numbers.append(self._file(document, shared, seen))
            fresh = set(spellings(seen)) - spelt
            self._spelling.add(fresh)
            spelt |= fresh
            yield

    def remove(self, server: str) -> None:
        """Forget the server and its tools; nothing happens if there is none."""
        for _ in self.removing(server):
            pass

    def removing(self, server: str) -> Iterator[None]:
        """Do the same tool by tool, for others to have their turn in between."""
        numbers, spelt = self._servers.pop(server, ([], set()))
        for number in numbers:
            self._postings.remove(number)
            self._names.remove(number, self._entries.pop(number).document)
            yield
        for place, word in enumerate(spelt, 1):
            self._spelling.discard((word,))
            if not place % _WORDS_A_TURN:
                yield

    def search(self, query: str, limit: int, *, server: str | None = None) -> list[Hit]:
        """Return the best tools for a query, best first; none for an empty one."""
        return self.answer(query, limit, server=server).hits

    def answer(
        self, query: str, limit: int, *, server: str | None = None, order: Mapping[str, int] = _ANY_ORDER
    ) -> Answer:
        """Return the best tools for a query, and whether the first one clearly does what is asked for.

        `order` has the positions of servers: of equal tools that do not destroy, the first server's comes first. Its
        effect decides later, because a copy of another server's tool may declare anything.
        """
        asked, named = self._understood(query)
        among = self._among(asked, server)
        expanded = self._expansion.expand(asked.words)
        scores = self._scores(asked, expanded, among, max(_POOL, limit))
        for number, match in named.items():
            if among is None or number in among:
                scores[number] = scores.get(number, 0.0) + match * _NAMED
        places: dict[str, _Place] = {}
        for number, score in scores.items():
            document = self._entries[number].document
            position = order.get(document.server, 0)
            place = -score, document.effect is Effect.DESTROYS, position, document.effect, document.name, number
            if places.setdefault(document.name, place) > place:
                places[document.name] = place
        ranked = heapq.nsmallest(max(limit, 0), places.values())
        fits = bool(ranked) and self._fits(asked, expanded, ranked[0])
        return Answer([Hit(name, -score) for score, _, _, _, name, _ in ranked], fits)

    def explain(self, query: str, name: str) -> Explanation | None:
        """Say what a tool's place for a query is made of; None if there is no such tool."""
        number = next((n for n in self._names.matches(name) if self._entries[n].document.name == name), None)
        if number is None:
            return None
        asked, named = self._understood(query)
        factors = self._expansion.expand(asked.words).factors
        for term, hint in self._expansion.hints(asked.implied, asked.words).items():
            factors[term] = factors.get(term, 0.0) + hint
        held = {term: weight for term, weight in self._postings.weights(number).items() if term in factors}
        parts = (Contribution(t, factors[t], weight, self._fields_with(number, t)) for t, weight in held.items())
        explanation = Explanation(
            name=name,
            query=query,
            match=named.get(number),
            name_coverage=_coverage(self._entries[number].tool_terms, factors, self._postings.rarity),
            contributions=tuple(sorted(parts, key=lambda part: (-part.score, part.term))),
            missing=tuple(sorted(factors.keys() - held.keys())),
        )
        return replace(explanation, reason=reason(explanation, self._entries[number].document, self._analyzer))

    def _file(self, document: Document, shared: dict[tuple[str, ...], dict[str, float]], seen: set[str]) -> int:
        number = self._next
        self._next += 1
        from_server = tuple(text for _, text in server_texts(document))
        if from_server not in shared:
            shared[from_server] = weigh(server_texts(document), self._analyzer, seen)
        own = weigh(tool_texts(document), self._analyzer, seen)
        self._postings.add(number, saturated(own, shared[from_server]))
        self._names.add(number, document)
        self._entries[number] = _Entry(document, self._terms(document.tool), self._terms(document.server))
        return number

    def _terms(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._analyzer.terms(words(name))))

    def _understood(self, query: str) -> tuple[Query, dict[int, Match]]:
        """Return what is asked and the tools named outright. A name is a name even if it looks like an operator."""
        if named := self._names.matches(query[:LONGEST_QUERY]):
            return plain(query), named
        asked = parse(query)
        return asked, self._names.matches(asked.text)

    def _among(self, asked: Query, server: str | None) -> set[int] | None:
        """Return the tools the query and the caller admit; None means all."""
        admitting: list[set[int]] = []
        if server is not None:
            admitting.append(self._tools_of(server))
        if servers := [tools for name in asked.servers if (tools := self._tools_of(name))]:
            admitting.append(set().union(*servers))
        exact = [self._postings.holders(term) for text in asked.exact for term in self._analyzer.terms(words(text))]
        if exact and (holders := set.intersection(*exact)):
            admitting.append(holders)
        excluded = [self._postings.holders(self._analyzer[word][-1]) for word in asked.without]
        if not admitting and not excluded:
            return None
        admitted = set.intersection(*admitting) if admitting else set(self._entries)
        return admitted.difference(*excluded)

    def _tools_of(self, server: str) -> set[int]:
        return set(self._servers[server][0]) if server in self._servers else self._names.of_server(server)

    def _fits(self, asked: Query, expanded: Expanded, best: _Place) -> bool:
        score, _, _, effect, _, number = best
        if -score >= _NAMED:
            return True
        enough = _FITS * min(1.0, _SHORT / max(len(asked.words), 1))
        if -score < enough * expanded.information:
            return False
        # A destructive tool must also be about the right thing: deleting notes is no answer to "delete a file".
        held = self._postings.weights(number)
        return effect is not Effect.DESTROYS or self._expansion.held_share(asked.words, held) > _DESTRUCTIVE_FITS

    def _scores(self, asked: Query, expanded: Expanded, among: set[int] | None, pool: int) -> Scores:
        hints = self._expansion.hints(asked.implied, asked.words) if asked.implied else None
        scores = self._scored(expanded.factors, hints, among, pool)
        best = max(scores.values(), default=0.0)
        for clause in asked.clauses:
            found = self._scored(self._expansion.expand(clause).factors, None, among, _CLAUSE_POOL)
            top = max(found.values(), default=1.0)
            for number, score in found.items():
                # Squared: a clause speaks for its best tools and hardly for the crowd behind them (-.001 if not).
                scores[number] = scores.get(number, 0.0) + _CLAUSE * best * (score / top) ** 2
        return scores

    def _scored(self, factors: Terms, hints: Terms | None, among: set[int] | None, pool: int) -> Scores:
        """Score the best tools for some terms, and with hints for a question."""
        scores = self._postings.best(factors, pool, among)
        wanted = {**(hints or {}), **factors}
        for term, hint in (hints or {}).items():
            for number in scores:
                scores[number] += hint * self._postings.weights(number).get(term, 0.0)
        terms = frozenset(wanted)  # most names hold none of them: that is told faster here than in a call
        rarity = cache(self._postings.rarity)
        for number in scores:
            entry = self._entries[number]
            boost = 1.0
            if not terms.isdisjoint(entry.tool_terms):
                boost += _TOOL_NAME * _coverage(entry.tool_terms, wanted, rarity)
            if not terms.isdisjoint(entry.server_terms):
                boost += _SERVER_NAME * _coverage(entry.server_terms, wanted, rarity)
            effect = entry.document.effect
            if hints is not None and effect in _WRITES:
                boost *= _QUESTION
            if effect is Effect.DESTROYS and entry.verb not in terms:
                boost *= _UNASKED
            scores[number] *= boost
        return scores

    def _fields_with(self, number: int, term: str) -> tuple[str, ...]:
        document = self._entries[number].document
        texts = (*tool_texts(document), *server_texts(document))
        return tuple(field.label for field, text in texts if term in self._analyzer.terms(words(text)))


def _distinct(documents: Iterable[Document]) -> list[Document]:
    kept: dict[str, Document] = {}
    for document in documents:
        other = kept.setdefault(document.name, document)
        if (document.tool, document.description) < (other.tool, other.description):
            kept[document.name] = document
    return list(kept.values())


def _coverage(name: tuple[str, ...], factors: Terms, rarity: Callable[[str], float]) -> float:
    """Return the share of a name that is asked for, rare words counting more."""
    asked = whole = 0.0
    for term in name:
        whole += (rare := rarity(term))
        if term in factors:
            asked += min(rare, factors[term])
    return asked / whole if asked else 0.0
