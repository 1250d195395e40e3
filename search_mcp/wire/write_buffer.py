"""Bytes on their way into a pipe: few large writes in place of many small ones.

Decides when they leave, never whether: the order stays, and nothing waits longer than the turn of the
event loop in which it was written. A write is a system call and wakes the reader up, who then takes the
processor from us; under load that is half of what a message costs.
"""

import asyncio

LARGE_BYTES = 1 << 16
"""Beyond this, copying what waits into one piece costs more than another write."""


class WriteBuffer:
    """What is written in a turn leaves together at its end.

    Its first piece leaves at once, so that nobody waits for it, unless there were more of them the last time.
    """

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._waiting: list[bytes] = []
        self._size = 0  # of what waits
        self._gathers = False
        self._hurries = True

    def write(self, data: bytes) -> None:
        if not self._gathers:
            self._gathers = True
            self._loop.call_soon(self._end_turn)
            if self._hurries:
                self._let_go(data)
                return
        self._waiting.append(data)
        self._size += len(data)
        if self._size > LARGE_BYTES:
            self.flush()

    def unwritten(self) -> int:
        """How many bytes the reader has not taken."""
        return self._size + self._transport.get_write_buffer_size()

    def flush(self) -> None:
        """Let go of what waits."""
        if self._waiting:
            waiting, self._waiting, self._size = self._waiting, [], 0
            self._let_go(waiting[0] if len(waiting) == 1 else b"".join(waiting))

    def close(self) -> None:
        """Write what waits, then close."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close without writing anything more."""
        self._waiting, self._size = [], 0
        self._transport.abort()

    def _end_turn(self) -> None:
        self._gathers = False
        pieces = len(self._waiting) + self._hurries
        self._hurries = pieces == 1
        self.flush()

    def _let_go(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)
