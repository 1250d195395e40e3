"""The log of search-mcp: lines on stderr, written by a thread.

A client that does not read stderr must not stop search-mcp: lines that do not fit a bounded queue are dropped. Servers
can put text into any line, so the caller's `clean` takes out secrets and shows invisible characters.
"""

import contextlib
import logging
import os
import queue
import re
import sys
import threading
from collections.abc import Callable, Iterator

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
NOT_LOGGED = ("watchdog", "httpx2", "httpcore2")
"""Libraries that log every edit of a file, or the URL and the headers of every request, which may be secret."""
WAITING_LINES = 10_000
"""Lines that may wait while stderr is not read."""
LAST_LINES_SECONDS = 0.5
"""Time that the end waits until the last lines are written."""

_CONTROLS = r"[\x00-\x08\x0a-\x1f\x7f]"


class _Clean(logging.Formatter):
    """Formats lines without control characters; only a traceback has more than one line."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        super().__init__(FORMAT)
        self._clean = clean

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's own name
        message = self._clean(record.message)  # before control characters are escaped: a secret may hold one
        if not (message.isascii() and message.isprintable()):
            message = re.sub(_CONTROLS, lambda found: repr(found[0])[1:-1], message)
        record.message = message
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        return self._clean(super().format(record))  # the traceback too


Conceal = Callable[[frozenset[str]], None]
"""Hides these texts from now on."""


class Concealing(logging.Handler):
    """A handler that hides secrets; also those that become known while it is in use, such as tokens of logins."""

    conceal: Conceal


def conceal(secrets: frozenset[str]) -> None:
    """Hide these texts in the log from now on."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Concealing):
            handler.conceal(secrets)


class _Dropping(Concealing):
    """Queues lines for the thread; drops those that do not fit."""

    def __init__(self, lines: "queue.Queue[logging.LogRecord | None]", conceal: Conceal) -> None:
        super().__init__()
        self._lines, self.conceal = lines, conceal

    def emit(self, record: logging.LogRecord) -> None:
        record.msg, record.args = record.getMessage(), None  # its arguments may change before the thread formats them
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(record)


@contextlib.contextmanager
def to_stderr(
    level: str, clean: Callable[[str], str] = str, conceal: Conceal = lambda _secrets: None
) -> Iterator[None]:
    """Log to stderr while the context lasts; every message and every whole line passes `clean`.

    `conceal` is told of secrets that become known meanwhile.
    """
    lines: queue.Queue[logging.LogRecord | None] = queue.Queue(WAITING_LINES)
    root = logging.getLogger()
    handler, level_before = _Dropping(lines, conceal), root.level
    root.addHandler(handler)
    root.setLevel(level)
    for library in NOT_LOGGED:
        logging.getLogger(library).setLevel(logging.CRITICAL)
    writer = threading.Thread(target=_write, args=(lines, clean), name="log", daemon=True)
    writer.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level_before)
        with contextlib.suppress(queue.Full):
            lines.put_nowait(None)
        writer.join(LAST_LINES_SECONDS)


def _write(lines: "queue.Queue[logging.LogRecord | None]", clean: Callable[[str], str]) -> None:
    # Not a handler's stream: `logging` waits at exit for the lock of every handler there is.
    formatter = _Clean(clean)
    stderr = sys.stderr.fileno()
    while (record := lines.get()) is not None:
        with contextlib.suppress(OSError):
            os.write(stderr, f"{formatter.format(record)}\n".encode("utf-8", "replace"))
