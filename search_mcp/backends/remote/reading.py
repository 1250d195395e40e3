"""The pace at which responses are read: in small pieces, and not while the client does not read."""

from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import httpx2

DEFER_SECONDS = 0.005
"""Time in which a flooding server is not read."""
PIECE_BYTES = 16 << 10
"""Bytes of an answer that are handled at once: 16 kB of empty lines, or of empty events, take 10 to 30 ms."""
CHUNK_BYTES = 1 << 10
"""Bytes that take as long as a chunk takes besides its own: 64 kB from the network can be 9,000 chunks."""


class Paced(httpx2.AsyncByteStream):
    """A body as it is received; others run while it is read, also where there is no wait for the network."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        handled = 0
        async for chunk in self._body:
            handled += CHUNK_BYTES + len(chunk)
            if handled > PIECE_BYTES:
                handled = 0
                await anyio.lowlevel.checkpoint()
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class Reading:
    """The reading of all responses of one server."""

    def __init__(self) -> None:
        self._flowing = anyio.Event()  # set unless reading is paused
        self._flowing.set()
        self._is_deferred = False

    async def pieces(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """Yield a body in small pieces, as fast as it may be read.

        Others run between them, also where there is no wait for the network: a little compressed data can become very
        much.
        """
        async for chunk in response.aiter_bytes():
            for start in range(0, len(chunk), PIECE_BYTES):
                if len(chunk) > PIECE_BYTES:
                    await anyio.lowlevel.checkpoint()
                await self._may_read()
                yield chunk[start : start + PIECE_BYTES]

    async def _may_read(self) -> None:
        """Wait while reading is paused, and a moment if it is deferred."""
        if self._is_deferred:
            self._is_deferred = False
            await anyio.sleep(DEFER_SECONDS)
        if not self._flowing.is_set():
            await self._flowing.wait()

    def defer(self) -> None:
        self._is_deferred = True

    def pause(self) -> None:
        if self._flowing.is_set():
            self._flowing = anyio.Event()

    def resume(self) -> None:
        self._flowing.set()
