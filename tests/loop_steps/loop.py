"""An event loop that measures each of its steps: the processor time of one callback."""

import time
from collections.abc import Callable
from contextvars import Context
from typing import Any

from conversations.stillness import StillLoop


class MeasuredLoop(StillLoop):
    """A loop whose clock stands still, and which records the longest step under each label.

    A step is measured by the processor time of this thread, so other processes on the machine do not count.
    """

    def __init__(self) -> None:
        self.longest: dict[str, float] = {}
        """Seconds of the longest step under each label."""
        self.label = ""
        super().__init__()

    # Types of the arguments are left open: they are passed on as they are.
    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        return super().call_soon(self._measured, callback, *args, context=context)

    def call_unmeasured(self, callback: Callable[..., object], *args: Any) -> None:
        """Do what the test itself has to do."""
        super().call_soon(callback, *args)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        return super().call_at(when, self._measured, callback, *args, context=context)

    def _measured(self, callback: Callable[..., object], *args: Any) -> None:
        label, started = self.label, time.thread_time()
        try:
            callback(*args)
        finally:
            self.longest[label] = max(self.longest.get(label, 0.0), time.thread_time() - started)
