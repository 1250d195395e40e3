"""The search with a sentence model, the model alone, and both by reciprocal rank.

    python benchmarks/search/run.py --quality --model MODEL
    python evaluate.py --engine search_mcp.semantic:build_with_model     with the model that `semantic setup` installed

The vectors stay in the folder of the model, so only the first run takes minutes.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from engines import Build, Searcher, Tool, name, ours

from search_mcp import search
from search_mcp.semantic import in_process
from search_mcp.semantic.encoder import loaded
from search_mcp.semantic.encoding import TextEncoder

_RANKS = 60  # the usual constant of reciprocal rank fusion
_POOL = 100  # results of each half that are fused


@cache
def _encoder(folder: Path) -> TextEncoder:
    return loaded(folder)


def comparing(folder: Path) -> Callable[[Sequence[str]], search.Compare]:
    """Return the function that `search.build_hybrid` needs, for the model in a folder."""
    return in_process.comparing(_encoder(folder), folder / "vectors.sqlite3")


def hybrid(folder: Path) -> Build:
    """Search by words and by meaning."""

    def built(tools: Sequence[Tool]) -> Searcher:
        searcher = search.build_hybrid(
            tools, comparing(folder), knows_all_languages=_encoder(folder).knows_all_languages
        )
        return lambda query, limit: [found for found, _ in searcher(query, limit)]

    return built


def alone(folder: Path) -> Build:
    """Rank by similarity of meaning only."""

    def built(tools: Sequence[Tool]) -> Searcher:
        compare = comparing(folder)(search.texts_of(tools))
        names = list(map(name, tools))

        def find(query: str, limit: int) -> list[str]:
            found = sorted(zip(compare(query), names, strict=True), key=lambda pair: (-pair[0], pair[1]))
            return list(dict.fromkeys(each for _, each in found))[:limit]

        return find

    return built


def reciprocal(folder: Path) -> Build:
    """Fuse both by reciprocal rank."""

    def built(tools: Sequence[Tool]) -> Searcher:
        halves = ours(tools), alone(folder)(tools)

        def find(query: str, limit: int) -> list[str]:
            scores: dict[str, float] = {}
            for half in halves:
                for rank, found in enumerate(half(query, _POOL)):
                    scores[found] = scores.get(found, 0.0) + 1 / (_RANKS + rank)
            return sorted(scores, key=lambda found: (-scores[found], found))[:limit]

        return find

    return built


def engines_with(folder: Path) -> dict[str, Build]:
    """Return the engines that use a model, by name."""
    return {"with a model": hybrid(folder), "model alone": alone(folder), "reciprocal rank": reciprocal(folder)}
