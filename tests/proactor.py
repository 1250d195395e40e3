"""CPython's pipe transports for Windows, on POSIX pipes: they differ from the transports for POSIX.

The transports are the real ones; overlapped I/O is emulated with readiness notifications.
"""

import asyncio
import errno
import os
from asyncio import proactor_events
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose pipes have the proactor's transports."""

    def __init__(self) -> None:
        super().__init__()
        self._proactor = Proactor(self)

    def _make_read_pipe_transport(
        self, pipe: Any, protocol: Any, waiter: Any = None, extra: Any = None
    ) -> asyncio.ReadTransport:
        return proactor_events._ProactorReadPipeTransport(self, pipe, protocol, waiter, extra)

    def _make_write_pipe_transport(
        self, pipe: Any, protocol: Any, waiter: Any = None, extra: Any = None
    ) -> asyncio.WriteTransport:
        return proactor_events._ProactorWritePipeTransport(self, pipe, protocol, waiter, extra)


class Operation(asyncio.Future[T]):
    """A pending I/O operation; it must finish before its pipe is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stop: Callable[[], object]) -> None:
        super().__init__(loop=loop)
        self._stop = stop

    def cancel(self, msg: Any = None) -> bool:
        self._stop()
        return super().cancel(msg)


class Proactor:
    """The subset of `IocpProactor` that pipe transports use."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def recv(self, pipe: Any, size: int) -> Operation[bytes]:
        return self._read(pipe.fileno(), size, bytes)

    def recv_into(self, pipe: Any, buffer: bytearray) -> Operation[int]:
        def fill(data: bytes) -> int:
            buffer[: len(data)] = data
            return len(data)

        return self._read(pipe.fileno(), len(buffer), fill)

    def send(self, pipe: Any, data: bytes | bytearray) -> Operation[int]:
        descriptor, left = pipe.fileno(), bytes(data)
        os.set_blocking(descriptor, False)
        operation: Operation[int] = Operation(self._loop, lambda: self._loop.remove_writer(descriptor))

        def on_writable() -> None:
            nonlocal left
            try:
                left = left[os.write(descriptor, left) :]
            except BlockingIOError:
                return
            except OSError as exc:
                self._loop.remove_writer(descriptor)
                operation.set_exception(exc)
                return
            if not left:
                self._loop.remove_writer(descriptor)
                operation.set_result(len(data))

        self._loop.add_writer(descriptor, on_writable)
        return operation

    def _read(self, descriptor: int, size: int, take: Callable[[bytes], T]) -> Operation[T]:
        os.set_blocking(descriptor, False)
        operation: Operation[T] = Operation(self._loop, lambda: self._loop.remove_reader(descriptor))

        def on_readable() -> None:
            try:
                data = os.read(descriptor, size)
            except BlockingIOError:
                return
            except OSError as exc:
                if exc.errno not in (errno.EBADF, errno.ECONNRESET):  # the reader of the writing end has closed
                    raise
                data = b""
            self._loop.remove_reader(descriptor)
            operation.set_result(take(data))

        self._loop.add_reader(descriptor, on_readable)
        return operation
