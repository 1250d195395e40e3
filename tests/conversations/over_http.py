"""The scripted servers of the conversations behind HTTP: the same scenarios, with a request for each message.

There are no sockets: the HTTP client of search-mcp is real, and what it sends is taken and answered in the same event
loop, so that the test controls the time here too. Every request is judged by the rules for its headers.
Sources: docs/specification/2026-07-28/basic/transports/streamable-http.mdx and docs/specification/2025-11-25/basic/
transports.mdx.
"""

import base64
import itertools
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx2
import msgspec

from conversations.back import LISTS, Back, FakeChannel
from conversations.neighbour import Neighbour
from conversations.pair import Pair
from conversations.transcript import Said, encode
from conversations.words import VERSION
from search_mcp.backends.dependencies import Dependencies, LastCall
from search_mcp.config.schema import Remote, ServerConfig
from search_mcp.wire.structs import replace

ORIGIN = "http://localhost/"
EVENTS, JSON = "text/event-stream", "application/json"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
BAD_REQUESTS = {-32700, -32600, -32602, -32020, -32021, -32022}
"""Errors that a modern server answers with the status 400."""
OPENING = ("initialize", "server/discover")
_Members = msgspec.json.Decoder(dict[str, msgspec.Raw])


class HttpPair(Pair):
    """The client, the servers and search-mcp of a scenario, with the servers behind HTTP."""

    def __init__(self, front: str, back: str, *, is_beside_a_busy_client: bool = False) -> None:
        self._by_url: dict[str, Back] = {}
        super().__init__(front, back, is_beside_a_busy_client=is_beside_a_busy_client)

    def with_server(self, name: str, revision: str | None = None, **config: Any) -> Back:
        back = super().with_server(name, revision, **config)
        back.is_cancelled_by_closing = back.is_modern
        return back

    def _server(self, name: str, back: Back) -> ServerConfig:
        url = ORIGIN + str(list(self.backs).index(name))
        self._by_url[url] = back
        remote = Remote(url=url, oauth=None, public_url=url)
        return ServerConfig(name=name, command="", remote=remote, **back.config)

    def _dependencies(self) -> Dependencies:
        # Nothing is read later than it arrives: the clock of calls never stands still, and so no call is recent.
        ticks = itertools.count()
        never_recent = LastCall(lambda: float(next(ticks)))
        return replace(super()._dependencies(), new_http_client=self._new_client, last_call=never_recent)

    def _new_client(self, remote: Remote) -> httpx2.AsyncClient:
        served = Served(self._by_url[remote.url])
        return httpx2.AsyncClient(transport=served, headers=remote.headers, trust_env=False)

    def _world_of(self, neighbour: Neighbour) -> dict[str, Any]:
        def new_client(remote: Remote) -> httpx2.AsyncClient:
            served = Served(neighbour.own_server(self._by_url[remote.url].name))
            return httpx2.AsyncClient(transport=served, headers=remote.headers, trust_env=False)

        return {"new_http_client": new_client}


class Stream(httpx2.AsyncByteStream):
    """What a server sends on one connection: whole messages until it ends, breaks, or the client closes it."""

    def __init__(self, on_close: Callable[[], None]) -> None:
        self._messages: deque[bytes] = deque()
        self._changed = anyio.Event()
        self._on_close = on_close
        self.is_over = self.is_broken = False

    def send(self, message: bytes) -> None:
        self._messages.append(message)
        self._wake()

    def end(self) -> None:
        """End it after the messages that were sent."""
        self.is_over = True
        self._wake()

    def break_off(self) -> None:
        self._messages.clear()
        self.is_broken = True
        self.end()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def begins(self) -> bytes | None:
        """Wait for the first message and return it; `None` if there is none."""
        while not self._messages and not self.is_over:
            await self._changed.wait()
        if self.is_broken:
            raise httpx2.ReadError("it is gone")
        return self._messages[0] if self._messages else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b": open\n\n"
        while True:
            while self._messages:
                message = self._messages.popleft()
                yield b"event: message\n" + b"".join(b"data: %b\n" % line for line in message.splitlines()) + b"\n"
            if self.is_broken:
                raise httpx2.ReadError("it is gone")
            if self.is_over:
                return
            await self._changed.wait()

    async def aclose(self) -> None:
        self._on_close()


class HttpChannel(FakeChannel):
    """One process of a scripted server, which knows its sessions until it exits."""

    def __init__(self, back: Back) -> None:
        super().__init__(back, self._route, lambda: None)
        self.open: dict[int | str, Stream] = {}  # by request, oldest first
        self.listening: set[int | str] = set()
        self.news = Stream(lambda: None)  # what is sent without a request (legacy), before and while it is read
        self.session: str | None = None
        self.version: str | None = None  # as negotiated

    def exit(self, code: int, words: str) -> None:
        super().exit(code, words)
        for stream in (*self.open.values(), self.news):
            stream.break_off()
        self.open.clear()

    def _route(self, chunk: bytes) -> None:
        """Put messages of the server on the streams that they belong on."""
        for line in chunk.splitlines():
            message = _members(line)
            answered = _key(message.get("id")) if "method" not in message else None
            if answered is not None and answered in self.open:
                stream = self.open.pop(answered)
                stream.send(line)
                stream.end()
            else:
                self._stream_of(message).send(line)

    def _stream_of(self, message: dict[str, bytes]) -> Stream:
        params = _members(message.get("params"))
        subscription = _members(params.get("_meta")).get("io.modelcontextprotocol/subscriptionId")
        for each in map(_key, (params.get("progressToken"), subscription)):
            if each is not None and each in self.open:
                return self.open[each]
        calls = [stream for key, stream in self.open.items() if key not in self.listening]
        if calls and not message.get("method", b"").endswith((b'list_changed"', b'updated"')):
            return calls[-1]
        listening = [stream for key, stream in self.open.items() if key in self.listening]
        return listening[-1] if listening else self.news


class Served(httpx2.AsyncBaseTransport):
    """A scripted server, as one client of it reaches it."""

    def __init__(self, back: Back) -> None:
        self._back = back
        back.channels.append(HttpChannel(back))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        channel, headers, is_modern = self._back.channel, request.headers, self._back.is_modern
        if self._back.is_unreachable:
            raise httpx2.ConnectError("nothing is there")
        if channel.has_ended() and is_modern:
            channel = HttpChannel(self._back)  # the next process serves it without a word
            self._back.channels.append(channel)
        assert isinstance(channel, HttpChannel)
        said = Said(await request.aread() + b"\n") if request.method == "POST" else None
        if not is_modern and (said is None or said.method not in OPENING):
            # "it MUST respond to requests containing that session ID with HTTP 404 Not Found"
            if channel.has_ended() or headers.get("mcp-session-id") != channel.session:
                return httpx2.Response(404, text="no such session")
        elif channel.has_ended():
            raise httpx2.ConnectError("nothing is there")
        if request.method == "GET" and not is_modern:
            return self._streams(channel.news)
        if request.method == "DELETE" and not is_modern:
            channel.ends.append("delete")
            return httpx2.Response(200)
        if said is None:
            return httpx2.Response(405)
        with self._back.pair.judging():
            self._judge(channel, said, headers)
        if said.method is None or "id" not in said.body:
            self._back.hear(channel, said)
            return httpx2.Response(202)
        return await self._answered(channel, said)

    async def aclose(self) -> None:
        self._back.channel.exit(0, "")

    async def _answered(self, channel: HttpChannel, said: Said) -> httpx2.Response:
        key = said.id
        assert key is not None
        stream = Stream(lambda: self._on_close(channel, said))
        channel.open[key] = stream
        if said.method == "subscriptions/listen":
            channel.listening.add(key)
        self._back.hear(channel, said)
        try:
            first = await stream.begins()
        except BaseException:
            await stream.aclose()
            raise
        if first is None:
            return httpx2.Response(202)
        error = _members(_members(first).get("error"))
        # The two forms of an answer take turns.
        if (
            key in channel.open
            or _key(_members(first).get("id")) != key
            or (isinstance(key, int) and key % 2 > len(error))
        ):
            return self._streams(stream, self._opened(channel, said))
        status = self._status(_key(error.get("code")), is_opening=said.method in OPENING)
        return httpx2.Response(status, content=first, headers={"Content-Type": JSON, **self._opened(channel, said)})

    def _streams(self, stream: Stream, headers: dict[str, str] | None = None) -> httpx2.Response:
        return httpx2.Response(200, stream=stream, headers={"Content-Type": EVENTS, **(headers or {})})

    def _opened(self, channel: HttpChannel, said: Said) -> dict[str, str]:
        if said.method != "initialize":
            return {}
        channel.session = f"{self._back.name}-{channel.pid}"
        return {"Mcp-Session-Id": channel.session}

    def _status(self, code: int | str | None, *, is_opening: bool) -> int:
        if self._back.is_modern:
            return 404 if code == -32601 else 400 if code in BAD_REQUESTS else 200
        return 400 if is_opening and code is not None else 200

    def _on_close(self, channel: HttpChannel, said: Said) -> None:
        """Let the server hear that the client closed a stream, if it ended too early."""
        assert said.id is not None
        is_call = said.method not in (*OPENING, *LISTS)
        if channel.open.pop(said.id, None) is None or not self._back.is_modern or not is_call or channel.has_ended():
            return
        # "closing the SSE response stream is itself the cancellation signal": the scripted server knows the words.
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": said.id}}
        self._back.hear(channel, Said(encode(cancelled) + b"\n"))

    # Rules for requests

    def _judge(self, channel: HttpChannel, said: Said, headers: httpx2.Headers) -> None:
        assert headers["accept"] == "application/json, text/event-stream"
        assert headers["content-type"] == "application/json"
        assert b"\n" not in said.line[:-1]
        version = headers.get("mcp-protocol-version")
        if VERSION in said.meta:
            # "The header value MUST match the `io.modelcontextprotocol/protocolVersion` field"
            assert version == said.meta[VERSION], f"{version} over {said!r}"
            assert headers["mcp-method"] == said.method
            key = NAMED.get(said.method or "")
            assert _value(headers.get("mcp-name")) == (said.params[key] if key else None), f"{headers} over {said!r}"
            assert "mcp-session-id" not in headers
            return
        assert not [name for name in headers if name.startswith(("mcp-method", "mcp-name", "mcp-param"))]
        if said.method == "initialize":
            assert version is None
            assert "mcp-session-id" not in headers
        else:
            assert version in (channel.log.revision, None if channel.session is None else ""), (
                f"{version} over {said!r}"
            )


def _members(message: bytes | None) -> dict[str, bytes]:
    """Return the members of a JSON object by one level; nothing if it is none."""
    try:
        return {key: bytes(raw) for key, raw in _Members.decode(message or b"").items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _key(raw: bytes | None) -> int | str | None:
    """Decode an id, a token or a code; `None` if it is none."""
    try:
        return msgspec.json.decode(raw or b"", type=int | str)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def _value(header: str | None) -> str | None:
    """Return the value of a header as it was before it was encoded for it."""
    found = re.fullmatch(r"=\?base64\?(.*)\?=", header or "")
    return base64.b64decode(found[1]).decode() if found else header
