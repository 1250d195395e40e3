"""Clients that break the rules of HTTP, by bytes on a connection: refused, without harm to others."""

import json
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from processes.run import SECONDS, server

from fronts.http.serving import BOTH, META, MODERN, HttpServer, text

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}).encode()
SIZE = len(PING)
FIRST = (
    f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: {BOTH}\r\n"
    f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: server/discover\r\n"
).encode()
LENGTH, CHUNKED = b"Content-Length: %d\r\n" % SIZE, b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (SIZE, PING)
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
MOST_GROWTH = 64 << 20
"""Bytes by which the process may grow; each of the floods has more."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(tmp_path_factory.mktemp("home"), {"one": server("well_behaved")}, "--no-auth") as process:
        yield process


@pytest.fixture(autouse=True)
def others_are_served(running: HttpServer) -> Iterator[None]:
    yield
    with running.client() as client:
        assert text(client.asks("tools/call", name="one.echo", arguments={"words": "hello"})) == "hello"


def connection(running: HttpServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(running.url).port or 0), timeout=SECONDS)


def statuses(running: HttpServer, *parts: bytes) -> list[int]:
    """Send bytes; return the statuses of the responses until the server closes the connection."""
    heard = bytearray()
    with connection(running) as client:
        try:
            for part in parts:
                client.sendall(part)
            while data := client.recv(1 << 16):
                heard += data
        except OSError:  # it closed before it had read everything
            pass
    return [int(each) for each in re.findall(rb"HTTP/1\.1 (\d+)", heard)]


@pytest.mark.parametrize(
    "sent",
    [
        FIRST + LENGTH + CHUNKED + b"\r\n" + CHUNKS,
        FIRST + b"Content-Length: 4\r\n" + CHUNKED + b"\r\n" + CHUNKS + SMUGGLED,
        FIRST + b"Transfer-Encoding:\r\n chunked\r\n" + LENGTH + b"\r\n" + PING,
        FIRST + LENGTH + b"Content-Length: 1\r\n\r\n" + PING,
        FIRST + b"Content-Length: +1\r\n\r\n" + PING,
        FIRST + b"Content-Length: -1\r\n\r\n" + PING,
        FIRST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n" + PING,
        FIRST + b"Transfer-Encoding : chunked\r\n" + LENGTH + b"\r\n" + PING,
        FIRST + b"X-Any: a\rTransfer-Encoding: chunked\r\n" + LENGTH + b"\r\n" + PING,
        FIRST + b"X-Any: a\0b\r\n" + LENGTH + b"\r\n" + PING,
        FIRST + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
        FIRST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS,
        FIRST + CHUNKED + CHUNKED + b"\r\n" + CHUNKS,
        FIRST + CHUNKED + b"\r\n0x" + CHUNKS,
        FIRST + CHUNKED + b"\r\n-" + CHUNKS,
        FIRST + CHUNKED + b"\r\n" + b"f" * 30 + b"\r\n" + PING,
        FIRST + CHUNKED + b"\r\n" + CHUNKS.replace(b"}\r\n", b"}xx"),
        FIRST + b"Host: other.example\r\n" + LENGTH + b"\r\n" + PING,
        FIRST.replace(b"Host: 127.0.0.1\r\n", b"") + LENGTH + b"\r\n" + PING,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_a_request_whose_end_is_in_doubt_is_refused_and_nothing_behind_it_is_read(
    running: HttpServer, sent: bytes
) -> None:
    assert statuses(running, sent) == [400]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (FIRST + LENGTH + b"X-Any: a\r\n b\r\n\r\n" + PING, 200),  # "replace each received obs-fold with [...] SP"
        ((FIRST + LENGTH + b"\r\n").replace(b"\r\n", b"\n") + PING, 200),  # "MAY recognize a single LF"
        (FIRST + CHUNKED + b"\r\n" + CHUNKS.replace(b"\r\n", b";a=b\r\n", 1), 200),  # "MUST ignore unrecognized"
        (FIRST + CHUNKED + b"\r\n" + CHUNKS[:-2] + b"Authorization: x\r\n\r\n", 200),
        (FIRST + b"X-Any: \xff\xfe\r\n" + LENGTH + b"\r\n" + PING, 200),
        (FIRST.replace(b"/mcp", b"/mcp%ff") + LENGTH + b"\r\n" + PING, 404),
        (FIRST + LENGTH + b"\r\n" + PING[:-1] + b"\xff", 400),
    ],
)
def test_odd_requests_with_a_certain_end_get_one_response_each(running: HttpServer, sent: bytes, status: int) -> None:
    last = b"GET /last HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    assert statuses(running, sent + last) == [status, 404]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("first", "repeated", "times", "status"),
    [
        (FIRST, b"X-Any: a\r\n" * 1000, 100, 400),
        (FIRST + b"X-Any: ", b"a" * (1 << 20), 100, 400),
        (FIRST.replace(b"/mcp", b"/"), b"a" * (1 << 20), 100, 400),
        (FIRST + b"Content-Length: 1000000000\r\n\r\n", b"a" * (1 << 20), 100, 413),
        (FIRST + CHUNKED + b"\r\n3b9aca00\r\n", b"a" * (1 << 20), 100, 413),
        (FIRST + CHUNKED + b"\r\n1;", b"a" * (1 << 20), 100, 400),
        (FIRST + CHUNKED + b"\r\n0\r\n", b"X-Any: a\r\n" * 1000, 100, 400),
    ],
    ids=["headers", "header", "target", "body", "chunk", "chunk extension", "trailers"],
)
def test_a_flood_is_not_kept(running: HttpServer, first: bytes, repeated: bytes, times: int, status: int) -> None:
    before = memory(running)
    assert statuses(running, first, *[repeated] * times) in ([status], [])  # a reset may overtake the response
    assert memory(running) - before < MOST_GROWTH


def test_the_refusal_of_a_long_body_is_read_by_a_client_that_sends_it_all_first(running: HttpServer) -> None:
    parts = [b"a" * (1 << 20)] * 5
    assert statuses(running, FIRST + b"Content-Length: %d\r\n\r\n" % len(b"".join(parts)), *parts) == [413]


def memory(running: HttpServer) -> int:
    """Return the most memory that the process had, in bytes."""
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{running.process.pid}/status").read_text("utf-8"))
    return int(kilobytes) << 10


def test_connections_that_send_no_request_keep_no_client_out(running: HttpServer) -> None:
    opened = [connection(running) for _ in range(200)]
    try:
        for number, each in enumerate(opened):
            each.sendall(b"" if number % 2 else FIRST)
        with running.client() as client:
            assert text(client.asks("tools/call", name="one.echo", arguments={"words": "hello"})) == "hello"
    finally:
        for each in opened:
            each.close()


def batch(number: int) -> list[dict[str, object]]:
    call = {"name": "one.echo", "arguments": {"words": "hello"}}
    return [{"jsonrpc": "2.0", "id": f"{each}", "method": "tools/call", "params": call} for each in range(number)]


def test_each_request_of_a_batch_counts(running: HttpServer) -> None:
    with running.client() as client:
        client.opens("2025-03-26")
        assert client.posts(batch(256)).status_code == 200
        with client.listening():
            assert client.posts(batch(256)).status_code == 429
            assert client.posts(batch(255)).status_code == 200
        assert client.posts(batch(257)).status_code == 400  # a batch has a limit, too
