"""Requests to the front over HTTP in one process: limits, tokens that are removed meanwhile, streams that go on."""

import gc
import weakref

import anyio

from fronts.http.in_process import INITIALIZE, Exchange, front_of, running
from search_mcp.dialects.front.http_rules import Post
from search_mcp.fronts.http.access import Token, digest_of
from search_mcp.fronts.http.front import ANYBODY, MOST_REQUESTS, Response
from search_mcp.fronts.http.requests import HttpRequest

PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
CANCELLATION = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}


async def test_a_stream_whose_response_came_meanwhile_is_resumed_as_events() -> None:
    """ "The server MUST either return `Content-Type: text/event-stream` in response to this HTTP GET"."""
    async with running() as clients:
        client = clients.new_session(ANYBODY)
        stream = client.new_stream()
        stream.finish(b'{"the":"response"}\n')  # the client of the request had gone before
        last = f"{stream.number}-0"
        for _ in range(2):  # the events are kept
            resumed = await Exchange("GET", mcp_session_id=client.session, last_event_id=last).by(front_of(clients))
            assert resumed.headers["content-type"] == "text/event-stream"
            assert f'id: {stream.number}-1\nevent: message\ndata: {{"the":"response"}}\n' in resumed.text


async def test_a_request_that_is_given_up_early_has_no_reader_any_more() -> None:
    """A server of another maker may cancel the task of a request; its stream would hold up the servers for ever."""
    async with running() as clients:
        client = clients.new_session(ANYBODY)
        stream = client.new_stream()
        exchange = Exchange("POST", PING)
        request = HttpRequest(exchange.scope, exchange.receive, exchange.send)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Response(request, client, stream, Post(is_request=True)).send)
            while stream.reader is None:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert stream.reader is None


async def test_open_requests_can_be_ended_and_answered_though_there_are_too_many() -> None:
    async with running() as clients:
        front, session = front_of(clients), clients.new_session(ANYBODY).session

        async def ask(method: str, message: object = None) -> int:
            return (await Exchange(method, message, mcp_session_id=session).by(front)).status

        front.open_requests[ANYBODY.name] = MOST_REQUESTS
        assert [await ask("POST", PING), await ask("GET")] == [429, 429]
        assert await ask("POST", CANCELLATION) == 202
        assert await ask("DELETE") == 200
        front.open_requests[ANYBODY.name] = 2 * MOST_REQUESTS
        assert await ask("POST", CANCELLATION) == 429


async def test_a_token_that_is_removed_while_the_body_arrives_begins_nothing() -> None:
    tokens = [Token("anna", digest_of("smcp_anna_x"))]
    async with running() as clients, anyio.create_task_group() as tasks:
        late = Exchange("POST", INITIALIZE, authorization="Bearer smcp_anna_x")
        tasks.start_soon(front_of(clients, lambda: tokens), late.scope, late.receive, late.send)
        await late.is_awaited.wait()
        tokens.clear()
        late.arrived.set()
        while not late.sent:
            await anyio.lowlevel.checkpoint()
        assert (late.status, list(clients)) == (401, [])


async def test_a_refused_request_is_not_kept_in_memory() -> None:
    """An exception that is raised again keeps the frames of each time, with what they hold."""
    async with running() as clients:
        front = front_of(clients)
        kept = [weakref.ref(await Exchange("POST", PING, mcp_session_id="stray").by(front)) for _ in range(2)]
        gc.collect()
        assert [each() for each in kept] == [None, None]


async def test_a_page_of_a_listed_origin_can_call_and_read_the_answers() -> None:
    """A browser asks before it sends the request, without its token, and keeps answers without the headers from it."""
    page, other = "https://App.example.com", "http://localhost:3000"
    async with running() as clients:
        front = front_of(clients, lambda: [Token("anna", digest_of("x"))], origins=[page])
        asked = await Exchange("OPTIONS", origin=page, access_control_request_method="POST").by(front)
        assert (asked.status, asked.headers["access-control-allow-origin"]) == (200, page)
        assert asked.headers["access-control-allow-headers"] == "authorization, *"
        opened = await Exchange("POST", INITIALIZE, origin=page, authorization="Bearer x").by(front)
        refused = await Exchange("POST", INITIALIZE, origin=page).by(front)
        assert (opened.status, refused.status) == (200, 401)
        for each in (opened, refused):
            assert each.headers["access-control-allow-origin"] == page
            assert each.headers["access-control-expose-headers"] == "mcp-session-id, www-authenticate"
        local = await Exchange("OPTIONS", origin=other).by(front)
        assert (local.status, "access-control-allow-origin" in local.headers) == (401, False)
