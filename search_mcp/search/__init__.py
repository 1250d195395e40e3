"""Search for tools: `Index` ranks the tools of all servers for a query. No model, no network, no randomness."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from search_mcp.search.documents import Document, Effect
from search_mcp.search.explanation import Explanation
from search_mcp.search.index import Answer, Hit, Index
from search_mcp.search.meaning import Meaning, compared, text_of

__all__ = [
    "Answer",
    "Document",
    "Effect",
    "Explanation",
    "Hit",
    "Index",
    "Meaning",
    "build",
    "build_hybrid",
    "compared",
    "text_of",
    "texts_of",
]

Searcher = Callable[[str, int], list[tuple[str, float]]]
"""Search function: (query, limit) -> [(name, score)]."""
Compare = Callable[[str], Sequence[float]]
"""Similarities of a query to texts that were given before, in their order."""


def build(tools: Iterable[Mapping[str, Any]]) -> Searcher:
    """Index a catalogue given as mappings; return its search function."""
    index = _index_of(map(_document, tools))
    return lambda query, limit: [(hit.name, hit.score) for hit in index.search(query, limit)]


def build_hybrid(
    tools: Iterable[Mapping[str, Any]],
    comparing: Callable[[Sequence[str]], Compare],
    *,
    knows_all_languages: bool = False,
) -> Searcher:
    """Index a catalogue by words and by meaning; `comparing` makes the function that compares queries with texts."""
    documents = list(map(_document, tools))
    index = _index_of(documents)
    names = [document.name for document in documents]
    compare = comparing(list(map(text_of, documents)))

    def search(query: str, limit: int) -> list[tuple[str, float]]:
        meaning = compared(dict(zip(names, compare(query), strict=True)), knows_all_languages)
        return [(hit.name, hit.score) for hit in index.answer(query, limit, meaning=meaning).hits]

    return search


def texts_of(tools: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the texts that a model compares, for tools given as mappings."""
    return [text_of(_document(tool)) for tool in tools]


def _index_of(documents: Iterable[Document]) -> Index:
    index = Index()
    by_server = sorted(documents, key=lambda document: document.server)
    for server, group in groupby(by_server, key=lambda document: document.server):
        index.add(server, group)
    return index


def _document(tool: Mapping[str, Any]) -> Document:
    return Document(
        name=f"{tool['server']}.{tool['tool']}",
        server=tool["server"],
        tool=tool["tool"],
        description=tool.get("description") or "",
        input_schema=tool.get("inputSchema"),
        server_title=tool.get("server_title") or "",
        server_description=tool.get("server_description") or "",
        category=tool.get("category") or "",
        tags=tuple(tool.get("tags") or ()),
    )
