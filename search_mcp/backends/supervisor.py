"""One backend through its lives: started, opened, served, restarted, stopped.

The actor behind the `Backend` of the model. It decides when there is a life, and what waits for one;
what is said in either era is the dialects' business, when to try again is `lifecycle`'s, what it offers
is `known`'s, what a name means is the router's.
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import anyio

from search_mcp.backends import lifecycle
from search_mcp.backends.connection import Connection
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.known_lists import KnownLists
from search_mcp.backends.lifecycle import Event
from search_mcp.backends.process.launching import Command, is_program
from search_mcp.backends.process.stderr_log import file_name
from search_mcp.backends.process.variables import child_environment, find_program, missing_program
from search_mcp.backends.time_limit import Limited
from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.config.secrets import redact
from search_mcp.dialects import BackDialect
from search_mcp.dialects.back.opening import CannotOpenError, CannotSpeakError, back_dialect, negotiate
from search_mcp.model.calls import Call, CallLater
from search_mcp.model.errors import HiddenByReadOnly, Lost, NotRunning
from search_mcp.model.names import Action, Era, Kind, State
from search_mcp.model.servers import News, Opening, ServerCapabilities, StateChanged, Status
from search_mcp.wire.errors import WireError
from search_mcp.wire.inflight import SENT_REQUESTS, Cancel, Reason, cancel_nothing
from search_mcp.wire.peer import ConnectionEndedError
from search_mcp.wire.structs import Struct, replace

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Open

log = logging.getLogger(__name__)

IDLE_STOP_SECONDS = 300.0
"""When a lazy backend stops, unless its entry says otherwise."""


class EndedError(Exception):
    """A life of the backend is over; the text says why."""


class HopelessError(EndedError):
    """Another life would end in the same way, until something else is changed."""


class Supervisor:
    """One configured server. `run` is its task; everything else is called from outside of it."""

    def __init__(
        self,
        config: ServerConfig,
        tell: Callable[[News], None],
        later: CallLater,
        dependencies: Dependencies,
    ) -> None:
        self._config, self._tell, self._later, self._world = config, tell, later, dependencies
        self._known = KnownLists(config, tell, dependencies)
        self._known.on_compared = self._release_held
        self._state = State.STOPPED
        self._reason: str | None = None
        self._retry_at: float | None = None
        self._start_seconds: float | None = None
        self._ready_at: float | None = None
        self._opening: Opening | None = None
        self._is_lazy = config.startup == "lazy"  # starts with its first call, stops when idle
        self._life: Connection | None = None
        self._subscriptions: _Subscriptions = {}  # made again in every life
        self._held: dict[_Held, None] = {}  # calls that came before it was ready, in order
        self._wanted = asyncio.Event()  # somebody needs it
        self._idle_since: float | None = None  # as far as was looked
        self._stop_watching_idleness: Callable[[], None] = lambda: None
        self._log_level: str | None = None
        self._paused = False
        self._ending: str | None = None  # why it is being stopped, if it is
        self._doomed = False  # its end is our own doing, or ours will be

    def __repr__(self) -> str:
        life = f" pid={self._life.child.pid} {self._life.peer!r}" if self._life is not None else ""
        return f"<Backend {self.name} {self._state.name}{life}>"

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def _dialect(self) -> BackDialect | None:
        """What takes its calls, while it is ready."""
        return self._life.dialect if self._life is not None else None

    @property
    def status(self) -> Status:
        retry_after = max(0.0, self._retry_at - self._world.clock()) if self._retry_at is not None else None
        failure = self._known.failure if self._state is State.STOPPED else None
        return Status(
            self.name,
            self._state,
            self._reason or (failure.reason if failure is not None else None),
            retry_after,
            self._known.capabilities,
            self._start_seconds,
            failed_lately=self._known.failed_lately,
            is_about_changed=self._known.is_about_changed,
        )

    # From the configuration

    def is_started_like(self, config: ServerConfig) -> bool:
        """Return whether an edited entry is served by the same process or connection."""
        return identity.is_started_alike(self._config, config)

    def adopt(self, config: ServerConfig) -> None:
        """Go over to an entry that is started alike."""
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
        """Take over what the client wants of the backend whose entry was edited."""
        self._log_level, self._subscriptions, self._held = predecessor.hand_over()
        if self._held:
            self._wanted.set()

    def hand_over(self) -> "tuple[str | None, _Subscriptions, dict[_Held, None]]":
        """Give up what the client wants of it: the log level, subscriptions, and calls that did not start."""
        held, self._held = self._held, {}
        return self._log_level, self._subscriptions, held

    def retire(self) -> None:
        """Take note that it is to be stopped because its entry was edited."""
        self._ending = "the configuration changed"

    # From the router

    def open(self, opening: Opening) -> None:
        """Get to know the client; start, unless it is lazy and its lists are known."""
        self.recall(opening)
        self._opening = opening
        if self._config.startup == "auto":
            uses = self._world.last_uses
            is_unused = uses is not None and not uses.is_recent(self._config)
            # Whether a pinned server changed its tools is seen when it lists them, so it is asked at every start.
            self._is_lazy = self._known.is_complete and is_unused and not self._config.pin_tools
        if not self._is_lazy or not self._known.is_complete:
            self._wanted.set()

    def recall(self, opening: Opening) -> None:
        """Tell what is remembered of it, as it was for such a client; nothing is started."""
        if self._config.problem is not None:
            self._reason = self._config.problem
            return
        try:
            program = self._program(self._environment())
        except EndedError as exc:  # it cannot be started, so what it once offered cannot be had either
            self._reason = redact(str(exc), self._config.secrets)
        else:
            self._known.recall(opening, program)

    async def look_at_trust(self) -> None:
        """Take note of what the user accepted meanwhile."""
        try:
            await self._known.look_at_trust()
        except Exception:  # a bug here must not take the other backends down
            log.exception("! %s: bug while looking at what was accepted", self.name)

    async def compare_recalled(self) -> None:
        """Compare what is remembered of it with what was accepted, whenever something is."""
        while True:
            await self._known.recalled.wait()
            await self.compare_recalled_now()

    async def compare_recalled_now(self) -> None:
        """Compare it once; of a server that is started and not pinned, its own lists are compared soon."""
        if not self._config.pin_tools and (self._life is not None or self._wanted.is_set()):
            self._known.recalled.clear()
            return
        try:
            await self._known.compare_recalled()
        except Exception:  # a bug here must not take the other backends down
            log.exception("! %s: bug while comparing what is remembered", self.name)

    def opened(self) -> "list[Open]":
        """Give every difference between what was accepted and what it lists now; may block.

        Raises:
            OSError: the record cannot be read.
        """
        return self._known.opened()

    def submit(self, call: Call, target: str) -> Cancel:
        """Carry out a call now, or as soon as it is ready; refuse it if it will not be."""
        self._world.last_call.note()
        if call.action is Action.CALL_TOOL and self._world.last_uses is not None:
            self._world.last_uses.note(self._config, self._world.file_queue)
        if self._life is not None and self._life.dialect is not None and self._life.child.is_congested():
            call.reply(NotRunning(self.name, self._state, "it does not read its input, and much waits already"))
            return cancel_nothing
        seconds, at_most = self._config.call_timeout_seconds, self._config.max_call_seconds
        if seconds is None and at_most is None:
            return self._pass_on(call, target)
        limited = Limited(call, seconds, at_most, self._later, partial(self._late, self._held))
        limited.cancel_backend = self._pass_on(limited.call, target)
        return limited.cancel

    def _late(self, waiting: "dict[_Held, None]", call: Call, how: str) -> WireError:
        """The error for a call whose time is up: nothing has run if it still waits here."""
        if any(held.call is call for held in waiting):
            return NotRunning(self.name, self._state, self._reason or how)
        return Lost(self.name, how)

    def _pass_on(self, call: Call, target: str) -> Cancel:
        """Give a call to the backend now, or hold it until there is one."""
        dialect = self._dialect
        if dialect is not None and not self._waits_for_list(call):
            return self._start(dialect, call, target)
        held = _Held(call, target)
        if len(self._held) >= SENT_REQUESTS:
            call.reply(NotRunning(self.name, self._state, f"{SENT_REQUESTS} calls wait for it already"))
            return cancel_nothing
        waiting = self._held  # a successor takes it over as it is
        waiting[held] = None
        if dialect is None:
            self._wanted.set()

        def cancel(reason: Reason) -> None:
            if held in waiting:
                del waiting[held]
            else:
                held.cancel(reason)

        return cancel

    def _waits_for_list(self, call: Call) -> bool:
        """Whether a list decides about a call that is still to be read in this life: an older one may differ."""
        kind = _COMPARED.get(call.action)
        if kind is None or self._known.is_compared(kind):
            return False
        return self._config.pin_tools or self._unless_read_only(call) is not None

    def _release_held(self) -> None:
        """Start the calls that waited for it, or for its list."""
        dialect = self._dialect
        if dialect is None or not self._held:
            return
        ready = [held for held in self._held if not self._waits_for_list(held.call)]
        for held in ready:
            del self._held[held]
        for held in ready:
            held.cancel = self._start(dialect, held.call, held.target)

    def _unless_read_only(self, call: Call) -> WireError | None:
        """The answer to a call if its tool is not declared read-only; `None` if any tool may be called."""
        if call.action is Action.CALL_TOOL and self._config.read_only:
            return HiddenByReadOnly(call.target, self.name)
        return call.unless_read_only

    def _start(self, dialect: BackDialect, call: Call, target: str) -> Cancel:
        refusal = self._unless_read_only(call)
        if refusal is not None and not self._known.is_read_only(target):
            call.reply(refusal)
            return cancel_nothing
        self._idle_since = None
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
        """Read a list that somebody looks at, if the backend does not say when it changes."""
        if self._dialect is not None:
            self._known.look_again(self._dialect, kind)

    def set_log_level(self, level: str) -> None:
        """Set the level now, and again whenever it is started."""
        self._log_level = level
        if self._dialect is not None:
            self._dialect.set_log_level(level)

    def roots_changed(self) -> None:
        """Tell it that the client's roots are others now."""
        if self._dialect is not None:
            self._dialect.roots_changed()

    def pause_reading(self) -> None:
        """Take nothing in for now: the client does not take it from us."""
        self._paused = True
        if self._life is not None:
            self._life.child.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        if self._life is not None:
            self._life.child.resume_reading()

    def signal(self, number: int) -> None:
        """Doom its process tree, if it runs; it is not started again."""
        self._doomed = True
        if self._life is not None:
            self._life.child.signal_tree(number)

    # Its life

    async def run(self) -> None:
        """Keep it running while it is wanted; cancelled, stop it and return."""
        failures = 0
        try:
            while True:
                await self._wanted.wait()
                await anyio.lowlevel.checkpoint_if_cancelled()  # which an event that is set does not look at
                self._wanted.clear()
                self._retry_at = None
                if self._config.pin_tools and self._known.recalled.is_set():
                    await self.compare_recalled_now()  # before the loop is busy with the start of many servers
                self._advance(Event.START)
                self._ready_at = None
                is_hopeless = self._config.problem is not None
                try:
                    await self._live()
                except EndedError as ended:
                    reason = str(ended)
                    is_hopeless = is_hopeless or isinstance(ended, HopelessError)
                except Exception as exc:  # a bug here must not take the other backends down
                    log.exception("! %s: bug", self.name)
                    reason = f"internal error: {exc!r}"
                else:
                    self._advance(Event.STOP)
                    self._advance(Event.STOPPED)
                    continue
                if self._doomed:
                    await anyio.sleep_forever()  # until our own end
                failures = 1 if self._was_settled() else failures + 1
                reason = redact(reason, self._config.secrets)
                if self._ready_at is None:
                    self._known.note_failure(reason)
                delay = None if is_hopeless else self._world.backoff.delay(failures, self._world.jitter())
                await self._back_off(reason, delay)
        finally:
            self._advance(Event.STOP)
            self._refuse_held()
            self._advance(Event.STOPPED)

    def _was_settled(self) -> bool:
        ready_at, settled = self._ready_at, self._world.backoff.settled_seconds
        return ready_at is not None and self._world.clock() - ready_at > settled

    async def _back_off(self, reason: str, delay: float | None) -> None:
        """Wait for the next try, or give up until it is wanted again: then it gets one more, not a series."""
        log.warning("! %s: %s", self.name, reason)
        self._reason = reason
        self._retry_at = self._world.clock() + delay if delay is not None else None
        was_ready = self._state is State.READY
        self._advance(Event.ENDED)
        if delay is None:
            self._advance(Event.GIVE_UP)
            self._refuse_held()
            self._wanted.clear()
            return
        if not was_ready:  # else they came while a dead one was cleared away, and nothing failed them yet
            self._refuse_held()
        await anyio.sleep(delay)
        self._wanted.set()

    async def _live(self) -> None:
        """Start it and serve until nobody needs it.

        Raises:
            EndedError: it could not be started or opened, or it ended.
        """
        assert self._opening is not None, "open comes first"
        if self._config.problem is not None:
            raise EndedError(self._config.problem)
        known = self._known.era
        first = known or self._opening.era
        # Some legacy servers exit on a request they do not know: started again, they are not probed.
        eras = [first] if known or self._config.protocol != "auto" else [first, first.other]
        for era in eras:
            try:
                await self._live_once(self._opening, era)
                return
            except _ExitedOnOpeningError as exited:
                reason = str(exited)
                self._known.era = None
        raise EndedError(reason)

    async def _live_once(self, opening: Opening, era: Era) -> None:
        started = self._world.clock()
        self._life = life = await self._begin()
        if self._paused:
            life.child.pause_reading()
        try:
            with anyio.fail_after(self._config.start_timeout_seconds):
                server_capabilities = await negotiate(
                    life.peer,
                    opening,
                    pinned=self._config.protocol,
                    first=era,
                    probe_seconds=self._world.probe_seconds,
                )
            self._known.meet(server_capabilities)
            self._start_seconds = self._world.clock() - started
            await self._serve(life, opening, server_capabilities)
        except ConnectionEndedError:
            raise _ExitedOnOpeningError(life.how_it_ended()) from None
        except CannotSpeakError as exc:
            self._known.era = None
            raise HopelessError(str(exc)) from exc
        except CannotOpenError as exc:
            self._known.era = None
            raise EndedError(str(exc)) from exc
        except TimeoutError:
            seconds = self._config.start_timeout_seconds
            how = f"it did not answer within {seconds:g} s of being started"
            self._known.era = None
            raise EndedError(life.with_last_words(how)) from None
        finally:
            self._stop_watching_idleness()
            await life.stop()
            self._life = None

    async def _begin(self) -> Connection:
        command = self._command()
        try:
            return await Connection.begin(self._config, command, self._world)
        except (OSError, ValueError) as exc:
            raise EndedError(f"it could not be started: {exc}") from exc

    def _command(self) -> Command:
        config, world = self._config, self._world
        environment = self._environment()
        log_file = world.log_folder / file_name(self.name) if world.log_folder is not None else None
        return Command(self._program(environment), config.args, environment, config.cwd, log_file, config.secrets)

    def _environment(self) -> Mapping[str, str]:
        world, config = self._world, self._config
        return child_environment(sys.platform, world.variables, config.env, config.inherit_env, world.home)

    def _program(self, environment: Mapping[str, str]) -> str:
        """Find what is to be run.

        Raises:
            EndedError: it is not there.
        """
        program = self._found(self._config.command, environment)
        if program is None:
            raise EndedError(missing_program(self._config.command, lambda other: bool(self._found(other, environment))))
        return program

    def _found(self, command: str, environment: Mapping[str, str]) -> str | None:
        return find_program(sys.platform, command, environment, self._config.cwd, is_program)

    async def _serve(self, life: Connection, opening: Opening, server_capabilities: ServerCapabilities) -> None:
        def lost() -> WireError:
            return Lost(self.name, "ended during the call", self._ending or life.how_it_ended())

        dialect = back_dialect(
            self.name, life.peer, server_capabilities, opening, self._known.hear, self._known.mark_stale, lost
        )
        life.open(dialect)
        self._reason = None
        self._ready_at = self._world.clock()
        self._advance(Event.OPENED)
        if self._log_level is not None:
            dialect.set_log_level(self._log_level)
        for (_, target), subscription in self._subscriptions.items():
            dialect.submit(subscription, target)
        life.hear_early()
        self._release_held()
        self._idle_since = None
        self._watch_idleness()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._known.keep, dialect)
            await life.over.wait()
            tasks.cancel_scope.cancel()
        if life.child.has_ended():
            raise EndedError(life.how_it_ended())

    def _watch_idleness(self) -> None:
        """Look whether it is idle, and again when it may have been for long enough."""
        self._stop_watching_idleness()
        seconds = self._config.idle_stop_seconds or (IDLE_STOP_SECONDS if self._is_lazy else None)
        life, dialect = self._life, self._dialect
        if seconds is None or life is None or dialect is None:
            return
        now = self._world.clock()
        if not dialect.is_idle() or self._held or self._subscriptions or not self._known.is_complete:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since >= seconds:
            log.info("= %s: idle for %g s, stopped", self.name, seconds)
            life.retire()
            return
        self._stop_watching_idleness = self._later(seconds, self._watch_idleness)

    def _advance(self, event: Event) -> None:
        self._state = lifecycle.advance(self._state, event)
        log.debug("= %r", self)
        self._tell(StateChanged(self.name, self.status))

    def _refuse_held(self) -> None:
        held = list(self._held)
        self._held.clear()
        status = self.status
        for each in held:
            reason = status.reason or self._ending
            each.call.reply(NotRunning(self.name, status.state, reason, status.retry_after_seconds))


_Subscriptions: TypeAlias = dict[tuple[Action, str], Call]
"""By what was subscribed to: a resource's URI or a task's id."""
_COMPARED = {
    Action.CALL_TOOL: Kind.TOOLS,
    Action.GET_PROMPT: Kind.PROMPTS,
    Action.COMPLETE_PROMPT: Kind.PROMPTS,
}
"""What a pinned server is given only after this list of its was compared with what was accepted."""
_UNDOES = {Action.UNSUBSCRIBE: Action.SUBSCRIBE, Action.UNFOLLOW_TASK: Action.FOLLOW_TASK}
_SUBSCRIBING = frozenset(_UNDOES.values())


class _ExitedOnOpeningError(EndedError):
    """It ended before it was open: perhaps because of how it was spoken to."""


class _Held(Struct, eq=False):
    """A call that waits for its backend; `cancel` works once the call was passed on."""

    call: Call
    target: str
    cancel: Cancel = lambda _reason: None
