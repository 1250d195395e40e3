"""The servers of all aggregators in a process: each has a lease of each of its servers, and leases may share one.

Decides which leases get the same server when a client opens, by the key of its start and by what is known of it. A
server that turns out to keep state stays with one of its clients, and each other client gets its own (`pooled_server`).
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio

from search_mcp.backends.equal_lists import EqualLists
from search_mcp.catalog.in_common import InCommon
from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.model.calls import CallLater
from search_mcp.model.servers import Opening
from search_mcp.pool import sharing
from search_mcp.pool.pooled_server import PooledServer, Tenant
from search_mcp.pool.sharing import Verdict

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

LINGER_SECONDS = 300.0
"""Time that a shared server goes on running without a client: as long as a lazy one may be idle."""


class Pool:
    """All servers of a process, and the task group that runs them."""

    def __init__(self, later: CallLater, linger_seconds: float = LINGER_SECONDS) -> None:
        self.later, self.linger_seconds = later, linger_seconds
        self.lists = EqualLists()
        self.in_common = InCommon()
        self._by_key: dict[bytes, PooledServer] = {}  # those that more clients may get
        self._running: dict[PooledServer, None] = {}
        self._tasks: TaskGroup | None = None
        self._secret = os.urandom(sharing.KEY_BYTES)

    @property
    def servers(self) -> list[PooledServer]:
        """The servers whose tasks run, in the order of their start."""
        return list(self._running)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the servers' tasks; at the end stop all servers at the same time."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for server in self._running:
                server.is_started = True
                tasks.start_soon(server.run)
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    def terminate(self) -> None:
        """Ask all servers to end now; none is started again."""
        for server in self._running:
            server.running.terminate()

    def abort(self) -> None:
        """End all servers by force."""
        for server in self._running:
            server.running.abort()

    # From the leases

    def place(self, lease: Tenant, opening: Opening) -> None:
        """Give a lease a running server for such a client: one that others use, or its own, which is started."""
        own = lease.server
        wanted = own.opening_for(opening)
        key: bytes | None = None
        if lease.config.share is not False:
            key = sharing.launch_key(lease.config, lease.dependencies, wanted, self._secret)
        found = self._by_key.get(key) if key is not None else None
        if found is not None:
            lease.move(found)
            return
        own.supervisor.recall(wanted)
        self._learn(own)
        own.judge()
        if key is not None and own.sharing.verdict is not Verdict.PRIVATE:
            self._by_key[key], own.key, own.opening = own, key, wanted
        elif lease.config.unfilled is not None and lease.config.share is not False:
            own.is_placed_later = own.sharing.verdict is not Verdict.PRIVATE
        own.supervisor.open(wanted)
        self.start(own)

    def place_filled(self, server: PooledServer, filled: ServerConfig) -> bool:
        """Place a server whose secrets are known now; return whether its clients use another one instead.

        Secrets are read when the server is about to start, not when the client opens, so the key is known only then.
        They may be other ones at a later start.
        """
        if not server.leases or not server.is_placed_later or server.sharing.verdict is Verdict.PRIVATE:
            return False
        lease, *others = server.leases
        assert lease.opening is not None
        wanted = server.opening_for(lease.opening)
        key = sharing.launch_key(filled, lease.dependencies, wanted, self._secret)
        if key is None or key == server.key:
            return False
        self.close_to_others(server)
        found = self._by_key.get(key)
        if found is None:
            self._by_key[key], server.key, server.opening = server, key, wanted
        if found is None or others:
            return False
        lease.join(found)
        server.end()
        return True

    def start(self, server: PooledServer) -> None:
        """Start the task of a server, after the answer to the client that needs it was written."""
        self._running[server] = None
        if self._tasks is not None:
            server.is_started = True
            self.later(0, partial(self._launch, server))

    def _launch(self, server: PooledServer) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(server.run)
        else:  # the pool ended first
            server.forget()

    def close_to_others(self, server: PooledServer) -> None:
        """Give the server to no more clients."""
        if server.key is not None and self._by_key.get(server.key) is server:
            del self._by_key[server.key]
        server.key = None

    def forget(self, server: PooledServer) -> None:
        """Forget a server that ended."""
        self.close_to_others(server)
        self._running.pop(server, None)

    def note_private(self, server: PooledServer, why: str) -> None:
        """Give each client a process of this server of its own from now on."""
        for each in self._processes_of(server):
            each.become_private(why)

    def _learn(self, server: PooledServer) -> None:
        """Apply what was learned of other processes of a server; it may not be written to their file yet."""
        reasons = (each.supervisor.sharing.private_because for each in self._processes_of(server))
        if why := next(filter(None, reasons), None):
            server.supervisor.note_private(why)

    def shared_processes_of(self, server: PooledServer) -> list[PooledServer]:
        """Return the processes of an entry that clients may share: those in use; if this one is not, the others."""
        return [
            each
            for each in self._running
            if each.config.name == server.config.name and each.key is not None
            if bool(each.clients) == bool(server.clients)
            if each.sharing.verdict is Verdict.SHARED and not each.is_ending
        ]

    def _processes_of(self, server: PooledServer) -> list[PooledServer]:
        """Return the processes of one entry, of clients with any folders, variables and capabilities."""
        entry = server.config.name, identity.cached(server.config)
        return [each for each in self._running if (each.config.name, identity.cached(each.config)) == entry]
