"""The search in the index of all tools: ranks tools for a query, and explains ranks.

A tool's name is opaque here: returned, never parsed. Pure except for the word lists, which the first query reads: no
clock, no randomness, no logging. The answer does not depend on the order in which tools were added.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from search_mcp.search.analysis import words
from search_mcp.search.boosts import boost, coverage, effect_factor
from search_mcp.search.documents import POOL, Effect, server_texts, tool_texts
from search_mcp.search.expansion import Expanded, Expansion
from search_mcp.search.explanation import Contribution, Explanation
from search_mcp.search.indexed_tools import IndexedTools
from search_mcp.search.meaning import LEAST, Meaning, completed, is_exact, weight
from search_mcp.search.names import Match
from search_mcp.search.postings import Scores, Terms
from search_mcp.search.query import LONGEST_QUERY, Query, parse, plain
from search_mcp.search.reasons import reason

# In brackets: change of nDCG@10 without it, as the average over all development data.
# Score added to the best tool of a clause, as a share of the best score of the whole request (-.001; -.009 on long
# requests).
_CLAUSE = 0.25
# A tool fits if its score is at least `_FITS * sqrt(i * min(i, u))`: i is the information of the query, u that of one
# unknown word. Scores of tools that share some words by chance grow with the root of a query's length. On the
# development data, this warns for 8 % of the plain requests, and for 52 % of them once the right servers are removed.
_FITS = 0.55
_FITS_COMPARED = 1.2  # with meaning, this minus the similarity of the tool replaces `_FITS`: 7 % and 57 %
_DESTRUCTIVE_FITS = 0.5  # a destructive tool fits only if it covers more than this share of the words
_NAMED = 1e6  # score for each degree of `Match`: above any sum of terms


@dataclass(frozen=True)
class Hit:
    """A tool that was found. Scores are comparable within one answer only."""

    name: str
    score: float


@dataclass(frozen=True)
class Answer:
    """The tools that a query found, best first."""

    hits: list[Hit]
    fits: bool  # whether the first tool clearly does what the query asks for


_SortKey: TypeAlias = tuple[float, bool, int, Effect, str, int]
"""Negated score, whether the tool is destructive, position of its server, effect, name, number."""
_ANY_ORDER: Mapping[str, int] = MappingProxyType({})


class Index(IndexedTools):
    """Searchable tools, by server."""

    def __init__(self) -> None:
        super().__init__()
        self._expansion = Expansion(self._analyzer, self._postings, self._spelling)

    def search(self, query: str, limit: int, *, server: str | None = None) -> list[Hit]:
        """Return the best tools for a query, best first; none for an empty query."""
        return self.answer(query, limit, server=server).hits

    def answer(
        self,
        query: str,
        limit: int,
        *,
        server: str | None = None,
        order: Mapping[str, int] = _ANY_ORDER,
        meaning: Meaning | None = None,
    ) -> Answer:
        """Return the best tools for a query, and whether the first one clearly does what it asks for.

        `order` has the positions of servers: of equal tools that are not destructive, that of the first server comes
        first. Only then the declared effect decides, because a copy of another server's tool may declare any effect.
        `meaning` finds tools with other words than the query's; a query that is a name is not changed by it.
        """
        parsed, named = self._parsed(query)
        among = self._admitted(parsed, server)
        expanded = self._expansion.expand(parsed.words)
        scores = self._scores(parsed, expanded, among, max(POOL, limit))
        factor = 0.0
        if meaning is not None and not named:
            factor = self._meaning_factor(parsed, expanded, meaning, among)
            self._add_similarities(scores, parsed, expanded, among, meaning, factor)
        for number, match in named.items():
            if among is None or number in among:
                scores[number] = scores.get(number, 0.0) + match * _NAMED
        keys: dict[str, _SortKey] = {}
        for number, score in scores.items():
            document = self._tools[number].document
            position = order.get(document.server, 0)
            key = -score, document.effect is Effect.DESTROYS, position, document.effect, document.name, number
            if keys.setdefault(document.name, key) > key:
                keys[document.name] = key
        ranked = heapq.nsmallest(max(limit, 0), keys.values())
        fits = bool(ranked) and self._fits(parsed, expanded, ranked[0], meaning if factor else None)
        return Answer([Hit(name, -score) for score, _, _, _, name, _ in ranked], fits)

    def uses_meaning(self, query: str) -> bool:
        """Return whether the meaning of a query may change the answer: not if it is a name, or says exactly what."""
        parsed, named = self._parsed(query)
        return bool(parsed.words) and not named and not is_exact(parsed)

    def servers_in(self, query: str) -> tuple[str, ...]:
        """Return the names after `server:` in a query, whether there are such servers or not."""
        return self._parsed(query)[0].servers

    def explain(
        self, query: str, name: str, meaning: Meaning | None = None, *, server: str | None = None
    ) -> Explanation | None:
        """Return the explanation of a tool's score for a query; None if there is no such tool.

        `server` is that of the search, if it was limited to one.
        """
        number = next(iter(self._numbers(name)), None)
        if number is None:
            return None
        parsed, named = self._parsed(query)
        expanded = self._expansion.expand(parsed.words)
        factors, terms = expanded.factors, frozenset(expanded.factors)
        hints = self._expansion.hints(parsed.implied, parsed.words)
        boosted = boost(self._tools[number], {**hints, **factors}, bool(parsed.implied), self._postings.rarity)
        for term, hint in hints.items():
            factors[term] = factors.get(term, 0.0) + hint
        held = {term: weight for term, weight in self._postings.weights(number).items() if term in factors}
        whole = self._whole_words(query)
        parts = (
            Contribution(term, whole.get(term, term), factors[term], weight, self._fields_with(number, term))
            for term, weight in held.items()
        )
        factor = 0.0
        if meaning is not None and not named:
            among = self._admitted(parsed, server)
            factor = self._meaning_factor(parsed, expanded, meaning, among)
            factor *= effect_factor(self._tools[number], terms, bool(parsed.implied))
        explanation = Explanation(
            name=name,
            query=query,
            match=named.get(number),
            name_coverage=coverage(self._tools[number].tool_terms, factors, self._postings.rarity),
            contributions=tuple(sorted(parts, key=lambda part: (-part.score, part.term))),
            missing=tuple(sorted({whole.get(term, term) for term in factors.keys() - held.keys()})),
            similarity=meaning.similarities.get(name) if meaning is not None else None,
            meaning_factor=factor,
            boost=boosted,
        )
        return replace(explanation, reason=reason(explanation, self._tools[number].document, self._analyzer))

    def _whole_words(self, query: str) -> dict[str, str]:
        """Return a word for each stem: that of the query, else the shortest of all tools."""
        known = sorted((word.casefold() for word in self._analyzer), key=lambda word: (-len(word), word))
        known += map(str.casefold, words(query))
        return {terms[0]: word for word in known if len(terms := self._analyzer[word]) == 1}

    def _parsed(self, query: str) -> tuple[Query, dict[int, Match]]:
        """Return the parsed query and the tools that it names; a name may look like an operator."""
        if named := self._names.matches(query[:LONGEST_QUERY]):
            return plain(query), named
        parsed = parse(query)
        return parsed, self._names.matches(parsed.text)

    def _admitted(self, parsed: Query, server: str | None) -> set[int] | None:
        """Return the tools that the query and the caller admit; None means all."""
        admitted: list[set[int]] = []
        if server is not None:
            admitted.append(self._tools_of(server))
        if servers := [tools for name in parsed.servers if (tools := self._tools_of(name))]:
            admitted.append(set().union(*servers))
        exact = [self._postings.holders(term) for text in parsed.exact for term in self._analyzer.terms(words(text))]
        if exact and (holders := set.intersection(*exact)):
            admitted.append(holders)
        excluded = [self._postings.holders(self._analyzer[word][-1]) for word in parsed.without]
        if not admitted and not excluded:
            return None
        tools = set.intersection(*admitted) if admitted else set(self._tools)
        return tools.difference(*excluded)

    def _fits(self, parsed: Query, expanded: Expanded, best: _SortKey, meaning: Meaning | None) -> bool:
        score, _, _, effect, name, number = best
        if -score >= _NAMED:
            return True
        least = _FITS if meaning is None else _FITS_COMPARED - meaning.similarities.get(name, 0.0)
        information = expanded.information or 1.0
        if -score < least * math.sqrt(information * min(information, self._postings.rarity(""))):
            return False
        # A destructive tool must also work on the right thing: deleting notes does not fit "delete a file".
        held = self._postings.weights(number)
        return effect is not Effect.DESTROYS or self._expansion.covered_share(parsed.words, held) > _DESTRUCTIVE_FITS

    def _scores(self, parsed: Query, expanded: Expanded, among: set[int] | None, pool: int) -> Scores:
        hints = self._expansion.hints(parsed.implied, parsed.words) if parsed.implied else None
        scores = self._scored(expanded.factors, hints, among, pool)
        best = max(scores.values(), default=0.0)
        for clause in parsed.clauses:
            found = self._scored(self._expansion.expand(clause).factors, None, among, POOL)
            top = max(found.values(), default=1.0)
            for number, score in found.items():
                # Squared: only the best tools of a clause gain much (without the square, -.001).
                scores[number] = scores.get(number, 0.0) + _CLAUSE * best * (score / top) ** 2
        return scores

    def _add_similarities(
        self,
        scores: Scores,
        parsed: Query,
        expanded: Expanded,
        among: set[int] | None,
        meaning: Meaning,
        factor: float,
    ) -> None:
        """Add the similarity of meaning to the scores, and the most similar tools that the words did not find."""
        if not factor:
            return
        for number in self._similar(meaning, among):
            scores.setdefault(number, 0.0)
        names = {number: self._tools[number].document.name for number in scores}
        similarities = completed(meaning.similarities, names.values())
        terms = frozenset(expanded.factors)
        for number in scores:
            share = effect_factor(self._tools[number], terms, bool(parsed.implied))
            scores[number] += factor * share * max(similarities[names[number]], 0.0)

    def _meaning_factor(self, parsed: Query, expanded: Expanded, meaning: Meaning, among: set[int] | None) -> float:
        """Return the score of a similarity of 1; without known words, any score above 0 gives the same order."""
        count = len(self._tools if among is None else among)
        foreign = self._expansion.foreign_share(parsed.words)
        return weight(parsed, meaning, count, foreign) * (expanded.information or 1.0)

    def _similar(self, meaning: Meaning, among: set[int] | None) -> Iterator[int]:
        """Yield the most similar tools; only the similarities of admitted tools are compared here, which are few."""
        if among is None:
            nearest: Iterable[str] = meaning.nearest[:POOL]
        else:
            admitted = {self._tools[number].document.name for number in among}
            known = ((meaning.similarities[name], name) for name in admitted if name in meaning.similarities)
            nearest = [name for _, name in heapq.nlargest(POOL, known)]
        for name in nearest:
            if meaning.similarities.get(name, 0.0) >= LEAST:
                yield from (number for number in self._numbers(name) if among is None or number in among)

    def _scored(self, factors: Terms, hints: Terms | None, among: set[int] | None, pool: int) -> Scores:
        """Return the scores of the best tools for some terms; for a question, hints change their order."""
        scores = self._postings.best(factors, pool, among)
        wanted = {**(hints or {}), **factors}
        for term, hint in (hints or {}).items():
            for number in scores:
                scores[number] += hint * self._postings.weights(number).get(term, 0.0)
        rarity = cache(self._postings.rarity)
        for number in scores:
            scores[number] *= boost(self._tools[number], wanted, hints is not None, rarity)
        return scores

    def _fields_with(self, number: int, term: str) -> tuple[str, ...]:
        document = self._tools[number].document
        texts = (*tool_texts(document), *server_texts(document))
        return tuple(field.label for field, text in texts if term in self._analyzer.terms(words(text)))
