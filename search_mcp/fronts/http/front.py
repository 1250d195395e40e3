"""The ASGI application of the front over HTTP: who is answered, and how.

Decides the statuses and the headers. What a message is, and whether its headers fit it, is decided by the dialects.
"""

import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import anyio

from search_mcp import logs
from search_mcp.dialects.front import http_rules
from search_mcp.dialects.front.http_rules import SESSION_HEADER, VERSION_HEADER, Post, Refused
from search_mcp.fronts.http import access
from search_mcp.fronts.http.access import Places, Token
from search_mcp.fronts.http.clients import Client, Clients
from search_mcp.fronts.http.requests import (
    CLOSE,
    ClientGoneError,
    HttpRequest,
    Pairs,
    Receive,
    RefusedError,
    Scope,
    Send,
)
from search_mcp.fronts.http.server_card import SUFFIX, answer, server_card
from search_mcp.fronts.http.streams import Stream, event
from search_mcp.fronts.http.turns import Turns
from search_mcp.wire.errors import SERVER_ERROR

if TYPE_CHECKING:  # only with an issuer
    from search_mcp.fronts.http.access_tokens import ResourceServer

ENDPOINT = "/mcp"
KEEP_ALIVE_SECONDS = 15.0
"""Longest time without a byte on a stream: proxies close those that are silent for a minute."""
UNWATCHED_SECONDS = 0.02
"""Time for an answer before a client is watched, which takes a task: one that is gone needs no answer."""
RETRY_MILLISECONDS = 1000
"""Time after which a client comes back to a stream that was closed."""
MOST_REQUESTS = 256
"""Limit of open requests of one principal; as many posts that cancel or answer one of them are allowed besides."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_numbers = itertools.count(1)
_JSON, _EVENTS = "application/json", "text/event-stream"
_STREAM_HEADERS = (
    ("content-type", _EVENTS),
    ("cache-control", "no-store"),
    ("x-accel-buffering", "no"),  # "servers SHOULD include the `X-Accel-Buffering: no` header"
)
_FOR_PAGES = (
    ("access-control-allow-methods", "POST, GET, DELETE"),
    ("access-control-allow-headers", "authorization, *"),  # `*` does not include `authorization`
    ("access-control-max-age", "7200"),
)
ANYBODY = Token("anybody", "")
"""The principal of every request where no token is needed."""


class HttpFront:
    """Serves MCP over HTTP to clients with tokens."""

    def __init__(
        self,
        clients: Clients,
        tokens: Callable[[], Sequence[Token]] | None,
        places: Places,
        note_use: Callable[[Token], None] = lambda _token: None,
        resource_server: "ResourceServer | None" = None,
    ) -> None:
        """`tokens` returns those that may be used now; `None` if none is needed."""
        self._clients, self._tokens, self._places, self._note_use = clients, tokens, places, note_use
        self._resource_server = resource_server
        self.open_requests: Counter[str] = Counter()
        """Requests and streams that are open, by principal."""
        self.answered: Counter[int] = Counter()
        """Responses that were begun, by status."""
        self._turns = Turns()
        self._released = anyio.Event()
        self._hurried = anyio.Event()
        self.is_ending = False
        """Whether the process ends, so that load balancers should send no more clients."""
        self._is_draining = False

    async def announce_end(self, seconds: float) -> None:
        """Accept requests until load balancers have noticed that the process ends."""
        self.is_ending = True
        with anyio.move_on_after(seconds):
            await self._hurried.wait()

    async def drain(self) -> None:
        """Take no new request, end the streams that stay open for ever, and wait until no request is open."""
        self.is_ending = self._is_draining = True
        for client in self._clients:
            client.end_listening()
        while self.open_requests and not self._hurried.is_set():
            self._released = anyio.Event()
            await self._released.wait()

    def hurry(self) -> None:
        """Wait for no open request any more."""
        self._hurried.set()
        self._released.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = HttpRequest(scope, receive, send, self._count)
        logs.REQUEST.set(_request_id(request))
        with contextlib.suppress(ClientGoneError):  # nothing can be answered
            try:
                await self._answer(request)
            except RefusedError as refused:
                await request.refuse(refused)
            except Refused as refused:
                await request.respond(refused.status, refused.body())

    def _count(self, status: int) -> None:
        self.answered[status] += 1

    async def _answer(self, request: HttpRequest) -> None:
        if (status := self._places.refusal(request.headers)) is not None:
            raise RefusedError(status, "this host or origin is not allowed")
        if request.has_two_lengths:
            # RFC 9112, 6.3: "A server MAY reject a request that contains both [...] Regardless, the server MUST close
            # the connection after responding to such a request".
            raise RefusedError(400, "either Content-Length or Transfer-Encoding", CLOSE)
        if request.path == ENDPOINT + SUFFIX:
            await self._turns.wait("")
            await answer(request, self._card(request))
            return
        request.sharing = self._places.sharing(request.headers)
        if request.sharing and request.method == "OPTIONS":  # a preflight request of CORS has no token
            await request.respond(200, headers=_FOR_PAGES)
            return
        if self._resource_server is not None and request.path in self._resource_server.resource.paths:
            await self._describe(request, self._resource_server.resource.metadata())
            return
        if request.path != ENDPOINT:
            raise RefusedError(404, f"unknown path; the endpoint is {ENDPOINT}")
        token = await self._token(request)
        if self._is_draining:
            raise RefusedError(503, "this server is ending", ("retry-after", "5"))
        with self._counted(token.name, 1):
            if request.method == "POST":
                await self._post(request, token)
            elif request.method in ("GET", "DELETE"):
                await self._of_session(request, token)
            else:
                raise RefusedError(405, "use POST", ("allow", "POST, GET, DELETE"))

    async def _token(self, request: HttpRequest) -> Token:
        """Return the token of a request when it is its principal's turn; those without one have one turn together."""
        if self._tokens is None:
            return ANYBODY
        given = access.bearer(request.headers.get("authorization"))
        try:
            token = await self._principal(given, self._tokens())
        except RefusedError:
            await self._turns.wait("")
            raise
        await self._turns.wait(token.name)
        self._note_use(token)
        return token

    async def _principal(self, given: str, tokens: Sequence[Token]) -> Token:
        if given and self._resource_server is not None and not given.startswith(access.PREFIX):
            return await self._resource_server.principal(given)
        token = access.principal(given, tokens)
        if token is None:
            raise self._unauthorized("invalid_token" if given else "")
        return token

    def _unauthorized(self, error: str) -> RefusedError:
        server = self._resource_server
        challenge = ("www-authenticate", "Bearer") if server is None else server.resource.challenge(error)
        return RefusedError(401, "a valid token is needed", challenge)

    async def _describe(self, request: HttpRequest, metadata: bytes) -> None:
        if request.method != "GET":
            raise RefusedError(405, "use GET", ("allow", "GET"))
        await request.respond(200, metadata)

    def _card(self, request: HttpRequest) -> bytes:
        audience = self._resource_server and self._resource_server.resource.audience
        url = audience or f"{request.origin}{ENDPOINT}"
        return server_card(url, takes_tokens=self._tokens is not None, has_issuer=audience is not None)

    @contextlib.contextmanager
    def _counted(self, principal: str, number: int) -> Iterator[None]:
        self._limit(principal, 2 * MOST_REQUESTS - 1)
        self.open_requests[principal] += number
        try:
            yield
        finally:
            self.open_requests[principal] -= number
            self.open_requests += Counter()  # drops those without a request
            self._released.set()

    def _limit(self, principal: str, most: int = MOST_REQUESTS) -> None:
        """Refuse a request if more are open than there may be."""
        if self.open_requests[principal] > most:
            raise RefusedError(429, f"{MOST_REQUESTS} requests are open", ("retry-after", "5"))

    async def _post(self, request: HttpRequest, token: Token) -> None:
        if request.content_type != _JSON:
            raise RefusedError(415, f"the content type must be {_JSON}")
        # "The client MUST include an `Accept` header listing both `application/json` and `text/event-stream`"
        if not (request.accepts(_JSON) and request.accepts(_EVENTS)):
            raise RefusedError(406, f"accept must list {_JSON} and {_EVENTS}")
        body = await request.body()
        if self._tokens is not None and token.digest and token not in self._tokens():  # it was removed meanwhile
            raise self._unauthorized("invalid_token")
        post = http_rules.read_post(request.headers, body, lambda tool: self._clients.modern(token).schema(tool))
        if post.is_request:
            for _ in range(post.further):
                await self._turns.wait(token.name)
            with self._counted(token.name, post.further):
                self._limit(token.name)
                await self._answered(request, self._client(request, token, post), post, body)
        else:
            self._client(request, token, post).take(body, None)
            await request.respond(202)

    def _client(self, request: HttpRequest, token: Token, post: Post) -> Client:
        if post.is_modern:
            return self._clients.modern(token)
        if post.opens:
            return self._clients.new_session(token)
        session = request.headers.get(SESSION_HEADER)
        if session is None:  # "Servers that require a session ID SHOULD respond [...] with HTTP 400 Bad Request"
            raise Refused(400, SERVER_ERROR, "Bad Request: the header MCP-Session-Id is missing; send initialize first")
        return self._session(token, session)

    def _session(self, token: Token, session: str) -> Client:
        client = self._clients.session(token, session)
        if client is None:
            raise RefusedError(404, "this session is unknown or has ended")
        return client

    async def _answered(self, request: HttpRequest, client: Client, post: Post, body: bytes) -> None:
        stream = client.new_stream()
        client.take(body, stream)
        response = Response(request, client, stream, post)
        try:
            with client.in_use():
                await response.send()
        except ClientGoneError:
            # "Closing the SSE response stream MUST be treated by the server as cancellation of that request", but in
            # the legacy era: "Disconnection SHOULD NOT be interpreted as the client cancelling its request."
            if post.is_modern:
                client.cancel(stream)
            raise
        finally:
            if post.opens and not client.front.is_open:
                self._clients.end(client)

    async def _of_session(self, request: HttpRequest, token: Token) -> None:
        session = request.headers.get(SESSION_HEADER)
        # Of revision 2026-07-28: "HTTP GET or DELETE to the MCP endpoint: respond with `405 Method Not Allowed`."
        if session is None:
            raise RefusedError(405, "use POST", ("allow", "POST"))
        client = self._session(token, session)
        if request.method == "DELETE":
            self._clients.end(client)
            await request.respond(200)
        elif not request.accepts(_EVENTS):
            raise RefusedError(406, f"accept must list {_EVENTS}")
        else:
            self._limit(token.name)
            with client.in_use():
                await Response(request, client, client.resumed(request.headers.get("last-event-id")), Post()).send()


def _request_id(request: HttpRequest) -> str:
    """Return the id that a proxy gave a request, or one of our own, for the log."""
    given = request.headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else f"{next(_numbers):x}"


class Response:
    """The response to a request: one JSON object, or the events of a stream."""

    def __init__(self, request: HttpRequest, client: Client, stream: Stream, post: Post) -> None:
        self._request, self._client, self._stream, self._post = request, client, stream, post
        self._is_gone = False

    async def send(self) -> None:
        """Send it whole.

        Raises:
            ClientGoneError: the client has closed the connection before the end.
        """
        self._stream.reader = self
        try:
            if self._post.is_request:
                await self._stream.news(UNWATCHED_SECONDS)
            if self._stream.only_response is not None:
                await self._send_all()
                return
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, tasks.cancel_scope)
                try:
                    await self._send_all()
                except ClientGoneError:  # it does not read; a task group would wrap the exception
                    self._is_gone = True
                tasks.cancel_scope.cancel()
        finally:
            self._stream.leave(self)
        if self._is_gone:
            raise ClientGoneError

    async def _send_all(self) -> None:
        if self._post.is_request:
            await self._stream.news(KEEP_ALIVE_SECONDS)
        # "The server MUST either return `Content-Type: text/event-stream` in response to this HTTP GET, or else return
        # HTTP 405": a stream that is resumed has events, also if the response is all that is left of it.
        if self._post.is_request and (response := self._stream.only_response) is not None:
            self._stream.take()
            self._client.forget(self._stream)
            await self._request.respond(http_rules.status_of(self._post, response), response, self._session())
        else:
            await self._send_events()

    async def _watch(self, scope: anyio.CancelScope) -> None:
        await self._request.disconnected()
        self._is_gone = not self._stream.is_over
        scope.cancel()

    def _session(self) -> Pairs:
        """Return the header of a session that begins."""
        is_begun = self._post.opens and self._client.front.is_open
        return ((SESSION_HEADER, self._client.session),) if is_begun else ()

    async def _send_events(self) -> None:
        request, stream = self._request, self._stream
        await request.begin(200, (*_STREAM_HEADERS, *self._session()))
        if self._has_ids and http_rules.sends_primer(request.headers.get(VERSION_HEADER)):
            # "The server SHOULD immediately send an SSE event consisting of an event ID and an empty `data` field"
            await request.send(b"id: %d-0\nretry: %d\ndata: \n\n" % (stream.number, RETRY_MILLISECONDS))
        while stream.reader is self:
            taken = stream.take()
            ids = [f"{stream.number}-{number}" if self._has_ids else "" for number, _ in taken]
            if taken:
                await request.send(b"".join(event(line, each) for (_, line), each in zip(taken, ids, strict=True)))
            elif stream.is_over:
                break
            else:
                await stream.news(KEEP_ALIVE_SECONDS)
                if not stream.has_news:
                    await request.send(b": keep-alive\n\n")
        await request.send(b"", is_last=True)

    @property
    def _has_ids(self) -> bool:
        return bool(self._client.session)
