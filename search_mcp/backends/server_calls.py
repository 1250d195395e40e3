"""The calls of one server: carried out now, held until they can be, or refused.

Decides what a call waits for (the server, a reading of its list, a login), and how it ends if its connection does not
answer it. The supervisor decides when there is a connection, `time_limit` how long a call may take.
"""

import math
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from search_mcp.backends.availability import Availability
from search_mcp.backends.connection import Connection
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.held_calls import MOST_HELD, HeldCall, HeldCalls
from search_mcp.backends.idleness import Idleness
from search_mcp.backends.known_lists import KnownLists
from search_mcp.backends.last_uses import PRECISION_SECONDS
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.backends.time_limit import limited
from search_mcp.catalog.arguments import redacted
from search_mcp.dialects import BackDialect
from search_mcp.model.calls import Call, CallLater, Outcome, Reply, Result, Retry, unheard
from search_mcp.model.errors import HiddenByReadOnly, Lost, NotRun, NotRunning, NotStarting
from search_mcp.model.names import Action, Kind, State
from search_mcp.model.servers import News, Status
from search_mcp.wire.errors import PeerError, WireError
from search_mcp.wire.inflight import Fate, RequestFailure
from search_mcp.wire.structs import Struct, field, replace

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from search_mcp.backends.remote.user_login import UserLogin

Subscriptions: TypeAlias = dict[tuple[Action, str], Call]
"""By what one client subscribed to: a resource's URI or a task's id."""
_LIST_OF = {
    Action.CALL_TOOL: Kind.TOOLS,
    Action.GET_PROMPT: Kind.PROMPTS,
    Action.COMPLETE_PROMPT: Kind.PROMPTS,
}
"""By action, the list of a pinned server that must be compared with the accepted definitions before the action."""
_UNDOES = {Action.UNSUBSCRIBE: Action.SUBSCRIBE, Action.UNFOLLOW_TASK: Action.FOLLOW_TASK}
_UNDONE_BY = {done: undone for undone, done in _UNDOES.items()}
_SUBSCRIBING = frozenset(_UNDONE_BY)


class Left(Struct, frozen=True):
    """The subscriptions and waiting calls that a client had at a server when it left."""

    subscriptions: Subscriptions = field(default_factory=dict)
    held: Sequence[HeldCall] = ()


class ServerCalls:
    """The calls and subscriptions of the clients of one server, through all its starts."""

    def __init__(
        self,
        entry: ServerEntry,
        availability: Availability,
        known: KnownLists,
        idleness: Idleness,
        publish: Callable[[News], None],
        later: CallLater,
        dependencies: Dependencies,
    ) -> None:
        self._entry, self._publish, self._later, self._dependencies = entry, publish, later, dependencies
        self._availability, self._known, self._idleness = availability, known, idleness
        known.on_compared = self.release
        known.on_failed = self._refuse_waiting
        # Made again on every connection: by what was subscribed to, the call of each client session that did.
        self._subscriptions: dict[tuple[Action, str], dict[object, Call]] = {}
        self._held = HeldCalls()
        self._next_date = -math.inf  # the time at which a tool call is dated again
        self.successors: weakref.WeakSet[ServerCalls] = weakref.WeakSet()
        """Those of edited entries, which waiting calls were given to."""
        self._login: UserLogin | None = None  # since one was missing
        self.tasks: TaskGroup | None = None
        """The tasks of the server, while it runs."""

    @property
    def name(self) -> str:
        return self._availability.name

    @property
    def is_unused(self) -> bool:
        """Return whether no call waits, and no client has a subscription."""
        return not self._held and not self._subscriptions

    # From the clients

    def submit(self, call: Call, target: str) -> None:
        """Carry out a call now or once the server is ready; refuse it if the server cannot be."""
        config, now = self._entry.config, self._dependencies.last_call.record()
        if config.unfilled is not None:
            call.reply.steps.append(self._without_secrets)
        if now >= self._next_date and call.action is Action.CALL_TOOL:
            self._date(now)
        connection = self._availability.connection
        if connection is not None and connection.dialect is not None and connection.channel.is_congested():
            call.reply(self._not_running("it does not read its input, and much waits already"))
            return
        if config.call_timeout_seconds is not None or config.max_call_seconds is not None:
            call = limited(call, config.call_timeout_seconds, config.max_call_seconds, self._later, self._late)
        self._pass_on(call, target)

    def _date(self, now: float) -> None:
        """Record that a tool of the server is used now, for processes that start later."""
        self._next_date = now + PRECISION_SECONDS
        if self._dependencies.last_uses is not None:
            self._dependencies.last_uses.record(self._entry.config, self._dependencies.file_queue)

    def _without_secrets(self, outcome: Outcome | None) -> Outcome | None:
        """Remove the values of sources of secrets from an error: the clients' own configurations do not have them."""
        return (
            PeerError(redacted(outcome.error, self._entry.config.secrets))
            if isinstance(outcome, PeerError)
            else outcome
        )

    def _late(self, reply: Reply, how: str) -> WireError:
        """Return the error for a call whose time is up: one that still waits has not run."""
        return self._not_running(self._availability.reason or how) if self.is_holding(reply) else Lost(self.name, how)

    def is_holding(self, reply: Reply) -> bool:
        """Return whether the call with this reply waits here, or at the server of the edited entry."""
        waits_for_login = self._login is not None and reply in self._login.waiting
        return reply in self._held or waits_for_login or any(each.is_holding(reply) for each in self.successors)

    def _not_running(self, reason: str) -> WireError:
        return NotRunning(Status(self.name, self._availability.state, reason))

    def _pass_on(self, call: Call, target: str) -> None:
        """Give a call to the server now, or hold it until that is possible."""
        connection, kind = self._availability.connection, self._deciding_list(call)
        dialect = connection.dialect if connection is not None else None
        # A change that is announced while the call waits is not waited for: a server may announce changes endlessly.
        reading = self._known.lists[kind].due_reading() if kind is not None else 0
        if dialect is not None and (kind is None or self._known.lists[kind].is_compared(reading)):
            self._start(dialect, call, target, kind)
        elif not self._held.hold(call, target, reading):
            call.reply(self._not_running(f"{MOST_HELD} calls wait for it already"))
        elif dialect is None:
            self._availability.wanted.set()

    def _deciding_list(self, call: Call) -> Kind | None:
        """Return the list that has to be read on this connection before a call; `None` if there is none."""
        config = self._entry.config
        if config.pin_tools or (call.tried and Retry.OUTDATED in call.tried):
            return _LIST_OF.get(call.action)
        if config.read_only or call.unless_read_only is not None:
            return Kind.TOOLS if call.action is Action.CALL_TOOL else None
        return None

    def _waits_for_list(self, held: HeldCall) -> bool:
        """Return whether a call needs a reading of its list that is still to come on this connection."""
        kind = self._deciding_list(held.call)
        return kind is not None and not self._known.lists[kind].is_compared(held.reading)

    def _unless_read_only(self, call: Call) -> WireError | None:
        """Return the answer to a call of a tool that is not declared read-only; `None` if any tool may be called."""
        if self._entry.config.read_only and call.action is Action.CALL_TOOL:
            return HiddenByReadOnly(call.target, self.name)
        return call.unless_read_only

    def _refusal(self, kind: Kind, call: Call, target: str) -> WireError | None:
        """Return why a call is refused by what the list says of its target, if it is."""
        refusal = self._unless_read_only(call)
        if refusal is not None and not self._known.is_read_only(target):
            return refusal
        if self._entry.config.pin_tools:
            return self._known.comparison.refusal(self._known.lists[kind], target, call.target)
        return None

    def _start(self, dialect: BackDialect, call: Call, target: str, kind: Kind | None) -> None:
        if kind is not None and (refusal := self._refusal(kind, call, target)) is not None:
            call.reply(refusal)
            return
        self._idleness.interrupt()
        if call.action in _SUBSCRIBING:
            self._subscriptions.setdefault((call.action, target), {})[call.caller.session] = call
        elif call.action in _UNDOES and self._unsubscribe(call.caller.session, _UNDOES[call.action], target):
            call.reply(Result({}))
            return
        dialect.submit(call, target)

    def _unsubscribe(self, session: object, action: Action, target: str) -> bool:
        """Forget a client's subscription; return whether another client has it, too, so that it goes on."""
        subscribers = self._subscriptions.pop((action, target), {})
        subscribers.pop(session, None)
        if subscribers:
            self._subscriptions[action, target] = subscribers
        return bool(subscribers)

    # From the supervisor

    def subscribe_again(self, dialect: BackDialect) -> None:
        """Make every subscription on a new connection."""
        for (_, target), subscribers in self._subscriptions.items():
            dialect.submit(replace(next(iter(subscribers.values())), reply=unheard()), target)

    def release(self) -> None:
        """Start the calls that waited for the server or for its list."""
        dialect = self._availability.dialect
        if dialect is None or not self._held:
            return
        for held in self._held.take(lambda held: not self._waits_for_list(held)):
            self._start(dialect, held.call, held.target, self._deciding_list(held.call))

    def refuse(self) -> None:
        """Refuse the calls that wait for the server."""
        held = self._held.take()
        status = self._availability.status
        error = NotStarting if self._entry.config.watch else NotRunning
        status = replace(status, reason=status.reason or self._availability.ending)
        for each in held:
            each.call.reply(error(status))
        if self._login is not None and status.state is State.STOPPING:
            self._login.refuse_waiting()

    def wait_for_login(self, reason: str) -> None:
        """Let the calls that wait for the server wait for the login that it lacks."""
        login = self._missing_login()
        for held in self._held.take():
            login.wait(held.call, held.target, reason)

    def _refuse_waiting(self, kind: Kind, reason: str) -> None:
        """Refuse the calls that wait for a list that cannot be read now."""
        if self._availability.dialect is None:
            return  # they wait for the server
        for held in self._held.take(lambda held: _LIST_OF.get(held.call.action) is kind and self._waits_for_list(held)):
            held.call.reply(NotRun(self.name, f"its list of {kind.value} could not be read: {reason}"))

    # From the connection

    def on_unanswered(self, connection: Connection, call: Call, target: str, failure: RequestFailure | None) -> None:
        """Reply to a call that its connection does not answer, or hold it for the next connection."""
        if failure is None:
            ending = self._availability.ending
            call.reply(Lost(self.name, "ended during the call", ending or connection.how_it_ended()))
            return
        reason = self._entry.config.redactor.shortened(failure.reason)
        if failure.fate is Fate.LOST:
            call.reply(Lost(self.name, "gave no answer", reason))
        elif failure.fate is Fate.OUTDATED:
            self._send_after_reading(call, target, failure)
        elif failure.fate is Fate.UNAUTHORIZED:
            self._send_after_login(call, target, reason)
        elif failure.fate is Fate.REFUSED or Retry.REJECTED in call.tried:
            call.reply(NotRun(self.name, reason))
        else:
            self._pass_on(call.again(Retry.REJECTED), target)

    def _send_after_reading(self, call: Call, target: str, failure: RequestFailure) -> None:
        """Have the tools read again, and send a call once more after that."""
        if Retry.OUTDATED in call.tried and failure.error is not None:
            call.reply(PeerError(failure.error))
            return
        self._known.mark_stale({Kind.TOOLS}, is_announced=False)
        self._pass_on(call.again(Retry.OUTDATED), target)

    def _send_after_login(self, call: Call, target: str, reason: str) -> None:
        """Let a call wait for the login that it lacks if the user can be asked, else refuse it."""
        if self._availability.state is State.READY:
            why = f"a call needed a login; {reason}" if reason else "a call needed a login"
            self._availability.explain(why, self._entry.config.login)
        self._missing_login().wait(call, target, reason)

    def _missing_login(self) -> "UserLogin":
        if self._login is None:
            from search_mcp.backends.remote.user_login import UserLogin

            run_blocking = self._dependencies.run_blocking
            config = self._entry.filled or self._entry.config
            self._login = made = UserLogin(config, run_blocking, self._on_login, self._publish)
            if self.tasks is not None:
                self.tasks.start_soon(made.run)
        self._login.need()
        return self._login

    def _on_login(self) -> None:
        """Go on after the user has logged in."""
        assert self._login is not None
        if self._availability.state is State.READY:
            self._availability.explain(None)
        else:
            self._availability.wanted.set()
        for held in self._login.take():
            self._pass_on(held.call, held.target)

    # From the leases

    def hand_over(self, session: object) -> Left:
        """Give up the subscriptions and waiting calls of one client."""
        theirs = {
            key: subscribers[session] for key, subscribers in self._subscriptions.items() if session in subscribers
        }
        for action, target in theirs:
            self._unsubscribe(session, action, target)
        held = self._held.take(lambda each: each.call.caller.session is session)
        if self._login is not None:
            for each in self._login.take(session):
                # The edit may have changed the credentials.
                each.call = replace(each.call, tried=each.call.tried - {Retry.LOGIN})
                held.append(each)
        return Left(theirs, held)

    def take_over(self, predecessor: "ServerCalls", left: Left) -> None:
        """Serve what a client left at the server of the entry before an edit."""
        predecessor.successors.add(self)
        dialect = self._availability.dialect
        for key, call in left.subscriptions.items():
            is_new = key not in self._subscriptions
            self._subscriptions.setdefault(key, {})[call.caller.session] = call
            if is_new and dialect is not None:
                dialect.submit(replace(call, reply=unheard()), key[1])
            elif dialect is None:
                self._availability.wanted.set()
        for each in left.held:
            self._pass_on(each.call, each.target)

    def end(self, subscriptions: Subscriptions) -> None:
        """End the subscriptions of a client that left, except those that other clients have, too."""
        dialect = self._availability.dialect
        for (action, target), call in subscriptions.items():
            if dialect is not None and (action, target) not in self._subscriptions:
                dialect.submit(Call(_UNDONE_BY[action], target, {}, None, call.caller, unheard()), target)
