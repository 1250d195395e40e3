"""`search-mcp serve`: start the parts, run them and stop them.

Decides the order of starting and stopping. The pool owns the servers' tasks, which end when the client is gone or a
signal arrives.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from search_mcp import logs
from search_mcp.backends.dependencies import dependencies_of_user
from search_mcp.backends.process.launching import without_threads
from search_mcp.backends.process.reaper import last_resort
from search_mcp.background import FileQueue
from search_mcp.catalog.profiles import Profile
from search_mcp.config.gate import Gate, Origin
from search_mcp.config.location import (
    approvals,
    locate,
    origin,
    read,
    untrusted,
)
from search_mcp.config.schema import MAX_MESSAGE_BYTES, Config
from search_mcp.config.trust import printable
from search_mcp.config.watches import Watches
from search_mcp.fronts import standard_streams, stdio
from search_mcp.fronts.connection import Front, Refusing
from search_mcp.fronts.ending_signals import TERMINATION_SECONDS, on_ending_signals
from search_mcp.gateway.gateway import Gateway
from search_mcp.gateway.reloading import LogSettings, follow_edits, select
from search_mcp.model.errors import ConfigError
from search_mcp.pool.pool import Pool
from search_mcp.results.process_results import ProcessResults
from search_mcp.wire.errors import SERVER_ERROR, ProtocolError
from search_mcp.wire.structs import replace

if TYPE_CHECKING:
    from search_mcp.config.subset import Subset

log = logging.getLogger(__name__)

LAST_ANSWERS_SECONDS = 5.0
"""Time to answer requests that were sent right before the end of stdin, as in a shell pipeline."""
SILENCE_SECONDS = 1.0
"""Time to wait for a client's first message before the backends' tasks start without it."""
LAST_BYTES_SECONDS = 1.0
"""Time for a client to read the last bytes."""
HURRIED_BYTES_SECONDS = 0.2
"""The same after a signal."""
NO_CLIENT = (
    "error: search-mcp serves an MCP client on stdin and stdout, and there is no {}; "
    "search-mcp install registers it in a client, which opens both\n"
)
"""The message on stderr if a standard stream was closed at the start."""


class Client:
    """The client's connection: its bytes, its end, and backpressure while it does not read."""

    def __init__(self, gateway: Gateway | None) -> None:
        self.front: Front | Refusing | None = None
        self.reader: stdio.Reader | None = None
        self.spoke = asyncio.Event()
        self.ended = asyncio.Event()
        self.gone = asyncio.Event()
        self.signalled = asyncio.Event()
        self._gateway = gateway

    def on_bytes(self, chunk: bytes) -> None:
        if self.front is not None:
            self.front.peer.feed(chunk)
        self.spoke.set()

    def on_eof(self) -> None:
        if self.front is not None:
            self.front.peer.flush()
        self.end()

    def on_gone(self) -> None:
        self.gone.set()
        self.end()

    def end(self) -> None:
        """Begin to shut down."""
        self.spoke.set()
        self.ended.set()

    def on_congested(self) -> None:
        log.debug("= client is not reading stdout; backend reads paused")
        if self.front is not None:
            self.front.peer.pause()
        if self.reader is not None:
            self.reader.pause_reading()
        if self._gateway is not None:
            self._gateway.leases.pause_reading()

    def on_clear(self) -> None:
        if self.reader is not None:
            self.reader.resume_reading()
        if self._gateway is not None:
            self._gateway.leases.resume_reading()
        if self.front is not None:
            self.front.peer.resume()


async def serve(
    config: Config | ConfigError,
    follow: Gate,
    profile: Profile | None,
    descriptors: tuple[int, int],
    log_to: LogSettings,
    subset: "Subset | None" = None,
) -> int:
    """Serve one client on two file descriptors until it is gone; return the exit code."""
    without_threads()
    files, pool, results = FileQueue(), Pool(), ProcessResults()
    gateway: Gateway | None = None
    if isinstance(config, Config):
        dependencies = replace(dependencies_of_user(files), max_message_bytes=config.settings.max_message_bytes)
        gateway = Gateway(config, dependencies, pool, profile, results=results)
    client = Client(gateway)
    reader, writer = await stdio.connect(*descriptors, client)
    client.reader = reader
    if gateway is None or not isinstance(config, Config):
        why = ProtocolError(SERVER_ERROR, f"search-mcp cannot start: {config}")
        client.front = Refusing(why, writer.write, MAX_MESSAGE_BYTES)
        await client.ended.wait()
        await _close(writer, client, LAST_BYTES_SECONDS)
        return 2
    front = client.front = Front(gateway, writer.write, config.settings.max_message_bytes)
    with contextlib.ExitStack() as signals:
        received = signals.enter_context(_signals(pool, client))
        # Backends start when the client opens, and their modules take longer to load than the first answer takes.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(client.spoke.wait(), SILENCE_SECONDS)
        last_resort()  # from here on, messages of servers are handled
        following = partial(follow_edits, follow, gateway, config, log_to, Watches(), subset=subset)
        async with pool.running():
            await attend(gateway, client, front, writer, received, following)
        results.end()
        files.finish()
    return 128 + received[0] if received else 0


async def attend(
    gateway: Gateway,
    client: Client,
    front: Front,
    writer: stdio.Writer,
    received: Sequence[int],
    follow: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """Run the backends until the client is gone or a signal was received; answer what can still be answered.

    `follow` applies edits of the configuration; `received` are the signals so far.
    """
    async with gateway.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await client.ended.wait()
        log.info("= %s", f"{signal.Signals(received[0]).name} came" if received else "the client is gone")
        if not received:
            front.peer.half_close()
            front.end_subscriptions()
            with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                await _first_of(front.peer.answered, client.gone.wait, client.signalled.wait)
            front.peer.refuse_all(ProtocolError(SERVER_ERROR, "search-mcp ended before this was answered"))
        front.close()
        await _close(writer, client, LAST_BYTES_SECONDS if not received else HURRIED_BYTES_SECONDS)
        tasks.cancel_scope.cancel()


async def _close(writer: stdio.Writer, client: Client, seconds: float) -> None:
    """Write the remaining bytes, if the client reads them soon."""
    writer.close()
    with anyio.move_on_after(seconds):
        await client.gone.wait()


async def _first_of(*waits: Callable[[], Awaitable[object]]) -> None:
    async with anyio.create_task_group() as tasks:

        async def wait(one: Callable[[], Awaitable[object]]) -> None:
            await one()
            tasks.cancel_scope.cancel()

        for one in waits:
            tasks.start_soon(wait, one)


@contextlib.contextmanager
def _signals(pool: Pool, client: Client) -> Iterator[list[int]]:
    """End on a signal: the first terminates the backends at once, the second kills them.

    Clients send SIGINT, SIGTERM a tenth of a second later, then SIGKILL: there is no time for more.
    """
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        if len(received) == 1:
            pool.terminate()
            loop.call_later(TERMINATION_SECONDS, pool.abort)
        else:
            pool.abort()
        client.signalled.set()
        client.end()

    loop = asyncio.get_running_loop()
    with on_ending_signals(on_signal):
        yield received


def run(explicit_config: str | None, profile: Profile | None, log_level: str | None, servers: str | None = None) -> int:
    """Run `search-mcp serve`; return the exit code."""
    if missing := standard_streams.missing():
        sys.stderr.write(NO_CLIENT.format(" and no ".join(missing)))
        return 2
    descriptors = standard_streams.claim()
    config: Config | ConfigError
    follow = Gate(Path(), Origin.OWN, approvals())
    subset: Subset | None = None
    try:
        if servers is not None:
            from search_mcp.config import subset as subsets

            subset = subsets.parse(servers)
        path = locate(explicit_config, os.environ)
        config = read(path, os.environ)
        follow = Gate(path, origin(path, explicit_config, os.environ), approvals())
        config = follow.at_start(config)
    except ConfigError as exc:
        config = exc
    log_to = LogSettings(log_level)
    with logs.to_stderr(log_to.level(config), log_to.clean, log_to.conceal):
        if isinstance(config, ConfigError):
            log.error("%s", config)
        else:
            log.info("= configuration %s", printable(follow.path))
            follow.report()
            for warning in config.warnings:
                log.warning("! %s", warning)
            config = config if subset is None else select(subset, config)
        if isinstance(config, ConfigError) and subset is not None:
            config = subset.veiled(config)
        if (skipped := untrusted(explicit_config, os.environ, follow.path)) is not None:
            log.warning("! %s", skipped)
        return asyncio.run(serve(config, follow, profile, descriptors, log_to, subset))
