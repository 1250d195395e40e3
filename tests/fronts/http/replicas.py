"""Two running `search-mcp serve --http` behind a load balancer, which has a file of packaging/service."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import httpx2
import pytest
from checkout import ROOT
from processes.run import Json, server

from fronts.http.serving import HttpClient, HttpServer, text
from search_mcp.fronts.http.access import Token
from search_mcp.fronts.http.token_store import TokenStore

FOLDER = ROOT / "packaging" / "service"
TOKENS = Path(".local", "state", "search-mcp", "front-tokens")
"""The folder of tokens in a home."""
PLACE = {"place": server("well_behaved", share="all")}
"""The server that `place` asks."""


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in taken]


class Replica:
    """A `search-mcp serve --http` that listens at the same addresses each time it is started."""

    def __init__(self, folder: Path, servers: dict[str, Json], *options: str) -> None:
        folder.mkdir()
        self.folder, self._servers = folder, servers
        self.port, self.health_port = free_ports(2)
        self._options = (*options, "--http", f"127.0.0.1:{self.port}", "--health", f"127.0.0.1:{self.health_port}")
        self.server = self._new()
        self._running = ExitStack()

    def _new(self) -> HttpServer:
        return HttpServer(self.folder, self._servers, *self._options)

    def start(self) -> None:
        if self.server.url:  # it has run before
            self.server = self._new()
        self._running.enter_context(self.server)

    @property
    def is_ready(self) -> bool:
        return httpx2.get(f"http://127.0.0.1:{self.health_port}/readyz", trust_env=False).status_code == 200

    def end(self) -> None:
        """End it by SIGTERM, as a service manager does."""
        self._running.close()

    def die(self) -> None:
        """End it without a chance to do anything."""
        self.server.kill()
        self.end()


class Replicas:
    """Two of them with the same tokens, and the address of the balancer in front of them."""

    def __init__(self, folder: Path, servers: dict[str, Json], *options: str) -> None:
        self.each = [Replica(folder / name, servers, *options) for name in ("one", "two")]
        self.port = free_ports(1)[0]
        self.issuer = ""
        """The authorization server whose access tokens they take."""

    def tokens(self, *names: str) -> dict[str, str]:
        """Make a token for each name, which holds at all replicas."""
        first, *others = [each.folder / TOKENS for each in self.each]
        made = {name: TokenStore(first).add(Token(name, "")) for name in names}
        for each in others:
            shutil.copytree(first, each, dirs_exist_ok=True)
        return made

    def __enter__(self) -> Self:
        for each in self.each:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End them without the time in which the balancer would notice."""
        left = [each for each in self.each if each.server.process.poll() is None]
        for each in left:
            each.server.process.terminate()
        for each in left:
            while each.is_ready:
                time.sleep(0.01)
            each.end()  # with a second signal, which is not lost behind the first

    def client(self, token: str) -> HttpClient:
        return HttpClient(f"http://127.0.0.1:{self.port}/mcp", token)


def place(client: HttpClient) -> Path:
    """Return the home of the replica that serves a client."""
    environment = json.loads(text(client.asks("tools/call", name="place.environment", arguments={})))
    return Path(environment["HOME"])


@contextmanager
def haproxy(folder: Path, replicas: Replicas) -> Iterator[None]:
    """Run HAProxy in front of the replicas."""
    program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if sys.platform != "linux":
        pytest.skip("the recipe is for Linux")
    if program is None:
        reason = "HAProxy is not installed (Debian: apt-get install haproxy)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    written = re.sub("bind .*", f"bind 127.0.0.1:{replicas.port}", (FOLDER / "haproxy.cfg").read_text("utf-8"))
    for number, each in enumerate(replicas.each, 1):
        written = written.replace(f"10.0.0.{number}:8808 port 8809", f"127.0.0.1:{each.port} port {each.health_port}")
    assert "10.0.0" not in written
    file = folder / "haproxy.cfg"
    file.write_text(written, "utf-8")
    with subprocess.Popen([program, "-db", "-q", "-f", str(file)]) as process:
        try:
            while not is_listening(replicas.port):
                assert process.poll() is None
                time.sleep(0.01)
            yield
        finally:
            process.terminate()


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
