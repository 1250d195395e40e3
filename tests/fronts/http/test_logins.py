"""Logins at remote servers: each principal has its own."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from auth.authorization import Authorization, authorization
from auth.browser import Browser
from processes.run import SECONDS

from fronts.http.serving import HttpClient, HttpServer, text


@pytest.fixture
def protected() -> Iterator[Authorization]:
    with authorization() as running:
        yield running


def log_in(server: HttpServer, principal: str) -> None:
    """Log in for a principal, with a browser whose user agrees."""
    command = [sys.executable, "-m", "search_mcp", "auth", "login", "files", "--no-browser", "--for", principal]
    with subprocess.Popen(
        [*command, "--config", str(server.config)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=server.environment,
        cwd=server.folder,
    ) as run:
        assert run.stdout is not None
        address = run.stdout.readline().strip()
        out, _ = run.communicate(f"{Browser().redirected(address)}\n", timeout=SECONDS)
        assert out.strip() == f"Logged in to files for {principal}."


def test_each_principal_logs_in_for_itself(tmp_path: Path, protected: Authorization) -> None:
    server = HttpServer(tmp_path, {"files": {"url": f"{protected.url}/mcp"}})
    tokens = {name: server.token(name) for name in ("anna", "bob")}
    with server:
        log_in(server, "anna")
        with server.client(tokens["anna"]) as anna, server.client(tokens["bob"]) as bob:
            assert says(anna) == "hello"
            refused = bob.asks("tools/call", name="files.say", arguments={"text": "hello"}).json()["error"]["message"]
            assert "search-mcp auth login files --config" in refused
            assert "--for bob" in refused
            log_in(server, "bob")
            assert says(bob) == "hello"


def says(client: HttpClient) -> str:
    return text(client.asks("tools/call", name="files.say", arguments={"text": "hello"}))
