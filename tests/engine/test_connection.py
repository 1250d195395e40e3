"""A connection to an engine: the pipes that it hands over, and what is left open."""

import asyncio
import contextlib
import errno
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from search_mcp.engine import hello
from search_mcp.engine.connection import Connection
from search_mcp.engine.joining import Piped, ask, join
from search_mcp.engine.meeting import Meeting
from search_mcp.fronts.serve import Client
from search_mcp.fronts.stdio import PipeWriter, Writer

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc"),
]
SECONDS = 30.0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Meeting:
    monkeypatch.chdir(tmp_path)  # a relative path is short enough for a socket
    return Meeting(".", "one")


class Heard(Client):
    """A client that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__(None)
        self.data = b""

    def on_bytes(self, chunk: bytes) -> None:
        self.data += chunk
        self.spoke.set()


@asynccontextmanager
async def connections(place: Meeting) -> AsyncIterator["asyncio.Queue[Connection]"]:
    """Listen like an engine; give the connections of which the first line was read."""
    made: asyncio.Queue[Connection] = asyncio.Queue()
    every: list[Connection] = []

    def on_hello(connection: Connection, _line: bytes) -> None:
        every.append(connection)
        made.put_nowait(connection)

    server = await asyncio.get_running_loop().create_unix_server(lambda: Connection(on_hello), place.socket)
    async with server:
        yield made
        for each in every:
            each.abort()
        await closed()


async def closed() -> None:
    """Let the event loop close what is to be closed, which it does in its next turns."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def open_files() -> set[str]:
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the folder itself
            found.add(str(each.readlink()))
    return found


async def joins(place: Meeting) -> Piped:
    return await asyncio.to_thread(join, place, {"wants": "serve"}, SECONDS)


@asynccontextmanager
async def joined_by(client: Client, place: Meeting, **more: object) -> AsyncIterator[tuple[Connection, Writer, Piped]]:
    """Give a client pipes; yield the engine's connection and its writer, and what the relay has."""
    async with connections(place) as made, asyncio.timeout(SECONDS):
        joining = asyncio.create_task(joins(place))
        connection = await made.get()
        _, writer = await connection.open_streams(client)
        connection.accept({"pid": 7, **more})
        joined = await joining
        assert joined.answer["pid"] == 7
        with joined.incoming, joined.outgoing:
            yield connection, writer, joined


async def test_a_client_is_served_through_pipes_until_it_closes_them(place: Meeting) -> None:
    client, before = Heard(), open_files()
    async with joined_by(client, place) as (_, writer, joined):
        joined.outgoing.write(b"to the engine")
        await client.spoke.wait()
        assert client.data == b"to the engine"
        writer.write(b"to the client")
        assert await asyncio.to_thread(joined.incoming.read, 100) == b"to the client"
        joined.outgoing.close()
        await client.ended.wait()
        joined.incoming.close()
        await client.gone.wait()
    assert open_files() <= before


async def test_only_the_pipes_stay_open(place: Meeting) -> None:
    before = open_files()
    async with joined_by(Heard(), place):
        await closed()
        left = [each for each in open_files() - before if each.startswith("socket:")]
        assert len(left) == 1  # the one that listens


async def test_an_answer_may_be_larger_than_a_socket_takes_at_once(place: Meeting) -> None:
    notices = ["x" * 900_000]
    async with joined_by(Heard(), place, notices=notices) as (_, _, joined):
        assert joined.answer["notices"] == notices


async def test_nothing_stays_registered_if_opening_is_cancelled(
    place: Meeting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connections(place) as made, asyncio.timeout(SECONDS):
        asked = asyncio.create_task(asyncio.to_thread(ask, place.socket, {"wants": "status"}, SECONDS))
        connection = await made.get()

        async def cancelled(_pipe: object, _client: object) -> None:
            raise asyncio.CancelledError

        monkeypatch.setattr(PipeWriter, "connect", cancelled)
        loop: Any = asyncio.get_running_loop()
        before = dict(loop._selector.get_map())
        with pytest.raises(asyncio.CancelledError):
            await connection.open_streams(Heard())
        assert dict(loop._selector.get_map()) == before
        connection.answer({"pid": 7})
        connection.close()
        assert await asked is not None


async def test_a_connection_that_is_aborted_closes_its_pipes(place: Meeting) -> None:
    client = Heard()
    async with joined_by(client, place) as (connection, writer, joined):
        os.set_blocking(joined.incoming.fileno(), False)  # else a pipe that stays open would be waited for
        writer.write(b"x" * 10_000_000)
        connection.abort()
        await client.gone.wait()
        await client.ended.wait()
        rest = joined.incoming.readall()
        assert rest is not None
        assert len(rest) < 10_000_000
        assert joined.incoming.read() == b""
        with pytest.raises(BrokenPipeError):
            joined.outgoing.write(b"x")


@pytest.mark.parametrize("data", [b"", b"x" * 10_000_000])
async def test_a_connection_is_aborted_while_its_pipes_close(place: Meeting, data: bytes) -> None:
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, fault: faults.append(fault))
    client = Heard()
    async with joined_by(client, place) as (connection, writer, _):
        writer.write(data)
        writer.close()
        connection.abort()
        await client.gone.wait()
        await closed()
    assert faults == []


async def test_nothing_stays_open_for_a_client_that_is_gone(place: Meeting) -> None:
    async with connections(place) as made, asyncio.timeout(SECONDS):
        before = open_files()
        with socket.socket(socket.AF_UNIX) as gone:
            gone.connect(place.socket)
            gone.sendall(hello.encode({"wants": "serve"}))
        connection = await made.get()
        await connection.open_streams(Heard())
        with pytest.raises(OSError, match="Broken pipe"):
            connection.accept({"pid": 7})
        connection.abort()
        await closed()
        assert open_files() <= before


async def test_nothing_stays_open_if_there_are_too_many_files(place: Meeting, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, made_pipes = os.pipe, list[tuple[int, int]]()

    def limited() -> tuple[int, int]:
        if made_pipes:
            raise OSError(errno.EMFILE, "Too many open files")
        made_pipes.append(pipe())
        return made_pipes[0]

    async with connections(place) as made, asyncio.timeout(SECONDS):
        asked = asyncio.create_task(asyncio.to_thread(ask, place.socket, {"wants": "status"}, SECONDS))
        connection = await made.get()
        monkeypatch.setattr(os, "pipe", limited)
        with pytest.raises(OSError, match="Too many open files"):
            await connection.open_streams(Heard())
        monkeypatch.undo()
        for descriptor in made_pipes[0]:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(descriptor)
        connection.answer({"pid": 7})
        connection.close()
        assert await asked is not None
