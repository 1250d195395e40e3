"""Short reason why a tool was found, for a person: the words of the tool that match the query, and their places.

    create, issue in name; bug in parameters

Shorter than an `Explanation`: no numbers, and only the matches of most weight.
"""

from collections.abc import Iterator, Sequence

from search_mcp.search.analysis import LONGEST_WORD, Analyzer, is_spaceless, normalize, words
from search_mcp.search.documents import (
    DESCRIPTION,
    NAME,
    PARAMETER_TEXT,
    PARAMETERS,
    SERVER,
    SERVER_TEXT,
    SUMMARY,
    Document,
    server_texts,
    tool_texts,
)
from search_mcp.search.explanation import Contribution, Explanation
from search_mcp.search.names import Match

_MOST_WORDS = 4
_LEAST_SHARE = 0.2  # of the score of the best word; a lower score explains nothing
_PLACES = {
    NAME.label: "name",
    SUMMARY.label: "description",
    DESCRIPTION.label: "description",
    PARAMETERS.label: "parameters",
    PARAMETER_TEXT.label: "parameters",
    SERVER.label: "server",
    SERVER_TEXT.label: "server",
}


def reason(explanation: Explanation, document: Document, analyzer: Analyzer) -> str:
    """Return the reason why a query found a tool; empty if none of its words matches."""
    if explanation.match is not None and explanation.match is not Match.SERVER:
        return "its name"
    texts = {field.label: text for field, text in (*tool_texts(document), *server_texts(document))}
    found: dict[str, list[str]] = {}  # words by place, the best first
    seen = ""
    left = _MOST_WORDS
    for part in _notable(explanation.contributions):
        label = part.fields[0]
        word = _as_written(part.term, texts[label], explanation.query, analyzer)
        if left == 0 or f" {word.casefold()} " in seen or (is_spaceless(part.term) and part.term in seen):
            continue
        seen += f" {word.casefold()} "
        left -= 1
        found.setdefault(_PLACES[label], []).append(word)
    return "; ".join(f"{', '.join(each)} in {place}" for place, each in found.items())


def _notable(parts: Sequence[Contribution]) -> Iterator[Contribution]:
    """Leave out contributions with a small share of the score, and single characters where there are pairs."""
    least = max((part.score for part in parts), default=0.0) * _LEAST_SHARE
    paired = any(is_spaceless(part.term) and len(part.term) > 1 for part in parts)
    for part in parts:
        alone = is_spaceless(part.term) and len(part.term) == 1
        if part.fields and part.score >= least and not (alone and paired):
            yield part


def _as_written(term: str, text: str, query: str, analyzer: Analyzer) -> str:
    if is_spaceless(term):
        return _longest_common(term, normalize(query), normalize(text))
    return next((word[:LONGEST_WORD] for word in words(text) if term in analyzer[word]), term)


def _longest_common(pair: str, query: str, text: str) -> str:
    """Extend two characters to the longest run around them that query and text have in common."""
    start = query.find(pair)
    if start < 0:
        return pair
    end = start + len(pair)
    while end < len(query) and is_spaceless(query[end]) and query[start : end + 1] in text:
        end += 1
    while start > 0 and is_spaceless(query[start - 1]) and query[start - 1 : end] in text:
        start -= 1
    return query[start : min(end, start + LONGEST_WORD)]
