"""Relaying between descriptors: what is written before it is taken, and what ends it."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from io import FileIO
from typing import NamedTuple

import pytest

from search_mcp.engine.joining import Piped
from search_mcp.engine.polled import Engine, Polled

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the pipes of POSIX")


class Ends(NamedTuple):
    """The ends of the pipes that the client and the engine have."""

    client_in: int
    client_out: int
    engine_in: int
    engine_out: int


class EnoughError(Exception):
    """Ends a relay that would go on."""


class Bench:
    """A relay that ends after some messages, which are collected."""

    def __init__(self, opened: ExitStack, stdin: int, stdout: int, ends: Ends, link: Piped) -> None:
        self.ends = ends
        self._streams = Polled(stdin, stdout)
        self._engine = Engine(link.incoming, link.outgoing)
        self.taken: list[tuple[str, bytes, int]] = []
        opened.callback(self._engine.close)

    def relay(self, most: int = 1) -> None:
        def take(side: str, data: bytes, written: int) -> None:
            self.taken.append((side, data, written))
            if len(self.taken) == most and written == len(data):
                raise EnoughError

        with suppress(EnoughError):
            self._streams.relay(
                self._engine,
                lambda data, written: take("client", data, written),
                lambda data, written: take("engine", data, written),
            )


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def pipe(opened: ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    opened.callback(close, reading)
    opened.callback(close, writing)
    return reading, writing


def close(descriptor: int) -> None:
    with suppress(OSError):  # the test has closed it
        os.close(descriptor)


def bench_of(opened: ExitStack, stdin: int | None = None) -> Bench:
    own_stdin, client_in = pipe(opened)
    client_out, stdout = pipe(opened)
    incoming, engine_out = os.pipe()
    engine_in, outgoing = os.pipe()
    opened.callback(close, engine_out)
    opened.callback(close, engine_in)
    ends = Ends(client_in, client_out, engine_in, engine_out)
    piped = Piped(FileIO(incoming), FileIO(outgoing, "w"), {})
    return Bench(opened, own_stdin if stdin is None else stdin, stdout, ends, piped)


def test_a_line_is_written_before_it_is_taken(opened: ExitStack) -> None:
    bench = bench_of(opened)
    os.write(bench.ends.client_in, b"question\n")
    os.write(bench.ends.engine_out, b"answer\n")
    bench.relay(most=2)
    assert bench.taken == [("engine", b"answer\n", 7), ("client", b"question\n", 9)]
    assert os.read(bench.ends.engine_in, 100) == b"question\n"
    assert os.read(bench.ends.client_out, 100) == b"answer\n"


@pytest.mark.parametrize("data", [b"half", b"one\ntwo\n", b"one\nhalf"])
def test_what_is_not_one_line_is_taken_unwritten(opened: ExitStack, data: bytes) -> None:
    bench = bench_of(opened)
    os.write(bench.ends.client_in, data)
    bench.relay()
    assert bench.taken == [("client", data, 0)]
    os.set_blocking(bench.ends.engine_in, False)
    with pytest.raises(BlockingIOError):
        os.read(bench.ends.engine_in, 100)


def test_a_line_for_which_there_is_no_room_is_taken_unwritten(opened: ExitStack) -> None:
    bench = bench_of(opened)
    while True:
        try:
            os.write(bench._engine.outgoing, b"x" * 4096)
        except BlockingIOError:
            break
    os.write(bench.ends.client_in, b"question\n")
    bench.relay()
    assert bench.taken == [("client", b"question\n", 0)]


def test_a_line_for_an_engine_that_is_gone_is_taken_unwritten(opened: ExitStack) -> None:
    bench = bench_of(opened)
    os.close(bench.ends.engine_in)  # it still writes
    os.write(bench.ends.client_in, b"question\n")
    bench.relay()
    assert bench.taken == [("client", b"question\n", 0)]


@pytest.mark.parametrize("end", ["client_in", "client_out", "engine_out"])
def test_the_end_of_a_side_ends_it_and_nothing_is_read(opened: ExitStack, end: str) -> None:
    bench = bench_of(opened)
    if end == "engine_out":
        os.write(bench.ends.engine_out, b"last\n")
    os.write(bench.ends.client_in, b"question\n")
    os.close(getattr(bench.ends, end))
    bench.relay()
    assert bench.taken == []


def test_a_client_that_shuts_a_socket_down_ends_it(opened: ExitStack) -> None:
    ours, theirs = socket.socketpair()
    opened.enter_context(ours)
    opened.enter_context(theirs)
    theirs.shutdown(socket.SHUT_WR)  # poll reports this as bytes, of which there are none
    bench = bench_of(opened, ours.fileno())
    bench.relay()
    assert bench.taken == []


def test_nothing_is_relayed_for_a_file(opened: ExitStack) -> None:
    """Its end, or that of a terminal, has to be read by the adapter."""
    null = os.open(os.devnull, os.O_RDONLY)
    opened.callback(os.close, null)
    bench = bench_of(opened, null)
    os.write(bench.ends.engine_out, b"news\n")
    bench.relay()
    assert bench.taken == []
