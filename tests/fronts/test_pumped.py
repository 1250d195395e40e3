"""The streams of an adapter on Windows: what a write to an engine waits for."""

import threading
from collections.abc import Callable

import pytest

from search_mcp.fronts import pumped
from search_mcp.fronts.pumped import PumpedLink

SECONDS = 30.0


class Connection:
    """An engine's end whose reads and writes wait until the test lets them end."""

    def __init__(self) -> None:
        self.is_sent, self.reads, self.writes = threading.Event(), threading.Event(), threading.Event()
        self.is_broken = False

    def settimeout(self, seconds: float | None, /) -> None: ...
    def recv(self, _size: int, /) -> bytes:
        assert self.writes.wait(SECONDS)
        return b"" if self.is_broken else b"x"

    def sendall(self, _data: memoryview | bytes, /) -> None:
        self.is_sent.set()
        assert self.reads.wait(SECONDS)
        if self.is_broken:
            raise BrokenPipeError

    def shutdown(self, _how: int, /) -> None: ...
    def close(self) -> None:
        self.reads.set()
        self.writes.set()


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a write wait for its result as long as it takes."""
    monkeypatch.setattr(pumped, "WRITE_SECONDS", None)


def write(engine: Connection, then: Callable[[], None]) -> int:
    """Write a piece; `then` is called while it is being written."""
    link = PumpedLink(engine, threading.Condition())

    def act() -> None:
        assert engine.is_sent.wait(SECONDS)
        then()

    acting = threading.Thread(target=act)
    acting.start()
    try:
        return link.write(b"one")
    finally:
        acting.join(SECONDS)
        link.close()


def test_a_piece_that_an_engine_reads_is_written(unlimited: None) -> None:
    engine = Connection()
    assert write(engine, engine.reads.set) == 3


def test_a_piece_that_a_lost_engine_did_not_get_is_not_written(unlimited: None) -> None:
    engine = Connection()
    engine.is_broken = True
    with pytest.raises(BrokenPipeError):
        write(engine, engine.close)


def test_an_engine_that_writes_is_not_waited_for_because_it_may_not_read_before(unlimited: None) -> None:
    engine = Connection()
    assert write(engine, engine.writes.set) == 3


def test_an_engine_that_does_nothing_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pumped, "WRITE_SECONDS", 0.01)
    engine = Connection()
    assert write(engine, lambda: None) == 3
