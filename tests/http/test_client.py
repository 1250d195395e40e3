"""Addresses, redirects, and the length of a body."""

import re

import httpx2
import pytest

from search_mcp.http import client
from search_mcp.http.failures import RefusedError, TooLongError

HERE = httpx2.URL("http://me:word@127.0.0.1/mcp")


@pytest.mark.parametrize("text", ["ftp://localhost/", "http://", "mcp.example", "http://localhost:port/"])
def test_texts_that_are_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"begins with neither|Invalid port"):
        client.http_url(text)


REDIRECTS = [
    # status, location, reason
    (307, "/mcp", "it redirects more than 5 times"),
    (308, "https://127.0.0.1/mcp", "it redirects to another address, https://127.0.0.1/mcp"),
    (307, "http://user:word@other.example/?key=1", "it redirects to another address, http://other.example/"),
    (307, f"http://other.example/{'x' * 300}", "it redirects to another address, http://other.example/…"),
    (307, "file:///etc/passwd", "it redirects to another address, file:/etc/passwd"),
    (307, "//other.example/mcp", "it redirects to another address, http://other.example/mcp"),
    (303, "/other", "it redirects a POST with HTTP status 303, which would lose it"),
    (307, "http://x:port/", "it redirects to an invalid address"),
    (307, "http://127.0.0.1:99999999/", "it redirects to another address, http://127.0.0.1:99999999/"),
]


@pytest.mark.parametrize(("status", "location", "reason"), REDIRECTS)
async def test_redirects_that_are_not_followed(status: int, location: str, reason: str) -> None:
    moved = httpx2.MockTransport(lambda _request: httpx2.Response(status, headers={"location": location}))
    async with httpx2.AsyncClient(transport=moved) as sending:
        with pytest.raises(RefusedError, match=f"^{re.escape(reason)}$"):
            await client.send(sending, "POST", HERE, {}, b"{}")


@pytest.mark.parametrize(("method", "status"), [("POST", 307), ("POST", 308), ("GET", 302)])
async def test_a_redirect_to_the_same_origin_is_followed(method: str, status: int) -> None:
    asked = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        asked.append((request.method, request.url.path, request.headers["authorization"], request.content))
        is_first = len(asked) == 1
        return httpx2.Response(status, headers={"location": "/end"}) if is_first else httpx2.Response(200)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond)) as sending:
        assert (await client.send(sending, method, HERE, {}, b"{}")).status_code == 200
    login = "Basic bWU6d29yZA=="
    assert asked == [(method, "/mcp", login, b"{}"), (method, "/end", login, b"{}")]


@pytest.mark.parametrize("size", [10, 11])
async def test_a_body_is_read_up_to_a_size(size: int) -> None:
    def response() -> httpx2.Response:
        return httpx2.Response(200, content=b"x" * size)

    assert await client.beginning(response(), 10) == b"x" * 10
    if size > 10:
        with pytest.raises(TooLongError):
            await client.whole(response(), 10)
    else:
        assert await client.whole(response(), 10) == b"x" * 10
