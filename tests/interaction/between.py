"""Pytest plugin for the Python SDK's interaction suite: connects search-mcp between each test's client and its server.

The tests of the suite use a fixture for a client that is connected to a server of theirs. Here the client is
connected to search-mcp, which has that server as its only backend, under its own names and in the full listing. The
connections are in memory, as the suite expects: a message is delivered within a turn of the event loop.
`--directly` leaves search-mcp out and changes nothing else.

Where possible, changes that search-mcp makes by its contract are reverted: see `_as_from_server`.
"""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.message import SessionMessage
from mcp_types import Implementation, jsonrpc_message_adapter
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from interaction.exceptions import EXPECTED
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.process.launching import Command
from search_mcp.config.schema import Config, ServerConfig, Settings
from search_mcp.fronts.connection import Front
from search_mcp.gateway.gateway import Gateway
from search_mcp.own_tools.definitions import NAMES
from search_mcp.pool.pool import Pool

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
END_SECONDS = 60.0
"""Time limit for the exit of search-mcp after a test's client has closed."""

PATIENCE, IMPATIENCE = 60.0, 1.0
"""Time limits in seconds: of a test, and of a test that is expected to fail, most often by a timeout."""

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


_AFTER_OPENING = (b'"notifications/initialized"', b'/list"', b'"subscriptions/listen"')
"""Words of the first message after the opening of a server, in either era."""


class Wire:
    """One direction of a connection: bytes at one end, the SDK's messages at the other."""

    def __init__(self) -> None:
        self._send, self.messages = anyio.create_memory_object_stream[Incoming](1000)

    def write(self, data: bytes) -> None:
        for line in data.splitlines():
            try:
                message: Incoming = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as exc:
                message = exc
            try:
                self._send.send_nowait(message)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return  # the reader has closed, as at a pipe

    def close(self) -> None:
        self._send.close()


def encoded(message: SessionMessage) -> bytes:
    return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


class Child:
    """One run of a test's server, with the interface of a process for the supervisor."""

    pid = 1

    def __init__(self, on_opened: Callable[[], None], on_end: Callable[[], None]) -> None:
        self._on_opened, self._on_end = on_opened, on_end
        self._wire = Wire()
        self._scope = anyio.CancelScope()
        self._over = anyio.Event()

    async def run(self, server: Server[Any], on_stdout: Callable[[bytes], None]) -> None:
        output, said = anyio.create_memory_object_stream[SessionMessage](0)

        async def listen() -> None:
            async with said:
                async for message in said:
                    on_stdout(encoded(message))

        with self._scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen)
                async with self._wire.messages:
                    await server.run(self._wire.messages, output, server.create_initialization_options())
                await output.aclose()
        self._over.set()
        self._on_end()

    def write(self, data: bytes) -> None:
        self._wire.write(data)
        if any(word in data for word in _AFTER_OPENING):
            self._on_opened()

    def is_congested(self) -> bool:
        return False

    def defer_reading(self) -> None:
        """Do nothing: memory streams need no limit here."""

    def pause_reading(self) -> None:
        """Do nothing: memory streams need no limit here."""

    def resume_reading(self) -> None:
        """Do nothing: reading is never paused."""

    def stderr_tail(self) -> str:
        return ""

    def how_it_ended(self) -> str:
        return "it exited with code 0"

    def has_session(self) -> bool:
        return True

    def describe(self) -> str:
        return "in memory"

    def has_ended(self) -> bool:
        return self._over.is_set()

    def terminate(self) -> None:
        self._scope.cancel()

    def kill(self) -> None:
        self._scope.cancel()

    async def stop(self) -> None:
        with anyio.CancelScope(shield=True):
            self._wire.close()
            with anyio.move_on_after(END_SECONDS):
                await self._over.wait()
            self._scope.cancel()
            await self._over.wait()


@asynccontextmanager
async def through_search_mcp(server: Server[Any], *, is_shared: bool) -> AsyncIterator[Streams]:
    """Connect a client to search-mcp in front of a server, perhaps to one that several clients may share."""
    incoming = Wire()
    outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
    ended, up = anyio.Event(), anyio.Event()

    async def spawn(command: Command, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]) -> Child:
        child = Child(up.set, on_end)
        servers.start_soon(child.run, server, on_stdout)
        return child

    async def listen(front: Front) -> None:
        async with said:
            async for message in said:
                line = encoded(message)
                front.peer.feed(line)
                if b'"method":"initialize"' in line:
                    # A server answers this once it is up; search-mcp would answer for a server that
                    # is starting.
                    await up.wait()
        ended.set()

    entry = ServerConfig(name="backend", command=sys.executable, prefix="")
    config = Config((entry,), Settings(listing="full"), ())
    async with anyio.create_task_group() as servers:
        pool = Pool(is_shared=is_shared)
        gateway = Gateway(config, Dependencies(spawn=spawn, variables={}, home=""), pool)
        front = Front(gateway, lambda line: incoming.write(_as_from_server(server, line)), 1 << 24)
        async with pool.running(), gateway.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(listen, front)
            yield incoming.messages, outgoing
            await outgoing.aclose()
            with anyio.fail_after(END_SECONDS):
                await ended.wait()
            front.close()
            incoming.close()


@asynccontextmanager
async def directly(server: Server[Any]) -> AsyncIterator[Streams]:
    """Connect a client to the server itself, over the same wires."""
    incoming = Wire()
    outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
    child = Child(lambda: None, incoming.close)

    async def listen() -> None:
        async with said:
            async for message in said:
                child.write(encoded(message))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(child.run, server, incoming.write)
        tasks.start_soon(listen)
        yield incoming.messages, outgoing
        await outgoing.aclose()
        await child.stop()


def _as_from_server(server: Server[Any], line: bytes) -> bytes:
    """Revert the changes that search-mcp makes to a server's message by contract: name, own tools, form of errors.

    Nothing is invented: the error of a tool is restored from the `data` that contains it.
    """
    message = json.loads(line)
    error, result = message.get("error"), message.get("result")
    if error is not None and error["code"] == -32000 and "tool" in error.get("data", {}):
        carried = error["data"]
        message["error"] = {name: carried[name] for name in ("code", "message", "data") if name in carried}
    if isinstance(result, dict):
        info = _info(server)
        if "serverInfo" in result:
            result["serverInfo"] = info
        if SERVER_INFO in result.get("_meta", {}):
            result["_meta"][SERVER_INFO] = info
        if isinstance(result.get("tools"), list):
            result["tools"] = [tool for tool in result["tools"] if tool["name"] not in NAMES]
    return json.dumps(message).encode()


def _info(server: Server[Any]) -> dict[str, Any]:
    said = server.create_initialization_options()
    info = Implementation(
        name=said.server_name,
        title=said.title,
        description=said.description,
        version=said.server_version,
        website_url=said.website_url,
        icons=said.icons,
    )
    return info.model_dump(mode="json", by_alias=True, exclude_none=True)


# The plugin


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--directly", action="store_true", help="leave search-mcp out")
    parser.addoption("--shared", action="store_true", help="as in an engine that several clients share")
    parser.addoption("--part", default="0/1", help="every so many tests, from which on: `1/4`")


def pytest_configure(config: pytest.Config) -> None:
    # Run last: use this fixture only for what is missing elsewhere.
    sys.path.append(str(config.rootpath / "packages"))
    config.addinivalue_line("markers", "requirement(id): what the suite's tests are marked with")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests whose client comes from the fixture, each revision once, and connect them here."""
    sys.modules["tests.interaction.conftest"]._FACTORIES["in-memory"] = _connector(
        directly
        if config.getoption("--directly")
        else partial(through_search_mcp, is_shared=config.getoption("--shared"))
    )
    first, step = map(int, config.getoption("--part").split("/"))
    connected = [item for item in items if isinstance(item, pytest.Function) and _is_connected(item)]
    items[:] = connected[first::step]


def _is_connected(item: pytest.Function) -> bool:
    cell: Any = item.callspec.params["connect"] if "connect" in item.fixturenames else (None, None)
    return bool(cell[0] == "in-memory")


def _connector(streams: Callable[[Server[Any]], Any]) -> Callable[..., Any]:
    @asynccontextmanager
    async def connect(server: Server[Any] | MCPServer, *, spec_version: str, **arguments: Any) -> AsyncIterator[Client]:
        lowlevel = server._lowlevel_server if isinstance(server, MCPServer) else server
        mode = spec_version if spec_version in MODERN_PROTOCOL_VERSIONS else "legacy"
        async with Client(streams(lowlevel), mode=mode, **arguments) as client:
            yield client

    return connect


class Patient:
    """Replacement for `anyio` in a test's module, with the same time limit for every wait."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(anyio, name)

    def fail_after(self, seconds: float) -> AbstractContextManager[anyio.CancelScope]:
        return anyio.fail_after(self._seconds)


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow a long wait on a loaded machine, and a short one for an expected failure."""
    revision = request.node.callspec.params["connect"][1]
    if hasattr(request.module, "anyio"):
        expected = f"{request.node.originalname} [{revision}]" in EXPECTED
        monkeypatch.setattr(request.module, "anyio", Patient(IMPATIENCE if expected else PATIENCE))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
