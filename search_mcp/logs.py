"""The log of search-mcp: lines on stderr, written by a thread.

A client that does not read stderr must not stop search-mcp: lines that do not fit a bounded queue are dropped. Servers
can put text into any line, so the caller's `clean` takes out secrets, shows invisible characters and shortens long
texts. They can also cause any line as often as they like, so only the first lines of a kind are written, and then,
once a minute, their number.
"""

import contextlib
import json
import logging
import math
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LEVELS = ("debug", "info", "warning", "error")
WAITING_LINES = 10_000
"""Lines that may wait while stderr is not read."""
LONGEST_TEXT = 8192
"""Most characters of a server's text in a log line, a state, an error or the cache."""
LAST_LINES_SECONDS = 0.5
"""Time that the end waits until the last lines are written."""
MOST_ALIKE = 20
"""Lines of one kind after which the others are counted: there are as many about a list with many mistakes."""
NAME_LENGTH = 200
"""Characters of the first argument by which kinds are distinguished: it is kept, and may be any text."""
COUNTED_SECONDS = 60.0
"""Time after which their number is logged."""

REQUEST: ContextVar[str] = ContextVar("REQUEST", default="")
"""The id of the request over HTTP in which a line is logged."""

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


class _Json(_Clean):
    """Formats lines as JSON objects, for programs that collect logs."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._clean(record.getMessage()),
        }
        if request := getattr(record, "request", ""):
            line["request"] = request
        if record.exc_info:
            line["traceback"] = self._clean(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


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


@dataclass
class _Alike:
    """The lines of one kind since the last time that their number was logged."""

    level: int
    message: str
    """The first of them."""
    since: float
    logged: int = 0
    left_out: int = 0


class _Dropping(Concealing):
    """Queues lines for the thread; drops those that do not fit, and counts those of a kind with too many."""

    def __init__(
        self,
        lines: "queue.Queue[logging.LogRecord | None]",
        clean: Callable[[str], str],
        conceal: Conceal,
        clock: Callable[[], float],
    ) -> None:
        super().__init__()
        self._lines, self._clean, self.conceal, self._clock = lines, clean, conceal, clock
        self._alike: dict[tuple[str, ...], _Alike] = {}  # by kind, the oldest in front

    def emit(self, record: logging.LogRecord) -> None:
        now = self._clock()
        self.log_numbers(now)
        kind = _kind(record)
        alike = self._alike.get(kind)
        if alike is not None and alike.logged >= MOST_ALIKE:
            alike.left_out += 1
            return
        message = record.getMessage()
        # Now, because its arguments may change before the thread formats them.
        record.msg, record.args = message if len(message) <= LONGEST_TEXT else self._clean(message), None
        record.request = REQUEST.get()
        self._queue(record)
        if record.levelno >= logging.INFO:  # a debug log is complete
            alike = self._alike.setdefault(kind, _Alike(record.levelno, record.msg, now))
            alike.logged += 1

    def log_numbers(self, now: float) -> None:
        """Log how many lines were left out of each kind that has been counted long enough."""
        while self._alike:
            kind, alike = next(iter(self._alike.items()))
            if now - alike.since < COUNTED_SECONDS:
                break
            del self._alike[kind]
            if alike.left_out:
                message = f"{alike.message} (and {alike.left_out:,} more like it)"
                self._queue(logging.LogRecord(kind[0], alike.level, "", 0, message, None, None))
                # There may be as many again.
                self._alike[kind] = _Alike(alike.level, alike.message, now, MOST_ALIKE)

    def _queue(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(record)


def _kind(record: logging.LogRecord) -> tuple[str, ...]:
    """Return what all lines have in common that one place logs about one server, whose name is the first argument."""
    about = str(record.args[0])[:NAME_LENGTH] if isinstance(record.args, tuple) and record.args else ""
    return record.name, str(record.msg), about


@contextlib.contextmanager
def to_stderr(
    level: str,
    clean: Callable[[str], str] = str,
    conceal: Conceal = lambda _secrets: None,
    written: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
    *,
    as_json: bool = False,
) -> Iterator[None]:
    """Log to stderr while the context lasts; every message and every whole line passes `clean`.

    `conceal` is told of secrets that become known meanwhile. `written` is called after each line, by the thread.
    """
    lines: queue.Queue[logging.LogRecord | None] = queue.Queue(WAITING_LINES)
    root = logging.getLogger()
    handler, level_before = _Dropping(lines, clean, conceal, clock), root.level
    root.addHandler(handler)
    root.setLevel(level)
    logging.getLogger("watchdog").setLevel(logging.CRITICAL)  # it logs every edit of a file
    formatter = (_Json if as_json else _Clean)(clean)
    writer = threading.Thread(target=_write, args=(lines, formatter, written), name="log", daemon=True)
    writer.start()
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level_before)
        handler.acquire()
        handler.log_numbers(math.inf)
        handler.release()
        with contextlib.suppress(queue.Full):
            lines.put_nowait(None)
        writer.join(LAST_LINES_SECONDS)


def _write(
    lines: "queue.Queue[logging.LogRecord | None]", formatter: logging.Formatter, written: Callable[[], None]
) -> None:
    # Not a handler's stream: `logging` waits at exit for the lock of every handler there is.
    stderr = sys.stderr.fileno()
    while (record := lines.get()) is not None:
        with contextlib.suppress(OSError):
            os.write(stderr, f"{formatter.format(record)}\n".encode("utf-8", "replace"))
            written()
