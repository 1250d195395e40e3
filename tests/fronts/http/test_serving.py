"""`search-mcp serve --http`: the rules of both revisions' transport pages, by a real process and a client by hand.

Sources: docs/specification/2026-07-28/basic/transports/streamable-http.mdx and docs/specification/2025-11-25/basic/
transports.mdx.
"""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from processes.run import server

from fronts.http.serving import BOTH, LEGACY, HttpClient, HttpServer, result, text

ONE = {"one": server("well_behaved")}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server that asks for no token."""
    with HttpServer(tmp_path_factory.mktemp("home"), ONE, "--no-auth") as process:
        yield process


@pytest.fixture
def client(running: HttpServer) -> Iterator[HttpClient]:
    with running.client() as made:
        yield made


# Legacy sessions


def test_a_legacy_session_from_its_begin_to_its_end(client: HttpClient) -> None:
    opened = client.opens()
    assert result(opened)["protocolVersion"] == LEGACY
    assert text(client.sends("tools/call", name="one.echo", arguments={"words": "hello"})) == "hello"
    assert client.delete(client.address, headers=client.session).status_code == 200
    # "it MUST respond to requests containing that session ID with HTTP 404 Not Found"
    assert client.sends("ping").status_code == 404
    assert client.delete(client.address, headers=client.session).status_code == 404


def test_a_request_without_a_session_is_refused(client: HttpClient) -> None:
    assert client.sends("tools/list").status_code == 400
    assert client.posts({"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 400


def test_a_session_that_could_not_begin_is_none(client: HttpClient) -> None:
    answer = client.posts({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    assert answer.json()["error"]["code"] == -32602
    assert "mcp-session-id" not in answer.headers


def test_notifications_come_on_the_stream_of_a_get_request(running: HttpServer, client: HttpClient) -> None:
    client.opens()
    client.sends("tools/list")
    with client.listening() as messages:
        written = running.config.read_text()
        edited = json.loads(written)
        edited["mcpServers"]["one"]["tools"] = {"deny": ["big"]}
        running.config.write_text(json.dumps(edited))
        assert next(messages)["method"] == "notifications/tools/list_changed"
        running.config.write_text(written)


@pytest.mark.parametrize("version", ["2099-01-01", "", "1"])
def test_an_unknown_version_is_refused(client: HttpClient, version: str) -> None:
    """ "If the server receives a request with an invalid or unsupported version, it MUST respond with 400"."""
    client.opens()
    client.session["mcp-protocol-version"] = version
    assert client.sends("ping").status_code == 400


# Modern requests


def test_a_modern_request_stands_alone(client: HttpClient) -> None:
    answer = client.asks("tools/call", name="one.echo", arguments={"words": "hello"})
    assert text(answer) == "hello"
    assert "mcp-session-id" not in answer.headers


def test_modern_requests_with_the_same_id_are_answered_each(running: HttpServer) -> None:
    """Every request has a stream of its own, and several clients may have one token."""
    heard: list[str] = []

    def call(words: str) -> None:
        with running.client() as mine:
            heard.append(text(mine.asks("tools/call", name="one.echo", arguments={"words": words})))

    threads = [threading.Thread(target=call, args=(str(number),)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(heard, key=int) == [str(number) for number in range(16)]


@pytest.mark.parametrize(
    ("headers", "code", "status"),
    [
        ({"mcp-method": "tools/list"}, -32020, 400),
        ({"mcp-name": "one.other"}, -32020, 400),
        ({"mcp-name": "=?base64?b25lLmVjaG8=?="}, None, 200),
        ({"mcp-name": "=?base64?b25lLmVjaG8?="}, -32020, 400),
        ({"mcp-protocol-version": "2025-11-25"}, -32020, 400),
    ],
)
def test_headers_are_compared_with_the_body(
    client: HttpClient, headers: dict[str, str], code: int | None, status: int
) -> None:
    answer = client.asks("tools/call", headers=headers, name="one.echo", arguments={})
    assert answer.status_code == status
    assert answer.json().get("error", {}).get("code") == code


@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("no/such", {}, 404, -32601),
        ("initialize", {}, 404, -32601),
        ("tools/call", {"name": "one.nothing"}, 400, -32602),
        ("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}, 400, -32020),
    ],
)
def test_errors_of_modern_requests_have_their_status(
    client: HttpClient, method: str, params: dict[str, Any], status: int, code: int
) -> None:
    answer = client.asks(method, **params)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_there_is_no_get_and_no_delete_without_a_session(client: HttpClient) -> None:
    for method in ("GET", "DELETE"):
        answer = client.request(method, client.address)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_closing_the_stream_of_a_modern_request_cancels_it(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    with HttpServer(tmp_path, {"one": server("hears_cancellations", str(heard))}, "--no-auth") as running:
        with running.client(timeout=0.5) as hurried, pytest.raises(httpx2.ReadTimeout):
            hurried.asks("tools/call", name="one.hang", arguments={})
        while not heard.exists():  # the server writes it
            time.sleep(0.01)
        with running.client() as client:
            assert text(client.asks("tools/call", name="one.echo", arguments={"words": "on"})) == "on"


# Of HTTP


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"accept": "application/json"}, 406),
        ({"accept": "text/event-stream"}, 406),
        ({"accept": "*/*"}, 200),
        ({"accept": f"{BOTH};q=0.9"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
)
def test_headers_of_http_decide_first(client: HttpClient, headers: dict[str, str], status: int) -> None:
    assert client.asks("tools/list", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b'[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]', 400),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400),
        (b"x" * ((4 << 20) + 1), 413),
    ],
)
def test_a_body_that_is_no_message_is_refused(client: HttpClient, body: bytes, status: int) -> None:
    assert client.posts(body).status_code == status


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
def test_other_methods_are_refused(client: HttpClient, method: str) -> None:
    assert client.request(method, client.address).status_code == 405


def test_there_is_one_path(client: HttpClient) -> None:
    assert client.get(client.address + "/other").status_code == 404
