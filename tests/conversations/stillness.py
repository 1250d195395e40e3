"""An event loop with a clock that the test controls.

The loop runs until nothing is left to do, and returns. Time passes only when a test says so, in steps from one timer
to the next: a test never waits, and sees all messages in their order.
"""

import asyncio
import selectors
from collections.abc import Callable


class _Selector(selectors.SelectSelector):
    """Selector that reports idleness instead of waiting: no event ever comes from outside the loop."""

    def __init__(self, on_idle: Callable[[float | None], None]) -> None:
        super().__init__()
        self._on_idle = on_idle

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(0)
        self._on_idle(timeout)
        return []


class StillLoop(asyncio.SelectorEventLoop):
    """An event loop for in-memory conversations."""

    def __init__(self) -> None:
        self._now = 0.0
        self._until = 0.0
        super().__init__(_Selector(self._on_idle))

    def time(self) -> float:
        return self._now

    def settle(self) -> None:
        """Run until nothing is left to do at this time."""
        self.run_forever()

    def let_pass(self, seconds: float) -> None:
        """Run until nothing is left to do within these seconds."""
        self._until = self._now + seconds
        self.run_forever()

    def _on_idle(self, timeout: float | None) -> None:
        if timeout is None or self._now + timeout > self._until:
            self._now = self._until
            self.stop()
        else:
            self._now += timeout
