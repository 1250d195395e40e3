"""Our own log: lines on stderr, written by a thread.

A client that does not read our stderr must not stop us: beyond a bound, lines are dropped.
"""

import contextlib
import logging
import logging.handlers
import os
import queue
import sys
import threading
from collections.abc import Iterator

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
WAITING_LINES = 10_000
"""How many lines may wait for a stderr that nobody reads."""
LAST_LINES_SECONDS = 0.5
"""How long the end waits for the last lines to be written."""


class _Dropping(logging.handlers.QueueHandler):
    """Hand lines to the thread; drop what does not fit."""

    def enqueue(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(queue.Full):
            self.queue.put_nowait(record)


@contextlib.contextmanager
def to_stderr(level: str) -> Iterator[None]:
    """Log to stderr for as long as this lasts."""
    lines: queue.Queue[logging.LogRecord | None] = queue.Queue(WAITING_LINES)
    root = logging.getLogger()
    handler = _Dropping(lines)
    root.addHandler(handler)
    root.setLevel(level)
    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    writer = threading.Thread(target=_write, args=(lines,), name="log", daemon=True)
    writer.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        with contextlib.suppress(queue.Full):
            lines.put_nowait(None)
        writer.join(LAST_LINES_SECONDS)


def _write(lines: "queue.Queue[logging.LogRecord | None]") -> None:
    # Not a handler's stream: `logging` waits at exit for the lock of every handler there is.
    formatter = logging.Formatter(FORMAT)
    stderr = sys.stderr.fileno()
    while (record := lines.get()) is not None:
        with contextlib.suppress(OSError):
            os.write(stderr, f"{formatter.format(record)}\n".encode("utf-8", "replace"))
