"""The search by words and meaning in one process, for evaluations: `serve` has a process of its own for the vectors."""

import logging
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from search_mcp import search
from search_mcp.folders import model_folder, vectors_file
from search_mcp.search.negation import without_negated
from search_mcp.semantic.comparison import Comparison
from search_mcp.semantic.encoder import loaded
from search_mcp.semantic.encoding import TextEncoder
from search_mcp.semantic.lines import Query
from search_mcp.semantic.models import ModelError
from search_mcp.semantic.vector_store import VectorStore

log = logging.getLogger(__name__)


def built(tools: Sequence[Mapping[str, Any]]) -> search.Searcher:
    """Index tools by words and by the installed model; by words without one, with a warning."""
    try:
        encoder = loaded(model_folder())
    except ModelError as exc:
        log.warning("tools are ranked by words alone: %s", exc)
        return search.build(tools)
    compare = comparing(encoder, vectors_file())
    return search.build_hybrid(tools, compare, knows_all_languages=encoder.knows_all_languages)


def comparing(encoder: TextEncoder, file: Path) -> Callable[[Sequence[str]], search.Compare]:
    """Return the function that `search.build_hybrid` needs; the vectors of texts stay in a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    store = VectorStore(file, encoder.identity)

    def compare_with(texts: Sequence[str]) -> search.Compare:
        comparison = Comparison(encoder, store, file.with_name(f"{file.name}.lock"))
        comparison.use(0, texts)
        while not comparison.is_complete:
            if (make := comparison.begin()) is not None:
                comparison.finish(make())
        return lambda query: array("f", comparison.compare(Query(0, 0, without_negated(query), 0)).similarities)

    return compare_with
