"""A connection to the engine process: the first line, and the answer, which may bring the pipes of a client."""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable
from io import FileIO

from search_mcp.engine import hello
from search_mcp.engine.hello import Json
from search_mcp.engine.meeting import is_same_user
from search_mcp.fronts.serve import Client
from search_mcp.fronts.stdio import READ_CHUNK, PipeReader, PipeWriter, Reader, Writer
from search_mcp.wire.write_buffer import WriteBuffer

log = logging.getLogger(__name__)

HELLO_SECONDS = 10.0
"""Time for a new connection to send its first line."""


class Connection(asyncio.Protocol):
    """One connection: its first line and the answer. `open_streams` makes the pipes of a client's messages."""

    def __init__(self, on_hello: "Callable[[Connection, bytes], None]") -> None:
        """`on_hello` is called with the first line."""
        self._on_hello = on_hello
        self._first = bytearray()
        self._outlet: WriteBuffer
        self._transport: asyncio.Transport
        self._deadline: asyncio.TimerHandle | None = None
        self._our_ends: tuple[PipeReader | PipeWriter, ...] = ()
        self._their_ends: tuple[FileIO, ...] = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._outlet = transport, WriteBuffer(transport)
        transport.max_size = READ_CHUNK  # type: ignore[attr-defined]  # of a socket on POSIX
        if not is_same_user(transport.get_extra_info("socket")):
            log.warning("! another user's process has connected; it is refused")
            transport.abort()
            return
        self._deadline = asyncio.get_running_loop().call_later(HELLO_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        self._first += data
        if self._deadline is not None and b"\n" in data:
            self._deadline.cancel()
            self._deadline = None
            self._transport.pause_reading()
            self._on_hello(self, bytes(self._first).partition(b"\n")[0])
        elif len(self._first) > hello.MAX_BYTES:
            self.abort()

    async def open_streams(self, client: Client) -> tuple[Reader, Writer]:
        """Open two pipes for the client's messages, and return our ends of them; `accept` gives the others away.

        A message takes less time through a pipe than through a socket.

        Raises:
            OSError: this process may not open more files.
        """
        with contextlib.ExitStack() as opened:
            from_client, to_engine = _pipe(opened)
            from_engine, to_client = _pipe(opened)
            reader = await PipeReader.connect(from_client, client)
            opened.callback(reader.abort)  # called before the pipe is closed, which the event loop still waits for
            writer = await PipeWriter.connect(to_client, client)
            opened.pop_all()
        self._our_ends, self._their_ends = (reader, writer), (from_engine, to_engine)
        return reader, writer

    def accept(self, answer: Json) -> None:
        """Answer the first line, and give the other side its ends of the pipes: the one to read, the one to write.

        Raises:
            OSError: the other side is gone.
        """
        connected = self._transport.get_extra_info("socket")
        line = hello.encode(answer)
        with connected.dup() as sending:  # asyncio's own object cannot send descriptors
            sent = socket.send_fds(sending, [line], [each.fileno() for each in self._their_ends])
        self._close_their_ends()
        self.write(line[sent:])
        self.close()

    def _close_their_ends(self) -> None:
        for each in self._their_ends:
            each.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()

    def answer(self, message: Json) -> None:
        """Answer the first line."""
        self.write(hello.encode(message))

    def refuse(self, reason: str, **more: object) -> None:
        """Answer that the other side has to do without this process, and close."""
        self.answer({"alone": reason, **more})
        self.close()

    def write(self, data: bytes) -> None:
        self._outlet.write(data)

    def close(self) -> None:
        self._outlet.close()

    def abort(self) -> None:
        for each in self._our_ends:
            each.abort()
        self._close_their_ends()
        self._outlet.abort()


def _pipe(opened: contextlib.ExitStack) -> tuple[FileIO, FileIO]:
    reading, writing = os.pipe()
    return opened.enter_context(FileIO(reading)), opened.enter_context(FileIO(writing, "w"))
