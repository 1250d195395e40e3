"""The stream of messages to one request over HTTP: one JSON object, or server-sent events.

Decides which of the two it is: an object, if the response is the only message. Streams of legacy sessions can be
resumed: their last messages are kept, also when the client is gone.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable

from search_mcp.wire.inflight import Way

MOST_KEPT_BYTES = 1 << 20
"""Bytes of messages that are kept for a client that comes back; of those without a reader, the oldest are dropped."""
CONGESTED_BYTES = 1 << 20
"""Bytes that may wait for a client that is not reading before reading from servers is paused."""
_numbers = itertools.count(1)


def _nothing(_is_congested: bool) -> None:
    """Pause nothing."""


class Stream:
    """Messages in order; written without waiting, and read by the response that is open now, if one is."""

    def __init__(self, on_congestion: Callable[[bool], None] = _nothing, *, is_apart: bool = False) -> None:
        """`on_congestion` is told when too much waits for a reader, and when that is over.

        `is_apart`: it is of a modern request: other requests may have the same id, and it cannot be resumed.
        """
        self.number = next(_numbers)
        self.way = Way(self.finish, self.write, self.end, is_apart)
        self.is_over = False
        """Whether the last message was written."""
        self.reader: object = None
        """The response that reads it now."""
        self._on_congestion, self._is_congested = on_congestion, False
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._waiting_bytes = 0
        self._sent: deque[tuple[int, bytes]] = deque()
        self._sent_bytes = 0
        self._count = 0
        self._news = asyncio.Event()

    def write(self, line: bytes) -> None:
        """Write a message that is not the last."""
        self._count += 1
        self._waiting.append((self._count, line))
        self._waiting_bytes += len(line)
        while self.reader is None and self._waiting_bytes > MOST_KEPT_BYTES and len(self._waiting) > 1:
            self._waiting_bytes -= len(self._waiting.popleft()[1])
        self._news.set()
        self._tell()

    def finish(self, line: bytes) -> None:
        """Write the response, which is the last message."""
        self.is_over = True
        self.write(line)

    def leave(self, reader: object) -> None:
        """Read no longer, if this is the response that reads it now."""
        if self.reader is reader:
            self.reader = None
            self._tell()

    def end(self) -> None:
        """End without a response."""
        self.is_over = True
        self._news.set()

    @property
    def only_response(self) -> bytes | None:
        """The response, if no message was written before it."""
        return self._waiting[0][1] if self.is_over and self._count == len(self._waiting) == 1 else None

    def take(self) -> list[tuple[int, bytes]]:
        """Return the messages that wait, each with its number in this stream; they count as sent."""
        taken = list(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        if not self.way.is_apart:  # such a stream has no ids, by which it could be resumed
            self._sent.extend(taken)
            self._sent_bytes += sum(len(line) for _, line in taken)
        while self._sent_bytes > MOST_KEPT_BYTES:
            self._sent_bytes -= len(self._sent.popleft()[1])
        self._news.clear()
        self._tell()
        return taken

    def rewind(self, last: int) -> None:
        """Send the messages after this number once more, as far as they are kept."""
        again = [each for each in self._sent if each[0] > last]
        self._sent = deque(each for each in self._sent if each[0] <= last)
        size = sum(len(line) for _, line in again)
        self._sent_bytes -= size
        self._waiting_bytes += size
        self._waiting.extendleft(reversed(again))
        self._news.set()

    @property
    def kept_bytes(self) -> int:
        """Bytes of its messages in memory."""
        return self._waiting_bytes + self._sent_bytes

    @property
    def has_news(self) -> bool:
        """Whether a message waits, or it is over."""
        return bool(self._waiting) or self.is_over

    async def news(self, seconds: float) -> None:
        """Wait for a message or the end, for a time."""
        if not self.has_news:
            try:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                return

    def _tell(self) -> None:
        is_congested = self.reader is not None and self._waiting_bytes > CONGESTED_BYTES
        if is_congested is not self._is_congested:
            self._is_congested = is_congested
            self._on_congestion(is_congested)


def event(line: bytes, event_id: str = "") -> bytes:
    """Write a message, which is one line, as a server-sent event."""
    head = b"id: %b\n" % event_id.encode() if event_id else b""
    return b"%bevent: message\ndata: %b\n\n" % (head, line.rstrip(b"\n"))
