"""The best documents for weighted terms."""

import pytest

from search_mcp.search.postings import Postings

WEIGHTS = {1: {"file": 0.9, "read": 0.5}, 2: {"file": 0.2, "time": 0.8}, 3: {"time": 0.7}}


def postings() -> Postings:
    filed = Postings()
    for document, weights in WEIGHTS.items():
        filed.add(document, weights)
    return filed


@pytest.mark.parametrize(
    ("factors", "limit", "among", "best"),
    [
        ({}, 5, None, {}),
        ({"missing": 1.0}, 5, None, {}),
        ({"file": 1.0}, 5, None, {1: 0.9, 2: 0.2}),
        ({"file": 1.0}, 1, None, {1: 0.9}),
        ({"file": 1.0, "time": 2.0}, 5, None, {1: 0.9, 2: 1.8, 3: 1.4}),
        ({"file": 1.0, "time": 2.0}, 1, {1, 3}, {3: 1.4}),
        ({"file": 1.0}, 5, {3}, {}),
        ({"file": 1.0}, 5, set(), {}),
    ],
)
def test_best(factors: dict[str, float], limit: int, among: set[int] | None, best: dict[int, float]) -> None:
    assert postings().best(factors, limit, among) == pytest.approx(best)


def test_all_with_the_score_of_the_last_are_returned() -> None:
    filed = Postings()
    for document in range(5):
        filed.add(document, {"same": 0.5})
    assert len(filed.best({"same": 1.0}, 2)) == 5


def test_a_removed_document_is_not_found() -> None:
    filed = postings()
    filed.remove(1)
    assert "read" not in filed
    assert "file" in filed
    assert filed.holders("file") == {2}
    assert len(filed) == 2
    filed.remove(2)
    filed.remove(3)
    assert filed.holders("file") == set()


def test_a_term_in_fewer_documents_is_rarer() -> None:
    filed = postings()
    assert filed.rarity("missing") > filed.rarity("read") > filed.rarity("time") > 0
