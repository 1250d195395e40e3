"""The servers of a process, and which clients get the same one.

A client gets a running server if that is shared and would be started in the same way for it. Otherwise its own is
started; whether other clients may use it is decided then, once.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio

from search_mcp import logs
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.equal_lists import EqualLists
from search_mcp.catalog.in_common import InCommon
from search_mcp.config.schema import ServerConfig
from search_mcp.model.servers import Opening
from search_mcp.pool import sharing
from search_mcp.pool.pooled_server import PooledServer
from search_mcp.wire.structs import replace

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from search_mcp.pool.known_servers import KnownServer


def later(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    """Call a function after some seconds; return what cancels that."""
    return asyncio.get_running_loop().call_later(seconds, act).cancel


class Pool:
    """All servers of a process, and the task group that runs them."""

    def __init__(self, *, is_shared: bool = False) -> None:
        """`is_shared`: whether several clients may use the pool."""
        self.later, self.is_shared = later, is_shared
        self.in_common = InCommon()
        self._lists = EqualLists()
        self._servers: dict[PooledServer, None] = {}  # those that are started, or will be soon
        self._tasks: TaskGroup | None = None
        self._secret = os.urandom(sharing.KEY_BYTES)

    @property
    def servers(self) -> list[PooledServer]:
        """The servers whose tasks run, in the order of their start."""
        return list(self._servers)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the servers' tasks; at the end stop all servers at the same time."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for server in self._servers:
                tasks.start_soon(self._run, server)
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def _run(self, server: PooledServer) -> None:
        logs.REQUEST.set("")  # a server outlives the request that it was started for
        try:
            await server.run()
        finally:
            del self._servers[server]

    def terminate(self) -> None:
        """Ask all servers to end now; none is started again."""
        for server in self._servers:
            server.supervisor.terminate()

    def abort(self) -> None:
        """End all servers by force."""
        for server in self._servers:
            server.supervisor.abort()

    # From the leases

    def make(self, config: ServerConfig, dependencies: Dependencies) -> PooledServer:
        """Make a server of an entry; it is not started."""
        return PooledServer(config, self._known(config), replace(dependencies, lists=self._lists), self.later)

    def _known(self, config: ServerConfig) -> "KnownServer | None":
        if not self.is_shared:
            return None
        from search_mcp.pool import known_servers  # loaded only where clients share servers

        return known_servers.find(config)

    def ignores_folder(self, config: ServerConfig) -> bool:
        """Return whether the folder does not matter in which the server of an entry starts."""
        if config.share is not None:
            return bool(config.share)
        known = self._known(config)
        return known is not None and not known.folder

    def adapted(self, server: PooledServer, opening: Opening) -> Opening:
        """Return how a server is opened for a client, as far as is known before its start."""
        return server.adapted(opening) if self.is_shared else opening

    def place(self, own: PooledServer, opening: Opening) -> PooledServer:
        """Return the server for such a client: a running one that is shared, or its own, which is started."""
        if self.is_shared:
            key = sharing.launch_key(own.config, own.known, own.dependencies, self._secret)
            found = next((each for each in self._servers if key is not None and each.key == key), None)
            if found is not None:
                return found
            opening = own.adapted(opening)
            own.decide(key)
        own.open(opening)
        self._servers[own] = None
        if self._tasks is not None:  # after the answer to the client that needs it was written
            self.later(0, partial(self._launch, own))
        return own

    def _launch(self, server: PooledServer) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(self._run, server)

    def describe_sharing(self, server: PooledServer) -> str | None:
        """Say whether clients share a server, and why; `None` while that is unknown, and where clients share none."""
        if server.decided is None:
            return None
        # Of those in use; if this one is not, of the others.
        processes = [
            each
            for each in self._servers
            if each.config.name == server.config.name and not each.is_ending
            if bool(each.clients) == bool(server.clients)
        ]
        shared = sum(each.is_shared for each in processes)
        return sharing.describe(server.decided, server.judge(), server.clients, len(processes), shared)
