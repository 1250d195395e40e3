"""The host of an ASGI application inside the event loop of a process that does other work, too."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

KEEP_ALIVE_SECONDS = 75
"""Time that an idle connection stays open; browsers close theirs earlier."""
MOST_CONNECTIONS = 256
"""Connections at a time; further requests are answered with 503."""


class AsgiHost(uvicorn.Server):
    """Serves an application; signals and the end are those of the process."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                date_header=False,  # it would need a timer
                server_header=False,
                proxy_headers=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await asyncio.Event().wait()  # until it is cancelled

    async def run_on(self, listening: socket.socket) -> None:
        """Accept connections until this is cancelled."""
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
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening
