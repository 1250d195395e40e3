"""The signals that end search-mcp, on every system."""

import signal
from typing import Final

ENDING_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
"""`serve` and the other commands handle them alike: the first signal terminates the servers, the second kills them."""

TERMINATION_SECONDS = 0.5
"""Delay between asking the servers to end and ending them by force, without a second signal: the process ends within a
second."""
