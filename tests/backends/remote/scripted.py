"""An HTTP server that answers as a test scripts it, byte by byte, and keeps what it was sent."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from search_mcp.wire.structs import Struct

Json = dict[str, Any]


class Received(Struct, eq=False):
    """One request, and the connection to answer on."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader

    @property
    def message(self) -> Json:
        return dict(json.loads(self.body)) if self.body else {}

    @property
    def rpc(self) -> str:
        """The JSON-RPC method; the HTTP method of a request without a body."""
        return str(self.message.get("method", "response")) if self.body else self.method

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, status: int, body: bytes = b"", kind: str = "application/json", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
        lines += [f"Content-Type: {kind}"] if body else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join([*lines, "", ""]).encode() + body)

    async def result(self, result: Any, **headers: str) -> None:
        await self.answer(200, self.response(result), **headers)

    def response(self, result: Any) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": self.message["id"], "result": result}).encode()

    async def error(self, status: int, code: int, **members: Any) -> None:
        error = {"jsonrpc": "2.0", "error": {"code": code, "message": "no"}, **members}
        await self.answer(status, json.dumps(error).encode())

    async def stream(self, *events: bytes, **headers: str) -> None:
        """Begin a stream, which ends with the connection."""
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join([*lines, "", ""]).encode())
        for event in events:
            await self.raw(event)

    async def close(self) -> None:
        self.writer.close()

    async def closed(self) -> None:
        """Wait until the other side closes the connection."""
        await self.reader.read()


Script = Callable[[Received], Awaitable[None]]


class Scripted:
    """A legacy server with a session and one tool; `on` replaces the answer to a method."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.url = ""
        self.on: dict[str, Script] = {}
        self.sessions = 0
        self.changed = anyio.Event()

    def rpcs(self) -> list[str]:
        return [each.rpc for each in self.received]

    async def until(self, rpc: str, times: int = 1) -> Received:
        """Wait until it received a method that many times."""
        while self.rpcs().count(rpc) < times:
            self.changed = anyio.Event()
            await self.changed.wait()
        return [each for each in self.received if each.rpc == rpc][times - 1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
                method, path, _ = head[0].split(" ")
                headers = {
                    name.lower(): value.strip() for name, _, value in (each.partition(":") for each in head[1:] if each)
                }
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                request = Received(method, path, headers, body, writer, reader)
                self.received.append(request)
                self.changed.set()
                await self.on.get(request.rpc, self.answer)(request)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client closed the connection
        finally:
            writer.close()

    async def answer(self, request: Received) -> None:
        """Answer as a legacy server with a session does."""
        match request.rpc:
            case "initialize":
                self.sessions += 1
                await request.result(OPENED, Mcp_Session_Id=f"s{self.sessions}")
            case "tools/list":
                await request.result({"tools": [TOOL]})
            case "tools/call":
                await request.result(said("done"))
            case "GET":
                await request.answer(405)
            case "DELETE":
                await request.answer(200)
            case "server/discover":
                await request.error(400, -32000, id=None)
            case rpc if rpc.endswith("/list"):
                await request.result({rpc.split("/")[-2]: []})
            case _:
                await request.answer(202)


TOOL = {"name": "do", "inputSchema": {"type": "object"}}
OPENED = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
DISCOVERED = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}


def said(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}], "resultType": "complete"}


def event(data: bytes, message_id: str | None = None) -> bytes:
    identity = f"id: {message_id}\n".encode() if message_id is not None else b""
    return identity + b"data: " + data + b"\n\n"


@asynccontextmanager
async def scripted(tls: ssl.SSLContext | None = None) -> AsyncIterator[Scripted]:
    """Serve on a free port."""
    served = Scripted()
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=tls)
    served.url = f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    try:
        yield served
    finally:
        server.close()
        for each in served.received:
            each.writer.close()
