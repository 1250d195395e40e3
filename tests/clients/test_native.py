"""Entries of ours for the remote servers of each client."""

from typing import Any

import pytest

from search_mcp.clients.native import entry, flattened, inlined, is_address

URL = "https://x/mcp"
ENTRIES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # whose notation, the entry besides its address, ours besides the address
    ("Claude Code", {"type": "http"}, {}),
    ("Claude Code", {"type": "sse"}, {"type": "sse"}),
    (
        "Claude Code",
        {"oauth": {"clientId": "c", "callbackPort": 8080, "scopes": "a b"}},
        {"oauth": {"clientId": "c", "callbackPort": 8080, "scopes": ["a", "b"]}},
    ),
    (
        "Cursor",
        {"auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${S}", "scopes": ["a"]}},
        {"oauth": {"clientId": "c", "clientSecret": "${S}", "scopes": ["a"]}},
    ),
    ("VS Code", {"type": "http", "oauth": {"clientId": "c"}}, {"oauth": {"clientId": "c"}}),
    ("Gemini CLI", {"oauth": {"enabled": True, "scopes": []}}, {}),
    ("Cline", {"type": "streamableHttp"}, {}),
    (
        "Codex",
        {"oauth": {"client_id": "c"}, "oauth_resource": "https://r", "scopes": ["a"]},
        {"oauth": {"clientId": "c", "resource": "https://r", "scopes": ["a"]}},
    ),
    ("Codex", {"scopes": []}, {}),
    ("opencode", {"type": "remote", "oauth": {"clientId": "c", "scope": "a b"}},
        {"oauth": {"clientId": "c", "scopes": ["a", "b"]}}),
    ("opencode", {"type": "remote", "oauth": False}, {"oauth": False}),
    ("goose", {"type": "streamable_http"}, {}),
    ("ours", {"type": "http", "caFile": "~/a.pem", "oauth": {"resource": False}},
        {"caFile": "~/a.pem", "oauth": {"resource": False}}),
]  # fmt: skip


@pytest.mark.parametrize(("whose", "theirs", "ours"), ENTRIES)
def test_the_entry_of_a_remote_server(whose: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    made = entry(theirs, URL, {}, {})
    assert (made.entry, made.changes) == ({"url": URL, **ours}, []), whose


LACKING: list[tuple[dict[str, Any], str, str]] = [
    # an entry, its address, the change that it needs
    ({"headersHelper": "x"}, URL, 'its "headersHelper" has no counterpart'),
    ({"authProviderType": "google_credentials"}, URL, 'its "authProviderType" has no counterpart'),
    ({"oauth": {"authServerMetadataUrl": "x"}}, URL, '"authServerMetadataUrl" of its login has no counterpart'),
    ({"oauth": {"tokenUrl": "x"}}, URL, '"tokenUrl" of its login has no counterpart'),
    ({}, "wss://x", "it uses a WebSocket, which search-mcp does not support; use its https address"),
    ({"type": "ws"}, URL, "it uses a WebSocket, which search-mcp does not support; use its https address"),
    ({}, "unix:///run/x.sock", "its address is a local socket, which search-mcp does not support"),
    ({}, "pipe:///x", "its address is a local socket, which search-mcp does not support"),
]


@pytest.mark.parametrize(("theirs", "url", "change"), LACKING)
def test_a_part_without_counterpart_is_named(theirs: dict[str, Any], url: str, change: str) -> None:
    made = entry(theirs, url, {}, {})
    assert made.changes == [change]
    assert made.entry["url"] == url


def test_variables_of_the_entry_are_filled_in() -> None:
    made = entry({}, "https://${HOST}/mcp", {"A": "Bearer $${KEY}", "B": "${OTHER:-d}"}, {"HOST": "x", "KEY": "${T}"})
    assert made.entry == {"url": URL, "headers": {"A": "Bearer ${T}", "B": "${OTHER:-d}"}}


def test_only_variables_of_the_entry_are_filled_in() -> None:
    assert inlined("$${A} ${A} ${B} $${B}", {"A": "1"}) == "1 1 ${B} ${B}"


def test_a_nested_transport() -> None:
    theirs = {"transport": {"type": "sse", "url": URL}, "disabled": True}
    assert flattened(theirs) == {**theirs, "type": "sse", "url": URL}
    assert flattened({"transport": "sse"}) == {"transport": "sse"}
    assert entry(flattened(theirs), URL, {}, {}).entry == {"url": URL, "type": "sse"}


@pytest.mark.parametrize(("word", "then"), [("HTTPS://x", True), ("http://x", True), ("x", False), ("unix://x", False)])
def test_an_address(word: str, then: bool) -> None:
    assert is_address(word) is then
