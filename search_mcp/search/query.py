"""Parser of queries: words to look for, servers to look in, words to exclude.

    server:github open issues     only tools of the server "github"
    "pull request" list           only tools that contain all of these words, if there are any
    read file -directory          no tool that contains "directory"

Only short queries have operators. A long request is prose: its quotes enclose values and its dashes are dashes. Knows
no catalogue, and so not whether a server or a word exists.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from search_mcp.search.analysis import is_spaceless, length, normalize, words
from search_mcp.search.negation import without_negated
from search_mcp.search.word_lists import filler_phrases, fillers, questions

LONGEST_QUERY = 4_000  # characters read; long requests have about 800
MOST_WORDS = 160  # words searched, without fillers; long requests have about 60
_SHORT = 6  # words; in longer requests less counts
_PROSE_FROM = 14  # words; shorter texts may contain operators
_CLAUSES_FROM = 30  # words; a request this long may ask for several things. 20 is no better
_MOST_CLAUSES = 12
_SHORTEST_CLAUSE = 3  # words

_OPERATOR = re.compile(
    r"""(?<!\S)(?: server:(?P<server>"[^"]*"|\S+) | "(?P<exact>[^"]+)" | -(?P<without>[^\W\d]\w*) )(?!\S)""",
    re.IGNORECASE | re.VERBOSE,
)
_OPENING = re.compile(r"\W*((\w+)(?:[ -]\w+)?)")
_CLAUSE_END = re.compile(
    r"""[.!?;]\s+ | [。！？；] | \n+
    | ,\s+(?:and|then|also)\s+ | (?<![^\S\n])[^\S\n]++(?:and\ then|then|and\ also|also)\s+
    | [,，、](?=然后|接着|再|并|同时|最后|另外|次に|その後|そして|また)""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class Query:
    """A parsed query."""

    text: str  # without operators
    words: tuple[str, ...]  # to look for, as written
    clauses: tuple[tuple[str, ...], ...] = ()  # the words of each part, if the request is long
    implied: tuple[str, ...] = ()  # words that a question implies
    servers: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def plain(text: str) -> Query:
    """Parse a query as words only."""
    text = normalize(text[:LONGEST_QUERY])[:LONGEST_QUERY]
    return Query(text, _subject(text), _clauses(text), _implied(text))


def parse(text: str) -> Query:
    """Parse a query with its operators."""
    text = normalize(text[:LONGEST_QUERY])[:LONGEST_QUERY]
    if length(text) >= _PROSE_FROM:
        return plain(text)
    found: dict[str, list[str]] = {"server": [], "exact": [], "without": []}

    def take(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        found[kind].append(match[kind].strip('"'))
        return f" {match[kind]} " if kind == "exact" else " "

    rest = _OPERATOR.sub(take, text).strip()
    # A server's name is also a word: if no server has this name, it may be a subject, or mistyped.
    sought = _subject(f"{' '.join(found['server'])} {rest}")
    return Query(
        rest, sought, (), _implied(rest), tuple(found["server"]), tuple(found["exact"]), tuple(found["without"])
    )


def brevity(words: Sequence[str]) -> float:
    """Return a factor for what counts less in longer requests: 1 for a short one."""
    return min(1.0, _SHORT / max(len(words), 1))


def _clauses(text: str) -> tuple[tuple[str, ...], ...]:
    if length(text) < _CLAUSES_FROM:
        return ()
    parts = [part for part in _CLAUSE_END.split(text) if length(part) >= _SHORTEST_CLAUSE]
    return tuple(map(_subject, parts[:_MOST_CLAUSES])) if len(parts) > 1 else ()


def _implied(text: str) -> tuple[str, ...]:
    opening = _OPENING.match(text.lower())
    starts = (opening[1], opening[2]) if opening else ()
    inside = (word for word in questions() if is_spaceless(word) and word in text) if not text.isascii() else ()
    return next((questions()[word] for word in chain(starts, inside) if word in questions()), ())


def _subject(text: str) -> tuple[str, ...]:
    """Return the words without fillers and negated verbs; all words if all are fillers."""
    every = words(filler_phrases().sub(" ", without_negated(text))) or words(text)
    significant = [word for word in every if word.casefold() not in fillers()]
    return tuple((significant or every)[:MOST_WORDS])
