"""The clients over HTTP: a gateway for each legacy session, and one for the modern requests of each principal.

Decides how long they live, and how many there may be. Modern requests stand alone; their state, such as parked calls,
lives as long as their principal uses it.
"""

import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, islice

import anyio
from anyio.abc import TaskGroup

from search_mcp import logs
from search_mcp.fronts.connection import Front
from search_mcp.fronts.http.access import Token
from search_mcp.fronts.http.requests import RefusedError
from search_mcp.fronts.http.streams import Stream
from search_mcp.gateway.gateway import Gateway
from search_mcp.model.calls import Viewer
from search_mcp.model.names import Kind
from search_mcp.wire.inflight import Way
from search_mcp.wire.structs import Raw

log = logging.getLogger(__name__)

IDLE_SECONDS = 1800.0
"""Time without a request or an open stream after which a client is forgotten, with its servers."""
LOOK_SECONDS = 30.0
"""Interval of the search for idle clients, and for edits of the tokens that the file watcher missed."""
MOST_STREAMS = 256
"""Streams of a session that are kept for a client that comes back."""
MOST_STREAM_BYTES = 4 << 20
"""Bytes of their messages."""
LONGEST_NUMBER = 18
"""Digits of a number in the id of an event."""
MOST_SESSIONS, MOST_IN_ALL = 64, 512
"""Sessions of one principal, and in all; the one of them that was idle longest ends for a new one."""


_VIEWER = Viewer(None, object_output_only=False)


def _drop(_line: bytes) -> None:
    """Write to no stream: a modern client has none but those of its requests."""


@dataclass(eq=False)
class Client:
    """A client: its gateway, its front, and what belongs to no request."""

    token: Token
    gateway: Gateway
    limit: int
    """Most bytes of a message."""
    session: str = ""
    """The id of its legacy session; empty for modern requests."""
    streams: dict[int, Stream] = field(default_factory=dict)
    """Those that a client can resume, by number."""
    open_requests: int = 0
    used_at: float = field(default_factory=time.monotonic)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def __post_init__(self) -> None:
        self._congested = 0
        self.background = Stream(self._on_congestion)
        """Messages that belong to no request."""
        write = self.background.write if self.session else _drop
        self.front = Front(self.gateway, write, self.limit)

    def new_stream(self) -> Stream:
        """Return the stream of a request."""
        stream = Stream(self._on_congestion, is_apart=not self.session)
        if self.session:
            sizes = accumulate(each.kept_bytes for each in reversed(self.streams.values()))
            kept = sum(size <= MOST_STREAM_BYTES for size in islice(sizes, MOST_STREAMS - 1))
            for oldest in list(self.streams)[: len(self.streams) - kept]:
                del self.streams[oldest]
            self.streams[stream.number] = stream
        return stream

    def schema(self, tool: str) -> Raw | None:
        """Return the input schema of a tool as the client was listed it; `None` if it was not."""
        item = self.gateway.shown_names(Kind.TOOLS, _VIEWER).find(tool)
        is_whole = item is not None and (item.pinned or self.gateway.audience(_VIEWER).profile.listing == "full")
        return item.fields.get("inputSchema") if item is not None and is_whole else None

    def forget(self, stream: Stream) -> None:
        """Keep a stream no longer: all of it was sent."""
        self.streams.pop(stream.number, None)

    def resumed(self, last_event: str | None) -> Stream:
        """Return the stream with this event, which goes on behind it; without one, that of no request."""
        number, _, position = (last_event or "").partition("-")
        if not (number.isdecimal() and position.isdecimal()) or max(len(number), len(position)) > LONGEST_NUMBER:
            return self.background
        # "The server MUST NOT replay messages that would have been delivered on a different stream."
        is_background = int(number) == self.background.number
        stream = self.background if is_background else self.streams.get(int(number), self.background)
        if stream.number == int(number):
            stream.rewind(int(position))
        return stream

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the client during the block."""
        self.open_requests += 1
        try:
            yield
        finally:
            self.open_requests -= 1
            self.used_at = time.monotonic()

    def take(self, body: bytes, stream: Stream | None) -> None:
        """Handle a message; `stream` is that of a request."""
        self.used_at = time.monotonic()
        self.front.peer.take(body, Way(_drop) if stream is None else stream.way)

    def end_listening(self) -> None:
        """End the streams that stay open until one side ends them."""
        self.background.end()
        self.front.end_subscriptions()

    def cancel(self, stream: Stream) -> None:
        """Cancel the request of a stream, if it is open: its client has closed it."""
        self.front.peer.cancel_way(stream.way)

    def _on_congestion(self, is_congested: bool) -> None:
        self._congested += 1 if is_congested else -1
        if is_congested and self._congested == 1:
            self.gateway.leases.pause_reading()
        elif not self._congested:
            self.gateway.leases.resume_reading()

    @property
    def is_idle(self) -> bool:
        return not self.open_requests and time.monotonic() - self.used_at > IDLE_SECONDS


class Clients:
    """All clients of one process, by principal."""

    def __init__(self, new_gateway: Callable[[Token], Gateway], limit: int) -> None:
        """`new_gateway` makes the gateway of a client with a token, whose name is the principal."""
        self._new_gateway, self._limit = new_gateway, limit
        self._modern: dict[str, Client] = {}
        self._sessions: dict[tuple[str, str], Client] = {}  # by principal and id: another's is not found
        self._tasks: TaskGroup | None = None

    def __iter__(self) -> Iterator[Client]:
        return iter((*self._modern.values(), *self._sessions.values()))

    async def run(self) -> None:
        """Run the clients, and forget the idle ones."""
        async with anyio.create_task_group() as self._tasks:
            while True:
                await anyio.sleep(LOOK_SECONDS)
                for client in [each for each in self if each.is_idle or not each.token.is_valid(time.time())]:
                    log.info("= a client over HTTP is forgotten: %s", "idle" if client.is_idle else "its token expired")
                    self.end(client)

    def modern(self, token: Token) -> Client:
        """Return the client that the modern requests of a principal are of."""
        if (known := self._modern.get(token.name)) is not None and known.token != token:
            self.end(known)  # its servers and rights are those of the former token
        if token.name not in self._modern:
            self._modern[token.name] = self._begun(Client(token, self._new_gateway(token), self._limit))
        return self._modern[token.name]

    def new_session(self, token: Token) -> Client:
        """Begin a legacy session."""
        all_of_them = list(self._sessions.values())
        mine = [each for each in all_of_them if each.token.name == token.name]
        for crowd, most in ((mine, MOST_SESSIONS), (all_of_them, MOST_IN_ALL)):
            if len(crowd) >= most:
                idle = [each for each in crowd if not each.open_requests]
                if not idle:
                    raise RefusedError(429, f"{most} sessions are open", ("retry-after", "5"))
                self.end(min(idle, key=lambda each: each.used_at))
                break
        session = secrets.token_urlsafe(24)
        client = Client(token, self._new_gateway(token), self._limit, session)
        self._sessions[token.name, session] = self._begun(client)
        return client

    def session(self, token: Token, session: str) -> Client | None:
        """Return a legacy session; another principal's is not found."""
        return self._sessions.get((token.name, session))

    def end(self, client: Client) -> None:
        """End a client: its requests, its streams, and its use of servers."""
        self._modern = {key: each for key, each in self._modern.items() if each is not client}
        self._sessions = {key: each for key, each in self._sessions.items() if each is not client}
        client.front.close()
        client.background.end()
        client.scope.cancel()

    def _begun(self, client: Client) -> Client:
        assert self._tasks is not None
        self._tasks.start_soon(self._run, client)
        return client

    async def _run(self, client: Client) -> None:
        logs.REQUEST.set("")  # this task outlives the request that started it
        try:
            with client.scope:
                async with client.gateway.running():
                    await anyio.sleep_forever()
        except Exception:  # a bug in one client's session must not end the others'
            log.exception("! bug in the session of a client over HTTP, which is ended")
            self.end(client)
