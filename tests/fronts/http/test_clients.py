"""Clients over HTTP and their streams: what one of them does, or a bug of it, must not harm the others."""

import time
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from fronts.http.in_process import LIMIT, new_gateway, running
from search_mcp.config.schema import Config, ServerConfig, Settings
from search_mcp.dialects.front.http_rules import Post
from search_mcp.fronts.http import clients as module
from search_mcp.fronts.http.access import Places, Token
from search_mcp.fronts.http.clients import MOST_STREAM_BYTES, Client
from search_mcp.fronts.http.front import Response
from search_mcp.fronts.http.requests import ClientGoneError, HttpRequest, RefusedError
from search_mcp.fronts.http.server import of_token
from search_mcp.fronts.http.streams import CONGESTED_BYTES, Stream
from search_mcp.gateway.gateway import Gateway

ANNA, BOB = Token("anna", "a"), Token("bob", "b")


def with_a_bug(token: Token) -> Gateway:
    """Return a gateway; that of Bob has a bug."""

    def failing() -> AbstractAsyncContextManager[None]:
        raise ValueError("a bug")

    gateway = new_gateway(token)
    if token is BOB:
        gateway.running = failing  # type: ignore[assignment, method-assign]
    return gateway


class Paused:
    """Counts what a stream tells of its congestion."""

    def __init__(self) -> None:
        self.told: list[bool] = []
        self.stream = Stream(self.told.append)


def test_a_reader_that_leaves_holds_up_nothing() -> None:
    paused = Paused()
    paused.stream.reader = self = object()
    paused.stream.write(bytes(CONGESTED_BYTES + 1))
    assert paused.told == [True]
    paused.stream.leave(object())
    assert paused.told == [True]
    paused.stream.leave(self)
    assert paused.told == [True, False]


def test_a_client_that_does_not_read_is_gone() -> None:
    async def receive() -> Any:
        await anyio.sleep_forever()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            raise TimeoutError

    async def main() -> bool:
        scope = {"method": "POST", "path": "/mcp", "headers": []}
        client = Client(ANNA, new_gateway(ANNA), LIMIT)
        stream = client.new_stream()
        stream.finish(b"{}\n")
        with pytest.raises(ClientGoneError):
            await Response(HttpRequest(scope, receive, send), client, stream, Post(is_request=True)).send()
        return stream.reader is None

    assert anyio.run(main)


def test_a_bug_in_one_session_ends_that_one_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> list[str]:
        async with running(with_a_bug) as clients:
            clients.modern(ANNA)
            clients.modern(BOB)
            with anyio.fail_after(30):
                while len(list(clients)) > 1:
                    await anyio.lowlevel.checkpoint()
            return [each.token.name for each in clients]

    assert anyio.run(main) == ["anna"]
    assert "a bug" in caplog.text


def test_an_expired_token_ends_its_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)

    async def main() -> list[str]:
        async with running() as clients:
            clients.modern(ANNA)
            with clients.new_session(Token("bob", "b", expires=time.time())).in_use():  # an open stream
                with anyio.fail_after(30):
                    while len(list(clients)) > 1:
                        await anyio.lowlevel.checkpoint()
            return [each.token.name for each in clients]

    assert anyio.run(main) == ["anna"]


def test_a_new_token_has_nothing_of_the_former() -> None:
    async def main() -> None:
        async with running() as clients:
            former = clients.modern(ANNA)
            assert clients.modern(Token("anna", "a")) is former
            assert clients.modern(Token("anna", "other", servers="one")) is not former
            assert former.scope.cancel_called

    anyio.run(main)


def test_a_session_takes_the_place_of_the_one_in_all_that_was_idle_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_IN_ALL", 2)

    async def main() -> None:
        async with running() as clients:
            with clients.new_session(ANNA).in_use():
                idle = clients.new_session(BOB)
                with clients.new_session(BOB).in_use():
                    assert idle.scope.cancel_called
                    with pytest.raises(RefusedError) as refused:
                        clients.new_session(Token("carol", "c"))
            assert (refused.value.status, refused.value.reason) == (429, "2 sessions are open")

    anyio.run(main)


def test_a_server_that_was_used_lately_does_not_start_with_each_session() -> None:
    servers = tuple(ServerConfig(name=each, command="x", startup=each) for each in ("auto", "lazy", "eager"))
    config = of_token(Config(servers, Settings(), ()), ANNA)
    assert [each.startup for each in config.servers] == ["lazy", "lazy", "eager"]


def test_streams_that_are_kept_for_a_client_have_a_limit_together() -> None:
    async def main() -> tuple[int, int]:
        client = Client(ANNA, new_gateway(ANNA), LIMIT, "session")
        made = [client.new_stream() for _ in range(40)]
        for each in made:
            each.write(bytes(LIMIT // 2))
        client.new_stream()
        modern = Client(ANNA, new_gateway(ANNA), LIMIT).new_stream()
        modern.write(bytes(LIMIT))
        modern.take()
        return sum(each.kept_bytes for each in client.streams.values()), modern.kept_bytes

    kept, modern = anyio.run(main)
    assert MOST_STREAM_BYTES - LIMIT < kept <= MOST_STREAM_BYTES
    assert modern == 0


@pytest.mark.parametrize("last", ["1" * 5000 + "-1", "1-" + "1" * 5000, "x", "", None, "99-1"])
def test_an_unknown_event_resumes_the_stream_of_no_request(last: str | None) -> None:
    async def main() -> bool:
        client = Client(ANNA, new_gateway(ANNA), LIMIT, "session")
        return client.resumed(last) is client.background

    assert anyio.run(main)


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("mcp.example.com", None, None),
        ("MCP.example.com:8443", None, None),
        ("[fd00::1]:8808", None, None),
        ("fd00", None, 421),
        ("other.example.com", None, 421),
        ("mcp.example.com", "https://App.Example.com", None),
        ("mcp.example.com", "https://evil.example.com", 403),
        ("mcp.example.com", "http://localhost", 403),
    ],
)
def test_hosts_and_origins_are_compared_without_case(host: str, origin: str | None, status: int | None) -> None:
    places = Places.of(("MCP.Example.com", "fd00::1", " "), ["https://APP.example.com"])
    assert places.refusal({"host": host, **({"origin": origin} if origin else {})}) == status


@pytest.mark.parametrize(
    ("host", "is_admitted"),
    [
        ("10.1.2.3:8809", True),
        ("[::1]:8809", True),
        ("[::ffff:10.1.2.3]", True),
        ("localhost:8809", True),
        ("search-mcp:8809", True),
        ("search-mcp.tools.svc:8809", True),
        ("evil.example:8809", False),
        ("10.1.2.3.evil.example", False),
        ("localhost.", False),
    ],
)
def test_a_probe_comes_by_no_name_of_another_site(host: str, is_admitted: bool) -> None:
    places = Places.of(["search-mcp.tools.svc"], [])
    assert places.admits_probe({"host": host}) is is_admitted
    assert places.admits_probe({})  # HTTP/1.0
