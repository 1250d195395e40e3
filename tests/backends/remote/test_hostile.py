"""Servers that attack: their own calls may fail, and the event loop and the other servers must not notice."""

import gzip
import logging
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import pytest

from backends.remote.reached import at, reached
from backends.remote.scripted import Received, Scripted, event, said, scripted
from search_mcp.backends.remote import channel
from search_mcp.backends.remote.reading import CHUNK_BYTES, PIECE_BYTES


@pytest.fixture
async def server() -> AsyncIterator[Scripted]:
    async with scripted() as served:
        yield served


class Turns:
    """Counts the turns that others get from the event loop."""

    def __init__(self) -> None:
        self.count = 0

    async def run(self) -> None:
        while True:
            self.count += 1
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("padding", [b":\n", b"data:{}\n\n"])
async def test_others_run_while_compressed_data_grows(
    server: Scripted, layers: int, padding: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A megabyte of comments, or of events that are no messages, takes a kilobyte on the wire."""
    caplog.set_level(logging.CRITICAL)
    turns = Turns()
    before: list[int] = []

    async def call(request: Received) -> None:
        packed = padding * ((1 << 20) // len(padding)) + event(request.response(said("done")))
        for _ in range(layers):
            packed = gzip.compress(packed)
        before.append(turns.count)
        await request.stream(packed, Content_Encoding=", ".join(["gzip"] * layers))
        await request.close()

    server.on["tools/call"] = call
    async with reached(at(server.url), limit=4 << 20) as there, anyio.create_task_group() as tasks:
        await there.ready()
        tasks.start_soon(turns.run)
        assert await there.text("do") == "done"
        assert turns.count - before[0] > (1 << 20) // PIECE_BYTES
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "head", ["200 X\r\nContent-Type: application/json", "500 X", "500 X\r\nContent-Encoding: gzip"]
)
async def test_others_run_while_a_body_arrives_in_tiny_chunks(server: Scripted, head: str) -> None:
    """Thousands of chunks arrive at once; compressed ones may all be the name of a file, and no data."""
    turns, chunks = Turns(), 5_000
    before: list[int] = []

    async def call(request: Received) -> None:
        before.append(turns.count)
        start = b"\x1f\x8b\x08\x08" + bytes(6) if "gzip" in head else b"  "
        body = b"%x\r\n%b\r\n" % (len(start), start) + b"2\r\nno\r\n" * chunks
        await request.raw(f"HTTP/1.1 {head}\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + body + b"0\r\n\r\n")

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there, anyio.create_task_group() as tasks:
        await there.ready()
        tasks.start_soon(turns.run)
        await there.error("do")
        assert turns.count - before[0] > chunks * CHUNK_BYTES // PIECE_BYTES
        tasks.cancel_scope.cancel()


async def test_too_many_layers_of_compression_are_an_error(server: Scripted) -> None:
    async def call(request: Received) -> None:
        await request.answer(200, b"x", Content_Encoding=", ".join(["gzip"] * 20))

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        message, _ = await there.error("do")
    assert "cannot be decompressed" in message


@pytest.mark.parametrize("name", ["é", "日本 a", "\x01"])
async def test_an_event_id_may_be_any_text(server: Scripted, name: str) -> None:
    called: list[Received] = []

    async def call(request: Received) -> None:
        called.append(request)
        await request.stream(f"retry: 1\nid: {name}\ndata:\n\n".encode())
        await request.close()

    async def stream(request: Received) -> None:
        if "last-event-id" not in request.headers:
            await request.answer(405)
            return
        assert request.headers["last-event-id"] == name
        await request.stream(event(called[0].response(said("late")), "p2"))
        await request.close()

    server.on |= {"tools/call": call, "GET": stream}
    async with reached(at(server.url)) as there:
        assert await there.text("do") == "late"


async def test_a_bug_ends_the_request_that_it_happens_to(
    server: Scripted, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def parser(_limit: int) -> None:
        raise ZeroDivisionError

    async def call(request: Received) -> None:
        monkeypatch.setattr(channel, "EventParser", parser)
        await request.stream()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        message, data = await there.error("do")
    assert "search-mcp failed" in message
    assert data["mayHaveRun"]
    assert "ZeroDivisionError" in caplog.text


async def test_a_stream_is_not_opened_again_at_once_whatever_the_server_asks_for(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "SHORTEST_RETRY_SECONDS", 3600.0)

    async def stream(request: Received) -> None:
        await request.stream(b"retry: 0\n\n")
        await request.close()

    server.on["GET"] = stream
    async with reached(at(server.url)) as there:
        await server.until("GET")
        for _ in range(10):
            await there.text("do")
    assert server.rpcs().count("GET") == 1


@pytest.mark.parametrize(
    ("status", "kind", "location"),
    [
        (307, "", f"http://other/{'x' * 50_000}"),
        (307, "", f"http://{'a.' * 25_000}other/"),
        (500, "a/b" * 20_000, ""),
        (0, "", ""),
    ],
)
async def test_a_long_text_of_a_server_is_cut(server: Scripted, status: int, kind: str, location: str) -> None:
    async def call(request: Received) -> None:
        if status == 0:
            await request.raw(b"HTTP/1.1 200 OK\r\n" + b"x" * 50_000 + b"\r\n\r\n")  # no header, which h11 quotes
        await request.answer(status, b"x", kind, **({"Location": location} if location else {}))

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        message, data = await there.error("do")
    assert len(message) + len(data["reason"]) < 1000
