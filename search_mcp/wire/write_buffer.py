"""Buffered writing to a pipe: few large writes instead of many small ones.

The order is kept, and data waits at most until the end of the turn of the event loop in which it was written. Each
write is a system call that wakes the reader, which then competes for the processor: under load, half of the cost of a
message.
"""

import asyncio

LARGE_BYTES = 1 << 16
"""Most buffered bytes; copying more into one piece costs more than another write."""


class WriteBuffer:
    """Collects the data that is written in one turn of the event loop and writes it at the end of the turn.

    The first piece of a turn is written at once, to save its latency, unless the previous turn had several pieces.
    """

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._waiting: list[bytes] = []
        self._size = 0  # bytes in `_waiting`
        self._turn_is_open = False
        self._writes_first_at_once = True

    def write(self, data: bytes) -> None:
        """Write data now or at the end of the turn."""
        if not self._turn_is_open:
            self._turn_is_open = True
            self._loop.call_soon(self._end_turn)
            if self._writes_first_at_once:
                self._write_now(data)
                return
        self._waiting.append(data)
        self._size += len(data)
        if self._size > LARGE_BYTES:
            self.flush()

    def unwritten(self) -> int:
        """Return the number of bytes that the reader has not read."""
        return self._size + self._transport.get_write_buffer_size()

    def flush(self) -> None:
        """Write the waiting data."""
        if self._waiting:
            waiting, self._waiting, self._size = self._waiting, [], 0
            self._write_now(waiting[0] if len(waiting) == 1 else b"".join(waiting))

    def close(self) -> None:
        """Write the waiting data, then close."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close without writing the waiting data."""
        self._waiting, self._size = [], 0
        # asyncio cannot abort a transport that was closed and has nothing left to write: that of a pipe calls
        # `connection_lost` again, and that of a socket raises if it had something to write when it was closed.
        if not self._transport.is_closing() or self._transport.get_write_buffer_size():
            self._transport.abort()

    def _end_turn(self) -> None:
        self._turn_is_open = False
        pieces = len(self._waiting) + self._writes_first_at_once
        self._writes_first_at_once = pieces == 1
        if self._waiting:
            self.flush()

    def _write_now(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)
