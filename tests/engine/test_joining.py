"""Joining an engine: what a connection may meet at the socket of one, and who may start one."""

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from search_mcp.engine import hello, joining, starting
from search_mcp.engine.joining import MisconfiguredError, NoEngineError, ask, join, join_running
from search_mcp.engine.meeting import Meeting

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the sockets of POSIX")
SECONDS = 30.0
fcntl: Any = pytest.importorskip("fcntl")
FIRST = {"wants": "status"}
SERVE = {"wants": "serve"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Meeting:
    monkeypatch.chdir(tmp_path)  # a relative path is short enough for a socket
    monkeypatch.setattr(starting, "_PROGRAM", "import sys; sys.exit('it is broken')")
    return Meeting(".", "one")


Behave = Callable[[socket.socket, bytes], None]


@contextmanager
def engine(path: str, *behave: Behave) -> Iterator[list[bytes]]:
    """Listen like an engine; each connection has its own behaviour, and the first lines are collected."""
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        listening.settimeout(SECONDS)

        def run() -> None:
            for each in behave:
                connection, _ = listening.accept()
                with connection, connection.makefile("rb") as lines:
                    heard.append(lines.readline())
                    each(connection, heard[-1])

        thread = threading.Thread(target=run)
        thread.start()
        yield heard
        thread.join(SECONDS)
        assert not thread.is_alive()


def says(line: bytes) -> Behave:
    return lambda connection, _first: connection.sendall(line)


def ends(_connection: socket.socket, _first: bytes) -> None:
    """End without an answer, as an engine does that is just ending."""


def stays_silent(connection: socket.socket, _first: bytes) -> None:
    connection.settimeout(SECONDS)
    assert connection.recv(1) == b""


def test_the_first_lines_are_exchanged(place: Meeting) -> None:
    with engine(place.socket, says(hello.encode({"pid": 7}))) as heard:
        answer = ask(place.socket, FIRST, SECONDS)
    assert hello.decode(heard[0]) == {"search-mcp": hello.PROTOCOL, **FIRST}
    assert answer is not None
    assert answer["pid"] == 7


def test_a_running_engine_is_joined_and_none_is_started(place: Meeting) -> None:
    assert join_running(place, SERVE, SECONDS) is None
    read_end, write_end = os.pipe()
    with engine(place.socket, sends_pipes(read_end, write_end)):
        joined = join_running(place, SERVE, SECONDS)
    assert joined is not None
    joined.incoming.close()
    joined.outgoing.close()
    os.close(read_end)
    os.close(write_end)


def sends_pipes(*descriptors: int) -> Behave:
    def behave(connection: socket.socket, _first: bytes) -> None:
        if descriptors:
            socket.send_fds(connection, [b" "], descriptors)
        connection.sendall(hello.encode({"pid": 7}))
        assert connection.recv(1) == b""

    return behave


def test_pipes_that_come_with_the_answer_take_the_place_of_the_connection(place: Meeting) -> None:
    from_engine, to_client = os.pipe()
    from_client, to_engine = os.pipe()
    with engine(place.socket, sends_pipes(from_engine, to_engine)):
        joined = join(place, SERVE, SECONDS)
    assert not os.get_inheritable(joined.incoming.fileno())
    for each in (from_engine, to_engine):
        os.close(each)
    with joined.incoming, joined.outgoing:
        os.write(to_client, b"to the client")
        joined.outgoing.write(b"to the engine")
        os.close(to_client)
        assert joined.incoming.readall() == b"to the client"
    assert os.read(from_client, 100) == b"to the engine"
    assert os.read(from_client, 100) == b""
    os.close(from_client)


def test_pipes_of_an_engine_that_is_suspended_are_closed(place: Meeting) -> None:
    """Else it would serve a client that is served by another process."""
    read_end, write_end = os.pipe()

    def sends_no_answer(connection: socket.socket, _first: bytes) -> None:
        socket.send_fds(connection, [b" "], [write_end])
        os.close(write_end)
        stays_silent(connection, _first)

    with engine(place.socket, sends_no_answer), pytest.raises(NoEngineError, match="suspended"):
        join(place, SERVE, 0.05)
    assert os.read(read_end, 1) == b""
    os.close(read_end)


@pytest.mark.parametrize("number", [0, 1])
def test_pipes_that_the_system_does_not_hand_over_are_missed(place: Meeting, number: int) -> None:
    """As in a process that may open no more files."""
    read_end, write_end = os.pipe()
    few = sends_pipes(*[write_end][:number])
    with engine(place.socket, few), pytest.raises(NoEngineError, match="too many open files"):
        join(place, SERVE, SECONDS)
    os.close(write_end)
    assert os.read(read_end, 1) == b""
    os.close(read_end)


def test_an_engine_that_is_ending_is_tried_again(place: Meeting) -> None:
    held = os.open(place.lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)  # it has the lock until its end
    read_end, write_end = os.pipe()
    with engine(place.socket, ends, ends, sends_pipes(read_end, write_end)):
        joined = join(place, SERVE, SECONDS)
    joined.incoming.close()
    joined.outgoing.close()
    for each in (held, read_end, write_end):
        os.close(each)


@pytest.mark.parametrize("answer", [b"no JSON\n", b"{}\n", b'{"search-mcp": "1"}\n', b"[]\n"])
def test_an_answer_of_something_else_is_not_understood(place: Meeting, answer: bytes) -> None:
    with engine(place.socket, says(answer)), pytest.raises(NoEngineError, match="cannot be read"):
        join(place, FIRST, SECONDS)


def test_a_suspended_engine_is_not_waited_for(place: Meeting) -> None:
    with engine(place.socket, stays_silent), pytest.raises(NoEngineError, match="suspended"):
        join(place, FIRST, 0.05)


def test_an_engine_may_ask_a_process_to_serve_alone(place: Meeting) -> None:
    alone = says(hello.encode({"alone": "it has no time"}))
    with engine(place.socket, alone), pytest.raises(NoEngineError, match="it has no time") as raised:
        join(place, FIRST, SECONDS)
    assert not isinstance(raised.value, MisconfiguredError)


def test_a_wrong_configuration_is_distinguished_because_it_may_be_repaired(place: Meeting) -> None:
    alone = says(hello.encode({"alone": "it is wrong", "misconfigured": True}))
    with engine(place.socket, alone), pytest.raises(MisconfiguredError, match="it is wrong"):
        join(place, FIRST, SECONDS)


def test_an_environment_that_is_too_large_is_not_sent(place: Meeting) -> None:
    with pytest.raises(NoEngineError, match="too large"):
        join(place, {**FIRST, "variables": {"X": "x" * hello.MAX_BYTES}}, SECONDS)


def test_a_socket_of_another_user_is_not_used(place: Meeting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "is_same_user", lambda _connection: False)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place.socket)
        listening.listen()
        with pytest.raises(NoEngineError, match="another user"):
            join(place, FIRST, SECONDS)


def test_another_process_that_starts_an_engine_is_waited_for(place: Meeting) -> None:
    held = os.open(place.lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(NoEngineError, match=r"within 0\.05 s"):
        join(place, FIRST, 0.05)
    os.close(held)


def test_an_engine_that_cannot_start_is_reported_with_its_last_words(place: Meeting) -> None:
    with pytest.raises(NoEngineError, match="could not be started: it is broken"):
        join(place, FIRST, SECONDS)
    lock = joining._locked(place.lock)  # it is free again
    assert lock is not None
    os.close(lock)


def test_an_engine_that_starts_slowly_is_left_to_the_next_client(
    place: Meeting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "ends")
    monkeypatch.setattr(starting, "_PROGRAM", f"open({str(tmp_path / 'ends')!r}).read()")
    with pytest.raises(NoEngineError, match="takes long"):
        join(place, FIRST, 0.3)
    with pytest.raises(NoEngineError, match=r"within 0\.05 s"):  # it has the lock
        join(place, FIRST, 0.05)
    (tmp_path / "ends").write_text("")


def test_a_command_finds_no_engine_at_a_socket_that_was_left_behind(place: Meeting) -> None:
    assert ask(place.socket, FIRST, SECONDS) is None
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place.socket)
    assert ask(place.socket, FIRST, SECONDS) is None
