"""The calls that were recorded lately, until a thread has written them.

Decides when they are written, and how many wait at most. The event loop never waits for a file. If there is a
tokenizer, the tokens of their results are counted before: only then the beginnings of the results are kept so long.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from search_mcp.background import QueueOperation
from search_mcp.gateway.result_sizes import LONGEST_BEGINNING, extrapolated, is_countable
from search_mcp.model.calls import CallLater

if TYPE_CHECKING:
    from search_mcp.gateway.token_counter import TokenCounter
    from search_mcp.gateway.usage_store import Row, UsageStore

log = logging.getLogger(__name__)

WAIT_SECONDS = 5.0
"""Time that calls are gathered before they are written together."""
MANY = 1000
"""Calls that are written at once, without waiting."""
RETRY_SECONDS = 30.0
"""Time after which a locked file is tried again: the thread for files waits a second for it each time."""
MOST_WAITING = 20_000
"""Calls that wait for a file that cannot be written now, such as a locked one; the oldest are dropped."""
MOST_KEPT = 4 << 20
"""Bytes of results that are kept until their tokens are counted; those of further calls are not counted."""


class UsageQueue:
    """Calls on their way to the file."""

    def __init__(
        self,
        path: Path,
        run: QueueOperation,
        later: CallLater,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        counter: "TokenCounter | None" = None,
    ) -> None:
        """`run` carries out a file operation where it may block."""
        self._path, self._run, self._later = path, run, later
        self.clock, self.wall_clock = clock, wall_clock
        # With the beginnings of the results whose tokens will be counted. Both threads change only the ends.
        self._waiting: deque[tuple[Row, bytes | None]] = deque(maxlen=MOST_WAITING)
        self._counter, self._can_count = counter, False
        self._kept = 0  # bytes of these beginnings, or more
        self._is_due = self._is_queued = self._is_locked = False
        self._has_warned = False
        self._store: UsageStore | None = None
        if counter is not None:
            run(self._look_for_tokenizer)

    @property
    def takes_beginnings(self) -> bool:
        """Whether the tokens of the next call's result can be counted."""
        return self._can_count and self._kept <= MOST_KEPT - LONGEST_BEGINNING

    def add(self, row: "Row", beginning: bytes | None = None) -> None:
        """Record a call, with the beginning of its result if its tokens should be counted; it is written soon."""
        self._waiting.append((row, beginning))
        if beginning is not None:
            self._kept += len(beginning)
        if not self._is_due:
            self._is_due = True
            if self._can_count and self._counter is not None:
                self._run(self._counter.start)
            self._later(RETRY_SECONDS if self._is_locked else WAIT_SECONDS, self.flush)
        elif len(self._waiting) >= MANY and not self._is_queued and not self._is_locked:
            self._queue()

    def flush(self) -> None:
        """Have the calls that wait written now."""
        self._is_due = False
        if self._waiting and not self._is_queued:
            self._queue()

    def _queue(self) -> None:
        self._is_queued = True  # before: it may be carried out at once
        if self._run(self._write) is False:
            self._is_queued = False

    def _write(self) -> None:
        """Write the calls that wait; keep them if the file is locked. Called in the thread for files."""
        self._is_queued = False  # calls that are added from now on may need another write
        self._kept = 0  # before they are taken: too high a number only keeps less
        if self._store is None and not self._load():
            return
        assert self._store is not None
        taken = [self._waiting.popleft() for _ in range(len(self._waiting))]
        rows = self._counted(taken)
        self._is_locked = bool(rows) and not self._store.write(rows)
        room = MOST_WAITING - len(self._waiting)
        if self._is_locked and room > 0:
            self._waiting.extendleft((row, None) for row in reversed(rows[-room:]))
        self._look_for_tokenizer()

    def _look_for_tokenizer(self) -> None:
        self._can_count = self._counter is not None and self._counter.is_available()

    def _counted(self, taken: "Sequence[tuple[Row, bytes | None]]") -> "list[Row]":
        """Return calls, with the tokens of those results whose beginnings were kept."""
        texts = [*{text for _, text in taken if text is not None and is_countable(text)}]
        if self._counter is None or not texts:
            return [row for row, _ in taken]
        try:
            tokens = dict(zip(texts, self._counter.count(texts), strict=True))
        except Exception:  # a bug must not cost the record of the calls
            log.exception("! bug while tokens were counted")
            tokens = {}
        return [_with_tokens(row, text, tokens.get(text)) if text is not None else row for row, text in taken]

    def _load(self) -> bool:
        """Load the database library, with the first calls that are written; return false if that fails.

        This Python may have none, or this process too many open files.
        """
        try:
            loaded = import_module("search_mcp.gateway.usage_store")
        except (ImportError, OSError) as exc:
            if not self._has_warned:
                self._has_warned = True
                log.warning("! calls are not recorded: %s", exc)
            self._waiting.clear()
            return False
        self._store = loaded.UsageStore(self._path, self.wall_clock)
        return True


def _with_tokens(row: "Row", beginning: bytes, tokens: int | None) -> "Row":
    """Return a call with the tokens of its whole result; `tokens` are those of its beginning, if they were counted."""
    size = row[7]
    return row if tokens is None else (*row[:-1], extrapolated(tokens, beginning, size))
