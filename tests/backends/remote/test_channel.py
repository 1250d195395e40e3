"""Remote servers that behave, and that fail in every way found in the wild."""

import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from backends.remote.reached import LIMIT, at, reached
from backends.remote.scripted import DISCOVERED, OPENED, TOOL, Received, Scripted, event, said, scripted
from search_mcp.backends.remote import channel
from search_mcp.model.calls import Result
from search_mcp.model.names import Era, State
from search_mcp.wire.payload import encode


@pytest.fixture
async def server() -> AsyncIterator[Scripted]:
    async with scripted() as served:
        yield served


def answers_modern(server: Scripted) -> None:
    async def discover(request: Received) -> None:
        await request.result(DISCOVERED)

    server.on["server/discover"] = discover


# Both eras


async def test_a_legacy_session(server: Scripted) -> None:
    async with reached(at(server.url, headers={"X-Key": "k"})) as there:
        await there.ready()
        assert await there.text("do", {"a": 1}) == "done"
    first, *rest = server.received
    assert first.rpc == "initialize"
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    assert rest[0].rpc == "notifications/initialized"  # before any request
    for each in rest:
        assert each.headers["mcp-session-id"] == "s1"
        assert each.headers["mcp-protocol-version"] == "2025-11-25"
        assert "mcp-method" not in each.headers
    for each in server.received:
        assert each.headers["x-key"] == "k"
    posts = [each for each in server.received if each.method == "POST"]
    assert {each.headers["accept"] for each in posts} == {"application/json, text/event-stream"}
    assert {each.headers["content-type"] for each in posts} == {"application/json"}
    assert server.rpcs()[-1] == "DELETE"


async def test_a_modern_server(server: Scripted) -> None:
    answers_modern(server)
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        assert await there.text("do") == "done"
    assert set(server.rpcs()) == {"server/discover", "tools/list", "tools/call"}
    for each in server.received:
        assert each.headers["mcp-protocol-version"] == "2026-07-28"
        assert each.headers["mcp-method"] == each.rpc
        assert "mcp-session-id" not in each.headers
    assert server.received[-1].headers["mcp-name"] == "do"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_bytes_survive(server: Scripted, kind: str) -> None:
    body = b'{"content":[],"structuredContent":{"b":1E2,"a":1.10,"a":2,"u":"\\u00e9","big":123456789012345678901}}'

    async def call(request: Received) -> None:
        answer = b'{"jsonrpc":"2.0",\r\n"id":%d,\n"result":%b}' % (request.message["id"], body)
        if kind == "application/json":
            await request.answer(200, answer, kind + "; charset=utf-8")
        else:
            await request.stream(b"".join(b"data: %b\n" % line for line in answer.splitlines()) + b"\n")
            await request.close()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        outcome = await there.call("do")
        assert isinstance(outcome, Result)
        assert bytes(outcome.raw()) == body


async def test_a_question_during_a_call(server: Scripted) -> None:
    asked: list[Received] = []

    async def call(request: Received) -> None:
        asked.append(request)
        question = {"jsonrpc": "2.0", "id": "q", "method": "roots/list"}
        progress = {"progressToken": request.message["params"]["_meta"]["progressToken"], "progress": 1}
        news = {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
        await request.stream(event(json.dumps(news).encode()), event(json.dumps(question).encode()))

    async def response(request: Received) -> None:
        await request.answer(202)
        (call,) = asked
        await call.raw(event(call.response(said(json.dumps(request.message["result"])))))
        await call.close()

    server.on |= {"tools/call": call, "response": response}
    reports: list[Any] = []
    async with reached(at(server.url)) as there:
        there.person.answers = lambda _question: {"roots": []}
        outcome = await there.begin("do", report=reports.append).outcome()
        assert isinstance(outcome, Result)
        assert b'{\\"roots\\": []}' in bytes(outcome.raw())
    assert len(reports) == 1


async def test_cancelling_a_legacy_call(server: Scripted) -> None:
    closed = anyio.Event()

    async def call(request: Received) -> None:
        await request.stream(b": working\n\n")
        await request.closed()
        closed.set()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        going = there.begin("do")
        called = await server.until("tools/call")
        going.cancel(encode("enough"))
        cancelled = await server.until("notifications/cancelled")
        assert cancelled.message["params"] == {"requestId": called.message["id"], "reason": "enough"}
        await closed.wait()  # after that: the server may leave it open
        assert there.supervisor.status.state is State.READY


async def test_cancelling_a_modern_call(server: Scripted) -> None:
    answers_modern(server)
    closed = anyio.Event()

    async def call(request: Received) -> None:
        await request.stream(b": working\n\n")
        await request.closed()
        closed.set()

    server.on["tools/call"] = call
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        going = there.begin("do")
        await server.until("tools/call")
        going.cancel(None)
        await closed.wait()
    assert "notifications/cancelled" not in server.rpcs()


@pytest.mark.parametrize("era", Era)
async def test_a_call_that_is_cancelled_before_it_is_sent(server: Scripted, era: Era) -> None:
    if era is Era.MODERN:
        answers_modern(server)
    async with reached(at(server.url), era) as there:
        await there.ready()
        there.begin("do").cancel(None)
        assert await there.text("do") == "done"
    assert server.rpcs().count("tools/call") == 1
    assert "notifications/cancelled" not in server.rpcs()


async def test_the_stream_for_news_is_opened_again(server: Scripted) -> None:
    news = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'

    async def stream(request: Received) -> None:
        await request.stream(b"retry: 10\n" + event(news, "e1"))
        await request.close()

    server.on["GET"] = stream
    async with reached(at(server.url)) as there:
        await there.ready()
        again = await server.until("GET", 2)
        assert again.headers["last-event-id"] == "e1"
        assert again.headers["mcp-session-id"] == "s1"
        await server.until("tools/list", 2)


async def test_annotated_parameters(server: Scripted) -> None:
    answers_modern(server)
    annotated = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    wrong = {"type": "object", "properties": {"size": {"type": "number", "x-mcp-header": "Size"}}}
    tools = [TOOL, {"name": "look", "inputSchema": annotated}, {"name": "wrong", "inputSchema": wrong}]

    async def listed(request: Received) -> None:
        await request.result({"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})

    server.on["tools/list"] = listed
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        assert there.tools() == ["do", "look"]
        await there.text("look", {"region": "us-west1"})
        assert (await server.until("tools/call")).headers["mcp-param-region"] == "us-west1"


async def test_the_stream_for_news_finds_a_lost_session(server: Scripted) -> None:
    async def stream(request: Received) -> None:
        if request.headers["mcp-session-id"] == "s2":
            await request.answer(405)
        elif "last-event-id" in request.headers:
            await request.answer(404)
        else:
            await request.stream(b"retry: 10\nid: 1\n\n")
            await request.close()

    server.on["GET"] = stream
    async with reached(at(server.url)) as there:
        await there.ready()
        await server.until("tools/list", 2)
        assert server.sessions == 2
        assert await there.text("do") == "done"
    assert server.rpcs().count("tools/call") == 1


async def test_a_modern_subscription_stays_open(server: Scripted) -> None:
    streams: list[Received] = []
    discovered = {**DISCOVERED, "capabilities": {"tools": {"listChanged": True}}}

    async def discover(request: Received) -> None:
        await request.result(discovered)

    async def listen(request: Received) -> None:
        streams.append(request)
        meta = {"io.modelcontextprotocol/subscriptionId": request.message["id"]}
        params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        first = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
        news = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": meta}}
        await request.stream(event(json.dumps(first).encode()), b": alive\n\n", event(json.dumps(news).encode()))
        await request.closed()

    server.on |= {"server/discover": discover, "subscriptions/listen": listen}
    async with reached(at(server.url), Era.MODERN) as there:
        await server.until("tools/list", 2)
        assert await there.text("do") == "done"
        streams[0].writer.close()  # it breaks off without a response
        await server.until("subscriptions/listen", 2)
        assert await there.text("do") == "done"
    assert "GET" not in server.rpcs()


async def test_reading_is_paused(server: Scripted) -> None:
    async def call(request: Received) -> None:
        await request.stream(event(request.response(said("done"))))
        await request.close()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        there.supervisor.pause_reading()
        going = there.begin("do")
        await server.until("tools/call")
        await anyio.wait_all_tasks_blocked()
        assert going.outcomes == []
        there.supervisor.resume_reading()
        assert isinstance(await going.outcome(), Result)


# Kinds of servers


async def test_an_sse_server(server: Scripted) -> None:
    streams: list[Received] = []

    async def stream(request: Received) -> None:
        streams.append(request)
        await request.stream(b"event: endpoint\ndata: /messages?s=1\n\n")
        await request.closed()

    async def post(request: Received) -> None:
        if request.path == "/mcp":
            await request.answer(404, b"<html>Cannot POST</html>", "text/html")
            return
        await request.answer(202)
        results = {"initialize": {**OPENED_SSE}, "tools/list": {"tools": [TOOL]}, "tools/call": said("done")}
        if "id" in request.message:
            await streams[-1].raw(event(request.response(results.get(request.rpc, {"prompts": [], "resources": []}))))

    server.on["GET"] = stream
    server.answer = post  # type: ignore[method-assign]
    for era in Era:
        async with reached(at(server.url), era) as there:
            await there.ready()
            assert await there.text("do") == "done"
            streams[-1].writer.close()
            await there.state(State.BACKING_OFF)
            assert await there.text("do") == "done"  # on the next connection


OPENED_SSE = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}


async def test_an_endpoint_elsewhere_is_refused(server: Scripted) -> None:
    async def stream(request: Received) -> None:
        await request.stream(b"event: endpoint\ndata: http://127.0.0.2:1/steal\n\n")

    server.on["GET"] = stream
    async with reached(at(server.url, "sse")) as there:
        await there.state(State.BACKING_OFF)
        assert "at another server's address" in str(there.supervisor.status.reason)
    assert server.rpcs().count("initialize") == 0


@pytest.mark.parametrize("status", [401, 403, 500, 502, 429])
async def test_other_refusals_say_nothing_about_the_era(server: Scripted, status: int) -> None:
    async def refuse(request: Received) -> None:
        await request.answer(status, b"no", "text/plain")

    server.on["server/discover"] = refuse
    async with reached(at(server.url), Era.MODERN) as there:
        await there.state(State.BACKING_OFF)
    assert set(server.rpcs()) == {"server/discover"}


# Requests that are rejected


REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


async def test_a_call_is_sent_again_after_its_tool_was_read_again(server: Scripted) -> None:
    answers_modern(server)
    schemas = [{"type": "object"}, REGION]

    async def listed(request: Received) -> None:
        tool = {"name": "do", "inputSchema": schemas.pop(0)}
        await request.result({"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})

    async def call(request: Received) -> None:
        if "mcp-param-region" in request.headers:
            await request.result(said("done"))
        else:
            await request.error(400, -32020, id=request.message["id"])

    server.on |= {"tools/list": listed, "tools/call": call}
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        assert await there.text("do", {"region": "north"}) == "done"
    assert server.rpcs()[1:] == ["tools/list", "tools/call", "tools/list", "tools/call"]


async def test_a_call_whose_headers_never_fit_is_sent_twice(server: Scripted) -> None:
    answers_modern(server)

    async def call(request: Received) -> None:
        await request.error(400, -32020, id=None)

    server.on["tools/call"] = call
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        assert await there.error("do") == ("no", {})
    assert server.rpcs().count("tools/call") == 2


async def test_a_call_is_not_sent_again_if_its_tool_cannot_be_read(server: Scripted) -> None:
    answers_modern(server)

    async def call(request: Received) -> None:
        server.on["tools/list"] = gateway
        await request.error(400, -32020, id=None)

    server.on["tools/call"] = call
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        message, data = await there.error("do")
        assert "its list of tools could not be read: it failed (HTTP status 502, text/html): Bad Gateway" in message
        assert data["mayHaveRun"] is False
        assert there.tools() == ["do"]
    assert server.rpcs().count("tools/call") == 1


async def test_a_call_that_is_to_be_sent_again_can_be_cancelled(server: Scripted) -> None:
    answers_modern(server)
    listings: list[Received] = []

    async def listed(request: Received) -> None:
        listings.append(request)
        if len(listings) == 1:
            await server.answer(request)

    async def call(request: Received) -> None:
        await request.error(400, -32020, id=None)

    server.on |= {"tools/list": listed, "tools/call": call}
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        going = there.begin("do")
        await server.until("tools/list", 2)
        going.cancel(None)
        await server.answer(listings[1])
        del server.on["tools/call"]
        assert await there.text("do") == "done"
        assert going.outcomes == []
    assert server.rpcs().count("tools/call") == 2


async def test_a_server_that_becomes_legacy_is_opened_again(server: Scripted) -> None:
    answers_modern(server)
    newest = {"supported": ["2025-11-25"], "requested": "2026-07-28"}

    async def refuse(request: Received) -> None:
        if "mcp-session-id" in request.headers:
            await request.result(said("done"))
        else:
            error = {"code": -32022, "message": "unsupported", "data": newest}
            await request.error(400, -32022, id=request.message["id"], error=error)

    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        server.on |= {"server/discover": refuse, "tools/call": refuse}
        assert await there.text("do") == "done"
        assert there.era() is Era.LEGACY
    assert server.rpcs().count("tools/call") == 2


@pytest.mark.parametrize(
    "body", [b"slow down", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"slow"}}']
)
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("era", Era)
async def test_a_server_that_wants_to_be_left_alone(server: Scripted, era: Era, status: int, body: bytes) -> None:
    async def refuse(request: Received) -> None:
        await request.answer(status, body, Retry_After="120")

    server.on |= {"server/discover": refuse, "initialize": refuse}
    async with reached(at(server.url), era) as there:
        await there.state(State.BACKING_OFF)
        seconds = there.supervisor.status.retry_after_seconds
        assert seconds is not None
        assert 60 < seconds <= 120
        assert "try again in 120 s" in str(there.supervisor.status.reason)
    assert len(server.received) == 1


# Faults


async def broken(request: Received) -> None:
    await request.stream(b": working\n\n")
    await request.close()


async def dropped(request: Received) -> None:
    await request.close()


async def page(request: Received) -> None:
    await request.answer(200, b"<html><style>x{}</style><h1>Sign in</h1></html>", "text/html")


async def gateway(request: Received) -> None:
    await request.answer(502, b"<h1>Bad Gateway</h1>", "text/html")


async def accepted(request: Received) -> None:
    await request.answer(202)


async def many(request: Received) -> None:
    await request.answer(429, b"", Retry_After="7")


async def login(request: Received) -> None:
    await request.answer(401, b'{"error":"invalid_token"}')


async def elsewhere(request: Received) -> None:
    await request.answer(307, b"", Location="https://other.example/mcp?key=1")


async def huge(request: Received) -> None:
    await request.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n")
    await request.raw(b" " * (LIMIT + 1))
    await request.closed()


async def huge_event(request: Received) -> None:
    await request.stream(b"data: " + b"x" * (LIMIT + 1) + b"\n\n")
    await request.closed()


async def nonsense(request: Received) -> None:
    await request.answer(200, b"{nonsense")


@pytest.mark.parametrize(
    ("fault", "words", "may_have_run"),
    [
        (broken, "its event stream ended before the response", True),
        (dropped, "it closed the connection before the end of its answer", True),
        (page, "it is a web page and no MCP server; check its url (HTTP status 200, text/html): Sign in", True),
        (gateway, "it failed (HTTP status 502, text/html): Bad Gateway", True),
        (accepted, "it gave no MCP answer (HTTP status 202)", True),
        (nonsense, "it gave no MCP answer (HTTP status 200, application/json): {nonsense", True),
        (huge, "its answer has more than 1,048,576 bytes", True),
        (huge_event, "its answer has more than 1,048,576 bytes", True),
        (many, "it takes no more requests now (HTTP status 429); try again in 7 s", False),
        (
            login,
            'it needs a login, which "oauth": false in its entry excludes (HTTP status 401, application/json)',
            False,
        ),
        (elsewhere, "it redirects to another address, https://other.example/mcp", False),
    ],
)
async def test_faults(server: Scripted, fault: Any, words: str, may_have_run: bool) -> None:
    server.on["tools/call"] = fault
    async with reached(at(server.url)) as there:
        message, data = await there.error("do")
        assert words in message
        assert "key=1" not in message
        assert data["mayHaveRun"] is may_have_run
        assert there.tools() in (["do"], [])  # it stays open
        del server.on["tools/call"]
        assert await there.text("do") == "done"
    assert server.rpcs().count("tools/call") == 2  # nothing is repeated


async def test_an_error_without_an_id_answers_its_request(server: Scripted) -> None:
    async def refuse(request: Received) -> None:
        await request.error(400, -32602, id=None)

    server.on["tools/call"] = refuse
    async with reached(at(server.url)) as there:
        assert await there.error("do") == ("no", {})


@pytest.mark.parametrize(
    ("status", "members"),
    [(404, {"id": "server-error"}), (400, {"error": {"code": -32000, "message": "No valid session ID"}})],
)
async def test_a_lost_session(server: Scripted, status: int, members: dict[str, Any]) -> None:
    async def call(request: Received) -> None:
        if request.headers["mcp-session-id"] == "s1":
            await request.error(status, -32600, **members)
        else:
            await request.result(said("done"))

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        calls = [there.begin("do", {"n": number}) for number in range(5)]
        assert [isinstance(await each.outcome(), Result) for each in calls] == [True] * 5
        assert server.sessions == 2
    assert server.rpcs().count("tools/call") == 10
    assert "mcp-session-id" not in (await server.until("initialize", 2)).headers


async def test_a_session_that_is_always_lost_is_tried_twice(server: Scripted) -> None:
    async def call(request: Received) -> None:
        await request.error(404, -32600, id=None)

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        message, data = await there.error("do")
        assert message == "MCP server 'there' did not run the call: its session expired"
        assert data["mayHaveRun"] is False
    assert server.rpcs().count("tools/call") == 2


async def test_a_stream_is_resumed(server: Scripted) -> None:
    called: list[Received] = []

    async def call(request: Received) -> None:
        called.append(request)
        await request.stream(b"retry: 10\nid: p1\ndata:\n\n")
        await request.close()

    async def stream(request: Received) -> None:
        if "last-event-id" not in request.headers:
            await request.answer(405)
            return
        assert request.headers["last-event-id"] == "p1"
        await request.stream(event(called[0].response(said("late")), "p2"))
        await request.close()

    server.on |= {"tools/call": call, "GET": stream}
    async with reached(at(server.url)) as there:
        assert await there.text("do") == "late"
    assert len(called) == 1


async def test_a_session_is_open_though_the_answer_to_its_confirmation_does_not_end(server: Scripted) -> None:
    async def confirm(request: Received) -> None:
        await request.stream(b": hello\n\n")
        await request.closed()

    server.on["notifications/initialized"] = confirm
    async with reached(at(server.url)) as there:
        await there.ready()
        assert await there.text("do") == "done"


async def test_the_answer_that_opens_a_session_is_resumed(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "SHORTEST_PAUSE", 0.0)

    async def initialize(request: Received) -> None:
        await request.stream(b"id: 1\ndata:\n\n")
        await request.close()

    async def stream(request: Received) -> None:
        if "last-event-id" not in request.headers:
            await request.answer(405)
            return
        await request.stream(event(server.received[0].response(OPENED)))
        await request.close()

    server.on |= {"initialize": initialize, "GET": stream}
    async with reached(at(server.url)) as there:
        await there.ready()
        assert await there.text("do") == "done"
    assert server.received[-1].headers["mcp-protocol-version"] == "2025-11-25"


async def test_the_stream_for_news_is_opened_again_though_its_last_event_is_forgotten(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "SHORTEST_PAUSE", 0.0)

    async def stream(request: Received) -> None:
        if "last-event-id" in request.headers:
            await request.error(400, -32000, id=None)
        elif server.rpcs().count("GET") == 1:
            await request.stream(b"id: 7\ndata:\n\n")
            await request.close()
        else:
            await request.stream()
            await request.closed()

    server.on["GET"] = stream
    async with reached(at(server.url)) as there:
        await there.ready()
        assert "last-event-id" not in (await server.until("GET", 3)).headers


async def test_a_stream_whose_call_is_answered_is_closed_though_more_arrives(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "LAST_BYTES_SECONDS", 0.05)
    closed = anyio.Event()

    async def call(request: Received) -> None:
        await request.stream(event(request.response(said("done"))))
        try:
            while not request.reader.at_eof():
                await request.raw(b": still here\n\n")
                await anyio.sleep(0.01)
        finally:
            closed.set()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        assert await there.text("do") == "done"
        await closed.wait()


async def test_gzip_and_redirects_to_the_same_origin(server: Scripted) -> None:
    async def call(request: Received) -> None:
        if request.path == "/mcp":
            await request.answer(307, b"", Location="/other")
        else:
            await request.answer(200, gzip.compress(request.response(said("packed"))), Content_Encoding="gzip")

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        assert await there.text("do") == "packed"


async def test_a_redirect_to_what_is_no_address(server: Scripted) -> None:
    async def elsewhere(request: Received) -> None:
        await request.answer(307, Location="//[::1")

    server.on["DELETE"] = elsewhere
    async with reached(at(server.url)) as there:
        await there.ready()
        assert await there.text("do") == "done"
    assert server.rpcs()[-1] == "DELETE"


async def test_open_streams_do_not_keep_calls_from_being_sent(server: Scripted) -> None:
    async def call(request: Received) -> None:
        if "wait" in request.message["params"]["arguments"]:
            await request.stream(b": working\n\n")
            await request.closed()
        else:
            await request.result(said("done"))

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        waiting = [there.begin("do", {"wait": 1}) for _ in range(110)]
        await server.until("tools/call", 110)
        assert await there.text("do") == "done"
        assert not any(each.outcomes for each in waiting)


async def test_no_server() -> None:
    async with scripted() as gone:
        url = gone.url
    async with reached(at(url)) as there:
        message, data = await there.error("do")
        assert "no connection to 127.0.0.1" in message
        assert data["state"] == State.BACKING_OFF


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://", "127.0.0.1"])
async def test_no_address(url: str) -> None:
    async with reached(at(url)) as there:
        message, _ = await there.error("do")
        assert "its address cannot be used" in message


async def test_a_call_during_the_start_does_not_start_an_idle_server_again(server: Scripted) -> None:
    go = anyio.Event()

    async def initialize(request: Received) -> None:
        await go.wait()
        await server.answer(request)

    server.on["initialize"] = initialize
    async with reached(at(server.url)) as there:
        await server.until("initialize")
        going = there.begin("do")
        go.set()
        await there.ready()
        await going.outcome()
        there.supervisor._stop_idle(1)
        await there.state(State.STOPPED)
        await anyio.wait_all_tasks_blocked()
        assert there.supervisor.status.state is State.STOPPED


async def test_two_servers_do_not_wait_for_each_other(server: Scripted) -> None:
    async def never(request: Received) -> None:
        await request.closed()

    async with scripted() as silent:
        silent.on["initialize"] = never
        async with reached(at(silent.url)) as stuck, reached(at(server.url)) as there:
            assert await there.text("do") == "done"
            assert stuck.tools() == []
