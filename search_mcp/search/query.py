"""What a query says: which words to look for, which servers to look in, what to leave out.

    server:github open issues     only tools of the server "github"
    "pull request" list           only tools that hold all of these words, if there are any
    read file -directory          no tool that holds "directory"

Operators are for short queries. A long request is prose: its quotes hold values and its dashes are dashes. Knows
no catalogue: whether a server or a word exists is for others to say.
"""

import re
from dataclasses import dataclass

from search_mcp.search.analysis import length, normalize, words
from search_mcp.search.word_lists import filler_phrases, fillers, questions

LONGEST_QUERY = 4_000  # characters read; long requests have some 800
MOST_WORDS = 160  # words searched, fillers aside; long requests have some 60
_PROSE_FROM = 14  # words; shorter texts may hold operators
_CLAUSES_FROM = 30  # words from which a request is taken to ask for several things; 20 does no better
_MOST_CLAUSES = 12
_SHORTEST_CLAUSE = 3  # words

_OPERATOR = re.compile(
    r"""(?<!\S)(?: server:(?P<server>"[^"]*"|\S+) | "(?P<exact>[^"]+)" | -(?P<without>[^\W\d]\w*) )(?!\S)""",
    re.IGNORECASE | re.VERBOSE,
)
_OPENING = re.compile(r"\W*(how \w+|\w+)", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"""[.!?;]+\s+ | [。！？；] | \n+
    | ,\s+(?:and|then|also)\s+ | \s+(?:and\ then|then|and\ also|also)\s+
    | [,，、](?=然后|接着|再|并|同时|最后|另外|次に|その後|そして|また)""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class Query:
    """A query, taken apart."""

    text: str  # without operators
    words: tuple[str, ...]  # to look for, as written
    clauses: tuple[tuple[str, ...], ...] = ()  # the words of each part, if the request is long
    implied: tuple[str, ...] = ()  # words it stands for by being a question
    servers: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def plain(text: str) -> Query:
    """Take a query as words only."""
    text = normalize(text[:LONGEST_QUERY])[:LONGEST_QUERY]
    return Query(text, _subject(text), _clauses(text), _implied(text))


def parse(text: str) -> Query:
    """Take a query apart, operators included."""
    text = normalize(text[:LONGEST_QUERY])[:LONGEST_QUERY]
    if length(text) >= _PROSE_FROM:
        return plain(text)
    found: dict[str, list[str]] = {"server": [], "exact": [], "without": []}

    def take(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        found[kind].append(match[kind].strip('"'))
        return f" {match[kind]} " if kind == "exact" else " "

    rest = _OPERATOR.sub(take, text).strip()
    # A server's name is also a word: if no server is called so, it may still be a subject, or mistyped.
    sought = _subject(f"{' '.join(found['server'])} {rest}")
    return Query(
        rest, sought, (), _implied(rest), tuple(found["server"]), tuple(found["exact"]), tuple(found["without"])
    )


def _clauses(text: str) -> tuple[tuple[str, ...], ...]:
    if length(text) < _CLAUSES_FROM:
        return ()
    parts = [part for part in _CLAUSE_END.split(text) if length(part) >= _SHORTEST_CLAUSE]
    return tuple(map(_subject, parts[:_MOST_CLAUSES])) if len(parts) > 1 else ()


def _implied(text: str) -> tuple[str, ...]:
    opening = _OPENING.match(text)
    return questions().get(opening[1].casefold(), ()) if opening else ()


def _subject(text: str) -> tuple[str, ...]:
    """Return the words that say what is asked for; if there are none, all."""
    every = words(filler_phrases().sub(" ", text)) or words(text)
    telling = [word for word in every if word.casefold() not in fillers()]
    return tuple((telling or every)[:MOST_WORDS])
