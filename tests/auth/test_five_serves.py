"""Several clients, each with its own search-mcp, share the login of a remote server.

The authorization server makes all tokens void if a spent refresh token comes back.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from auth.authorization import SECONDS, Authorization, authorization
from auth.browser import Browser
from search_mcp.auth.interactive import log_in
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore
from search_mcp.folders import logins_folder

PROCESSES = 5
ROUNDS = 6
ROUNDS_OF_RENEWALS = 2
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "one of five", "version": "1"},
}


class Client:
    """A client and its search-mcp."""

    def __init__(self, config: Path) -> None:
        command = [sys.executable, "-m", "search_mcp", "serve", "--config", str(config)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        self._ids = 0

    def begin(self, method: str, **params: Any) -> None:
        """Send a request."""
        self._ids += 1
        self._write({"id": self._ids, "method": method, "params": params})

    def open(self) -> None:
        self.begin("initialize", **INITIALIZE)
        self._write({"method": "notifications/initialized"})

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Wait for the response to the last request; return its result or its error."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._ids:
                return message.get("result") or {"error": message["error"]}
        raise AssertionError("it ended")

    def say(self, text: str) -> None:
        self.begin("tools/call", name="files.say", arguments={"text": text})


def said(client: Client) -> str:
    """Return the text of the result of a call, else its error."""
    answer = client.answer()
    return str(answer["content"][0]["text"] if "content" in answer else answer)


@pytest.fixture
def server() -> Iterator[Authorization]:
    with authorization() as server:
        yield server


@pytest.fixture
def store(server: Authorization, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoginStore]:
    """The user's logins, with one at the server."""
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in [each for each in os.environ if each.startswith("XDG_")]:
        monkeypatch.delenv(name)
    store = LoginStore(logins_folder())
    asyncio.run(log_in_with_a_browser(server, store))
    yield store
    login = store.read(settings(server))
    assert login is not None
    assert login.tokens is not None
    assert login.tokens.refresh_token == server.refresh
    assert server.revoked == 0


async def log_in_with_a_browser(server: Authorization, store: LoginStore) -> None:
    browser = Browser()
    await log_in(settings(server), store, browser.show)
    await browser.close()


def settings(server: Authorization) -> LoginSettings:
    return LoginSettings(name="files", url=f"{server.url}/mcp")


@contextmanager
def clients(server: Authorization, folder: Path) -> Iterator[list[Client]]:
    config = folder / "mcp-servers.json"
    servers = {"files": {"url": f"{server.url}/mcp"}}
    config.write_text(json.dumps({"mcpServers": servers, "settings": {"engine": "own"}}))
    with ExitStack() as running:
        started = [Client(config) for _ in range(PROCESSES)]
        for each in started:
            running.enter_context(each.process)
            running.callback(each.process.kill)
        for each in started:
            each.open()
        for each in started:
            each.answer()
        yield started


def test_five_clients_with_a_void_token_redeem_the_refresh_token_once_a_round(
    store: LoginStore, server: Authorization, tmp_path: Path
) -> None:
    with clients(server, tmp_path) as started:
        for number in range(1, ROUNDS + 1):
            server.expire()
            for each in started:
                each.say(f"round {number}")
            assert [said(each) for each in started] == [f"round {number}"] * PROCESSES
            assert server.redeemed == number


def test_five_clients_whose_token_has_expired(store: LoginStore, server: Authorization, tmp_path: Path) -> None:
    """Each token is valid for so short a time that every call needs a new one."""
    with clients(server, tmp_path) as started:
        for each in started:
            each.say("opened")
        assert [said(each) for each in started] == ["opened"] * PROCESSES
        server.lifetime = 0.001
        server.expire()
        for number in range(ROUNDS_OF_RENEWALS):
            for each in started:
                each.say(f"round {number}")
            assert [said(each) for each in started] == [f"round {number}"] * PROCESSES
    assert server.redeemed >= PROCESSES


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_client_that_is_killed_while_it_renews_loses_no_login(
    store: LoginStore, server: Authorization, tmp_path: Path
) -> None:
    """Its refresh token is spent at that moment, and the answer with the next one is on its way."""
    with clients(server, tmp_path) as started:
        for number in range(1, PROCESSES - 1):
            victim, *others = started
            server.expire()
            server.asked.clear()
            server.hold.clear()
            victim.say("lost")
            assert server.asked.wait(SECONDS)
            os.killpg(victim.process.pid, signal.SIGKILL)
            assert victim.process.wait(SECONDS) == -signal.SIGKILL
            for each in others:
                each.say("kept")
            server.hold.set()
            assert [said(each) for each in others] == ["kept"] * len(others)
            assert server.redeemed == number
            started = others
