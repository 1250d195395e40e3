"""`search-mcp serve`: put the parts together, run them, take them down again.

Decides the order of starting and stopping, and nothing about the protocol. Everything is owned by one
task group: the backends' tasks end when the client is gone or a signal came.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from pathlib import Path

import anyio

from search_mcp import logs, stdio
from search_mcp.aggregate import Aggregate
from search_mcp.backends.process.launching import without_threads
from search_mcp.backends.process.reaper import last_resort
from search_mcp.catalog.profiles import Profile
from search_mcp.config.gate import Gate, Origin
from search_mcp.config.location import (
    approvals,
    is_borrowed,
    locate,
    origin,
    read,
    untrusted,
)
from search_mcp.config.schema import Config, Settings, camel
from search_mcp.config.secrets import redact
from search_mcp.config.trust import printable
from search_mcp.folders import approvals_folder, trust_folder
from search_mcp.front import Front, Refusing
from search_mcp.model.errors import ConfigError
from search_mcp.wire.errors import BACKEND_ERROR, ProtocolError

log = logging.getLogger(__name__)

LAST_ANSWERS_SECONDS = 5.0
"""How long requests sent right before the end of stdin may still be answered, as in a shell's pipe."""
BURST_SECONDS = 0.2
"""How long after an edit the file is read: who writes it in pieces is done by then."""
SETTLING_SECONDS = 1.0
"""How long after the start the configuration is read once more: by then edits of it are seen."""
SILENCE_SECONDS = 1.0
"""How long a client that says nothing is waited for before edits of the configuration are followed all the same."""
LAST_BYTES_SECONDS = 1.0
"""How long a client may take to read what was written last."""
HURRIED_BYTES_SECONDS = 0.2
"""The same after a signal."""
DOOMED_SECONDS = 0.5
"""How long after a signal the servers that ignored SIGTERM are killed: a second after it, all is over."""
MAX_MESSAGE_BYTES = 64 << 20
NO_CLIENT = (
    "error: search-mcp serves an MCP client on stdin and stdout, and there is no {}; "
    "search-mcp install registers it in a client, which opens both\n"
)
"""What is said on stderr where a standard stream was closed at the start."""


class Client:
    """The client's connection: its bytes, its end, and what to do while it does not read."""

    def __init__(self, aggregate: Aggregate | None) -> None:
        self.front: Front | Refusing | None = None
        self.reader: stdio.Reader | None = None
        self.spoke = asyncio.Event()
        self.ended = asyncio.Event()
        self.gone = asyncio.Event()
        self.signalled = asyncio.Event()
        self._aggregate = aggregate

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
        """Have nothing more to say to it, or to hear from it."""
        self.spoke.set()
        self.ended.set()

    def on_congested(self) -> None:
        log.debug("= client is not reading stdout; backend reads paused")
        if self.front is not None:
            self.front.peer.pause()
        if self.reader is not None:
            self.reader.pause_reading()
        if self._aggregate is not None:
            self._aggregate.pause_reading()

    def on_clear(self) -> None:
        if self.reader is not None:
            self.reader.resume_reading()
        if self._aggregate is not None:
            self._aggregate.resume_reading()
        if self.front is not None:
            self.front.peer.resume()


class _LogTo:
    """What the log takes from the configuration, now and after an edit: its level, and what it must not show."""

    def __init__(self, asked_for: str | None) -> None:
        self._asked_for = asked_for
        self.secrets: frozenset[str] = frozenset()  # of every configuration so far

    def level(self, config: Config | ConfigError) -> str:
        """Take note of a configuration's secrets; give the level to log at."""
        settled = "info"
        if isinstance(config, Config):
            settled = config.settings.log_level
            self.secrets |= config.secrets
        return (self._asked_for or settled).upper()


async def serve(
    config: Config | ConfigError, follow: Gate, profile: Profile | None, descriptors: tuple[int, int], log_to: _LogTo
) -> int:
    """Serve one client on two file descriptors until it is gone; return the exit code."""
    without_threads()
    aggregate = Aggregate(config, profile) if isinstance(config, Config) else None
    client = Client(aggregate)
    reader, writer = await stdio.connect(*descriptors, client)
    client.reader = reader
    if aggregate is None or not isinstance(config, Config):
        why = ProtocolError(BACKEND_ERROR, f"search-mcp cannot start: {config}")
        client.front = Refusing(why, writer.write, MAX_MESSAGE_BYTES)
        await client.ended.wait()
        await _close(writer, client, LAST_BYTES_SECONDS)
        return 2
    front = client.front = Front(aggregate.router, writer.write, config.settings.max_message_bytes)
    aggregate.tell_front = front.tell
    with contextlib.ExitStack() as signals:
        received = signals.enter_context(_signals(aggregate, client))
        # Backends start when the client opens, and what runs them takes longer to load than the first answer takes.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(client.spoke.wait(), SILENCE_SECONDS)
        signals.enter_context(last_resort())  # from here on, what servers send is worked on
        async with aggregate.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_up, follow, aggregate, config, log_to)
            await client.ended.wait()
            log.info("= %s", f"{signal.Signals(received[0]).name} came" if received else "the client is gone")
            if not received:
                front.peer.half_close()
                front.end_subscriptions()
                with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                    await _first_of(front.peer.answered, client.gone.wait, client.signalled.wait)
                front.peer.refuse_all(ProtocolError(BACKEND_ERROR, "search-mcp ended before this was answered"))
            front.close()
            await _close(writer, client, LAST_BYTES_SECONDS if not received else HURRIED_BYTES_SECONDS)
            tasks.cancel_scope.cancel()
    return 128 + received[0] if received else 0


async def _keep_up(follow: Gate, aggregate: Aggregate, current: Config, log_to: _LogTo) -> None:
    """Follow edits of the configuration, and what the user accepts; a broken edit is only reported, once."""
    complaint = ""

    async def look() -> None:
        nonlocal complaint, current
        config = await anyio.to_thread.run_sync(_read_again, follow, abandon_on_cancel=True)
        if isinstance(config, Config) and config == current:
            pass  # it was touched, or it is as it was read first
        elif isinstance(config, Config):
            for key in _changed_start_settings(current.settings, config.settings):
                log.warning("! %s is read at the start only; restart search-mcp to change it", key)
            current = config
            log.info("= the configuration changed")
            logging.getLogger().setLevel(log_to.level(config))
            for warning in config.warnings:
                log.warning("! %s", warning)
            follow.report()
            aggregate.reconfigure(config)
        elif str(config) != complaint:
            log.error("! %s; what ran goes on running", config)
        complaint = str(config) if isinstance(config, ConfigError) else ""
        aggregate.router.note_broken_edit(redact(complaint, log_to.secrets) or None)

    folders = [folder for folder in (trust_folder(), approvals_folder()) if _is_made(folder)]
    # Loaded beside the first answers, not before them.
    edits = await anyio.to_thread.run_sync(import_module, "search_mcp.config.watching", abandon_on_cancel=True)
    await anyio.to_thread.run_sync(aggregate.tidy, abandon_on_cancel=True)
    with edits.noticed(follow.path, *folders) as edited:
        await anyio.sleep(SETTLING_SECONDS)
        while True:
            edited.clear()
            await aggregate.look_at_trust()
            await look()  # the first time for what was edited before the watch was in place
            if not follow.is_remembered:
                aggregate.file_queue(follow.remember_held)  # it may wait for another process
            await edited.wait()
            await anyio.sleep(BURST_SECONDS)


def _is_made(folder: Path) -> bool:
    """Make a folder of ours, so that edits in it can be followed."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as exc:
        log.warning("! %s cannot be made (%s), so nothing can be accepted while this runs", folder, exc.strerror)
        return False
    return True


_START_SETTINGS = ("max_message_bytes", "confirm_commands")


def _changed_start_settings(before: Settings, after: Settings) -> list[str]:
    """Name the settings that an edit changed in vain, as the file spells them."""
    return [camel(name) for name in _START_SETTINGS if getattr(before, name) != getattr(after, name)]


def _read_again(follow: Gate) -> Config | ConfigError:
    """Read the configuration once more; called in a thread, because a file may be large or its disk slow."""
    try:
        if follow.origin is Origin.FOUND and is_borrowed(follow.path):
            problem = "it is now a link to another folder's file"
            raise ConfigError(printable(follow.path), problem, "put the file itself there")
        return follow.after_edit(read(follow.path, os.environ))
    except ConfigError as exc:
        return exc


async def _close(writer: stdio.Writer, client: Client, seconds: float) -> None:
    """Write what waits, if the client takes it soon."""
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
def _signals(aggregate: Aggregate, client: Client) -> Iterator[list[int]]:
    """End on a signal: the first dooms the backends at once, the second kills them.

    Clients send SIGINT, SIGTERM a tenth of a second later, then SIGKILL: there is no time for more.
    """
    received: list[int] = []
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)

    def on_signal(number: int) -> None:
        received.append(number)
        if len(received) == 1:
            aggregate.signal(signal.SIGTERM)
            loop.call_later(DOOMED_SECONDS, aggregate.signal, kill)
        else:
            aggregate.signal(kill)
        client.signalled.set()
        client.end()

    loop = asyncio.get_running_loop()
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
    previous = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        # Not the loop's own handlers: they need the wakeup descriptor, which `last_resort` has.
        signal.signal(number, lambda number, _frame: loop.call_soon_threadsafe(on_signal, number))
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def run(explicit_config: str | None, profile: Profile | None, log_level: str | None) -> int:
    """Run `search-mcp serve`; return the exit code."""
    if missing := stdio.missing():
        sys.stderr.write(NO_CLIENT.format(" and no ".join(missing)))
        return 2
    descriptors = stdio.claim()
    config: Config | ConfigError
    follow = Gate(Path(), Origin.OWN, approvals())
    try:
        path = locate(explicit_config, os.environ)
        config = read(path, os.environ)
        follow = Gate(path, origin(path, explicit_config, os.environ), approvals())
        config = follow.at_start(config)
    except ConfigError as exc:
        config = exc
    log_to = _LogTo(log_level)
    with logs.to_stderr(log_to.level(config), lambda: log_to.secrets):
        if isinstance(config, ConfigError):
            log.error("%s", config)
        else:
            log.info("= configuration %s", printable(follow.path))
            follow.report()
            for warning in config.warnings:
                log.warning("! %s", warning)
        if (skipped := untrusted(explicit_config, os.environ, follow.path)) is not None:
            log.warning("! %s", skipped)
        return asyncio.run(serve(config, follow, profile, descriptors, log_to))
