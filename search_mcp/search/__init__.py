"""Search for tools: `Index` ranks the tools of all servers for a query. No model, no network, no randomness."""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from search_mcp.search.documents import Document, Effect
from search_mcp.search.explanation import Explanation
from search_mcp.search.index import Answer, Hit, Index

__all__ = ["Answer", "Document", "Effect", "Explanation", "Hit", "Index", "build"]


def build(tools: Iterable[Mapping[str, Any]]) -> Callable[[str, int], list[tuple[str, float]]]:
    """Index a catalogue given as mappings; return its search function: (query, limit) -> [(name, score)]."""
    index = Index()
    documents = sorted(map(_document, tools), key=lambda document: document.server)
    for server, group in groupby(documents, key=lambda document: document.server):
        index.add(server, group)
    return lambda query, limit: [(hit.name, hit.score) for hit in index.search(query, limit)]


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
