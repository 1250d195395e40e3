"""Positions in a text of the terms that matched a query, to highlight them for a person."""

import re
from collections.abc import Collection, Iterator

from search_mcp.search.analysis import PART, WORD, is_spaceless, word_terms


def spans(text: str, terms: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each match of the terms; spans may overlap."""
    spaceless = [term for term in terms if is_spaceless(term)]
    pairs = [
        term for term in spaceless if len(term) > 1
    ] or spaceless  # single characters only where there are no pairs
    for word in WORD.finditer(text):
        if any(map(is_spaceless, word[0])):
            yield from _occurrences(word, pairs)
        else:
            yield from _in_word(word, terms)


def _in_word(word: re.Match[str], terms: Collection[str]) -> Iterator[tuple[int, int]]:
    parts = [part for part in PART.finditer(word[0]) if word[0].isascii() and _has_term(part[0], terms)]
    for part in parts:
        yield word.start() + part.start(), word.start() + part.end()
    if not parts and _has_term(word[0], terms):
        yield word.span()


def _has_term(word: str, terms: Collection[str]) -> bool:
    return any(term in terms for term in word_terms(word))


def _occurrences(word: re.Match[str], pairs: Collection[str]) -> Iterator[tuple[int, int]]:
    for pair in pairs:
        for found in re.finditer(re.escape(pair), word[0], re.IGNORECASE):
            yield word.start() + found.start(), word.start() + found.end()
