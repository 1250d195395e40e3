"""The channel to a remote server: every message is an HTTP request, and streams bring messages back.

Streamable HTTP in both eras, and HTTP+SSE, which is found out with the request that opens a session. What a message
means, and the headers that it needs, are decided in `dialects/http_headers.py`.
Sources: docs/specification/2026-07-28/basic/transports/streamable-http.mdx ("modern"), docs/specification/2025-11-25/
basic/transports.mdx ("legacy") and docs/specification/2024-11-05/basic/transports.mdx (HTTP+SSE).
"""

import asyncio
import logging
import math

import anyio
import anyio.abc
import anyio.lowlevel
import httpx2

from search_mcp.auth.access import Access
from search_mcp.auth.errors import AuthError
from search_mcp.backends.channel import Listener
from search_mcp.backends.remote import trouble
from search_mcp.backends.remote.reading import Reading
from search_mcp.backends.remote.requests import NoLogin, Requests
from search_mcp.backends.remote.sse import MESSAGE, Event, EventParser
from search_mcp.backends.remote.tasks import Tasks
from search_mcp.config.schema import Remote
from search_mcp.dialects import http_headers
from search_mcp.dialects.http_headers import Envelope, HttpHeaders
from search_mcp.http.client import beginning, is_same_origin
from search_mcp.http.failures import RefusedError
from search_mcp.logs import Conceal
from search_mcp.wire import messages
from search_mcp.wire.inflight import Fate, RequestFailure
from search_mcp.wire.messages import Message
from search_mcp.wire.structs import UNSET, Raw, replace

log = logging.getLogger(__name__)

MOST_REQUESTS = 128
"""Requests that are sent to one server at once; more wait. Streams, notifications and responses do not wait."""
WAITING_BYTES = 16 << 20
"""Bytes that may wait to be sent before the server counts as congested."""
LAST_BYTES_SECONDS = 1.0
"""Time in which a stream may end after its response: a connection whose answer was read whole is used again."""
LAST_WORDS_SECONDS = 1.0
"""Time in which a server may confirm the cancellation of the last requests and the end of its session."""
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Bounds of the delay before an ended stream is opened again, in seconds; the server may ask for another delay."""
LONGEST_RETRY_SECONDS = 300.0
RESUMPTIONS = 5
"""Consecutive connections without an event after which a stream is given up."""
SHORTEST_RETRY_SECONDS = 0.1
"""Shortest delay before a stream is opened again, whatever the server asks for."""
_NEWLINES_TO_SPACES = bytes.maketrans(b"\r\n", b"  ")
_ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_ACCEPT_STREAM = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
_EVENTS, _JSON = "text/event-stream", "application/json"
_ENDPOINT = "endpoint"


class HttpChannel:
    """A connection to a remote server; `limit` is in bytes of one message."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        address: Remote,
        listener: Listener,
        limit: int,
        login: Access | NoLogin,
        conceal: Conceal = lambda _secrets: None,
    ) -> None:
        self._address, self._listener, self._limit, self._client = address, listener, limit, client
        self._url = httpx2.URL(address.url)
        self._headers = HttpHeaders(listener.input_schema)
        self._requests = Requests(client, login, conceal)
        self._reading = Reading()
        self._tasks = Tasks(address.public_url)
        self._posts: httpx2.URL | None = None  # where messages are sent to with HTTP+SSE
        self._has_endpoint = anyio.Event()
        self._stream_failure: RequestFailure | None = None  # why there is no stream with HTTP+SSE
        self._exchanges: dict[int, anyio.CancelScope] = {}  # by request
        self._unsent: set[int] = set()  # requests whose exchanges have not begun
        # Of asyncio: a free slot, or a set event, of anyio still takes a pass of the event loop.
        self._slots = asyncio.Semaphore(MOST_REQUESTS)
        self._cancellations: dict[int, tuple[Envelope, bytes]] = {}  # that the server was not told yet, by request
        self._waiting_bytes = 0
        self._confirmed = asyncio.Event()  # set unless the notification that the session is open is on its way
        self._confirmed.set()
        self._end: str | None = None

    def __repr__(self) -> str:
        return f"<HttpChannel {self._address.public_url} exchanges={len(self._exchanges)}>"

    async def start(self) -> None:
        """Begin; `stop` has to follow in the same task."""
        await self._tasks.begin()
        if self._address.transport == "sse":
            self._tasks.start(self._keep_endpoint)

    # To the server

    def write(self, data: bytes) -> None:
        envelope = self._headers.envelope(data)
        if self._end is not None:
            if envelope.request_id is not None:
                self._listener.on_failed(envelope.request_id, RequestFailure(self._end, Fate.REJECTED))
            return
        if envelope.cancels is not None and self._cancel_exchange(envelope.cancels, envelope):
            return
        if envelope.confirms:
            self._confirmed = asyncio.Event()
        if envelope.cancels is not None:
            self._cancellations[envelope.cancels] = envelope, data.rstrip(b"\n")
        scope = anyio.CancelScope()
        if envelope.request_id is not None:
            self._exchanges[envelope.request_id] = scope
            self._unsent.add(envelope.request_id)
        self._waiting_bytes += len(data)
        self._tasks.start(self._deliver, envelope, data.rstrip(b"\n"), scope, scope=scope)

    def _cancel_exchange(self, request_id: int, envelope: Envelope) -> bool:
        """Cancel an exchange; return whether that alone tells the server."""
        scope = self._exchanges.get(request_id)
        if scope is None:
            return True
        # Modern: "closing the SSE response stream is itself the cancellation signal and no `notifications/cancelled`
        # message is expected". Legacy: "Disconnection SHOULD NOT be interpreted as the client cancelling its request.
        # To cancel, the client SHOULD explicitly send an MCP `CancelledNotification`."
        is_enough = envelope.is_modern or request_id in self._unsent
        if is_enough:
            scope.cancel()
        return is_enough

    async def _deliver(self, envelope: Envelope, body: bytes, scope: anyio.CancelScope) -> None:
        """Send one message, and hand over what the server answers."""
        size = len(body) + 1
        try:
            if scope.cancel_called:
                return  # what follows may send the request before the cancellation is noticed
            if not envelope.confirms:
                await self._confirmed.wait()
            if envelope.request_id is None:
                await self._post(envelope, body)
                if envelope.cancels is not None:
                    self._cancellations.pop(envelope.cancels, None)
            elif envelope.stays_open:
                self._unsent.discard(envelope.request_id)
                await self._post(envelope, body)
            else:
                async with self._slots:
                    self._unsent.discard(envelope.request_id)
                    await self._post(envelope, body)
        finally:
            self._waiting_bytes -= size
            if envelope.request_id is not None:
                self._exchanges.pop(envelope.request_id, None)
                self._unsent.discard(envelope.request_id)
            if envelope.confirms:
                self._confirmed.set()
            if envelope.cancels is not None and (cancelled := self._exchanges.get(envelope.cancels)) is not None:
                cancelled.cancel()  # the server was told, and may leave the stream open

    async def _post(self, envelope: Envelope, body: bytes) -> None:
        """Send one message; a request that is not answered fails."""
        try:
            failure = await self._exchange(envelope, body)
        except trouble.BROKEN as exc:
            failure = trouble.of_exception(exc, self._address.url)
        except Exception:  # a bug: it is logged where tasks end, and the request must not stay open
            if envelope.request_id is not None:
                self._listener.on_failed(envelope.request_id, RequestFailure("search-mcp failed; its log has more"))
            raise
        if failure is not None:
            failure = replace(failure, reason=self._requests.redact(failure.reason))
        if envelope.request_id is None:
            if failure is not None:
                log.warning("! %s: it did not take a message: %s", self._address.public_url, failure.reason)
        elif failure is not None:
            self._listener.on_failed(envelope.request_id, failure)

    async def _exchange(self, envelope: Envelope, body: bytes) -> RequestFailure | None:
        """Make the exchange for one message; return why a request, or another message, failed."""
        if self._address.transport == "sse" or self._posts is not None:
            return await self._exchange_beside_stream(envelope, body)
        async with self._requests.sent("POST", self._url, {**_ACCEPT, **envelope.headers}, body) as response:
            status, kind = response.status_code, _kind(response)
            if status == 200 and kind in (_EVENTS, _JSON) and envelope.request_id is not None:
                if envelope.opens:
                    self._requests.note_session(response)
                read = self._read_stream if kind == _EVENTS else self._read_json
                return await read(envelope, envelope.request_id, response)
            if 200 <= status < 300 and envelope.request_id is None:
                await _skip(response)
                if envelope.confirms:
                    self._tasks.start(self._keep_stream)
                return None
            answer = await beginning(response)
            session = response.request.headers.get(http_headers.SESSION)
        return await self._on_refusal(envelope, body, response, answer, session)

    async def _on_refusal(
        self, envelope: Envelope, body: bytes, response: httpx2.Response, answer: bytes, session: str | None
    ) -> RequestFailure | None:
        """Handle an answer that is no success; its JSON-RPC error is the answer to the request."""
        status, request_id = response.status_code, envelope.request_id
        failure = trouble.of_status(status, response.headers, answer)
        error = _error_in(answer)
        is_own = error is not None and error.id is not UNSET and error.id == request_id
        if session is not None and _is_session_lost(status, answer, is_own=is_own):
            return self._on_session_lost()
        said = messages.error_object(_raw(error)) if error is not None else None
        if said is not None and http_headers.is_outdated(said.code, envelope):
            return RequestFailure(failure.reason, Fate.OUTDATED, error=said)
        if said is not None and http_headers.is_revision_rejected(said.code, envelope):
            return self._on_rejected("it does not speak the protocol revision of the connection any more")
        is_modern = said is not None and http_headers.is_modern_error(said.code, status)
        if envelope.opens and failure.is_unknown_request and not is_modern and self._address.transport == "auto":
            # "If it fails with the following HTTP status codes "400 Bad Request", "404 Not Found" or "405 Method Not
            # Allowed": Issue a GET request to the server URL, expecting that this will open an SSE stream and return
            # an `endpoint` event as the first event."
            self._tasks.start(self._keep_endpoint)
            await self._has_endpoint.wait()
            if self._posts is not None:
                return await self._exchange_beside_stream(envelope, body)
        if error is None or request_id is None or (status in trouble.UNAVAILABLE and not is_own):
            return failure
        # An error is often sent with the id null, or without one: it answers the request of this POST.
        self._hand_over(b'{"jsonrpc":"2.0","id":%d,"error":%b}' % (request_id, bytes(_raw(error))), request_id)
        return RequestFailure("its answer could not be read", Fate.LOST)

    # Answers

    async def _read_json(self, envelope: Envelope, request_id: int, response: httpx2.Response) -> RequestFailure | None:
        received = bytearray()
        async for piece in self._reading.pieces(response):
            received += piece
            if len(received) > self._limit:
                return _too_large(self._limit)
        body = bytes(received)
        if envelope.opens:
            self._headers.on_opened(body)
        self._hand_over(body, request_id)
        if not self._listener.is_waiting(request_id):
            return None
        return trouble.of_status(response.status_code, response.headers, body)

    async def _read_stream(
        self, envelope: Envelope, request_id: int, response: httpx2.Response
    ) -> RequestFailure | None:
        """Read the stream of a request to its response, also over several connections."""
        parser = EventParser(self._limit)
        failure = await self._read_events(response, parser, request_id, opens=envelope.opens)
        resumptions = 0
        while failure is not None and self._listener.is_waiting(request_id):
            # "Resumable SSE streams via `Last-Event-ID` are not supported." (modern)
            if parser.last_id is None or envelope.is_modern or resumptions >= RESUMPTIONS or self._end is not None:
                return failure
            await response.aclose()
            before, resumptions = parser.last_id, resumptions + 1
            await anyio.sleep(_pause(parser, SHORTEST_PAUSE))
            failure = await self._resume(parser, request_id, failure, opens=envelope.opens)
            if parser.last_id != before:
                resumptions = 0
        return failure

    async def _resume(
        self, parser: EventParser, request_id: int, broken: RequestFailure, *, opens: bool
    ) -> RequestFailure | None:
        """Continue a stream on another connection."""
        # "it SHOULD issue an HTTP GET to the MCP endpoint, and include the `Last-Event-ID` header"
        headers = {**_ACCEPT_STREAM, **self._headers.common(), "Last-Event-ID": parser.last_id or ""}
        try:
            async with self._requests.sent("GET", self._url, headers) as response:
                if not _is_stream(response):
                    parser.last_id = None
                    return broken
                parser.restart()
                return await self._read_events(response, parser, request_id, opens=opens)
        except trouble.BROKEN:
            return broken

    async def _read_events(
        self, response: httpx2.Response, parser: EventParser, request_id: int | None, *, opens: bool = False
    ) -> RequestFailure | None:
        """Hand over the messages of a stream until it ends; return how it broke off if that is before the response."""
        failure = RequestFailure("its event stream ended before the response")
        try:
            with anyio.CancelScope() as scope:
                async for chunk in self._reading.pieces(response):
                    for event in parser.feed(chunk):
                        if event.is_oversize:
                            failure = _too_large(self._limit)
                            if request_id is not None:
                                parser.last_id = None
                                return failure
                        self._on_event(event, request_id or 0, opens=opens)
                    is_over = request_id is not None and not self._listener.is_waiting(request_id)
                    if is_over and scope.deadline == math.inf:
                        # "After the JSON-RPC _response_ has been sent, the server SHOULD terminate the SSE stream."
                        scope.deadline = anyio.current_time() + LAST_BYTES_SECONDS
        except trouble.BROKEN as exc:
            failure = trouble.of_exception(exc, self._address.url)
        return failure

    def _on_event(self, event: Event, answers: int | None, *, opens: bool = False) -> None:
        if event.name == MESSAGE and event.data:
            if opens:
                self._headers.on_opened(event.data.translate(_NEWLINES_TO_SPACES))
            self._hand_over(event.data, answers)

    def _hand_over(self, message: bytes, answers: int | None) -> None:
        # "The SSE stream SHOULD eventually include a JSON-RPC response for the JSON-RPC request sent in the POST body",
        # and on the stream of a GET, "the server MUST NOT send a JSON-RPC response": a cache or a proxy on the way may
        # mix answers up, which must not reach the wrong call.
        # JSON strings contain no raw newline, so spaces can replace all of them.
        line = self._requests.without_tokens(message.translate(_NEWLINES_TO_SPACES))
        self._listener.on_bytes(line + b"\n", answers)

    # The session and its stream

    def _on_session_lost(self) -> RequestFailure:
        """End the channel: a new session needs a new one."""
        # "When a client receives HTTP 404 in response to a request containing an `MCP-Session-Id`, it MUST start a new
        # session by sending a new `InitializeRequest` without a session ID attached."
        return self._on_rejected("its session expired")

    def _on_rejected(self, reason: str) -> RequestFailure:
        """End the channel: the server takes requests on another one only."""
        self._requests.session, self._end = None, reason
        self._listener.on_rejecting()
        return RequestFailure(reason, Fate.REJECTED)

    async def _keep_stream(self) -> None:
        """Read what the server sends on its own, as long as it offers a stream for that."""
        # "The server MUST either return `Content-Type: text/event-stream` in response to this HTTP GET, or else return
        # HTTP 405 Method Not Allowed": servers also answer 400, 404 or 406.
        parser, pause, was_open = EventParser(self._limit), SHORTEST_PAUSE, False
        refusals = 0  # since it was open
        while self._end is None:
            headers = {**_ACCEPT_STREAM, **self._headers.common()}
            if parser.last_id:
                headers["Last-Event-ID"] = parser.last_id
            try:
                async with self._requests.sent("GET", self._url, headers) as response:
                    if _is_stream(response):
                        was_open, pause, refusals = True, SHORTEST_PAUSE, 0
                        parser.restart()
                        await self._read_events(response, parser, None)
                    elif await self._is_final(response, parser, was_open=was_open):
                        return
            except trouble.BROKEN as exc:
                log.debug("= %s: its stream: %s", self._address.public_url, exc)
                if isinstance(exc, RefusedError | AuthError):
                    refusals += 1
                    if not was_open or refusals > RESUMPTIONS:  # each attempt may renew the login
                        return
            await anyio.sleep(_pause(parser, pause))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _is_final(self, response: httpx2.Response, parser: EventParser, *, was_open: bool) -> bool:
        """Return whether a refusal means that the server offers no stream, or none any more."""
        status, answer = response.status_code, await beginning(response)
        if was_open and self._requests.session and _is_session_lost(status, answer, is_own=False):
            self._on_session_lost()
        if status >= 500 or status in trouble.UNAVAILABLE:
            return False
        is_final = parser.last_id is None or self._end is not None
        parser.last_id = None  # it may not have that event any more
        return is_final

    # HTTP+SSE

    async def _keep_endpoint(self) -> None:
        """Open the stream of HTTP+SSE, which says where messages are sent to, and read it to its end."""
        failure = RequestFailure("it opened no event stream", Fate.REFUSED, is_unknown_request=True)
        try:
            async with self._requests.sent("GET", self._url, _ACCEPT_STREAM) as response:
                if _is_stream(response):
                    await self._read_from_endpoint(response)
                    failure = RequestFailure("its event stream ended")
                else:
                    answer = await beginning(response)
                    failure = trouble.of_status(response.status_code, response.headers, answer)
        except trouble.BROKEN as exc:
            failure = trouble.of_exception(exc, self._address.url)
        failure = replace(failure, reason=self._requests.redact(failure.reason))
        if self._posts is not None:
            self._end = failure.reason
            self._listener.on_end()
        self._stream_failure = failure
        self._has_endpoint.set()

    async def _read_from_endpoint(self, response: httpx2.Response) -> None:
        """Read a stream whose first event names the address for messages."""
        parser = EventParser(self._limit)
        async for chunk in self._reading.pieces(response):
            for event in parser.feed(chunk):
                if event.name == _ENDPOINT and self._posts is None:
                    posts = response.url.join(event.data.decode(errors="replace"))
                    if not is_same_origin(response.url, posts):
                        raise RefusedError("it wants messages at another server's address")
                    # A user and password in it would replace the credentials of the entry.
                    self._posts = posts.copy_with(userinfo=self._url.userinfo)
                    self._has_endpoint.set()
                else:
                    self._on_event(event, None)

    async def _exchange_beside_stream(self, envelope: Envelope, body: bytes) -> RequestFailure | None:
        """Send one message of HTTP+SSE; a request is answered on the stream."""
        await self._has_endpoint.wait()
        if self._posts is None:
            return self._stream_failure
        async with self._requests.sent("POST", self._posts, {**_ACCEPT, **envelope.headers}, body) as response:
            answer = await beginning(response)
            if 200 <= response.status_code < 300:
                return None
            return trouble.of_status(response.status_code, response.headers, answer)

    # The channel

    def is_congested(self) -> bool:
        """Return whether too much waits to be sent."""
        return self._waiting_bytes > WAITING_BYTES

    def defer_reading(self) -> None:
        self._reading.defer()

    def pause_reading(self) -> None:
        self._reading.pause()

    def resume_reading(self) -> None:
        self._reading.resume()

    def has_ended(self) -> bool:
        return self._end is not None

    def how_it_ended(self) -> str:
        return self._end or "the connection was closed"

    def stderr_tail(self) -> str:
        return ""

    def has_session(self) -> bool:
        """Return whether the server gave the connection a session, or keeps a stream for it."""
        return self._requests.session is not None or self._posts is not None or self._address.transport == "sse"

    @property
    def pid(self) -> int | None:
        return None

    def describe(self) -> str:
        return self._address.public_url

    def terminate(self) -> None:
        """Give up all exchanges."""
        self._end = self._end or "it was stopped"
        self._tasks.cancel()
        self._listener.on_end()

    def kill(self) -> None:
        self.terminate()

    async def stop(self) -> None:
        """End all exchanges, and the session, in bounded time."""
        self._tasks.close()
        self._end = self._end or "it was stopped"
        self._reading.resume()
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(LAST_WORDS_SECONDS):
                await self._cancel_requests()
                if self._requests.session is not None:
                    await self._delete_session()
        finally:
            self._tasks.cancel()
            with anyio.CancelScope(shield=True):
                await self._client.aclose()
            await self._tasks.end()

    async def _cancel_requests(self) -> None:
        """Tell the server what it need not finish: the tasks for that end with those that end this channel."""
        async with anyio.create_task_group() as tasks:
            for envelope, body in self._cancellations.values():
                tasks.start_soon(self._post, envelope, body)

    async def _delete_session(self) -> None:
        # "Clients that no longer need a particular session [...] SHOULD send an HTTP DELETE to the MCP endpoint";
        # "The server MAY respond to this request with HTTP 405 Method Not Allowed".
        try:
            async with self._requests.sent("DELETE", self._url, self._headers.common()) as response:
                log.debug("= %s: DELETE: %d", self._address.public_url, response.status_code)
        except trouble.BROKEN as exc:
            log.debug("= %s: DELETE: %s", self._address.public_url, exc)


def _is_stream(response: httpx2.Response) -> bool:
    return response.status_code == 200 and _kind(response) == _EVENTS


def _kind(response: httpx2.Response) -> str:
    """Return the content type of a response, without its parameters."""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _pause(parser: EventParser, otherwise: float) -> float:
    """Return the seconds before the next connection for a stream."""
    # "The client MUST respect the `retry` field, waiting the given number of milliseconds"
    if parser.retry_ms is None:
        return otherwise
    return max(SHORTEST_RETRY_SECONDS, min(parser.retry_ms / 1000, LONGEST_RETRY_SECONDS))


def _is_session_lost(status: int, answer: bytes, *, is_own: bool) -> bool:
    """Return whether a refusal of a message with a session id is about the session.

    Servers also answer 400, and then without the id of the request: Express servers with the official SDK do.
    """
    return not is_own and (status == 404 or (status == 400 and b"session" in answer.lower()))


def _error_in(answer: bytes) -> Message | None:
    """Return the JSON-RPC error in the body of a response, if there is one."""
    decoded = messages.decode(answer.translate(_NEWLINES_TO_SPACES)) if answer.lstrip()[:1] == b"{" else None
    return decoded if isinstance(decoded, Message) and isinstance(decoded.error, Raw) else None


def _raw(error: Message) -> Raw:
    assert isinstance(error.error, Raw)
    return error.error


def _too_large(limit: int) -> RequestFailure:
    return RequestFailure(f"its answer has more than {limit:,} bytes")


async def _skip(response: httpx2.Response) -> None:
    """Read a body that has no meaning, so that the connection can be used again; not a stream that stays open."""
    with anyio.move_on_after(LAST_BYTES_SECONDS):
        await beginning(response)
