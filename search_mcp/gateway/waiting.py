"""Waiting for the lists of servers: before a client's first list, a search, or a call to a tool that is not listed yet.

Decides how long to wait, and does not know the use of the lists. If a server's list did not come in time, its lists are
not waited for again until there is news of them.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from search_mcp.catalog.profiles import PARTIAL_SECONDS, Patience
from search_mcp.gateway.servers import Servers
from search_mcp.model.calls import Call, CallLater, Retry
from search_mcp.model.errors import NotRunning
from search_mcp.model.names import Kind
from search_mcp.wire.errors import InternalError, WireError
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import Struct, replace

log = logging.getLogger(__name__)


class Limit(Struct, frozen=True):
    """The time limit of a call, and the error after it."""

    seconds: float
    error: Callable[[], WireError]


class _Waiting(Struct, eq=False):
    """A request that waits for lists."""

    kinds: frozenset[Kind]
    servers: Sequence[str]
    act: Callable[[], None]
    reply: Pending[Any]
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
        reply: Pending[Any],
        patience: Patience | None,
        is_awaited: Callable[[str, Kind], bool] | None = None,
        limit: Limit | None = None,
    ) -> None:
        """Call `act` once these lists are settled or the patience ends; immediately if they are settled now.

        `act` continues the work for `reply`. `is_awaited` replaces the test whether a server's list of one kind is
        still waited for.
        """
        waiting = _Waiting(kinds, servers, act, reply, patience, is_awaited or self._may_come)
        if self._is_done(waiting):
            act()
            return
        self._waiting[waiting] = None
        reply.cancel_work = lambda _reason: self._forget(waiting)
        if patience is not None:
            waiting.stop_timer = self._later(patience.partial, lambda: self._accept_part(waiting))
        elif limit is not None:
            waiting.stop_timer = self._later(limit.seconds, lambda: reply.give_up(limit.error()))

    def on_news(self, server: str, kind: Kind) -> None:
        """Record that there is news of a list."""
        self._overdue.discard((server, kind))

    def expect_nothing(self, server: str) -> None:
        """Do not wait for a server's lists until there is news of them."""
        self._overdue |= {(server, kind) for kind in Kind}

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
            waiting.reply(InternalError())


def _missing(
    kinds: frozenset[Kind], servers: Sequence[str], is_awaited: Callable[[str, Kind], bool]
) -> set[tuple[str, Kind]]:
    return {(server, kind) for server in servers for kind in kinds if is_awaited(server, kind)}


class WaitingCalls:
    """Makes the calls of one client wait for lists."""

    def __init__(self, servers: Servers, lists: AwaitedLists) -> None:
        self._servers, self._lists = servers, lists

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
        submit: Callable[[Call], None],
        is_awaited: Callable[[str, Kind], bool] | None = None,
    ) -> None:
        """Submit a call once these lists are known; for one server, wait up to the time limit of its calls.

        `is_awaited` replaces the test whether a server's list of one kind is still waited for.
        """
        limit, patience = (self._limit(servers[0]), None) if len(servers) == 1 else (None, self.patience())
        self._lists.when_settled(kinds, servers, lambda: submit(call), call.reply, patience, is_awaited, limit)

    def waits_for_lists(self, call: Call, kinds: frozenset[Kind], submit: Callable[[Call], None]) -> bool:
        """Submit a call again once the lists of all servers are settled; return false if they are settled now."""
        if self._lists.are_settled(kinds, self._servers.enabled):
            return False
        self.wait(call, kinds, self._servers.enabled, submit)
        return True

    def _limit(self, server: str) -> Limit | None:
        """Return the time limit of the calls of a server."""
        seconds = self._servers.limit_seconds(server)

        def error() -> WireError:
            status = self._servers.status(server)
            return NotRunning(replace(status, reason=status.reason or "it did not send its lists in time"))

        return None if seconds is None else Limit(seconds, error)

    def waits_for_changes(
        self, call: Call, kinds: frozenset[Kind], servers: Sequence[str], submit: Callable[[Call], None]
    ) -> bool:
        """Submit a call again once the changes that these servers announced are read; return false if there are none.

        A server announces a new tool before the result of the call that added it, and a model uses the tool at once.
        A call does so once, and does not wait for later announcements: a server may announce changes endlessly.
        """
        if Retry.LIST_CHANGED in call.tried:
            return False
        due = {
            (server, kind): is_due
            for server in servers
            for kind in kinds
            if (is_due := self._servers.due_change(server, kind)) is not None
        }
        if not due:
            return False

        def is_awaited(server: str, kind: Kind) -> bool:
            return (server, kind) in due and due[server, kind]()

        self.wait(call.again(Retry.LIST_CHANGED), kinds, servers, submit, is_awaited)
        return True


def in_slices(advance: Callable[[], bool], act: Callable[[], None], reply: Pending[Any], later: CallLater) -> None:
    """Prepare an answer in slices, then give it; other messages are handled between the slices.

    `advance` prepares one slice, and returns whether there are more.
    """
    if reply.is_over:
        return
    try:
        if advance():
            later(0, lambda: in_slices(advance, act, reply, later))
        else:
            act()
    except Exception:  # a bug must cost its own request only
        log.exception("! bug while an answer was prepared")
        reply(InternalError())
