"""Two running `search-mcp serve --http` behind a load balancer, which has a file of packaging/service."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
from checkout import ROOT
from processes.run import Json, server

from fronts.http.serving import HttpClient, HttpServer, get, text
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


@dataclass(frozen=True)
class Balancer:
    """A load balancer and its file in packaging/service."""

    name: str
    file: str
    arguments: Sequence[str]
    listening: str
    """Where it listens, as a regular expression."""
    listening_here: str
    around: str = ""
    """What is around the file."""

    def program(self) -> str:
        found = shutil.which(self.name, path=f"{os.environ['PATH']}:/usr/sbin")
        reason = f"{self.name} is not installed (Debian: apt-get install {self.name})"
        if found is None and os.environ.get("CI") and sys.platform == "linux" and self.name != "envoy":
            pytest.fail(reason)
        return found or pytest.skip(reason)

    def configuration(self, replicas: "Replicas") -> str:
        """Return the file with the addresses of the replicas, and without TLS."""
        text = (FOLDER / self.file).read_text("utf-8")
        text, found = re.subn(self.listening, self.listening_here.format(replicas.port), text)
        assert found == 1
        text = re.sub(r" *ssl_certificate.*\n", "", text)
        for number, each in enumerate(replicas.each, 1):
            text = text.replace(f"10.0.0.{number}", "127.0.0.1")
            text = text.replace("8808", f"{each.port}", 1).replace("8809", f"{each.health_port}", 1)
        return self.around % text if self.around else text


BALANCERS = {
    each.name: each
    for each in (
        Balancer("haproxy", "haproxy.cfg", ("-db", "-q", "-f"), r":443 ssl crt \S+", "127.0.0.1:{}"),
        Balancer(
            *("nginx", "nginx.conf", ("-e", "stderr", "-p", ".", "-c"), "443 ssl", "127.0.0.1:{}"),
            "daemon off; pid nginx.pid; events {} http { access_log off; %s }",
        ),
        Balancer(
            *("envoy", "envoy.yaml", ("--disable-hot-restart", "--log-level", "error", "-c")),
            *("0.0.0.0, port_value: 8443", "127.0.0.1, port_value: {}"),
        ),
    )
}


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
        return get(f"http://127.0.0.1:{self.health_port}/readyz").status_code == 200

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
        left = [each for each in self.each if each.server.process.poll() is None and each.is_ready]
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
def balanced(folder: Path, replicas: Replicas, name: str) -> Iterator[None]:
    """Run a load balancer in front of the replicas."""
    balancer = BALANCERS[name]
    file = folder / balancer.file
    file.write_text(balancer.configuration(replicas), "utf-8")
    with subprocess.Popen([balancer.program(), *balancer.arguments, str(file)], cwd=folder) as process:
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
