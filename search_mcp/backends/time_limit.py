"""The time limit of one call.

The time in which a server waits for the user, in the middle of a call, does not count.
"""

from collections.abc import Callable

from search_mcp.model.calls import Call, CallLater, Outcome
from search_mcp.wire.errors import WireError
from search_mcp.wire.inflight import Cancel, Reason, cancel_nothing
from search_mcp.wire.payload import encode
from search_mcp.wire.structs import Fields, replace


class Limited:
    """A call with a time limit, restarted by progress and by the user's answers, and a total limit that is not."""

    def __init__(
        self,
        call: Call,
        seconds: float | None,
        at_most: float | None,
        later: CallLater,
        error: Callable[[Call, str], WireError],
    ) -> None:
        self.cancel_backend: Cancel = cancel_nothing
        self._is_asking = False
        self.call = replace(
            call,
            reply=self._reply,
            report=self._report if seconds is not None else call.report,
            asks=self._hold,
        )
        self._original, self._seconds, self._later, self._error = call, seconds, later, error
        self._stop_timer: Callable[[], None] = lambda: None
        self._stop_last_timer: Callable[[], None] = lambda: None
        self._restart()
        if at_most is not None:
            self._stop_last_timer = later(at_most, lambda: self._expire(f"did not finish within {at_most:g} s"))

    def cancel(self, reason: Reason) -> None:
        self._stop()
        self.cancel_backend(reason)

    def _restart(self) -> None:
        self._stop_timer()
        if self._seconds is not None and not self._is_asking:
            how = f"did not answer within {self._seconds:g} s"
            self._stop_timer = self._later(self._seconds, lambda: self._expire(how))

    def _hold(self, is_asking: bool) -> None:
        self._is_asking = is_asking
        self._restart()

    def _report(self, params: Fields) -> None:
        self._restart()
        if self._original.report is not None:
            self._original.report(params)

    def _reply(self, outcome: Outcome) -> None:
        self._stop()
        self._original.reply(outcome)

    def _expire(self, how: str) -> None:
        self._stop()
        error = self._error(self.call, how)
        self.cancel_backend(encode("timed out"))
        self._original.reply(error)

    def _stop(self) -> None:
        self._seconds = None  # a task's progress may come after the answer, and must not restart the timer
        self._stop_timer()
        self._stop_last_timer()
