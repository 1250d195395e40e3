"""Reading stdin and writing stdout, the client's connection.

Decides how the two are read and written on each platform.
"""

import asyncio
import contextlib
import os
import select
import sys
import threading
from collections import deque
from io import FileIO
from typing import Protocol

from search_mcp.fronts.standard_streams import is_pollable
from search_mcp.wire.write_buffer import WriteBuffer

READ_CHUNK = 1 << 16
"""Bytes read at once: the size of a pipe. Allocating asyncio's 256 KiB takes longer than the read."""
LOOK_SECONDS = 1.0
"""Poll interval for the end of an input while reading is paused, in seconds."""
CONGESTED_BYTES = 1 << 20
"""Bytes that may wait for a client that is not reading before reading from backends is paused."""


class Listener(Protocol):
    """Takes the client's bytes and the events of both streams."""

    def on_bytes(self, chunk: bytes) -> None: ...
    def on_eof(self) -> None: ...
    def on_gone(self) -> None:
        """Handle that the client closed stdout."""
        ...

    def on_congested(self) -> None: ...
    def on_clear(self) -> None: ...


class Writer(Protocol):
    def write(self, data: bytes) -> None: ...
    def close(self) -> None:
        """Write the remaining bytes, then close; the listener's `on_gone` is called after that."""
        ...


class Reader(Protocol):
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


async def connect(protocol_in: int, protocol_out: int, listener: Listener) -> tuple[Reader, Writer]:
    """Start reading and get ready to write."""
    reader: Reader
    writer: Writer
    if is_pollable(sys.platform, os.fstat(protocol_out).st_mode):
        writer = await PipeWriter.connect(FileIO(protocol_out, "w"), listener)
    else:
        writer = ThreadWriter(protocol_out, listener)
    if is_pollable(sys.platform, os.fstat(protocol_in).st_mode):
        reader = await PipeReader.connect(FileIO(protocol_in), listener)
    else:
        reader = ThreadReader(protocol_in, listener)
    return reader, writer


class PipeReader(asyncio.Protocol):
    """Reads a pipe or a socket in the event loop."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._transport: asyncio.ReadTransport
        self._next_look: asyncio.TimerHandle | None = None
        self._is_paused = False  # the pipes of Python 3.11.2 cannot be asked for it

    @classmethod
    async def connect(cls, pipe: FileIO, listener: Listener) -> "PipeReader":
        _, protocol = await asyncio.get_running_loop().connect_read_pipe(lambda: cls(listener), pipe)
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport
        transport.max_size = READ_CHUNK  # type: ignore[attr-defined]  # of a pipe on POSIX

    def data_received(self, data: bytes) -> None:
        self._listener.on_bytes(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.on_eof()

    def pause_reading(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
            self._look_for_the_end()

    def _look_for_the_end(self) -> None:
        """Check for the end of the input while reading is paused: a client that is not reading may have ended."""
        if not self._is_paused or self._transport.is_closing():
            return
        if _is_over(self._transport.get_extra_info("pipe").fileno()):
            self._listener.on_eof()
        else:
            self._next_look = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look_for_the_end)

    def resume_reading(self) -> None:
        if self._is_paused and not self._transport.is_closing():
            self._is_paused = False
            if self._next_look is not None:
                self._next_look.cancel()
            self._transport.resume_reading()

    def abort(self) -> None:
        """Read no more, and close."""
        self._transport.close()


def _is_over(descriptor: int) -> bool:
    """Return whether a pipe or a socket was closed at its other end and is empty.

    It is then readable and has no bytes. `POLLHUP` alone is not enough: a socket, and every pipe of macOS, reports
    `POLLIN` as well, whether bytes are left or not.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(0):
        return False
    # Loaded when needed, not at the start; Windows has neither.
    import fcntl
    import termios

    return not any(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))


class PipeWriter(asyncio.BaseProtocol):
    """Writes to a pipe or a socket in the event loop."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._outlet: WriteBuffer

    @classmethod
    async def connect(cls, pipe: FileIO, listener: Listener) -> "PipeWriter":
        transport, protocol = await asyncio.get_running_loop().connect_write_pipe(lambda: cls(listener), pipe)
        transport.set_write_buffer_limits(high=CONGESTED_BYTES)
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._outlet = WriteBuffer(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.on_gone()

    def pause_writing(self) -> None:
        self._listener.on_congested()

    def resume_writing(self) -> None:
        self._listener.on_clear()

    def write(self, data: bytes) -> None:
        self._outlet.write(data)

    def close(self) -> None:
        self._outlet.close()

    def abort(self) -> None:
        """Close without writing what waits."""
        self._outlet.abort()


class ThreadReader:
    """Read in a daemon thread, for files and for Windows.

    The next chunk is read after the last one was handled, so at most one waits.
    """

    def __init__(self, descriptor: int, listener: Listener) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor, self._listener = descriptor, listener
        self._paused = False
        self._may_read = threading.Event()
        self._may_read.set()
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            while self._may_read.wait():
                try:
                    chunk = os.read(self._descriptor, READ_CHUNK)
                except OSError:
                    chunk = b""
                if not chunk:
                    self._loop.call_soon_threadsafe(self._listener.on_eof)
                    return
                self._may_read.clear()
                self._loop.call_soon_threadsafe(self._take, chunk)

    def _take(self, chunk: bytes) -> None:
        self._listener.on_bytes(chunk)
        if not self._paused:
            self._may_read.set()

    def pause_reading(self) -> None:
        self._paused = True
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._paused = False
        self._may_read.set()


class ThreadWriter:
    """Write in a thread, for files and for Windows, where a write blocks until the client reads."""

    def __init__(self, descriptor: int, listener: Listener) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor, self._listener = descriptor, listener
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._size = 0  # bytes not yet written
        self._closed = False
        threading.Thread(target=self._run, name="stdout", daemon=True).start()

    def write(self, data: bytes) -> None:
        with self._changed:
            was_clear = self._size <= CONGESTED_BYTES
            self._size += len(data)
            self._waiting.append(data)
            self._changed.notify()
        if was_clear and self._size > CONGESTED_BYTES:
            self._listener.on_congested()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._waiting or self._closed)
                    if not self._waiting:
                        self._loop.call_soon_threadsafe(self._listener.on_gone)
                        return
                    data = self._waiting.popleft()
                if not self._write_whole(data):
                    self._loop.call_soon_threadsafe(self._listener.on_gone)
                    return
                with self._changed:
                    was_congested = self._size > CONGESTED_BYTES
                    self._size -= len(data)
                    is_clear = self._size <= CONGESTED_BYTES
                if was_congested and is_clear:
                    self._loop.call_soon_threadsafe(self._listener.on_clear)

    def _write_whole(self, data: bytes) -> bool:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            return False
        return True
