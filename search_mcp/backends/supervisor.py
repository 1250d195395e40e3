"""The life of one server, from its first start to its end: started, opened, idle, restarted, given up, stopped.

It decides when there is a connection. `server_calls` decides which calls wait for a connection, the dialects write the
messages on it, `lifecycle` decides when to try again, `known_lists` reads the lists.
"""

import logging
from collections.abc import Callable
from functools import partial

import anyio

from search_mcp.backends.availability import Availability
from search_mcp.backends.cache import SharingRecord
from search_mcp.backends.channel import CannotOpenChannelError, MissingFile
from search_mcp.backends.connection import Connection
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.idleness import Idleness
from search_mcp.backends.known_lists import KnownLists
from search_mcp.backends.lifecycle import Ended, Event, Next
from search_mcp.backends.opening import opened
from search_mcp.backends.pin_records import Open
from search_mcp.backends.restarts import Restarts
from search_mcp.backends.server_calls import ServerCalls
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.config.schema import ServerConfig
from search_mcp.model.calls import CallLater
from search_mcp.model.names import Era, Kind, State
from search_mcp.model.reasons import is_lasting
from search_mcp.model.servers import News, Opening, ServerCapabilities, Status
from search_mcp.wire.structs import replace

log = logging.getLogger(__name__)

IDLE_STOP_SECONDS = 300.0
"""Time that a lazy backend may be idle before it is stopped, unless its entry sets another."""

LOOK_SECONDS = 2.0
"""Time between looks for a file that the user has to write."""


class Supervisor:
    """One configured server. `run` is its task; other code calls the other public methods."""

    def __init__(
        self,
        config: ServerConfig,
        publish: Callable[[News], None],
        later: CallLater,
        dependencies: Dependencies,
    ) -> None:
        self._entry, self._publish, self._dependencies = ServerEntry(config, dependencies), publish, dependencies
        self._known = KnownLists(self._entry, publish, dependencies)
        self._availability = Availability(self._entry, self._known, publish, dependencies)
        self._idleness = Idleness(dependencies.clock, later, self._is_idle, self._stop_idle)
        self.calls = ServerCalls(
            self._entry, self._availability, self._known, self._idleness, publish, later, dependencies
        )
        self._is_lazy = config.startup == "lazy"  # starts with its first call, stops when idle
        self._failures = 0  # starts in a row that failed
        self._ready_at = 0.0  # at its last start
        self._opening: Opening | None = None
        self.log_level: str | None = None
        """The level that is set at every start; `None` for none."""
        self._is_roots_news = False  # the client's roots changed while it was starting
        self._paused = False
        self._restarts = Restarts(self._entry, self._availability, self._known, dependencies)

    def __repr__(self) -> str:
        return repr(self._availability)

    @property
    def _config(self) -> ServerConfig:
        return self._entry.config

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def is_ready(self) -> bool:
        return self._availability.state is State.READY

    @property
    def era(self) -> Era | None:
        """The era that it was last opened in, in this process or an earlier one; `None` while unknown."""
        return self._known.remembered.era

    @property
    def sharing(self) -> SharingRecord:
        """Signs in this process or an earlier one about sharing it between clients."""
        return self._known.remembered.sharing

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
        was_pinned = self._known.comparison.is_pinned
        is_edited = self._entry.adopt(config)
        if self._known.comparison.is_pinned is not was_pinned:
            self._known.comparison.begin_anew()
            self._known.recalled.set()
        if config.startup != "auto":
            self._is_lazy = config.startup == "lazy"
        self._restarts.follow_edited()
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
        """Record, for later starts, whether a remote server has a session on its present connection."""
        connection = self._availability.connection
        if connection is not None and connection.is_http:
            has_session = connection.channel.has_session()
            remembered = self._known.remembered
            remembered.record_sharing(replace(remembered.sharing, has_session=has_session))

    def note_private(self, reason: str) -> None:
        """Record why clients must not share the server, for later starts."""
        remembered = self._known.remembered
        if not remembered.sharing.private_because:
            remembered.record_sharing(replace(remembered.sharing, private_because=reason))

    def welcome(self) -> None:
        """Try to start a server that was given up once more, for a client that joins."""
        if self._availability.state is State.FAILED:
            self._availability.wanted.set()

    def recall(self, opening: Opening) -> None:
        """Publish its cached lists and capabilities for such a client, without starting it."""
        if self._config.problem is not None:
            self._availability.set_reason(self._config.problem)
            return
        try:
            self._known.recall(opening)
        except CannotOpenChannelError as exc:  # it cannot be started, so what is cached cannot be called
            self._availability.set_reason(self._config.redactor.shortened(str(exc)))

    async def look_at_trust(self) -> None:
        """Compare the lists again if the user accepted something meanwhile."""
        try:
            await self._known.look_at_trust()
        except Exception:  # a bug here must not take the other backends down
            log.exception("! %s: bug while reading what was accepted", self.name)

    async def _compare_recalled(self) -> None:
        """Compare cached lists whenever there are any."""
        while True:
            await self._known.recalled.wait()
            await self.compare_recalled_now()

    async def compare_recalled_now(self) -> None:
        """Compare cached lists with accepted definitions, unless the server runs or starts and is not pinned."""
        now = self._availability
        if not self._config.pin_tools and (now.connection is not None or now.wanted.is_set()):
            self._known.recalled.clear()
            return
        try:
            await self._known.compare_recalled()
        except Exception:  # a bug here must not take the other backends down
            log.exception("! %s: bug while comparing cached lists", self.name)

    def opened(self) -> list[Open]:
        """Return every difference between the accepted definitions and its lists; may block.

        Raises:
            OSError: the record cannot be read.
        """
        return list(self._known.comparison.opened(self._known.compared))

    def look_again(self, kind: Kind) -> None:
        """Read a list again after a client listed, if its TTL expired or the backend does not announce its changes."""
        if self._availability.dialect is not None:
            self._known.look_again(self._availability.dialect, kind)

    def due_change(self, kind: Kind) -> Callable[[], bool] | None:
        """Return a function that is true until the announced change is read; `None` if no change was announced.

        A restart of a server under development counts as one: a model calls the tool that it has just written.
        """
        if self._config.watch and self._restarts.is_starting(kind):
            return partial(self._restarts.is_starting, kind)
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

    def restart(self) -> Callable[[], bool]:
        """Restart it, or start it; return a function that is true until it has listed its tools, or has failed."""
        return self._restarts.request()

    def terminate(self) -> None:
        """Ask it to end now; it is not started again."""
        self._availability.advance(Event.TERMINATE)
        if self._availability.connection is not None:
            self._availability.connection.channel.terminate()

    def abort(self) -> None:
        """End it by force; it is not started again."""
        self._availability.advance(Event.TERMINATE)
        if self._availability.connection is not None:
            self._availability.connection.channel.kill()

    # Its task

    async def run(self) -> None:
        """Keep the server running while it is wanted; at a cancellation, stop it."""
        async with anyio.create_task_group() as self.calls.tasks:
            self._restarts.follow(self.calls.tasks)
            self.calls.tasks.start_soon(self._compare_recalled)
            await self._run()

    async def _run(self) -> None:
        try:
            while True:
                await self._until_wanted()
                self._restarts.note_start()
                self._availability.advance(Event.START)
                self._is_roots_news = False
                ending = await self._connect()
                if self._availability.state in (State.STOPPING, State.RESTARTING):
                    continue
                match ending.next:
                    case Next.REST:
                        self._availability.advance(Event.REST)
                    case Next.UNAUTHORIZED:
                        self._wait_for_login(self._config.redactor.shortened(ending.reason))
                    case _ if ending.missing is not None:
                        await self._wait_for_file(self._config.redactor.shortened(ending.reason), ending.missing)
                    case _:
                        await self._back_off(ending)
        finally:
            self._availability.advance(Event.STOP)
            self.calls.refuse()
            self._restarts.is_over = True
            self._availability.advance(Event.STOPPED)

    async def _until_wanted(self) -> None:
        """Wait until it is to be started."""
        await self._availability.wanted.wait()
        await anyio.lowlevel.checkpoint_if_cancelled()  # an event that is set does not check for it
        self._availability.wanted.clear()
        self._availability.retry_at = None
        if self._restarts.is_due:
            await self._restarts.settled()
            self._availability.ending, self._failures = None, 0
            self._known.remembered.era = self._known.remembered.era or self._restarts.era
        if self._config.pin_tools and self._known.recalled.is_set():
            await self.compare_recalled_now()  # before the loop is busy with the start of many servers
        if self._availability.state is State.STOPPING:
            await anyio.sleep_forever()  # it was terminated; our own end follows

    def _wait_for_login(self, reason: str) -> None:
        """Wait until the user has logged in, or a call needs it."""
        remedy = self._config.login
        log.warning("! %s: it needs a login%s; run `%s`", self.name, f": {reason}" if reason else "", remedy)
        self._failures = 0
        self._availability.set_reason(reason or None, remedy)
        self._availability.wanted.clear()
        self._known.remembered.record_failure(reason, remedy)
        self._availability.advance(Event.UNAUTHORIZED)
        self.calls.wait_for_login(reason)

    async def _wait_for_file(self, reason: str, missing: MissingFile) -> None:
        """Wait until the user has written a file, or a call needs the server all the same."""
        log.warning("! %s: %s; run `%s`", self.name, reason, missing.remedy)
        wanted, self._failures = self._availability.wanted, 0
        self._availability.set_reason(reason, missing.remedy)
        self._availability.advance(Event.GIVE_UP)
        self.calls.refuse()
        wanted.clear()
        while not wanted.is_set():
            with anyio.move_on_after(LOOK_SECONDS):
                await wanted.wait()
            if await self._dependencies.run_blocking(missing.is_replaced):
                wanted.set()

    async def _back_off(self, ending: Ended) -> None:
        """Wait for the next start, or give up; after that, a call that needs the server starts it once more."""
        reason, was_ready = self._config.redactor.shortened(ending.reason), self.is_ready
        self._failures = 1 if was_ready and self._was_settled() else self._failures + 1
        is_hopeless = ending.next is Next.GIVE_UP
        if not was_ready:
            self._known.remembered.record_failure(reason)
            # An address may be reachable again soon, and a try starts no process.
            is_hopeless = is_hopeless or (self._config.remote is None and is_lasting(reason))
        delay = None if is_hopeless else self._dependencies.backoff.delay(self._failures, self._dependencies.jitter())
        if ending.next is Next.AT_ONCE and self._failures == 1:
            delay = 0.0
        log.warning("! %s: %s", self.name, reason)
        self._availability.set_reason(reason)
        if delay is None:
            self._availability.advance(Event.GIVE_UP)
            self.calls.refuse()
            self._availability.wanted.clear()
            return
        delay = max(delay, ending.after_seconds)
        self._availability.retry_at = self._dependencies.clock() + delay
        self._availability.advance(Event.ENDED)
        if not was_ready:  # else they came while an ended server was cleaned up, and the next start may serve them
            self.calls.refuse()
        await self._restarts.sleep(delay)
        self._availability.wanted.set()

    def _was_settled(self) -> bool:
        return self._dependencies.clock() - self._ready_at > self._dependencies.backoff.settled_seconds

    async def _connect(self) -> Ended:
        """Start it and serve until the connection ends; return how it ended."""
        try:
            return await self._connect_in_its_era()
        except CannotOpenChannelError as exc:
            return Ended(str(exc), missing=exc.missing)
        except Exception as exc:  # a bug here must not take the other backends down
            log.exception("! %s: bug", self.name)
            return Ended(f"internal error: {exc!r}")

    async def _connect_in_its_era(self) -> Ended:
        assert self._opening is not None, "open comes first"
        if self._config.problem is not None:
            return Ended(self._config.problem, Next.GIVE_UP)
        known = self._known.remembered.era
        first = known or self._opening.era
        # Some legacy servers exit on an unknown request: at the second start they are not probed.
        eras = [first] if known or self._config.protocol != "auto" else [first, first.other]
        config = await self._entry.fill()
        if self._availability.state is State.STOPPING:
            await anyio.sleep_forever()  # our own end follows
        for era in eras:
            if era is not first:
                log.info("= %s: ended without an answer; starting it with the %s protocol", self.name, era.value)
            ending = await self._connect_once(config, self._opening, era)
            is_starting = self._availability.state is State.STARTING
            if ending.next is not Next.OTHER_ERA or not is_starting or is_lasting(ending.reason):
                break
        return ending

    async def _connect_once(self, config: ServerConfig, opening: Opening, era: Era) -> Ended:
        """Start it and serve until the connection ends.

        Raises:
            CannotOpenChannelError: it could not be started.
        """
        dependencies = self._dependencies
        started = dependencies.clock()
        connection = await Connection.begin(config, dependencies, self._known.input_schema)
        self._availability.connection = connection
        if self._paused:
            connection.channel.pause_reading()
        try:
            met = await self._restarts.unless_due(partial(opened, connection, config, dependencies, opening, era))
            if isinstance(met, Ended):
                self._known.remembered.era = self._known.remembered.era if met.is_era_known else None
                return met
            self._restarts.era = met.era
            self._known.meet(met, is_http=connection.is_http)
            self._availability.start_seconds = dependencies.clock() - started
            return await self._serve(connection, opening, met)
        finally:
            self._idleness.stop()
            await connection.stop()
            self._availability.connection = None

    async def _serve(self, connection: Connection, opening: Opening, server_capabilities: ServerCapabilities) -> Ended:
        from search_mcp.dialects.back.opening import back_dialect  # loaded with the first connection

        connection.dialect = dialect = back_dialect(
            self.name,
            connection.peer,
            server_capabilities,
            opening,
            self._publish,
            self._known.mark_stale,
            partial(self.calls.on_unanswered, connection),
        )
        # Calls that came while it was starting have set it, and it must not start again once it is idle.
        self._availability.wanted.clear()
        if self._is_roots_news:
            dialect.roots_changed()
        self._availability.set_reason(None)
        self._ready_at = self._dependencies.clock()
        self._availability.advance(Event.OPENED)
        if self.log_level is not None:
            dialect.set_log_level(self.log_level)
        self.calls.subscribe_again(dialect)
        connection.hear_early()
        self.calls.release()
        self._idleness.interrupt()
        self._watch_idleness()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._known.keep, dialect, connection.on_unauthorized)
            await connection.over.wait()
            tasks.cancel_scope.cancel()
        if connection.unauthorized is not None:
            return Ended(connection.unauthorized, Next.UNAUTHORIZED)
        if connection.channel.has_ended():
            return Ended(connection.how_it_ended(), Next.AT_ONCE if connection.is_rejecting else Next.RETRY)
        return Ended(next=Next.REST)

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
