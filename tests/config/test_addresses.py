"""The address of a remote server: its parts, its secrets, and the faults that prevent a connection."""

from typing import Any

import pytest
from rich.pretty import pretty_repr

from config.samples import VARIABLES, parse, server
from search_mcp.config import addresses
from search_mcp.config.placeholders import Expansion, Places
from search_mcp.config.schema import Entry, OAuth, Remote

PLACES = Places(VARIABLES, "/home/ada", "/etc/conf", "/usr/bin/python3")
URL = {"url": "https://x/mcp"}
PLAIN = Remote(url="https://x/mcp", public_url="https://x/mcp")
ENTRIES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    # the entry, difference from the plain address
    ({}, {}),
    ({"url": None, "serverUrl": "https://x/mcp"}, {}),
    ({"url": "https://x/sse", "httpUrl": "https://x/mcp"}, {}),
    ({"url": " https://x/mcp#part "}, {}),
    ({"type": "http"}, {"transport": "http"}),
    ({"type": "streamableHttp"}, {"transport": "http"}),
    ({"type": "streamable_http"}, {"transport": "http"}),
    ({"type": "remote"}, {}),
    ({"type": "SSE"}, {"transport": "sse"}),
    ({"headers": {"Authorization": "Bearer ${TOKEN}"}}, {"headers": {"Authorization": "Bearer s3cret-token"}}),
    ({"headers": {"X-A": " b\n"}}, {"headers": {"X-A": "b"}}),
    ({"headers": {"Accept": "text/html", "mcp-session-id": "1", "Mcp-Param-A": "b"}}, {}),
    ({"oauth": False}, {"oauth": None}),
    ({"oauth": True}, {}),
    ({"oauth": {}}, {}),
    ({"oauth": {"clientId": None, "clientSecret": "${TOKEN}"}}, {"oauth": OAuth(client_secret="s3cret-token")}),
    ({"oauth": {"scopes": "read  write"}}, {"oauth": OAuth(scopes=("read", "write"))}),
    ({"oauth": {"scopes": ["a", "b"], "callbackPort": 80}}, {"oauth": OAuth(scopes=("a", "b"), callback_port=80)}),
    ({"oauth": {"resource": False}}, {"oauth": OAuth(resource=False)}),
    ({"oauth": {"resource": "https://${TOKEN}"}}, {"oauth": OAuth(resource="https://s3cret-token")}),
    ({"caFile": "~/ca.pem"}, {"ca_file": "/home/ada/ca.pem"}),
    ({"caFile": "ca.pem"}, {"ca_file": "/etc/conf/ca.pem"}),
]


@pytest.mark.parametrize(("entry", "difference"), ENTRIES)
def test_the_address_of_an_entry(entry: dict[str, Any], difference: dict[str, Any]) -> None:
    config = server({**URL, **entry})
    expected = {name: getattr(PLAIN, name) for name in PLAIN.__struct_fields__} | difference
    assert config.remote == Remote(**expected)
    assert config.command == ""


@pytest.mark.parametrize(
    "entry", [{"command": "c"}, {"type": "http"}, {"type": "stdio", "url": "https://x"}, {"url": ""}]
)
def test_an_entry_without_an_address(entry: dict[str, Any]) -> None:
    assert server(entry).remote is None


PUBLIC = [
    ("https://me:pw@x/mcp", "https://***@x/mcp"),
    ("https://x/mcp?api_key=abc&a=b", "https://x/mcp?api_key=***&a=b"),
    ("https://x/s/Ab3dEf6hIj9lMn2p/mcp", "https://x/s/Ab3dEf6hIj9lMn2p/mcp"),
    ("https://x/@me", "https://x/@me"),
    ("https://x/mcp?a=b?key=${TOKEN}&c?my_token=d&e", "https://x/mcp?a=b?key=***&c?my_token=***&e"),
    ("https://x/mcp?a?b&key", "https://x/mcp?a?b&key"),
]


@pytest.mark.parametrize(("url", "shown"), PUBLIC)
def test_the_public_part_of_an_address(url: str, shown: str) -> None:
    assert addresses.public(url) == shown


LOGINS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"oauth": False}, False),
    ({"headers": {"authorization": "Bearer x"}}, False),
    ({"headers": {"X-Key": "x"}}, True),
    ({"url": "https://me:pw@x/mcp"}, False),
    ({"url": "https://x/@me"}, True),
    ({"url": "https://x?user=me@x"}, True),
]


@pytest.mark.parametrize(("entry", "may"), LOGINS)
def test_no_login_is_made_where_the_entry_has_credentials(entry: dict[str, Any], may: bool) -> None:
    remote = server({**URL, **entry}).remote
    assert remote is not None
    assert remote.may_log_in is may


SECRET = {
    "url": "https://me:s3cret-one@x/Ab3dEf6hIj9lMn2p?key=s3cret-two",
    "headers": {"A": "s3cret-three"},
    "oauth": {"clientId": "public", "clientSecret": "s3cret-four"},
}


def test_the_secrets_of_an_address_are_redacted() -> None:
    config = server(SECRET)
    texts = ["s3cret-one", "Ab3dEf6hIj9lMn2p", "s3cret-two", "s3cret-three", "s3cret-four", "public"]
    assert config.redactor(" ".join(texts)) == "*** *** *** *** *** public"


def test_the_repr_of_an_address_shows_no_secret() -> None:
    remote = server(SECRET).remote
    assert remote is not None
    assert repr(remote) == "<Remote https://***@x/Ab3dEf6hIj9lMn2p?key=***>"
    assert repr(remote.oauth) == "<OAuth>"
    assert pretty_repr(remote) == "Remote()"
    assert pretty_repr(OAuth()) == "OAuth()"


def complaints(**entry: Any) -> list[str]:
    written = Entry(**entry)
    found = addresses.complaints(written, addresses.resolve(written, Expansion(PLACES), "/etc/conf"))
    return [f"{'.'.join(map(str, path))}: {problem}; {remedy}" for path, problem, remedy in found]


BOTH = 'write "clientId" and "clientSecret" in "oauth"'
NO_HTTP = 'url: its url is not an http or https address; write "https://example.com/mcp"'
FAULTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"url": "https://x/mcp"}, []),
    ({"url": "HTTP://[::1]:8000?a=b"}, []),
    ({"url": "https://me:pw@x"}, []),
    ({"url": "https://${ABSENT}/mcp"}, []),  # reported as a placeholder
    ({"url": "unix:///run/mcp.sock"}, [NO_HTTP]),
    ({"url": "https://"}, [NO_HTTP]),
    ({"url": "https://x y/mcp"}, [NO_HTTP]),
    ({"url": "https://x/a b"}, [NO_HTTP]),
    ({"url": "mcp.example.com"}, [NO_HTTP]),
    ({"url": "wss://x"}, [": WebSocket servers are not supported; use its https address"]),
    ({"type": "WS", "url": "https://x"}, [": WebSocket servers are not supported; use its https address"]),
    ({"type": "http"}, [': it has no "url"; write its "url"; if it is a program, remove "type"']),
    (
        {"url": "https://x", "headers": {"A b": "c"}},
        ["headers.A b: this is not the name of an HTTP header; write letters, digits and hyphens"],
    ),
    (
        {"url": "https://x", "headers": {"A": "b\r\nc"}},
        ["headers.A: its value has a character that headers cannot have; write ASCII on one line"],
    ),
    (
        {"url": "https://x", "headers": {"A": "b", "a": "c"}},
        ["headers.a: this header is there twice; remove one of them"],
    ),
    (
        {"url": "https://x", "oauth": OAuth(grant="client_credentials", client_id="x")},
        [f'oauth.grant: "client_credentials" needs the id and the secret of a client; {BOTH}'],
    ),
]


@pytest.mark.parametrize(("entry", "faults"), FAULTS)
def test_the_faults_that_prevent_a_connection(entry: dict[str, Any], faults: list[str]) -> None:
    assert complaints(**entry) == faults


WARNINGS: list[tuple[dict[str, Any], list[str]]] = [
    ({"url": "https://x", "headers": {"A": "b"}}, []),
    ({"url": "http://localhost:3000/mcp"}, []),
    ({"url": "http://127.0.0.1/mcp"}, []),
    ({"url": "http://[::1]/mcp"}, []),
    ({"url": "http://localhost.example/mcp"}, ["everything is sent unencrypted to an http address"]),
    ({"url": "https://x", "headers": {"ACCEPT": "b"}}, ["search-mcp sets this header itself, ignored"]),
]


@pytest.mark.parametrize(("entry", "problems"), WARNINGS)
def test_remarks_on_an_address(entry: dict[str, Any], problems: list[str]) -> None:
    assert [problem for _, problem, _ in addresses.warnings(Entry(**entry))] == problems


def test_remarks_are_warnings_of_the_file() -> None:
    warnings = parse('{"mcpServers": {"s": {"url": "http://x", "headers": {"Accept": "a"}}}}').warnings
    assert warnings == (
        "f:1: mcpServers.s.headers.Accept: search-mcp sets this header itself, ignored; remove it",
        "f:1: mcpServers.s.url: everything is sent unencrypted to an http address; use https if the server has it",
    )


def test_an_unknown_key_of_a_login_is_reported() -> None:
    warnings = parse('{"mcpServers": {"s": {"url": "https://x", "oauth": {"clientID": "x"}}}}').warnings
    assert warnings == ('f:1: mcpServers.s.oauth.clientID: unknown key, ignored; did you mean "clientId"?',)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("Localhost.", True),
        ("127.0.0.9", True),
        ("::1", True),
        ("[::1]", True),
        ("10.0.0.1", False),
        ("x.y", False),
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    assert addresses.is_loopback(host) is expected
