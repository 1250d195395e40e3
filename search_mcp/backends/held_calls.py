"""Calls that wait for their server: until it is ready, or has listed what decides about them."""

from collections.abc import Callable

from search_mcp.model.calls import Call, Reply
from search_mcp.wire.inflight import SENT_REQUESTS
from search_mcp.wire.structs import Struct

MOST_HELD = SENT_REQUESTS
"""Calls that may wait for one server; more are refused."""


class HeldCall(Struct, eq=False):
    """A waiting call."""

    call: Call
    target: str
    reading: int
    """Number of the reading of its list that it waits for, if it waits for the list."""


class HeldCalls:
    """Waiting calls in the order of their arrival."""

    def __init__(self) -> None:
        self._waiting: dict[Reply, HeldCall] = {}  # by their replies

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, reply: Reply) -> bool:
        """Return whether the call with this reply waits here."""
        return reply in self._waiting

    def hold(self, call: Call, target: str, reading: int = 0) -> bool:
        """Let a call wait; return false if too many wait already."""
        if len(self._waiting) >= MOST_HELD:
            return False
        self._waiting[call.reply] = HeldCall(call, target, reading)
        call.reply.cancel_work = lambda _reason: self._drop(call)
        return True

    def _drop(self, call: Call) -> None:
        self._waiting.pop(call.reply, None)

    def first(self) -> Call | None:
        """Return the call that waits longest."""
        return next((held.call for held in self._waiting.values()), None)

    def take(self, is_due: Callable[[HeldCall], bool] = lambda _held: True) -> list[HeldCall]:
        """Remove and return the calls that need not wait any more."""
        due = [held for held in self._waiting.values() if is_due(held)]
        for held in due:
            del self._waiting[held.call.reply]
        return due
