"""What a query says: which words to look for, which servers to look in, what to leave out.

    server:github open issues     only tools of the server "github"
    "pull request" list           tools that hold these very words, if there are any
    read file -directory          no tool that holds "directory"

Operators are for short queries. A long request is prose: its quotes hold values and its dashes are dashes. Knows no
catalogue: whether a server or a word exists is for others to say.
"""

import re
from dataclasses import dataclass

from search_mcp.search.analysis import normalize, words
from search_mcp.search.fillers import FILLERS

LONGEST_QUERY = 4_000  # characters read; a long request has some 800
MOST_WORDS = 160  # words searched; the longest requests people type have about 120
_PROSE_FROM = 14  # words; shorter texts may hold operators
_CLAUSES_FROM = 30  # words from which a request is taken to ask for several things
_MOST_CLAUSES = 12
_SHORTEST_CLAUSE = 3  # words

_OPERATOR = re.compile(
    r'(?<!\S)(?:server:(?P<server>"[^"]*"|\S+)|"(?P<exact>[^"]+)"|-(?P<without>[^\W\d]\w*))(?!\S)', re.IGNORECASE
)
_CLAUSE_END = re.compile(
    r"[.!?;]+\s+|[。！？；]|\n+|,\s+(?:and|then|also)\s+|\s+(?:and then|then|and also|also)\s+", re.IGNORECASE
)


@dataclass(frozen=True)
class Query:
    """A query, taken apart."""

    text: str  # without operators
    words: tuple[str, ...]  # as written, without fillers
    servers: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def clauses(self) -> list[tuple[str, ...]]:
        """The parts of a long request, each on its own; none if it is short."""
        if len(self.text.split()) < _CLAUSES_FROM:
            return []
        parts = [
            part for part in _CLAUSE_END.split(self.text) if part and len(part.split()) >= _SHORTEST_CLAUSE
        ]
        return [subject_words(part) for part in parts[:_MOST_CLAUSES]] if len(parts) > 1 else []


def parse(text: str) -> Query:
    """Take a query apart."""
    text = normalize(text[:LONGEST_QUERY])[:LONGEST_QUERY]
    if len(text.split()) >= _PROSE_FROM:
        return Query(text, subject_words(text))
    found: dict[str, list[str]] = {"server": [], "exact": [], "without": []}

    def take(match: re.Match[str]) -> str:
        kind = str(match.lastgroup)
        found[kind].append(match[kind].strip('"'))
        return f" {match[kind]} " if kind == "exact" else " "

    text = _OPERATOR.sub(take, text)
    return Query(
        text, subject_words(text), tuple(found["server"]), tuple(found["exact"]), tuple(found["without"])
    )


def subject_words(text: str) -> tuple[str, ...]:
    """Return the words that say what is asked for; if there are none, all."""
    every = words(text)[:MOST_WORDS]
    telling = tuple(word for word in every if word.casefold() not in FILLERS)
    return telling or tuple(every)
