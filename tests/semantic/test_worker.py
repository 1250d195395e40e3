"""The process that makes vectors, as steps and as a process."""

import os
import queue
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sentence_models import tiny

from search_mcp.files import locked
from search_mcp.semantic import worker
from search_mcp.semantic.choice import command
from search_mcp.semantic.encoder import Encoder
from search_mcp.semantic.encoding import EncodingError
from search_mcp.semantic.lines import Compared, Failure, Forget, Local, Problem, Query, Texts
from search_mcp.semantic.vector_store import VectorStore
from search_mcp.semantic.worker import Comparison
from search_mcp.wire import payload

TEXTS = ["read the file", "draw a picture", "send mail", "the weather in a city", "time", "read the file"]


class Counting(Encoder):
    """An encoder that counts the texts that it encodes."""

    encoded = 0

    def texts(self, texts: Sequence[str]) -> Any:
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
        return Comparison(encoder, VectorStore(self.file, self.model.identity), self.lock), encoder


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def similarities(found: Compared) -> tuple[float, ...]:
    return struct.unpack(f"<{len(found.similarities) // 4}f", found.similarities)


def complete(comparison: Comparison) -> None:
    while not comparison.is_complete:
        comparison.encode_some()
        assert not comparison.pause


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
        comparison.encode_some()
        assert 0 < comparison.pause <= worker.BUSY_SECONDS
    assert encoder.encoded == 0
    complete(comparison)
    assert encoder.encoded == 5


def test_a_process_that_keeps_the_lock_is_not_waited_for(place: Place) -> None:
    comparison, encoder = place.comparison()
    comparison.use(1, TEXTS)
    with locked(place.lock, 1.0):
        for _ in range(worker.MOST_REFUSALS):
            comparison.encode_some()
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
        comparison.encode_some()
    missing = comparison.compare(Query(1, 1, "time", 2)).missing
    comparison.use(1, waiting)
    assert missing > 50
    assert comparison.compare(Query(2, 1, "time", 2)).missing == 0


def test_catalogues_take_turns(place: Place) -> None:
    comparison, _ = place.comparison()
    comparison.use(1, [f"{number}" for number in range(100)])
    comparison.use(2, TEXTS)
    for _ in range(4):
        comparison.encode_some()
    assert comparison.compare(Query(1, 2, "time", 2)).missing == 0
    assert comparison.compare(Query(2, 1, "time", 2)).missing > 50


def test_many_texts(place: Place) -> None:
    comparison, _ = place.comparison()
    texts = [f"read {number}" for number in range(200)]
    comparison.use(1, [*texts, "send mail"])
    complete(comparison)
    assert comparison.compare(Query(1, 1, "send mail", 1)).nearest == [200]


class Failing(Counting):
    """An encoder that cannot make vectors now."""

    why = ""

    def query(self, text: str) -> Any:
        if self.why:
            raise EncodingError(self.why)
        return super().query(text)

    def texts(self, texts: Sequence[str]) -> Any:
        if self.why:
            raise EncodingError(self.why)
        return super().texts(texts)


def test_vectors_that_cannot_be_made_are_tried_again_later(place: Place) -> None:
    encoder, now = Failing(place.folder, place.model), 0.0
    comparison = Comparison(encoder, VectorStore(place.file, encoder.identity), place.lock, lambda: now)
    comparison.use(1, TEXTS)
    encoder.why = "no connection"
    comparison.encode_some()
    assert (comparison.problem, comparison.is_given_up) == ("no connection", True)
    assert comparison.pause == worker.RETRY_SECONDS
    encoder.why = ""
    found = comparison.compare(Query(1, 1, "time", 1))
    assert (found.nearest, found.missing) == ([], len(TEXTS))  # the address is not asked before the pause is over
    now = worker.RETRY_SECONDS
    encoder.why = "no connection"
    comparison.encode_some()
    assert comparison.pause == 2 * worker.RETRY_SECONDS
    now += comparison.pause
    encoder.why = ""
    complete(comparison)
    assert comparison.problem == ""
    assert comparison.compare(Query(1, 1, "time", 1)).nearest == [4]


def test_another_model_behind_an_address(place: Place) -> None:
    """Vectors of another length are made again, in the file, too."""
    comparison, _ = place.comparison()
    comparison.use(1, TEXTS)
    complete(comparison)

    class Shorter(Counting):
        def query(self, text: str) -> Any:
            return super().query(text)[:4]

        def texts(self, texts: Sequence[str]) -> Any:
            return super().texts(texts)[:, :4]

    encoder = Shorter(place.folder, place.model)
    other = Comparison(encoder, VectorStore(place.file, encoder.identity), place.lock)
    other.use(1, TEXTS)
    assert other.is_complete
    assert other.compare(Query(1, 1, "time", 1)).missing == len(TEXTS)
    complete(other)
    assert other.compare(Query(1, 1, "time", 1)).missing == 0
    assert encoder.encoded == 5
    again = Comparison(encoder, VectorStore(place.file, encoder.identity), place.lock)
    again.use(1, TEXTS)
    assert again.compare(Query(1, 1, "time", 1)).missing == 0


def test_no_texts(place: Place) -> None:
    comparison, _ = place.comparison()
    comparison.use(1, [])
    assert comparison.compare(Query(1, 1, "time", 1)) == Compared(1, b"", [], 0)


def test_an_idle_process_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.01)
    comparison, encoder = place.comparison()
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    lines.put(payload.encode_bytes(Texts(1, TEXTS)))
    worker.run(comparison, lines, lambda _line: None)
    assert encoder.encoded == 5


def test_a_process_that_cannot_make_vectors_reports_it_and_ends_when_idle(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.05)
    encoder = Failing(place.folder, place.model)
    encoder.why = "no connection"
    comparison = Comparison(encoder, VectorStore(place.file, encoder.identity), place.lock)
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    for request in (Texts(1, TEXTS), Forget(2), Query(7, 1, "time", 1)):
        lines.put(payload.encode_bytes(request))
    written: list[bytes] = []
    worker.run(comparison, lines, written.append)
    assert payload.typed(written[0], Compared).missing == len(TEXTS)
    assert payload.typed(written[1], Problem).problem == "no connection"
    assert len(written) == 2


@pytest.fixture
def process(place: Place) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command(place.file), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        running.stdin.write(payload.encode_bytes(Local(str(place.folder))) + b"\n")
        yield running


def test_the_process_answers_and_ends_with_its_stdin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(payload.encode_bytes(Texts(1, TEXTS)) + b"\n")
    missing = number = 1
    while missing:
        number += 1
        process.stdin.write(payload.encode_bytes(Query(number, 1, "time", 2)) + b"\n")
        process.stdin.flush()
        found = payload.typed(process.stdout.readline(), Compared)
        assert found.number == number
        missing = found.missing
    assert found.nearest[0] == 4
    process.stdin.close()
    assert process.wait(20) == 0


def test_an_idle_process_ends_although_its_stdin_is_open(place: Place) -> None:
    program = (
        "import os, sys; from pathlib import Path; from search_mcp.semantic import worker; worker.IDLE_SECONDS = 0.01; "
        f"worker.main(Path({str(place.file)!r}), worker.lines_of(0), lambda line: None)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as running:
        assert running.stdin is not None
        running.stdin.write(payload.encode_bytes(Local(str(place.folder))) + b"\n")
        running.stdin.flush()
        assert running.wait(60) == 0


def test_a_model_that_calculates_for_ever_ends_with_stdin(place: Place) -> None:
    program = (
        "import threading; from pathlib import Path; from search_mcp.semantic import worker; "
        "worker.ENDING_SECONDS = 0; "
        "worker.encoder_of = lambda *_: print('begun', flush=True) or threading.Event().wait(); "
        f"worker.main(Path({str(place.file)!r}), worker.ending(worker.lines_of(0)), lambda line: None)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(payload.encode_bytes(Local(str(place.folder))) + b"\n")
        running.stdin.flush()
        assert running.stdout.readline() == b"begun\n"
        running.stdin.close()
        assert running.wait(60) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows collects the telemetry of onnxruntime itself")
def test_no_telemetry(place: Place, tmp_path: Path) -> None:
    """Without a word to onnxruntime, it keeps an identifier of the system in the home folder, and sends events."""
    home = tmp_path / "home"
    home.mkdir()
    silencing = {"CI", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "XDG_CACHE_HOME"}
    variables = {name: value for name, value in os.environ.items() if name not in silencing}
    given = (Local(str(place.folder)), Texts(1, TEXTS), Query(1, 1, "time", 2))
    lines = b"".join(payload.encode_bytes(each) + b"\n" for each in given)
    variables["HOME"] = str(home)
    ended = subprocess.run(command(place.file), input=lines, capture_output=True, timeout=60, check=True, env=variables)
    assert payload.typed(ended.stdout, Compared).number == 1
    assert list(home.rglob("*")) == []


def test_the_process_says_why_it_cannot_work(tmp_path: Path) -> None:
    opening = payload.encode_bytes(Local(str(tmp_path))) + b"\n"
    ended = subprocess.run(command(tmp_path / "v"), input=opening, capture_output=True, timeout=60, check=True)
    assert payload.typed(ended.stdout, Failure).failure == f"there is no model in {tmp_path}"
