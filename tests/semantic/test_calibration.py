"""The measurement of an unknown model, with vectors that are made up."""

from typing import Any

import numpy
import pytest

from search_mcp.semantic import calibration
from search_mcp.semantic.calibration import FOREIGN_QUERIES, QUERIES, TEXTS, Scale

COUNT = len(TEXTS)


def vectors(cosine: float, foreign: list[int]) -> Any:
    """Make vectors whose unrelated texts have a cosine, with the topic of each query in other scripts."""
    topics = numpy.sqrt(1 - cosine) * numpy.eye(COUNT + 1)[:COUNT]
    topics[:, COUNT] = numpy.sqrt(cosine)
    return numpy.concatenate([topics, topics, topics[foreign]]).astype(numpy.float32)


@pytest.mark.parametrize("cosine", [0.0, 0.125, 0.75])
def test_the_cosine_of_unrelated_texts(cosine: float) -> None:
    found = calibration.scale(vectors(cosine, [*range(COUNT)]))
    assert found.unrelated == pytest.approx(cosine, abs=1e-6)
    assert found.knows_all_languages


def test_vectors_that_are_all_equal() -> None:
    assert calibration.scale(vectors(1.0, [*range(COUNT)])) == Scale(calibration.MOST_UNRELATED, False)


def test_opposite_vectors() -> None:
    rows = vectors(0.0, [*range(COUNT)])
    rows[:COUNT] -= 0.5
    assert calibration.scale(rows).unrelated == 0.0


@pytest.mark.parametrize(("found", "knows"), [(8, True), (7, False), (2, False)])
def test_a_model_knows_languages_whose_queries_find_their_text(found: int, knows: bool) -> None:
    topics = [*range(found), *((topic + 1) % COUNT for topic in range(found, COUNT))]
    assert calibration.scale(vectors(0.0, topics)).knows_all_languages is knows


def test_the_texts_are_fixed() -> None:
    asked = calibration.texts("q: ", "t: ")
    assert asked == [f"t: {each}" for each in TEXTS] + [f"q: {each}" for each in (*QUERIES, *FOREIGN_QUERIES)]
    assert len({*asked}) == len(asked) == 3 * COUNT
