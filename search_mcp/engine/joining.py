"""Joining the engine process of a user: the connection to the running one, or the election of the one who starts it.

One process at a time holds the lock: the relay that starts an engine, then this engine until it ends. So there is one
engine at most, and the lock is released by the system whichever way its holder ends. Standard library only.
"""

import contextlib
import errno
import os
import socket
import time
from collections.abc import Sequence
from io import FileIO
from typing import NamedTuple

from search_mcp.engine import hello
from search_mcp.engine.hello import Json
from search_mcp.engine.meeting import Meeting, is_same_user

PATIENCE_SECONDS = 2.0
"""Time for finding or starting an engine; without one in this time, this process serves alone."""
LOOK_SECONDS = 0.02
"""Poll interval while another process starts the engine, in seconds."""
ANSWER_BYTES = 1 << 20
"""The longest first line of an engine."""
_NOBODY = (errno.ENOENT, errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE, errno.EAGAIN)


class NoEngineError(Exception):
    """There is no engine to join; the text is the reason."""


class MisconfiguredError(NoEngineError):
    """The configuration or an option is wrong, which this process reports itself unless it was repaired meanwhile."""


class Piped(NamedTuple):
    """The two pipes of a client to an engine, which come with the engine's answer."""

    incoming: FileIO
    outgoing: FileIO
    answer: Json

    def close(self) -> None:
        self.incoming.close()
        self.outgoing.close()


def join(place: Meeting, first: Json, patience_seconds: float = PATIENCE_SECONDS) -> Piped:
    """Connect a client to the engine, or start it and connect.

    Raises:
        NoEngineError: there is none in time.
    """
    deadline = time.monotonic() + patience_seconds
    try:
        while True:
            joined = _greet(place, first, deadline) or _start_and_greet(place, first, deadline)
            if joined is not None:
                return joined
            if time.monotonic() > deadline:
                raise NoEngineError(f"no engine was ready within {patience_seconds:g} s")
            time.sleep(LOOK_SECONDS)
    except OSError as exc:
        raise NoEngineError(str(exc)) from exc


def join_running(place: Meeting, first: Json, patience_seconds: float = PATIENCE_SECONDS) -> Piped | None:
    """Connect a client to the engine; return `None` if none is running.

    Raises:
        NoEngineError: it does not answer, or does not accept this process.
    """
    try:
        return _greet(place, first, time.monotonic() + patience_seconds)
    except OSError as exc:
        raise NoEngineError(str(exc)) from exc


def ask(path: str, first: Json, patience_seconds: float = PATIENCE_SECONDS) -> Json | None:
    """Send a command to the engine behind a socket; return its answer, or `None` if there is no engine.

    Raises:
        NoEngineError: it does not answer.
    """
    deadline = time.monotonic() + patience_seconds
    with contextlib.ExitStack() as opened:
        try:
            greeted = _greeted(path, first, deadline, opened, [])
            if greeted is None:
                return None
            connection, answer = greeted
            _wait_for_end(connection, deadline)
        except OSError as exc:
            raise NoEngineError(str(exc)) from exc
    return answer


def ask_started(place: Meeting, first: Json, patience_seconds: float) -> Json:
    """Send a command to the engine of a place, which is started if there is none; return its answer.

    Raises:
        NoEngineError: there is none in time, or it does not answer.
    """
    deadline = time.monotonic() + patience_seconds
    while time.monotonic() < deadline:
        answer = ask(place.socket, first, _left(deadline))
        if answer is not None:
            return answer
        try:
            _start(place, deadline)
        except OSError as exc:
            raise NoEngineError(str(exc)) from exc
        time.sleep(LOOK_SECONDS)
    raise NoEngineError(f"no engine was ready within {patience_seconds:g} s")


def _start(place: Meeting, deadline: float) -> None:
    """Start the engine, if no other process is starting it, or is it."""
    lock = _locked(place.lock)
    if lock is None:
        return
    from search_mcp.engine.starting import start_engine

    try:
        start_engine(place.socket, lock, deadline)
    finally:
        os.close(lock)  # the engine has a copy, and keeps the lock


def _wait_for_end(connection: socket.socket, deadline: float) -> None:
    """Wait until the engine closes the connection: after its answer, or, if it was told to stop, at its end.

    Raises:
        TimeoutError: it does not.
    """
    while True:
        connection.settimeout(_left(deadline))
        if not connection.recv(1 << 16):
            return


def _greet(place: Meeting, first: Json, deadline: float) -> Piped | None:
    """Connect a client, and take its pipes; return `None` if there is no engine, or one that is just ending."""
    pipes: list[int] = []
    with contextlib.ExitStack() as opened:
        greeted = _greeted(place.socket, first, deadline, opened, pipes)
        if greeted is None:
            return None
        if len(pipes) != 2:
            raise NoEngineError("the engine's pipes did not arrive; this process may have too many open files")
        incoming, outgoing = pipes
        pipes.clear()  # they stay open
    return Piped(FileIO(incoming, "r"), FileIO(outgoing, "w"), greeted[1])


def _greeted(
    path: str, first: Json, deadline: float, opened: contextlib.ExitStack, descriptors: list[int]
) -> tuple[socket.socket, Json] | None:
    """Connect and exchange the first lines; return `None` if there is no engine, or one that is just ending.

    `opened` closes the connection, and the descriptors that came with the answer and are still in the list.
    """
    line = hello.encode(first)
    if len(line) > hello.MAX_BYTES:
        raise NoEngineError("the environment is too large")
    try:
        connection = opened.enter_context(contextlib.closing(_connect(path, _left(deadline))))
        connection.sendall(line)
        opened.callback(_close, descriptors)
        answered = _line(connection, deadline, descriptors)
        answer = hello.decode(answered) if answered else None
    except TimeoutError as exc:
        raise NoEngineError("the engine does not answer; it may be suspended") from exc
    except hello.UnreadableHelloError as exc:
        raise NoEngineError(f"the engine's answer cannot be read: {exc}") from exc
    except OSError as exc:
        if exc.errno in _NOBODY:
            return None
        raise
    if answer is None:
        return None
    if "alone" in answer:
        raise (MisconfiguredError if "misconfigured" in answer else NoEngineError)(str(answer["alone"]))
    return connection, answer


def _connect(path: str, seconds: float) -> socket.socket:
    """Open a connection to a process of this user, with a time limit for this and for what is written.

    Raises:
        OSError: there is none.
        NoEngineError: it is a process of another user.
    """
    with contextlib.ExitStack() as kept:
        connection = kept.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        connection.settimeout(seconds)
        connection.connect(path)
        if not is_same_user(connection):
            raise NoEngineError("its socket belongs to another user")
        kept.pop_all()
    return connection


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())


def _line(connection: socket.socket, deadline: float, descriptors: list[int]) -> bytes:
    """Read one line, and append the descriptors that came; empty if the connection ends."""
    read = b""
    while b"\n" not in read and len(read) < ANSWER_BYTES:
        connection.settimeout(_left(deadline))
        chunk, received, _, _ = socket.recv_fds(connection, 1 << 16, 2)
        descriptors += received
        for each in received:
            os.set_inheritable(each, False)
        if not chunk:
            return b""
        read += chunk
    return read.partition(b"\n")[0]


def _close(descriptors: Sequence[int]) -> None:
    for each in descriptors:
        os.close(each)


def _start_and_greet(place: Meeting, first: Json, deadline: float) -> Piped | None:
    """Start the engine if no other process is starting it, or is it; return `None` if one is."""
    lock = _locked(place.lock)
    if lock is None:
        return None
    try:
        joined = _greet(place, first, deadline)  # by now, an engine may be there that releases the lock with its end
        if joined is not None:
            return joined
        from search_mcp.engine.starting import start_engine

        start_engine(place.socket, lock, deadline)
    finally:
        os.close(lock)  # the engine has a copy, and keeps the lock
    return _greet(place, first, deadline)


def _locked(path: str) -> int | None:
    """Open and lock a file; `None` if another process has locked it."""
    import fcntl

    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        os.close(lock)
        if isinstance(exc, BlockingIOError):
            return None
        raise
    return lock
