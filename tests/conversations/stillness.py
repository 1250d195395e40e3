"""An event loop whose clock stands still.

It runs until nothing is left to do and returns; time passes only when a test says so, and then straight from
one timer to the next. So a test waits for nothing and sees every message in the order it was said.
"""

import asyncio
import selectors
from collections.abc import Callable


class _Selector(selectors.SelectSelector):
    """Asked to wait, it reports that instead of waiting: nothing outside the loop ever happens here."""

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
        """Run until everything that can happen now has happened."""
        self.run_forever()

    def let_pass(self, seconds: float) -> None:
        """Run until everything that happens within these seconds has happened."""
        self._until = self._now + seconds
        self.run_forever()

    def _on_idle(self, timeout: float | None) -> None:
        if timeout is None or self._now + timeout > self._until:
            self._now = self._until
            self.stop()
        else:
            self._now += timeout
