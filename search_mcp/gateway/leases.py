"""One client's use of each of its servers: opened with the client, and replaced where an edit changes the entry.

Decides which leases an edit ends. A new lease gets the client's log level, and the waiting calls of the old lease.
"""

import logging
from collections.abc import Callable, Iterator

from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.model.servers import News, Opening
from search_mcp.pool.lease import Lease
from search_mcp.pool.pool import Pool
from search_mcp.pool.tenant import Client
from search_mcp.wire.structs import replace

log = logging.getLogger(__name__)


class Leases:
    """The leases of one client, in the order of the configuration."""

    def __init__(
        self,
        pool: Pool,
        dependencies: Dependencies,
        client: Client,
        publish: Callable[[News], None],
        shared_folder: str | None,
    ) -> None:
        """Servers whose folder does not matter start in `shared_folder`, if there is one."""
        self._pool, self._dependencies, self._shared_folder = pool, dependencies, shared_folder
        self._client, self._publish = client, publish
        self.by_name: dict[str, Lease] = {}
        self._ended: dict[str, Lease] = {}  # by an edit; another edit may restore their entries
        self._opening: Opening | None = None
        self._log_level: str | None = None
        self._is_paused = False

    def __iter__(self) -> Iterator[Lease]:
        return iter(self.by_name.values())

    # The configuration

    def configure(self, config: Config) -> None:
        """End the leases that an edit removes or replaces, and make new ones, which `open_new` opens."""
        before, self.by_name = self.by_name, {}
        for server in config.servers:
            if not server.may_run:
                continue
            lease = before.get(server.name)
            if lease is not None and lease.is_started_like(server):
                lease.adopt(server)
                self.by_name[server.name] = before.pop(server.name)
            else:
                self.by_name[server.name] = self._make(server)
        for name, lease in before.items():
            log.info("= %s: stopped, because the configuration changed", name)
            lease.retire()
            self._ended[name] = lease

    def _make(self, server: ServerConfig) -> Lease:
        dependencies = self._dependencies
        if self._shared_folder is not None and self._pool.ignores_folder(server):
            dependencies = replace(dependencies, folder=self._shared_folder)
        lease = Lease(self._pool, server, dependencies, self._client, self._publish)
        if self._log_level is not None:
            lease.set_log_level(self._log_level)
        if self._is_paused:
            lease.pause_reading()
        return lease

    def open_new(self) -> None:
        """Open the new leases, which take over their predecessors' waiting calls; refuse all other waiting calls."""
        for lease in self:
            if self._opening is not None and not lease.is_open:
                lease.open(self._opening, self._ended.pop(lease.name, None))
        for lease in self._ended.values():
            lease.refuse_waiting()

    # The client

    def recall(self, opening: Opening) -> None:
        """Publish what is cached of the servers for such a client, unless they were opened; start nothing."""
        if self._opening is None:
            for lease in self:
                lease.recall(opening)

    def open(self, opening: Opening) -> None:
        """Open the servers for the client."""
        self._opening = opening
        for lease in self:
            lease.open(opening)

    def set_log_level(self, level: str) -> None:
        self._log_level = level
        for lease in self:
            lease.set_log_level(level)

    def roots_changed(self) -> None:
        for lease in self:
            lease.roots_changed()

    def pause_reading(self) -> None:
        """Pause reading from all servers, including those that an edit adds: the client is not reading."""
        self._is_paused = True
        for lease in self:
            lease.pause_reading()

    def resume_reading(self) -> None:
        self._is_paused = False
        for lease in self:
            lease.resume_reading()

    def leave(self) -> None:
        """Leave all servers: the client is gone."""
        for lease in self:
            lease.leave()

    # The accepted definitions

    async def look_at_trust(self) -> None:
        """Compare the lists again if the user has accepted definitions."""
        for lease in self:
            await lease.look_at_trust()

    async def compare_recalled(self) -> None:
        """Compare the cached lists with the accepted definitions; no server has to run."""
        for lease in self:
            await lease.compare_recalled()
