"""The process that makes vectors, as steps and as a process."""

import queue
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sentence_models import tiny

from search_mcp.files import locked
from search_mcp.semantic import worker
from search_mcp.semantic.encoder import Encoder
from search_mcp.semantic.lines import Compared, Failure, Query, Texts
from search_mcp.semantic.vector_store import VectorStore
from search_mcp.semantic.worker import PROGRAM, Comparison
from search_mcp.wire import payload

TEXTS = ["read the file", "draw a picture", "send mail", "the weather in a city", "time", "read the file"]


class Counting(Encoder):
    """An encoder that counts the texts that it encodes."""

    encoded = 0

    def texts(self, texts: list[str]) -> object:  # type: ignore[override]
        self.encoded += len(texts)
        return super().texts(texts)


class Place:
    """A model and a file of vectors."""

    def __init__(self, folder: Path) -> None:
        self.model = tiny(folder / "tiny", unrelated=0.25)
        self.folder, self.file = folder / "tiny", folder / "vectors.sqlite3"
        self.lock = folder / "vectors.sqlite3.lock"

    def comparison(self) -> tuple[Comparison, Counting]:
        encoder = Counting(self.folder, self.model)
        return Comparison(encoder, self.model, VectorStore(self.file, self.model.identity), self.lock), encoder


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def similarities(found: Compared) -> tuple[float, ...]:
    return struct.unpack(f"<{len(found.similarities) // 4}f", found.similarities)


def complete(comparison: Comparison) -> None:
    while not comparison.is_complete:
        assert comparison.encode_some()


def test_a_query_is_compared_with_the_texts_that_have_a_vector(place: Place) -> None:
    comparison, _ = place.comparison()
    comparison.use(TEXTS)
    nothing = comparison.compare(Query(1, "mail", 3))
    assert (nothing.number, nothing.nearest, nothing.missing) == (1, [], 5)
    assert all(each != each for each in similarities(nothing))
    complete(comparison)
    found = comparison.compare(Query(2, "send mail", 3))
    assert found.missing == 0
    assert found.nearest[0] == 2
    assert similarities(found)[2] == pytest.approx(1.0, abs=1e-3)
    assert similarities(found)[0] == similarities(found)[5]


def test_texts_that_stay_keep_their_vectors(place: Place) -> None:
    comparison, encoder = place.comparison()
    comparison.use(TEXTS)
    complete(comparison)
    comparison.use([*TEXTS[:2], "write a file"])
    complete(comparison)
    assert encoder.encoded == 6
    assert len(similarities(comparison.compare(Query(1, "mail", 3)))) == 3


def test_vectors_are_shared_by_the_file(place: Place) -> None:
    (first, _), (second, encoder) = place.comparison(), place.comparison()
    second.use(TEXTS)
    first.use(TEXTS)
    complete(first)
    complete(second)
    third, unused = place.comparison()
    third.use(TEXTS)
    assert third.is_complete
    assert (encoder.encoded, unused.encoded) == (0, 0)
    assert third.compare(Query(1, "mail", 3)) == first.compare(Query(1, "mail", 3))


def test_one_process_encodes_at_a_time(place: Place) -> None:
    comparison, encoder = place.comparison()
    comparison.use(TEXTS)
    with locked(place.lock, 1.0):
        assert not comparison.encode_some()
    assert encoder.encoded == 0
    assert comparison.encode_some()


def test_a_process_that_keeps_the_lock_is_not_waited_for(place: Place) -> None:
    comparison, encoder = place.comparison()
    comparison.use(TEXTS)
    with locked(place.lock, 1.0):
        assert not any(comparison.encode_some() for _ in range(worker.MOST_REFUSALS))
        complete(comparison)
    assert encoder.encoded == 5


def test_vectors_are_used_if_the_file_cannot_be_written(place: Place) -> None:
    place.file.mkdir()
    comparison, _ = place.comparison()
    comparison.use(TEXTS)
    complete(comparison)
    assert comparison.compare(Query(1, "time", 1)).nearest == [4]


def test_no_texts(place: Place) -> None:
    comparison, _ = place.comparison()
    comparison.use([])
    assert comparison.compare(Query(1, "time", 1)) == Compared(1, b"", [], 0)


def test_an_idle_process_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.01)
    comparison, encoder = place.comparison()
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    lines.put(payload.encode_bytes(Texts(TEXTS)))
    worker.run(comparison, lines, lambda _line: None)
    assert encoder.encoded == 5


@pytest.fixture
def process(place: Place) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-P", *PROGRAM, str(place.folder), str(place.file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        yield running


def test_the_process_answers_and_ends_with_its_stdin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(payload.encode_bytes(Texts(TEXTS)) + b"\n")
    missing = number = 1
    while missing:
        number += 1
        process.stdin.write(payload.encode_bytes(Query(number, "time", 2)) + b"\n")
        process.stdin.flush()
        found = payload.typed(process.stdout.readline(), Compared)
        assert found.number == number
        missing = found.missing
    assert found.nearest[0] == 4
    process.stdin.close()
    assert process.wait(20) == 0


def test_the_process_says_why_it_cannot_work(tmp_path: Path) -> None:
    command = [sys.executable, "-P", *PROGRAM, str(tmp_path), str(tmp_path / "vectors.sqlite3")]
    ended = subprocess.run(command, input=b"", capture_output=True, timeout=60, check=True)
    assert payload.typed(ended.stdout, Failure).failure == f"there is no model in {tmp_path}"
