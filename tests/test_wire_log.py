"""WireLog refuses what the protocol does not allow: rows of conversations, in which only the last turn is wrong.

A row is a list of turns; `">"` is the client, `"<"` the server. Every conversation shows what is allowed.
"""

import json
from typing import Any

import pytest
from wire_log import WireLog

Turn = tuple[str, Any]
Conversation = list[Turn]

CAPABILITIES = {"tools": {"listChanged": True}, "logging": {}}
VERSION, CLIENT = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
TEXT = {"content": [{"type": "text", "text": "hi"}]}
TOOLS = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
SKILLS = {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}}}
SKILL = {"uri": "a:b", "frontmatter": {"name": "b", "description": "B."}, "resources": "dynamic"}
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def ask(identifier: Any, method: str, **params: Any) -> Turn:
    return ">", {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}


def tell(method: str, **params: Any) -> Turn:
    return ">", {"jsonrpc": "2.0", "method": method, "params": params}


def result(identifier: Any, body: Any) -> Turn:
    return "<", {"jsonrpc": "2.0", "id": identifier, "result": body}


def error(identifier: Any, code: Any = -32602, message: Any = "no", **more: Any) -> Turn:
    return "<", {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": message, **more}}


def request(identifier: Any, method: str, **params: Any) -> Turn:
    return "<", {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}


def notify(method: str, **params: Any) -> Turn:
    return "<", {"jsonrpc": "2.0", "method": method, "params": params}


def call(identifier: Any, token: Any = None, **params: Any) -> Turn:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return ask(identifier, "tools/call", name="echo", arguments={}, **meta, **params)


def progress(token: Any, done: int = 1) -> Turn:
    return notify("notifications/progress", progressToken=token, progress=done)


def opening(revision: str, **capabilities: Any) -> Conversation:
    return opening_with(CAPABILITIES, revision, **capabilities)


def opening_with(declared: dict[str, Any], revision: str = "2025-11-25", **capabilities: Any) -> Conversation:
    info = {"name": "row", "version": "1"}
    settled = {"protocolVersion": revision, "capabilities": declared, "serverInfo": info}
    return [
        ask(0, "initialize", protocolVersion=revision, capabilities=capabilities, clientInfo=info),
        result(0, settled),
        tell("notifications/initialized"),
    ]


def modern(
    identifier: Any, method: str, claim: Any = "2026-07-28", declares: Any = (), meta: Any = (), **params: Any
) -> Turn:
    envelope = {VERSION: claim, CLIENT: dict(declares), **dict(meta)}
    return ask(identifier, method, _meta=envelope, **params)


def listen(identifier: Any, **wanted: Any) -> Turn:
    return modern(identifier, "subscriptions/listen", notifications=wanted)


def acknowledge(identifier: Any, **agreed: Any) -> Turn:
    method = "notifications/subscriptions/acknowledged"
    return notify(method, _meta={SUBSCRIPTION: identifier}, notifications=agreed)


def play(turns: Conversation, revision: str | None = None) -> WireLog:
    log = WireLog(revision)
    for direction, message in turns:
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        (log.sent if direction == ">" else log.received)(line)
    return log


ELICIT = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
ASKS_INPUT = {
    "resultType": "input_required",
    "inputRequests": {"a": {"method": "elicitation/create", "params": ELICIT}},
}
DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {}, **CACHED}
CHANGED = "notifications/tools/list_changed"

REFUSED: dict[str, tuple[str, Conversation]] = {
    "not JSON": ("Expecting", [("<", b"listening...\n")]),
    "not UTF-8": ("utf-8", [("<", b'"\xff"\n')]),
    "NaN": ("NaN", [("<", b'{"jsonrpc": "2.0", "method": "x", "params": {"a": NaN}}\n')]),
    "two lines": ("one line", [("<", b'{"jsonrpc":\n"2.0"}\n')]),
    "a carriage return": ("bare newline", [("<", b'{"jsonrpc": "2.0"}\r\n')]),
    "no jsonrpc": ('"jsonrpc": "2.0"', [("<", {"method": "ping", "id": 1})]),
    "no object": ('"jsonrpc": "2.0"', [("<", "hello")]),
    "result and error": ("neither", [*opening("2025-11-25"), call(1), ("<", result(1, {})[1] | error(1)[1])]),
    "no id": ("neither", [("<", {"jsonrpc": "2.0", "result": {}})]),
    "params beside a result": ("neither", [call(1), ("<", result(1, TEXT)[1] | {"params": {}})]),
    "a method that is no string": ("not a string", [("<", {"jsonrpc": "2.0", "method": 1})]),
    "params that are no object": (
        "params",
        [*opening("2025-11-25"), ("<", {**notify(CHANGED)[1], "params": []})],
    ),
    "unknown id": ("no request has", [*opening("2025-11-25"), call(1), result("1", TEXT)]),
    "answered twice": ("answered already", [*opening("2025-11-25"), call(1), result(1, TEXT), error(1)]),
    "an error for nothing": ("null", [error(None)]),
    "answered though cancelled": (
        "cancelled by the client",
        [*opening("2025-11-25"), call(1), tell("notifications/cancelled", requestId=1), error(1)],
    ),
    "a code that is no integer": ("integer", [call(1), error(1, "-32602")]),
    "a code that is a boolean": ("integer", [call(1), error(1, True)]),
    "a message that is no string": ("string", [call(1), error(1, message=None)]),
    "an error that is a string": (
        "code, a message",
        [call(1), ("<", {"jsonrpc": "2.0", "id": 1, "error": "no"})],
    ),
    "an error with more": ("code, a message", [call(1), error(1, stack="...")]),
    "a result that is no object": ("object", [*opening("2025-11-25"), call(1), result(1, [])]),
    "a result of the wrong shape": ("content", [*opening("2025-11-25"), call(1), result(1, TOOLS)]),
    "a tool without a schema": (
        "inputSchema",
        [*opening("2025-11-25"), ask(1, "tools/list"), result(1, {"tools": [{"name": "a"}]})],
    ),
    "skills without a declaration": (
        "did not declare",
        [*opening("2025-11-25"), ask(1, "skills/list"), result(1, {"skills": []})],
    ),
    "skills without resources": ("declares resources", opening_with({"extensions": SKILLS["extensions"]})[:2]),
    "another setting for skills": (
        "no settings but",
        opening_with({"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {"list": True}}})[:2],
    ),
    "a skill without a description": (
        "a frontmatter",
        [
            *opening_with(SKILLS),
            ask(1, "skills/list"),
            result(1, {"skills": [{**SKILL, "frontmatter": {"name": "b"}}]}),
        ],
    ),
    "a file without a digest": (
        "and resources",
        [
            *opening_with(SKILLS),
            ask(1, "skills/list"),
            result(1, {"skills": [{**SKILL, "resources": [{"uri": "a:b"}]}]}),
        ],
    ),
    "a skill listed twice": (
        "twice",
        [*opening_with(SKILLS), ask(1, "skills/list"), result(1, {"skills": [SKILL, SKILL]})],
    ),
    "another skill": (
        "another than",
        [*opening_with(SKILLS), ask(1, "skills/get", uri="a:c"), result(1, {"skill": SKILL})],
    ),
    "modern skills that say not how fresh": (
        "REQUIRED",
        [modern(1, "skills/list"), result(1, {"skills": [], "resultType": "complete"})],
    ),
    "a child without a name": (
        "name",
        [
            *opening_with(SKILLS),
            ask(1, "resources/directory/read", uri="a:b"),
            result(1, {"resources": [{"uri": "a:b/c"}]}),
        ],
    ),
    "served before initialize": ("only an error", [ask(1, "tools/list"), result(1, TOOLS)]),
    "a method of another revision": (
        "has no server/discover",
        [*opening("2025-11-25"), ask(1, "server/discover"), result(1, DISCOVERED)],
    ),
    "initialize settles on modern": ("no legacy revision", opening("2026-07-28")[:2]),
    "1.0.0 unasked": ("no legacy revision", [opening("2025-11-25")[0], opening("1.0.0")[1]]),
    "resultType to legacy": (
        "resultType",
        [*opening("2025-11-25"), call(1), result(1, {**TEXT, "resultType": "complete"})],
    ),
    "ttlMs and cacheScope to legacy": (
        "cacheScope, ttlMs",
        [
            *opening("2025-11-25"),
            ask(1, "tools/list"),
            result(1, {**TOOLS, "ttlMs": 1, "cacheScope": "public"}),
        ],
    ),
    "modern _meta to legacy": (
        "serverInfo",
        [
            *opening("2025-11-25"),
            call(1),
            result(1, {**TEXT, "_meta": {"io.modelcontextprotocol/serverInfo": {}}}),
        ],
    ),
    "modern _meta in a legacy request": (
        "protocolVersion",
        [*opening("2025-11-25", roots={}), request(1, "roots/list", _meta={VERSION: "2026-07-28"})],
    ),
    "progress for no token": ("token", [*opening("2025-11-25"), call(1, "a"), progress("b")]),
    "progress for a token of another type": ("token", [*opening("2025-11-25"), call(1, 1), progress("1")]),
    "progress after the result": (
        "token",
        [*opening("2025-11-25"), call(1, 1), result(1, TEXT), progress(1)],
    ),
    "progress after the cancellation": (
        "token",
        [*opening("2025-11-25"), call(1, 1), tell("notifications/cancelled", requestId=1), progress(1)],
    ),
    "progress of the wrong shape": (
        "progress",
        [*opening("2025-11-25"), call(1, 1), notify("notifications/progress", progressToken=1)],
    ),
    "the server cancels the client's request": (
        "neither its own",
        [*opening("2025-11-25"), call(1), notify("notifications/cancelled", requestId=1)],
    ),
    "an undeclared capability of the client": (
        "did not declare elicitation",
        [*opening("2025-11-25", roots={}), request(1, "elicitation/create", **ELICIT)],
    ),
    "a request of a later revision": (
        "has no request elicitation/create",
        [*opening("2025-03-26", elicitation={}), request(1, "elicitation/create", **ELICIT)],
    ),
    "a request of the wrong shape": (
        "message",
        [*opening("2025-11-25", elicitation={}), request(1, "elicitation/create")],
    ),
    "a request without an id": (
        "string or an integer",
        [*opening("2025-11-25", roots={}), request(None, "roots/list")],
    ),
    "a request id in use": (
        "used again",
        [*opening("2025-11-25", roots={}), request(1, "roots/list"), request(1, "roots/list")],
    ),
    "a request to a modern client": ("initialize", [modern(1, "tools/list"), request(1, "roots/list")]),
    "an undeclared capability of the server": (
        "prompts.listChanged",
        [*opening("2025-11-25"), notify("notifications/prompts/list_changed")],
    ),
    "a notification of another revision": (
        "has no notification",
        [*opening("2025-06-18"), notify("notifications/elicitation/complete", elicitationId="1")],
    ),
    "tasks in an old revision": (
        "no tasks",
        [*opening("2025-06-18"), ask(1, "tasks/list"), result(1, {"tasks": []})],
    ),
    "an empty batch": ("empty", [("<", [])]),
    "a batch for single requests": ("batch", [*opening("2025-03-26"), call(1), ("<", [result(1, TEXT)[1]])]),
    "a single answer to a batch": (
        "outside",
        [*opening("2025-03-26"), (">", [call(1)[1], call(2)[1]]), result(1, TEXT)],
    ),
    "half a batch": (
        "leaves out",
        [*opening("2025-03-26"), (">", [call(1)[1], call(2)[1]]), ("<", [result(1, TEXT)[1]])],
    ),
    "notifications in a batch": (
        "2025-03-26 only",
        [*opening("2025-11-25"), ("<", [notify(CHANGED)[1], notify(CHANGED)[1]])],
    ),
    "a modern result without resultType": (
        "resultType",
        [modern(1, "tools/call", name="a"), result(1, TEXT)],
    ),
    "a modern list without ttlMs": (
        "ttlMs",
        [modern(1, "tools/list"), result(1, {**TOOLS, "resultType": "complete"})],
    ),
    "a result for an unsupported version": (
        "only an error",
        [modern(1, "tools/list", claim="2099-01-01"), result(1, {**TOOLS, **CACHED})],
    ),
    "-32022 without its data": ("supported", [modern(1, "tools/list", claim="2099-01-01"), error(1, -32022)]),
    "-32021 without its data": (
        "requiredCapabilities",
        [modern(1, "tools/call", name="a"), error(1, -32021, data={})],
    ),
    "input the client cannot give": (
        "did not declare elicitation",
        [modern(1, "tools/call", name="a"), result(1, ASKS_INPUT)],
    ),
    "input for a list": (
        "cannot require input|Field required",
        [modern(1, "tools/list", declares={"elicitation": {}}), result(1, {**TOOLS, **CACHED, **ASKS_INPUT})],
    ),
    "a result type nobody knows": (
        "extension",
        [modern(1, "tools/call", name="a"), result(1, {**TEXT, "resultType": "x"})],
    ),
    "logs nobody opted in to": (
        "nothing the client asked for",
        [modern(1, "tools/call", name="a"), notify("notifications/message", level="info", data="x")],
    ),
    "list_changed nobody listens to": (
        "nothing the client asked for",
        [modern(1, "tools/list"), notify(CHANGED)],
    ),
    "list_changed on no subscription": ("not open", [notify(CHANGED, _meta={SUBSCRIPTION: 1})]),
    "list_changed before the acknowledgement": (
        "not acknowledged",
        [listen(1, toolsListChanged=True), notify(CHANGED, _meta={SUBSCRIPTION: 1})],
    ),
    "acknowledged twice": ("twice", [listen(1), acknowledge(1), acknowledge(1)]),
    "acknowledged unasked": ("did not ask", [listen(1), acknowledge(1, toolsListChanged=True)]),
    "not what was subscribed to": (
        "does not cover",
        [listen(1, toolsListChanged=True), acknowledge(1), notify(CHANGED, _meta={SUBSCRIPTION: 1})],
    ),
    "not the resource subscribed to": (
        "does not cover",
        [
            listen(1, resourceSubscriptions=["a:b"]),
            acknowledge(1, resourceSubscriptions=["a:b"]),
            notify("notifications/resources/updated", _meta={SUBSCRIPTION: 1}, uri="a:c"),
        ],
    ),
    "a subscription's end for another": (
        "does not name it",
        [listen(1), result(1, {"resultType": "complete", "_meta": {SUBSCRIPTION: 2}})],
    ),
}


@pytest.mark.parametrize(("why", "turns"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(why: str, turns: Conversation) -> None:
    *fine, last = turns
    log = play(fine)
    line = last[1] if isinstance(last[1], bytes) else json.dumps(last[1]).encode() + b"\n"
    with pytest.raises(AssertionError, match=why) as caught:
        log.received(line)
    assert line.decode(errors="replace").rstrip() in str(caught.value)


def test_the_expected_revision_is_the_one_agreed_on() -> None:
    play(opening("2025-06-18"), "2025-06-18")
    with pytest.raises(AssertionError, match="agrees on 2025-11-25, expected 2025-06-18"):
        play(opening("2025-11-25"), "2025-06-18")


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_log_may_start_after_the_handshake(revision: str) -> None:
    play([call(1), result(1, TEXT)], revision)


def test_waiting_names_what_is_not_answered() -> None:
    log = play([*opening("2025-11-25"), call(1), call("a"), ask(2, "ping"), result(1, TEXT), listen(9)])
    assert log.waiting() == ['"a" tools/call', "2 ping"]
