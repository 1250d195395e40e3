"""Opening of connections: by a client to us, and by us to the backends."""

import pytest

from conversations.back import Back, answers, exits, refuses, stays_silent
from conversations.eras import (
    every_legacy_client,
    legacy_backend,
    legacy_client,
    legacy_legacy,
    legacy_modern,
    modern_backend,
    modern_client,
    modern_legacy,
    modern_modern,
)
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import (
    CAPABILITIES,
    CLIENT_INFO,
    LEGACY,
    LOG_LEVEL,
    MODERN,
    NEWEST_LEGACY,
    OWN_TOOLS,
    VERSION,
    Json,
    encode,
    names,
    text,
)

ORDER = {
    ("legacy", "legacy"): ["initialize", "notifications/initialized", "tools/list"],
    ("legacy", "modern"): ["initialize", "server/discover", "subscriptions/listen", "tools/list"],
    ("modern", "modern"): ["server/discover", "subscriptions/listen", "tools/list"],
    ("modern", "legacy"): ["server/discover", "initialize", "notifications/initialized", "tools/list"],
}
ALL = ["alpha.greet", "alpha.echo", *OWN_TOOLS]


def test_a_backend_is_opened_in_the_clients_era_where_it_can_be(pair: Pair) -> None:
    pair.front.opens()
    assert pair.alpha.methods() == ORDER[pair.eras]
    assert len(pair.alpha.channels) == 1
    assert names(pair.front.tools) == ALL


def test_the_clients_capabilities_and_name_are_mirrored(pair: Pair) -> None:
    declared: Json = {"elicitation": {"form": {}}, "sampling": {}, "extensions": {"com.example/x": {"a": [1]}}}
    pair.front.info = {"name": "somebody", "version": "7", "title": "Some Body"}
    pair.front.opens(**declared)
    opened = [said for said in pair.alpha.heard if said.method in ("initialize", "server/discover")]
    for said in opened:
        if said.method == "initialize":
            assert said.params["capabilities"] == declared
            assert said.params["clientInfo"] == pair.front.info
        else:
            assert said.meta[CAPABILITIES] == declared
            assert said.meta[CLIENT_INFO] == pair.front.info


@modern_backend
def test_a_modern_backend_is_told_who_asks_with_every_request(pair: Pair) -> None:
    pair.front.opens(sampling={})
    call = pair.front.calls("alpha.echo")
    meta = pair.alpha.is_called("echo").said.meta
    assert (meta[VERSION], meta[CLIENT_INFO], meta[CAPABILITIES]) == (MODERN, pair.front.info, {"sampling": {}})
    pair.alpha.returns(text("x"))
    call.gets(text("x"))


@every_legacy_client
def test_every_legacy_revision_is_answered_and_passed_on(pair: Pair) -> None:
    pair.front.opens()
    assert pair.front.opening["protocolVersion"] == pair.front.revision
    assert pair.alpha.heard[0].params["protocolVersion"] == pair.front.revision
    assert names(pair.front.tools) == ALL


@legacy_legacy
def test_the_version_of_the_design_notes_is_echoed_and_served_as_the_newest_legacy_one(pair: Pair) -> None:
    pair.front.revision = "1.0.0"
    pair.front.expects("1.0.0")
    pair.front.opens()
    assert pair.front.opening["protocolVersion"] == "1.0.0"
    assert pair.alpha.heard[0].params["protocolVersion"] == NEWEST_LEGACY


@legacy_legacy
def test_an_unknown_version_is_answered_with_the_newest_legacy_one(pair: Pair) -> None:
    pair.front.initializes("2031-01-01")
    assert pair.front.opening["protocolVersion"] == NEWEST_LEGACY


@pytest.mark.parametrize("revision", LEGACY)
@legacy_legacy
def test_a_backend_may_answer_an_older_revision(pair: Pair, revision: str) -> None:
    pair.alpha.revision = revision
    pair.front.opens()
    assert names(pair.front.tools) == ALL


# Who starts backends, and when


@modern_client
def test_discovery_starts_nobody(pair: Pair) -> None:
    """Some clients spawn a throw-away copy only to probe: DESIGN 7."""
    assert pair.front.asks("server/discover").result()["supportedVersions"] == [MODERN]
    assert pair.alpha.channels == []


@legacy_client
def test_a_ping_starts_nobody_and_needs_no_opening(pair: Pair) -> None:
    assert pair.front.asks("ping").result() == {}
    assert pair.alpha.channels == []


@legacy_client
def test_initialize_is_answered_before_any_backend_is(pair: Pair) -> None:
    pair.alpha.on("initialize", stays_silent)
    pair.front.initializes()
    assert pair.alpha.methods() == ["initialize"]


@legacy_client
def test_requests_pipelined_behind_initialize_are_served(pair: Pair) -> None:
    opening = {"protocolVersion": NEWEST_LEGACY, "capabilities": {}, "clientInfo": pair.front.info}
    pair.front.says_lines(
        encode({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": opening}),
        b'{"jsonrpc":"2.0","id":"l","method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"alpha.echo"}}',
    )
    assert pair.front.next().id == "i"
    listed = pair.front.next()
    assert listed.id == "l"
    assert names(listed.body["result"]["tools"]) == ALL
    pair.alpha.is_called("echo").returns(text("early"))
    assert pair.front.next().body == {"jsonrpc": "2.0", "id": "c", "result": text("early")}


@legacy_client
@pytest.mark.parametrize("method", ["tools/list", "tools/call", "server/discover", "what/ever"])
def test_a_request_before_initialize_is_refused_with_what_is_missing(pair: Pair, method: str) -> None:
    said = pair.front.asks(method).fails(-32602)
    assert VERSION in said.body["error"]["message"]
    assert CAPABILITIES in said.body["error"]["message"]
    assert pair.alpha.channels == []


@modern_client
@pytest.mark.parametrize("missing", [VERSION, CAPABILITIES])
def test_a_modern_request_without_a_required_key_is_refused(pair: Pair, missing: str) -> None:
    """ "A request missing any required field is malformed; the server MUST reject it with [...] -32602"."""
    meta = {key: value for key, value in pair.front.stamped({}).items() if key != missing}
    pair.front.says(id=1, method="tools/list", params={"_meta": meta})
    error = pair.front.next().body["error"]
    assert error["code"] == -32602
    assert missing in error["message"]


@modern_client
@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_an_unknown_modern_version_is_refused_with_those_there_are(pair: Pair, method: str) -> None:
    said = pair.front.asks(method, meta={VERSION: "1900-01-01"}).fails(-32022)
    data = said.body["error"]["data"]
    assert data["requested"] == "1900-01-01"
    assert MODERN in data["supported"]
    assert pair.alpha.channels == []


@legacy_client
def test_both_eras_are_served_on_one_process(pair: Pair) -> None:
    pair.front.opens()
    meta = {VERSION: MODERN, CAPABILITIES: {}, CLIENT_INFO: pair.front.info}
    modern = pair.front.asks("tools/list", meta=meta).result()
    assert modern["resultType"] == "complete"
    assert names(modern["tools"]) == ALL
    assert "resultType" not in pair.front.asks("tools/list").result()


# Backends that are not what was hoped for


@modern_legacy
def test_a_legacy_backend_that_ignores_the_probe_is_initialized_after_a_while(pair: Pair) -> None:
    pair.alpha.on("server/discover", stays_silent)
    listing = pair.front.asks("tools/list")
    assert pair.alpha.methods() == ["server/discover"]
    pair.after(5)
    assert pair.alpha.methods()[:2] == ["server/discover", "initialize"]
    assert names(listing.result()["tools"]) == ALL  # the first list is complete: DESIGN 7


@modern_legacy
def test_a_legacy_backend_that_answers_the_probe_late_is_not_confused(pair: Pair) -> None:
    pair.alpha.on("server/discover", stays_silent)
    listing = pair.front.asks("tools/list")
    pair.after(5)
    listing.result()
    pair.alpha.says(id=pair.alpha.heard[0].id, error={"code": -32601, "message": "late"})
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


@pytest.mark.parametrize("code", [-32600, -32601, -32602, -32603, -32000, 1])
@modern_legacy
def test_any_error_to_the_probe_means_legacy(pair: Pair, code: int) -> None:
    """ "The fallback MUST NOT be keyed to one specific error code"."""
    pair.alpha.on("server/discover", refuses(code, "what?"))
    pair.front.opens()
    assert pair.alpha.methods() == ORDER["modern", "legacy"]
    assert names(pair.front.tools) == ALL


@modern_legacy
def test_a_legacy_backend_that_exits_on_the_probe_is_started_again_without_one(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    pair.alpha.on("server/discover", exits)
    pair.front.opens()
    assert "= alpha: ended without an answer; starting it with the legacy protocol" in caplog.messages
    assert pair.alpha.methods() == ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert len(pair.alpha.channels) == 2
    assert names(pair.front.tools) == ALL


@legacy_modern
def test_a_modern_backend_that_exits_on_initialize_is_started_again_with_a_probe(pair: Pair) -> None:
    pair.alpha.on("initialize", exits)
    pair.front.opens()
    assert pair.alpha.methods() == ORDER["legacy", "modern"]
    assert len(pair.alpha.channels) == 2
    assert names(pair.front.tools) == ALL


@modern_modern
def test_a_modern_backend_of_another_revision_is_not_initialized(pair: Pair) -> None:
    """ "UnsupportedProtocolVersionError: the server is modern [...] Do not fall back to `initialize`"."""
    data = {"supported": ["2031-01-01"], "requested": MODERN}
    pair.alpha.on("server/discover", refuses(-32022, "Unsupported protocol version", data))
    pair.front.opens()
    assert "initialize" not in pair.alpha.methods()
    assert "2031-01-01" in pair.front.calls("list_servers").result()["structuredContent"]["servers"][0]["lastError"]


@modern_modern
def test_a_modern_backend_that_asks_for_a_known_revision_is_probed_once_more_with_it(pair: Pair) -> None:
    """ "Use one of the versions in its advertised `supported` list. Do not fall back to `initialize`"."""
    data = {"supported": [MODERN], "requested": "2031-01-01"}

    def refuse_once(back: Back, said: Said) -> None:
        pair.alpha.on("server/discover", Back.discovers)
        refuses(-32022, "Unsupported protocol version", data)(back, said)

    pair.alpha.on("server/discover", refuse_once)
    pair.front.opens()
    assert pair.alpha.methods() == ["server/discover", *ORDER["modern", "modern"]]
    assert names(pair.front.tools) == ALL


@modern_backend
def test_a_server_of_both_eras_is_opened_once_in_the_clients(pair: Pair) -> None:
    """It chooses its era by the first request, and would not push to us in the other."""
    pair.alpha.is_dual = True
    pair.front.opens()
    era = pair.eras[0]
    assert pair.alpha.methods() == ORDER[era, era]


@pytest.mark.parametrize("pinned", LEGACY)
@legacy_backend
def test_a_backend_pinned_to_a_legacy_revision_is_opened_with_it(pair: Pair, pinned: str) -> None:
    pair.alpha.config = {"protocol": pinned}
    pair.front.opens()
    assert pair.alpha.methods() == ORDER["legacy", "legacy"]
    assert pair.alpha.heard[0].params["protocolVersion"] == pinned


@modern_backend
def test_a_backend_pinned_to_the_modern_revision_is_not_initialized(pair: Pair) -> None:
    pair.alpha.config = {"protocol": MODERN}
    pair.front.opens()
    assert pair.alpha.methods() == ORDER["modern", "modern"]


@legacy_backend
def test_a_backend_that_is_not_what_it_is_pinned_to_says_so(pair: Pair) -> None:
    pair.alpha.config = {"protocol": MODERN}
    pair.front.opens()
    assert "initialize" not in pair.alpha.methods()
    servers = pair.front.calls("list_servers").result()["structuredContent"]["servers"]
    assert MODERN in servers[0]["lastError"]


# Revisions that are not served here


@pytest.mark.parametrize("revision", ["2025-99-99", "1.0.0", "DRAFT-2027-v1", "", "x" * 5000, " 2025-11-25"])
@legacy_backend
def test_a_server_of_an_unknown_revision_is_refused_and_not_started_again(pair: Pair, revision: str) -> None:
    """ "If the client does not support the version in the server's response, it SHOULD disconnect."

    With an unknown revision a server could have every change of its tools taken for another revision's.
    """
    pair.alpha.on("initialize", answers({"protocolVersion": revision, "capabilities": {"tools": {}}}))
    pair.front.opens()
    assert not {"alpha.greet", "alpha.echo"} & set(names(pair.front.tools))
    pair.after(600)
    assert len(pair.alpha.channels) == 1
    assert pair.alpha.channel.has_ended()
    assert "tools/list" not in pair.alpha.methods()
    status = pair.front.calls("list_servers").result()["structuredContent"]["servers"][0]
    assert status["state"] == "failed"
    assert f"the protocol revision {revision[:40]!r}"[:60] in status["lastError"]
    assert "2025-11-25" in status["lastError"]
    assert len(status["lastError"]) < 300
    pair.front.calls("alpha.echo")  # asks for it again: once more, not a series
    assert len(pair.alpha.channels) == 2
    pair.front.fails(-32000, "MCP server 'alpha' is not running")
    pair.after(600)
    assert len(pair.alpha.channels) == 2


@legacy_backend
def test_a_server_of_the_revision_before_the_first_is_served(pair: Pair) -> None:
    """The official TypeScript SDK takes it, so a client could use such a server directly."""
    pair.alpha.on("initialize", answers({"protocolVersion": "2024-10-07", "capabilities": {"tools": {}}}))
    pair.front.opens()
    assert names(pair.front.tools) == ALL


@legacy_modern
def test_a_modern_server_that_answers_initialize_is_asked_again_in_its_own_words(pair: Pair) -> None:
    pair.alpha.on("initialize", answers({"protocolVersion": MODERN, "capabilities": {"tools": {}}}))
    pair.front.opens()
    assert pair.alpha.methods()[:2] == ["initialize", "server/discover"]
    assert names(pair.front.tools) == ALL


@legacy_modern
def test_the_log_level_of_a_modern_server_that_answers_initialize_goes_with_every_call(pair: Pair) -> None:
    """Its revision has no `logging/setLevel`, and some servers end on it."""
    pair.alpha.logs = True
    pair.alpha.on("initialize", answers({"protocolVersion": MODERN, "capabilities": {"tools": {}, "logging": {}}}))
    pair.front.opens()
    pair.front.asks("logging/setLevel", {"level": "warning"}).gets({})
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    assert served.said.meta[LOG_LEVEL] == "warning"
    served.returns(text("x"))
    call.gets(text("x"))
    assert "logging/setLevel" not in pair.alpha.methods()
