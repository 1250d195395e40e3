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


class WordListError(ValueError):
    """A line of a word list that is not in its format."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"search_mcp/search/data/{file}, line {line}: {problem}")


@cache
def synonyms() -> Mapping[str, tuple[str, ...]]:
    """Return the stems that each stem suggests."""
    related: dict[str, dict[str, None]] = {}
    for _, line in lines(read(SYNONYMS)):
        stems = [stem(word) for word in line.split()]
        for word in stems:
            related.setdefault(word, {}).update(dict.fromkeys(other for other in stems if other != word))
    return MappingProxyType({word: tuple(others) for word, others in related.items()})


@cache
def fillers() -> frozenset[str]:
    """Return the words that carry a request and do not name its subject, casefolded."""
    return frozenset(word for _, line in lines(read(FILLERS)) for word in line.split())


@cache
def filler_phrases() -> re.Pattern[str]:
    """Return a pattern that finds the phrases that say nothing about the subject of a request."""
    phrases = "|".join(re.escape(line) for _, line in lines(read(FILLER_PHRASES)))
    return re.compile(rf"\b(?:{phrases})\b", re.IGNORECASE)


@cache
def questions() -> Mapping[str, tuple[str, ...]]:
    """Return the words that each beginning of a question implies."""
    return MappingProxyType(dict(implications(QUESTIONS, read(QUESTIONS))))


def translations(file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the English words of `EUROPEAN` or `EAST_ASIAN`, each with the words of other languages for it."""
    yield from entries(file, read(file))


def read(file: str) -> str:
    """Return the text of a word list, also where the package is imported from a zip file."""
    return files("search_mcp.search").joinpath("data", file).read_text("utf-8")


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor comments, with their numbers, counted from 1."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def entries(file: str, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the pairs of a list whose lines are a word and the words that belong to it.

    Raises:
        WordListError: a line has only one word.
    """
    for number, line in lines(text):
        word, *others = line.split()
        if not others:
            raise WordListError(file, number, f"expected other words after {word!r}")
        yield word, others


def implications(file: str, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the pairs of a list whose lines are `beginning: implied words`.

    Raises:
        WordListError: a line has no colon, or nothing on one side of it.
    """
    for number, line in lines(text):
        beginning, _, implied = line.partition(":")
        if not (beginning.strip() and implied.strip()):
            raise WordListError(file, number, f"expected 'beginning: implied words', not {line!r}")
        yield beginning.strip(), tuple(implied.split())
