"""The page of one engine: its configuration, its address, and the tasks that keep it up to date."""

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from search_mcp.background import run_in_thread
from search_mcp.engine.exhaustion import end_if_exhausted
from search_mcp.engine.hello import Json
from search_mcp.engine.host import Host, Opened, cached, open_configuration
from search_mcp.fronts.asgi import AsgiHost, listening_at
from search_mcp.gateway.reloading import follow_edits
from search_mcp.page.app import application
from search_mcp.page.door import Door
from search_mcp.page.facts import Facts, PageGateway
from search_mcp.page.standings import Standings
from search_mcp.page.web import read_files
from search_mcp.wire.structs import replace

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

log = logging.getLogger(__name__)

ADDRESS = "127.0.0.1"
"""Where the page listens: never on an address that another machine reaches."""
BURST_SECONDS = 0.05
"""Delay between an edit and reading the file: the page starts nothing, and reads it again if it was not whole."""


class Page:
    """The page, which is opened with the first browser."""

    def __init__(self, host: Host, first: Json, tasks: "TaskGroup") -> None:
        """`first` is the first line of the command that asks for the page, `tasks` runs the page."""
        self._host, self._first, self._tasks = host, first, tasks
        self._opening = anyio.Lock()
        self._door: Door | None = None

    async def invite(self) -> Json:
        """Return the address of the page, and a token that lets one browser in.

        Raises:
            ConfigError: the configuration cannot be read.
            OSError: the page cannot listen.
        """
        async with self._opening:
            if self._door is None:
                self._door = await self._open()
        return {"address": self._door.address, "token": self._door.new_token()}

    async def _open(self) -> Door:
        host, first, variables = self._host, self._first, self._first["variables"]
        opened: Opened = await run_in_thread(partial(open_configuration, first, variables))
        config, path = opened.config, opened.follow.path
        host.log_to.apply(config)
        dependencies = host.dependencies_for(config, first)
        cache = await cached(config.servers, dependencies)
        gateway = PageGateway(config, replace(dependencies, cache=cache), host.pool, shared_folder=str(path.parent))
        following = opened.follow, gateway, config, host.log_to, host.watches, variables, None, BURST_SECONDS
        follow = partial(follow_edits, *following)
        files = await run_in_thread(read_files)
        listening = listening_at(ADDRESS)
        door = Door(f"{ADDRESS}:{listening.getsockname()[1]}", dependencies.clock)

        async def run() -> None:
            async with gateway.running(), anyio.create_task_group() as tasks:
                standings = Standings(host, gateway)
                await standings.remember()
                facts = Facts(host, gateway, standings, path, first, tasks)
                tasks.start_soon(follow)
                await AsgiHost(application(facts, door, files)).run_on(listening)

        self._tasks.start_soon(self._guarded, run)
        log.info("= the page is open at %s", door.origin)
        return door

    async def _guarded(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await run()
        except Exception as exc:  # a bug of the page must not end the clients' sessions
            end_if_exhausted(exc)
            log.exception("! bug in the page; `search-mcp ui` opens it again")
        finally:
            self._door = None
