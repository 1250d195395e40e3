"""A server on the Internet cannot make search-mcp contact what the network of the user hides, whatever it names.

The server has a name that only the proxy knows, so that it counts as one on the Internet; a server on this computer
stands for what is hidden.
"""

import asyncio
import json
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme
from anyio.streams.text import TextReceiveStream
from backends.remote.scripted import Received, Scripted, scripted
from backends.remote.test_network import Proxy, proxied

SECONDS = 60.0
HIDDEN = (
    *("http://169.254.169.254/latest/meta-data", "https://169.254.169.254/latest", "http://10.0.0.1/", "https://10.0.0.1/"),
    *("http://127.0.0.1:{port}/x", "https://127.0.0.1:{port}/x", "http://localhost:{port}/x", "https://localhost:{port}/"),
    *("https://[::1]:{port}/", "https://[::ffff:127.0.0.1]:{port}/", "https://2130706433:{port}/", "https://127.1:{port}/"),
    *("https://user@127.0.0.1:{port}/", "https://mcp.test@127.0.0.1:{port}/", "file:///etc/passwd", "https://[::1"),
)  # fmt: skip
WAYS = ("challenge", "redirect", "authorization server", "registration endpoint", "token endpoint")


class Hostile:
    """The answers of a server that names a hidden address in one of the ways."""

    def __init__(self, server: Scripted) -> None:
        self.way, self.named = "", ""
        self.origin = ""
        for method in ("server/discover", "initialize", "response"):
            server.on[method] = self.refuse
        server.on["GET"] = self.document

    async def refuse(self, request: Received) -> None:
        named = {"challenge": self.named, "redirect": f"{self.origin}/redirect"}.get(
            self.way, f"{self.origin}/resource"
        )
        await request.answer(401, WWW_Authenticate=f'Bearer resource_metadata="{named}"')

    async def document(self, request: Received) -> None:
        if request.path == "/redirect":
            await request.answer(302, Location=self.named)
        elif request.path == "/resource":
            server = self.named if self.way == "authorization server" else self.origin
            body = {"resource": f"{self.origin}/mcp", "authorization_servers": [server]}
            await request.answer(200, json.dumps(body).encode())
        elif request.path == "/.well-known/oauth-authorization-server":
            names = ("authorization", "token", "registration")
            endpoints = {f"{name}_endpoint": f"{self.origin}/{name}" for name in names}
            endpoints[self.way.replace(" ", "_")] = self.named
            body = {"issuer": self.origin, "code_challenge_methods_supported": ["S256"], **endpoints}
            await request.answer(200, json.dumps(body).encode())
        else:
            await request.answer(404)


class Client:
    """A client that can open addresses, and its search-mcp."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, TextReceiveStream(process.stdout)
        self._rest, self._ids = "", 0
        self.asked: list[Any] = []

    async def ask(self, method: str, **params: Any) -> Any:
        """Send a request; return the response."""
        self._ids += 1
        await self.tell({"id": self._ids, "method": method, "params": params})
        while True:
            while "\n" not in self._rest:
                self._rest += await self._stdout.receive()
            line, _, self._rest = self._rest.partition("\n")
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.asked.append(message)
            elif message.get("id") == self._ids:
                return message

    async def tell(self, message: dict[str, Any]) -> None:
        await self._stdin.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


@asynccontextmanager
async def client(folder: Path, server: dict[str, Any], proxy: int) -> AsyncIterator[Client]:
    config = folder / "mcp-servers.json"
    config.write_text(json.dumps({"mcpServers": {"hostile": server}, "settings": {"engine": "own"}}))
    kept = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and name[:4] != "XDG_"
    }
    homes = dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), str(folder))
    command = [sys.executable, "-m", "search_mcp", "serve", "--config", str(config)]
    environment = {**kept, **homes, "HTTPS_PROXY": f"http://127.0.0.1:{proxy}"}
    async with await anyio.open_process(command, env=environment, stderr=subprocess.DEVNULL) as process:
        there = Client(process)
        capabilities: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
        info = {"name": "client", "version": "1"}
        await there.ask("initialize", protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=info)
        await there.tell({"method": "notifications/initialized"})
        yield there
        process.terminate()


@pytest.mark.figures  # many addresses, one after the other; `test_addresses` and `test_fetching` check each at once
async def test_nothing_hidden_is_contacted(tmp_path: Path) -> None:
    authority, connections, proxy = trustme.CA(), list[int](), Proxy()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("mcp.test").configure_cert(context)

    async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        writer.close()

    with anyio.fail_after(SECONDS):
        async with scripted(context) as served, proxied(proxy) as proxy_port:
            canary = await asyncio.start_server(accept, "127.0.0.1", 0)
            hidden_port = canary.sockets[0].getsockname()[1]
            hostile = Hostile(served)
            hostile.origin = served.url.replace("127.0.0.1", "mcp.test").removesuffix("/mcp")
            entry = {"url": f"{hostile.origin}/mcp", "caFile": str(tmp_path / "ca.pem")}
            async with client(tmp_path, entry, proxy_port) as there:
                for hostile.way, each in [*((WAYS[0], each) for each in HIDDEN), *product(WAYS[1:], HIDDEN[:6:2])]:
                    hostile.named = each.format(port=hidden_port)
                    answer = await there.ask("tools/call", name="hostile.say", arguments={})
                    reason = answer["error"]["data"]["reason"]
                    assert "is not used" in reason, (hostile.way, each, reason)
                assert there.asked == []
            canary.close()
    assert connections == []
    assert {*proxy.targets} == {hostile.origin.removeprefix("https://")}
