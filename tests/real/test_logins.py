"""Logins at real authorization servers: oidc-provider, and that of FastMCP."""

import asyncio
import http.cookiejar
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.message import Message
from pathlib import Path

import pytest

from real import packages
from search_mcp.auth.access import Access
from search_mcp.auth.errors import Unauthorized
from search_mcp.auth.interactive import log_in, log_out
from search_mcp.auth.renewal import Need, digest, renew
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore

HERE = Path(__file__).parent
SECONDS = 60.0
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"x","version":"1"}}}'
)


@pytest.fixture(params=["oidc-provider", "fastmcp"])
def url(request: pytest.FixtureRequest, node: object) -> Iterator[str]:
    """Run a server; its address."""
    port = free_port()
    if request.param == "fastmcp":
        command = [packages.fastmcp(), str(HERE / "fastmcp_server.py"), str(port)]
    else:
        program, module = packages.oidc_provider()
        command = [program, str(HERE / "oidc_server.mjs"), module, str(port)]
    with listening(command, port):
        yield f"http://127.0.0.1:{port}/mcp"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@contextmanager
def listening(command: Sequence[str], port: int) -> Iterator[None]:
    """Run a server."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + SECONDS
            while not _listens(port):
                assert server.poll() is None and time.monotonic() < until
                time.sleep(0.05)  # it does not say when it is ready
            yield
        finally:
            server.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def post(url: str, token: str | None) -> tuple[int, Message]:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, INITIALIZE, headers), timeout=SECONDS) as response:
            return response.status, response.headers
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers


async def open_in_browser(url: str) -> None:
    """Follow a login from page to page, with cookies."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    asyncio.get_running_loop().run_in_executor(None, lambda: browser.open(url, timeout=SECONDS).read())


async def test_a_login_from_its_refusal_to_its_end(url: str, tmp_path: Path) -> None:
    settings, store = LoginSettings(name="files", url=url), LoginStore(tmp_path / "logins")
    access = Access(settings, store, renew=renew)

    async def call() -> int:
        return (await asyncio.to_thread(post, url, await access.token()))[0]

    status, headers = await asyncio.to_thread(post, url, await access.token())
    with pytest.raises(Unauthorized):
        await access.refused(None, status, headers.get_all("WWW-Authenticate") or ())
    async with asyncio.timeout(SECONDS):
        login = await log_in(settings, store, open_in_browser)
    await access.refused(None, status, headers.get_all("WWW-Authenticate") or ())
    assert await call() == 200

    need = Need(refused=digest(login.access_token))
    renewals = (asyncio.to_thread(renew, store, settings, need) for _ in range(5))
    assert {each.outcome for each in await asyncio.gather(*renewals)} == {"renewed"}
    await access.refused(login.access_token, 401, ["Bearer"])
    assert await access.token() != login.access_token
    assert await call() == 200

    await log_out(settings, store)
    assert await call() == 401
    with pytest.raises(Unauthorized):
        await access.refused(await access.token(), 401, ["Bearer"])


FOLLOW = """\
#!{python}
import http.cookiejar, sys, urllib.request
cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
urllib.request.build_opener(cookies).open(sys.argv[1]).read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="its browser is a script")
def test_a_user_logs_in_and_out_with_the_commands(url: str, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(FOLLOW.format(python=sys.executable), "utf-8")
    browser.chmod(0o700)
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SEARCH_MCP_", "COLUMNS"))
    }
    environment = {**inherited, "HOME": str(tmp_path), "BROWSER": str(browser)}

    def types(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "search_mcp", *words]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)

    assert types("add", "files", url).returncode == 0
    assert "needs a login" in types("check").stdout
    ended = types("auth", "login")
    if (
        "you are logged in to files, but it cannot be used: it gave no MCP answer" not in ended.stderr
    ):  # as oidc_server.mjs
        assert ended.stdout.endswith("\nLogged in to files: 1 tool.\n"), ended.stderr
        assert types("call", "files.say", "text=done").stdout == "done\n"
    status = json.loads(types("auth", "status", "--json").stdout)["servers"][0]
    assert (status["state"], status["renewed"], status["issuer"].rstrip("/")) == (
        "logged in",
        True,
        url.removesuffix("/mcp"),
    )
    ended = types("auth", "logout", "--debug")
    assert ended.stdout == "Logged out of files: its tokens are revoked and deleted.\n"
    assert "needs a login" in types("check").stdout
