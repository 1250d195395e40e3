"""From the words of a query to weighted terms: themselves, their synonyms, what mistyped or foreign ones meant.

The weights say how sure we are that a term is what was asked for; 1 is the word itself. Rarity is not its business.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from search_mcp.search import translations
from search_mcp.search.analysis import Analyzer, is_spaceless
from search_mcp.search.postings import Postings, Terms
from search_mcp.search.spelling import Spelling
from search_mcp.search.stems import stem
from search_mcp.search.word_lists import fillers, synonyms

# nDCG@10 in brackets: what leaving it out costs on the average of all development data.
_SYNONYM = 0.4  # weight of a synonym in a terse query (-.022; -.085 on queries of a few keywords)
_TERSE = 6  # words; the longer a request, the less its synonyms weigh: it says things twice itself (-.010 on long ones)
# Factor on that for a word that no tool has, except in long requests (-.0002; hit@5 -.014 on colloquial requests).
_INSTEAD = 2.0
_CORRECTED = 0.8  # weight of a word one edit away, halved for two (-.032; -.118 where something is mistyped)
# Weight of what a word says in English if no tool has the word (-.002; -.31 on queries in other languages for tools in
# English). If some tool has it, that of a synonym.
_TRANSLATED = 0.8
_COMPOUND = 0.5  # weight of two words as one (-.002)
_COMPOUNDED = 20  # words of a query tried in pairs; more gain nothing
_UNKNOWN = 0.3  # share of its rarity that a word counts which no tool and not the thesaurus has: often a name or value
_JUDGED = 40  # words of a query compared with a destructive tool
_MOST_TERMS = 400  # looked up for one query, synonyms aside


class Expanded(NamedTuple):
    """Terms to look for, and the information of the query."""

    factors: dict[str, float]
    information: float  # sum of the words' rarities: about the score of a tool that covers all of them


def _synonym(words: Sequence[str]) -> float:
    return _SYNONYM * min(1.0, _TERSE / max(len(words), 1))


class Expansion:
    """Turns words into terms for one catalogue."""

    def __init__(self, analyzer: Analyzer, postings: Postings, spelling: Spelling) -> None:
        self._analyzer = analyzer
        self._postings = postings
        self._spelling = spelling

    def expand(self, words: Sequence[str]) -> Expanded:
        """Return the terms to look for, each with certainty * rarity, and the information of the words."""
        factors: dict[str, float] = {}
        seen: set[str] = set()
        pieces: dict[str, tuple[str, ...]] = {}
        synonym = _synonym(words)
        information = spaceless = 0.0
        for word in words:
            terms = self._query_terms(word)
            for term in terms:
                if term not in seen and len(seen) < _MOST_TERMS:
                    seen.add(term)
                    said = 0.0
                    for known, certainty in self._readings(term, word if len(terms) == 1 else term):
                        said = max(said, self._add(factors, known, certainty, synonym))
                    if said:
                        information += said
                    elif is_spaceless(term):
                        spaceless += _UNKNOWN * self._postings.rarity(term)
                    else:
                        information += _UNKNOWN * self._postings.rarity(term)
            if not word.isascii():
                pieces.update(translations.within(word))
        # Characters unknown to the catalogue carry no information of their own if they form known words.
        information += self._add_meanings(factors, pieces, synonym) if pieces else spaceless
        for one, other in pairwise(words[:_COMPOUNDED]):
            self._add_compound(factors, one, other)
        return Expanded(factors, information)

    def hints(self, implied: Sequence[str], words: Sequence[str]) -> dict[str, float]:
        """Return terms that rank what the words find and find nothing themselves; they weigh as much as synonyms."""
        known = (term for term in map(stem, implied) if term in self._postings)
        return {term: _synonym(words) * self._postings.rarity(term) for term in known}

    def held_share(self, words: Sequence[str], held: Terms) -> float:
        """Return the share of the words that these terms or their synonyms cover, without names and values."""
        known = met = 0
        for word in words[:_JUDGED]:
            terms = self._query_terms(word)
            read = {r for term in terms for r, _ in self._readings(term, word if len(terms) == 1 else term)}
            known += bool(read)
            met += any(r in held or not held.keys().isdisjoint(synonyms().get(r, ())) for r in read)
        return met / known if known else 1.0

    def _query_terms(self, word: str) -> tuple[str, ...]:
        terms = self._analyzer[word]
        if len(terms) > 1 and not is_spaceless(terms[0]) and terms[-1] not in self._postings:
            return terms[:-1]  # "readFile" where nothing is called so: its parts only
        return terms

    def _add(self, factors: dict[str, float], term: str, certainty: float, synonym: float) -> float:
        """Add a term and its synonyms; return how rare the term is."""
        rarity = self._postings.rarity(term)
        factors[term] = factors.get(term, 0.0) + certainty * rarity
        if term not in self._postings:
            synonym *= max(1.0, _INSTEAD * synonym / _SYNONYM)
        for other in synonyms().get(term, ()):
            if other in self._postings:
                weight = synonym * certainty * min(rarity, self._postings.rarity(other))
                factors[other] = factors.get(other, 0.0) + weight
        return rarity

    def _add_compound(self, factors: dict[str, float], one: str, other: str) -> None:
        """Add two neighbours written together, "time zone" as "timezone", if some tool has it so."""
        compound = stem((one + other).casefold())
        if compound in self._postings:
            parts = (compound, self._analyzer[one][-1], self._analyzer[other][-1])
            rarity = min(map(self._postings.rarity, parts))
            factors[compound] = factors.get(compound, 0.0) + _COMPOUND * rarity

    def _add_meanings(self, factors: dict[str, float], pieces: Mapping[str, Sequence[str]], synonym: float) -> float:
        """Add what pieces of text without spaces say in English, and let none count as rarer than that.

        Else the few tools in the language of the query would come before all that do what it asks for.
        Returns the information of the pieces that no tool has as written.
        """
        meanings: dict[str, float] = {}
        information = 0.0
        for piece, english in pieces.items():
            own = self._analyzer[piece]
            rarity = self._commonest(english)
            factors.update({term: min(factors[term], rarity) for term in own if term in factors})
            is_said = all(term in self._postings for term in own)
            information += 0.0 if is_said else rarity
            meanings |= dict.fromkeys(english, _SYNONYM if is_said else _TRANSLATED)
        for meaning, certainty in meanings.items():
            self._add(factors, meaning, certainty, synonym)
        return information

    def _commonest(self, english: Sequence[str]) -> float:
        return min(map(self._postings.rarity, english))

    def _readings(self, term: str, written: str) -> Iterator[tuple[str, float]]:
        """Yield what a term may mean, with the certainty. A word the thesaurus has is spelt right."""
        if term in self._postings or term in synonyms():
            yield term, 1.0
            return
        if english := translations.of_term(term):
            yield from ((meaning, _TRANSLATED) for meaning in english)
            return
        meant, edits = self._spelling.nearest(written.casefold())
        if fillers().isdisjoint(meant):
            for known in dict.fromkeys(self._analyzer[word][-1] for word in meant):
                yield known, _CORRECTED / max(edits, 1)
