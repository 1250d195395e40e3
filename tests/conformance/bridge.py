"""Streamable HTTP in front of a stdio server, for a suite that speaks only HTTP: `python bridge.py LOG COMMAND...`

A legacy session is a child process of its own, from `initialize` to DELETE; all modern requests go to one child.
Messages pass unchanged but for the ids of requests, which are minted here because a child has many clients. What
HTTP alone decides is answered here and never reaches a child: sessions, hosts, headers that contradict the body.
What a child says goes to the response stream it belongs to, else to that of the newest request, else to the
session's GET stream.

Prints its port and lives until its stdin ends. LOG gets every line of every child, `>` written and `<` read.
"""

import itertools
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit
from uuid import uuid4

import anyio
import anyio.abc
import anyio.to_thread
import uvicorn
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    validate_mcp_param_headers,
)
from mcp_types.jsonrpc import HEADER_MISMATCH, METHOD_NOT_FOUND, PARSE_ERROR
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

Message = dict[str, Any]

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
DISCOVER: Message = {
    "jsonrpc": "2.0",
    "id": "the bridge's own",
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN_PROTOCOL_VERSIONS[-1],
            "io.modelcontextprotocol/clientInfo": {"name": "bridge", "version": "1.0.0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
HOSTS = {"localhost", "127.0.0.1", "::1"}
END_SECONDS = 5  # what a child has to go once its stdin is closed
LONGEST_LINE = 1 << 24  # bytes
WAITING = 1000  # messages; the suite never leaves that many unread


class Exchange:
    """One request that is being answered: what it is called on either side, and where its messages go."""

    def __init__(self, request: Message, number: int) -> None:
        self.id = request["id"]
        self.number = number
        self.token = _meta(request).get("progressToken")
        self.listens = request["method"] == "subscriptions/listen"
        self.send, self.receive = anyio.create_memory_object_stream[Message](WAITING)


class Child:
    """A stdio server, and whom each of its messages is for."""

    def __init__(self, process: anyio.abc.Process, log: IO[str]) -> None:
        self._process = process
        self._log = log
        self._numbers = itertools.count(1)
        self._exchanges: dict[int, Exchange] = {}
        self._unrelated, self.unrelated = anyio.create_memory_object_stream[Message](WAITING)

    @asynccontextmanager
    async def asked(self, request: Message) -> AsyncIterator[Exchange]:
        """Send a request; to leave before its response is there cancels it."""
        exchange = Exchange(request, next(self._numbers))
        self._exchanges[exchange.number] = exchange
        try:
            await self._write({**request, "id": exchange.number})
            yield exchange
        finally:
            if self._exchanges.pop(exchange.number, None) is not None:
                with anyio.CancelScope(shield=True):
                    params = {"requestId": exchange.number, "reason": "its client is gone"}
                    await self._write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    async def tell(self, message: Message) -> None:
        """Pass on a client's notification, or its answer to the child."""
        if message.get("method") == "notifications/cancelled":
            params = message["params"]
            numbers = [each.number for each in self._exchanges.values() if each.id == params["requestId"]]
            if not numbers:
                return
            message = {**message, "params": {**params, "requestId": numbers[-1]}}
        await self._write(message)

    async def _write(self, message: Message) -> None:
        line = json.dumps(message, ensure_ascii=False)
        self._note(">", line)
        assert self._process.stdin is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it ended; `read` tells who waits
            await self._process.stdin.send(line.encode() + b"\n")

    async def read(self) -> None:
        """Give out what the child says, until it ends."""
        assert self._process.stdout is not None
        lines = BufferedByteReceiveStream(self._process.stdout)
        try:
            while True:
                line = (await lines.receive_until(b"\n", LONGEST_LINE)).decode()
                self._note("<", line)
                self._give(json.loads(line))
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError):
            for number in list(self._exchanges):
                self._give({"jsonrpc": "2.0", "id": number, "error": {"code": -32000, "message": "the child ended"}})

    def _note(self, direction: str, line: str) -> None:
        self._log.write(f"{direction} {self._process.pid} {line}\n")
        self._log.flush()

    def _give(self, message: Message) -> None:
        if "method" in message:
            exchange = self._related(message)
            if exchange is None:
                self._unrelated.send_nowait(message)
            else:
                exchange.send.send_nowait(_with_subscription(message, "params", exchange))
            return
        exchange = self._exchanges.pop(message["id"], None)
        if exchange is not None:  # else it is gone, and so is its client
            exchange.send.send_nowait(_with_subscription({**message, "id": exchange.id}, "result", exchange))

    def _related(self, message: Message) -> Exchange | None:
        subscription = _meta(message).get(SUBSCRIPTION)
        if subscription is not None:
            return self._exchanges.get(subscription)
        open_ones = [each for each in self._exchanges.values() if not each.listens]
        if message["method"] == "notifications/progress":
            open_ones = [each for each in open_ones if each.token == message["params"]["progressToken"]]
        return open_ones[-1] if open_ones else None

    async def end(self) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.aclose()
        with anyio.move_on_after(END_SECONDS):
            await self._process.wait()
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


def _meta(message: Message) -> Message:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _with_subscription(message: Message, part: str, exchange: Exchange) -> Message:
    """Call a subscription what its client calls it."""
    body = message.get(part)
    if not isinstance(body, dict) or SUBSCRIPTION not in body.get("_meta", {}):
        return message
    return {**message, part: {**body, "_meta": {**body["_meta"], SUBSCRIPTION: exchange.id}}}


class Bridge:
    """The HTTP side: an ASGI application."""

    def __init__(self, command: list[str], log: IO[str], tasks: anyio.abc.TaskGroup) -> None:
        self._command = command
        self._log = log
        self._tasks = tasks
        self._sessions: dict[str, Child] = {}
        self._modern: Child | None = None
        self._spare: list[Child] = []
        self._taking = anyio.Lock()
        self._opening = anyio.Lock()

    async def prepare(self) -> None:
        """Have a child ready for whoever comes next: starting one takes longer than most scenarios."""
        async with self._taking:
            if not self._spare:
                child = Child(await anyio.open_process(self._command, stderr=None), self._log)
                self._tasks.start_soon(child.read)
                self._spare.append(child)

    async def _take(self) -> Child:
        await self.prepare()
        child = self._spare.pop()
        self._tasks.start_soon(self.prepare)
        return child

    async def end(self) -> None:
        async with self._taking, anyio.create_task_group() as ends:
            for child in (*self._sessions.values(), *self._spare, *filter(None, [self._modern])):
                ends.start_soon(child.end)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        session = request.headers.get(SESSION)
        if not _is_local(request):
            await self._reply(request, Response(status_code=403))
        elif session is not None:
            await self._in_session(request, session)
        elif request.method == "POST":
            await self._posted(request)
        else:
            await self._reply(request, Response(status_code=405))

    async def _in_session(self, request: Request, session: str) -> None:
        child = self._sessions.get(session)
        if child is None:
            await self._reply(request, Response(status_code=404))
        elif request.method == "DELETE":
            del self._sessions[session]
            self._tasks.start_soon(child.end)
            await self._reply(request, Response(status_code=200))
        elif request.method == "GET":
            await self._unrelated(request, child)
        else:
            await self._pass_on(request, child, await request.json(), {})

    async def _posted(self, request: Request) -> None:
        """Answer what is of no session: it opens one, or is modern."""
        try:
            message = await request.json()
        except ValueError:
            await self._refuse(request, None, PARSE_ERROR, "Parse error")
            return
        if request.headers.get(VERSION) in MODERN_PROTOCOL_VERSIONS or message["method"] != "initialize":
            await self._stateless(request, message)
            return
        session = uuid4().hex
        self._sessions[session] = await self._take()
        await self._pass_on(request, self._sessions[session], message, {SESSION: session})

    async def _stateless(self, request: Request, message: Message) -> None:
        if message["method"] == "initialize":
            # Over stdio it opens the other era, whatever its `_meta`; over HTTP the header has said that it is modern.
            await self._refuse(request, message["id"], METHOD_NOT_FOUND, "Method not found")
            return
        child = await self._modern_child()
        verdict = classify_inbound_request(message, headers=request.headers)
        rejection = verdict if isinstance(verdict, InboundLadderRejection) else None
        if rejection is None:
            rejection = await self._check_arguments(request, child, message)
        if rejection is not None and rejection.code == HEADER_MISMATCH:
            await self._refuse(request, message.get("id"), HEADER_MISMATCH, rejection.message)
        else:  # whatever else is wrong with it is for the child to say
            await self._pass_on(request, child, message, {})

    async def _modern_child(self) -> Child:
        """Open the one child of all modern requests as a client over stdio does: its first request fixes the era."""
        async with self._opening:
            if self._modern is None:
                child = await self._take()
                async with child.asked(DISCOVER) as exchange:
                    await exchange.receive.receive()
                self._modern = child
            return self._modern

    async def _check_arguments(self, request: Request, child: Child, message: Message) -> InboundLadderRejection | None:
        """Compare headers that mirror arguments with these, by the schema that the child lists."""
        if message["method"] != "tools/call" or not message["params"].get("arguments"):
            return None
        listing = {**message, "method": "tools/list", "params": {"_meta": message["params"]["_meta"]}}
        async with child.asked(listing) as exchange:
            answer = await exchange.receive.receive()
        schemas = {tool["name"]: tool["inputSchema"] for tool in answer["result"]["tools"]}
        schema = schemas.get(message["params"]["name"], {})
        return validate_mcp_param_headers(schema, message["params"]["arguments"], request.headers)

    async def _pass_on(self, request: Request, child: Child, message: Message, headers: dict[str, str]) -> None:
        """Answer in JSON if the response is all there is to say, else in a stream."""
        if "id" not in message or "method" not in message:
            await child.tell(message)
            await self._reply(request, Response(status_code=202))
            return
        async with child.asked(message) as exchange, anyio.create_task_group() as watching:
            watching.start_soon(_cancel_when_gone, request, watching.cancel_scope)
            said = await exchange.receive.receive()
            if "method" not in said:
                code = said.get("error", {}).get("code")
                status = 200 if SESSION in (*request.headers, *headers) else ERROR_CODE_HTTP_STATUS.get(code, 200)
                await self._reply(request, JSONResponse(said, status, headers))
            else:
                await self._start_stream(request, headers)
                while "method" in said:
                    await self._send_event(request, said)
                    said = await exchange.receive.receive()
                await self._send_event(request, said, last=True)
            watching.cancel_scope.cancel()

    async def _unrelated(self, request: Request, child: Child) -> None:
        """Send what belongs to no request, for as long as the client listens."""
        async with anyio.create_task_group() as watching:
            watching.start_soon(_cancel_when_gone, request, watching.cancel_scope)
            await self._start_stream(request, {})
            while True:
                await self._send_event(request, await child.unrelated.receive())

    async def _refuse(self, request: Request, message_id: object, code: int, why: str) -> None:
        body = {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": why}}
        await self._reply(request, JSONResponse(body, ERROR_CODE_HTTP_STATUS[code]))

    async def _reply(self, request: Request, response: Response) -> None:
        await response(request.scope, request.receive, request._send)

    async def _start_stream(self, request: Request, headers: dict[str, str]) -> None:
        named = {"content-type": "text/event-stream", "cache-control": "no-cache", **headers}
        lines = [(name.encode(), value.encode()) for name, value in named.items()]
        await request._send({"type": "http.response.start", "status": 200, "headers": lines})
        await request._send({"type": "http.response.body", "body": b"", "more_body": True})

    async def _send_event(self, request: Request, message: Message, *, last: bool = False) -> None:
        event = f"event: message\ndata: {json.dumps(message)}\n\n".encode()
        await request._send({"type": "http.response.body", "body": event, "more_body": not last})


def _is_local(request: Request) -> bool:
    """Whether a browser was not tricked into this: a page elsewhere names its own host."""
    named = [f"//{request.headers.get('host', '')}"]
    if "origin" in request.headers:
        named.append(request.headers["origin"])
    return all(urlsplit(each).hostname in HOSTS for each in named)


async def _cancel_when_gone(request: Request, scope: anyio.CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def serve(command: list[str], log: IO[str]) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    async with anyio.create_task_group() as tasks:
        bridge = Bridge(command, log, tasks)
        await bridge.prepare()
        # On a busy machine a connection is idle for longer than uvicorn's 5 s, and closing it makes a request fail.
        config = uvicorn.Config(
            bridge, lifespan="off", log_level="warning", timeout_graceful_shutdown=1, timeout_keep_alive=600
        )
        server = uvicorn.Server(config)
        tasks.start_soon(server.serve, [listener])
        print(listener.getsockname()[1], flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)
        server.should_exit = True
        await bridge.end()


if __name__ == "__main__":
    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        anyio.run(serve, sys.argv[2:], file)
