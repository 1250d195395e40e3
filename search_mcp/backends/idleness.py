"""Detection of a server that has been idle for long enough to be stopped."""

from collections.abc import Callable

from search_mcp.model.calls import CallLater


class Idleness:
    """A timer that checks whether a server is idle, and again when it may have been idle for long enough."""

    def __init__(
        self,
        clock: Callable[[], float],
        later: CallLater,
        is_idle: Callable[[], bool],
        on_idle: Callable[[float], None],
    ) -> None:
        """`on_idle` gets the number of seconds after which an idle server is stopped."""
        self._clock, self._later, self._is_idle, self._on_idle = clock, later, is_idle, on_idle
        self._since: float | None = None  # the first look that found it idle, without a call after it
        self._stop_timer: Callable[[], None] = lambda: None

    def watch(self, seconds: float | None) -> None:
        """Check now and then at intervals of this many seconds; `None` ends it."""
        self.stop()
        if seconds is None:
            return
        now = self._clock()
        if not self._is_idle():
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since >= seconds:
            self._on_idle(seconds)
            return
        self._stop_timer = self._later(seconds, lambda: self.watch(seconds))

    def interrupt(self) -> None:
        """Record a call: the time starts anew."""
        self._since = None

    def stop(self) -> None:
        self._stop_timer()
        self._stop_timer = lambda: None
