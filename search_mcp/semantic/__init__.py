"""Vectors of texts: the sentence model that makes them, the file that keeps them, and the process that does both.

A vector is a list of numbers; texts with similar meanings have similar vectors. Their cosine is the measure.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search_mcp.search import Searcher


def build_with_model(tools: Iterable[Mapping[str, Any]]) -> "Searcher":
    """Index a catalogue given as mappings by words and by the installed model; by words without one, with a warning."""
    from search_mcp.semantic.in_process import built  # with the search, which most importers of this package do without

    return built(list(tools))
