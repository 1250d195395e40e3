"""Waiting for the lists of servers: before a client's first list, a search, or a call to a tool that is not listed yet.

Decides how long to wait, and does not know the use of the lists. If a server's list did not come in time, its lists are
not waited for again until there is news of them.
"""

import enum
import logging
from collections.abc import Callable, Sequence

from search_mcp.catalog.profiles import PARTIAL_SECONDS, Patience
from search_mcp.gateway.servers import Servers
from search_mcp.model.calls import Call, CallLater
from search_mcp.model.errors import NotRunning
from search_mcp.model.names import Kind
from search_mcp.wire import structs
from search_mcp.wire.errors import InternalError, WireError
from search_mcp.wire.inflight import Cancel, Reason, cancel_nothing
from search_mcp.wire.structs import Struct

log = logging.getLogger(__name__)


class _Waiting(Struct, eq=False):
    kinds: frozenset[Kind]
    servers: Sequence[str]
    act: Callable[[], None]
    patience: Patience | None
    """`None` waits without limit, also for lists that others gave up on."""
    is_awaited: Callable[[str, Kind], bool]
    """Returns whether a server's list of one kind is still waited for."""
    accepts_part: bool = False
    """Whether the lists of some servers are enough, because the first part of the patience is over."""
    stop_timer: Callable[[], None] = lambda: None


class AwaitedLists:
    """The calls and requests of one client that wait for lists.

    `may_come` returns whether a server's list is unknown and may still come; `has_entries` returns whether any list of
    these kinds has an entry.
    """

    def __init__(
        self,
        may_come: Callable[[str, Kind], bool],
        has_entries: Callable[[frozenset[Kind]], bool],
        later: CallLater,
    ) -> None:
        self._may_come, self._has_entries, self._later = may_come, has_entries, later
        self._waiting: dict[_Waiting, None] = {}  # in order
        self._overdue: set[tuple[str, Kind]] = set()

    def are_settled(self, kinds: frozenset[Kind], servers: Sequence[str]) -> bool:
        """Return whether each of these lists is known, cannot come any more, or is overdue."""
        return not _missing(kinds, servers, self._may_come) - self._overdue

    def when_settled(
        self,
        kinds: frozenset[Kind],
        servers: Sequence[str],
        act: Callable[[], None],
        patience: Patience | None,
        is_awaited: Callable[[str, Kind], bool] | None = None,
    ) -> Cancel:
        """Call `act` once these lists are settled or the patience ends; immediately if they are settled now.

        `is_awaited` replaces the test whether a server's list of one kind is still waited for.
        """
        waiting = _Waiting(kinds, servers, act, patience, is_awaited or self._may_come)
        if self._is_done(waiting):
            act()
            return cancel_nothing
        self._waiting[waiting] = None
        if patience is not None:
            waiting.stop_timer = self._later(patience.partial, lambda: self._accept_part(waiting))

        def cancel(_reason: Reason) -> None:
            self._forget(waiting)

        return cancel

    def on_news(self, server: str, kind: Kind) -> None:
        """Record that there is news of a list."""
        self._overdue.discard((server, kind))

    def expect_nothing(self, server: str) -> None:
        """Do not wait for a server's lists until there is news of them."""
        self._overdue |= {(server, kind) for kind in Kind}

    def forget_all(self) -> None:
        """Drop all waiting calls and requests: the client is gone."""
        for waiting in list(self._waiting):
            self._forget(waiting)

    def release_settled(self) -> None:
        """Release the calls and requests whose lists are settled."""
        for waiting in [each for each in self._waiting if self._is_done(each)]:
            self._release(waiting)

    def _is_done(self, waiting: _Waiting) -> bool:
        missing = _missing(waiting.kinds, waiting.servers, waiting.is_awaited)
        if waiting.accepts_part and self._has_entries(waiting.kinds):
            return True
        return not (missing if waiting.patience is None else missing - self._overdue)

    def _forget(self, waiting: _Waiting) -> None:
        if waiting in self._waiting:
            del self._waiting[waiting]
            waiting.stop_timer()

    def _accept_part(self, waiting: _Waiting) -> None:
        """Accept the lists of some servers from now on; at the end of the patience, do without any list."""
        assert waiting.patience is not None
        remaining = waiting.patience.most - waiting.patience.partial
        if remaining <= 0 or self._has_entries(waiting.kinds):
            self._release(waiting)
            return
        waiting.accepts_part = True
        waiting.stop_timer = self._later(remaining, lambda: self._release(waiting))

    def _release(self, waiting: _Waiting) -> None:
        if waiting.patience is not None:
            # Lists of every kind are overdue: Gemini CLI asks for prompts, tools and resources one after another.
            late = {server for server, _ in _missing(waiting.kinds, waiting.servers, self._may_come)}
            self._overdue |= _missing(frozenset(Kind), sorted(late), self._may_come)
        self._forget(waiting)
        try:
            waiting.act()
        except Exception:  # this runs in a timer or among a backend's news, which must go on
            log.exception("! bug in a call or request that waited for lists")


def _missing(
    kinds: frozenset[Kind], servers: Sequence[str], is_awaited: Callable[[str, Kind], bool]
) -> set[tuple[str, Kind]]:
    return {(server, kind) for server in servers for kind in kinds if is_awaited(server, kind)}


class _Stage(enum.Enum):
    """The stage of a call that waits for lists."""

    WAITING = enum.auto()
    SUBMITTED = enum.auto()
    OVER = enum.auto()


class WaitingCall:
    """A call that waits for lists and is then submitted again.

    `cancel` ends whichever of the two is under way: the waiting, or the call where it was submitted.
    """

    def __init__(self, call: Call, submit: Callable[[Call], Cancel], too_late: Callable[[], WireError]) -> None:
        self._call, self._submit_call, self._too_late = call, submit, too_late
        self._stage = _Stage.WAITING
        self._stop_waiting: Cancel = cancel_nothing
        self._stop_timer: Callable[[], None] = lambda: None
        self._cancel_submitted: Cancel = cancel_nothing

    def wait(
        self,
        when_settled: Callable[[Callable[[], None]], Cancel],
        later: CallLater,
        limit_seconds: float | None,
    ) -> Cancel:
        """Wait for the lists, or until the time limit; return a function that cancels the call."""
        if limit_seconds is not None:
            self._stop_timer = later(limit_seconds, self._give_up)
        stop_waiting = when_settled(self._submit)
        if self._stage is _Stage.WAITING:  # else the lists were there, and the call is on its way
            self._stop_waiting = stop_waiting
        return self.cancel

    def _submit(self) -> None:
        self._stage, self._stop_waiting = _Stage.SUBMITTED, cancel_nothing  # breaks a reference cycle
        self._stop_timer()
        try:
            self._cancel_submitted = self._submit_call(self._call)
        except Exception:  # a bug must cost its own call only
            log.exception("! bug while carrying out %s", self._call.target)
            self._call.reply(InternalError())

    def _give_up(self) -> None:
        self._end_waiting(None)
        self._call.reply(self._too_late())

    def cancel(self, reason: Reason) -> None:
        """End the waiting, or the submitted call."""
        if self._stage is _Stage.WAITING:
            self._stop_timer()
            self._end_waiting(reason)
        elif self._stage is _Stage.SUBMITTED:
            self._cancel_submitted(reason)

    def _end_waiting(self, reason: Reason) -> None:
        stop_waiting, self._stop_waiting, self._stage = self._stop_waiting, cancel_nothing, _Stage.OVER
        stop_waiting(reason)


class WaitingCalls:
    """Makes the calls of one client wait for lists."""

    def __init__(self, servers: Servers, lists: AwaitedLists, later: CallLater) -> None:
        self._servers, self._lists, self._later = servers, lists, later

    def patience(self) -> Patience:
        """The time that a call waits for the lists of several servers."""
        setting = self._servers.settings.first_list_seconds
        seconds = PARTIAL_SECONDS if setting == "auto" else setting
        return Patience(seconds, seconds)

    def wait(
        self,
        call: Call,
        kinds: frozenset[Kind],
        servers: Sequence[str],
        submit: Callable[[Call], Cancel],
        is_awaited: Callable[[str, Kind], bool] | None = None,
    ) -> Cancel:
        """Submit a call once these lists are known; for one server, wait up to the time limit of its calls.

        `is_awaited` replaces the test whether a server's list of one kind is still waited for.
        """
        is_one = len(servers) == 1

        def too_late() -> WireError:
            status = self._servers.status(servers[0])
            return NotRunning(status.server, status.state, status.reason or "it did not send its lists in time")

        def when_settled(act: Callable[[], None]) -> Cancel:
            return self._lists.when_settled(kinds, servers, act, None if is_one else self.patience(), is_awaited)

        limit = self._servers.limit_seconds(servers[0]) if is_one else None
        return WaitingCall(call, submit, too_late).wait(when_settled, self._later, limit)

    def wait_for_changes(
        self, call: Call, kinds: frozenset[Kind], servers: Sequence[str], submit: Callable[[Call], Cancel]
    ) -> Cancel | None:
        """Submit a call again once the changes that these servers announced are read; `None` if there are none.

        A server announces a new tool before the result of the call that added it, and a model uses the tool at once.
        A call does so once, and does not wait for later announcements: a server may announce changes endlessly.
        """
        if call.has_waited:
            return None
        due = {
            (server, kind): is_due
            for server in servers
            for kind in kinds
            if (is_due := self._servers.due_change(server, kind)) is not None
        }
        if not due:
            return None

        def is_awaited(server: str, kind: Kind) -> bool:
            return (server, kind) in due and due[server, kind]()

        return self.wait(structs.replace(call, has_waited=True), kinds, servers, submit, is_awaited)


class SlicedWork:
    """Work that is prepared in slices and then finished; other messages are handled between the slices."""

    def __init__(self, advance: Callable[[], bool], act: Callable[[], None], later: CallLater) -> None:
        self._advance, self._act, self._later = advance, act, later
        self._stop: Callable[[], None] | None = None

    def cancel_with(self, stop_waiting: Cancel) -> Cancel:
        """Return a function that cancels this work and the waiting before it; `cancel_nothing` if both are done."""
        if stop_waiting is cancel_nothing and self._stop is None:
            return cancel_nothing

        def cancel(reason: Reason) -> None:
            stop_waiting(reason)
            self.stop()

        return cancel

    def stop(self) -> None:
        """Do no more of this work."""
        if self._stop is not None:
            self._stop()

    def run_later(self) -> None:
        """Begin in a later step of the event loop."""
        self._stop = self._later(0, self.run)

    def run(self) -> None:
        """Prepare one slice; go on in a later step, or do the work if that was the last slice."""
        self._stop = None  # a timer that has fired would refer back to this object
        try:
            is_unfinished = self._advance()
        except Exception:  # a bug must cost its own request only, which is answered by the work itself
            log.exception("! bug while a list or an answer was prepared")
            is_unfinished = False
        if is_unfinished:
            self._stop = self._later(0, self.run)
        else:
            self._act()


def guarded(call: Call, act: Callable[[], None]) -> Callable[[], None]:
    """Wrap a function that runs later, outside of any request, so that a bug in it answers the call."""

    def run() -> None:
        try:
            act()
        except Exception:  # a bug must cost its own call only
            log.exception("! bug while carrying out %s", call.target)
            call.reply(InternalError())

    return run
