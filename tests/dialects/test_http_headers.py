"""HTTP headers of messages, from the tables and examples of the specification."""

import json
from typing import Any

import anyio
import pytest

from search_mcp.dialects.http_headers import (
    ANNOTATION,
    MOST_ANNOTATIONS,
    Envelope,
    HttpHeaders,
    encoded,
    is_modern_error,
    parameter_headers,
    without_invalid,
)
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire.payload import SMALL_BYTES, encode
from search_mcp.wire.structs import Raw

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "query": {"type": "string"},
        "limits": {"type": "object", "properties": {"rows": {"type": "integer", "x-mcp-header": "Rows"}}},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
    },
}


def line(method: str | None, params: Any = None, message_id: int | None = 1) -> bytes:
    message = {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}
    return json.dumps({key: value for key, value in message.items() if value is not None}).encode() + b"\n"


def headers(schema: Any = None) -> HttpHeaders:
    return HttpHeaders(lambda _name: None if schema is None else encode(schema))


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("two words\tmore", "two words\tmore"),
        ("\t", "=?base64?CQ==?="),
        ("", ""),
    ],
)
def test_values(value: str, header: str) -> None:
    assert encoded(value) == header


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("tools/list", {}, {}),
        ("tools/call", {"name": "get_weather"}, {"Mcp-Name": "get_weather"}),
        ("prompts/get", {"name": "é"}, {"Mcp-Name": "=?base64?w6k=?="}),
        ("resources/read", {"uri": "file:///a", "name": "b"}, {"Mcp-Name": "file:///a"}),
        ("completion/complete", {"name": "x"}, {}),
    ],
)
def test_of_a_modern_request(method: str, params: dict[str, Any], expected: dict[str, str]) -> None:
    envelope = headers().envelope(line(method, {**params, "_meta": META}))
    assert envelope.headers == {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **expected}
    assert envelope.is_modern
    assert envelope.request_id == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"region": "us-west1", "limits": {"rows": 42}, "dry": True}, ["us-west1", "42", "true"]),
        ({"region": None, "dry": False}, [None, None, "false"]),
        ({"region": "é", "limits": {"rows": -7.0}}, ["=?base64?w6k=?=", "-7", None]),
        ({"region": ["x"], "limits": "none"}, [None, None, None]),
        (None, [None, None, None]),
    ],
)
def test_of_annotated_parameters(arguments: Any, expected: list[str | None]) -> None:
    params = {"name": "execute_sql", "arguments": arguments, "_meta": META}
    found = headers(SCHEMA).envelope(line("tools/call", params)).headers
    assert [found.get(f"Mcp-Param-{name}") for name in ("Region", "Rows", "Dry")] == expected


def test_a_large_integer_is_written_as_it_is() -> None:
    params = {"name": "x", "arguments": {"limits": {"rows": 2**53 - 1}}, "_meta": META}
    assert headers(SCHEMA).envelope(line("tools/call", params)).headers["Mcp-Param-Rows"] == "9007199254740991"


A, S = {"x-mcp-header": "A"}, {"type": "string", "x-mcp-header": "A"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "number", **A}}},
        {"properties": {"a": A}},
        {"properties": {"a": {"type": "string", "x-mcp-header": ""}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "two words"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "a\r\nb"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": 1}}},
        {"properties": {"a": S, "b": {"type": "string", "x-mcp-header": "a"}}},
        {"properties": {"a": {"type": "array", "items": S}}},
        {"properties": {"a": {"oneOf": [S]}}},
        {"properties": {"a": {"items": {"properties": {"b": S}}}}},
        {"if": {"properties": {"a": S}}},
        {"$defs": {"a": S}},
        S,
    ],
)
def test_invalid_annotations(schema: Any) -> None:
    with pytest.raises(ValueError, match="x-mcp-header"):
        parameter_headers(encode(schema))


def test_a_tool_with_more_annotations_than_servers_accept_headers_is_left_out() -> None:
    annotated = {f"p{each}": {"type": "string", ANNOTATION: f"H{each}"} for each in range(MOST_ANNOTATIONS)}
    assert len(parameter_headers(encode({"properties": annotated}))) == MOST_ANNOTATIONS
    with pytest.raises(ValueError, match="more than 64 parameters have x-mcp-header"):
        parameter_headers(encode({"properties": {**annotated, "one": {"type": "string", ANNOTATION: "More"}}}))


def test_others_run_between_the_tools_whose_annotations_are_searched() -> None:
    large = {"inputSchema": encode({"properties": {"a": {**S, "description": "x" * SMALL_BYTES}}})}
    small = {"inputSchema": encode({"properties": {"a": S}})}
    tools = ServerList((*(Entry(f"large {each}", large) for each in range(10)), Entry("small", small)))
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async def run() -> ServerList:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(others)
            searched = await without_invalid(tools)
            tasks.cancel_scope.cancel()
        return searched

    searched = anyio.run(run)
    assert turns >= len(tools.entries)
    assert [entry.key for entry in searched.entries] == ["small"]
    assert searched.rejected[0] == "'large 0': its inputSchema with x-mcp-header has more than 65,536 bytes"


def test_data_is_no_annotation() -> None:
    schema = {"properties": {"a": {"type": "object", "default": A, "enum": [A]}, "x-mcp-header": {"type": "string"}}}
    assert parameter_headers(encode(schema)) == {}
    assert parameter_headers(Raw(b"true")) == {}


def test_a_legacy_connection() -> None:
    of = headers()
    assert of.envelope(line("initialize", {})) == Envelope({}, 1, opens=True)
    of.on_opened(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}')
    version = {"MCP-Protocol-Version": "2025-06-18"}
    assert of.envelope(line("notifications/initialized", None, None)) == Envelope(version, confirms=True)
    assert of.envelope(line("tools/call", {"name": "x"}, 2)) == Envelope(version, 2)
    assert of.envelope(line("notifications/cancelled", {"requestId": 2}, None)) == Envelope(version, cancels=2)
    assert of.envelope(b'{"jsonrpc":"2.0","id":"a","result":{}}\n') == Envelope(version)


def test_a_probe_leaves_nothing_behind() -> None:
    of = headers()
    of.envelope(line("server/discover", {"_meta": META}))
    assert of.envelope(line("initialize", {})) == Envelope({}, 1, opens=True)
    of.on_opened(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}')
    of.on_opened(b"nonsense")
    assert of.common() == {}


def test_modern_messages_without_a_version() -> None:
    of = headers()
    assert of.envelope(line("subscriptions/listen", {"_meta": META})).stays_open
    cancelled = of.envelope(line("notifications/cancelled", {"requestId": 1}, None))
    assert (cancelled.cancels, cancelled.is_modern) == (1, True)


@pytest.mark.parametrize(
    ("code", "status", "is_modern"),
    [
        (-32020, 400, True),
        (-32021, 400, True),
        (-32022, 400, True),
        (-32601, 404, True),
        (-32601, 400, False),
        (-32000, 400, False),
    ],
)
def test_modern_errors(code: int, status: int, is_modern: bool) -> None:
    assert is_modern_error(code, status) is is_modern
