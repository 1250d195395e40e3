"""The aggregator: the configuration, the backends and their tasks, for one client.

Decides which backends exist: at the start, and after an edit of the configuration, which starts, stops or restarts only
the servers it changed. The backends may be leases of servers that other clients use, too.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio

from search_mcp.backends.dependencies import Dependencies, dependencies_of_user
from search_mcp.background import FileQueue
from search_mcp.catalog.profiles import Profile
from search_mcp.config.schema import Config
from search_mcp.dialects import CatalogChanged
from search_mcp.folders import model_folder, results_folder
from search_mcp.gateway.problems import ProblemLog, log_contested
from search_mcp.gateway.servers import Servers
from search_mcp.gateway.session import Session
from search_mcp.model.servers import ListChanged, News, Opening, StateChanged, TaskChanged
from search_mcp.pool.running import AggregatedBackend, BackendSource, OwnBackends, Running
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
        dependencies: Dependencies | None = None,
        source: BackendSource | None = None,
        load_kept_results: "Callable[[], KeptResults] | None" = None,
    ) -> None:
        """`source` makes the backends; without it, they belong to this aggregator alone.

        `load_kept_results` gives the files of shortened results, which other aggregators may use, too. Without it, an
        aggregator that is given its dependencies shortens no results, and any other has files of its own.
        """
        self._has_own_results = load_kept_results is None and dependencies is None
        self._load_kept_results = load_own_results if self._has_own_results else load_kept_results
        self._own_file_queue = FileQueue()  # of an aggregator that is given no dependencies
        self._dependencies = dependencies or replace(
            dependencies_of_user(self._own_file_queue), max_message_bytes=config.settings.max_message_bytes
        )
        self.file_queue = self._dependencies.file_queue
        self._source = source or OwnBackends(later, self._dependencies)
        self._meaning_source: MeaningSource | None = None
        self.servers = Servers(self._dependencies.clock, self._source.in_common, self._meanings)
        self._problems = ProblemLog(self.servers, later)
        self._session: Session | None = None  # while the client is there
        self._opening: Opening | None = None
        self._log_level: str | None = None
        self._running: dict[str, Running] = {}
        self._retiring: dict[str, Running] = {}  # stopped by an edit, and possibly not ended yet
        self._usage_queue: UsageQueue | None = None
        self._tasks: TaskGroup | None = None
        self._paused = False
        self._put_in_place(config)

    @property
    def backends(self) -> list[AggregatedBackend]:
        """The backends there are, in the order of the configuration."""
        return [running.backend for running in self._running.values()]

    @cached_property
    def kept_results(self) -> "KeptResults | None":
        """The files of shortened results, loaded with the first limited call; `None` in commands."""
        return self._load_kept_results() if self._load_kept_results is not None else None

    # The client

    def open_session(
        self, profile: Profile | None = None, tell_front: Callable[[News | CatalogChanged], None] = lambda _news: None
    ) -> Session:
        """Make the session of the client, once; `profile` is the one that the client was started with, if any."""
        self._session = session = Session(self, profile, later, tell_front)
        return session

    @property
    def usage_queue(self) -> "UsageQueue | None":
        """The record of tool calls, which is loaded with the first of them; `None` if none are recorded."""
        there, path = self._dependencies, self._dependencies.usage_file
        if self._usage_queue is None and path is not None:
            from search_mcp.usage.queue import UsageQueue

            self._usage_queue = UsageQueue(path, there.file_queue, later, there.clock, there.wall_clock)
        return self._usage_queue

    def _finish_usage(self) -> None:
        """Have the last tool calls recorded."""
        if self._session is not None:
            self._session.finish_usage()
        if self._usage_queue is not None:
            self._usage_queue.flush()

    def others(self, server: str) -> Iterator[Session]:
        """Give the sessions of the other clients that use a server."""
        if (running := self._running.get(server)) is not None:
            yield from self._source.other_sessions(running.backend)

    def is_alone(self, server: str) -> bool:
        """Return whether a server has, and had, no other client."""
        running = self._running.get(server)
        return running is None or not self._source.was_shared(running.backend)

    def leave(self) -> None:
        """Forget the client, which has ended."""
        self._session = None

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
            if self._session is not None:
                self._session.on_list(news)
            self.servers.catalog.put(news.server, news.kind, news.page)
        # "The notification includes the full task object", with its result. In a notification of a task that no client
        # follows, a server could mention URIs without having been called.
        resources = self.servers.resources
        if isinstance(news, TaskChanged) and news.is_followed and resources.note_task(news.server, news.params):
            log_contested(resources, news.server)
        if isinstance(news, ListChanged | StateChanged):
            self._on_change()
        elif self._session is not None:
            self._session.on_news(news)

    def _on_change(self) -> None:
        if self._session is not None:
            self._session.on_change()
        self._problems.on_change()

    def note_broken_edit(self, error: str | None) -> None:
        """Have `list_servers` say why an edit of the configuration has no effect; `None` once it has."""
        self.servers.configuration_error = error

    # Backends

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the backends' tasks; at the end stop all backends at the same time."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for running in self._running.values():
                tasks.start_soon(running.run, None)
            try:
                yield
            finally:
                self._tasks = None
                for backend in self.backends:
                    self._source.release(backend)
                tasks.cancel_scope.cancel()
                self._forget_results()
                self.end_meanings()
        self._finish_usage()
        self._own_file_queue.finish()

    def _meanings(self) -> "Meanings | None":
        """Return the meanings of queries as the configuration has it now; `None` for a search by words alone."""
        if self._meaning_source is None:
            semantic = self._config.settings.search.semantic
            if semantic == "off" or (semantic is None and not (model_folder() / "model.json").is_file()):
                return None
            from search_mcp.own_tools.meaning_source import MeaningSource

            meanings = self._source.in_common.meanings
            self._meaning_source = MeaningSource(meanings, later, self._dependencies, self._start_soon)
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

    def _forget_results(self) -> None:
        if self._session is not None:
            self._session.state.forget_results()
        if self._has_own_results and (kept := self.__dict__.get("kept_results")) is not None:
            kept.end()

    def reconfigure(self, config: Config) -> None:
        """Apply an edited configuration; calls of servers that it does not change go on."""
        before = dict(self._running)
        stopped = self._put_in_place(config)
        for name, running in stopped.items():
            log.info("= %s: stopped, because the configuration changed", name)
            running.backend.retire()
            running.stop()
            self._retiring[name] = running
        for name, running in self._running.items():
            if before.get(name) is not running and self._tasks is not None:
                predecessor = before.get(name) or self._retiring.pop(name, None)
                self._tasks.start_soon(running.run, predecessor)
                if predecessor is not None:
                    self._source.succeed(running.backend, predecessor.backend)
                if self._opening is not None:
                    running.backend.open(self._opening)

    def _put_in_place(self, config: Config) -> dict[str, Running]:
        """Make backends for new entries and for those started differently; return the backends to be stopped."""
        self._config = config
        before, self._running = self._running, {}
        for server in config.servers:
            if not server.may_run:
                continue
            running = before.get(server.name)
            if running is not None and running.backend.is_started_like(server):
                running.backend.adopt(server)
                self._running[server.name] = before.pop(server.name)
            else:
                backend = self._source.make(server, self.tell, lambda: self._session)
                if self._log_level is not None:
                    backend.set_log_level(self._log_level)
                if self._paused:
                    backend.pause_reading()
                self._running[server.name] = Running(backend)
        self.servers.configure(config, {each.name: each for each in self.backends})
        if self._session is not None:
            self._session.configure()
        if self._meaning_source is not None:
            self._meaning_source.of(config)
        self._on_change()
        return before

    async def look_at_trust(self) -> None:
        """Read again what the user has accepted."""
        for backend in self.backends:
            await backend.look_at_trust()

    async def compare_recalled(self) -> None:
        """Compare the remembered lists of the backends with the accepted ones; no backend has to run."""
        for backend in self.backends:
            await backend.compare_recalled_now()

    def tidy(self) -> None:
        """Delete remembered lists that were not used for months, and results that killed processes left.

        May be called in any thread.
        """
        if self._dependencies.cache is not None:
            self._dependencies.cache.prune(self._dependencies.wall_clock())
        if self._load_kept_results is not None and (folder := results_folder()).is_dir():
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

    def terminate(self) -> None:
        """Ask all servers to end now; none is started again."""
        for running in (*self._running.values(), *self._retiring.values()):
            running.terminate()

    def abort(self) -> None:
        """End all servers by force."""
        for running in (*self._running.values(), *self._retiring.values()):
            running.abort()


def later(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    """Call a function after some seconds; return what cancels that."""
    return asyncio.get_running_loop().call_later(seconds, act).cancel


def load_own_results() -> "KeptResults":
    """Load the files of the shortened results of this process."""
    from search_mcp.results.kept_results import make_kept_results

    return make_kept_results()
