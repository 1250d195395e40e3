"""English terms for common words of other languages: a Korean or Spanish query finds tools described in English.

Two word lists and no grammar. Knows nothing of any catalogue.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from search_mcp.search import word_lists
from search_mcp.search.analysis import LONGEST_WORD, word_terms
from search_mcp.search.stems import stem

_Entries = Mapping[str, tuple[str, ...]]
_SHORTEST_BEGINNING = 3  # letters


class _Dictionary(NamedTuple):
    """English terms by the term of a word, by the beginning of a term, and by a piece of a text without spaces."""

    words: _Entries
    beginnings: _Entries
    pieces: _Entries
    longest_piece: int  # characters


def of_term(term: str) -> tuple[str, ...]:
    """Return the English terms for a term of a language with spaces; empty if it is in no word list."""
    dictionary = _dictionary()
    if term in dictionary.words:
        return dictionary.words[term]
    lengths = range(len(term), _SHORTEST_BEGINNING - 1, -1)
    return next((dictionary.beginnings[term[:n]] for n in lengths if term[:n] in dictionary.beginnings), ())


def within(word: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the known words in a text without spaces, the longest at each place, with their English terms."""
    dictionary = _dictionary()
    text = word[:LONGEST_WORD].casefold()
    start = 0
    while start < len(text):
        lengths = range(min(dictionary.longest_piece, len(text) - start), 0, -1)
        found = next((n for n in lengths if text[start : start + n] in dictionary.pieces), 0)
        if found:
            piece = text[start : start + found]
            yield piece, dictionary.pieces[piece]
        start += found or 1


@cache
def _dictionary() -> _Dictionary:
    spaced, pieces = tuple(_pairs(word_lists.EUROPEAN)), _gathered(_pairs(word_lists.EAST_ASIAN))
    return _Dictionary(
        words=_gathered((word_terms(word)[-1], english) for word, english in spaced if not word.endswith("-")),
        beginnings=_gathered((word_terms(word[:-1])[-1], english) for word, english in spaced if word.endswith("-")),
        pieces=pieces,
        longest_piece=max(map(len, pieces)),
    )


def _pairs(file: str) -> Iterator[tuple[str, str]]:
    """Yield each word of a word list with its English term."""
    for english, others in word_lists.translations(file):
        yield from ((other, stem(english)) for other in others)


def _gathered(pairs: Iterable[tuple[str, str]]) -> _Entries:
    entries: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for word, english in pairs:
        entries[word] += (english,)
    return MappingProxyType(entries)
