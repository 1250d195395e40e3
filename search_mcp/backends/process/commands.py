"""Commands whose output is a secret: `${command:...}` in the configuration.

Such a command gets the client's variables and folder, no input, and no terminal to ask on. Its stderr is dropped, since
it may quote the secret. Its whole process tree ends with it, after a time limit, and when this process ends.
"""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import anyio

from search_mcp.backends.channel import CannotOpenChannelError
from search_mcp.backends.process.child import REAP_SECONDS, Trees
from search_mcp.backends.process.launching import Launcher, is_program
from search_mcp.backends.process.variables import child_environment, find_program, missing_program

LAST_BYTES_SECONDS = 0.2
"""Time to read output after the exit; a process that goes on in the background may keep the pipe open."""
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class CommandRunner:
    """Runs commands for their output."""

    def __init__(self, trees: Trees | None = None) -> None:
        self._launcher = Launcher(trees)

    async def __call__(
        self, words: Sequence[str], variables: Mapping[str, str], home: str, folder: str | None, most_bytes: int
    ) -> bytes:
        """Run a command; return its output.

        Raises:
            CannotOpenChannelError: it cannot be started, or it failed; the text is a clause about the command.
        """
        environment = child_environment(sys.platform, variables, {}, True, home)
        program = find_program(sys.platform, words[0], environment, folder, is_program)
        if program is None:
            raise CannotOpenChannelError(f"cannot be run: {missing_program(words[0], lambda _other: False)}")
        try:
            new = partial(_Running, most_bytes)
            running = await self._launcher.start(new, program, words[1:], environment, folder, is_only_read=True)
        except (OSError, ValueError) as exc:
            raise CannotOpenChannelError(f"cannot be run: {getattr(exc, 'strerror', None) or exc}") from exc
        try:
            await running.ended()
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(running)
        if len(running.output) > most_bytes:
            raise CannotOpenChannelError(f"prints more than {most_bytes >> 10} KiB")
        if running.code != 0:
            how = f"ended by signal {-running.code}" if running.code < 0 else f"exited with code {running.code}"
            raise CannotOpenChannelError(how)
        return bytes(running.output)

    async def _end(self, running: "_Running") -> None:
        """End the command and everything that it started."""
        self._launcher.trees.signal(running.pid, _KILL)
        with anyio.move_on_after(REAP_SECONDS):
            await running.exited.wait()
        self._launcher.trees.dismiss(running.pid)
        running.close()


class _Running(asyncio.SubprocessProtocol):
    """One command and its output."""

    def __init__(self, most_bytes: int, trees: Trees) -> None:
        self.output = bytearray()
        self.exited = asyncio.Event()
        self._is_over = asyncio.Event()  # it has exited, or prints too much
        self._trees, self._most_bytes = trees, most_bytes
        self._is_read = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self._trees.watch(self.pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if len(self.output) <= self._most_bytes:
            self.output += data
        else:
            self._is_over.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._is_read.set()

    def process_exited(self) -> None:
        self.exited.set()
        self._is_over.set()

    @property
    def pid(self) -> int:
        return self._running.get_pid()

    @property
    def code(self) -> int:
        """The exit code, once it has exited."""
        code = self._running.get_returncode()
        assert code is not None
        return code

    @property
    def _running(self) -> asyncio.SubprocessTransport:
        assert self._transport is not None, "connection_made comes first"
        return self._transport

    async def ended(self) -> None:
        """Wait for the exit and the last output, or for too much output."""
        await self._is_over.wait()
        with anyio.move_on_after(LAST_BYTES_SECONDS):
            await self._is_read.wait()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self._running.close()
