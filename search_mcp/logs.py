"""Our own log: lines on stderr, written by a thread.

A client that does not read our stderr must not stop us: beyond a bound, lines are dropped. What servers say
may stand in any line, so none holds a secret, nor anything that is more than text to a terminal.
"""

import contextlib
import logging
import os
import queue
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from importlib import import_module

from search_mcp.config.secrets import redact

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
WAITING_LINES = 10_000
"""How many lines may wait for a stderr that nobody reads."""
LAST_LINES_SECONDS = 0.5
"""How long the end waits for the last lines to be written."""


_CONTROLS = r"[\x00-\x08\x0a-\x1f\x7f]"


class _Clean(logging.Formatter):
    """Lines without secrets, control or invisible characters; only a traceback has more than one line."""

    def __init__(self, secrets: Callable[[], Collection[str]]) -> None:
        super().__init__(FORMAT)
        self._secrets = secrets

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's own name
        message = redact(record.message, self._secrets())  # while what they hold of controls is unescaped
        if not (message.isascii() and message.isprintable()):
            message = re.sub(_CONTROLS, lambda found: repr(found[0])[1:-1], message)
            message = str(import_module("search_mcp.model.visible").visible(message))  # for few lines, not at the start
        record.message = message
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record), self._secrets())


class _Dropping(logging.Handler):
    """Hand lines to the thread; drop what does not fit."""

    def __init__(self, lines: "queue.Queue[logging.LogRecord | None]") -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        record.msg, record.args = record.getMessage(), None  # what it names may be another a moment later
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(record)


@contextlib.contextmanager
def to_stderr(level: str, secrets: Callable[[], Collection[str]] = tuple) -> Iterator[None]:
    """Log to stderr for as long as this lasts, without what are secrets at the time."""
    lines: queue.Queue[logging.LogRecord | None] = queue.Queue(WAITING_LINES)
    root = logging.getLogger()
    handler = _Dropping(lines)
    root.addHandler(handler)
    root.setLevel(level)
    logging.getLogger("watchdog").setLevel(logging.CRITICAL)  # it tells of its own threads, and of each edit
    writer = threading.Thread(target=_write, args=(lines, secrets), name="log", daemon=True)
    writer.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        with contextlib.suppress(queue.Full):
            lines.put_nowait(None)
        writer.join(LAST_LINES_SECONDS)


def _write(lines: "queue.Queue[logging.LogRecord | None]", secrets: Callable[[], Collection[str]]) -> None:
    # Not a handler's stream: `logging` waits at exit for the lock of every handler there is.
    formatter = _Clean(secrets)
    stderr = sys.stderr.fileno()
    while (record := lines.get()) is not None:
        with contextlib.suppress(OSError):
            os.write(stderr, f"{formatter.format(record)}\n".encode("utf-8", "replace"))
