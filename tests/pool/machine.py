"""Clients in this process that share real servers: one pool, and a gateway for each client."""

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from real.conversation import INFO, Era

from search_mcp.backends.cache import CatalogCache
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.process.launching import Spawner
from search_mcp.config.schema import Config, ServerConfig, Settings
from search_mcp.fronts.connection import Front
from search_mcp.gateway.gateway import Gateway
from search_mcp.pool.pool import Pool
from search_mcp.wire.structs import replace

SECONDS = 120
Message = dict[str, Any]
Script = Sequence[tuple[str, Message]]


class Client:
    """A client of a gateway in this process."""

    def __init__(self, era: Era, gateway: Gateway) -> None:
        self._era = era
        self.lines: list[bytes] = []
        self.gives: dict[str, Message] = {}
        """Its answers to questions, by method; it refuses others."""
        self._was_asked: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)
        self._answers: dict[int, asyncio.Future[bytes]] = {}
        self._front = Front(gateway, self._hear, 64 << 20)
        self._ids = 0

    def _hear(self, line: bytes) -> None:
        self.lines.append(line)
        message = json.loads(line)
        if "method" not in message:
            self._answers.pop(message["id"]).set_result(line)
        elif "id" in message:
            given = self.gives.get(message["method"])
            answer = {"error": {"code": -32601, "message": "not here"}} if given is None else {"result": given}
            self.says({"id": message["id"], **answer})
            self._was_asked[message["method"]].set()

    async def until_asked(self, method: str) -> None:
        """Wait for the first question of this method."""
        with anyio.fail_after(SECONDS):
            await self._was_asked[method].wait()

    def heard(self) -> list[Message]:
        """Return all messages that it received."""
        return [json.loads(line) for line in self.lines]

    def says(self, message: Message) -> None:
        self._front.peer.feed(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n")

    async def ask(self, method: str, params: Message) -> bytes:
        """Send a request; return the line of its answer."""
        self._ids += 1
        answer = self._answers[self._ids] = asyncio.get_running_loop().create_future()
        meta = self._era.meta()
        self.says({"id": self._ids, "method": method, "params": {**params, **({"_meta": meta} if meta else {})}})
        with anyio.fail_after(SECONDS):
            line: bytes = await answer
        return line

    async def play(self, script: Script) -> list[bytes]:
        """Open, then play a script; return the answers."""
        answers = []
        if not self._era.meta():
            opening = {
                "protocolVersion": self._era.revision,
                "capabilities": self._era.capabilities,
                "clientInfo": INFO,
            }
            answers.append(await self.ask("initialize", opening))
            self.says({"method": "notifications/initialized"})
        answers += [await self.ask(method, params) for method, params in script]
        return answers


class Machine:
    """The pool of one engine process, and its clients."""

    def __init__(self, server: ServerConfig, cache: Path, *, is_shared: bool = True) -> None:
        self._config = Config((server,), Settings(first_list_seconds=60.0), ())
        self._folder = str(cache)
        self.pool = Pool(is_shared=is_shared)
        variables = dict(os.environ)
        self._dependencies = Dependencies(spawn=Spawner(), cache=CatalogCache(cache), variables=variables)

    @asynccontextmanager
    async def client(self, era: Era, folder: str | None = None, **variables: str) -> AsyncIterator[Client]:
        """Connect a client that was started in a folder, with these variables besides those of the tests."""
        world = replace(self._dependencies, folder=folder, variables={**self._dependencies.variables, **variables})
        gateway = Gateway(self._config, world, self.pool, shared_folder=self._folder)
        async with gateway.running():
            yield Client(era, gateway)


def filled(script: Script, placeholder: str, value: Path) -> Script:
    """Replace a placeholder by a path, which has another name in every run."""
    whole: Script = json.loads(json.dumps(script).replace(placeholder, value.as_posix()))
    return whole


@dataclass(frozen=True)
class Comparison:
    """What clients got: each answer as its line."""

    alone: list[bytes]
    """A client that is the only one."""
    together: list[list[bytes]]
    """Two clients at the same time, and then a third."""
    processes: int
    """How many processes of the server the two had."""


async def compare(
    server: ServerConfig, script: Script, era: Era, cache: Path, folders: Sequence[str | None] = (None, None)
) -> Comparison:
    """Play a script by one client alone, by two at the same time, each in its folder, and by a third after them."""
    for _ in range(2):  # the first fills the cache, so that all others open alike
        machine = Machine(server, cache)
        async with machine.pool.running(), machine.client(era, folders[0]) as client:
            alone = await client.play(script)
    machine = Machine(server, cache)
    together: list[list[bytes]] = []

    async def visit(folder: str | None) -> None:
        async with machine.client(era, folder) as client:
            together.append(await client.play(script))
            played.release()
            await over.wait()

    played, over = anyio.Semaphore(0), anyio.Event()
    async with machine.pool.running(), anyio.create_task_group() as tasks:
        for folder in folders:
            tasks.start_soon(visit, folder)
        for _ in range(2):
            await played.acquire()
        processes = len(machine.pool.servers)
        async with machine.client(era, folders[0]) as client:
            together.append(await client.play(script))
        over.set()
    return Comparison(alone, together, processes)
