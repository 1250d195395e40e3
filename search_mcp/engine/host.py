"""The clients of an engine process: each has a gateway, and everything of it ends with its connection.

Decides what is answered to a first line, and when there has been no client for so long that the process ends.
"""

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import anyio

from search_mcp.backends.dependencies import Dependencies, dependencies_of_user
from search_mcp.background import FileQueue, run_in_thread
from search_mcp.catalog.profiles import BY_NAME
from search_mcp.config.gate import Gate
from search_mcp.config.location import approvals, locate, origin, read, untrusted
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.config.subset import Subset, parse
from search_mcp.config.trust import printable
from search_mcp.config.watches import Watches
from search_mcp.engine import hello
from search_mcp.engine.connection import Connection
from search_mcp.engine.exhaustion import end_if_exhausted, may_open
from search_mcp.engine.hello import Json
from search_mcp.engine.meeting import build
from search_mcp.engine.read_ahead import ReadAhead, read_ahead
from search_mcp.folders import cache_folder
from search_mcp.fronts.connection import Front
from search_mcp.fronts.ending_signals import TERMINATION_SECONDS
from search_mcp.fronts.serve import SILENCE_SECONDS, Client, attend
from search_mcp.gateway.gateway import Gateway
from search_mcp.gateway.reloading import LogSettings, follow_edits, select
from search_mcp.logs import LEVELS
from search_mcp.model.errors import ConfigError
from search_mcp.model.servers import Status
from search_mcp.model.standing import standing_of
from search_mcp.pool.pool import Pool
from search_mcp.pool.pooled_server import PooledServer
from search_mcp.results.process_results import ProcessResults
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct, replace

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

log = logging.getLogger(__name__)

CONFIGURATION_SECONDS, CACHE_SECONDS = 1.0, 0.8
"""Times to read a client's configuration, and what is cached of its servers; the relay waits two seconds in all."""
SPARE_FILES = 64
"""Files that this process must be able to open to take another client: pipes for it and for a dozen servers."""
AHEAD_SECONDS = 5.0
"""Longest time that the files read before are kept for the opening of the client, which follows at once."""


class Opened(Struct, frozen=True):
    """What a client's first line means: its configuration, and how it is followed."""

    config: Config
    """The configuration with all servers of the file."""
    follow: Gate
    notices: tuple[str, ...]
    subset: Subset | None


def open_configuration(first: Json, variables: Mapping[str, str]) -> Opened:
    """Find and read the configuration of a client, as it would itself.

    Raises:
        ConfigError: it cannot be read, or it is wrong.
    """
    expression: str | None = first["subset"]
    subset = parse(expression) if expression is not None else None
    try:
        return _opened(first, variables, subset)
    except ConfigError as exc:
        if subset is None:
            raise
        raise subset.veiled(exc) from exc  # an engine that is joined later may be told of it as an error of the client


def _opened(first: Json, variables: Mapping[str, str], subset: Subset | None) -> Opened:
    explicit, folder = first["config"], Path(first["folder"])
    current = partial(Path, folder)
    path = locate(explicit, variables, current)
    config = read(path, variables)
    follow = Gate(path, origin(path, explicit, variables, current), approvals())
    config = follow.at_start(config)
    notices = [f"! {warning}" for warning in config.warnings]
    if (skipped := untrusted(explicit, variables, path, current)) is not None:
        notices.append(f"! {skipped}")
    notices += subset.report(config) if subset is not None else ()
    return Opened(config, follow, tuple(notices), subset)


class Hosted(Struct, eq=False):
    """A client that is served."""

    number: int
    program: str
    """The program that started the client's process of search-mcp."""
    pid: int | None
    """The process of that program."""
    config: str
    since: float
    client: Client
    gateway: Gateway
    subset: str | None = None
    """Its option `--servers`."""

    @property
    def name(self) -> str:
        """The name that the client says, else its program's."""
        info = self.gateway.opening.info if self.gateway.opening is not None else None
        return payload.string(payload.object_or_empty(info).get("name")) or self.program


def _facts_of(status: Status) -> Json:
    standing = standing_of(status)
    known = {"since": standing.since, "sharing": status.sharing, "reason": standing.explanation}
    found = {key: value for key, value in known.items() if value}
    return {"name": status.server, "state": status.state.value, "word": standing.word, **found}


class Host:
    """All clients of this process, and the page for people."""

    def __init__(self, idle_seconds: float, log_to: LogSettings, open_page: "OpenPage") -> None:
        """`open_page` answers a request for the page; the first one loads and starts it."""
        self._idle_seconds, self.log_to, self._open_page = idle_seconds, log_to, open_page
        self._open = 0  # clients that are served, or will be, and uses of the page
        self._hosted: dict[Connection, Hosted] = {}
        self._numbers = 0
        self._newcomers: asyncio.Queue[tuple[Connection, Json] | None] = asyncio.Queue()
        self._idle: asyncio.TimerHandle
        self._signals: list[int] = []
        self._is_ending = False
        self.file_queue = FileQueue()
        # One of each: a spawner starts a shell, which lives as long as this process.
        self._dependencies = dependencies_of_user(self.file_queue)
        self._results = ProcessResults()
        self.pool = Pool(is_shared=True)
        self.watches = Watches()
        self._config: str | None = None
        self._started = time.time()
        self._build = build()  # now: the files may be replaced while this runs
        self._end_if_idle()

    @property
    def clients(self) -> Iterable[Hosted]:
        """The clients that are served, in the order of their coming."""
        return self._hosted.values()

    # Its end

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep this process running during the block."""
        self._hold()
        try:
            yield
        finally:
            self._release()

    def _hold(self) -> None:
        self._open += 1
        self._idle.cancel()

    def _release(self) -> None:
        self._open -= 1
        if not self._open:
            self._end_if_idle()

    def _end_if_idle(self) -> None:
        """End this process after `idle_seconds`, unless a client comes before."""
        self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self.stop)

    # Connections

    def on_hello(self, connection: Connection, line: bytes) -> None:
        try:
            first = hello.decode_request(line)
        except hello.UnreadableHelloError as exc:
            log.warning("! the first line of a connection cannot be read: %s", exc)
            connection.refuse(f"the engine cannot read the first line: {exc}")
            return
        match first.get("wants"):
            case "serve" if not may_open(SPARE_FILES):
                log.warning(
                    "! a client is not taken, because this process has too many open files; it runs its own servers"
                )
                connection.refuse("the engine has too many open files")
            case "serve" | "page" if not self._is_ending:
                self._hold()
                self._newcomers.put_nowait((connection, first))
            case "status":
                connection.answer(self._status())
                connection.close()
            case "stop":
                connection.answer(self._status())  # it is closed at the end, for which the command waits
                self.stop()
            case _:
                connection.close()

    def _status(self) -> Json:
        clients = [
            {
                "name": hosted.name,
                "program": hosted.program,
                "pid": hosted.pid,
                "since": hosted.since,
                "config": hosted.config,
                "servers": [_facts_of(each) for each in hosted.gateway.servers.statuses()],
                **({"subset": hosted.subset} if hosted.subset is not None else {}),
            }
            for hosted in self._hosted.values()
        ]
        return {
            "pid": os.getpid(),
            "build": self._build,
            "since": self._started,
            "config": self._config,
            "clients": clients,
            "servers": [self._facts(each) for each in self.pool.servers],
        }

    def _facts(self, server: PooledServer) -> Json:
        status = replace(server.supervisor.status, sharing=self.pool.describe_sharing(server))
        return {**_facts_of(status), "pid": server.supervisor.pid, "clients": server.clients}

    # Clients

    async def run(self) -> None:
        """Serve clients until `stop`."""
        async with self.pool.running(), anyio.create_task_group() as tasks, anyio.create_task_group() as of_page:
            while (newcomer := await self._newcomers.get()) is not None:
                if newcomer[1]["wants"] == "page":
                    tasks.start_soon(self._show_page, *newcomer, of_page)
                else:
                    tasks.start_soon(self._guarded, *newcomer)
            of_page.cancel_scope.cancel()
            for hosted in self._hosted.values():
                self._end(hosted)
            self.pool.terminate()
            asyncio.get_running_loop().call_later(TERMINATION_SECONDS, self.pool.abort)

    def finish(self) -> None:
        """Delete the shortened results, and wait for file operations, for a short time."""
        self._results.end()
        self.file_queue.finish()

    def stop(self) -> None:
        """End all sessions, then `run`."""
        self._is_ending = True
        self._newcomers.put_nowait(None)

    def _end(self, hosted: Hosted) -> None:
        self._signals.append(signal.SIGTERM)
        hosted.client.signalled.set()
        hosted.client.end()

    async def _guarded(self, connection: Connection, first: Json) -> None:
        try:
            await self._serve(connection, first)
        except Exception as exc:  # a bug in one client's session must not end the others'
            end_if_exhausted(exc)
            log.exception("! bug while serving a client")
        finally:
            connection.abort()
            self._hosted.pop(connection, None)
            self._release()

    async def _show_page(self, connection: Connection, first: Json, of_page: "TaskGroup") -> None:
        """Answer with the address of the page, which this opens if it is not open yet."""
        try:
            connection.answer(await self._open_page(self, first, of_page))
            connection.close()
        except (ConfigError, OSError) as exc:
            connection.refuse(str(exc), misconfigured=True)
        except Exception as exc:  # a bug of the page must not end the clients' sessions
            end_if_exhausted(exc)
            log.exception("! bug while opening the page")
            connection.refuse(f"the page cannot be opened: {exc!r}")
        finally:
            self._release()

    async def _serve(self, connection: Connection, first: Json) -> None:
        """Serve one client until it is gone."""
        variables = first["variables"]
        profile_name = first["client"]
        is_known = profile_name is None or profile_name in BY_NAME
        if not is_known or first["log_level"] not in (None, *LEVELS):
            self._refuse(connection, "an option has an unknown value")
            return
        try:
            with anyio.fail_after(CONFIGURATION_SECONDS):
                opened = await run_in_thread(partial(open_configuration, first, variables))
        except TimeoutError:
            connection.refuse(f"the engine could not read the configuration within {CONFIGURATION_SECONDS:g} s")
            return
        except ConfigError as exc:
            self._refuse(connection, str(exc))
            return
        self.log_to.apply(opened.config)  # records its secrets before anything about it is logged
        self._numbers += 1
        number, name = self._numbers, str(first.get("parent") or "a client")
        log.info("= client %d is %s; configuration %s", number, name, printable(opened.follow.path))
        opened.follow.report()
        subset = opened.subset
        config = opened.config if subset is None else select(subset, opened.config)
        dependencies = self.dependencies_for(config, first)
        cache = await cached(config.servers, dependencies)
        if self._is_ending:
            return
        gateway = Gateway(
            config,
            replace(dependencies, cache=cache),
            self.pool,
            BY_NAME[profile_name] if profile_name is not None else None,
            results=self._results,
            shared_folder=str(opened.follow.path.parent),
            is_on_page=True,
        )
        client = Client(gateway)
        limit = config.settings.max_message_bytes
        path = str(opened.follow.path)
        self._config = path
        self._hosted[connection] = Hosted(
            number, name, first.get("parent_pid"), path, time.time(), client, gateway, first["subset"]
        )
        answer = {"pid": os.getpid(), "notices": list(map(self.log_to.clean, opened.notices))}
        try:
            client.reader, writer = await connection.open_streams(client)
            # A late answer to a question of a lost engine comes here: no question of ours may have its id.
            front = client.front = Front(gateway, writer.write, limit, first_id=time.time_ns() // 1000)
            connection.accept(answer)
        except ConnectionError:
            log.info("= client %d has ended before it was served", number)
            return
        except OSError as exc:
            log.warning("! client %d cannot be given pipes, and runs its own servers: %s", number, exc)
            connection.refuse(f"the engine cannot open pipes for this client: {exc}")
            return
        # The first answer does not need the backends, whose start would delay it.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(client.spoke.wait(), SILENCE_SECONDS)
        if cache is not None and gateway.opening is not None:
            cache.drop()
        follow = partial(follow_edits, opened.follow, gateway, config, self.log_to, self.watches, variables, subset)
        await attend(gateway, client, front, writer, self._signals, follow)
        log.info("= client %d has ended", number)

    def _refuse(self, connection: Connection, reason: str) -> None:
        """Refuse a client whose configuration or option is wrong; end if this process was started for it."""
        connection.refuse(reason, misconfigured=True)
        if not self._numbers:
            self.stop()

    def dependencies_for(self, config: Config, first: Json) -> Dependencies:
        """Return the dependencies of servers that run as if the client had started them."""
        return replace(
            self._dependencies,
            max_message_bytes=config.settings.max_message_bytes,
            variables=dict(first["variables"]),
            folder=str(first["folder"]),
        )


OpenPage: TypeAlias = "Callable[[Host, Json, TaskGroup], Awaitable[Json]]"
"""Opens the page, whose tasks are in this group, or lets one more browser in; returns its address."""


async def cached(servers: Iterable[ServerConfig], dependencies: Dependencies) -> ReadAhead | None:
    """Read what is cached of a client's servers; return `None` if the file system does not answer."""
    with anyio.move_on_after(CACHE_SECONDS):
        ahead = await run_in_thread(partial(read_ahead, cache_folder(), servers, dependencies))
        asyncio.get_running_loop().call_later(AHEAD_SECONDS, ahead.drop)
        return ahead
    log.warning("! the catalogue cache does not answer; a client is served without it")
    return None
