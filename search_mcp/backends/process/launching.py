"""Start child processes so that none is left running when this process ends."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import anyio

from search_mcp.backends.channel import Channel
from search_mcp.backends.process.child import ChildProcess, Trees
from search_mcp.backends.process.reaper import Reaper
from search_mcp.backends.process.stderr_log import StderrLog
from search_mcp.backends.process.variables import batch_line
from search_mcp.background import QueueOperation, run_now
from search_mcp.wire.structs import Struct

_CREATE_NO_WINDOW = 0x08000000
"""Windows: gives a child an invisible console, without a window and without our Ctrl-C."""


_Protocol = TypeVar("_Protocol", bound=asyncio.SubprocessProtocol)


class Command(Struct, frozen=True):
    """A resolved program with its arguments, whole environment and folder."""

    program: str
    args: Sequence[str]
    environment: Mapping[str, str]
    cwd: str | None
    log: Path | None = None
    """The log file of its stderr, without the secrets."""
    secrets: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"<Command {self.program}>"  # the rest may hold secrets

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("program", self.program)]


class Spawn(Protocol):
    async def __call__(
        self, command: Command, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> Channel:
        """Start a child; `on_stdout` receives its output as it arrives, then `on_end` is called once.

        Raises:
            OSError: it cannot be started.
        """
        ...


class Launcher:
    """Starts programs, each in a process tree of its own."""

    def __init__(self, trees: Trees | None = None) -> None:
        self.trees = trees or new_trees()
        self._one_at_a_time = asyncio.Lock()

    async def start(
        self,
        new: Callable[[Trees], _Protocol],
        program: str,
        args: Sequence[str],
        environment: Mapping[str, str],
        cwd: str | None,
        *,
        is_only_read: bool = False,
    ) -> _Protocol:
        """Start a program, with a pipe for its stdin and stderr unless it is only read; return its protocol.

        Raises:
            OSError, ValueError: it cannot be started.
        """
        loop = asyncio.get_running_loop()
        line = batch_line(sys.platform, program, args)
        run = loop.subprocess_exec if line is None else loop.subprocess_shell
        words = [program, *args] if line is None else [line]
        other = subprocess.DEVNULL if is_only_read else subprocess.PIPE
        # One at a time, so that each is watched before the next one starts. Shielded: a child that is cancelled
        # half-way would be neither stopped nor dismissed.
        async with self._one_at_a_time:
            self.trees.start()
            with self.trees.expecting() as first, anyio.CancelScope(shield=True):
                _, protocol = await run(
                    lambda: new(self.trees),
                    *words,
                    stdin=other,
                    stdout=subprocess.PIPE,
                    stderr=other,
                    env=dict(environment),
                    cwd=cwd,
                    preexec_fn=first,
                    **spawn_options(sys.platform),
                )
        return protocol


class Spawner:
    """Starts real servers."""

    def __init__(self, trees: Trees | None = None, file_queue: QueueOperation = run_now) -> None:
        self._launcher, self._file_queue = Launcher(trees), file_queue

    async def __call__(
        self, command: Command, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> ChildProcess:
        if command.cwd is not None and not Path(command.cwd).is_dir():  # noqa: ASYNC240  # one stat, before a fork
            raise NotADirectoryError(f"its working folder {command.cwd} does not exist")
        new = partial(ChildProcess, on_stdout, on_end, StderrLog(command.log, command.secrets, later=self._file_queue))
        return await self._launcher.start(new, command.program, command.args, command.environment, command.cwd)


def spawn_options(platform: str) -> dict[str, Any]:
    """Return the options that separate a child from our terminal and its signals."""
    if platform == "win32":
        return {"creationflags": _CREATE_NO_WINDOW}
    return {"start_new_session": True}


def new_trees() -> Trees:
    """Return what keeps children of this process together on this platform."""
    if sys.platform == "win32":
        from search_mcp.backends.process import job_objects

        return job_objects.JobTrees(job_objects.Win32JobObjects())
    return Reaper()


def without_threads() -> None:
    """Watch children through pidfds; Python 3.11 on Linux would use a thread for each."""
    if sys.platform == "linux" and sys.version_info < (3, 12):
        with contextlib.suppress(OSError):
            os.close(os.pidfd_open(os.getpid()))
            watcher = asyncio.PidfdChildWatcher()
            watcher.attach_loop(asyncio.get_running_loop())
            asyncio.set_child_watcher(watcher)


def is_program(path: str) -> bool:
    """Return whether a path is an executable file."""
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113  # a path's own raises where a folder is locked
