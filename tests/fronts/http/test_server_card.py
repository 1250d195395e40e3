"""The server card, which a client reads before it connects.

Source of the rules: schema.ts of modelcontextprotocol/experimental-ext-server-card, of 2026-07-24.
"""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import jsonschema_rs
import pytest
from checkout import ROOT
from processes.run import server

from fronts.http.issuing import AUDIENCE
from fronts.http.serving import HttpServer
from search_mcp.fronts.http.server_card import server_card

SCHEMA = jsonschema_rs.Draft202012Validator(
    {
        "type": "object",
        "required": ["$schema", "name", "version", "description"],
        "properties": {
            "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"},
            "name": {"type": "string", "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
            "version": {"type": "string", "maxLength": 255},
            "description": {"type": "string", "minLength": 1, "maxLength": 100},
            "title": {"type": "string", "minLength": 1, "maxLength": 100},
            "remotes": {"type": "array", "items": {"$ref": "#/$defs/remote"}},
        },
        "$defs": {
            "remote": {
                "type": "object",
                "required": ["type", "url"],
                "properties": {
                    "type": {"enum": ["streamable-http", "sse"]},
                    "url": {"type": "string", "pattern": r"^https?://\S+$"},
                    "headers": {"type": "array", "items": {"type": "object", "required": ["name"]}},
                    "supportedProtocolVersions": {"type": "array", "items": {"type": "string"}},
                },
            }
        },
    }
)
PAGE = "https://app.example.com"


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("home")
    options = ["--allow-host", "mcp.example.com", "--allow-origin", PAGE]
    with HttpServer(folder, {"payroll": server("well_behaved")}, *options) as running:
        running.token("anna")
        yield running


def read(front: HttpServer, method: str = "GET", **headers: str) -> httpx2.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.request(method, f"{front.url}/server-card", headers=given, trust_env=False, verify=False)


def checked(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/mcp-server-card+json"
    card = answer.json()
    SCHEMA.validate(card)
    return card


def test_the_card_is_that_of_the_registry_and_of_the_specification(front: HttpServer) -> None:
    answer = read(front, accept="application/mcp-server-card+json")
    card = checked(answer)
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    same = ("name", "title", "description", "version")
    assert {key: card[key] for key in same} == {key: entry[key] for key in same}
    (remote,) = card["remotes"]
    assert remote["url"] == front.url
    assert {"2025-11-25", "2026-07-28"} <= {*remote["supportedProtocolVersions"]}
    assert [(each["name"], each["isRequired"]) for each in remote["headers"]] == [("Authorization", True)]
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cache-control"] == "public, max-age=3600"


def test_it_names_no_server_and_no_token(front: HttpServer) -> None:
    assert not [word for word in ("payroll", "anna", "smcp_") if word in read(front).text]


def test_it_has_the_name_by_which_the_client_calls(front: HttpServer) -> None:
    for host, url in (("mcp.example.com", "https://mcp.example.com/mcp"), ("[::1]:9000", "http://[::1]:9000/mcp")):
        assert checked(read(front, host=host))["remotes"][0]["url"] == url


def test_a_client_that_has_it_already_is_sent_nothing(front: HttpServer) -> None:
    tag = read(front).headers["etag"]
    for known in (tag, f'"other", W/{tag}'):
        again = read(front, if_none_match=known)
        assert (again.status_code, again.content, again.headers.get("content-length")) == (304, b"", None)
        assert again.headers["etag"] == tag
    assert read(front, if_none_match='"other"').status_code == 200


def test_hosts_origins_and_methods(front: HttpServer) -> None:
    assert read(front, host="evil.example.com").status_code == 421
    assert read(front, origin="https://evil.example.com").status_code == 403
    assert read(front, origin=PAGE).status_code == 200
    asked = read(front, "OPTIONS", origin=PAGE, access_control_request_headers="if-none-match")
    assert (asked.status_code, asked.headers["access-control-allow-methods"]) == (204, "GET")
    assert "If-None-Match" in asked.headers["access-control-allow-headers"]
    assert read(front, "POST").status_code == 405


def test_what_is_needed_to_connect() -> None:
    def headers(*, takes_tokens: bool, has_issuer: bool) -> list[bool]:
        card = json.loads(server_card(AUDIENCE, takes_tokens=takes_tokens, has_issuer=has_issuer))
        SCHEMA.validate(card)
        return [each["isRequired"] for each in card["remotes"][0].get("headers", ())]

    assert headers(takes_tokens=False, has_issuer=False) == []
    assert headers(takes_tokens=True, has_issuer=True) == [False]  # it can log in
