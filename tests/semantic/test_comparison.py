"""The comparison of queries with texts, step by step."""

import struct
from pathlib import Path

import pytest
from vectors import TEXTS, Failing, Place

from search_mcp.files import locked
from search_mcp.semantic import comparison as comparing
from search_mcp.semantic.comparison import Comparison
from search_mcp.semantic.lines import Compared, Query
from search_mcp.semantic.vector_store import VectorStore


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def similarities(found: Compared) -> tuple[float, ...]:
    return struct.unpack(f"<{len(found.similarities) // 4}f", found.similarities)


def complete(comparison: Comparison) -> None:
    while not comparison.is_complete:
        encode(comparison)
        assert not comparison.pause


def encode(comparison: Comparison) -> None:
    if (make := comparison.begin()) is not None:
        comparison.finish(make())


def test_a_query_is_compared_with_the_texts_that_have_a_vector(place: Place) -> None:
    comparison, _ = place.comparison()
    comparison.use(1, TEXTS)
    nothing = comparison.compare(Query(1, 1, "mail", 3))
    assert (nothing.number, nothing.nearest, nothing.missing) == (1, [], 6)
    assert all(each != each for each in similarities(nothing))
    complete(comparison)
    found = comparison.compare(Query(2, 1, "send mail", 3))
    assert found.missing == 0
    assert found.nearest[0] == 2
    assert similarities(found)[2] == pytest.approx(1.0, abs=1e-3)
    assert similarities(found)[0] == similarities(found)[5]


def test_texts_that_stay_keep_their_vectors(place: Place) -> None:
    comparison, encoder = place.comparison()
    comparison.use(1, TEXTS)
    complete(comparison)
    comparison.use(1, [*TEXTS[:2], "write a file"])
    complete(comparison)
    assert encoder.encoded == 6
    assert len(similarities(comparison.compare(Query(1, 1, "mail", 3)))) == 3


def test_vectors_are_shared_by_the_file(place: Place) -> None:
    (first, _), (second, encoder) = place.comparison(), place.comparison()
    second.use(1, TEXTS)
    first.use(1, TEXTS)
    complete(first)
    complete(second)
    third, unused = place.comparison()
    third.use(1, TEXTS)
    assert third.is_complete
    assert (encoder.encoded, unused.encoded) == (0, 0)
    assert third.compare(Query(1, 1, "mail", 3)) == first.compare(Query(1, 1, "mail", 3))


def test_one_process_encodes_at_a_time(place: Place) -> None:
    comparison, encoder = place.comparison()
    comparison.use(1, TEXTS)
    with locked(place.lock, 1.0):
        assert comparison.begin() is None
        assert 0 < comparison.pause <= comparing.BUSY_SECONDS
    assert encoder.encoded == 0
    complete(comparison)
    assert encoder.encoded == 5


def test_vectors_are_used_if_the_file_cannot_be_written(place: Place) -> None:
    place.file.mkdir()
    comparison, _ = place.comparison()
    comparison.use(1, TEXTS)
    complete(comparison)
    assert comparison.compare(Query(1, 1, "time", 1)).nearest == [4]


@pytest.mark.parametrize("vector", [b"", b"abc"])
def test_a_damaged_vector_is_made_again(place: Place, vector: bytes) -> None:
    VectorStore(place.file, place.model.identity).write(dict.fromkeys(TEXTS, vector))
    comparison, encoder = place.comparison()
    comparison.use(1, TEXTS)
    complete(comparison)
    assert encoder.encoded == len({*TEXTS})
    assert comparison.compare(Query(1, 1, "time", 2)).missing == 0


def test_catalogues_are_compared_apart(place: Place) -> None:
    comparison, encoder = place.comparison()
    comparison.use(1, TEXTS)
    comparison.use(2, TEXTS[3:])
    complete(comparison)
    assert encoder.encoded == 5
    assert comparison.compare(Query(1, 1, "time", 1)).nearest == [4]
    assert comparison.compare(Query(2, 2, "time", 1)).nearest == [1]
    comparison.forget(1)
    comparison.forget(3)
    assert comparison.compare(Query(3, 2, "time", 1)).nearest == [1]
    assert comparison.compare(Query(4, 1, "time", 1)) == Compared(4, b"", [], 0, False)
    comparison.use(1, TEXTS)
    assert comparison.is_complete  # those of the file


def test_texts_wait_for_no_server_that_changes_all_the_time(place: Place) -> None:
    comparison, _ = place.comparison()
    waiting = ["the weather in a city"] * 2 + [f"the weather in city {number}" for number in range(8)]
    for number in range(6):
        comparison.use(1, [*waiting, *(f"{number} {each}" for each in range(100))])
        encode(comparison)
    missing = comparison.compare(Query(1, 1, "time", 2)).missing
    comparison.use(1, waiting)
    assert missing > 50
    assert comparison.compare(Query(2, 1, "time", 2)).missing == 0


def test_catalogues_take_turns(place: Place) -> None:
    comparison, _ = place.comparison()
    comparison.use(1, [f"{number}" for number in range(100)])
    comparison.use(2, TEXTS)
    for _ in range(4):
        encode(comparison)
    assert comparison.compare(Query(1, 2, "time", 2)).missing == 0
    assert comparison.compare(Query(2, 1, "time", 2)).missing > 50


def test_many_texts(place: Place) -> None:
    comparison, _ = place.comparison()
    texts = [f"read {number}" for number in range(200)]
    comparison.use(1, [*texts, "send mail"])
    complete(comparison)
    assert comparison.compare(Query(1, 1, "send mail", 1)).nearest == [200]


def test_vectors_that_cannot_be_made_are_tried_again_later(place: Place) -> None:
    encoder, now = Failing(place.folder, place.model), 0.0
    comparison = Comparison(encoder, VectorStore(place.file, encoder.identity), place.lock, lambda: now)
    comparison.use(1, TEXTS)
    encoder.why = "no connection"
    encode(comparison)
    assert (comparison.problem, comparison.is_given_up) == ("no connection", True)
    assert comparison.pause == comparing.RETRY_SECONDS
    encoder.why = ""
    found = comparison.compare(Query(1, 1, "time", 1))
    assert (found.nearest, found.missing) == ([], len(TEXTS))  # the address is not asked before the pause is over
    now = comparing.RETRY_SECONDS
    encoder.why = "no connection"
    encoder.pause_seconds = 300.0
    encode(comparison)
    assert comparison.pause == encoder.pause_seconds  # that the address asks for
    now += comparison.pause
    encoder.why = ""
    complete(comparison)
    assert comparison.problem == ""
    assert comparison.compare(Query(1, 1, "time", 1)).nearest == [4]


def test_no_texts(place: Place) -> None:
    comparison, _ = place.comparison()
    comparison.use(1, [])
    assert comparison.compare(Query(1, 1, "time", 1)) == Compared(1, b"", [], 0)
