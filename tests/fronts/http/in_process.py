"""The front over HTTP in the process of a test, and single requests to it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio

from fronts.http.serving import BOTH, LEGACY
from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.schema import Config, Settings
from search_mcp.fronts.http.access import Places, Token
from search_mcp.fronts.http.clients import Clients
from search_mcp.fronts.http.front import HttpFront
from search_mcp.gateway.gateway import Gateway
from search_mcp.pool.pool import Pool

LIMIT = 1 << 20
"""The most bytes of a message."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}},
}


def new_gateway(_token: Token) -> Gateway:
    """Return a gateway without servers."""
    return Gateway(Config((), Settings(), ()), Dependencies(variables={}, home=""), Pool())


@asynccontextmanager
async def running(make_gateway: Callable[[Token], Gateway] = new_gateway) -> AsyncIterator[Clients]:
    """Run clients."""
    clients = Clients(make_gateway, LIMIT)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clients.run)
        await anyio.wait_all_tasks_blocked()
        yield clients
        tasks.cancel_scope.cancel()


def front_of(
    clients: Clients, tokens: Callable[[], Sequence[Token]] | None = None, origins: Sequence[str] = ()
) -> HttpFront:
    return HttpFront(clients, tokens, Places.of((), origins))


class Exchange:
    """A request, whose body may arrive later, and what was sent in return."""

    def __init__(self, method: str, message: object = None, **headers: str) -> None:
        kinds = {"host": "localhost", "accept": BOTH, "content-type": "application/json"}
        named = {**kinds, **{name.replace("_", "-"): value for name, value in headers.items()}}
        pairs = [(name.encode(), value.encode()) for name, value in named.items()]
        self.scope = {"type": "http", "method": method, "path": "/mcp", "headers": pairs}
        self.body = b"" if message is None else json.dumps(message).encode()
        self.arrived, self.is_awaited = asyncio.Event(), asyncio.Event()
        self.sent: list[dict[str, Any]] = []

    async def by(self, front: HttpFront) -> "Exchange":
        """Be answered; the whole body is there."""
        self.arrived.set()
        await front(self.scope, self.receive, self.send)
        return self

    async def receive(self) -> dict[str, Any]:
        self.is_awaited.set()
        await self.arrived.wait()
        if not self.body:
            await anyio.sleep_forever()  # the client waits for the end
        body, self.body = self.body, b""
        return {"type": "http.request", "body": body}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        status: int = self.sent[0]["status"]
        return status

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def text(self) -> str:
        return b"".join(each["body"] for each in self.sent[1:]).decode()
