"""Faults of remote servers that concern more than one answer, and servers that mean harm with addresses and names."""

from collections.abc import AsyncIterator

import anyio
import pytest

from backends.remote.reached import LIMIT, at, reached
from backends.remote.scripted import DISCOVERED, OPENED, TOOL, Received, Scripted, event, said, scripted
from search_mcp.model.calls import Result
from search_mcp.model.names import Era, State
from search_mcp.wire.errors import WireError

NEWS = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'


@pytest.fixture
async def server() -> AsyncIterator[Scripted]:
    async with scripted() as served:
        yield served


async def discover(request: Received) -> None:
    await request.result(DISCOVERED)


# Answers


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_trickle_is_read_to_its_end(server: Scripted, kind: str) -> None:
    async def call(request: Received) -> None:
        body = request.response(said("done"))
        if kind == "application/json":
            await request.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        else:
            await request.stream()
            body = event(body)
        for byte in body:
            await request.raw(bytes([byte]))
            await anyio.lowlevel.checkpoint()
        await request.close()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        assert await there.text("do") == "done"


async def test_a_huge_answer_is_not_read_to_its_end(server: Scripted) -> None:
    sent = 0

    async def call(request: Received) -> None:
        nonlocal sent
        await request.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n")
        while sent < 104857600:
            await request.raw(b" " * 65536)  # fails once the connection is closed
            sent += 65536

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        assert "its answer has more than 1,048,576 bytes" in (await there.error("do"))[0]
    assert sent < 50 << 20  # the rest of what was sent are buffers of the system


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\x1f\x8b nonsense", "its answer cannot be decompressed"),
        (b"", "it gave no MCP answer (HTTP status 200, application/json)"),
    ],
)
async def test_compression_that_is_none(server: Scripted, body: bytes, words: str) -> None:
    async def call(request: Received) -> None:
        await request.answer(200, body, Content_Encoding="gzip", Content_Type="application/json")

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        message, data = await there.error("do")
        assert words in message
        assert data["mayHaveRun"] is True


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_to_another_request_answers_neither(server: Scripted, kind: str) -> None:
    """A cache on the way may give the answer to an earlier request."""
    first: list[Received] = []

    async def call(request: Received) -> None:
        if not first:
            first.append(request)
            await request.stream(b": working\n\n")
        elif kind == "application/json":
            await request.answer(200, first[0].response(said("mixed up")))
        else:
            await request.stream(event(first[0].response(said("mixed up"))))
            await request.close()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        going = there.begin("do", {"number": 1})
        await server.until("tools/call")
        assert (await there.error("do", {"number": 2}))[1]["mayHaveRun"] is True
        assert going.outcomes == []
        await first[0].raw(event(first[0].response(said("right"))))
        await first[0].close()
        outcome = await going.outcome()
        assert isinstance(outcome, Result)
        assert b"right" in bytes(outcome.raw())


async def test_the_stream_for_news_answers_no_request(server: Scripted) -> None:
    calls: list[Received] = []
    streams: list[Received] = []

    async def call(request: Received) -> None:
        calls.append(request)
        await request.stream(b": working\n\n")

    async def stream(request: Received) -> None:
        streams.append(request)
        await request.stream()

    server.on |= {"tools/call": call, "GET": stream}
    async with reached(at(server.url)) as there:
        await there.ready()
        await server.until("GET")
        going = there.begin("do")
        await server.until("tools/call")
        await streams[0].raw(event(calls[0].response(said("wrong"))) + event(NEWS))
        await server.until("tools/list", 2)  # both were read
        assert going.outcomes == []
        await calls[0].raw(event(calls[0].response(said("right"))))
        assert isinstance(await going.outcome(), Result)


async def test_a_stream_that_cannot_be_resumed_is_lost(server: Scripted) -> None:
    async def call(request: Received) -> None:
        await request.stream(b"retry: 100\nid: p1\ndata:\n\n")
        await request.close()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        message, data = await there.error("do")
        assert "its event stream ended before the response" in message
        assert data["mayHaveRun"] is True
    assert server.rpcs().count("tools/call") == 1
    assert [each.headers.get("last-event-id") for each in server.received if each.rpc == "GET"].count("p1") == 1


async def test_a_modern_stream_is_not_resumed(server: Scripted) -> None:
    async def call(request: Received) -> None:
        await request.stream(b"retry: 100\nid: p1\ndata:\n\n")
        await request.close()

    server.on |= {"server/discover": discover, "tools/call": call}
    async with reached(at(server.url), Era.MODERN) as there:
        assert (await there.error("do"))[1]["mayHaveRun"] is True
    assert "GET" not in server.rpcs()


async def test_news_over_the_limit_costs_only_itself(server: Scripted) -> None:
    async def stream(request: Received) -> None:
        await request.stream(event(b"x" * (LIMIT + 1)), event(NEWS))
        await request.closed()

    server.on["GET"] = stream
    async with reached(at(server.url)) as there:
        await server.until("tools/list", 2)
        assert await there.text("do") == "done"
    assert server.rpcs().count("GET") == 1


async def test_a_flood_of_news_keeps_nobody_from_answering(server: Scripted) -> None:
    is_over = anyio.Event()

    async def flood(request: Received) -> None:
        await request.stream()
        noise = event(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}') * 500
        while not is_over.is_set():
            await request.raw(noise)

    server.on["GET"] = flood
    async with scripted() as quiet, reached(at(quiet.url)) as there, reached(at(server.url)) as flooding:
        await flooding.ready()
        await server.until("GET")
        for _ in range(20):
            assert await there.text("do") == "done"
            assert await flooding.text("do") == "done"
        is_over.set()


async def test_more_calls_than_are_sent_at_once(server: Scripted) -> None:
    calls: list[Received] = []
    most = 0

    async def call(request: Received) -> None:
        nonlocal most
        calls.append(request)
        most = max(most, len(calls))
        await request.stream(b": working\n\n")

    async def stream(request: Received) -> None:
        await request.stream()
        await request.closed()

    server.on |= {"tools/call": call, "GET": stream}
    async with reached(at(server.url)) as there:
        await there.ready()
        going = [there.begin("do", {"number": number}) for number in range(300)]
        for number in range(300):
            await server.until("tools/call", number + 1)
            answered = calls.pop(0)
            await answered.raw(event(answered.response(said("done"))))
            await answered.close()
        for each in going:
            assert isinstance(await each.outcome(), Result)
    assert most <= 128


async def test_the_end_with_calls_under_way(server: Scripted) -> None:
    async def call(request: Received) -> None:
        await request.stream(b": working\n\n")
        await request.closed()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        going = [there.begin("do") for _ in range(3)]
        await server.until("tools/call", 3)
        there.supervisor.terminate()
        for each in going:
            assert "it was stopped" in str(await each.outcome())


async def test_a_session_that_is_lost_with_a_call_under_way(server: Scripted) -> None:
    """The call that the server works on may have run; the one that it rejected is sent once more."""

    async def call(request: Received) -> None:
        if "wait" in request.message["params"]["arguments"]:
            await request.stream(b": working\n\n")
            await request.closed()
        elif request.headers["mcp-session-id"] == "s1":
            await request.answer(404)
        else:
            await request.result(said("done"))

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        waiting = there.begin("do", {"wait": 1})
        await server.until("tools/call")
        assert await there.text("do") == "done"
        outcome = await waiting.outcome()
        assert isinstance(outcome, WireError)
        assert dict(outcome.data() or {})["mayHaveRun"] is True
    assert server.rpcs().count("tools/call") == 3


async def test_huge_headers_are_an_error(server: Scripted) -> None:
    async def call(request: Received) -> None:
        lines = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        await request.raw(lines + b"X-Big: " + b"x" * (2 << 20) + b"\r\n\r\n")

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        message, data = await there.error("do")
        assert "the connection broke" in message
        assert data["mayHaveRun"] is True


async def test_a_call_that_waits_to_resume_its_stream_can_be_cancelled(server: Scripted) -> None:
    """The server may ask for a delay of minutes."""

    async def call(request: Received) -> None:
        await request.stream(b"retry: 999999999\nid: p1\ndata:\n\n")
        await request.close()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        going = there.begin("do")
        await server.until("tools/call")
        going.cancel(None)
        await server.until("notifications/cancelled")
        del server.on["tools/call"]
        assert await there.text("do") == "done"


async def test_a_call_is_cancelled_before_the_session_ends(server: Scripted) -> None:
    async def call(request: Received) -> None:
        await request.stream(b": working\n\n")
        await request.closed()

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        await there.ready()
        going = there.begin("do")
        await server.until("tools/call")
        going.cancel(None)
    assert server.rpcs()[-2:] == ["notifications/cancelled", "DELETE"]


async def test_cookies_keep_a_session_at_its_server(server: Scripted) -> None:
    async def opened(request: Received) -> None:
        await request.result(OPENED, Mcp_Session_Id="s1", Set_Cookie="instance=7; Path=/; HttpOnly")

    server.on["initialize"] = opened
    async with reached(at(server.url)) as there:
        assert await there.text("do") == "done"
    assert {each.headers.get("cookie") for each in server.received[1:]} == {"instance=7"}


async def test_a_server_that_sets_ever_new_cookies_is_sent_a_few_of_them(server: Scripted) -> None:
    turn = 0

    async def called(request: Received) -> None:
        nonlocal turn
        turn += 1
        lines = [f"Set-Cookie: {turn}-{number}=x; Path=/" for number in range(40)]
        lines += ["Set-Cookie: 1-0=new; Path=/", f"Set-Cookie: long={'x' * 5000}; Path=/"]
        body = request.response({"content": [{"type": "text", "text": "done"}]})
        head = ["HTTP/1.1 200 X", "Content-Type: application/json", f"Content-Length: {len(body)}", *lines]
        await request.raw("\r\n".join([*head, "", ""]).encode() + body)

    server.on["tools/call"] = called
    async with reached(at(server.url)) as there:
        for _ in range(4):
            assert await there.text("do") == "done"
    calls = [each for each in server.received if each.rpc == "tools/call"]
    cookies = calls[-1].headers["cookie"].split("; ")
    assert (len(cookies), "1-0=new" in cookies, "long" in calls[-1].headers["cookie"]) == (50, True, False)


# Addresses


async def test_a_call_that_is_redirected_elsewhere_has_not_run(server: Scripted) -> None:
    async def call(request: Received) -> None:
        await request.answer(307, b"", Location="http://user:word@other.example/?key=1")

    server.on["tools/call"] = call
    async with reached(at(server.url)) as there:
        message, data = await there.error("do")
        assert "it redirects to another address, http://other.example/" in message
        assert "word" not in message
        assert data["mayHaveRun"] is False


async def test_an_address_with_a_user_does_not_replace_the_credentials(server: Scripted) -> None:
    base = server.url.removesuffix("/mcp").replace("http://", "http://evil:evil@")

    async def call(request: Received) -> None:
        if request.path == "/mcp":
            await request.answer(307, b"", Location=f"{base}/other")
        else:
            await request.result(said(request.headers["authorization"]))

    server.on["tools/call"] = call
    async with reached(at(server.url, headers={"Authorization": "Bearer mine"})) as there:
        assert await there.text("do") == "Bearer mine"


async def test_an_endpoint_with_a_user_does_not_replace_the_credentials(server: Scripted) -> None:
    base = server.url.removesuffix("/mcp").replace("http://", "http://evil:evil@")
    streams: list[Received] = []

    async def stream(request: Received) -> None:
        streams.append(request)
        await request.stream(f"event: endpoint\ndata: {base}/messages\n\n".encode())
        await request.closed()

    async def opened(request: Received) -> None:
        await request.answer(202)
        await streams[0].raw(event(request.response({**OPENED, "capabilities": {}})))

    server.on |= {"GET": stream, "initialize": opened}
    async with reached(at(server.url, "sse", headers={"Authorization": "Bearer mine"})) as there:
        await there.state(State.READY)
    assert {each.headers["authorization"] for each in server.received} == {"Bearer mine"}


# Names and headers


@pytest.mark.parametrize("session", ["with space", "tab\there", "é", "x" * 5000])
async def test_a_session_id_that_may_not_be_one_is_not_sent_back(server: Scripted, session: str) -> None:
    async def opened(request: Received) -> None:
        lines = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {session}\r\n"
        body = request.response(OPENED)
        await request.raw(lines.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    server.on["initialize"] = opened
    async with reached(at(server.url)) as there:
        assert await there.text("do") == "done"
    assert not any("mcp-session-id" in each.headers for each in server.received)


@pytest.mark.parametrize("name", ["do\r\nX-Evil: 1", "do\n\n{}", "do\0", "é", " do ", "=?base64?ZG8=?="])
async def test_the_name_of_a_tool_cannot_add_headers(server: Scripted, name: str) -> None:
    async def listed(request: Received) -> None:
        await request.result({"tools": [{**TOOL, "name": name}], "resultType": "complete"})

    server.on |= {"server/discover": discover, "tools/list": listed}
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        assert await there.text(name) == "done"
    called = await server.until("tools/call")
    assert called.message["params"]["name"] == name
    assert "x-evil" not in called.headers
    assert called.headers["mcp-name"].startswith("=?base64?")


@pytest.mark.parametrize("header", ["A\r\nX-Evil: 1", "", "a b", "é", 'q"', "A\n"])
async def test_the_name_of_a_parameter_cannot_add_headers(server: Scripted, header: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": header}}}

    async def listed(request: Received) -> None:
        await request.result({"tools": [TOOL, {"name": "look", "inputSchema": schema}], "resultType": "complete"})

    server.on |= {"server/discover": discover, "tools/list": listed}
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        assert there.tools() == ["do"]
        await there.text("look", {"a": "1"})  # it is called in spite of that
    called = await server.until("tools/call")
    assert not [name for name in called.headers if "evil" in name or name.startswith("mcp-param")]


async def test_a_revision_cannot_add_headers(server: Scripted) -> None:
    async def opened(request: Received) -> None:
        await request.result({**OPENED, "protocolVersion": "2025-11-25\r\nX-Evil: 1"})

    server.on["initialize"] = opened
    async with reached(at(server.url)) as there:
        await there.until(lambda: there.supervisor.status.reason is not None)
        assert "does not know" in str(there.supervisor.status.reason)
    assert not any("x-evil" in each.headers for each in server.received)
