"""The process that makes vectors."""

import os
import queue
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from vectors import TEXTS, Failing, Place

from search_mcp.semantic import worker
from search_mcp.semantic.choice import command
from search_mcp.semantic.comparison import Comparison
from search_mcp.semantic.lines import Compared, Failure, Forget, Local, Problem, Query, Texts
from search_mcp.semantic.vector_store import VectorStore
from search_mcp.wire import payload


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_an_idle_process_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.01)
    comparison, encoder = place.comparison()
    lines: worker.Lines = queue.SimpleQueue()
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
    lines: worker.Lines = queue.SimpleQueue()
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
    with subprocess.Popen(
        command(place.file), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(lines)
        running.stdin.flush()
        answer = running.stdout.readline()  # before the end of stdin, after which the process has only some seconds
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (0, b"")
    assert payload.typed(answer, Compared).number == 1
    assert list(home.rglob("*")) == []


def test_the_process_says_why_it_cannot_work(tmp_path: Path) -> None:
    opening = payload.encode_bytes(Local(str(tmp_path))) + b"\n"
    ended = subprocess.run(command(tmp_path / "v"), input=opening, capture_output=True, timeout=60, check=True)
    assert payload.typed(ended.stdout, Failure).failure == f"there is no model in {tmp_path}"
