"""The era of a message, and the conclusions from a probe's answer."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from search_mcp.dialects.detect import (
    Envelope,
    is_modern,
    modern_revisions,
    read_envelope,
)
from search_mcp.model.names import Era
from search_mcp.wire import messages, payload
from search_mcp.wire.errors import ProtocolError
from search_mcp.wire.structs import Fields, Raw

VERSION, CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
CLIENT, LEVEL = "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/logLevel"
MODERN, LEGACY = "2026-07-28", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


def fields(members: Mapping[str, object]) -> Fields:
    return {key: payload.encode(member) for key, member in members.items()}


ASKED: dict[str, object] = {VERSION: MODERN, CAPABILITIES: {}}

ERAS = [
    # method, _meta, whether `initialize` came before, then
    pytest.param("initialize", {}, False, Era.LEGACY, id="initialize"),
    pytest.param("initialize", {}, True, Era.LEGACY, id="initialize again"),
    pytest.param("initialize", ASKED, False, Era.LEGACY, id="initialize, whatever its _meta"),
    pytest.param("tools/list", ASKED, False, Era.MODERN, id="the modern _meta"),
    pytest.param("tools/list", ASKED, True, Era.MODERN, id="the modern _meta behind initialize"),
    pytest.param("tools/list", {VERSION: 5}, False, Era.MODERN, id="half of it, to be refused as such"),
    pytest.param("tools/list", {CAPABILITIES: {}}, True, Era.MODERN, id="the other half"),
    pytest.param("server/discover", ASKED, False, Era.MODERN, id="discover"),
    pytest.param("no/such", ASKED, False, Era.MODERN, id="an unknown method"),
    pytest.param("ping", {}, False, Era.LEGACY, id="ping before anything"),
    pytest.param("ping", {"progressToken": 1}, True, Era.LEGACY, id="ping"),
    pytest.param("tools/list", {}, True, Era.LEGACY, id="behind initialize"),
    pytest.param("tools/list", {CLIENT: {}, LEVEL: "info"}, True, Era.LEGACY, id="keys that prove nothing"),
    pytest.param("server/discover", {}, True, Era.LEGACY, id="discover behind initialize"),
]


@pytest.mark.parametrize(("method", "meta", "opened", "then"), ERAS)
def test_eras(method: str, meta: dict[str, object], opened: bool, then: Era) -> None:
    assert is_modern(method, fields(meta), opened=opened) is (then is Era.MODERN)


@pytest.mark.parametrize(
    ("method", "meta", "message"),
    [
        (
            "tools/list",
            {},
            f"Invalid params: send initialize first, or carry {VERSION} and {CAPABILITIES} in _meta",
        ),
        (
            "no/such",
            {CLIENT: {"name": "x"}, "progressToken": 1},
            f"Invalid params: send initialize first, or carry {VERSION} and {CAPABILITIES} in _meta",
        ),
        ("server/discover", {}, f"Invalid params: _meta lacks {VERSION} and {CAPABILITIES}"),
    ],
)
def test_before_any_initialize_a_request_says_its_era(method: str, meta: dict[str, object], message: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        is_modern(method, fields(meta), opened=False)
    assert (caught.value.code, str(caught.value)) == (-32602, message)


ENVELOPES = [
    # _meta, then
    pytest.param(ASKED, Envelope(MODERN, {}, None, None), id="what is required"),
    pytest.param(
        {
            **ASKED,
            CAPABILITIES: {"sampling": {"x": 1.0}, "extensions": {}},
            CLIENT: {"name": "x"},
            LEVEL: "notice",
            "progressToken": 1,
            "com.example/x": 1,
        },
        Envelope(MODERN, {"sampling": Raw(b'{"x":1.0}'), "extensions": Raw(b"{}")}, Raw(b'{"name":"x"}'), "notice"),
        id="everything",
    ),
    *(
        pytest.param({**ASKED, LEVEL: level}, Envelope(MODERN, {}, None, level), id=level)
        for level in ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
    ),
]


@pytest.mark.parametrize(("meta", "then"), ENVELOPES)
def test_envelopes(meta: dict[str, object], then: Envelope) -> None:
    assert read_envelope(fields(meta)) == then


LEVELS = "debug, info, notice, warning, error, critical, alert, emergency"

MALFORMED = [
    # the changes to a valid envelope, message
    pytest.param({VERSION: None}, f"Invalid params: _meta lacks {VERSION}", id="no version"),
    pytest.param({CAPABILITIES: None}, f"Invalid params: _meta lacks {CAPABILITIES}", id="no capabilities"),
    pytest.param(
        {VERSION: None, CAPABILITIES: None}, f"Invalid params: _meta lacks {VERSION} and {CAPABILITIES}", id="neither"
    ),
    *(
        pytest.param({VERSION: raw}, f"Invalid params: _meta {VERSION} must be a string", id=f"version {raw!r}")
        for raw in (b"5", b"null", b"[]", b'{"a":1}')
    ),
    *(
        pytest.param({CAPABILITIES: raw}, f"Invalid params: _meta {CAPABILITIES} must be an object", id=f"caps {raw!r}")
        for raw in (b"5", b"null", b"[]", b'"{}"')
    ),
    *(
        pytest.param({LEVEL: raw}, f"Invalid params: _meta {LEVEL} must be one of {LEVELS}", id=f"level {raw!r}")
        for raw in (b'"loud"', b'"INFO"', b'""', b"null", b"5")
    ),
]


@pytest.mark.parametrize(("changes", "message"), MALFORMED)
def test_malformed_envelopes(changes: dict[str, bytes | None], message: str) -> None:
    meta = fields(ASKED)
    for key, raw in changes.items():
        if raw is None:
            del meta[key]
        else:
            meta[key] = Raw(raw)
    with pytest.raises(ProtocolError) as caught:
        read_envelope(meta)
    assert (caught.value.code, str(caught.value), caught.value.data()) == (-32602, message, None)


@pytest.mark.parametrize("revision", ["2025-11-25", "2099-01-01", "1.0.0", "", "2026-07-28 "])
def test_an_unsupported_version_is_answered_with_the_supported_ones(revision: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        read_envelope(fields({**ASKED, VERSION: revision}))
    written: dict[str, Any] = json.loads(messages.failure(1, caught.value.error_object()))["error"]
    assert written["code"] == -32022
    assert written["data"] == {"supported": [MODERN], "requested": revision}


@pytest.mark.parametrize(
    ("result", "then"),
    [
        pytest.param(b'{"supportedVersions":["2026-07-28"]}', [MODERN], id="modern"),
        pytest.param(b'{"supportedVersions":["2099-01-01","2026-07-28","2025-11-25"]}', [MODERN], id="among others"),
        pytest.param(b'{"supportedVersions":["2025-11-25"]}', [], id="none that we speak"),
        pytest.param(b'{"supportedVersions":[]}', [], id="none"),
        pytest.param(b'{"supportedVersions":"2026-07-28"}', [], id="no list"),
        pytest.param(b'{"supportedVersions":[1,null]}', [], id="no strings"),
        pytest.param(b"{}", [], id="nothing said"),
        pytest.param(b"[]", [], id="no object"),
        pytest.param(b"null", [], id="null"),
        pytest.param(b'"2026-07-28"', [], id="a string"),
    ],
)
def test_what_a_discover_result_proves(result: bytes, then: list[str]) -> None:
    assert modern_revisions(Raw(result)) == then
