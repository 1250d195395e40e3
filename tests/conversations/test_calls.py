"""Calls and their results, byte for byte: payloads are relayed unchanged, ids and tokens belong to each hop."""

import pytest

from conversations.back import exits, refuses
from conversations.eras import (
    legacy_client,
    legacy_legacy,
    legacy_modern,
    modern_client,
    modern_legacy,
    modern_modern,
)
from conversations.pair import Pair
from conversations.transcript import members
from conversations.words import ECHO, LOG_LEVEL, Json, encode, text, tool

RICH = (
    b'{"content":[{"type":"text","text":"caf\\u00e9 \xe2\x98\x83 \\ud83d\\ude00 \\u2028",'
    b'"annotations":{"priority":0.10}},'
    b'{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"},'
    b'{"type":"resource_link","uri":"x:\\/\\/1","name":"One"},'
    b'{"type":"resource","resource":{"uri":"x://2","text":"t","_meta":{"a.b/c":null}}}],'
    b'"structuredContent":{"z":1,"a":123456789012345678901234567890,"f":1.0,"e":-1E+2,"t": [ 1 ,2 ],"":{"b":1,"a":2}},'
    b'"_meta":{"com.example/z":{"b":1.50,"a":[]},"com.example/a":"\\u0041"},"isError":false,"unknown":{"y":[1, 2]}}'
)


def test_a_result_arrives_as_it_was_sent(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    pair.alpha.returns(RICH)
    pair.front.gets(RICH)


@modern_client
def test_a_result_that_is_no_object_any_more_where_structure_may_be_anything(pair: Pair) -> None:
    pair.front.opens()
    for anything in (b"[1, 2]", b"null", b'"x"', b"1.0"):
        pair.front.calls("alpha.echo")
        result = b'{"content":[],"structuredContent":%b}' % anything
        pair.alpha.returns(result)
        pair.front.gets(result)


@legacy_modern
@pytest.mark.parametrize("anything", [b"[1, 2]", b"null", b'"x \\u2603"', b"1.0", b"false"])
def test_structure_that_is_no_object_reaches_a_legacy_client_as_text(pair: Pair, anything: bytes) -> None:
    """Such a client refuses the whole result: "structuredContent?: { [key: string]: unknown }"."""
    pair.front.opens()
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    as_text = {"type": "text", "text": anything.decode()}
    spoken = {"type": "text", "text": "two numbers"}
    for given, shown in (([], [as_text]), ([image], [image, as_text]), ([image, spoken], [image, spoken])):
        pair.front.calls("alpha.echo")
        rest = b'"isError":false,"unknown":1.0'
        pair.alpha.returns(b'{"content":%b,"structuredContent":%b,%b}' % (encode(given), anything, rest))
        pair.front.gets(b'{"content":%b,%b}' % (encode(shown), rest))


@legacy_modern
def test_a_member_of_that_name_in_another_result_passes(pair: Pair) -> None:
    pair.alpha.prompts = [{"name": "hello"}]
    pair.front.opens()
    pair.front.asks("prompts/get", {"name": "alpha.hello"})
    result = b'{"messages":[],"structuredContent":[1, 2]}'
    pair.alpha.returns(result)
    pair.front.gets(result)


@legacy_client
def test_a_result_to_a_legacy_client_carries_no_modern_keys(pair: Pair) -> None:
    """The WireLog sees to it; here they are even sent."""
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.receives("tools/call")
    kind = {"resultType": "complete", "ttlMs": 5, "cacheScope": "public"} if pair.alpha.is_modern else {}
    served.returns({**kind, "content": []})
    pair.front.gets({"content": []})


def test_arguments_arrive_as_they_were_sent(pair: Pair) -> None:
    pair.front.opens()
    arguments = b'{"z":1,"a":123456789012345678901234567890,"f":1.0,"s":"\\u00e9 \xe2\x98\x83","n": [ 1 ,null]}'
    meta = encode({"_meta": pair.front.stamped({})})[1:-1] if pair.front.is_modern else b'"unknown":{"b":1,"a":2}'
    line = b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"alpha.echo","arguments":%b,%b}}'
    pair.front.says_line(line % (arguments, meta))
    heard = pair.alpha.receives("tools/call", name="echo")
    assert dict(members(_params(heard.said.line)))["arguments"] == arguments
    heard.returns(text("x"))
    assert pair.front.next().id == "x"


def test_unknown_params_and_meta_pass_and_reserved_keys_do_not(pair: Pair) -> None:
    pair.front.opens()
    meta: Json = {"com.example/trace": {"b": 1, "a": 2}, "traceparent": "00-1-2-01"}
    pair.front.asks("tools/call", {"name": "alpha.echo", "task": {"ttl": 1}, "new": [1]}, meta=meta)
    served = pair.alpha.receives("tools/call", task={"ttl": 1}, new=[1])
    given = {key: value for key, value in served.said.meta.items() if not key.startswith("io.modelcontextprotocol/")}
    assert given == meta
    assert "progressToken" not in served.said.meta
    served.returns(text("x"))
    pair.front.gets(text("x"))


@legacy_legacy
@pytest.mark.parametrize("meta", ["", ',"_meta":{}', ',"_meta":{"a.b/c":{}}'])
def test_an_empty_meta_of_a_request_arrives_and_a_missing_one_stays_missing(pair: Pair, meta: str) -> None:
    """In the other pairings every request has a `_meta` with the keys that each side sets."""
    pair.front.opens()
    params = f'{{"name":"%s","arguments":{{}}{meta}}}'
    line = f'{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{params % "alpha.echo"}}}'
    pair.front.says_line(line.encode())
    served = pair.alpha.is_called("echo")
    assert _params(served.said.line) == (params % "echo").encode()
    served.returns(text("x"))
    assert pair.front.next().id == "x"


@modern_legacy
def test_a_meta_of_nothing_but_reserved_keys_does_not_reach_a_legacy_backend(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    assert "_meta" not in served.said.params
    served.returns(text("x"))
    pair.front.gets(text("x"))


def test_an_empty_meta_of_a_result_arrives(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    pair.alpha.returns(b'{"content":[{"type":"text","text":"x","_meta":{}}],"_meta":{}}')
    pair.front.gets(b'{"content":[{"type":"text","text":"x","_meta":{}}],"_meta":{}}')


@pytest.mark.parametrize("spelling", ["alpha.greet", "alpha__greet", "alpha_greet"])
def test_every_spelling_is_callable(pair: Pair, spelling: str) -> None:
    pair.front.opens()
    pair.front.calls(spelling, name="Ada")
    pair.alpha.is_called("greet", name="Ada").returns(text("hello"))
    pair.front.gets(text("hello"))


def test_names_with_dots_are_looked_up_and_not_split(pair: Pair) -> None:
    beta = pair.with_server("alpha.b")
    pair.alpha.tools, beta.tools = [tool("c.d"), tool("x")], [tool("d"), tool("e.f")]
    pair.front.opens()
    for name, back, own in (("alpha.c.d", pair.alpha, "c.d"), ("alpha.b.d", beta, "d"), ("alpha.b.e.f", beta, "e.f")):
        pair.front.calls(name)
        back.is_called(own).returns(text(own))
        pair.front.gets(text(own))


THEIR_NAMES = [
    # a hostile server's entry, its tool, the victim's name, the victim's tool
    pytest.param({}, "hub_create", "alpha-hub", "create", id="folded"),
    pytest.param({}, "hub.create", "alpha.hub", "create", id="dotted"),
    pytest.param({"prefix": ""}, "beta.create", "beta", "create", id="bare"),
    pytest.param({"rename": {"x": "hub_create"}}, "x", "alpha_hub", "create", id="renamed"),
]


@pytest.mark.parametrize("state", ["ready", "failed", "switched off", "without a list"])
@pytest.mark.parametrize(("config", "taken", "victim", "key"), THEIR_NAMES)
def test_a_full_name_reaches_no_server_but_the_one_whose_prefix_it_carries(
    pair: Pair, config: Json, taken: str, victim: str, key: str, state: str
) -> None:
    beta = pair.with_server(victim, enabled=state != "switched off")
    pair.alpha.config, pair.alpha.tools, beta.tools = config, [tool(taken)], [tool(key)]
    if state == "failed":
        beta.on_opening(exits)
    if state == "without a list":
        beta.on("tools/list", refuses(-32603, "no"))
    pair.front.opens()
    for name in (f"{victim}.{key}", f"{victim}__{key}"):
        pair.front.calls(name)
        if state in ("ready", "without a list"):
            beta.is_called(key).returns(text("theirs"))
            pair.front.gets(text("theirs"))
        else:
            assert pair.front.next().body["error"]["message"].startswith(f"MCP server '{victim}' is not running")
            pair.front._only().is_over()
        pair.alpha.hears_nothing()


@pytest.mark.parametrize("victim", ["alpha.b", "alpha-b"])
def test_a_server_whose_list_cannot_be_had_is_not_given_what_belongs_to_another(pair: Pair, victim: str) -> None:
    beta = pair.with_server(victim)
    bare = pair.with_server("bare", prefix="")
    for back in (pair.alpha, bare):
        back.on("tools/list", refuses(-32603, "no"))
    beta.tools = [tool("c")]
    pair.front.opens()
    for name in (f"{victim}.d", f"{victim}__d", "alpha_b_d"):
        pair.front.calls(name)
        assert pair.front.next().body["error"]["message"].startswith(f"Tool not found: {name}"), name
        pair.front._only().is_over()
    pair.front.calls("alpha.x")
    pair.alpha.is_called("x").returns(text("x"))
    pair.front.gets(text("x"))
    pair.front.calls("y.z")
    bare.is_called("y.z").returns(text("z"))
    pair.front.gets(text("z"))


@pytest.mark.parametrize("mode", ["light", "full", "search"])
def test_call_tool_is_callable_in_every_mode(pair: Pair, mode: str) -> None:
    pair.settings = {"listing": mode}
    pair.front.opens()
    pair.front.calls("call_tool", name="alpha.echo", arguments={"a": 1})
    pair.alpha.is_called("echo", a=1).returns(RICH)
    pair.front.gets(RICH)


NUMBERS: Json = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
SUM: Json = {**tool("sum"), "inputSchema": NUMBERS}
AS_TEXT: Json = {"a": "1", "b": "2.50"}
TYPED: Json = {"a": 1, "b": 2.5}


@pytest.mark.parametrize(
    ("listing", "pinned", "by", "sent"),
    [
        ("light", [], "alpha.sum", TYPED),
        ("search", [], "alpha.sum", TYPED),
        ("light", ["sum"], "alpha.sum", AS_TEXT),
        ("full", [], "alpha.sum", AS_TEXT),
        ("full", [], "call_tool", TYPED),
    ],
)
def test_values_written_as_text_get_their_types_where_no_types_were_shown(
    pair: Pair, listing: str, pinned: list[str], by: str, sent: Json
) -> None:
    """Without a type in the list, some clients send every value as a string, whatever the model wrote."""
    pair.alpha.tools = [SUM]
    pair.settings = {"listing": listing}
    pair.alpha.config = {"pinned": pinned}
    pair.front.opens()
    if by == "call_tool":
        pair.front.calls("call_tool", name="alpha.sum", arguments=AS_TEXT)
    else:
        pair.front.calls(by, **AS_TEXT)
    pair.alpha.is_called("sum", **sent).returns(text("3.5"))
    pair.front.gets(text("3.5"))


def test_parameters_beside_the_name_in_call_tool_reach_the_tool(pair: Pair) -> None:
    pair.alpha.tools = [SUM]
    pair.front.opens()
    pair.front.calls("call_tool", name="alpha.sum", a=1, b="2", reason="why not")
    pair.alpha.is_called("sum", a=1, b=2).returns(text("3"))
    pair.front.gets(text("3"))
    pair.front.calls("call_tool", name="alpha.sum", arguments={}, a=1)
    pair.alpha.is_called("sum").returns(text("none"))
    pair.front.gets(text("none"))
    pair.front.calls("call_tool", tool="alpha.sum", args={})
    message = pair.front.next().body["error"]["message"]
    assert message.endswith("""{"name": "server.tool", "arguments": {...}}; got 'args', 'tool'""")


def test_concurrent_calls_are_answered_in_any_order(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.front.opens()
    first, second, third = (pair.front.calls(name) for name in ("alpha.echo", "beta.echo", "alpha.greet"))
    served = [pair.alpha.is_called("echo"), beta.is_called("echo"), pair.alpha.is_called("greet")]
    for each, asked, words in ((2, third, "c"), (0, first, "a"), (1, second, "b")):
        served[each].returns(text(words))
        asked.gets(text(words))


def test_the_ids_1_and_1_as_text_are_two(pair: Pair) -> None:
    pair.front.opens()
    number = pair.front.asks("tools/call", {"name": "alpha.echo"}, id=101)
    words = pair.front.asks("tools/call", {"name": "alpha.echo"}, id="101")
    first, second = pair.alpha.is_called("echo"), pair.alpha.is_called("echo")
    second.returns(text("second"))
    words.gets(text("second"))
    first.returns(text("first"))
    number.gets(text("first"))


@pytest.mark.parametrize("identifier", [0, -1, 2**53 + 1, "", "☃", "a" * 1000])
def test_any_id_comes_back_as_it_was(pair: Pair, identifier: int | str) -> None:
    pair.front.opens()
    call = pair.front.asks("tools/call", {"name": "alpha.echo"}, id=identifier)
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_an_id_in_use_is_refused_and_the_first_request_goes_on(pair: Pair) -> None:
    pair.front.opens()
    call = pair.front.asks("tools/call", {"name": "alpha.echo"}, id="twice")
    served = pair.alpha.is_called("echo")
    pair.front.asks("tools/call", {"name": "alpha.echo"}, id="twice").fails(-32600)
    served.returns(text("x"))
    call.gets(text("x"))


def test_a_backend_is_asked_under_ids_of_our_own(pair: Pair) -> None:
    pair.front.opens()
    calls = [pair.front.asks("tools/call", {"name": "alpha.echo"}, id=each) for each in (1000, "1000", 1001)]
    served = [pair.alpha.is_called("echo") for _ in calls]
    assert len({each.said.id for each in served}) == 3
    assert {each.said.id for each in served}.isdisjoint({1000, "1000", 1001})
    for each, call in zip(served, calls, strict=True):
        each.returns(text("x"))
        call.gets(text("x"))


def test_an_answer_nobody_waits_for_goes_nowhere(pair: Pair) -> None:
    pair.front.opens()
    for stray in (999, "999", None, 1.5, [1]):
        pair.alpha.says(id=stray, result=text("?"))
        pair.alpha.says(id=stray, error={"code": 1, "message": "?"})
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.says(id=str(served.said.id), result=text("not mine"))  # "5" is not 5
    pair.front.hears_nothing()
    served.returns(text("x"))
    pair.front.gets(text("x"))
    pair.alpha.answer(served.said.id, text("again"))
    pair.front.hears_nothing()


def test_an_answer_with_a_null_error_is_an_answer(pair: Pair) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    kind = {"resultType": "complete"} if pair.alpha.is_modern else {}
    pair.alpha.says(id=served.said.id, result={**kind, **text("x")}, error=None)
    served.is_over()
    call.gets(text("x"))


def test_arguments_that_models_write_as_text_are_read(pair: Pair) -> None:
    pair.front.opens()
    pair.front.asks("tools/call", {"name": "alpha.echo", "arguments": '{"a":1}'})
    pair.alpha.is_called("echo", a=1).returns(text("x"))
    pair.front.gets(text("x"))


@pytest.mark.parametrize("arguments", [None, ...])
def test_a_call_without_arguments_is_one(pair: Pair, arguments: object) -> None:
    pair.front.opens()
    more = {} if arguments is ... else {"arguments": arguments}
    pair.front.asks("tools/call", {"name": "alpha.echo", **more})
    pair.alpha.is_called("echo").returns(text("x"))
    pair.front.gets(text("x"))


@modern_modern
def test_a_result_type_of_an_extension_passes(pair: Pair) -> None:
    """ "Extensions MAY add additional `ResultType` values"; the client declared it, so it reached the server."""
    pair.front.opens(extensions={"io.modelcontextprotocol/tasks": {}})
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns({"resultType": "task", "task": {"taskId": "1"}})
    result = call.result()
    assert (result["resultType"], result["task"]) == ("task", {"taskId": "1"})


@modern_client
def test_our_reserved_keys_do_not_reach_a_backend_as_the_clients(pair: Pair) -> None:
    pair.alpha.logs = True
    pair.front.opens()
    pair.front.calls("alpha.echo", meta={LOG_LEVEL: "error"}, token="mine")
    served = pair.alpha.is_called("echo")
    assert served.token != "mine"
    if not pair.alpha.is_modern:
        assert list(served.said.meta) == ["progressToken"]
    served.returns(text("x"))
    pair.front.gets(text("x"))


# Batches and nonsense


@legacy_client
def test_a_batch_is_answered_as_a_batch(pair: Pair) -> None:
    pair.front.opens()
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "alpha.echo"}}
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    note = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    pair.front.says_line(encode([{**call, "id": 91}, ping, note, {**call, "id": "91"}, 7]))
    first = pair.alpha.is_called("echo")
    if not pair.alpha.is_modern:
        pair.alpha.hears("notifications/roots/list_changed")
    second = pair.alpha.is_called("echo")
    second.returns(text("2"))
    pair.front.hears_nothing()
    first.returns(text("1"))
    answers = {repr(each["id"]): each for each in pair.front.next().body}
    assert answers["91"]["result"] == text("1")
    assert answers["'91'"]["result"] == text("2")
    assert answers["'p'"]["result"] == {}
    assert answers["None"]["error"]["code"] == -32600


@legacy_client
def test_a_cancelled_member_of_a_batch_is_left_out_of_its_answer(pair: Pair) -> None:
    pair.front.opens()
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "alpha.echo"}}
    pair.front.says_line(encode([{**call, "id": 91}, {**call, "id": 92}]))
    first, second = pair.alpha.is_called("echo"), pair.alpha.is_called("echo")
    pair.front.notifies("notifications/cancelled", requestId=91)
    first.is_cancelled()
    second.returns(text("2"))
    assert pair.front.next().body == [{"jsonrpc": "2.0", "id": 92, "result": text("2")}]


@legacy_client
def test_a_batch_of_notifications_is_not_answered(pair: Pair) -> None:
    pair.front.opens()
    pair.front.says_line(b'[{"jsonrpc":"2.0","method":"notifications/initialized"}]')
    pair.front.hears_nothing()


@legacy_legacy
def test_an_empty_batch_is_refused(pair: Pair) -> None:
    pair.front.opens()
    pair.front.says_line(b"[]")
    assert pair.front.next().body["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("line", "code", "identifier"),
    [
        (b"hello", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"a\xff"}', -32700, None),
        (b'{"a":1}', -32600, None),
        (b"7", -32600, None),
        (b'{"jsonrpc":"1.0","id":77,"method":"ping"}', -32600, 77),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":77,"method":7}', -32600, 77),
        (b"[" * 100_000, -32700, None),
        (b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":[1]}', -32602, 77),
        (b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"_meta":7}}', -32602, 77),
    ],
    ids=lambda each: repr(each)[:30],
)
def test_nonsense_is_answered_and_the_next_message_served(
    pair: Pair, line: bytes, code: int, identifier: int | None
) -> None:
    pair.front.opens()
    pair.front.says_line(line)
    said = pair.front.next().body
    assert (said["id"], said["error"]["code"]) == (identifier, code)
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    pair.front.gets(text("x"))


def test_an_unknown_method_is_refused(pair: Pair) -> None:
    pair.front.opens()
    for method in ("what/ever", "rpc.x", "", "notifications/initialized", "ping" if pair.front.is_modern else "x"):
        pair.front.asks(method).fails(-32601)


def test_unknown_notifications_and_stray_answers_are_ignored(pair: Pair) -> None:
    pair.front.opens()
    pair.front.notifies("notifications/what/ever", x=1)
    pair.front.notifies("notifications/cancelled", requestId=12345)
    pair.front.notifies("notifications/cancelled")
    pair.front.notifies("notifications/progress", progressToken=1, progress=1)
    pair.front.says(id=55, result={})
    pair.front.says(id="55", error={"code": 1, "message": "x"})
    pair.front.hears_nothing()


@modern_client
@pytest.mark.parametrize("method", ["logging/setLevel", "resources/subscribe", "resources/unsubscribe", "initialize/x"])
def test_what_the_modern_era_does_not_have_is_refused(pair: Pair, method: str) -> None:
    pair.alpha.logs = True
    pair.alpha.resources = [{"uri": "x://1", "name": "1"}]
    pair.front.opens()
    pair.front.asks(method, {"uri": "x://1", "level": "debug"}).fails(-32601)


def _params(line: bytes) -> bytes:
    return b"{" + line.partition(b'"params":{')[2][:-2]


def test_a_tool_may_have_the_name_of_one_of_ours(pair: Pair) -> None:
    pair.alpha.tools = [tool("search_tools"), ECHO]
    pair.front.opens()
    pair.front.calls("alpha.search_tools")
    pair.alpha.is_called("search_tools").returns(text("theirs"))
    pair.front.gets(text("theirs"))
