"""The engine process: it serves every client of a user whose relay connects to its socket.

Decides how it detaches from the process that started it, where it listens and logs, and what it removes at its end.
`host` has its clients.
"""

import asyncio
import contextlib
import gc
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from search_mcp import logs
from search_mcp.backends.process.launching import without_threads
from search_mcp.backends.process.reaper import last_resort
from search_mcp.collector import THRESHOLDS
from search_mcp.engine.connection import Connection
from search_mcp.engine.exhaustion import end_if_exhausted
from search_mcp.engine.host import Host, OpenPage
from search_mcp.engine.meeting import LOG_FILE, LOG_FOLDER
from search_mcp.engine.starting import READY
from search_mcp.files import make_folder, without_waiting
from search_mcp.folders import log_folder
from search_mcp.fronts.ending_signals import on_ending_signals
from search_mcp.gateway.reloading import LogSettings

IDLE_SECONDS = 300.0
"""Time without a client after which the engine ends."""
WAITING_CONNECTIONS = 1024
"""Connections that the system keeps until the engine accepts them."""
OPEN_FILES = 8192
"""Files that may be open: about 10 for each client, and 4 for each of its servers."""
LOG_BYTES = 1 << 20
"""Bytes of the log file after which it becomes the older one."""


class Socket:
    """The socket at which clients connect."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening, self._itself = listening, _identity(listening)
        self._server: asyncio.Server

    async def start(self, on_hello: Callable[[Connection, bytes], None]) -> None:
        """Accept clients from now on; `on_hello` is called with the first line of each."""
        # If `accept` fails, asyncio tries it `backlog` times in a row and logs each failure: with too many open files,
        # one connection that waits causes thousands of tracebacks a second. https://github.com/python/cpython/issues/151615
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: Connection(on_hello), sock=self._listening, backlog=1
        )
        self._listening.listen(WAITING_CONNECTIONS)

    def close(self) -> None:
        """Remove the socket from its folder, unless another engine has made one in its place."""
        with contextlib.suppress(OSError):
            if os.path.samestat(_identity(self._listening), self._itself):
                Path(self._listening.getsockname()).unlink()
        self._server.close()


def _identity(listening: socket.socket) -> os.stat_result:
    return Path(listening.getsockname()).stat()


async def host(listening: Socket, idle_seconds: float, log_to: LogSettings, open_page: OpenPage) -> None:
    """Serve clients until the end."""
    without_threads()
    asyncio.get_running_loop().set_exception_handler(_on_error)
    clients = Host(idle_seconds, log_to, open_page)
    with on_ending_signals(lambda _: clients.stop()):
        last_resort()
        await listening.start(clients.on_hello)
        _say_ready()
        await clients.run()
        listening.close()
        clients.finish()


def _on_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if isinstance(error := context.get("exception"), Exception):
        end_if_exhausted(error)
    loop.default_exception_handler(context)


def _say_ready() -> None:
    with contextlib.suppress(OSError):  # the process that started us waits no longer
        os.write(1, READY)
    _replace(1, os.open(os.devnull, os.O_RDWR))
    _replace(2, _open_log())


def _replace(descriptor: int, new: int) -> None:
    os.dup2(new, descriptor)
    os.close(new)


def _limit_log() -> None:
    """Go on in a new log file if this one is full; several engines may write the same."""
    if os.fstat(2).st_size > LOG_BYTES:
        _replace(2, _open_log())


def _open_log() -> int:
    """Open the log file, a new one if it is full; the null device if that is impossible."""
    file = log_folder() / LOG_FOLDER / LOG_FILE
    try:
        make_folder(file.parent)
        if file.exists() and file.stat().st_size > LOG_BYTES:
            file.replace(file.with_suffix(".old.log"))
        return without_waiting(str(file), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def bind(path: str) -> socket.socket:
    """Make the socket, in place of one that an engine has left behind.

    Raises:
        OSError: it cannot be made.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    listening.listen(WAITING_CONNECTIONS)
    return listening


def detach() -> None:
    """Become independent of the process that started us, and of tools that end a process with all its children."""
    if os.fork():
        os._exit(0)


def allow_more_files() -> None:
    """Raise the limit of open files, which is meant for one client: 256 on macOS, 1024 on most Linux systems."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # a system may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def listen(path: str, lock: int) -> Socket:
    """Listen on a socket, independent of the process that started us, which has given us the lock.

    Raises:
        OSError: the socket cannot be made.
    """
    os.set_inheritable(lock, False)
    listening = Socket(bind(path))
    detach()
    allow_more_files()
    return listening


def main(open_page: OpenPage) -> None:
    """Run an engine process: its arguments are the path of its socket, and the descriptor of the lock that it keeps."""
    listening = listen(sys.argv[1], int(sys.argv[2]))
    gc.freeze()
    gc.enable()
    gc.set_threshold(*THRESHOLDS)
    log_to = LogSettings(None)
    with logs.to_stderr("INFO", log_to.clean, log_to.conceal, _limit_log):
        asyncio.run(host(listening, IDLE_SECONDS, log_to, open_page))
