"""The streams of an adapter where the system cannot wait for stdin: Windows. Each is read or written in a thread.

A thread holds one piece at most: what it has read and the adapter has not taken, or what it writes. So memory is
bounded as with `polled`. Standard library only, because adapters load nothing else.
"""

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator

from search_mcp.fronts.joining import Connected, Connection, Joined
from search_mcp.fronts.polled import CHUNK, Link, Ready, Taker, Wanted

LAST_SECONDS = 1.0
"""Time for the threads of a lost engine to read what it wrote before its end."""
WRITE_SECONDS = 1.0
"""Longest wait for the result of a write to an engine that neither reads nor writes."""


class Inlet:
    """Bytes that a thread reads."""

    def __init__(self, read: Callable[[], bytes], changed: threading.Condition) -> None:
        self._read, self._changed = read, changed
        self._chunk: bytes | None = None  # empty at the end
        self._is_closed = False
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def is_ready(self) -> bool:
        return self._chunk is not None

    @property
    def has_bytes(self) -> bool:
        """Whether there is more than the end."""
        return bool(self._chunk)

    def take(self) -> bytes:
        """Return what was read; empty at the end.

        Raises:
            BlockingIOError: nothing was.
        """
        with self._changed:
            chunk = self._chunk
            if chunk is None:
                raise BlockingIOError
            if chunk:
                self._chunk = None
                self._changed.notify_all()
            return chunk

    def rest(self, seconds: float) -> Iterator[bytes]:
        """Yield what is read until the end."""
        deadline = time.monotonic() + seconds
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: self.is_ready, max(0.0, deadline - time.monotonic())):
                    return
            chunk = self.take()
            if not chunk:
                return
            yield chunk

    def close(self) -> None:
        """Let the thread end after its current read."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while not self._is_closed:
            try:
                chunk = self._read()
            except OSError:
                chunk = b""
            with self._changed:
                self._chunk = chunk
                self._changed.notify_all()
                if not chunk:
                    return
                self._changed.wait_for(lambda: self._chunk is None or self._is_closed)


class Drain:
    """Bytes that a thread writes."""

    def __init__(self, write: Callable[[memoryview], None], changed: threading.Condition) -> None:
        self._write, self._changed = write, changed
        self._piece: memoryview | None = None
        self._last: Callable[[], None] | None = None  # done after everything was written
        self._is_closed = False
        self.is_broken = False
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def is_ready(self) -> bool:
        return self._piece is None

    def put(self, data: memoryview | bytes) -> int:
        """Take a piece; return its size.

        Raises:
            BlockingIOError: the one before is still being written.
            BrokenPipeError: no piece can be written any more.
        """
        with self._changed:
            if self.is_broken:
                raise BrokenPipeError
            if self._piece is not None:
                raise BlockingIOError
            self._piece = memoryview(data)
            self._changed.notify_all()
            return len(data)

    def end(self, last: Callable[[], None]) -> None:
        """Call `last` once everything was written."""
        with self._changed:
            self._last = last
            self._changed.notify_all()

    def close(self) -> None:
        """Let the thread end after its current write."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while not self.is_broken:
            with self._changed:
                self._changed.wait_for(lambda: self._piece is not None or self._last or self._is_closed)
                if self._is_closed:
                    return
                piece, last = self._piece, self._last
            is_broken = False
            try:
                if piece is not None:
                    self._write(piece)
                elif last is not None:
                    last()
            except OSError:
                is_broken = True
            with self._changed:
                self._piece = None
                if piece is None:
                    return
                self.is_broken = is_broken
                self._changed.notify_all()


class PumpedLink:
    """A `Link` of a connection that is read and written in threads."""

    def __init__(self, connection: Connection, changed: threading.Condition) -> None:
        self._connection, self._changed = connection, changed
        connection.settimeout(None)
        self.inlet = Inlet(lambda: connection.recv(CHUNK), changed)
        self.drain = Drain(connection.sendall, changed)

    def read(self) -> bytes:
        return self.inlet.take()

    def rest(self) -> Iterator[bytes]:
        return self.inlet.rest(LAST_SECONDS)

    def write(self, data: memoryview | bytes) -> int:
        """Write a piece, and wait for a moment, because a piece that a lost engine did not get is for the next one.

        An engine that has written something has to be read first: it may not read before.
        """
        size = self.drain.put(data)
        with self._changed:
            self._changed.wait_for(lambda: self.drain.is_ready or self.inlet.has_bytes, WRITE_SECONDS)
            if self.drain.is_broken:
                raise BrokenPipeError(errno.EPIPE, "the engine is gone")
        return size

    def end(self) -> None:
        self.drain.end(lambda: self._connection.shutdown(1))

    def close(self) -> None:
        self.inlet.close()
        self.drain.close()
        self._connection.close()


class Pumped:
    """`Streams` that are read and written in threads."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._changed = threading.Condition()
        self._inlet = Inlet(lambda: os.read(stdin, CHUNK), self._changed)
        self._drain = Drain(lambda data: write_whole(stdout, data), self._changed)

    def attach(self, joined: Joined) -> PumpedLink:
        assert isinstance(joined, Connected)
        return PumpedLink(joined.connection, self._changed)

    def wait(self, wanted: Wanted, link: Link | None, seconds: float | None) -> Ready | None:
        engine = link if isinstance(link, PumpedLink) else None

        def is_ready() -> bool:
            return (
                self._drain.is_broken
                or (wanted.from_client and self._inlet.is_ready)
                or (wanted.to_client and self._drain.is_ready)
                or (engine is not None and wanted.from_engine and engine.inlet.is_ready)
                or (engine is not None and wanted.to_engine and engine.drain.is_ready)
            )

        with self._changed:
            if not self._changed.wait_for(is_ready, seconds):
                return None
            return Ready(
                from_client=wanted.from_client and self._inlet.is_ready,
                from_engine=engine is not None and wanted.from_engine and engine.inlet.is_ready,
                is_client_gone=self._drain.is_broken,
            )

    def relay(self, _link: Link, _take_from_client: Taker, _take_from_engine: Taker) -> None:
        """Return at once: switching threads takes longer than relaying would save."""

    def read(self) -> bytes:
        return self._inlet.take()

    def write(self, data: memoryview | bytes) -> int:
        return self._drain.put(data[:CHUNK])

    def finish(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._drain.is_ready or self._drain.is_broken, seconds)


def write_whole(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
