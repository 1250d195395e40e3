"""What the page shows, and where it is from: the engine, the page's own gateway, the configuration file."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from search_mcp.background import run_in_thread
from search_mcp.cli.options import Options
from search_mcp.cli.problem import Problem
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.engine.hello import Json
from search_mcp.engine.host import Host, Hosted
from search_mcp.gateway.gateway import Gateway
from search_mcp.gateway.person import OPENING
from search_mcp.model.standing import standing_of
from search_mcp.page.commands import carried_out
from search_mcp.page.standings import Row, Standings

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

T = TypeVar("T")

FRESH_SECONDS = 0.2
"""Time that the rows are used again: several streams ask in the same moment."""
EFFECT_SECONDS = 1.0
"""Longest time that the answer to an edit waits until it is in effect; an edit without a change never is."""


class PageGateway(Gateway):
    """The gateway of the page: it starts nothing by itself."""

    config: Config

    def __init__(self, *given: Any, **more: Any) -> None:
        self.looked = anyio.Event()
        """Is set when the configuration file was read again."""
        super().__init__(*given, **more)

    def reconfigure(self, config: Config) -> None:
        self.config = config
        super().reconfigure(config)

    def note_broken_edit(self, error: str | None) -> None:
        super().note_broken_edit(error)
        self.looked.set()
        self.looked = anyio.Event()


@dataclass(eq=False)
class Facts:
    """The facts about one configuration, for all views."""

    host: Host
    gateway: PageGateway
    standings: Standings
    config_path: Path
    first: Json
    """The first line of the command that asked for the page: servers are started as if that had started them."""
    tasks: "TaskGroup"
    """Runs what a view starts and does not wait for."""
    _rows: tuple[float, list[Row]] = field(default=(0.0, []))

    @property
    def program(self) -> Sequence[str]:
        """The command that starts this search-mcp, as it is written into a client's file."""
        return tuple(self.first["program"])

    def rows(self) -> list[Row]:
        """Return the servers as they stand now."""
        at, rows = self._rows
        if time.monotonic() - at > FRESH_SECONDS:
            rows = self.standings.rows()
            self._rows = time.monotonic(), rows
        return rows

    def row(self, server: str) -> Row | None:
        return next((each for each in self.rows() if each.server == server), None)

    def known(self, server: str) -> tuple[Row, ServerConfig]:
        """Return how a server stands, and its entry.

        Raises:
            Problem: it is not in the configuration any more.
        """
        row, config = self.row(server), self.gateway.servers.configs.get(server)
        if row is None or config is None:
            raise Problem(f"there is no server {server!r} in {self.config_path} any more")
        return row, config

    @property
    def notices(self) -> tuple[str, ...]:
        """What is wrong with the configuration file."""
        error = self.gateway.servers.configuration_error
        broken = f"{error}. What ran before goes on, and this notice ends with the mistake."
        return self.gateway.config.warnings if error is None else (broken,)

    @property
    def waiting(self) -> int:
        """The number of servers and addresses that wait for the user."""
        addresses = sum(len(each.gateway.state.links.waiting()) for each in self.clients)
        return sum(each.is_waiting for each in self.rows()) + addresses

    @property
    def clients(self) -> list[Hosted]:
        """The connected clients of this configuration."""
        return [each for each in self.host.clients if each.config == str(self.config_path)]

    def start(self, server: str) -> None:
        """Start a server that may run, or start it again.

        Raises:
            Problem: it may not, or there is none.
        """
        process, lease = self.standings.processes().get(server), self.gateway.leases.by_name.get(server)
        if lease is None:
            self.known(server)
            word = standing_of(self.gateway.servers.status(server)).word
            raise Problem(f"{server} cannot be started: it is {word}")
        if process is not None:
            process.supervisor.restart()
        else:
            if not lease.is_open:
                lease.open(OPENING)
            lease.restart()  # starts it now, also where only a call would
        self.forget()

    async def carry_out(self, act: Callable[[Options], object]) -> str:
        """Carry out a command that edits the configuration file; return what it prints when it is in effect here."""
        servers, before = self.gateway.servers, self.gateway.servers.configs
        edit = partial(carried_out, self.config_path, act)
        return await self.until(edit, lambda: servers.configs is not before or servers.configuration_error is not None)

    async def until(self, act: Callable[[], T], is_seen: Callable[[], bool]) -> T:
        """Change a file in a thread, and wait until the change is seen here: follow it, and look at the condition."""
        answer = await run_in_thread(act)
        with anyio.move_on_after(EFFECT_SECONDS):
            while not is_seen():
                await self.gateway.looked.wait()
        self.forget()
        return answer

    def is_past(self, row: Row) -> bool:
        """Return whether a server stands in another way than it did."""
        self.forget()
        return self.row(row.server) != row

    def forget(self) -> None:
        """Look again at the next question, because something was changed."""
        self._rows = 0.0, []
