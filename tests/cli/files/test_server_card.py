"""`add` shows what a remote server says of itself in its server card."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from file_server import FileServer, serving

from cli.conftest import Place
from search_mcp.cli.files import server_card
from search_mcp.cli.terminal import Terminal

CARD: dict[str, Any] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
    "name": "com.example/weather",
    "version": "1.0.0",
    "description": "Forecasts for ten days.",
}


@pytest.fixture
def web() -> Iterator[FileServer]:
    with serving({"mcp/server-card": json.dumps(CARD).encode()}) as server:
        yield server


def shown(web: FileServer, capsys: pytest.CaptureFixture[str], **entry: Any) -> str:
    server_card.show("weather", {"url": f"{web.address}mcp", **entry}, Terminal())
    return " ".join(capsys.readouterr().err.split())


def put(web: FileServer, **members: object) -> None:
    web.files["mcp/server-card"] = json.dumps({**CARD, **members}).encode()


def test_add_shows_the_card_and_then_starts_the_server(place: Place, web: FileServer) -> None:
    ended = place.run("add", "weather", f"{web.address}mcp")
    said = "weather describes itself as com.example/weather: Forecasts for ten days."
    assert said in " ".join(ended.err.split())
    assert web.requests[0][0] == "mcp/server-card"
    for word in ("--no-start", "--dry-run"):
        web.requests.clear()
        assert place.run("add", f"other{word}", f"{web.address}mcp?", word).code == 0
        assert web.requests == []


def test_a_title_is_shown_instead_of_the_name(web: FileServer, capsys: pytest.CaptureFixture[str]) -> None:
    put(web, title="Weather")
    assert shown(web, capsys) == "weather describes itself as Weather: Forecasts for ten days."


def test_missing_headers_are_named(web: FileServer, capsys: pytest.CaptureFixture[str]) -> None:
    headers = [
        {"name": "X-Key", "isRequired": True},
        {"name": "X-Other"},
        {"name": "--secret; rm", "isRequired": True},
    ]
    addresses = ("https://h/", *[f"{web.address}mcp"] * 1000)
    put(web, remotes=[{"url": each, "headers": headers} for each in addresses])
    asked = "warning: weather asks for the header X-Key; remove it, and add it again with --secret X-Key"
    text = shown(web, capsys)
    assert text.count(asked) == 1
    assert "X-Other" not in text
    assert "rm" not in text
    assert "warning" not in shown(web, capsys, headers={"x-key": "1"})


@pytest.mark.parametrize(
    "members",
    [
        {"description": 1},
        {"description": "long " * 30},
        {"title": "long " * 30},
        {"remotes": {}},
        {"description": "x" * (1 << 20)},
    ],
)
def test_a_faulty_card_is_none(web: FileServer, capsys: pytest.CaptureFixture[str], members: dict[str, Any]) -> None:
    put(web, **members)
    assert shown(web, capsys) == ""


def test_no_card(web: FileServer, capsys: pytest.CaptureFixture[str]) -> None:
    web.files["mcp/server-card"] = b"<html>"
    assert shown(web, capsys) == ""
    web.files.clear()
    assert shown(web, capsys) == ""
    web.redirects["mcp/server-card"] = "/elsewhere"
    assert shown(web, capsys) == ""
    assert "elsewhere" not in [path for path, _ in web.requests]


def test_text_of_a_card_cannot_imitate_search_mcp(web: FileServer, capsys: pytest.CaptureFixture[str]) -> None:
    put(web, title="\x1b[31mA\u202e", description="b\nwarning: c")
    assert shown(web, capsys) == r"weather describes itself as \u{1b}[31mA\u{202e}: b warning: c"


def test_secrets_of_an_address_are_not_sent(web: FileServer, capsys: pytest.CaptureFixture[str]) -> None:
    secret = web.address.replace("//", "//user:password@")
    assert shown(web, capsys, url=f"{secret}mcp?key=s3cret#part", headers={"a": "b"})
    assert [path for path, _ in web.requests] == ["mcp/server-card"]


@pytest.mark.parametrize("more", [{"url": "https://${HOST}/mcp"}, {"type": "sse"}, {"url": "http://[::1"}])
def test_servers_whose_card_is_not_read(
    web: FileServer, capsys: pytest.CaptureFixture[str], more: dict[str, str]
) -> None:
    assert shown(web, capsys, **more) == ""
    assert web.requests == []
