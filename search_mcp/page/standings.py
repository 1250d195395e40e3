"""How each server stands, for the page: of a running process if there is one, else what is remembered.

Several clients may have a process each of the same server; the page shows the one that tells most. Nothing is started.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import anyio
import anyio.lowlevel

from search_mcp.cli import command_lines
from search_mcp.cli.counting import summary
from search_mcp.config.schema import ServerConfig
from search_mcp.engine.host import Host, Hosted
from search_mcp.gateway.gateway import Gateway
from search_mcp.gateway.person import OPENING
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import ListChanged, ServerList, Status
from search_mcp.model.standing import Standing, standing_of
from search_mcp.pool.lease import Lease
from search_mcp.pool.pooled_server import PooledServer
from search_mcp.times import iso
from search_mcp.wire.structs import replace

_MOST_TELLING = (
    *(State.READY, State.RESTARTING, State.STARTING, State.NEEDS_LOGIN, State.BACKING_OFF, State.FAILED),
    *(State.STOPPING, State.STOPPED),
)
"""Of several processes of one server, the first of these states is shown."""
_WITH_PROCESS = frozenset({State.READY, State.STARTING, State.RESTARTING})


@dataclass(frozen=True)
class Row:
    """One server, as the page shows it."""

    server: str
    standing: Standing
    state: State
    since: str | None
    tools: int | None
    runs: str
    """Its command or address, without secrets."""
    clients: tuple[str, ...]
    """The connected clients that use it."""
    sharing: str
    is_on: bool
    """Whether it is enabled in the configuration."""
    differences: int
    """Definitions that changed or are new and not accepted."""

    @property
    def id(self) -> str:
        """The id of its element, which a name with any characters may not be."""
        return f"s-{hashlib.sha256(self.server.encode()).hexdigest()[:8]}"

    @property
    def runs_now(self) -> bool:
        return self.state in _WITH_PROCESS

    @property
    def is_waiting(self) -> bool:
        """Whether the user has something to decide or to do about it."""
        return self.is_on and (self.state is State.HELD or self.needs_login or bool(self.differences))

    @property
    def needs_login(self) -> bool:
        return self.standing.word == State.NEEDS_LOGIN.value


class Standings:
    """The servers of the page's configuration, as they stand now."""

    def __init__(self, host: Host, gateway: Gateway) -> None:
        self._host, self._gateway = host, gateway
        self._taken: dict[tuple[str, Kind], ListChanged] = {}  # the lists of processes that the catalogue has
        self._version = 0  # of the catalogue, when it had got them
        self._recalled: dict[str, Lease] = {}  # the leases whose cached lists the catalogue has
        self._counts: dict[str, tuple[ServerConfig, ServerList | None, int | None]] = {}

    async def remember(self) -> None:
        """Read what is cached of all servers, one after the other: a long list takes some milliseconds."""
        for lease in list(self._gateway.leases):
            self._recall(lease)
            await anyio.lowlevel.checkpoint()

    def rows(self) -> list[Row]:
        """Return the servers in the order of the configuration."""
        for lease in self._gateway.leases:
            self._recall(lease)
        processes = self.processes()
        self._take_all_lists(processes.values())
        return [self._row(config, processes.get(name)) for name, config in self._gateway.servers.configs.items()]

    def processes(self) -> dict[str, PooledServer]:
        """Return the most telling process of each server that has one."""
        found: dict[str, PooledServer] = {}
        for each in self._host.pool.servers:
            known = found.get(each.config.name)
            if not each.is_ending and (known is None or _rank(each) <= _rank(known)):
                found[each.config.name] = each
        configs = self._gateway.servers.configs
        return {name: each for name, each in found.items() if name in configs and configs[name].may_run}

    def _recall(self, lease: Lease) -> None:
        """Read what is cached of a server, if its entry is new or edited."""
        if self._recalled.get(lease.name) is not lease:
            self._recalled[lease.name] = lease
            if not lease.is_open:
                lease.recall(OPENING)

    def _take_all_lists(self, processes: Iterable[PooledServer]) -> None:
        """Give the catalogue the lists of all processes; again, if what is cached may have taken their place."""
        catalog = self._gateway.servers.catalog
        if catalog.version != self._version:
            self._taken.clear()
        for news in (each for process in processes for each in process.lists):  # other clients may have started it
            if self._taken.get((news.server, news.kind)) is not news:
                self._taken[news.server, news.kind] = news
                catalog.put(news.server, news.kind, news.page)
        self._version = catalog.version

    def _row(self, config: ServerConfig, process: PooledServer | None) -> Row:
        status = self._status(config.name, process)
        standing, servers = standing_of(status), self._gateway.servers
        catalog, is_known = servers.catalog, config.may_run
        differing = [
            len(names(config.name, kind)) if is_known else 0
            for kind in (Kind.TOOLS, Kind.PROMPTS)
            for names in (catalog.changed, catalog.new)
        ]
        return Row(
            config.name,
            standing,
            status.state,
            iso(status.since),
            self._count(config) if is_known else None,
            command_lines.short(config),
            tuple(each.name for each in self.users(config.name)) if status.state in _WITH_PROCESS else (),
            status.sharing or "",
            config.enabled,
            sum(differing) + status.is_about_changed,
        )

    def _count(self, config: ServerConfig) -> int | None:
        """Return the number of tools that are shown; counted once for each list, which may have thousands."""
        catalog = self._gateway.servers.catalog
        page = catalog.pages.get((config.name, Kind.TOOLS))
        known = self._counts.get(config.name)
        if known is None or known[0] is not config or known[1] is not page:
            known = self._counts[config.name] = (config, page, catalog.count(config.name))
        return known[2]

    def status(self, server: str) -> Status:
        """Return the status of the most telling process of a server, else what is remembered."""
        return self._status(server, self.processes().get(server))

    def _status(self, server: str, process: PooledServer | None) -> Status:
        if process is None:
            return self._gateway.servers.status(server)
        return replace(process.supervisor.status, sharing=self._host.pool.describe_sharing(process))

    def users(self, server: str) -> Iterable[Hosted]:
        """Return the connected clients that use a server's processes."""
        used = [each for each in self._host.pool.servers if each.config.name == server]
        served = {id(tenant.client) for each in used for tenant in each.tenants}
        return [each for each in self._host.clients if id(each.gateway) in served]

    def used_by(self, client: Hosted) -> list[str]:
        """Return the names of the servers of which a connected client uses a process."""
        servers = self._host.pool.servers
        return [each.config.name for each in servers if any(tenant.client is client.gateway for tenant in each.tenants)]


def _rank(process: PooledServer) -> int:
    state = process.supervisor.status.state
    return _MOST_TELLING.index(state) if state in _MOST_TELLING else len(_MOST_TELLING)


def summed_up(rows: Sequence[Row]) -> str:
    """Count the servers by their states in words, and their tools."""
    return summary([each.standing.word for each in rows], sum(each.tools or 0 for each in rows))
