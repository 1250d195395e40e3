"""Minimal remote MCP server, the counterpart of `backend.py` over Streamable HTTP.

    python -E -s -S remote_backend.py [--events] [--modern] [--tools N | --tools FILE]

It prints its address and exits when its stdin is closed. It has `echo(text)` and `bulk(size)`, and gives each session
an id. Its answers are JSON, or with `--events` streams of one event. With `--modern` it is of both eras, otherwise of
the legacy era. It reads only the parts of a request that it needs, and offers no stream of its own.
"""

import asyncio
import json
import os
import re
import sys
import threading

import backend

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
EMPTY = b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n"
ACCEPTED, NOT_ALLOWED = EMPTY % b"202 Accepted", EMPTY % b"405 Method Not Allowed"
JSON = b"HTTP/1.1 %s\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
EVENT = b"event: message\ndata: %s\n\n"
EVENTS = (
    b"HTTP/1.1 %s\r\n%sContent-Type: text/event-stream\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"%x\r\n%s\r\n0\r\n\r\n"
)
SESSION = b"Mcp-Session-Id: 6f1f6e0a-6a3c-4f0e-9a3f-0d9a3a1f7c55\r\n"
CAPABILITIES = {"tools": {}, "logging": {}}
INFO = {"name": "backend", "version": "1"}
DISCOVERED = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": CAPABILITIES,
    "serverInfo": INFO,
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}


class Connection(asyncio.Protocol):
    """One connection of a client; requests on it are answered in order."""

    def __init__(self, tools: bytes, *, sends_events: bool, is_modern: bool) -> None:
        self._tools, self._sends_events, self._is_modern = tools, sends_events, is_modern
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (head_end := self._received.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self._received, 0, head_end)
            end = head_end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < end:
                return
            method, body = self._received.partition(b" ")[0], self._received[head_end + 4 : end]
            self._received = self._received[end:]
            self._transport.write(self._response(method, body))

    def _response(self, http_method: bytes, body: bytes) -> bytes:
        if http_method != b"POST":
            return ACCEPTED if http_method == b"DELETE" else NOT_ALLOWED
        message = json.loads(body)
        if "id" not in message:
            return ACCEPTED
        method = message["method"]
        if method == "server/discover" and not self._is_modern:
            error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}'
            return JSON % (b"400 Bad Request", b"", len(error), error)
        answer = b'{"jsonrpc":"2.0","id":%s,%s}' % (
            json.dumps(message["id"]).encode(),
            self._answer(method, message.get("params", {})),
        )
        session = SESSION if method == "initialize" else b""
        if self._sends_events:
            event = EVENT % answer
            return EVENTS % (b"200 OK", session, len(event), event)
        return JSON % (b"200 OK", session, len(answer), answer)

    def _answer(self, method: str, params: dict) -> bytes:
        """Return the member `result` or `error` of a response."""
        if method == "tools/call" and params["name"] in ("echo", "bulk"):
            arguments = params["arguments"]
            text = arguments["text"] if params["name"] == "echo" else "x" * arguments["size"]
            return (
                b'"result":{"content":[{"type":"text","text":%s}],"resultType":"complete"}' % json.dumps(text).encode()
            )
        if method == "tools/list":
            return b'"result":{"tools":%s,"resultType":"complete","ttlMs":0,"cacheScope":"private"}' % self._tools
        if method == "initialize":
            opened = {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES, "serverInfo": INFO}
            return b'"result":' + json.dumps(opened).encode()
        if method == "server/discover":
            return b'"result":' + json.dumps(DISCOVERED).encode()
        if method == "ping":
            return b'"result":{}'
        return b'"error":{"code":-32601,"message":"Method not found"}'


async def serve(tools: bytes, *, sends_events: bool, is_modern: bool) -> None:
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(tools, sends_events=sends_events, is_modern=is_modern), "127.0.0.1", 0
    )
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", flush=True)
    await server.serve_forever()


def exit_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    threading.Thread(target=exit_with_stdin, daemon=True).start()
    tools = sys.argv[sys.argv.index("--tools") + 1] if "--tools" in sys.argv else str(len(backend.OWN))
    asyncio.run(
        serve(backend.definitions(tools), sends_events="--events" in sys.argv, is_modern="--modern" in sys.argv)
    )


if __name__ == "__main__":
    main()
