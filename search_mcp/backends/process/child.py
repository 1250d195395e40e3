"""A child process and its pipes: read, write, stop.

Decides how a whole process tree is stopped, including programs that `npx` and `uvx` start: each child has a process
group of its own, or a job object on Windows.
"""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable
from typing import Any, Protocol

import anyio

from search_mcp.backends.process.stderr_log import StderrLog
from search_mcp.wire.write_buffer import WriteBuffer

log = logging.getLogger(__name__)

CLOSE_SECONDS = 1.0
"""Time for a child to exit after its stdin is closed. The SDKs' clients signal
us two seconds after they closed ours: by then it is over."""
TERM_SECONDS = 1.0
"""Time between SIGTERM and SIGKILL."""
LAST_BYTES_SECONDS = 0.2
"""Longest time between the end of a child's output and its exit."""
REAP_SECONDS = 1.0
"""Time for the system to report a killed child."""
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
SHORT_READ_BYTES = 1 << 10
LONG_READ_BYTES = 1 << 16
"""Bytes of output that are read at a time: of short messages, and of a long one."""
DEFER_SECONDS = 0.001
"""Delay before a flooding child is read again; handling one read takes a tenth of that."""
WRITE_LIMIT_BYTES = 64 << 20
"""Bytes that may wait for a child that does not read its stdin; beyond that, calls to it are refused. Answers to its
own requests may be as much again; then it is killed."""


class Trees(Protocol):
    """Keeps each child together with all processes that it starts, and ends them when this process ends."""

    def start(self) -> None:
        """Prepare, before the first child is started."""
        ...

    def expecting(self) -> contextlib.AbstractContextManager[Callable[[], None] | None]:
        """Start a child in this context; yields a function to run in it before its program, if any."""
        ...

    def watch(self, pid: int) -> None: ...
    def signal(self, pid: int, number: int) -> None: ...
    def dismiss(self, pid: int) -> None: ...


class _Straight(asyncio.Protocol):
    """Handles a child's stdout as it is read; asyncio's own protocol does so one turn of the loop later."""

    def __init__(self, on_bytes: Callable[[bytes], None], own: asyncio.BaseProtocol) -> None:
        self._on_bytes, self._own = on_bytes, own

    def data_received(self, data: bytes) -> None:
        self._on_bytes(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._own.connection_lost(exc)  # it counts the pipes that are open


class ChildProcess(asyncio.SubprocessProtocol):
    """One child and its pipes; the `Channel` to a local server."""

    def __init__(
        self, on_stdout: Callable[[bytes], None], on_end: Callable[[], None], stderr_log: StderrLog, trees: Trees
    ) -> None:
        self._on_stdout, self._on_end = on_stdout, on_end
        self._stderr_log, self._trees = stderr_log, trees
        self._transport: asyncio.SubprocessTransport | None = None
        self._exited = asyncio.Event()
        self._open = {1, 2}  # outputs that are not read to their end
        self._last_bytes: asyncio.TimerHandle | None = None
        self._reported = False
        self._is_deaf = False  # its stdin is closed
        self._is_congested = False
        self._surplus = 0  # bytes written while it was congested: answers to its requests
        self._read_size = SHORT_READ_BYTES
        self._floods = False  # more short messages wait than were read
        self._deferred: asyncio.TimerHandle | None = None
        self._is_paused = False  # its stdout is not read; the pipes of Python 3.11.2 cannot be asked for it

    def __repr__(self) -> str:
        return f"<ChildProcess pid={self.pid} exit={self.exit_code()}>"

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        stdin, stdout = (transport.get_pipe_transport(fd) for fd in (0, 1))
        assert isinstance(stdin, asyncio.WriteTransport)
        assert isinstance(stdout, asyncio.ReadTransport)
        stdin.set_write_buffer_limits(WRITE_LIMIT_BYTES, WRITE_LIMIT_BYTES)
        self._stdin = WriteBuffer(stdin)
        self._stdout: Any = stdout
        self._stdout.set_protocol(_Straight(self._on_output, stdout.get_protocol()))
        self._trees.watch(self.pid)
        self._stderr_log.started(self.pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:  # it was read before `connection_made`
            self._on_output(data)
        else:
            self._stderr_log.write(data)

    def _on_output(self, data: bytes) -> None:
        # All that is read is handled in one turn of the loop, so a flooding server must not hold up the others.
        is_bulk = b"\n" not in data
        self._floods = len(data) >= self._read_size and not is_bulk
        self._read_size = self._stdout.max_size = LONG_READ_BYTES if is_bulk else SHORT_READ_BYTES  # of a pipe on POSIX
        self._on_stdout(bytes(data))  # Windows: a bytearray, always before Python 3.12 and after a pause since

    def pause_writing(self) -> None:
        self._is_congested = True

    def resume_writing(self) -> None:
        self._is_congested = False
        self._surplus = 0

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if fd == 0:
            self._is_deaf = True
        if fd in (0, 1) or self._last_bytes is not None:
            self._end_soon()

    def process_exited(self) -> None:
        self._exited.set()
        self._end_soon()

    def _end_soon(self) -> None:
        """Report the end once it exited and all output is read, or after a short time.

        The exit code explains more than a closed pipe, and output from before the exit is still to be read; but a
        grandchild may keep a pipe open for ever.
        """
        if self._last_bytes is None:
            self._last_bytes = asyncio.get_running_loop().call_later(LAST_BYTES_SECONDS, self._report_end)
        if not self._open and self._exited.is_set():
            self._report_end()

    def _report_end(self) -> None:
        if self._last_bytes is not None:
            self._last_bytes.cancel()
        if not self._reported:
            self._reported = True
            self._on_end()

    # The channel

    @property
    def pid(self) -> int:
        return self._running.get_pid()

    @property
    def _running(self) -> asyncio.SubprocessTransport:
        assert self._transport is not None, "connection_made comes first"
        return self._transport

    def _pipe(self, fd: int) -> asyncio.BaseTransport | None:
        pipe: asyncio.BaseTransport | None = self._running.get_pipe_transport(fd)
        return pipe

    def write(self, data: bytes) -> None:
        self._stdin.write(data)
        if not self._is_congested or self._is_deaf:
            return
        self._surplus += len(data)
        if self._surplus > WRITE_LIMIT_BYTES:
            self._stderr_log.write(b"search-mcp: killed, because it does not read the answers to its requests\n")
            self.kill()
            self._stdin.abort()
            self._is_deaf = True

    def is_congested(self) -> bool:
        """Return whether the child leaves too much unread."""
        return self._is_congested

    def defer_reading(self) -> None:
        if self._floods and not self._is_paused:
            self._is_paused = True
            self._stdout.pause_reading()
            self._deferred = asyncio.get_running_loop().call_later(DEFER_SECONDS, self.resume_reading)

    def _end_deferral(self) -> None:
        if self._deferred is not None:
            self._deferred.cancel()
            self._deferred = None

    def pause_reading(self) -> None:
        self._end_deferral()
        pipe = self._pipe(1)
        if isinstance(pipe, asyncio.ReadTransport):
            self._is_paused = True
            pipe.pause_reading()

    def resume_reading(self) -> None:
        self._end_deferral()
        pipe = self._pipe(1)
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            self._is_paused = False
            pipe.resume_reading()

    def stderr_tail(self) -> str:
        return self._stderr_log.tail()

    def has_session(self) -> bool:
        return True

    def describe(self) -> str:
        return f"pid={self.pid}"

    def how_it_ended(self) -> str:
        code = self.exit_code()
        if code is None:
            return "it closed its input or output"
        return f"it was killed by signal {-code}" if code < 0 else f"it exited with code {code}"

    def exit_code(self) -> int | None:
        code: int | None = self._running.get_returncode()
        return code

    def has_ended(self) -> bool:
        """Return whether it exited, or closed its stdin or stdout."""
        return self._is_deaf or 1 not in self._open or self._exited.is_set()

    async def stop(self) -> None:
        with anyio.CancelScope(shield=True):
            self._stdin.close()
            self.resume_reading()  # a child that still writes must not block on it
            if not await self._exits_within(CLOSE_SECONDS):
                self.terminate()
                if not await self._exits_within(TERM_SECONDS):
                    log.warning("! pid %d ignored SIGTERM and is killed", self.pid)
            # All other processes of its group end in any case.
            self.kill()
            if not await self._exits_within(REAP_SECONDS):
                log.error("! pid %d is still there after SIGKILL", self.pid)
            self._trees.dismiss(self.pid)
            self._stderr_log.close()
            if self._stdin.unwritten():
                self._stdin.abort()  # a daemon that it started may keep the pipe open and never read
            with contextlib.suppress(ProcessLookupError, PermissionError):
                self._running.close()

    async def _exits_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._exited.wait()
        return self._exited.is_set()

    def terminate(self) -> None:
        self._signal_tree(signal.SIGTERM)

    def kill(self) -> None:
        self._signal_tree(_KILL)

    def _signal_tree(self, number: int) -> None:
        self._trees.signal(self.pid, number)
