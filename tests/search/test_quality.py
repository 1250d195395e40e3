"""Lowest accepted quality on the recorded catalogue of real tools."""

import math
import statistics
from collections.abc import Callable, Sequence

import pytest
import recorded

from search_mcp.search import build

pytestmark = pytest.mark.skipif(not recorded.IS_THERE, reason="the recorded catalogue is in the repository only")

# Measured values less .03: see benchmarks/search/README.md.
FLOORS = {
    # kind: nDCG@10, hit@5
    "keyword": (0.93, 0.97),
    "request": (0.90, 0.95),
    "colloquial": (0.47, 0.64),
    "typo": (0.93, 0.97),
    "japanese": (0.92, 0.97),
    "korean": (0.92, 0.97),
    "chinese": (0.97, 0.97),
    "pasted": (0.71, 0.97),
    "name": (0.97, 0.97),
    "translated": (0.38, 0.47),
}

Searcher = Callable[[str, int], list[tuple[str, float]]]


@pytest.fixture(scope="module")
def searcher() -> Searcher:
    return build(recorded.tools())


def ndcg(ranked: Sequence[str], relevant: set[str]) -> float:
    gains = (1 / math.log2(rank + 2) for rank, name in enumerate(ranked[:10]) if name in relevant)
    return sum(gains) / sum(1 / math.log2(rank + 2) for rank in range(min(len(relevant), 10)))


@pytest.mark.parametrize("kind", FLOORS)
def test_quality_does_not_fall(searcher: Searcher, kind: str) -> None:
    asked = [query for query in recorded.queries() if query["type"] == kind]
    answers = [([name for name, _ in searcher(query["query"], 10)], set(query["relevant"])) for query in asked]
    gain, hits = FLOORS[kind]
    assert statistics.fmean(ndcg(ranked, relevant) for ranked, relevant in answers) >= gain
    assert statistics.fmean(not relevant.isdisjoint(ranked[:5]) for ranked, relevant in answers) >= hits


def test_the_first_queries_of_the_readme_are_answered(searcher: Searcher) -> None:
    assert searcher("what time is it in Tokyo", 1)[0][0] == "time.get_current_time"
    assert searcher("9:30 in Berlin is what time in Tokyo, convert it", 1)[0][0] == "time.convert_time"


def test_every_kind_has_a_floor() -> None:
    assert {query["type"] for query in recorded.queries()} == FLOORS.keys()


def test_every_right_answer_is_in_the_catalogue() -> None:
    names = {f"{tool['server']}.{tool['tool']}" for tool in recorded.tools()}
    assert [query["qid"] for query in recorded.queries() if not names.issuperset(query["relevant"])] == []


def test_every_tool_is_found_by_its_name(searcher: Searcher) -> None:
    names = [f"{tool['server']}.{tool['tool']}" for tool in recorded.tools()]
    assert [name for name in names if searcher(name, 1)[0][0] != name] == []
