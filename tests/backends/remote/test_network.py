"""Names, certificates and proxies on the way to a remote server."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import trustme

from backends.remote.reached import at, reached
from backends.remote.scripted import Scripted, scripted
from search_mcp.model.names import State


class Proxy:
    """A CONNECT proxy that leads every name to this computer, with an optional user and password."""

    def __init__(self, credentials: str = "") -> None:
        self.targets: list[str] = []
        self._wanted = f"Basic {base64.b64encode(credentials.encode()).decode()}" if credentials else ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        target = head.split(" ")[1]
        self.targets.append(target)
        if self._wanted not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        there, back = await asyncio.open_connection("127.0.0.1", int(target.rpartition(":")[2]))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pump, reader, back)
            tasks.start_soon(pump, there, writer)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass  # the other side is gone
    writer.close()


@asynccontextmanager
async def proxied(proxy: Proxy) -> AsyncIterator[int]:
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def secure(authority: trustme.CA) -> AsyncIterator[Scripted]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "mcp.test").configure_cert(context)
    async with scripted(context) as served:
        yield served


async def test_a_private_authority(secure: Scripted, authority: trustme.CA, tmp_path: Path) -> None:
    file = tmp_path / "corp.pem"
    authority.cert_pem.write_to_path(str(file))
    async with reached(at(secure.url, ca_file=str(file))) as there:
        assert await there.text("do") == "done"


async def test_an_untrusted_certificate(secure: Scripted) -> None:
    async with reached(at(secure.url)) as there:
        await there.state(State.BACKING_OFF)
        assert "the certificate of 127.0.0.1 is not trusted" in str(there.supervisor.status.reason)
    assert secure.received == []


async def test_certificates_that_cannot_be_read(secure: Scripted, tmp_path: Path) -> None:
    async with reached(at(secure.url, ca_file=str(tmp_path / "none.pem"))) as there:
        await there.state(State.BACKING_OFF)
        assert '"caFile" (' in str(there.supervisor.status.reason)


@pytest.mark.parametrize("credentials", ["", "user:word"])
async def test_a_proxy(
    secure: Scripted,
    authority: trustme.CA,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    credentials: str,
) -> None:
    file = tmp_path / "corp.pem"
    authority.cert_pem.write_to_path(str(file))
    port = secure.url.rpartition(":")[2].partition("/")[0]
    proxy = Proxy(credentials)
    async with proxied(proxy) as proxy_port:
        user = f"{credentials}@" if credentials else ""
        monkeypatch.setenv("HTTPS_PROXY", f"http://{user}127.0.0.1:{proxy_port}")
        async with reached(at(f"https://mcp.test:{port}/mcp", ca_file=str(file))) as there:
            assert await there.text("do") == "done"
        assert set(proxy.targets) == {f"mcp.test:{port}"}


async def test_a_proxy_that_needs_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxied(Proxy("user:word")) as proxy_port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy_port}")
        async with reached(at("https://mcp.test/mcp")) as there:
            await there.state(State.BACKING_OFF)
            assert "the proxy needs a password" in str(there.supervisor.status.reason)


async def test_this_computer_is_not_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with scripted() as server, reached(at(server.url)) as there:
        assert await there.text("do") == "done"


async def test_an_unknown_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with reached(at("https://nowhere.invalid/mcp")) as there:
        await there.state(State.BACKING_OFF)
        assert "nowhere.invalid" in str(there.supervisor.status.reason)
