"""The aggregator: the configuration, the backends and their tasks, for one client.

Decides which backends exist: at the start, and after an edit of the configuration, which starts, stops or restarts only
the servers it changed. The backends may be leases of servers that other clients use, too.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.catalog.profiles import Profile
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.folders import model_folder, results_folder
from search_mcp.gateway.problems import ProblemLog, log_contested
from search_mcp.gateway.servers import Servers
from search_mcp.gateway.session import Session
from search_mcp.model.servers import ListChanged, News, Opening, StateChanged, TaskChanged
from search_mcp.pool.lease import Lease
from search_mcp.pool.pool import Pool
from search_mcp.wire.structs import replace

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from search_mcp.own_tools.meaning_source import MeaningSource
    from search_mcp.results.kept_results import KeptResults
    from search_mcp.semantic.meanings import Meanings
    from search_mcp.usage.queue import UsageQueue

log = logging.getLogger(__name__)


class Aggregator:
    """All backends of one configuration, for one client."""

    def __init__(
        self,
        config: Config,
        dependencies: Dependencies,
        pool: Pool,
        profile: Profile | None = None,
        *,
        results: "ProcessResults | None" = None,
        shared_folder: str | None = None,
    ) -> None:
        """`profile` is the one that the client was started with, if any.

        Without `results`, no result is shortened. Entries with `"share": true` start in `shared_folder`.
        """
        self._dependencies, self._pool, self._shared_folder = dependencies, pool, shared_folder
        self._results = results
        self.file_queue = dependencies.file_queue
        self._meaning_source: MeaningSource | None = None
        self.servers = Servers(dependencies.clock, pool.in_common, self._meanings)
        self._problems = ProblemLog(self.servers, pool.later)
        self._opening: Opening | None = None
        self._log_level: str | None = None
        self._leases: dict[str, Lease] = {}
        self._retired: dict[str, Lease] = {}  # ended by an edit; their entries may come back
        self._usage_queue: UsageQueue | None = None
        self._tasks: TaskGroup | None = None
        self._paused = False
        self.session = Session(self, profile, pool.later)
        self._put_in_place(config)
        self._on_change()

    @property
    def backends(self) -> list[Lease]:
        """The backends there are, in the order of the configuration."""
        return list(self._leases.values())

    @property
    def kept_results(self) -> "KeptResults | None":
        """The files of shortened results, loaded with the first limited call; `None` in commands."""
        return self._results.load() if self._results is not None else None

    # The client

    @property
    def usage_queue(self) -> "UsageQueue | None":
        """The record of tool calls, which is loaded with the first of them; `None` if none are recorded."""
        there, path = self._dependencies, self._dependencies.usage_file
        if self._usage_queue is None and path is not None:
            from search_mcp.usage.queue import UsageQueue

            self._usage_queue = UsageQueue(path, there.file_queue, self._pool.later, there.clock, there.wall_clock)
        return self._usage_queue

    def _finish_usage(self) -> None:
        """Have the last tool calls recorded."""
        self.session.finish_usage()
        if self._usage_queue is not None:
            self._usage_queue.flush()

    def is_task_of_another(self, server: str, task: str) -> bool:
        """Return whether another client of a server has a task, by the server's own id."""
        return server in self._leases and self._leases[server].is_task_of_another(task)

    def is_alone(self, server: str) -> bool:
        """Return whether a server has, and had, no other client."""
        return server not in self._leases or self._leases[server].was_alone

    def recall(self, opening: Opening) -> None:
        """Publish what is remembered of the backends for such a client, unless they were opened; start nothing."""
        if self._opening is None:
            for backend in self.backends:
                backend.recall(opening)

    def open(self, opening: Opening) -> None:
        """Open the backends for the client."""
        self._opening = opening
        for backend in self.backends:
            backend.open(opening)

    def set_log_level(self, level: str) -> None:
        self._log_level = level
        for backend in self.backends:
            backend.set_log_level(level)

    def roots_changed(self) -> None:
        """Tell the backends that the client's roots changed."""
        for backend in self.backends:
            backend.roots_changed()

    def tell(self, news: News) -> None:
        """Record a backend's news, and pass it to the client if it is meant for it."""
        if isinstance(news, ListChanged):
            self.session.on_list(news)
            self.servers.catalog.put(news.server, news.kind, news.page)
        # "The notification includes the full task object", with its result. In a notification of a task that no client
        # follows, a server could mention URIs without having been called.
        resources = self.servers.resources
        if isinstance(news, TaskChanged) and news.is_followed and resources.note_task(news.server, news.params):
            log_contested(resources, news.server)
        if isinstance(news, ListChanged | StateChanged):
            self._on_change()
        else:
            self.session.on_news(news)

    def _on_change(self) -> None:
        self.session.on_change()
        self._problems.on_change()

    def note_broken_edit(self, error: str | None) -> None:
        """Have `list_servers` say why an edit of the configuration has no effect; `None` once it has."""
        self.servers.configuration_error = error

    # Backends

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve the client; at the end, give up all backends."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                for lease in self._leases.values():
                    lease.leave()
                tasks.cancel_scope.cancel()
                self.session.state.forget_results()
                self.end_meanings()
        self._finish_usage()

    def _meanings(self) -> "Meanings | None":
        """Return the meanings of queries as the configuration has it now; `None` for a search by words alone."""
        if self._meaning_source is None:
            semantic = self._config.settings.search.semantic
            if semantic == "off" or (semantic is None and not (model_folder() / "model.json").is_file()):
                return None
            from search_mcp.own_tools.meaning_source import MeaningSource

            pool = self._pool
            self._meaning_source = MeaningSource(
                pool.in_common.meanings, pool.later, self._dependencies, self._start_soon
            )
        return self._meaning_source.of(self._config)

    def _start_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        if self._tasks is None:
            return False
        self._tasks.start_soon(work)
        return True

    @property
    def meaning_problem(self) -> str:
        """The reason why queries have no meaning now; empty if there is none, or none is known."""
        return self._meaning_source.problem if self._meaning_source is not None else ""

    def end_meanings(self) -> None:
        """End the process that makes vectors, unless another engine uses it."""
        if self._meaning_source is not None:
            self._meaning_source.end()

    async def prepare_meanings(self) -> None:
        """Read the secrets of the address that makes vectors, for a command, which runs no tasks."""
        if self._meanings() is not None and self._meaning_source is not None:
            address = self._config.embeddings
            if address is not None and address.unfilled is not None:
                await self._meaning_source.fill(address)

    def reconfigure(self, config: Config) -> None:
        """Apply an edited configuration; calls of servers that it does not change go on."""
        before = dict(self._leases)
        for name, lease in self._put_in_place(config).items():
            log.info("= %s: stopped, because the configuration changed", name)
            lease.retire()
            self._retired[name] = lease
        for name, lease in self._leases.items():
            if before.get(name) is not lease and self._opening is not None:
                lease.open(self._opening, self._retired.pop(name, None))
        for lease in self._retired.values():
            lease.refuse_waiting()
        self._on_change()

    def _put_in_place(self, config: Config) -> dict[str, Lease]:
        """Make backends for new entries and for those started differently; return the backends to be ended."""
        self._config = config
        before, self._leases = self._leases, {}
        for server in config.servers:
            if not server.may_run:
                continue
            lease = before.get(server.name)
            if lease is not None and lease.is_started_like(server):
                lease.adopt(server)
                self._leases[server.name] = before.pop(server.name)
            else:
                self._leases[server.name] = self._lease(server)
        self.servers.configure(config, self._leases)
        self.session.configure()
        if self._meaning_source is not None:
            self._meaning_source.of(config)
        return before

    def _lease(self, server: ServerConfig) -> Lease:
        dependencies = self._dependencies
        if server.share and self._shared_folder is not None:
            dependencies = replace(dependencies, folder=self._shared_folder)
        lease = Lease(self._pool, server, dependencies, self.session, self.tell)
        if self._log_level is not None:
            lease.set_log_level(self._log_level)
        if self._paused:
            lease.pause_reading()
        return lease

    async def look_at_trust(self) -> None:
        """Read again what the user has accepted."""
        for backend in self.backends:
            await backend.look_at_trust()

    async def compare_recalled(self) -> None:
        """Compare the remembered lists of the backends with the accepted ones; no backend has to run."""
        for backend in self.backends:
            await backend.compare_recalled()

    def tidy(self) -> None:
        """Delete remembered lists that were not used for months, and results that killed processes left.

        May be called in any thread.
        """
        if self._dependencies.cache is not None:
            self._dependencies.cache.prune(self._dependencies.wall_clock())
        if self._results is not None and (folder := results_folder()).is_dir():
            from search_mcp.results.kept_results import KeptFiles

            KeptFiles(folder).sweep()

    def pause_reading(self) -> None:
        """Pause reading from all backends, including those that an edit adds: the client is not reading."""
        self._paused = True
        for backend in self.backends:
            backend.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        for backend in self.backends:
            backend.resume_reading()


def later(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    """Call a function after some seconds; return what cancels that."""
    return asyncio.get_running_loop().call_later(seconds, act).cancel


class ProcessResults:
    """The files of the shortened results of this process, made with the first of them."""

    def __init__(self, make: "Callable[[], KeptResults] | None" = None) -> None:
        self._make = make or _make_kept_results
        self._kept: KeptResults | None = None

    def load(self) -> "KeptResults":
        if self._kept is None:
            self._kept = self._make()
        return self._kept

    def end(self) -> None:
        """Delete the results, if there are any."""
        if self._kept is not None:
            self._kept.end()


def _make_kept_results() -> "KeptResults":
    from search_mcp.results.kept_results import make_kept_results

    return make_kept_results()
