"""The engine process: it serves every client of a user whose adapter connects to its socket.

Decides how it detaches from the process that started it, which connections it accepts, and when it ends: five minutes
after its last client, or when it is told to. Each client has a session, and everything of it ends with its connection.
"""

import asyncio
import contextlib
import gc
import logging
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

import anyio

from search_mcp import logs
from search_mcp.backends.cache import CatalogCache
from search_mcp.backends.command_cache import CACHES
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.last_uses import LastUses
from search_mcp.backends.pins import TrustStore
from search_mcp.backends.process.launching import Spawner, without_threads
from search_mcp.backends.process.reaper import last_resort
from search_mcp.backends.read_ahead import ReadAhead, read_ahead
from search_mcp.background import FileQueue, run_in_thread
from search_mcp.catalog.profiles import BY_NAME
from search_mcp.collector import THRESHOLDS
from search_mcp.config import location
from search_mcp.config.gate import Gate
from search_mcp.config.location import approvals, locate, origin, read, untrusted
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.config.trust import printable
from search_mcp.config.watches import Watches
from search_mcp.folders import cache_folder, log_folder, state_folder, trust_folder
from search_mcp.fronts import hello
from search_mcp.fronts.connection import Front
from search_mcp.fronts.ending_signals import ENDING_SIGNALS
from search_mcp.fronts.hello import Json
from search_mcp.fronts.joining import READY
from search_mcp.fronts.lending import Borrower, LentBackends
from search_mcp.fronts.meeting import LOG_FILE, LOG_FOLDER, build, is_same_user
from search_mcp.fronts.serve import SILENCE_SECONDS, TERMINATION_SECONDS, Client, attend
from search_mcp.fronts.stdio import CONGESTED_BYTES, READ_CHUNK
from search_mcp.gateway.engine import Engine, later
from search_mcp.gateway.lease import PooledBackends
from search_mcp.gateway.pool import Pool
from search_mcp.gateway.pooled_server import PooledServer
from search_mcp.gateway.reloading import LogSettings, follow_edits
from search_mcp.gateway.session import Session
from search_mcp.model.errors import ConfigError
from search_mcp.model.servers import Status
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct, replace
from search_mcp.wire.write_buffer import WriteBuffer

log = logging.getLogger(__name__)

IDLE_SECONDS = 300.0
"""Time without a client after which the engine ends."""
HELLO_SECONDS = 10.0
"""Time for a new connection to send its first line."""
WAITING_CONNECTIONS = 1024
CACHE_SECONDS = 1.0
"""Time to read what is cached of a client's servers; the adapter waits two seconds for its answer."""
AHEAD_SECONDS = 5.0
"""Longest time that the files read before are kept for the opening of the client, which follows at once."""
OPEN_FILES = 8192
"""Files that may be open: about 10 for each client, and 4 for each of its servers."""
LOG_LEVELS = (None, "debug", "info", "warning", "error")
LOG_BYTES = 1 << 20
"""Bytes of the log file at the start of an engine after which it becomes the older one."""


class Opened(Struct, frozen=True):
    """What a client's first line means: its configuration, and how it is followed."""

    config: Config
    follow: Gate
    notices: tuple[str, ...]


def open_configuration(first: Json, variables: Mapping[str, str]) -> Opened:
    """Find and read the configuration of a client, as it would itself.

    Raises:
        ConfigError: it cannot be read, or it is wrong.
    """
    explicit, folder = first["config"], Path(first["folder"])
    current = partial(Path, folder)
    path = locate(explicit, variables, current)
    config = read(path, variables)
    follow = Gate(path, origin(path, explicit, variables, current), approvals())
    config = follow.at_start(config)
    notices = [f"! {warning}" for warning in config.warnings]
    if (skipped := untrusted(explicit, variables, path, current)) is not None:
        notices.append(f"! {skipped}")
    return Opened(config, follow, tuple(notices))


class Connection(asyncio.Protocol):
    """One connection: its first line, then the bytes of one client."""

    def __init__(self, host: "Host") -> None:
        self._host = host
        self._first = bytearray()
        self._outlet: WriteBuffer | None = None
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._is_lost = False
        self.client: Client | None = None
        """The client once it is served; until then its bytes wait."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._outlet = transport, WriteBuffer(transport)
        transport.set_write_buffer_limits(high=CONGESTED_BYTES)
        transport.max_size = READ_CHUNK  # type: ignore[attr-defined]  # of a socket on POSIX
        if not is_same_user(transport.get_extra_info("socket")):
            log.warning("! another user's process has connected; it is refused")
            transport.abort()
            return
        self._deadline = asyncio.get_running_loop().call_later(HELLO_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        if self.client is not None:
            self.client.on_bytes(data)
            return
        self._first += data
        if self._deadline is not None and b"\n" in data:
            self._deadline.cancel()
            self._deadline = None
            self.pause_reading()
            line, _, early = bytes(self._first).partition(b"\n")
            self._first[:] = early
            self._host.on_hello(self, line)
        elif len(self._first) > hello.MAX_BYTES:
            self.abort()

    def serve(self, client: Client) -> None:
        """Pass on the bytes that came, and those that come."""
        self.client = client
        if self._is_lost:
            client.on_gone()
            return
        early = bytes(self._first)
        self._first.clear()
        if early:
            client.on_bytes(early)
        self.resume_reading()

    def eof_received(self) -> bool:
        if self.client is None:
            return False
        if self._is_hung_up():
            self.client.on_gone()
            return False
        self.client.on_eof()
        return True  # the last answers are still written

    def _is_hung_up(self) -> bool:
        """Return whether the other side has closed the connection, not only its writing half."""
        assert self._transport is not None
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket"), 0)
        return bool(poll.poll(0))

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        if self._deadline is not None:
            self._deadline.cancel()
        if self.client is not None:
            self.client.on_gone()

    def pause_writing(self) -> None:
        if self.client is not None:
            self.client.on_congested()

    def resume_writing(self) -> None:
        if self.client is not None:
            self.client.on_clear()

    def answer(self, message: Json) -> None:
        """Answer the first line."""
        self.write(hello.encode(message))

    def write(self, data: bytes) -> None:
        if self._outlet is not None:
            self._outlet.write(data)

    def close(self) -> None:
        if self._outlet is not None:
            self._outlet.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def pause_reading(self) -> None:
        if self._transport is not None and self._transport.is_reading():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing() and not self._transport.is_reading():
            self._transport.resume_reading()


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
    engine: Engine
    session: Session | None = None
    """Its session; `None` for a command."""

    @property
    def name(self) -> str:
        """The name that the client says, else its program's."""
        info = self.session.opening.info if self.session is not None and self.session.opening is not None else None
        return payload.string(payload.object_or_empty(info).get("name")) or self.program


def _facts_of(status: Status) -> Json:
    sharing = {"sharing": status.sharing} if status.sharing is not None else {}
    return {"name": status.server, "state": status.state.value, **sharing}


def _facts(server: PooledServer) -> Json:
    status = replace(server.supervisor.status, sharing=server.describe_sharing())
    return {**_facts_of(status), "pid": server.supervisor.pid, "clients": server.clients}


class Host:
    """All clients of this process."""

    def __init__(self, idle_seconds: float, log_to: LogSettings) -> None:
        self._idle_seconds, self._log_to = idle_seconds, log_to
        self._open = 0  # clients that are served, or will be
        self._hosted: dict[Connection, Hosted] = {}
        self._numbers = 0
        self._newcomers: asyncio.Queue[tuple[Connection, Json] | None] = asyncio.Queue()
        self._idle: asyncio.TimerHandle
        self._signals: list[int] = []
        self._is_ending = False
        self.file_queue = FileQueue()
        # One of each: a spawner starts a shell, which lives as long as this process.
        self._dependencies = Dependencies(
            spawn=Spawner(file_queue=self.file_queue),
            file_queue=self.file_queue,
            cache=CatalogCache(cache_folder()),
            trust=TrustStore(trust_folder()),
            last_uses=LastUses(state_folder() / "last-uses"),
            log_folder=log_folder(),
        )
        self._pool = Pool(later)
        self._watches = Watches()
        self._config: str | None = None
        self._started = time.time()
        self._build = build()  # now: the files may be replaced while this runs
        self._rest()

    # Connections

    def _rest(self) -> None:
        """End after a time; a client that comes ends the rest. Commands do not count."""
        self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self.stop)

    def on_hello(self, connection: Connection, line: bytes) -> None:
        try:
            first = hello.decode(line)
        except hello.UnreadableHelloError as exc:
            connection.answer({"alone": f"it cannot be read: {exc}"})
            connection.close()
            return
        match first.get("wants"):
            case "serve" if first["search-mcp"] != hello.PROTOCOL:  # another build has another socket
                connection.answer({"alone": "it speaks another protocol"})
                connection.close()
            case "serve" | "servers" if not self._is_ending:
                self._open += 1
                self._idle.cancel()
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
        servers = [_facts(each) for each in self._pool.servers]
        clients = [
            {
                "name": hosted.name,
                "program": hosted.program,
                "pid": hosted.pid,
                "since": hosted.since,
                "config": hosted.config,
                "servers": [_facts_of(each) for each in hosted.engine.servers.statuses()],
            }
            for hosted in self._hosted.values()
        ]
        return {
            "pid": os.getpid(),
            "build": self._build,
            "since": self._started,
            "config": self._config,
            "clients": clients,
            "servers": servers,
        }

    # Clients

    async def run(self) -> None:
        """Serve clients until `stop`."""
        async with self._pool.running(), anyio.create_task_group() as tasks:
            while (newcomer := await self._newcomers.get()) is not None:
                tasks.start_soon(self._guarded, *newcomer)
            for hosted in self._hosted.values():
                self._end(hosted)
            self._pool.terminate()
            asyncio.get_running_loop().call_later(TERMINATION_SECONDS, self._pool.kill)

    def stop(self) -> None:
        """End all sessions, then `run`."""
        self._is_ending = True
        self._newcomers.put_nowait(None)

    def _end(self, hosted: Hosted) -> None:
        hosted.engine.terminate()
        asyncio.get_running_loop().call_later(TERMINATION_SECONDS, hosted.engine.kill)
        self._signals.append(signal.SIGTERM)
        hosted.client.signalled.set()
        hosted.client.end()

    async def _guarded(self, connection: Connection, first: Json) -> None:
        try:
            await (self._lend if first["wants"] == "servers" else self._serve)(connection, first)
        except Exception:  # a bug in one client's session must not end the others'
            log.exception("! bug while serving a client")
        finally:
            connection.abort()
            self._hosted.pop(connection, None)
            self._open -= 1
            if not self._open:
                self._rest()

    async def _serve(self, connection: Connection, first: Json) -> None:
        """Serve one client until it is gone."""
        variables = first["variables"]
        profile_name = first["client"]
        if (profile_name is not None and profile_name not in BY_NAME) or first["log_level"] not in LOG_LEVELS:
            connection.answer({"alone": "an option has an unknown value"})
            connection.close()
            return
        try:
            opened = await anyio.to_thread.run_sync(open_configuration, first, variables)
        except ConfigError as exc:
            connection.answer({"alone": str(exc), "misconfigured": True})
            connection.close()
            return
        dependencies = self._dependencies_for(opened.config, first)
        cache = await _read_ahead(opened.config.servers, dependencies)
        if self._is_ending:
            return
        self._log_to.level(opened.config)  # records its secrets before anything about it is logged
        self._numbers += 1
        number, name = self._numbers, str(first.get("parent") or "a client")
        log.info("= client %d is %s; configuration %s", number, name, printable(opened.follow.path))
        opened.follow.report()
        source = PooledBackends(self._pool, replace(dependencies, cache=cache), str(opened.follow.path.parent))
        engine = Engine(opened.config, dependencies, source)
        client = Client(engine)
        client.reader = connection
        session = engine.open_session(BY_NAME[profile_name] if profile_name is not None else None)
        limit, first_id = opened.config.settings.max_message_bytes, int(first.get("first_id", 1))
        front = client.front = Front(session, connection.write, limit, first_id)
        session.tell_front = front.tell
        path = str(opened.follow.path)
        self._config = path
        self._hosted[connection] = Hosted(
            number, name, first.get("parent_pid"), path, time.time(), client, engine, session
        )
        connection.answer({"pid": os.getpid(), "notices": list(map(self._log_to.clean, opened.notices))})
        connection.serve(client)
        # The first answer does not need the backends, whose start would delay it.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(client.spoke.wait(), SILENCE_SECONDS)
        if cache is not None and session.opening is not None:
            cache.drop()
        follow = partial(follow_edits, opened.follow, engine, opened.config, self._log_to, variables, self._watches)
        await attend(engine, client, front, connection, self._signals, follow)
        log.info("= client %d has ended", number)

    async def _lend(self, connection: Connection, first: Json) -> None:
        """Lend a command the servers that it names, until it has ended."""
        load = partial(location.load, first["config"], first["variables"], partial(Path, first["folder"]))
        try:
            config, path = await anyio.to_thread.run_sync(load)
        except ConfigError as exc:
            connection.answer({"alone": str(exc)})
            connection.close()
            return
        wanted = tuple(each for each in config.servers if each.name in first["servers"] and each.may_run)
        if len(wanted) < len(first["servers"]):
            connection.answer({"alone": "the configuration has changed"})
            connection.close()
            return
        if self._is_ending:
            return
        self._log_to.level(config)  # records its secrets before anything about it is logged
        self._numbers += 1
        log.info("= client %d is a command; configuration %s", self._numbers, printable(path))
        dependencies = replace(
            self._dependencies_for(config, first), cache=CACHES[first["cache"]](cache_folder()), last_uses=None
        )
        borrower = Borrower(connection)
        borrower.reader = connection
        source = LentBackends(self._pool, dependencies, str(path.parent), borrower.tell)
        engine = Engine(replace(config, servers=wanted), dependencies, source)
        self._hosted[connection] = Hosted(
            self._numbers, "search-mcp", first.get("parent_pid"), str(path), time.time(), borrower, engine
        )
        connection.answer({"pid": os.getpid()})
        connection.serve(borrower)
        await borrower.attend(engine)

    def _dependencies_for(self, config: Config, first: Json) -> Dependencies:
        """Return the dependencies of servers that run as if the client had started them."""
        return replace(
            self._dependencies,
            max_message_bytes=config.settings.max_message_bytes,
            variables=dict(first["variables"]),
            folder=str(first["folder"]),
        )


async def _read_ahead(servers: Iterable[ServerConfig], dependencies: Dependencies) -> ReadAhead | None:
    """Read what is cached of a client's servers; return `None` if the file system does not answer."""
    with anyio.move_on_after(CACHE_SECONDS):
        ahead = await run_in_thread(partial(read_ahead, cache_folder(), servers, dependencies))
        asyncio.get_running_loop().call_later(AHEAD_SECONDS, ahead.drop)
        return ahead
    log.warning("! the catalogue cache does not answer; a client is served without it")
    return None


@contextlib.contextmanager
def _ended_by_signals(host: Host) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    previous = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    for number in ENDING_SIGNALS:
        signal.signal(number, lambda _number, _frame: loop.call_soon_threadsafe(host.stop))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


async def host(listening: socket.socket, idle_seconds: float, log_to: LogSettings) -> None:
    """Serve clients on a socket until the end."""
    without_threads()
    clients, itself = Host(idle_seconds, log_to), _identity(listening)
    with _ended_by_signals(clients), last_resort():
        server = await asyncio.get_running_loop().create_unix_server(
            lambda: Connection(clients), sock=listening, backlog=WAITING_CONNECTIONS
        )
        _say_ready()
        await clients.run()
        _remove(listening, itself)
        server.close()
        clients.file_queue.finish()


def _identity(listening: socket.socket) -> os.stat_result:
    return Path(listening.getsockname()).stat()


def _remove(listening: socket.socket, itself: os.stat_result) -> None:
    """Remove the socket from its folder, unless another engine has made one in its place."""
    with contextlib.suppress(OSError):
        if os.path.samestat(_identity(listening), itself):
            Path(listening.getsockname()).unlink()


def _say_ready() -> None:
    with contextlib.suppress(OSError):  # the process that started us waits no longer
        os.write(1, READY)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.close(nothing)
    os.dup2(_open_log(), 2)


def _open_log() -> int:
    """Open the log file; the null device if that is impossible."""
    file = log_folder() / LOG_FOLDER / LOG_FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if file.exists() and file.stat().st_size > LOG_BYTES:
            file.replace(file.with_suffix(".old.log"))
        return os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def bind(path: str) -> socket.socket:
    """Make the socket, in place of one that an engine has left behind.

    Raises:
        OSError: it cannot be made.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    listening.listen(WAITING_CONNECTIONS)
    return listening


def detach() -> None:
    """Become independent of the process that started us, and of tools that end a process with all its children."""
    if os.fork():
        os._exit(0)


def allow_more_files() -> None:
    """Raise the limit of open files, which is meant for one client: 256 on macOS, 1024 on most Linux systems."""
    resource = import_module("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # a system may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main() -> None:
    """Run an engine process: its arguments are the path of the socket and the descriptor of the lock that it keeps."""
    path, lock = sys.argv[1], int(sys.argv[2])
    os.set_inheritable(lock, False)
    listening = bind(path)
    detach()
    allow_more_files()
    gc.freeze()
    gc.enable()
    gc.set_threshold(*THRESHOLDS)
    log_to = LogSettings(None)
    with logs.to_stderr("INFO", log_to.clean):
        asyncio.run(host(listening, IDLE_SECONDS, log_to))
