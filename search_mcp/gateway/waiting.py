"""What waits until lists are known: a client's first list, a search, a call to a tool not listed yet.

Decides how long; it does not know what the lists are for. When a server's list was waited for in vain, none
of its lists is waited for again until there is news of it.
"""

import logging
from collections.abc import Callable, Sequence

from search_mcp.catalog.profiles import Patience
from search_mcp.model.calls import Later
from search_mcp.model.names import Kind
from search_mcp.wire.inflight import NOTHING, Cancel, Reason
from search_mcp.wire.structs import Struct

log = logging.getLogger(__name__)


class _Waiting(Struct, eq=False):
    kinds: frozenset[Kind]
    servers: Sequence[str]
    act: Callable[[], None]
    patience: Patience | None
    """`None` waits for as long as it takes, also for lists that others gave up on."""
    takes_part: bool = False
    """Whether a part of what it waits for is enough by now."""
    stop_timer: Callable[[], None] = lambda: None


class AwaitedLists:
    """Everything that waits for lists.

    `may_come` tells of one server's list whether it is unknown and may still be known, `has_entries` whether any
    list of these kinds has something in it.
    """

    def __init__(
        self,
        may_come: Callable[[str, Kind], bool],
        has_entries: Callable[[frozenset[Kind]], bool],
        later: Later,
    ) -> None:
        self._may_come, self._has_entries, self._later = may_come, has_entries, later
        self._waiting: dict[_Waiting, None] = {}  # in order
        self._overdue: set[tuple[str, Kind]] = set()

    def are_settled(self, kinds: frozenset[Kind], servers: Sequence[str]) -> bool:
        """Whether every one of these lists is known, not to be had, or not worth waiting for."""
        return not self._missing(kinds, servers) - self._overdue

    def when_settled(
        self, kinds: frozenset[Kind], servers: Sequence[str], act: Callable[[], None], patience: Patience | None
    ) -> Cancel:
        """Act once these lists are settled, or patience ends; at once if they are."""
        waiting = _Waiting(kinds, servers, act, patience)
        if self._is_done(waiting):
            act()
            return NOTHING
        self._waiting[waiting] = None
        if patience is not None:
            waiting.stop_timer = self._later(patience.partial, lambda: self._take_part(waiting))

        def cancel(_reason: Reason) -> None:
            self._forget(waiting)

        return cancel

    def came(self, server: str, kind: Kind) -> None:
        """Take note that there is news of a list."""
        self._overdue.discard((server, kind))

    def expect_nothing(self, server: str) -> None:
        """Do not wait for a server's lists until there is news of them."""
        self._overdue |= {(server, kind) for kind in Kind}

    def look(self) -> None:
        """Let go of whatever has nothing to wait for any more."""
        for waiting in [each for each in self._waiting if self._is_done(each)]:
            self._release(waiting)

    def _missing(self, kinds: frozenset[Kind], servers: Sequence[str]) -> set[tuple[str, Kind]]:
        return {(server, kind) for server in servers for kind in kinds if self._may_come(server, kind)}

    def _is_done(self, waiting: _Waiting) -> bool:
        missing = self._missing(waiting.kinds, waiting.servers)
        if waiting.takes_part and self._has_entries(waiting.kinds):
            return True
        return not (missing if waiting.patience is None else missing - self._overdue)

    def _forget(self, waiting: _Waiting) -> None:
        if waiting in self._waiting:
            del self._waiting[waiting]
            waiting.stop_timer()

    def _take_part(self, waiting: _Waiting) -> None:
        """Be content with a part from now on; with nothing, when all patience is at an end."""
        assert waiting.patience is not None
        rest = waiting.patience.most - waiting.patience.partial
        if rest <= 0 or self._has_entries(waiting.kinds):
            self._release(waiting)
            return
        waiting.takes_part = True
        waiting.stop_timer = self._later(rest, lambda: self._release(waiting))

    def _release(self, waiting: _Waiting) -> None:
        if waiting.patience is not None:
            # Of every kind: Gemini CLI asks for prompts, tools and resources one after another.
            late = {server for server, _ in self._missing(waiting.kinds, waiting.servers)}
            self._overdue |= self._missing(frozenset(Kind), sorted(late))
        self._forget(waiting)
        try:
            waiting.act()
        except Exception:  # it happens in a timer or in a backend's news, which must go on
            log.exception("! bug in what waited for lists")
