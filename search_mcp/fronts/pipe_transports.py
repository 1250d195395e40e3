"""Windows: named pipes in the event loop, for an engine process and for the commands that use one.

The loop of Windows reads, writes and accepts at pipes, but its public interface has no pipes of bytes, and none that
only their user can open. So two functions of it are used that are not public, here and nowhere else.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from search_mcp.fronts.engine_connection import Connection
from search_mcp.fronts.hello import END, Json
from search_mcp.fronts.named_pipes import Accounts, PipeEnd, make_instance
from search_mcp.fronts.serve import Client
from search_mcp.fronts.stdio import Reader, Writer

log = logging.getLogger(__name__)

NAME_SECONDS = 1.0
"""Time for the clients of an engine that has ended to close their ends of its pipe."""
LOOK_SECONDS = 0.02
"""Poll interval for that, in seconds."""
RETRY_SECONDS = 0.1
"""Delay before the next attempt if the system refuses another instance."""


class PipeConnection(Connection):
    """A connection of a client that says by its last byte that it sends no more: a pipe has no half that can be closed.

    Only processes of this user can open the pipe.
    """

    _is_done = False  # the client sends no more
    _to_serve: Client  # after `open_streams`

    def _is_of_this_user(self, transport: asyncio.Transport) -> bool:
        return True

    def _is_hung_up(self) -> bool:
        return True

    def data_received(self, data: bytes) -> None:
        super().data_received(data.removesuffix(END))
        if data.endswith(END):
            self._is_done = True
            if self.client is not None:
                self.client.on_eof()

    async def open_streams(self, client: Client) -> tuple[Reader, Writer]:
        """Return this pipe: it carries the client's messages."""
        self._to_serve = client
        return self, self

    def accept(self, answer: Json) -> None:
        self.answer(answer)
        self.serve(self._to_serve)

    def serve(self, client: Client) -> None:
        super().serve(client)
        if self._is_done:
            client.on_eof()


class PipeServer:
    """The pipe: one instance waits for a client, and each client has another one."""

    def __init__(self, address: str, accounts: Accounts, api: Any, pipe_handle: Callable[[int], Any]) -> None:
        """Make the first instance. `pipe_handle` makes an object for the event loop of a handle.

        Raises:
            OSError: it cannot be made, such as where another process has the name.
        """
        self._address, self._accounts, self._api, self._pipe_handle = address, accounts, api, pipe_handle
        self._waiting: Any = self._instance(is_first=True)
        self._accepting: asyncio.Future[Any] | None = None
        self._is_closed = False

    def _instance(self, *, is_first: bool) -> Any:
        return self._pipe_handle(make_instance(self._address, self._accounts, self._api, is_first=is_first))

    async def start(self, on_hello: Callable[[Connection, bytes], None]) -> None:
        """Accept clients from now on; `on_hello` is called with the first line of each."""
        self._on_hello = on_hello
        self._loop: Any = asyncio.get_running_loop()
        self._accept()

    def close(self) -> None:
        """Accept no more clients."""
        self._is_closed = True
        if self._accepting is not None:
            self._accepting.cancel()
        if self._waiting is not None:
            self._waiting.close()

    def _accept(self) -> None:
        if self._is_closed:
            return
        try:
            if self._waiting is None:
                self._waiting = self._instance(is_first=False)
            self._accepting = self._loop._proactor.accept_pipe(self._waiting)  # noqa: SLF001
        except BrokenPipeError:  # a client has connected and gone: "ERROR_NO_DATA"
            self._loop.call_soon(self._accept_at_another)
        except OSError as exc:
            log.warning("! no client can connect: %s", exc)
            self._loop.call_later(RETRY_SECONDS, self._accept_at_another)
        else:
            self._accepting.add_done_callback(self._on_client)

    def _accept_at_another(self) -> None:
        """Accept clients at another instance; the old one is closed after it is made, so that the name is kept."""
        old, self._waiting = self._waiting, None
        self._accept()
        if old is not None:
            old.close()

    def _on_client(self, accepted: "asyncio.Future[Any]") -> None:
        if self._is_closed or accepted.cancelled():
            return
        pipe = self._waiting
        if accepted.exception() is not None:
            self._accept_at_another()
            return
        self._waiting = None
        self._accept()
        _transport(self._loop, pipe, PipeConnection(self._on_hello))


def _transport(loop: Any, pipe: Any, protocol: asyncio.BaseProtocol) -> Any:
    return loop._make_duplex_pipe_transport(pipe, protocol, extra={"pipe": pipe})  # noqa: SLF001


def listen(address: str, seconds: float = NAME_SECONDS) -> PipeServer:
    """Make the pipe of an engine.

    Raises:
        OSError: it cannot be made, such as where another process has it.
    """
    pipes, api = import_module("search_mcp.fronts.named_pipes"), import_module("_winapi")
    return wait_for_name(lambda: PipeServer(address, pipes.accounts(), api, _pipe_handle()), seconds)


def wait_for_name(make: Callable[[], PipeServer], seconds: float) -> PipeServer:
    """Make a pipe whose name may be kept for a moment by clients of an engine that has just ended.

    Raises:
        OSError: it cannot be made in time.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return make()
        except PermissionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(LOOK_SECONDS)


async def open_streams(
    end: PipeEnd, pipe_handle: Callable[[int], Any] | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return streams of the client's end of a pipe, which they close."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport = _transport(loop, (pipe_handle or _pipe_handle())(end.detach()), protocol)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def _pipe_handle() -> Callable[[int], Any]:
    made: Callable[[int], Any] = import_module("asyncio.windows_utils").PipeHandle
    return made
