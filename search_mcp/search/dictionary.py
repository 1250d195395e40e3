"""What words of other languages say in English: a query in Korean or Spanish finds what is described in English.

Two tables of common words and no grammar. Knows nothing of any catalogue.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from search_mcp.search.analysis import LONGEST_WORD, word_terms
from search_mcp.search.stems import stem
from search_mcp.search.translations import WITH_SPACES, WITHOUT_SPACES

_Entries = Mapping[str, tuple[str, ...]]
_SHORTEST_BEGINNING = 3  # letters


class _Dictionary(NamedTuple):
    """The English terms of words that stand alone, of beginnings, and of what stands within a text without spaces."""

    whole: _Entries
    beginnings: _Entries
    within: _Entries
    longest_within: int  # characters


def of_term(term: str) -> tuple[str, ...]:
    """Return the English terms for one term of a language with spaces, none for a word that is not in the table."""
    dictionary = _dictionary()
    if term in dictionary.whole:
        return dictionary.whole[term]
    lengths = range(len(term), _SHORTEST_BEGINNING - 1, -1)
    return next((dictionary.beginnings[term[:n]] for n in lengths if term[:n] in dictionary.beginnings), ())


def within(word: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the known words in a text without spaces, the longest at each place, with the English terms for them."""
    dictionary = _dictionary()
    text = word[:LONGEST_WORD].casefold()
    start = 0
    while start < len(text):
        lengths = range(min(dictionary.longest_within, len(text) - start), 0, -1)
        found = next((n for n in lengths if text[start : start + n] in dictionary.within), 0)
        if found:
            piece = text[start : start + found]
            yield piece, dictionary.within[piece]
        start += found or 1


@cache
def _dictionary() -> _Dictionary:
    """Read the tables, for the first query that needs them and not for every start."""
    spaced, spaceless = tuple(_pairs(WITH_SPACES)), _gathered(_pairs(WITHOUT_SPACES))
    return _Dictionary(
        whole=_gathered((word_terms(word)[-1], english) for word, english in spaced if not word.endswith("-")),
        beginnings=_gathered((word_terms(word[:-1])[-1], english) for word, english in spaced if word.endswith("-")),
        within=spaceless,
        longest_within=max(map(len, spaceless)),
    )


def _pairs(table: str) -> Iterator[tuple[str, str]]:
    """Yield each word of a table with the English term of its line."""
    for line in table.splitlines():
        if line and not line.startswith("#"):
            english, *others = line.split()
            yield from ((other, stem(english)) for other in others)


def _gathered(pairs: Iterable[tuple[str, str]]) -> _Entries:
    entries: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for word, english in pairs:
        entries[word] += (english,)
    return MappingProxyType(entries)
