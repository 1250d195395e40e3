"""Logins of a user: with a browser here or elsewhere, and the end of a login."""

import asyncio
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from auth.authorization import SECONDS, Authorization, authorization
from auth.browser import Browser
from search_mcp.auth.access import Access
from search_mcp.auth.callback import callback, owners, pasted
from search_mcp.auth.errors import AuthError, Refused, Unavailable
from search_mcp.auth.interactive import (
    log_in,
    log_in_by_credentials,
    log_in_without_browser,
    log_out,
    log_out_by_name,
)
from search_mcp.auth.renewal import renew
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore
from search_mcp.logs import to_stderr
from search_mcp.wire.structs import replace


@pytest.fixture
def server() -> Iterator[Authorization]:
    with authorization() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> LoginStore:
    return LoginStore(tmp_path / "logins")


@pytest.fixture
def settings(server: Authorization) -> LoginSettings:
    return LoginSettings(name="files", url=f"{server.url}/mcp")


async def test_a_login_with_a_browser(store: LoginStore, settings: LoginSettings, server: Authorization) -> None:
    browser = Browser()
    async with asyncio.timeout(SECONDS):
        login = await log_in(settings, store, browser.show)
    await browser.close()
    assert "You are logged in" in browser.pages[0]
    assert store.read(settings) == login
    opened = Access(settings, store, renew=renew)
    assert await opened.token() == "access-1"
    server.expire()
    await opened.refused("access-1", 401, ["Bearer"])
    assert await opened.token() == "access-2"


async def test_the_next_login_uses_the_registration_again(store: LoginStore, settings: LoginSettings) -> None:
    browser = Browser()
    first = await log_in(settings, store, browser.show)
    second = await log_in(settings, store, browser.show)
    await browser.close()
    assert first.client == second.client
    assert first.access_token != second.access_token


async def test_if_its_port_is_taken_another_client_is_registered(store: LoginStore, settings: LoginSettings) -> None:
    browser = Browser()
    first = await log_in(settings, store, browser.show)
    port = urlsplit(first.client.redirect_uri).port
    assert port is not None
    with socket.create_server(("127.0.0.1", port)):
        second = await log_in(settings, store, browser.show)
        with pytest.raises(AuthError, match=f"port {port}, to which the browser returns, cannot be used"):
            await log_in(replace(settings, callback_port=port), store, browser.show)
    await browser.close()
    assert second.client.redirect_uri != first.client.redirect_uri


async def test_a_browser_elsewhere(store: LoginStore, settings: LoginSettings) -> None:
    login = await log_in_without_browser(settings, store, Browser().ask)
    assert store.read(settings) == login


async def test_without_copying_a_browser_here_is_enough(store: LoginStore, settings: LoginSettings) -> None:
    browser = Browser()

    async def ask(url: str) -> str:
        await browser.show(url)
        return await asyncio.Future()  # the user copies nothing

    async with asyncio.timeout(SECONDS):
        login = await log_in_without_browser(settings, store, ask)
    await browser.close()
    assert "You are logged in" in browser.pages[0]
    assert store.read(settings) == login


@pytest.mark.parametrize("text", ["http://127.0.0.1:1/callback?code=a&state=b", " ?code=a&state=b\n", "code=a&state=b"])
def test_what_a_user_may_copy(text: str) -> None:
    assert pasted(text) == "code=a&state=b"


@pytest.mark.parametrize("text", ["", "http://127.0.0.1:1/callback", "abc", "http://[x?a=b"])
def test_what_a_user_may_copy_by_mistake(text: str) -> None:
    with pytest.raises(AuthError, match="not the address"):
        pasted(text)


async def test_an_answer_of_another_login_is_not_taken(store: LoginStore, settings: LoginSettings) -> None:
    with pytest.raises(AuthError, match="its state differs"):
        await log_in_without_browser(settings, store, Browser({"state": "other"}).ask)
    wrong, right = Browser({"state": "other"}), Browser()

    async def show(url: str) -> None:
        await wrong.show(url)
        await wrong.close()
        await right.show(url)

    login = await log_in(settings, store, show)
    await right.close()
    assert "This is not the current login" in wrong.pages[0]
    assert store.read(settings) == login


async def test_a_refusal_is_shown_and_stores_nothing(store: LoginStore, settings: LoginSettings) -> None:
    browser = Browser({"error": "access_denied"})
    with pytest.raises(Refused, match="access_denied"):
        await log_in(settings, store, browser.show)
    await browser.close()
    assert "The login failed" in browser.pages[0]
    assert store.read(settings) is None


async def test_a_failed_login_leaves_the_one_before(store: LoginStore, settings: LoginSettings) -> None:
    login = await log_in_without_browser(settings, store, Browser().ask)
    with pytest.raises(AuthError, match="another authorization server"):
        await log_in_without_browser(settings, store, Browser({"iss": "https://evil.example.com"}).ask)
    assert store.read(settings) == login


async def test_a_server_that_does_not_answer(store: LoginStore) -> None:
    with pytest.raises(Unavailable, match=r"no connection to 127\.0\.0\.1"):
        await log_in(LoginSettings(name="gone", url="http://127.0.0.1:9/mcp"), store, Browser().show)


async def test_credentials_need_no_browser(store: LoginStore, settings: LoginSettings) -> None:
    machine = replace(settings, client_id="mine", client_secret="secret", grant="client_credentials")
    assert store.read(machine) is None
    assert (await log_in_by_credentials(machine, store)) == store.read(machine)


async def test_a_logout_deletes_and_revokes(store: LoginStore, settings: LoginSettings, server: Authorization) -> None:
    await log_in_without_browser(settings, store, Browser().ask)
    ended = await log_out(settings, store)
    assert ended is not None
    assert ended.is_revoked
    assert store.read(settings) is None
    assert await log_out(settings, store) is None
    assert server.logged_out == ["refresh-1"]


async def test_a_logout_by_name_finds_logins_of_former_addresses(
    store: LoginStore, settings: LoginSettings, server: Authorization
) -> None:
    former, other = replace(settings, url=f"{server.url}/former"), replace(settings, name="other")
    login = await log_in_without_browser(settings, store, Browser().ask)
    for each in (former, other):
        with store.changing(each) as change:
            change.write(replace(login, name=each.name, url=each.url))
    assert [ended.is_revoked for ended in await log_out_by_name("files", store)] == [True, True]
    assert [each.name for each in store.logins()] == ["other"]
    assert await log_out_by_name("files", store) == []


async def test_a_server_that_asks_for_no_login(store: LoginStore, settings: LoginSettings) -> None:
    with open_server() as url, pytest.raises(AuthError, match="answers without a login, and offers none"):
        await log_in(replace(settings, url=url), store, Browser().show)


@contextmanager
def open_server() -> Iterator[str]:
    """Run an HTTP server that has no login and no metadata."""

    class Requests(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name in the base class
            pass

        def do_GET(self) -> None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

    with ThreadingHTTPServer(("127.0.0.1", 0), Requests) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()
            thread.join()


def test_no_log_has_a_secret(store: LoginStore, settings: LoginSettings, capfd: pytest.CaptureFixture[str]) -> None:
    browser = Browser()
    with to_stderr("DEBUG"):
        login = asyncio.run(
            log_in_without_browser(replace(settings, url=f"{settings.url}?key=s3cret"), store, browser.ask)
        )
        logging.getLogger("search_mcp").debug("= the end")
    log = capfd.readouterr().err
    assert "the end" in log
    assert login.tokens is not None
    query = parse_qs(urlsplit(browser.opened[0]).query)
    secrets = ("s3cret", login.access_token, login.tokens.refresh_token, *query["state"], "code-0")
    assert [each for each in secrets if each and each in log] == []


# The listener


async def exchange(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    if not data:
        writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /favicon.ico HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /callback?state=x HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /callback?state=x HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://[ HTTP/1.1\r\n\r\n", b"400"),
        (b"\r\n\r\n", b"404"),
        (b"", b""),
    ],
)
async def test_other_requests_change_nothing(data: bytes, status: bytes) -> None:
    async with callback("127.0.0.1", 0, "/callback") as listener, asyncio.timeout(SECONDS):
        port = urlsplit(listener.redirect_uri).port
        assert port is not None
        assert (await exchange(port, data))[9:12] == status


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells whose a connection is")
@pytest.mark.parametrize("closes", [False, True])
async def test_another_user_who_has_read_the_address_cannot_answer(closes: bool) -> None:
    """The answer has the right `state`, which the list of processes shows to everybody."""
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")
    async with callback("127.0.0.1", 0, "/callback") as listener, asyncio.timeout(SECONDS):
        port = urlsplit(listener.redirect_uri).port
        assert port is not None
        answer = asyncio.create_task(listener.answer(lambda query: "state=right" in query))
        status = await asyncio.to_thread(_answer_as, ANOTHER_USER, port, "state=right&code=theirs", closes)
        assert status == (b"" if closes else b"403")
        assert not answer.done()
        own = asyncio.create_task(exchange(port, b"GET /callback?state=right&code=own HTTP/1.1\r\n\r\n"))
        found = await answer
        await found.show("shown", "")
        assert ((await own)[9:12], found.query) == (b"200", "state=right&code=own")


ANOTHER_USER = 12345


def _answer_as(user: int, port: int, query: str, closes: bool) -> bytes:
    """Answer a login as another user; return the status, or nothing if the connection is closed at once."""
    host, (seen, tell) = "127.0.0.1".encode("idna"), os.pipe()  # another user may not read the file of this codec
    if (child := os.fork()) == 0:
        try:
            os.setuid(user)
            with socket.socket() as connection:
                connection.connect((host.decode(), port))
                connection.sendall(f"GET /callback?{query} HTTP/1.1\r\n\r\n".encode())
                if not closes:
                    os.write(tell, connection.recv(1000)[9:12])
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    status = os.read(seen, 3)
    os.close(seen)
    return status


@pytest.mark.parametrize(
    ("row", "owner"),
    [
        ("1: 0100007F:8D0B 0100007F:CD26 01 00000000:00000000 00:00000000 00000000 1000 0 1658", {1000}),
        ("1: 0000000000000000FFFF00000100007F:8D0B 0000000000000000FFFF00000100007F:CD26 01 0:0 0:0 0 7 0 1", {7}),
        ("1: 0100007F:CD26 0100007F:8D0B 01 00000000:00000000 00:00000000 00000000 1000 0 1658", set()),
        ("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode", set()),
    ],
)
def test_whose_a_connection_is(row: str, owner: set[int]) -> None:
    assert owners([row], 0x8D0B, 0xCD26) == owner


async def test_localhost_is_named_as_it_is_configured() -> None:
    async with callback("localhost", 0, "/oauth/callback") as listener:
        assert listener.redirect_uri.startswith("http://localhost:")
