"""Command lines of mcp-remote, and the native entries for the same servers."""

import json
from typing import Any

import pytest

from search_mcp.clients.mcp_remote import LOG_IN_ONCE, is_bridge, translated
from search_mcp.clients.native import Native

URL = "https://x/mcp"


def of(*args: str, env: dict[str, str] | None = None, start: tuple[str, ...] = ("npx", "-y", "mcp-remote")) -> Native:
    found = translated([*start, URL, *args], env or {})
    assert isinstance(found, Native), found
    return found


STARTS = [
    ("npx", "mcp-remote"),
    ("npx", "-y", "mcp-remote@latest"),
    (r"C:\node\npx.cmd", "--yes", "mcp-remote@0.1.38"),
    ("cmd", "/c", "npx", "-y", "mcp-remote"),
    ("bunx", "--bun", "mcp-remote"),
    ("bun", "x", "mcp-remote"),
    ("pnpm", "dlx", "mcp-remote"),
    ("yarn", "dlx", "-q", "mcp-remote"),
    ("/usr/local/bin/mcp-remote",),
]


@pytest.mark.parametrize("start", STARTS, ids=lambda start: start[0])
def test_each_way_to_start_it(start: tuple[str, ...]) -> None:
    assert of(start=start).entry == {"url": URL}


REGISTERED = {"callbackHost": "localhost", "callbackPath": "/oauth/callback"}
INFO = json.dumps({"client_id": "c", "client_secret": "${S}"})
FLAGS: list[tuple[list[str], dict[str, Any]]] = [
    # arguments behind the address, the entry besides the address
    ([], {}),
    (["9696"], {"oauth": {"callbackPort": 9696}}),
    (["--header", "Authorization:Bearer ${T}"], {"headers": {"Authorization": "Bearer ${T}"}}),
    (["--header", "A: b", "--header", "B:c: d"], {"headers": {"A": "b", "B": "c: d"}}),
    (["--transport", "http-only"], {"type": "http"}),
    (["--transport", "sse-only"], {"type": "sse"}),
    (["--transport", "http-first"], {}),
    (["--transport", "sse-first"], {}),
    (["--callback-path", "/x"], {"oauth": {"callbackPath": "/x"}}),
    (["--host", "127.0.0.1"], {"oauth": {"callbackHost": "127.0.0.1"}}),
    (["--resource", "https://r/"], {"oauth": {"resource": "https://r/"}}),
    (["--disable-resource-parameter"], {"oauth": {"resource": False}}),
    (["--client-metadata-url", "https://c"], {"oauth": {"clientMetadataUrl": "https://c"}}),
    (
        ["3334", "--static-oauth-client-info", INFO],
        {"oauth": {**REGISTERED, "callbackPort": 3334, "clientId": "c", "clientSecret": "${S}"}},
    ),
    (
        ["--static-oauth-client-info", '{"client_id": "c"}', "--client-credentials"],
        {"oauth": {**REGISTERED, "clientId": "c", "grant": "client_credentials"}},
    ),
    (["--static-oauth-client-metadata", '{"scope": "a b", "client_name": "x"}'], {"oauth": {"scopes": ["a", "b"]}}),
    (["--static-oauth-client-metadata", '{"client_name": "x"}'], {}),
    (["--ignore-tool", "delete*", "--ignore-tool", "x"], {"tools": {"deny": ["delete*", "x"]}}),
]


@pytest.mark.parametrize(("args", "ours"), FLAGS)
def test_the_native_entry(args: list[str], ours: dict[str, Any]) -> None:
    found = of(*args)
    remarks = [] if "Authorization" in ours.get("headers", {}) else [LOG_IN_ONCE]
    assert (found.entry, found.changes, found.remarks) == ({"url": URL, **ours}, [], remarks)


VARIABLES: list[tuple[list[str], dict[str, str], dict[str, Any]]] = [
    (["--header", "A:${H}"], {"H": "Bearer ${T}"}, {"headers": {"A": "Bearer ${T}"}}),
    (["--header", "A:$${HEADER_A}"], {"HEADER_A": "b"}, {"headers": {"A": "b"}}),
    ([], {"NODE_EXTRA_CA_CERTS": "/ca.pem"}, {"caFile": "/ca.pem"}),
    (
        ["--static-oauth-client-info", INFO],
        {"S": "s"},
        {"oauth": {**REGISTERED, "clientId": "c", "clientSecret": "s"}},
    ),
]


@pytest.mark.parametrize(("args", "env", "ours"), VARIABLES)
def test_variables_of_the_entry(args: list[str], env: dict[str, str], ours: dict[str, Any]) -> None:
    found = of(*args, env=env)
    assert (found.entry, found.changes) == ({"url": URL, **ours}, [])


def test_what_is_left_out_is_named() -> None:
    found = of("--debug", "--auth-timeout", "60", "--enable-proxy", env={"A": "b"})
    assert found.entry == {"url": URL}
    assert found.remarks[1:] == [
        "--debug, --auth-timeout, --enable-proxy of mcp-remote are left out",
        "its variable A is left out",
    ]
    assert of("--silent").remarks[1:] == ["--silent of mcp-remote is left out"]


def test_a_proxy_needs_a_change() -> None:
    assert of(env={"HTTPS_PROXY": "http://p"}).changes == [
        "search-mcp uses HTTPS_PROXY of its own environment; set it there"
    ]


KEPT = [
    (["node", "mcp-remote", URL], "node starts it"),
    (["npx", "-p", "mcp-remote@latest", "mcp-remote-client", URL], "it is started with other options"),
    (["npx", "--registry", "x", "mcp-remote", URL], "it is started with other options"),
    (["npx", "mcp-remote"], "its first argument is not an address"),
    (["npx", "mcp-remote", "--debug", URL], "its first argument is not an address"),
    (["npx", "mcp-remote", URL, "--device-code"], "--device-code has no counterpart"),
    (["npx", "mcp-remote", URL, "--authorize-param", "a=b"], "--authorize-param has no counterpart"),
    (["npx", "mcp-remote", URL, "--debug", "9696"], "9696 has no counterpart"),
    (["npx", "mcp-remote", URL, "--host", "0.0.0.0"], "its --host is 0.0.0.0"),
    (["npx", "mcp-remote", URL, "--transport", "x"], "its transport is x"),
    (["npx", "mcp-remote", URL, "--header"], "--header has no value"),
    (["npx", "mcp-remote", URL, "--header", "A b:c"], "a --header is not NAME:VALUE"),
    (["npx", "mcp-remote", URL, "--static-oauth-client-info", "@/x"], "--static-oauth-client-info reads a file"),
    (["npx", "mcp-remote", URL, "--static-oauth-client-info", "[]"], "--static-oauth-client-info is not a JSON object"),
    (["npx", "mcp-remote", URL, "--static-oauth-client-info", "{"], "--static-oauth-client-info is not a JSON object"),
    (["npx", "mcp-remote", URL, "--static-oauth-client-info", "{}"], "--static-oauth-client-info has no client_id"),
]


@pytest.mark.parametrize(("words", "reason"), KEPT)
def test_a_command_line_without_counterpart_is_kept(words: list[str], reason: str) -> None:
    assert translated(words, {}) == f"it still runs through mcp-remote, because {reason}"


def test_variables_of_node_keep_it() -> None:
    found = translated(["npx", "mcp-remote", URL], {"NODE_TLS_REJECT_UNAUTHORIZED": "0"})
    assert found == "it still runs through mcp-remote, because it sets NODE_TLS_REJECT_UNAUTHORIZED"


@pytest.mark.parametrize(("words", "then"), [(["npx", "mcp-remote@1"], True), (["npx", "mcp-remote-client"], False)])
def test_a_bridge(words: list[str], then: bool) -> None:
    assert is_bridge(words) is then
