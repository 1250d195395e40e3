"""The named pipes of Windows, on sockets of POSIX: the functions of `_winapi` and of the event loop that are used.

Errors have the codes that Microsoft documents: a first instance where there is one (5), no such pipe (2), no instance
that waits (231), the other end is closed (109 for readers, 232 for writers), an operation that was cancelled (995).
"""

import asyncio
import contextlib
import os
import select
import socket
import threading
from asyncio import proactor_events
from collections.abc import Callable, Iterator
from typing import Any

import proactor

from search_mcp.fronts.named_pipes import Identity

WAIT_TIMEOUT = 0x102
FIRST_INSTANCE = 0x00080000
ADA = Identity("S-1-5-21-1", 1, "S-1-16-8192", is_confined=False)


def refusal(code: int) -> OSError:
    """Make an error as Windows reports it."""
    kind = {
        2: FileNotFoundError,
        5: PermissionError,
        32: PermissionError,
        109: BrokenPipeError,
        232: BrokenPipeError,
    }.get(code, OSError)
    exc = kind(code, f"[WinError {code}]")
    exc.winerror = code  # type: ignore[attr-defined]  # which errors have on Windows only
    return exc


class Instance:
    """One instance of a pipe."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.server, self.client = socket.socketpair()
        self.is_connected = False
        self.on_connected: Callable[[], None] | None = None


class Operation:
    """An overlapped operation on one end; it is carried out by the thread that waits for its result."""

    def __init__(self, end: socket.socket, size: int, data: bytes | None) -> None:
        self._end, self._size, self._left = end, size, data
        self._moved, self._read = 0, b""
        self._cancelled, self._cancelling = socket.socketpair()
        self._is_done = self._is_cancelled = False
        self._error: int | None = None

    @property
    def event(self) -> "Operation":
        return self

    def cancel(self) -> None:
        if not self._is_done:
            self._cancelling.send(b"c")

    def goes_on(self, seconds: float | None) -> bool:
        """Do what can be done; return whether it is complete."""
        while not self._is_done:
            reading = [self._cancelled]
            writing: list[socket.socket] = []
            (reading if self._left is None else writing).append(self._end)
            readable, writable, _ = select.select(reading, writing, [], seconds)
            if self._cancelled in readable:
                self._is_done = self._is_cancelled = True
            elif readable:
                self._receive()
            elif writable:
                self._send()
            else:
                return False
        return True

    def _receive(self) -> None:
        self._is_done = True
        with contextlib.suppress(OSError):
            self._read = self._end.recv(self._size)
        self._moved = len(self._read)
        if not self._read:
            self._error = 109

    def _send(self) -> None:
        assert self._left is not None
        try:
            sent = self._end.send(self._left, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            self._is_done, self._error = True, 232
            return
        self._moved += sent
        self._left = self._left[sent:]
        self._is_done = not self._left

    def GetOverlappedResult(self, wait: bool) -> tuple[int, int]:  # noqa: N802
        assert wait
        self.goes_on(None)
        self._cancelled.close()
        self._cancelling.close()
        if self._error is not None:
            raise refusal(self._error)
        return self._moved, 995 if self._is_cancelled else 0

    def getbuffer(self) -> bytes:
        return self._read


class Kernel:
    """The functions of `_winapi`; a handle is the number of an end."""

    def __init__(self) -> None:
        self._instances: list[Instance] = []
        self._ends: dict[int, socket.socket] = {}
        self._changed = threading.Condition()
        self.asked: list[tuple[Any, ...]] = []
        """The arguments of each new instance."""
        self.opened: list[tuple[Any, ...]] = []
        """The arguments of each client."""
        self.on_busy: Callable[[], object] = lambda: None
        """Called when a client finds no free instance."""
        self.on_taken: Callable[[], object] = lambda: None
        """Called when a first instance is refused because the name is taken."""
        self.is_waited_for = threading.Semaphore(0)
        """Released when a thread waits for an operation that cannot be completed yet."""

    def CreateNamedPipe(self, address: str, *options: int) -> int:  # noqa: N802
        self.asked.append((address, *options))
        with self._changed:
            exists = any(each.address == address for each in self._instances)
            if exists and options[0] & FIRST_INSTANCE:
                self.on_taken()
                raise refusal(5)
            instance = Instance(address)
            self._instances.append(instance)
            return self._opened(instance.server)

    def CreateFile(self, address: str, *options: int) -> int:  # noqa: N802
        self.opened.append((address, *options))
        with self._changed:
            named = [each for each in self._instances if each.address == address]
            if not named:
                raise refusal(2)
            free = [each for each in named if not each.is_connected and each.server.fileno() >= 0]
            if not free:
                self.on_busy()
                raise refusal(231)
            free[0].is_connected = True
            if free[0].on_connected is not None:
                free[0].on_connected()
            return self._opened(free[0].client)

    def _opened(self, end: socket.socket) -> int:
        self._ends[end.fileno()] = end
        return end.fileno()

    def ReadFile(self, handle: int, size: int, *, overlapped: bool) -> tuple[Operation, int]:  # noqa: N802
        assert overlapped
        return Operation(self._ends[handle], size, None), 997

    def WriteFile(self, handle: int, data: bytes, *, overlapped: bool) -> tuple[Operation, int]:  # noqa: N802
        assert overlapped
        return Operation(self._ends[handle], 0, data), 997

    def WaitForSingleObject(self, event: Operation, milliseconds: int) -> int:  # noqa: N802
        seconds = None if milliseconds == 0xFFFFFFFF else milliseconds / 1000
        if not event.goes_on(0):
            self.is_waited_for.release()
        return 0 if event.goes_on(seconds) else WAIT_TIMEOUT

    def CloseHandle(self, handle: int) -> None:  # noqa: N802
        """Close an end; an instance, and with it the name, lasts until both ends are closed."""
        with self._changed:
            end = self._ends.pop(handle)
            end.close()
            self._changed.notify_all()
            for each in list(self._instances):
                if end is each.server and not each.is_connected:
                    each.client.close()
                if each.server.fileno() < 0 and each.client.fileno() < 0:
                    self._instances.remove(each)

    def instance(self, handle: int) -> Instance:
        with self._changed:
            return next(each for each in self._instances if each.server.fileno() == handle)

    def close(self) -> None:
        for each in list(self._ends):
            self.CloseHandle(each)

    def wait_until_closed(self, seconds: float) -> None:
        """Wait until all handles are closed; the threads that use them may close the last ones."""
        with self._changed:
            assert self._changed.wait_for(lambda: not self._ends, seconds)

    @property
    def handles(self) -> int:
        """The number of open handles."""
        return len(self._ends)


class Handle:
    """An end of a pipe for the event loop."""

    def __init__(self, kernel: Kernel, number: int) -> None:
        self._kernel, self._number = kernel, number

    def fileno(self) -> int:
        return self._number

    def close(self) -> None:
        if self._number >= 0:
            self._kernel.CloseHandle(self._number)
            self._number = -1


class Loop(proactor.Loop):
    """An event loop that accepts clients of pipes."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._proactor = Proactor(self, kernel)

    def _make_duplex_pipe_transport(self, pipe: Any, protocol: Any, extra: Any) -> asyncio.Transport:
        return proactor_events._ProactorDuplexPipeTransport(self, pipe, protocol, None, extra)


class Proactor(proactor.Proactor):
    def __init__(self, loop: asyncio.AbstractEventLoop, kernel: Kernel) -> None:
        super().__init__(loop)
        self._kernel = kernel

    def accept_pipe(self, pipe: Handle) -> "asyncio.Future[Handle]":
        instance, accepted = self._kernel.instance(pipe.fileno()), self._loop.create_future()

        def accept() -> None:
            if not accepted.done():
                accepted.set_result(pipe)

        def connected() -> None:
            self._loop.call_soon_threadsafe(accept)

        instance.on_connected = connected
        if instance.is_connected:
            connected()
        return accepted


class Users:
    """Who runs a process: us, and the process that has made each pipe."""

    def __init__(self, server: Identity = ADA, owner: str = ADA.user) -> None:
        self._server, self._owner = server, owner
        self.protected: list[Identity] = []

    def ours(self) -> Identity:
        return ADA

    def of_server(self, pipe: int) -> Identity:
        assert os.fstat(pipe)
        return self._server

    def owner(self, pipe: int) -> str:
        assert os.fstat(pipe)
        return self._owner

    @contextlib.contextmanager
    def only_for(self, identity: Identity) -> Iterator[int]:
        self.protected.append(identity)
        yield 77
