"""The word lists of the search: the text files in `data/`, read by the first query that needs them.

In these files `#` begins a comment line and blank lines mean nothing. Knows their format, and no query or catalogue.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from search_mcp.search.stems import stem

SYNONYMS = "synonyms.txt"
FILLERS = "fillers.txt"
FILLER_PHRASES = "filler-phrases.txt"
QUESTIONS = "questions.txt"
EUROPEAN = "translations-european.txt"
EAST_ASIAN = "translations-east-asian.txt"


@cache
def synonyms() -> Mapping[str, tuple[str, ...]]:
    """Return the stems that each stem suggests."""
    related: dict[str, dict[str, None]] = {}
    for line in lines(SYNONYMS):
        stems = [stem(word) for word in line.split()]
        for word in stems:
            related.setdefault(word, {}).update(dict.fromkeys(other for other in stems if other != word))
    return MappingProxyType({word: tuple(others) for word, others in related.items()})


@cache
def fillers() -> frozenset[str]:
    """Return the words that carry a request and do not name its subject, casefolded."""
    return frozenset(word for line in lines(FILLERS) for word in line.split())


@cache
def filler_phrases() -> re.Pattern[str]:
    """Return a pattern that finds the phrases that say nothing about the subject of a request."""
    phrases = "|".join(map(re.escape, lines(FILLER_PHRASES)))
    return re.compile(rf"\b(?:{phrases})\b", re.IGNORECASE)


@cache
def questions() -> Mapping[str, tuple[str, ...]]:
    """Return the words that each beginning of a question implies; a line is `beginning, beginning: implied words`."""
    pairs = (line.split(": ") for line in lines(QUESTIONS))
    return MappingProxyType({each: tuple(implied.split()) for some, implied in pairs for each in some.split(", ")})


def translations(file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the English words of `EUROPEAN` or `EAST_ASIAN`, each with the words of other languages for it."""
    for line in lines(file):
        english, *others = line.split()
        yield english, others


def lines(file: str) -> Iterator[str]:
    """Yield the lines of a word list that are neither blank nor comments."""
    return (line for line in read(file).splitlines() if line and not line.startswith("#"))


def read(file: str) -> str:
    """Return the text of a word list, also where the package is imported from a zip file."""
    return files("search_mcp.search").joinpath("data", file).read_text("utf-8")
