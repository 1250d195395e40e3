"""Calls that wait for their server: until it is ready, or has listed what decides about them."""

from collections.abc import Callable

from search_mcp.model.calls import Call
from search_mcp.wire.inflight import SENT_REQUESTS, Cancel, Reason
from search_mcp.wire.structs import Struct

MOST_HELD = SENT_REQUESTS
"""Calls that may wait for one server; more are refused."""


class HeldCall(Struct, eq=False):
    """A waiting call; `cancel` cancels it once it was passed on."""

    call: Call
    target: str
    reading: int
    """Number of the reading of its list that it waits for, if it waits for the list."""
    cancel: Cancel = lambda _reason: None


class HeldCalls:
    """Waiting calls in the order of their arrival; the supervisor of an edited entry takes them over as they are."""

    def __init__(self) -> None:
        self._waiting: dict[HeldCall, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, call: Call) -> bool:
        # A call that is sent once more is a copy with the same recipient.
        return any(held.call is call or held.call.reply == call.reply for held in self._waiting)

    def hold(self, call: Call, target: str, reading: int = 0) -> Cancel | None:
        """Let a call wait; return how it is cancelled, now or later, or `None` if too many wait already."""
        if len(self._waiting) >= MOST_HELD:
            return None
        held = HeldCall(call, target, reading)
        self._waiting[held] = None

        def cancel(reason: Reason) -> None:
            if held in self._waiting:
                del self._waiting[held]
            else:
                held.cancel(reason)

        return cancel

    def first(self) -> HeldCall | None:
        """Return the call that waits longest."""
        return next(iter(self._waiting), None)

    def wait_for_another_server(self) -> None:
        """Have every call wait for the first reading of its list by another server."""
        for held in self._waiting:
            held.reading = 0

    def take(self, is_due: Callable[[HeldCall], bool] = lambda _held: True) -> list[HeldCall]:
        """Remove and return the calls that need not wait any more."""
        due = [held for held in self._waiting if is_due(held)]
        for held in due:
            del self._waiting[held]
        return due
