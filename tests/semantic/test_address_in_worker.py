"""The process that makes vectors with an address: queries beside texts, its end, and its secrets."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from embeddings_service import Answer, Asked, Service, refusal, serving, usual

from search_mcp.semantic import calibration
from search_mcp.semantic.choice import command
from search_mcp.semantic.lines import Address, Compared, Failure, Problem, Query, Texts
from search_mcp.wire import payload

KEY = "sk-very-secret-0123456789"
TEXTS = [f"text {number}" for number in range(20)]


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as running:
        yield running


class Process:
    """A running process and its lines."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        assert popen.stdin is not None
        assert popen.stdout is not None
        self.popen, self._given, self._written = popen, popen.stdin, popen.stdout

    def send(self, line: object) -> None:
        self._given.write(payload.encode_bytes(line) + b"\n")
        self._given.flush()

    def line(self) -> Compared | Problem | Failure | None:
        line = self._written.readline()
        return payload.typed(line, Compared | Problem | Failure) if line else None  # type: ignore[arg-type]

    def compared(self, number: int, query: str = "query") -> Compared:
        self.send(Query(number, 1, query, 3))
        found = self.line()
        assert isinstance(found, Compared)
        assert found.number == number
        return found

    def complete(self) -> Compared:
        number, found = 1000, self.compared(999)
        while found.missing:
            number, found = number + 1, self.compared(number)
        return found

    def end(self) -> int:
        self._given.close()
        return self.popen.wait(20)


@contextmanager
def process(service: Service, file: Path) -> Iterator[Process]:
    with subprocess.Popen(
        command(file), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        found = Process(running)
        found.send(Address(service.url, "m", KEY))
        try:
            yield found
        finally:
            running.kill()


def test_texts_are_compared_and_asked_for_once(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite3"
    with process(service, file) as running:
        running.send(Texts(1, [*TEXTS, "query"]))
        found = running.complete()
        assert found.nearest[0] == len(TEXTS)
        assert running.end() == 0
        assert running.popen.stderr is not None
        assert running.popen.stderr.read() == b""
    with process(service, file) as running:
        running.send(Texts(1, [*TEXTS, "query"]))
        assert running.compared(1).missing == 0
        assert running.end() == 0
    assert all(service.texts.count(each) == 1 for each in TEXTS)
    assert not any(KEY.encode() in each.read_bytes() for each in tmp_path.iterdir())


def test_two_processes_ask_for_each_text_once(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite3"
    with process(service, file) as first, process(service, file) as second:
        for each in (first, second):
            each.send(Texts(1, TEXTS))
        first.complete()
        second.complete()
        assert (first.end(), second.end()) == (0, 0)
    assert all(service.texts.count(each) == 1 for each in TEXTS)


def test_a_query_is_answered_while_texts_wait(service: Service, tmp_path: Path) -> None:
    arrived, may_answer = threading.Event(), threading.Event()

    def respond(asked: Asked) -> Answer:
        if {*asked.texts} & {*TEXTS}:
            arrived.set()
            assert may_answer.wait(60)
        return usual(asked)

    service.respond = respond
    with process(service, tmp_path / "vectors.sqlite3") as running:
        running.send(Texts(1, TEXTS))
        assert arrived.wait(60)
        assert running.compared(1).missing == len(TEXTS)
        may_answer.set()
        assert running.complete().missing == 0


@pytest.mark.parametrize("of_query", [True, False])
def test_the_process_does_not_wait_for_an_answer_when_it_ends(service: Service, tmp_path: Path, of_query: bool) -> None:
    arrived, is_over = threading.Event(), threading.Event()

    def respond(asked: Asked) -> Answer:
        if {*asked.texts} & {*calibration.TEXTS}:
            return usual(asked)
        arrived.set()
        is_over.wait()
        return usual(asked)

    service.respond = respond
    with process(service, tmp_path / "vectors.sqlite3") as running:
        running.send(Query(1, 1, "query", 3) if of_query else Texts(1, TEXTS))
        assert arrived.wait(60)
        assert running.end() == 0
    is_over.set()


def test_a_problem_is_reported_without_the_key(service: Service, tmp_path: Path) -> None:
    service.respond = lambda _asked: refusal(500, f"wrong: Bearer {KEY}")
    with process(service, tmp_path / "vectors.sqlite3") as running:
        running.send(Texts(1, TEXTS))
        found = running.line()
        assert isinstance(found, Problem)
        assert found.problem == f"127.0.0.1:{service.port} fails (HTTP status 500): wrong: Bearer ***"
        shown = Path(f"/proc/{running.popen.pid}/cmdline"), Path(f"/proc/{running.popen.pid}/environ")
        assert not any(KEY.encode() in each.read_bytes() for each in shown if each.exists())
        assert running.end() == 0


def test_a_text_without_a_vector_is_asked_for_once(service: Service, tmp_path: Path) -> None:
    service.respond = lambda asked: refusal(400, "no") if "bad" in asked.texts else usual(asked)
    file = tmp_path / "vectors.sqlite3"
    for _ in range(2):
        with process(service, file) as running:
            running.send(Texts(1, ["bad", "query"]))
            found = running.complete()
            assert (found.nearest, found.missing) == ([1], 0)
            assert running.end() == 0
    assert [each.texts for each in service.asked].count(("bad",)) == 1


def test_another_model_ends_the_process_and_the_next_one_starts_anew(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite3"
    with process(service, file) as running:
        running.send(Texts(1, TEXTS))
        running.complete()
        assert running.end() == 0
    service.respond = answer_of_another
    with process(service, file) as running:
        running.send(Texts(1, TEXTS))
        running.send(Query(1, 1, "query", 3))
        found = running.line()
        assert isinstance(found, Problem)
        assert "makes other vectors for m than before" in found.problem
        assert running.line() is None
        assert running.popen.wait(20) == 0
    with process(service, file) as running:
        running.send(Texts(1, [*TEXTS, "query"]))
        assert running.complete().nearest[0] == len(TEXTS)


def answer_of_another(asked: Asked) -> Answer:
    return usual(Asked(asked.path, asked.headers, {"input": [f"another {each}" for each in asked.texts]}))


def test_an_address_that_cannot_be_used(tmp_path: Path) -> None:
    opening = payload.encode_bytes(Address("ftp://example.com/v1", "m", KEY)) + b"\n"
    ended = subprocess.run(command(tmp_path / "v"), input=opening, capture_output=True, timeout=60, check=True)
    assert "the address of the vectors cannot be used" in payload.typed(ended.stdout, Failure).failure
