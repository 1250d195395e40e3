"""The signals that end search-mcp, on every system."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

ENDING_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
"""`serve` and the other commands handle them alike: the first signal terminates the servers, the second kills them."""

TERMINATION_SECONDS = 0.5
"""Delay between asking the servers to end and ending them by force, without a second signal: the process ends within a
second."""


@contextmanager
def on_ending_signals(act: Callable[[int], object]) -> Iterator[None]:
    """Call a function of the event loop with the number of each signal that is to end the process.

    The loop's own handlers, which the commands use, need the wakeup descriptor, which `last_resort` has.
    """
    loop = asyncio.get_running_loop()
    previous = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    for number in ENDING_SIGNALS:
        signal.signal(number, lambda number, _frame: loop.call_soon_threadsafe(act, number))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
