"""The life of one server, from its first start to its end: started, opened, idle, restarted, given up, stopped.

The actor behind the `Backend` of the model. It decides when there is a connection. `server_calls` decides which calls
wait for one, the dialects what is said on it, `lifecycle` when to try again, `known_lists` what the server lists.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import anyio

from search_mcp.backends import lifecycle
from search_mcp.backends.availability import Availability
from search_mcp.backends.cache import SharingRecord
from search_mcp.backends.channel import CannotOpenChannelError
from search_mcp.backends.connection import Connection
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.idleness import Idleness
from search_mcp.backends.known_lists import KnownLists
from search_mcp.backends.lifecycle import Event
from search_mcp.backends.opening import (
    EndedError,
    ExitedOnOpeningError,
    HopelessError,
    NeedsLoginError,
    SessionLostError,
    opened,
)
from search_mcp.backends.restarts import REQUEST_SECONDS, Restarts
from search_mcp.backends.server_calls import ServerCalls
from search_mcp.backends.transports import transport_to
from search_mcp.config.schema import ServerConfig
from search_mcp.model.calls import CallLater
from search_mcp.model.names import Era, Kind, State
from search_mcp.model.reasons import is_lasting
from search_mcp.model.servers import News, Opening, ServerCapabilities, Status
from search_mcp.wire.structs import replace

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Open

log = logging.getLogger(__name__)

MOST_LEARNT = 4
"""Starts whose secrets are hidden in messages; a file may hold another one at each start."""
IDLE_STOP_SECONDS = 300.0
"""Time that a lazy backend may be idle before it is stopped, unless its entry sets another."""


class Supervisor:
    """One configured server. `run` is its task; all else is called from outside of that task."""

    def __init__(
        self,
        config: ServerConfig,
        publish: Callable[[News], None],
        later: CallLater,
        dependencies: Dependencies,
    ) -> None:
        self._config, self._dependencies = config, dependencies
        self._known = KnownLists(config, publish, dependencies)
        self._known.on_unauthorized = self._end_without_login
        self._written_secrets = config.secrets
        self._learnt: list[frozenset[str]] = []  # with those of the sources of secrets, at the last starts
        self._availability = Availability(config.name, self._known, publish, dependencies.clock)
        self._idleness = Idleness(dependencies.clock, later, self._is_idle, self._stop_idle)
        self.calls = ServerCalls(config, self._availability, self._known, self._idleness, publish, later, dependencies)
        self._is_lazy = config.startup == "lazy"  # starts with its first call, stops when idle
        self._ready_at: float | None = None
        self._opening: Opening | None = None
        self.log_level: str | None = None
        """The level that is set at every start; `None` for none."""
        self._is_roots_news = False  # the client's roots changed while it was starting
        self._paused = False
        self._restarts = Restarts(config, dependencies, self._on_files_changed)

    def __repr__(self) -> str:
        connection = self._availability.connection
        details = f" {connection.channel.describe()} {connection.peer!r}" if connection is not None else ""
        return f"<Backend {self.name} {self._availability.state.name}{details}>"

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def is_ready(self) -> bool:
        return self._availability.state is State.READY

    @property
    def era(self) -> Era | None:
        """The era that it was last opened in, in this process or an earlier one; `None` while unknown."""
        return self._known.era

    @property
    def sharing(self) -> SharingRecord:
        """What this process or an earlier one saw about sharing it between clients."""
        return self._known.sharing

    @property
    def pid(self) -> int | None:
        """The process of the server, while it runs on this machine."""
        connection = self._availability.connection
        return connection.channel.pid if connection is not None else None

    @property
    def status(self) -> Status:
        return self._availability.status

    # From the configuration

    def adopt(self, config: ServerConfig) -> None:
        """Use an edited entry that needs no new start."""
        self._written_secrets = config.secrets
        if self._learnt:
            config = replace(config, secrets=config.secrets.union(*self._learnt))
        is_edited, self._config = config != self._config, config
        self._known.adopt(config)
        if config.startup != "auto":
            self._is_lazy = config.startup == "lazy"
        self.calls.adopt(config)
        self._restarts.adopt(config)
        self._watch_idleness()
        self.calls.release()
        state = self._availability.state
        is_idle = self._availability.dialect is None and state in (State.STOPPED, State.READY)  # or is about to stop
        is_given_up = state is State.FAILED and is_edited
        is_wanted = is_given_up if config.startup == "auto" else not self._is_lazy and (is_idle or is_given_up)
        if self._opening is not None and is_wanted:
            self._availability.wanted.set()

    def retire(self) -> None:
        """Record that it is stopped because its entry was edited."""
        self._availability.ending = "the configuration changed"

    # From the router

    def open(self, opening: Opening) -> None:
        """Record the client; start, unless it is lazy and its lists are known."""
        self.recall(opening)
        self._opening = opening
        if self._config.startup == "auto":
            uses = self._dependencies.last_uses
            is_unused = uses is not None and not uses.is_recent(self._config)
            # A change of a pinned server is found by reading its lists, so it is started every time. One whose files
            # change is being worked on.
            is_always_started = self._config.pin_tools or self._config.watch
            self._is_lazy = self._known.is_complete and is_unused and not is_always_started
        if not self._is_lazy or not self._known.is_complete:
            self._availability.wanted.set()

    def note_session(self) -> None:
        """Record whether a remote server keeps state of the connection that it has now, for later starts."""
        connection = self._availability.connection
        if connection is not None and connection.is_http:
            has_session = connection.channel.has_session()
            self._known.record_sharing(replace(self._known.sharing, has_session=has_session))

    def note_private(self, reason: str) -> None:
        """Record why clients must not share the server, for later starts."""
        if not self._known.sharing.private_because:
            self._known.record_sharing(replace(self._known.sharing, private_because=reason))

    def welcome(self) -> None:
        """Try once more for a client that joins, if it was given up."""
        if self._availability.state is State.FAILED:
            self._availability.wanted.set()

    def recall(self, opening: Opening) -> None:
        """Publish what is cached of it for such a client, without starting it."""
        if self._config.problem is not None:
            self._availability.set_reason(self._config.problem)
            return
        try:
            transport = transport_to(self._config, self._dependencies)
            program = transport.program()
        except CannotOpenChannelError as exc:  # it cannot be started, so what is cached cannot be called
            self._availability.set_reason(self._config.redactor.shortened(str(exc)))
        else:
            self._known.recall(opening, program, is_file=not transport.is_http)

    async def look_at_trust(self) -> None:
        """Compare the lists again if the user accepted something meanwhile."""
        try:
            await self._known.look_at_trust()
        except Exception:  # a bug here must not take the other backends down
            log.exception("! %s: bug while reading what was accepted", self.name)

    async def _compare_recalled(self) -> None:
        """Compare cached lists with the accepted definitions, whenever there are any."""
        while True:
            await self._known.recalled.wait()
            await self.compare_recalled_now()

    async def compare_recalled_now(self) -> None:
        """Compare them once; a server that is started and not pinned lists its own soon."""
        now = self._availability
        if not self._config.pin_tools and (now.connection is not None or now.wanted.is_set()):
            self._known.recalled.clear()
            return
        try:
            await self._known.compare_recalled()
        except Exception:  # a bug here must not take the other backends down
            log.exception("! %s: bug while comparing cached lists", self.name)

    def opened(self) -> "list[Open]":
        """Return every difference between the accepted definitions and its lists; may block.

        Raises:
            OSError: the record cannot be read.
        """
        return self._known.opened()

    def look_again(self, kind: Kind) -> None:
        """Read a list again after a client listed, if its TTL expired or the backend does not announce its changes."""
        if self._availability.dialect is not None:
            self._known.look_again(self._availability.dialect, kind)

    def due_change(self, kind: Kind) -> Callable[[], bool] | None:
        """Return a function that is true until the announced change is read; `None` if no change was announced.

        A restart of a server under development counts as one: a model calls the tool that it has just written.
        """
        if self._config.watch and self._is_starting(kind):
            return partial(self._is_starting, kind)
        dialect, is_due = self._availability.dialect, self._known.due_change(kind)
        if dialect is None or is_due is None:
            return None
        return lambda: self._availability.dialect is dialect and is_due()

    def set_log_level(self, level: str) -> None:
        """Set the level now, and at every start."""
        self.log_level = level
        if self._availability.dialect is not None:
            self._availability.dialect.set_log_level(level)

    def roots_changed(self) -> None:
        """Announce that the client's roots changed."""
        if self._availability.dialect is not None:
            self._availability.dialect.roots_changed()
        elif self._availability.state is State.STARTING:
            self._is_roots_news = True

    def pause_reading(self) -> None:
        """Read nothing for now: the client does not read."""
        self._paused = True
        if self._availability.connection is not None:
            self._availability.connection.channel.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        if self._availability.connection is not None:
            self._availability.connection.channel.resume_reading()

    # Restarts of a server under development

    def restart(self) -> Callable[[], bool]:
        """Restart it, or start it; return a function that is true until it has listed its tools, or has failed."""
        self._availability.wanted.set()
        self._restart("a client asked for it", REQUEST_SECONDS)
        awaited = self._restarts.starts + 1
        return lambda: self._is_unsettled(awaited)

    def _is_unsettled(self, start: int) -> bool:
        """Return whether the result of a start, by its number, is still to come."""
        if self._restarts.is_over or self._restarts.starts < start:
            return not self._restarts.is_over
        return self._is_starting(Kind.TOOLS)

    def _is_starting(self, kind: Kind) -> bool:
        """Return whether its list is still to be read after a start."""
        if self._availability.state is State.READY:
            return not self._known.is_compared(kind, 0)
        return self._availability.state in (State.STARTING, State.RESTARTING)

    def _on_files_changed(self, path: str) -> None:
        """Restart it, unless it is stopped: then its next start uses the changed files."""
        if self._availability.state is not State.STOPPED:
            self._restart(f"{path} changed")

    def _restart(self, why: str, least_seconds: float = 0.0) -> None:
        state = self._availability.state
        if state in (State.STOPPED, State.STOPPING) or self._restarts.is_due:
            return
        log.info("= %s: restarting, because %s", self.name, why)
        self._restarts.begin(least_seconds)
        self._availability.wanted.set()
        if state in (State.STARTING, State.READY):
            self._availability.ending = f"search-mcp restarts it, because {why}"
            self._advance(Event.RESTART)
        connection = self._availability.connection
        if connection is not None:
            connection.restart()

    def terminate(self) -> None:
        """Ask it to end now; it is not started again."""
        self._advance(Event.TERMINATE)
        if self._availability.connection is not None:
            self._availability.connection.channel.terminate()

    def abort(self) -> None:
        """End it by force; it is not started again."""
        self._advance(Event.TERMINATE)
        if self._availability.connection is not None:
            self._availability.connection.channel.kill()

    # Its task

    async def run(self) -> None:
        """Keep it running while it is wanted; cancelled, stop it and return."""
        async with anyio.create_task_group() as self.calls.tasks:
            self._restarts.follow(self.calls.tasks)
            self.calls.tasks.start_soon(self._compare_recalled)
            await self._run()

    async def _run(self) -> None:
        failures = 0
        try:
            while True:
                await self._availability.wanted.wait()
                await anyio.lowlevel.checkpoint_if_cancelled()  # an event that is set does not check for it
                self._availability.wanted.clear()
                self._availability.retry_at = None
                if self._restarts.is_due:
                    await self._restarts.settled()
                    self._availability.ending, failures = None, 0
                    self._known.era = self._known.era or self._restarts.era
                if self._config.pin_tools and self._known.recalled.is_set():
                    await self.compare_recalled_now()  # before the loop is busy with the start of many servers
                if self._availability.state is State.STOPPING:
                    await anyio.sleep_forever()  # it was terminated; our own end follows
                self._restarts.note_start()
                self._advance(Event.START)
                self._ready_at, self._is_roots_news = None, False
                is_hopeless, is_session_lost = self._config.problem is not None, False
                reason: str | None = None
                retry_after_seconds = 0.0
                try:
                    await self._connect()
                except NeedsLoginError as ended:
                    failures = 0
                    self._pause_until_login(self._config.redactor.shortened(str(ended)))
                    continue
                except EndedError as ended:
                    reason, retry_after_seconds = str(ended), ended.retry_after_seconds
                    is_hopeless = is_hopeless or isinstance(ended, HopelessError)
                    is_session_lost = isinstance(ended, SessionLostError)
                except Exception as exc:  # a bug here must not take the other backends down
                    log.exception("! %s: bug", self.name)
                    reason = f"internal error: {exc!r}"
                if self._availability.state is State.STOPPING:
                    await anyio.sleep_forever()  # it was terminated; our own end follows
                if self._restarts.is_due:
                    continue
                if reason is None:  # it was stopped because it was idle
                    self._advance(Event.STOP)
                    self._advance(Event.STOPPED)
                    continue
                failures = 1 if self._was_settled() else failures + 1
                reason = self._config.redactor.shortened(reason)
                if self._ready_at is None:
                    self._known.record_failure(reason)
                    # An address may be reachable again soon; nothing is started for it.
                    is_hopeless = is_hopeless or (self._config.remote is None and is_lasting(reason))
                delay = None if is_hopeless else self._dependencies.backoff.delay(failures, self._dependencies.jitter())
                if is_session_lost and failures == 1:
                    delay = 0.0
                await self._back_off(reason, None if delay is None else max(delay, retry_after_seconds))
        finally:
            self._advance(Event.STOP)
            self.calls.refuse()
            self._restarts.is_over = True
            self._advance(Event.STOPPED)

    def _pause_until_login(self, reason: str) -> None:
        """Wait until the user has logged in, or a call needs it."""
        remedy = self._config.login
        log.warning("! %s: it needs a login%s; run `%s`", self.name, f": {reason}" if reason else "", remedy)
        self._availability.set_reason(reason or None, remedy)
        self._availability.wanted.clear()
        self._known.record_failure(reason, remedy)
        if self._availability.state is not State.STOPPING:
            self._advance(Event.NEED_LOGIN)
        self.calls.wait_for_login(reason)

    def _was_settled(self) -> bool:
        ready_at, settled = self._ready_at, self._dependencies.backoff.settled_seconds
        return ready_at is not None and self._dependencies.clock() - ready_at > settled

    async def _back_off(self, reason: str, delay: float | None) -> None:
        """Wait for the next try, or give up; if a call needs it after that, it gets one more try."""
        log.warning("! %s: %s", self.name, reason)
        self._availability.set_reason(reason)
        self._availability.retry_at = self._dependencies.clock() + delay if delay is not None else None
        was_ready = self._availability.state is State.READY
        self._advance(Event.ENDED)
        if delay is None:
            self._advance(Event.GIVE_UP)
            self.calls.refuse()
            self._availability.wanted.clear()
            return
        if not was_ready:  # else they arrived while an ended server was cleaned up, and may be served by the next
            self.calls.refuse()
        await self._restarts.sleep(delay)
        self._availability.wanted.set()

    async def _connect(self) -> None:
        """Start it and serve until it is not needed any more.

        Raises:
            EndedError: it could not be started or opened, or it ended.
        """
        assert self._opening is not None, "open comes first"
        if self._config.problem is not None:
            raise EndedError(self._config.problem)
        known = self._known.era
        first = known or self._opening.era
        # Some legacy servers exit on an unknown request: at the second start they are not probed.
        eras = [first] if known or self._config.protocol != "auto" else [first, first.other]
        config = await self._filled()
        for era in eras:
            try:
                await self._connect_once(config, self._opening, era)
                return
            except ExitedOnOpeningError as exited:
                reason = str(exited)
                if self._availability.state is State.STOPPING or self._restarts.is_due or is_lasting(reason):
                    break
        raise EndedError(reason)

    async def _filled(self) -> ServerConfig:
        """Return the entry with the values of its sources of secrets.

        Raises:
            EndedError: a source cannot be read, or its value does not fit its place.
        """
        if self._config.unfilled is None:
            return self._config
        fill = await self._dependencies.run_blocking(_load_filled)
        written = replace(self._config, secrets=self._written_secrets)
        try:
            filled = await fill(written, self._dependencies)
        except CannotOpenChannelError as exc:
            raise EndedError(str(exc)) from exc
        self._conceal(filled.secrets)
        if filled.problem is not None:
            raise EndedError(filled.problem)
        filled = replace(filled, secrets=self._config.secrets)
        self.calls.filled = filled
        if self._availability.state is State.STOPPING:
            await anyio.sleep_forever()  # our own end follows
        return filled

    def _conceal(self, secrets: frozenset[str]) -> None:
        """Hide values of sources of secrets in messages and in the log; those of earlier starts may be quoted, too."""
        self._dependencies.conceal(secrets - self._written_secrets)
        self._learnt = [*(each for each in self._learnt if each != secrets), secrets][-MOST_LEARNT:]
        self._config = replace(self._config, secrets=self._written_secrets.union(*self._learnt))
        self._known.adopt(self._config)
        self.calls.adopt(self._config)

    async def _connect_once(self, config: ServerConfig, opening: Opening, era: Era) -> None:
        dependencies = self._dependencies
        started = dependencies.clock()
        try:
            connection = await Connection.begin(config, dependencies, self._known.input_schema)
        except CannotOpenChannelError as exc:
            raise EndedError(str(exc)) from exc
        self._availability.connection = connection
        if self._paused:
            connection.channel.pause_reading()
        try:
            server_capabilities = await self._restarts.unless_due(
                partial(opened, connection, config, dependencies, opening, era)
            )
            self._restarts.era = server_capabilities.era
            self._known.meet(server_capabilities, is_http=connection.is_http)
            self._availability.start_seconds = dependencies.clock() - started
            await self._serve(connection, opening, server_capabilities)
        except EndedError as ended:
            if not ended.is_era_known:
                self._known.era = None
            raise
        finally:
            self._idleness.stop()
            await connection.stop()
            self._availability.connection = None

    async def _serve(self, connection: Connection, opening: Opening, server_capabilities: ServerCapabilities) -> None:
        from search_mcp.dialects.back.opening import back_dialect  # not before `initialize` is answered

        dialect = back_dialect(
            self.name,
            connection.peer,
            server_capabilities,
            opening,
            self._known.hear,
            self._known.mark_stale,
            partial(self.calls.on_unanswered, connection),
        )
        connection.open(dialect)
        # Calls that came while it was starting have set it, and it must not start again once it is idle.
        self._availability.wanted.clear()
        if self._is_roots_news:
            dialect.roots_changed()
        self._availability.set_reason(None)
        self._ready_at = self._dependencies.clock()
        self._advance(Event.OPENED)
        if self.log_level is not None:
            dialect.set_log_level(self.log_level)
        self.calls.subscribe_again(dialect)
        connection.hear_early()
        self.calls.release()
        self._idleness.interrupt()
        self._watch_idleness()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._known.keep, dialect)
            await connection.over.wait()
            tasks.cancel_scope.cancel()
        if connection.lacks_login is not None:
            raise NeedsLoginError(connection.lacks_login)
        if connection.channel.has_ended():
            how = connection.how_it_ended()
            raise SessionLostError(how) if connection.is_rejecting else EndedError(how)

    def _watch_idleness(self) -> None:
        seconds = self._config.idle_stop_seconds or (IDLE_STOP_SECONDS if self._is_lazy else None)
        self._idleness.watch(seconds if self._availability.dialect is not None else None)

    def _is_idle(self) -> bool:
        dialect = self._availability.dialect
        return dialect is not None and dialect.is_idle() and self.calls.is_unused and self._known.is_complete

    def _stop_idle(self, seconds: float) -> None:
        log.info("= %s: idle for %g s, stopped", self.name, seconds)
        if self._availability.connection is not None:
            self._availability.connection.retire()

    def _end_without_login(self, reason: str) -> None:
        """End the connection, because the server lists nothing without a login."""
        connection = self._availability.connection
        if connection is not None:
            connection.lacks_login = reason
            connection.on_rejecting()

    def _advance(self, event: Event) -> None:
        self._availability.state = lifecycle.advance(self._availability.state, event)
        log.debug("= %r", self)
        self._availability.publish()


def _load_filled() -> Callable[[ServerConfig, Dependencies], Awaitable[ServerConfig]]:
    from search_mcp.backends.secret_sources import filled

    return filled
