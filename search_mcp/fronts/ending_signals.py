"""The signals that end search-mcp, on every system."""

import signal
from typing import Final

ENDING_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
"""`serve` and the other commands handle them alike: the first signal terminates the servers, the second kills them."""
