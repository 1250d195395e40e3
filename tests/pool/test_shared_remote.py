"""Remote servers behind one pool: which of them clients share, found out over real connections."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backends.remote.reached import at
from backends.remote.scripted import DISCOVERED, OPENED, Received, Scripted, event, said, scripted
from real.conversation import Era

from pool.machine import Machine
from search_mcp.config.schema import ServerConfig

LEGACY, MODERN = Era("2025-11-25", {"roots": {}}), Era("2026-07-28", {"roots": {}})
CALL = ("tools/call", {"name": "there.do", "arguments": {}})


@pytest.fixture
async def server() -> AsyncIterator[Scripted]:
    async with scripted() as served:
        yield served


async def _opens(request: Received) -> None:
    await request.result(OPENED)


async def _discovers(request: Received) -> None:
    await request.result(DISCOVERED)


def _machine(server: Scripted, cache: Path) -> Machine:
    return Machine(ServerConfig(name="there", command="", remote=at(server.url)), cache)


async def _visit_twice(machine: Machine, era: Era) -> int:
    """Let two clients call at the same time; return the number of servers."""
    async with machine.pool.running(), machine.client(era) as first, machine.client(era) as second:
        for client in (first, second):
            await client.play([CALL])
        return len(machine.pool.servers)


async def test_a_server_with_a_session_is_not_shared(server: Scripted, tmp_path: Path) -> None:
    for _ in range(2):
        assert await _visit_twice(_machine(server, tmp_path), LEGACY) == 2
    assert server.sessions == 4


async def test_a_legacy_server_without_a_session_is_shared_once_that_is_known(server: Scripted, tmp_path: Path) -> None:
    server.on["initialize"] = _opens
    assert [await _visit_twice(_machine(server, tmp_path), LEGACY) for _ in range(2)] == [2, 1]
    assert server.rpcs().count("initialize") == 3


async def test_a_modern_server_is_shared_once_that_is_known(server: Scripted, tmp_path: Path) -> None:
    server.on["server/discover"] = _discovers
    assert [await _visit_twice(_machine(server, tmp_path), MODERN) for _ in range(2)] == [2, 1]
    assert server.rpcs().count("server/discover") == 3


async def test_a_server_that_got_sessions_is_not_shared_once_that_is_known(server: Scripted, tmp_path: Path) -> None:
    server.on["initialize"] = _opens
    await _visit_twice(_machine(server, tmp_path), LEGACY)
    del server.on["initialize"]
    assert await _visit_twice(_machine(server, tmp_path), LEGACY) == 2


async def test_a_server_that_asks_for_roots_is_not_shared_any_more(server: Scripted, tmp_path: Path) -> None:
    server.on["initialize"] = _opens
    calls: list[Received] = []

    async def asks(request: Received) -> None:
        calls.append(request)
        question = b'{"jsonrpc":"2.0","id":"r","method":"roots/list"}'
        await request.stream(event(question) if len(calls) == 1 else b"")
        if len(calls) == 1:
            await server.until("response")
        await request.raw(event(request.response(said("done"))))
        await request.close()

    server.on["tools/call"] = asks
    machine = _machine(server, tmp_path)
    async with machine.pool.running(), machine.client(LEGACY) as first:
        await first.play([CALL])
        (asked,) = [message for message in first.heard() if message.get("method")]
        assert asked["method"] == "roots/list"
        async with machine.client(LEGACY) as second:
            await second.play([CALL])
            assert len(machine.pool.servers) == 2
    assert await _visit_twice(_machine(server, tmp_path), LEGACY) == 2, "a later process remembers it"
