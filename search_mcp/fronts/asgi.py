"""The host of an ASGI application inside the event loop of a process that does other work, too."""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Iterator
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

KEEP_ALIVE_SECONDS = 75
"""Time that an idle connection stays open; browsers close theirs earlier."""
HEAD_SECONDS = 10.0
"""Time in which the head of a request must have arrived, from its first byte on."""
MOST_CONNECTIONS = 256
"""Connections at a time; a further one ends the oldest, if possible one that has no request."""
MOST_CLIENT_CONNECTIONS = 4096
"""The same for the front over HTTP: each open call and stream has its own."""
_BACKLOG = 128
"""Connections that wait to be accepted; that many are accepted before old ones end."""


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Return whether a line of uvicorn's log tells of more than the end of this process with an open stream."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


logging.getLogger("uvicorn.error").addFilter(_is_no_cancellation)


class _Joining:
    """A transport that sends the head of a response and its body together, if both are written in one step.

    One send costs more than both writes. At most two parts are held, so that backpressure is reported in time.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._parts.append(data)
        if len(self._parts) == 1:
            self._loop.call_soon(self._send)
        else:
            self._send()

    def _send(self) -> None:
        data = b"".join(self._parts)
        self._parts.clear()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        self._send()
        self._transport.close()


class _Connection(H11Protocol):
    """One connection. At the limit, a new one ends an old one, so that idle connections do not block new ones.

    The timer with which uvicorn closes idle connections also closes those that send no request, or its head too slowly.
    """

    opened = 0.0
    most = MOST_CONNECTIONS
    _head_ends: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        self.opened = self.loop.time()
        super().connection_made(cast(asyncio.Transport, _Joining(transport, self.loop)))
        excess = len(self.connections) - self.most
        for each in sorted(self.connections - {self}, key=_usefulness)[:excess] if excess > 0 else ():
            each.transport.abort()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)  # uvicorn stops the timer
        if _is_busy(self):
            self._head_ends = None
        elif self.timeout_keep_alive_task is None:
            self._head_ends = self._head_ends or self.loop.time() + HEAD_SECONDS
            self.timeout_keep_alive_task = self.loop.call_at(self._head_ends, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()


class _ClientConnection(_Connection):
    """One connection of an MCP client; each open call and stream has its own."""

    most = MOST_CLIENT_CONNECTIONS


def _usefulness(connection: Any) -> tuple[bool, float]:
    """Order connections: those without a request come first, then the oldest."""
    return _is_busy(connection), connection.opened


def _is_busy(connection: Any) -> bool:
    cycle = connection.cycle
    return cycle is not None and not cycle.response_complete and not connection.transport.is_closing()


class AsgiHost(uvicorn.Server):
    """Serves an application; signals and the end are those of the process."""

    def __init__(self, app: ASGIApp, *, is_for_clients: bool = False) -> None:
        """`is_for_clients`: it serves MCP clients, which have many connections."""
        super().__init__(
            uvicorn.Config(
                app,
                http=_ClientConnection if is_for_clients else _Connection,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",  # a warning for each bad request would fill the log
                access_log=False,
                date_header=False,  # it would need a timer
                server_header=False,
                proxy_headers=False,
                backlog=_BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await asyncio.Event().wait()  # until it is cancelled

    async def run_on(self, listening: socket.socket) -> None:
        """Accept connections until this is cancelled, then close the socket."""
        with listening:
            await self.serve(sockets=[listening])


def listening_at(address: str, port: int = 0) -> socket.socket:
    """Return a socket that listens at an address.

    Raises:
        OSError: the address is in use, or is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # asyncio sends small parts at once (TCP_NODELAY) only if the protocol is named; else a response takes 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere, it would let another program listen at the same address
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening
