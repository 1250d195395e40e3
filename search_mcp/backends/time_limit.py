"""The time limit of one call.

The time in which a server waits for the user, in the middle of a call, does not count.
"""

from collections.abc import Callable

from search_mcp.model.calls import Call, CallLater, Outcome, Reply
from search_mcp.wire.errors import WireError
from search_mcp.wire.payload import encode
from search_mcp.wire.structs import Fields, replace


def limited(
    call: Call,
    seconds: float | None,
    at_most: float | None,
    later: CallLater,
    error: Callable[[Reply, str], WireError],
) -> Call:
    """Give a call a time limit, restarted by progress and by the user's answers, and a total limit that is not.

    `error` makes the error for a reply that did not come in time.
    """
    limit = _Limit(call, seconds, at_most, later, error)
    return replace(call, report=limit.report if seconds is not None else call.report, asks=limit.hold)


class _Limit:
    def __init__(
        self,
        call: Call,
        seconds: float | None,
        at_most: float | None,
        later: CallLater,
        error: Callable[[Reply, str], WireError],
    ) -> None:
        self._reply, self._report = call.reply, call.report
        self._seconds, self._later, self._error = seconds, later, error
        self._is_asking = False
        self._stop_timer: Callable[[], None] = lambda: None
        self._stop_last_timer: Callable[[], None] = lambda: None
        self._restart()
        if at_most is not None:
            self._stop_last_timer = later(at_most, lambda: self._expire(f"did not finish within {at_most:g} s"))
        call.reply.steps.append(self._stop)

    def _restart(self) -> None:
        self._stop_timer()
        if self._seconds is not None and not self._is_asking:
            how = f"did not answer within {self._seconds:g} s"
            self._stop_timer = self._later(self._seconds, lambda: self._expire(how))

    def hold(self, is_asking: bool) -> None:
        """Stop the time while the server waits for the client."""
        self._is_asking = is_asking
        self._restart()

    def report(self, params: Fields) -> None:
        """Restart the time, and pass progress on."""
        self._restart()
        if self._report is not None:
            self._report(params)

    def _expire(self, how: str) -> None:
        self._reply.give_up(self._error(self._reply, how), encode("timed out"))

    def _stop(self, outcome: Outcome | None) -> Outcome | None:
        self._seconds = None  # a task's progress may come after the answer, and must not restart the timer
        self._stop_timer()
        self._stop_last_timer()
        return outcome
