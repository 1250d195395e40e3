"""Inverted index: weights of terms in documents, and the best documents for weighted terms.

The score of a document is the sum, over the query's terms, of the query's factor times the document's weight. Weights
are given; the rarity of a term is computed on demand, so adding or removing a document leaves the others as they are.
Must not know what a term is, nor where its weight comes from.
"""

import math
from collections.abc import Mapping

Terms = Mapping[str, float]
Scores = dict[int, float]
_Postings = dict[int, float]  # document number -> weight
_Part = tuple[float, _Postings]  # a factor and the postings that it multiplies

# Upper bounds of the tiers that weights (0 to 1) are kept in: main subject, part of the subject, mention. A query reads
# whole tiers, the heaviest first.
_TIERS = (1.0, 0.6, 0.35)

# Postings that one query reads, at about 70 ns each. A tier that exceeds the rest of the budget is only looked up for
# the best documents found so far: the others in it contain little else of the query. Catalogues of about 1,000 tools
# are read whole; at 14,000 tools an unlimited budget gains .003 nDCG@10 and doubles the time.
_BUDGET = 1_600


class Postings:
    """An inverted index in memory."""

    def __init__(self) -> None:
        self._tiers: tuple[dict[str, _Postings], ...] = tuple({} for _ in _TIERS)
        self._frequencies: dict[str, int] = {}
        self._documents: dict[int, Terms] = {}

    def __contains__(self, term: str) -> bool:
        return term in self._frequencies

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, document: int, weights: Terms) -> None:
        """Add a document."""
        self._documents[document] = weights
        frequencies = self._frequencies
        first, middle, last = self._tiers
        for term, weight in weights.items():
            tier = last if weight <= _TIERS[2] else middle if weight <= _TIERS[1] else first
            if (postings := tier.get(term)) is None:
                tier[term] = {document: weight}
            else:
                postings[document] = weight
            frequencies[term] = frequencies.get(term, 0) + 1

    def remove(self, document: int) -> None:
        """Remove a document."""
        for term in self._documents.pop(document):
            for tier in self._tiers:
                if tier.get(term, {}).pop(document, None) is not None and not tier[term]:
                    del tier[term]
            self._frequencies[term] -= 1
            if not self._frequencies[term]:
                del self._frequencies[term]

    def holders(self, term: str) -> set[int]:
        """Return the documents that contain a term."""
        return set().union(*(tier.get(term, ()) for tier in self._tiers))

    def weights(self, document: int) -> Terms:
        """Return a document's terms and their weights."""
        return self._documents[document]

    def rarity(self, term: str) -> float:
        """Return the term's inverse document frequency, as in BM25."""
        holders = self._frequencies.get(term, 0)
        return math.log1p((len(self._documents) - holders + 0.5) / (holders + 0.5))

    def best(self, factors: Terms, limit: int, among: set[int] | None = None) -> Scores:
        """Return the `limit` best documents by sum of factor * weight, and all with the score of the last."""
        found = (
            (factor * bound, term, factor, tier[term])
            for bound, tier in zip(_TIERS, self._tiers, strict=True)
            for term, factor in factors.items()
            if term in tier
        )
        parts = [(factor, postings) for _, _, factor, postings in sorted(found, key=_heaviest)]
        if among is None:
            scores, parts = _read(parts)
            scores = _top(scores, limit)
        else:
            scores = dict.fromkeys(among, 0.0)
        for factor, postings in parts:
            for document in postings.keys() & scores.keys():
                scores[document] += factor * postings[document]
        return {document: score for document, score in _top(scores, limit).items() if score > 0.0}


def _heaviest(part: tuple[float, str, float, _Postings]) -> tuple[float, str]:
    return -part[0], part[1]


def _read(parts: list[_Part]) -> tuple[Scores, list[_Part]]:
    """Add up the parts that the budget allows, at least one; return the scores and the parts left out."""
    scores: Scores = {}
    left_out: list[_Part] = []
    budget = _BUDGET
    for factor, postings in parts:
        if len(postings) > budget and scores:
            left_out.append((factor, postings))
            continue
        budget -= len(postings)
        for document, weight in postings.items():
            if document in scores:
                scores[document] += factor * weight
            else:
                scores[document] = factor * weight
    return scores, left_out


def _top(scores: Scores, limit: int) -> Scores:
    if len(scores) <= limit:
        return scores
    threshold = sorted(scores.values())[-limit]
    return {document: score for document, score in scores.items() if score >= threshold}
