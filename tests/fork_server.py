"""Run commands of search-mcp in forked processes, without the import time of a new interpreter.

The tests of the commands start hundreds of processes, and four fifths of the CPU time of each is spent on imports. A
fork server is one process that has imported search-mcp and runs nothing else: for each command it forks a child, which
takes over the standard streams, the folder and the environment it is given and runs `python -m search_mcp`.

Only Linux has a fork server: elsewhere forking is unsafe or missing, and a command starts a new interpreter.
"""

import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import BinaryIO


class Forked:
    """A command that runs in a child of the fork server."""

    def __init__(self, reply: socket.socket) -> None:
        self._reply = reply
        self._lines = reply.makefile("rb")
        self._pid = int(self._lines.readline())

    def wait(self, seconds: float) -> int:
        """Wait until the command has ended; return its exit code, negative for a signal.

        Raises:
            TimeoutError: it did not end in time, and was killed.
        """
        with self._reply, self._lines:
            self._reply.settimeout(seconds)
            try:
                return int(self._lines.readline())
            except TimeoutError:
                os.kill(self._pid, signal.SIGKILL)
                raise


class ForkServer:
    """A running fork server; `close` ends it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = _read_by_an_interpreter(environment)
        self._requests, other_end = socket.socketpair()
        with other_end:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(other_end.fileno())],
                stdin=subprocess.DEVNULL,
                env={**environment},
                pass_fds=[other_end.fileno()],
            )

    def close(self) -> None:
        self._requests.close()
        self._process.wait()

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Return whether a new interpreter would behave as the fork server's does in this environment."""
        return _read_by_an_interpreter(environment) == self._environment

    def start(
        self,
        words: Sequence[str],
        streams: tuple[int, int, int],
        *,
        folder: Path,
        environment: Mapping[str, str],
        terminal: bool = False,
    ) -> Forked:
        """Start a command with stdin, stdout and stderr; with `terminal`, stdin becomes its controlling terminal."""
        request = {"words": [*words], "folder": str(folder), "environment": {**environment}, "terminal": terminal}
        reply, other_end = socket.socketpair()
        with other_end:
            socket.send_fds(self._requests, [b"\n"], [*streams, other_end.fileno()])
        reply.sendall(json.dumps(request).encode())
        reply.shutdown(socket.SHUT_WR)
        return Forked(reply)

    def run(
        self, words: Sequence[str], *, stdin: bytes, folder: Path, environment: Mapping[str, str], seconds: float
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run a command to its end, and read what it and its children print."""
        pipes = [os.pipe() for _ in range(3)]
        (read_stdin, write_stdin), (read_stdout, write_stdout), (read_stderr, write_stderr) = pipes
        ends = read_stdin, write_stdout, write_stderr
        try:
            forked = self.start(words, ends, folder=folder, environment=environment)
        finally:
            for end in ends:
                os.close(end)
        with ThreadPoolExecutor(2) as pool:
            printed = [pool.submit(_read, os.fdopen(end, "rb")) for end in (read_stdout, read_stderr)]
            with suppress(BrokenPipeError), os.fdopen(write_stdin, "wb") as file:  # the command need not read it
                file.write(stdin)
            code = forked.wait(seconds)
        return subprocess.CompletedProcess([*words], code, *(each.result() for each in printed))


def _read(pipe: BinaryIO) -> bytes:
    with pipe:
        return pipe.read()


def _read_by_an_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


# The process of the server


@dataclass(frozen=True)
class _Request:
    streams: tuple[int, ...]
    reply: socket.socket
    words: list[str]
    folder: str
    environment: dict[str, str]
    terminal: bool


def _main() -> None:
    for package in ("search_mcp", "search_mcp.cli"):
        for module in pkgutil.iter_modules(import_module(package).__path__):
            if module.name != "__main__":
                import_module(f"{package}.{module.name}")
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        _become(request)
        runpy.run_module("search_mcp", run_name="__main__", alter_sys=True)


def _serve(requests: socket.socket) -> _Request | None:
    """Fork a child for each request, report its process id and then its exit code.

    Returns the request in its child, and None in the server when no more requests can come.
    """
    children: dict[int, tuple[int, socket.socket]] = {}
    while True:
        ready, _, _ = select.select([requests.fileno(), *children], [], [])
        for descriptor in children.keys() & {*ready}:
            os.close(descriptor)
            process, reply = children.pop(descriptor)
            with reply:
                _report(reply, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        if requests.fileno() not in ready:
            continue
        request = _receive(requests)
        if request is None:
            return None
        process = os.fork()
        if process == 0:
            for descriptor, (_, reply) in children.items():
                os.close(descriptor)
                reply.close()
            request.reply.close()
            requests.close()
            return request
        for stream in request.streams:
            os.close(stream)
        _report(request.reply, process)
        children[os.pidfd_open(process)] = process, request.reply


def _receive(requests: socket.socket) -> _Request | None:
    data, descriptors, _, _ = socket.recv_fds(requests, 1, 4)
    if not data:
        return None
    *streams, last = descriptors
    reply = socket.socket(fileno=last)
    with reply.makefile("rb") as request:
        return _Request(tuple(streams), reply, **json.load(request))


def _report(reply: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError):  # the test has failed and does not read it
        reply.sendall(b"%d\n" % number)


def _become(request: _Request) -> None:
    """Take over what a new process is given."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    if request.terminal:
        _control_terminal()
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.path[0] = request.folder
    sys.argv[1:] = request.words
    # As an interpreter in UTF-8 mode opens them.
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)


def _control_terminal() -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C becomes a signal


if __name__ == "__main__":
    _main()
