"""Weights of the terms of a tool: BM25F without the statistics of the catalogue.

Each field adds its weight, more if it is shorter than usual; the sum over the fields saturates at 1, however often
a term occurs. The usual length is a constant and not the average of the catalogue, so a tool's weights do not depend on
other tools, and servers are added and removed independently.
"""

from collections import Counter
from collections.abc import Iterable

from search_mcp.search.analysis import Analyzer, words
from search_mcp.search.documents import Field

_LENGTH_SHARE = 0.5  # BM25's b: how much a long field lowers its terms. Results are alike from 0.3 to 0.7

# Weights are rounded to steps, so that postings share a few number objects: half the memory traffic of a query.
_STEP_COUNT = 200
_STEPS = tuple((step + 0.5) / _STEP_COUNT for step in range(_STEP_COUNT + 1))


def weigh(texts: Iterable[tuple[Field, str]], analyzer: Analyzer, seen: set[str]) -> dict[str, float]:
    """Return the unsaturated weights of the terms of some fields; add the words as written to `seen`."""
    weights: dict[str, float] = {}
    for field, text in texts:
        written = words(text)
        seen.update(written)
        terms = analyzer.terms(written)
        dilution = 1.0 - _LENGTH_SHARE + _LENGTH_SHARE * len(terms) / field.usual_length
        share = field.weight / dilution
        for term, count in Counter(terms).items():
            weights[term] = weights.get(term, 0.0) + count * share
    return weights


def saturated(own: dict[str, float], shared: dict[str, float]) -> dict[str, float]:
    """Return the weights of a tool's terms, 0 to 1, from the unsaturated ones of the tool and of its server."""
    total = dict(shared)
    for term, weight in own.items():
        total[term] = total.get(term, 0.0) + weight
    # BM25's k1 is 1: results are alike from 0.6 to 2.
    return {term: _STEPS[int(_STEP_COUNT * weight / (1 + weight))] for term, weight in total.items()}
