"""Several processes share one login. The server makes all its tokens void if a spent refresh token comes back."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from auth import caller
from auth.authorization import SECONDS, Authorization, authorization
from search_mcp.auth.records import Login
from search_mcp.auth.registration import Registration
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore
from search_mcp.auth.tokens import Tokens

PROCESSES = 5
ROUNDS = 6

Caller = subprocess.Popen[str]


@pytest.fixture
def server() -> Iterator[Authorization]:
    with authorization() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path, server: Authorization) -> LoginStore:
    """A store with a login whose access token is valid."""
    store = LoginStore(tmp_path / "logins")
    given = server.tokens("")
    login = Login(
        name="files",
        url=f"{server.url}/mcp",
        issuer=server.url,
        token_endpoint=f"{server.url}/token",
        client=Registration(issuer=server.url, client_id="registered"),
        tokens=Tokens(
            access_token=given["access_token"],
            refresh_token=given["refresh_token"],
            obtained_at=time.time(),
            expires_at=time.time() + 3600,
        ),
    )
    with store.changing(settings(server)) as change:
        change.write(login)
    return store


def settings(server: Authorization) -> LoginSettings:
    return LoginSettings(name="files", url=f"{server.url}/mcp")


@contextmanager
def callers(store: LoginStore, server: Authorization, count: int) -> Iterator[list[Caller]]:
    command = [sys.executable, caller.__file__, str(store.folder), f"{server.url}/mcp"]
    pipe = subprocess.PIPE
    with ExitStack() as running:
        started = [
            running.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True))
            for _ in range(count)
        ]
        try:
            assert [said(each) for each in started] == ["ready"] * count
            yield started
        finally:
            for each in started:
                each.kill()


def said(process: Caller) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def ask(processes: list[Caller]) -> None:
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()


def test_five_processes_with_a_void_token_redeem_the_refresh_token_once_a_round(
    store: LoginStore, server: Authorization
) -> None:
    with callers(store, server, PROCESSES) as processes:
        for number in range(1, ROUNDS + 1):
            server.expire()
            ask(processes)
            assert [said(each) for each in processes] == ["done"] * PROCESSES
            assert server.redeemed == number
    assert server.revoked == 0
    login = store.read(settings(server))
    assert login is not None
    assert login.tokens is not None
    assert login.tokens.refresh_token == server.refresh


@pytest.mark.figures  # every renewal is a process; `test_five_serves` has the same through `serve`
def test_five_processes_whose_token_has_expired(store: LoginStore, server: Authorization) -> None:
    """Each token is valid for so short a time that every call needs a new one."""
    server.lifetime = 0.001
    server.expire()
    with callers(store, server, PROCESSES) as processes:
        for _ in range(ROUNDS):
            ask(processes)
            assert [said(each) for each in processes] == ["done"] * PROCESSES
    assert server.redeemed >= PROCESSES * (ROUNDS - 1)
    assert server.revoked == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_process_that_is_killed_while_it_renews_loses_no_login(store: LoginStore, server: Authorization) -> None:
    """Its refresh token is spent at that moment, and the answer with the next one is on its way."""
    with callers(store, server, PROCESSES) as processes:
        for number in range(1, PROCESSES - 1):
            victim, *others = processes
            server.expire()
            server.asked.clear()
            server.hold.clear()
            ask([victim])
            assert server.asked.wait(SECONDS)
            os.killpg(victim.pid, signal.SIGKILL)
            assert victim.wait(SECONDS) == -signal.SIGKILL
            ask(others)
            server.hold.set()
            assert [said(each) for each in others] == ["done"] * len(others)
            assert (server.redeemed, server.revoked) == (number, 0)
            processes = others
