"""One backend from its first start to its end: started, opened, served, restarted, stopped.

The actor behind the `Backend` of the model. It decides when there is a connection, and which calls wait for one. The
dialects decide what is said on it, `lifecycle` when to try again, `known_lists` what the backend lists.
"""

import asyncio
import logging
import weakref
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from search_mcp.backends import lifecycle
from search_mcp.backends.cache import SharingRecord
from search_mcp.backends.channel import CannotOpenChannelError
from search_mcp.backends.connection import Connection
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.held_calls import MOST_HELD, HeldCall, HeldCalls
from search_mcp.backends.idleness import Idleness
from search_mcp.backends.known_lists import KnownLists
from search_mcp.backends.lifecycle import Event
from search_mcp.backends.time_limit import Limited
from search_mcp.backends.transports import transport_to
from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import BackDialect, CannotOpenError, CannotReachError, CannotSpeakError, NotLoggedInError
from search_mcp.model.calls import Call, CallLater
from search_mcp.model.errors import HiddenByReadOnly, Lost, NotRun, NotRunning
from search_mcp.model.names import Action, Era, Kind, State
from search_mcp.model.servers import News, Opening, ServerCapabilities, StateChanged, Status
from search_mcp.wire.errors import PeerError, WireError
from search_mcp.wire.inflight import Cancel, Fate, RequestFailure, cancel_nothing
from search_mcp.wire.peer import ConnectionEndedError
from search_mcp.wire.structs import replace

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from search_mcp.backends.pin_records import Open
    from search_mcp.backends.remote.user_login import UserLogin

log = logging.getLogger(__name__)

IDLE_STOP_SECONDS = 300.0
"""Time that a lazy backend may be idle before it is stopped, unless its entry sets another."""


class EndedError(Exception):
    """The connection to the backend ended, or could not be opened; the text is the reason."""

    def __init__(self, reason: str, retry_after_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds
        """Time that the server wants to be left alone."""


class HopelessError(EndedError):
    """Another start would end in the same way until something else is changed."""


class NeedsLoginError(EndedError):
    """Another start would end in the same way until the user has logged in; the text may be empty."""


class SessionLostError(EndedError):
    """The server does not know the session any more: the next connection can be opened at once."""


class Supervisor:
    """One configured server. `run` is its task; all else is called from outside of that task."""

    def __init__(
        self,
        config: ServerConfig,
        publish: Callable[[News], None],
        later: CallLater,
        dependencies: Dependencies,
    ) -> None:
        self._config, self._publish, self._later, self._dependencies = config, publish, later, dependencies
        self._known = KnownLists(config, publish, dependencies)
        self._known.on_compared = self._release_held
        self._known.on_failed = self._refuse_waiting
        self._known.on_unauthorized = self._end_without_login
        self._state = State.STOPPED
        self._reason: str | None = None
        self._retry_at: float | None = None
        self._start_seconds: float | None = None
        self._ready_at: float | None = None
        self._opening: Opening | None = None
        self._is_lazy = config.startup == "lazy"  # starts with its first call, stops when idle
        self._connection: Connection | None = None
        self._subscriptions: Subscriptions = {}  # made again on every connection
        self._held = HeldCalls()
        self._wanted = asyncio.Event()  # a client needs it
        self._idleness = Idleness(dependencies.clock, later, self._is_idle, self._stop_idle)
        self._takers: weakref.WeakSet[Supervisor] = weakref.WeakSet()  # supervisors that waiting calls were given to
        self._log_level: str | None = None
        self._is_roots_news = False  # the client's roots changed while it was starting
        self._user_login: UserLogin | None = None  # since one was missing
        self._tasks: TaskGroup | None = None  # while it runs
        self._paused = False
        self._ending: str | None = None  # the reason, if an edit stops it

    def __repr__(self) -> str:
        connection = self._connection
        details = f" {connection.channel.describe()} {connection.peer!r}" if connection is not None else ""
        return f"<Backend {self.name} {self._state.name}{details}>"

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def _dialect(self) -> BackDialect | None:
        """The dialect that takes its calls; `None` while it is not ready."""
        return self._connection.dialect if self._connection is not None else None

    @property
    def is_ready(self) -> bool:
        return self._state is State.READY

    @property
    def era(self) -> Era | None:
        """The era that it was last opened in, in this process or an earlier one; `None` while unknown."""
        return self._known.era

    @property
    def sharing(self) -> SharingRecord:
        """What this process or an earlier one saw about sharing it between clients."""
        return self._known.sharing

    @property
    def status(self) -> Status:
        retry_after = max(0.0, self._retry_at - self._dependencies.clock()) if self._retry_at is not None else None
        failure = self._known.failure if self._state is State.STOPPED else None
        return Status(
            self.name,
            self._state,
            self._reason or (failure.reason if failure is not None else None),
            retry_after,
            self._known.capabilities,
            self._start_seconds,
            failed_lately=self._known.failed_lately,
            lacked_login=failure is not None and failure.needs_login,
            is_about_changed=self._known.is_about_changed,
        )

    # From the configuration

    def is_started_like(self, config: ServerConfig) -> bool:
        """Return whether an edited entry is served by the same process or connection."""
        return identity.is_started_alike(self._config, config)

    def adopt(self, config: ServerConfig) -> None:
        """Use an edited entry that needs no new start."""
        is_edited, self._config = config != self._config, config
        self._known.adopt(config)
        if config.startup != "auto":
            self._is_lazy = config.startup == "lazy"
        self._watch_idleness()
        self._release_held()
        is_idle = self._dialect is None and self._state in (State.STOPPED, State.READY)  # or is about to be stopped
        is_given_up = self._state is State.FAILED and is_edited
        is_wanted = is_given_up if config.startup == "auto" else not self._is_lazy and (is_idle or is_given_up)
        if self._opening is not None and is_wanted:
            self._wanted.set()

    def succeed(self, predecessor: "Supervisor") -> None:
        """Take over the client's log level, subscriptions and waiting calls from the backend of the entry before."""
        self._log_level, self._subscriptions, self._held = predecessor.hand_over()
        self._held.wait_for_another_server()
        if self._held:
            self._wanted.set()

    def hand_over(self) -> "tuple[str | None, Subscriptions, HeldCalls]":
        """Give up the client's log level, subscriptions and waiting calls."""
        held, self._held = self._held, HeldCalls()
        if self._user_login is not None:
            for each in self._user_login.take():
                again = replace(each.call, waited_for_login=False)  # the edit may have changed the credentials
                each.cancel = held.hold(again, each.target) or cancel_nothing
        return self._log_level, self._subscriptions, held

    def hand_over_of(self, is_leaving: Callable[[Call], bool]) -> "tuple[Subscriptions, list[HeldCall]]":
        """Give up the subscriptions and waiting calls of some clients."""
        leaving = {key: call for key, call in self._subscriptions.items() if is_leaving(call)}
        for key in leaving:
            del self._subscriptions[key]
        return leaving, self._held.take(lambda held: is_leaving(held.call))

    def _is_held_elsewhere(self, call: Call) -> bool:
        return any(each.is_holding(call) for each in self._takers)

    def is_holding(self, call: Call) -> bool:
        """Return whether a call waits here, or where it was given to."""
        return call in self._held or self._is_held_elsewhere(call)

    def give_to(self, taker: "Supervisor", is_leaving: Callable[[Call], bool]) -> None:
        """Have another supervisor serve the subscriptions and waiting calls of some clients."""
        self._takers.add(taker)
        taker.take_over(*self.hand_over_of(is_leaving))

    def keep(self, subscriptions: "Subscriptions") -> None:
        """Make subscriptions again on later connections; on this one they are made already."""
        self._subscriptions.update(subscriptions)

    def undo(self, subscriptions: "Subscriptions") -> None:
        """End subscriptions of clients that are gone, if there is a connection on which they were made."""
        if self._dialect is None:
            return
        for (action, target), call in subscriptions.items():
            end = Call(_UNDONE_BY[action], target, {}, None, call.caller, reply=lambda _outcome: None)
            self._dialect.submit(end, target)

    def take_over(self, subscriptions: "Subscriptions", held: "list[HeldCall]") -> None:
        """Serve subscriptions and waiting calls that another supervisor gave up."""
        for (_, target), call in subscriptions.items():
            self._pass_on(call, target)
        for each in held:
            each.cancel = self._pass_on(each.call, each.target)

    def retire(self) -> None:
        """Record that it is stopped because its entry was edited."""
        self._ending = "the configuration changed"

    # From the router

    def open(self, opening: Opening) -> None:
        """Record the client; start, unless it is lazy and its lists are known."""
        self.recall(opening)
        self._opening = opening
        if self._config.startup == "auto":
            uses = self._dependencies.last_uses
            is_unused = uses is not None and not uses.is_recent(self._config)
            # A change of a pinned server is found by reading its lists, so it is started every time.
            self._is_lazy = self._known.is_complete and is_unused and not self._config.pin_tools
        if not self._is_lazy or not self._known.is_complete:
            self._wanted.set()

    def note_session(self) -> None:
        """Record whether the server keeps state of the connection that it has now, for later processes, too."""
        if self._connection is not None:
            has_session = self._connection.channel.has_session()
            self._known.record_sharing(replace(self._known.sharing, has_session=has_session))

    def note_private(self, reason: str) -> None:
        """Record why clients must not share the server, for later processes, too."""
        self._known.record_sharing(replace(self._known.sharing, private_because=reason))

    def welcome(self) -> None:
        """Try once more for a client that joins, if it was given up."""
        if self._state is State.FAILED:
            self._wanted.set()

    def recall(self, opening: Opening) -> None:
        """Publish what is cached of it for such a client, without starting it."""
        if self._config.problem is not None:
            self._reason = self._config.problem
            return
        try:
            transport = transport_to(self._config, self._dependencies)
            program = transport.program()
        except CannotOpenChannelError as exc:  # it cannot be started, so what is cached cannot be called
            self._reason = self._config.redactor(str(exc))
        else:
            self._known.recall(opening, program, is_file=not transport.is_http)

    async def look_at_trust(self) -> None:
        """Compare the lists again if the user accepted something meanwhile."""
        try:
            await self._known.look_at_trust()
        except Exception:  # a bug here must not take the other backends down
            log.exception("! %s: bug while reading what was accepted", self.name)

    async def compare_recalled(self) -> None:
        """Compare cached lists with the accepted definitions, whenever there are any."""
        while True:
            await self._known.recalled.wait()
            await self.compare_recalled_now()

    async def compare_recalled_now(self) -> None:
        """Compare them once; a server that is started and not pinned lists its own soon."""
        if not self._config.pin_tools and (self._connection is not None or self._wanted.is_set()):
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

    def submit(self, call: Call, target: str) -> Cancel:
        """Carry out a call now or once the server is ready; refuse it if the server cannot be."""
        self._dependencies.last_call.record()
        if call.action is Action.CALL_TOOL and self._dependencies.last_uses is not None:
            self._dependencies.last_uses.record(self._config, self._dependencies.file_queue)
        if (
            self._connection is not None
            and self._connection.dialect is not None
            and self._connection.channel.is_congested()
        ):
            call.reply(NotRunning(self.name, self._state, "it does not read its input, and much waits already"))
            return cancel_nothing
        seconds, at_most = self._config.call_timeout_seconds, self._config.max_call_seconds
        if seconds is None and at_most is None:
            return self._pass_on(call, target)
        limited = Limited(call, seconds, at_most, self._later, partial(self._late, self._held))
        limited.cancel_backend = self._pass_on(limited.call, target)
        return limited.cancel

    def _late(self, held: HeldCalls, call: Call, how: str) -> WireError:
        """Return the error for a call whose time is up: one that still waits has not run."""
        if (
            call in held
            or self._is_held_elsewhere(call)
            or (self._user_login is not None and call in self._user_login.waiting)
        ):
            return NotRunning(self.name, self._state, self._reason or how)
        return Lost(self.name, how)

    def _pass_on(self, call: Call, target: str) -> Cancel:
        """Give a call to the backend now, or hold it until there is one."""
        dialect = self._dialect
        reading = self._list_reading(call)
        if dialect is not None and not self._waits_for_list(call, reading):
            return self._start(dialect, call, target)
        cancel = self._held.hold(call, target, reading)
        if cancel is None:
            call.reply(NotRunning(self.name, self._state, f"{MOST_HELD} calls wait for it already"))
            return cancel_nothing
        if dialect is None:
            self._wanted.set()
        return cancel

    def _on_unanswered(self, connection: Connection, call: Call, target: str, failure: RequestFailure | None) -> Cancel:
        """Reply to a call that its connection does not answer, or hold it for the next connection."""
        if failure is None:
            call.reply(Lost(self.name, "ended during the call", self._ending or connection.how_it_ended()))
            return cancel_nothing
        reason = self._config.redactor(failure.reason)
        if failure.fate is Fate.LOST:
            call.reply(Lost(self.name, "gave no answer", reason))
        elif failure.fate is Fate.OUTDATED:
            return self._send_after_reading(call, target, failure)
        elif failure.fate is Fate.UNAUTHORIZED:
            return self._wait_for_login(call, target, reason)
        elif failure.fate is Fate.REFUSED or call.was_rejected:
            call.reply(NotRun(self.name, reason))
        else:
            return self._pass_on(replace(call, was_rejected=True), target)
        return cancel_nothing

    def _send_after_reading(self, call: Call, target: str, failure: RequestFailure) -> Cancel:
        """Have the tools read again, and send a call once more after that."""
        if call.was_outdated and failure.error is not None:
            call.reply(PeerError(failure.error))
            return cancel_nothing
        self._known.mark_stale({Kind.TOOLS}, is_announced=False)
        return self._pass_on(replace(call, was_outdated=True), target)

    def _wait_for_login(self, call: Call, target: str, reason: str) -> Cancel:
        """Let a call wait for the login that it lacks if the user can be asked, else refuse it."""
        if self._state is State.READY:
            self._reason = f"a call needed a login; {self._login_remedy(reason)}"
            self._publish(StateChanged(self.name, self.status))
        return self._missing_login().wait(call, target, reason)

    def _missing_login(self) -> "UserLogin":
        if self._user_login is None:
            loaded: Any = import_module("search_mcp.backends.remote.user_login")
            self._user_login = made = loaded.UserLogin(
                self._config, self._dependencies.run_blocking, self._on_login, self._publish
            )
            if self._tasks is not None:
                self._tasks.start_soon(made.run)
        self._user_login.need()
        return self._user_login

    def _on_login(self) -> None:
        """Go on after the user has logged in."""
        assert self._user_login is not None
        if self._state is State.READY:
            self._reason = None
            self._publish(StateChanged(self.name, self.status))
        elif self._opening is not None:
            self._wanted.set()
        for held in self._user_login.take():
            held.cancel = self._pass_on(held.call, held.target)

    def _end_without_login(self, reason: str) -> None:
        """End the connection, because the server lists nothing without a login."""
        if self._connection is not None:
            self._connection.lacks_login = reason
            self._connection.on_rejecting()

    def _login_remedy(self, reason: str) -> str:
        remedy = f"run {self._config.command_for('auth', 'login')}"
        return f"{reason}; {remedy}" if reason else remedy

    def _list_reading(self, call: Call) -> int:
        """Return the number of the reading of the call's list that includes every change announced until now."""
        kind = _COMPARED.get(call.action)
        return 0 if kind is None else self._known.due_reading(kind)

    def _waits_for_list(self, call: Call, reading: int) -> bool:
        """Return whether a call needs a reading of its list that is still to come on this connection.

        A change that is announced while the call waits is not waited for: a server may announce changes endlessly.
        """
        kind = _COMPARED.get(call.action)
        if kind is None or self._known.is_compared(kind, reading):
            return False
        return call.was_outdated or self._config.pin_tools or self._unless_read_only(call) is not None

    def _release_held(self) -> None:
        """Start the calls that waited for the server or for its list."""
        dialect = self._dialect
        if dialect is None or not self._held:
            return
        for held in self._held.take(lambda held: not self._waits_for_list(held.call, held.reading)):
            held.cancel = self._start(dialect, held.call, held.target)

    def _refuse_waiting(self, kind: Kind, reason: str) -> None:
        """Refuse the calls that wait for a list that cannot be read now."""
        if self._dialect is None:
            return  # they wait for the server
        for held in self._held.take(
            lambda held: _COMPARED.get(held.call.action) is kind and self._waits_for_list(held.call, held.reading)
        ):
            held.call.reply(NotRun(self.name, f"its list of {kind.value} could not be read: {reason}"))

    def _unless_read_only(self, call: Call) -> WireError | None:
        """Return the answer to a call of a tool that is not declared read-only; `None` if any tool may be called."""
        if call.action is Action.CALL_TOOL and self._config.read_only:
            return HiddenByReadOnly(call.target, self.name)
        return call.unless_read_only

    def _start(self, dialect: BackDialect, call: Call, target: str) -> Cancel:
        refusal = self._unless_read_only(call)
        if refusal is not None and not self._known.is_read_only(target):
            call.reply(refusal)
            return cancel_nothing
        self._idleness.interrupt()
        if self._config.pin_tools and (kind := _COMPARED.get(call.action)) is not None:
            refused = self._known.refusal(kind, target, call.target)
            if refused is not None:
                call.reply(refused)
                return cancel_nothing
        if call.action in _SUBSCRIBING:
            self._subscriptions[call.action, target] = replace(call, reply=lambda _outcome: None)
        elif call.action in _UNDOES:
            self._subscriptions.pop((_UNDOES[call.action], target), None)
        return dialect.submit(call, target)

    def look_again(self, kind: Kind) -> None:
        """Read a list again after a client listed, if its TTL expired or the backend does not announce its changes."""
        if self._dialect is not None:
            self._known.look_again(self._dialect, kind)

    def due_change(self, kind: Kind) -> Callable[[], bool] | None:
        """Return a function that is true until the announced change is read; `None` if no change was announced."""
        dialect, is_due = self._dialect, self._known.due_change(kind)
        if dialect is None or is_due is None:
            return None
        return lambda: self._dialect is dialect and is_due()

    def set_log_level(self, level: str) -> None:
        """Set the level now, and at every start."""
        self._log_level = level
        if self._dialect is not None:
            self._dialect.set_log_level(level)

    def prepare_log_level(self, level: str | None) -> None:
        """Set the level at every start from now on, but not on this connection; `None` sets none."""
        self._log_level = level

    def roots_changed(self) -> None:
        """Announce that the client's roots changed."""
        if self._dialect is not None:
            self._dialect.roots_changed()
        elif self._state is State.STARTING:
            self._is_roots_news = True

    def pause_reading(self) -> None:
        """Read nothing for now: the client does not read."""
        self._paused = True
        if self._connection is not None:
            self._connection.channel.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        if self._connection is not None:
            self._connection.channel.resume_reading()

    def terminate(self) -> None:
        """Ask it to end now; it is not started again."""
        self._advance(Event.TERMINATE)
        if self._connection is not None:
            self._connection.channel.terminate()

    def kill(self) -> None:
        """End it by force; it is not started again."""
        self._advance(Event.TERMINATE)
        if self._connection is not None:
            self._connection.channel.kill()

    # Its task

    async def run(self) -> None:
        """Keep it running while it is wanted; cancelled, stop it and return."""
        async with anyio.create_task_group() as self._tasks:
            await self._run()

    async def _run(self) -> None:
        failures = 0
        try:
            while True:
                await self._wanted.wait()
                await anyio.lowlevel.checkpoint_if_cancelled()  # an event that is set does not check for it
                self._wanted.clear()
                self._retry_at = None
                if self._config.pin_tools and self._known.recalled.is_set():
                    await self.compare_recalled_now()  # before the loop is busy with the start of many servers
                if self._state is State.STOPPING:
                    await anyio.sleep_forever()  # it was terminated; our own end follows
                self._advance(Event.START)
                self._ready_at, self._is_roots_news = None, False
                is_hopeless, is_session_lost = self._config.problem is not None, False
                reason: str | None = None
                retry_after_seconds = 0.0
                try:
                    await self._connect()
                except NeedsLoginError as ended:
                    failures = 0
                    self._pause_until_login(self._config.redactor(str(ended)))
                    continue
                except EndedError as ended:
                    reason, retry_after_seconds = str(ended), ended.retry_after_seconds
                    is_hopeless = is_hopeless or isinstance(ended, HopelessError)
                    is_session_lost = isinstance(ended, SessionLostError)
                except Exception as exc:  # a bug here must not take the other backends down
                    log.exception("! %s: bug", self.name)
                    reason = f"internal error: {exc!r}"
                if self._state is State.STOPPING:
                    await anyio.sleep_forever()  # it was terminated; our own end follows
                if reason is None:  # it was stopped because it was idle
                    self._advance(Event.STOP)
                    self._advance(Event.STOPPED)
                    continue
                failures = 1 if self._was_settled() else failures + 1
                reason = self._config.redactor(reason)
                if self._ready_at is None:
                    self._known.record_failure(reason)
                delay = None if is_hopeless else self._dependencies.backoff.delay(failures, self._dependencies.jitter())
                if is_session_lost and failures == 1:
                    delay = 0.0
                await self._back_off(reason, None if delay is None else max(delay, retry_after_seconds))
        finally:
            self._advance(Event.STOP)
            self._refuse_held()
            self._advance(Event.STOPPED)

    def _pause_until_login(self, reason: str) -> None:
        """Wait until the user has logged in, or a call needs it."""
        self._reason = self._login_remedy(reason)
        log.warning("! %s: it needs a login: %s", self.name, self._reason)
        self._wanted.clear()
        self._known.record_failure(self._reason, needs_login=True)
        login = self._missing_login()
        if self._state is not State.STOPPING:
            self._advance(Event.NEED_LOGIN)
        for held in self._held.take():
            held.cancel = login.wait(held.call, held.target, reason)

    def _was_settled(self) -> bool:
        ready_at, settled = self._ready_at, self._dependencies.backoff.settled_seconds
        return ready_at is not None and self._dependencies.clock() - ready_at > settled

    async def _back_off(self, reason: str, delay: float | None) -> None:
        """Wait for the next try, or give up; if a call needs it after that, it gets one more try."""
        log.warning("! %s: %s", self.name, reason)
        self._reason = reason
        self._retry_at = self._dependencies.clock() + delay if delay is not None else None
        was_ready = self._state is State.READY
        self._advance(Event.ENDED)
        if delay is None:
            self._advance(Event.GIVE_UP)
            self._refuse_held()
            self._wanted.clear()
            return
        if not was_ready:  # else they arrived while an ended server was cleaned up, and may be served by the next
            self._refuse_held()
        await anyio.sleep(delay)
        self._wanted.set()

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
        for era in eras:
            try:
                await self._connect_once(self._opening, era)
                return
            except _ExitedOnOpeningError as exited:
                reason = str(exited)
                self._known.era = None
                if self._state is State.STOPPING:
                    break
        raise EndedError(reason)

    async def _connect_once(self, opening: Opening, era: Era) -> None:
        started = self._dependencies.clock()
        try:
            self._connection = connection = await Connection.begin(
                self._config, self._dependencies, self._known.input_schema
            )
        except CannotOpenChannelError as exc:
            raise EndedError(str(exc)) from exc
        if self._paused:
            connection.channel.pause_reading()
        try:
            with anyio.fail_after(self._config.start_timeout_seconds):
                server_capabilities = await _back_dialects().negotiate(
                    connection.peer,
                    opening,
                    pinned=self._config.protocol,
                    first=era,
                    probe_seconds=None if connection.is_http else self._dependencies.probe_seconds,
                )
            self._known.meet(server_capabilities, is_http=connection.is_http)
            self._start_seconds = self._dependencies.clock() - started
            await self._serve(connection, opening, server_capabilities)
        except ConnectionEndedError:
            raise _ExitedOnOpeningError(connection.how_it_ended()) from None
        except CannotSpeakError as exc:
            self._known.era = None
            raise HopelessError(str(exc)) from exc
        except NotLoggedInError as exc:
            raise NeedsLoginError(str(exc)) from exc
        except CannotReachError as exc:  # this says nothing about its era
            raise EndedError(str(exc), exc.retry_after_seconds) from exc
        except CannotOpenError as exc:
            self._known.era = None
            raise EndedError(str(exc)) from exc
        except TimeoutError:
            seconds = self._config.start_timeout_seconds
            how = f"it did not answer within {seconds:g} s of being started"
            self._known.era = None
            raise EndedError(connection.with_stderr_tail(how)) from None
        finally:
            self._idleness.stop()
            await connection.stop()
            self._connection = None

    async def _serve(self, connection: Connection, opening: Opening, server_capabilities: ServerCapabilities) -> None:
        unanswered = partial(self._on_unanswered, connection)
        dialect: BackDialect = _back_dialects().back_dialect(
            self.name,
            connection.peer,
            server_capabilities,
            opening,
            self._known.hear,
            self._known.mark_stale,
            unanswered,
        )
        connection.open(dialect)
        self._wanted.clear()  # by calls that came while it was starting: it must not start again once it is idle
        if self._is_roots_news:
            dialect.roots_changed()
        self._reason = None
        self._ready_at = self._dependencies.clock()
        self._advance(Event.OPENED)
        if self._log_level is not None:
            dialect.set_log_level(self._log_level)
        for (_, target), subscription in self._subscriptions.items():
            dialect.submit(subscription, target)
        connection.hear_early()
        self._release_held()
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
        self._idleness.watch(seconds if self._dialect is not None else None)

    def _is_idle(self) -> bool:
        dialect = self._dialect
        is_unused = not self._held and not self._subscriptions and self._known.is_complete
        return dialect is not None and dialect.is_idle() and is_unused

    def _stop_idle(self, seconds: float) -> None:
        log.info("= %s: idle for %g s, stopped", self.name, seconds)
        if self._connection is not None:
            self._connection.retire()

    def _advance(self, event: Event) -> None:
        self._state = lifecycle.advance(self._state, event)
        log.debug("= %r", self)
        self._publish(StateChanged(self.name, self.status))

    def _refuse_held(self) -> None:
        held = self._held.take()
        status = self.status
        for each in held:
            reason = status.reason or self._ending
            each.call.reply(NotRunning(self.name, status.state, reason, status.retry_after_seconds))
        if self._user_login is not None and self._state is State.STOPPING:
            self._user_login.refuse_waiting()


Subscriptions: TypeAlias = dict[tuple[Action, str], Call]
"""By what was subscribed to: a resource's URI or a task's id."""
_COMPARED = {
    Action.CALL_TOOL: Kind.TOOLS,
    Action.GET_PROMPT: Kind.PROMPTS,
    Action.COMPLETE_PROMPT: Kind.PROMPTS,
}
"""By action, the list of a pinned server that must be compared with the accepted definitions before the action."""
_UNDOES = {Action.UNSUBSCRIBE: Action.SUBSCRIBE, Action.UNFOLLOW_TASK: Action.FOLLOW_TASK}
_UNDONE_BY = {done: undone for undone, done in _UNDOES.items()}
_SUBSCRIBING = frozenset(_UNDONE_BY)


def _back_dialects() -> Any:
    """Load the dialects of backends with the first connection, not before `initialize` is answered."""
    return import_module("search_mcp.dialects.back.opening")


class _ExitedOnOpeningError(EndedError):
    """It ended before it was open, perhaps because of the request that it was probed with."""
