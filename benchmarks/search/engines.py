"""The compared search engines: each is built from the tools of a catalogue and returns canonical names for a query.

Every engine gets the same mappings. Engines for a single text get the same parts as FastMCP's: name, description, names
and descriptions of the parameters. An engine whose library is not installed is left out.
"""

import heapq
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rapidfuzz import fuzz, process, utils

from search_mcp import search

Tool = Mapping[str, Any]
Searcher = Callable[[str, int], Sequence[str]]
Build = Callable[[Sequence[Tool]], Searcher]

_WORD = re.compile(r"[^\W_]+")


def name(tool: Tool) -> str:
    return f"{tool['server']}.{tool['tool']}"


def ours(tools: Sequence[Tool]) -> Searcher:
    """Search with search-mcp."""
    searcher = search.build(tools)
    return lambda query, limit: [found for found, _ in searcher(query, limit)]


def fastmcp(tools: Sequence[Tool]) -> Searcher:
    """Search with FastMCP's index of its own text for each tool, under the names of a mounted server."""
    text_of = import_module("fastmcp.server.transforms.search.base")._extract_searchable_text  # noqa: SLF001
    tool_of = import_module("fastmcp.tools.base").Tool.model_construct
    names = list(map(name, tools))
    texts = [
        text_of(
            tool_of(
                name=f"{tool['server']}_{tool['tool']}",
                description=tool.get("description"),
                parameters=tool.get("inputSchema") or {},
            )
        )
        for tool in tools
    ]
    index = import_module("fastmcp.server.transforms.search.bm25")._BM25Index()  # noqa: SLF001 (it has no other)
    index.build(texts)
    return lambda query, limit: [names[number] for number in index.query(query, limit)]


def bm25(tools: Sequence[Tool]) -> Searcher:
    """Search with textbook Okapi BM25, over words split at everything but letters and digits."""
    names = list(map(name, tools))
    counts = [Counter(_words(_text(tool))) for tool in tools]
    lengths = [sum(count.values()) for count in counts]
    usual = sum(lengths) / max(len(lengths), 1)
    postings: dict[str, list[tuple[int, int]]] = {}
    for number, count in enumerate(counts):
        for word, times in count.items():
            postings.setdefault(word, []).append((number, times))

    def find(query: str, limit: int) -> list[str]:
        scores: Counter[int] = Counter()
        for word in _words(query):
            holders = postings.get(word, [])
            rarity = math.log1p((len(names) - len(holders) + 0.5) / (len(holders) + 0.5))
            for number, times in holders:
                scores[number] += rarity * times * 2.5 / (times + 1.5 * (0.25 + 0.75 * lengths[number] / usual))
        return _best(scores, names, limit)

    return find


def fts5(tools: Sequence[Tool]) -> Searcher:
    """Search with SQLite's full-text search and porter stemming: match any word, rank by bm25()."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE tools USING fts5(id UNINDEXED, name, description, parameters, tokenize='porter')"
    )
    rows = ((name(tool), _name(tool), tool.get("description") or "", _parameters(tool)) for tool in tools)
    database.executemany("INSERT INTO tools VALUES (?, ?, ?, ?)", rows)
    database.commit()

    def find(query: str, limit: int) -> list[str]:
        words = dict.fromkeys(_words(query))
        if not words:
            return []
        asked = " OR ".join(f'"{word}"' for word in words)
        found = database.execute("SELECT id FROM tools WHERE tools MATCH ? ORDER BY rank LIMIT ?", (asked, limit))
        return [row[0] for row in found]

    return find


def substring(tools: Sequence[Tool]) -> Searcher:
    """Rank by the number of the query's words in the name or the description, as most aggregators do."""
    names = list(map(name, tools))
    texts = [f"{_name(tool)} {tool.get('description') or ''}".casefold() for tool in tools]

    def find(query: str, limit: int) -> list[str]:
        words = query.casefold().split()
        scores = {number: sum(word in text for word in words) for number, text in enumerate(texts)}
        return _best({number: score for number, score in scores.items() if score}, names, limit)

    return find


def wratio(tools: Sequence[Tool]) -> Searcher:
    """Rank by rapidfuzz's WRatio of the query and "name description"."""
    names = list(map(name, tools))
    texts = [utils.default_process(f"{_name(tool)} {tool.get('description') or ''}") for tool in tools]

    def find(query: str, limit: int) -> list[str]:
        found = process.extract(utils.default_process(query), texts, scorer=fuzz.WRatio, limit=limit)
        return [names[number] for _, score, number in found if score]

    return find


def _name(tool: Tool) -> str:
    return f"{tool['server']} {tool['tool']}"


def _text(tool: Tool) -> str:
    return f"{_name(tool)} {tool.get('description') or ''} {_parameters(tool)}"


def _parameters(tool: Tool) -> str:
    properties = (tool.get("inputSchema") or {}).get("properties") or {}
    described = (
        (key, value.get("description") if isinstance(value, dict) else "") for key, value in properties.items()
    )
    return " ".join(f"{key} {text or ''}" for key, text in described)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _best(scores: Mapping[int, float], names: Sequence[str], limit: int) -> list[str]:
    best = heapq.nsmallest(limit, scores.items(), key=lambda item: (-item[1], names[item[0]]))
    return [names[number] for number, _ in best]


ENGINES: dict[str, Build] = {
    "search-mcp": ours,
    **({"FastMCP BM25": fastmcp} if find_spec("fastmcp") else {}),
    "plain BM25": bm25,
    "SQLite FTS5": fts5,
    "substring": substring,
    "rapidfuzz WRatio": wratio,
}
