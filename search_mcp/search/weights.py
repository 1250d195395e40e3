"""How strongly a tool speaks of each term: BM25F without the statistics of the catalogue.

A field counts by its weight and by how short it is next to its usual length; the sum over the fields saturates, so
that no term is worth more than 1 however often it is said. A usual length is a constant, not the catalogue's
average: a tool's weights never change because of other tools, and each server can come and go by itself.
"""

from collections import Counter
from collections.abc import Iterable

from search_mcp.search.analysis import Analyzer, words
from search_mcp.search.documents import Field

_SATURATION = 1.0  # BM25's k1: a sum of this much is worth half. Flat from 0.6 to 2
_LENGTH_SHARE = 0.5  # BM25's b: how far a long field dilutes what it says. Flat from 0.3 to 0.7

# Weights come in steps, so that postings share a few number objects: half the memory traffic of a query.
_FINENESS = 200
_STEPS = tuple((step + 0.5) / _FINENESS for step in range(_FINENESS + 1))


def weigh(texts: Iterable[tuple[Field, str]], analyzer: Analyzer, seen: set[str]) -> dict[str, float]:
    """Return the unsaturated weights of some fields' terms; the words as written go to `seen`."""
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
    """Return the weights, between 0 and 1, of a tool with these unsaturated weights of its own and of its server."""
    total = dict(shared)
    for term, weight in own.items():
        total[term] = total.get(term, 0.0) + weight
    return {term: _STEPS[int(_FINENESS * weight / (_SATURATION + weight))] for term, weight in total.items()}
