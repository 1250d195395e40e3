"""Expansion of a query's words to weighted terms: the words, their synonyms, corrections and translations.

A term's factor is the certainty that it is meant (1 for the word itself) times its rarity.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from search_mcp.search import translations
from search_mcp.search.analysis import Analyzer, is_identifier, is_spaceless
from search_mcp.search.postings import Postings, Terms
from search_mcp.search.query import brevity
from search_mcp.search.spelling import Spelling
from search_mcp.search.stems import stem
from search_mcp.search.word_lists import fillers, synonyms

# In brackets: change of nDCG@10 without it, as the average over all development data.
_SYNONYM = 0.4  # certainty of a synonym in a short query (-.022; -.085 on queries of a few keywords)
# Factor for the synonyms of a word that no tool contains, except in long requests (-.0002; hit@5 -.014 on colloquial
# requests).
_MISSING_WORD = 2.0
_CORRECTED = 0.8  # certainty of a word one edit away, halved for two edits (-.032; -.118 on mistyped queries)
# Certainty of a translation to English if no tool contains the word (-.002; -.31 on queries in other languages for
# tools in English). If some tool contains the word, the certainty is that of a synonym.
_TRANSLATED = 0.8
_COMPOUND = 0.5  # certainty of two words written as one (-.002)
_UNKNOWN = 0.3  # share of its rarity that counts for a word in no tool and no word list: often a name or a value
_MOST_TERMS = 400  # terms looked up for one query, without synonyms


class Expanded(NamedTuple):
    """Terms to look for, and the information of the query's words."""

    factors: dict[str, float]
    information: float  # sum of the words' rarities: about the score of a tool that contains all of them


def _synonym_certainty(words: Sequence[str]) -> float:
    # Longer requests repeat themselves (-.010 on long ones).
    return _SYNONYM * brevity(words)


class Expansion:
    """Expands words to terms for one catalogue."""

    def __init__(self, analyzer: Analyzer, postings: Postings, spelling: Spelling) -> None:
        self._analyzer = analyzer
        self._postings = postings
        self._spelling = spelling

    def expand(self, words: Sequence[str]) -> Expanded:
        """Return the terms to look for, with their factors, and the information of the words."""
        factors: dict[str, float] = {}
        seen: set[str] = set()
        pieces: dict[str, tuple[str, ...]] = {}
        synonym = _synonym_certainty(words)
        information = spaceless = 0.0
        for word in words:
            terms = self._query_terms(word)
            for term in terms:
                if term not in seen and len(seen) < _MOST_TERMS:
                    seen.add(term)
                    rarest = 0.0
                    for meaning, certainty in self._meanings(term, word if len(terms) == 1 else term):
                        rarest = max(rarest, self._add(factors, meaning, certainty, synonym))
                    if rarest:
                        information += rarest
                    elif is_spaceless(term):
                        spaceless += _UNKNOWN * self._postings.rarity(term)
                    elif term.isalpha():  # a number, a date or an identifier has none
                        information += _UNKNOWN * self._postings.rarity(term)
            if not word.isascii():
                pieces.update(translations.within(word))
        # Characters that no tool contains have no information of their own if they form known words.
        information += self._add_pieces(factors, pieces, synonym) if pieces else spaceless
        for one, other in pairwise(words):
            self._add_compound(factors, one, other)
        return Expanded(factors, information)

    def foreign_share(self, words: Sequence[str]) -> float:
        """Return the share of the words that are not English: translated ones, and those with other letters."""
        foreign = sum(not word.isascii() or any(map(self._is_translated, self._query_terms(word))) for word in words)
        return foreign / len(words) if words else 0.0

    def hints(self, implied: Sequence[str], words: Sequence[str]) -> dict[str, float]:
        """Return terms that rank the tools found by the words and find no others; they count as much as synonyms."""
        known = (term for term in map(stem, implied) if term in self._postings)
        return {term: _synonym_certainty(words) * self._postings.rarity(term) for term in known}

    def covered_share(self, words: Sequence[str], held: Terms) -> float:
        """Return the share of the words that these terms or their synonyms cover; names and values do not count."""
        known = covered = 0
        for word in words:
            terms = self._query_terms(word)
            meanings = {m for term in terms for m, _ in self._meanings(term, word if len(terms) == 1 else term)}
            known += bool(meanings)
            covered += any(m in held or not held.keys().isdisjoint(synonyms().get(m, ())) for m in meanings)
        return covered / known if known else 1.0

    def _query_terms(self, word: str) -> tuple[str, ...]:
        terms = self._analyzer[word]
        if len(terms) > 1 and not is_spaceless(terms[0]) and terms[-1] not in self._postings:
            # "readFile" where no tool contains it: its parts only. The parts of "9f3c2ab" mean nothing.
            return terms[-1:] if is_identifier(word) else terms[:-1]
        return terms

    def _add(self, factors: dict[str, float], term: str, certainty: float, synonym: float) -> float:
        """Add a term and its synonyms; return the rarity of the term."""
        rarity = self._postings.rarity(term)
        factors[term] = factors.get(term, 0.0) + certainty * rarity
        if term not in self._postings:
            synonym *= max(1.0, _MISSING_WORD * synonym / _SYNONYM)
        for other in synonyms().get(term, ()):
            if other in self._postings:
                weight = synonym * certainty * min(rarity, self._postings.rarity(other))
                factors[other] = factors.get(other, 0.0) + weight
        return rarity

    def _add_compound(self, factors: dict[str, float], one: str, other: str) -> None:
        """Add two neighbours as one word, "time zone" as "timezone", if some tool contains it."""
        compound = stem((one + other).casefold())
        if compound in self._postings:
            parts = (compound, self._analyzer[one][-1], self._analyzer[other][-1])
            rarity = min(map(self._postings.rarity, parts))
            factors[compound] = factors.get(compound, 0.0) + _COMPOUND * rarity

    def _add_pieces(self, factors: dict[str, float], pieces: Mapping[str, Sequence[str]], synonym: float) -> float:
        """Add the English terms for pieces of text without spaces, and limit each piece to the rarity of its terms.

        Otherwise the few tools in the language of the query would rank above all others, whatever they do.
        Returns the information of the pieces that no tool contains as written.
        """
        meanings: dict[str, float] = {}
        information = 0.0
        for piece, english in pieces.items():
            own = self._analyzer[piece]
            rarity = self._commonest(english)
            factors.update({term: min(factors[term], rarity) for term in own if term in factors})
            is_contained = all(term in self._postings for term in own)
            information += 0.0 if is_contained else rarity
            meanings |= dict.fromkeys(english, _SYNONYM if is_contained else _TRANSLATED)
        for meaning, certainty in meanings.items():
            self._add(factors, meaning, certainty, synonym)
        return information

    def _commonest(self, english: Sequence[str]) -> float:
        return min(map(self._postings.rarity, english))

    def _is_translated(self, term: str) -> bool:
        return term not in self._postings and term not in synonyms() and bool(translations.of_term(term))

    def _meanings(self, term: str, written: str) -> Iterator[tuple[str, float]]:
        """Yield the terms that a term may mean, with the certainty. Words of the synonyms count as spelled right."""
        if term in self._postings or term in synonyms():
            yield term, 1.0
            return
        if english := translations.of_term(term):
            yield from ((meaning, _TRANSLATED) for meaning in english)
            return
        nearest, edits = self._spelling.nearest(written.casefold())
        if fillers().isdisjoint(nearest):
            for meaning in dict.fromkeys(self._analyzer[word][-1] for word in nearest):
                yield meaning, _CORRECTED / max(edits, 1)
