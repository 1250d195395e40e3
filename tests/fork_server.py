"""Run Python programs in forked processes, without the import time of a new interpreter.

The tests start hundreds of commands and servers, and each would spend four fifths of its CPU time on imports. A fork
server is a process that has imported their modules and runs nothing else. For each program it forks a child, which
takes over the given standard streams, folder, environment and arguments and runs the program.

A program is started by a test (`ForkServer.start`), or by another program as a command line
(`ForkServer.command_line`): then a small process represents the child and exits with it.

Only Linux has fork servers: elsewhere forking is unsafe or missing, and programs start as usual.
"""

import atexit
import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

AVAILABLE = sys.platform == "linux"

STAND_IN = str(Path(__file__).with_name("forked_command.py"))


class Forked:
    """A program that runs in a child of the fork server."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._numbers = connection.makefile("rb")
        self._pid = int(self._numbers.readline())

    def wait(self, seconds: float) -> int:
        """Wait for the program to exit; return its exit code, negative for a signal.

        Raises:
            TimeoutError: it did not exit in time, and was killed.
        """
        with self._connection, self._numbers:
            self._connection.settimeout(seconds)
            try:
                return int(self._numbers.readline())
            except TimeoutError:
                os.kill(self._pid, signal.SIGKILL)
                raise


class ForkServer:
    """A running fork server; `close` stops it."""

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        self._environment = _read_by_an_interpreter(environment)
        self._folder = tempfile.mkdtemp(prefix="fork-server-")  # `tmp_path` is too long for the path of a socket
        self._path = str(Path(self._folder, "socket"))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self._path)
        listener.listen(64)
        with listener:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(listener.fileno()), *modules],
                stdin=subprocess.PIPE,
                env={**environment},
                pass_fds=[listener.fileno()],
            )

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self._folder)

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Return whether a new interpreter would behave like the fork server's in this environment."""
        return _read_by_an_interpreter(environment) == self._environment

    def command_line(self, program: Sequence[str]) -> list[str]:
        """Return a command line that runs a program in a fork: `-m` and a module, or a script, and arguments."""
        return [sys.executable, "-ISE", STAND_IN, self._path, *program]

    def start(
        self,
        program: Sequence[str],
        streams: tuple[int, int, int],
        *,
        folder: Path,
        environment: Mapping[str, str],
        terminal: bool = False,
    ) -> Forked:
        """Start a program with stdin, stdout and stderr; with `terminal`, stdin becomes its controlling terminal."""
        request = {"program": [*program], "folder": str(folder), "environment": {**environment}, "terminal": terminal}
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._path)
        socket.send_fds(connection, [b"\n"], streams)
        connection.sendall(json.dumps(request).encode() + b"\n")
        return Forked(connection)

    def run(
        self, program: Sequence[str], *, stdin: bytes, folder: Path, environment: Mapping[str, str], seconds: float
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run a program until it exits; return the output of it and its children."""
        (read_stdin, write_stdin), (read_stdout, write_stdout), (read_stderr, write_stderr) = (
            os.pipe() for _ in range(3)
        )
        streams = read_stdin, write_stdout, write_stderr
        try:
            forked = self.start(program, streams, folder=folder, environment=environment)
        finally:
            for stream in streams:
                os.close(stream)
        with ThreadPoolExecutor(2) as pool:
            printed = [pool.submit(_read, os.fdopen(end, "rb")) for end in (read_stdout, read_stderr)]
            with suppress(BrokenPipeError), os.fdopen(write_stdin, "wb") as file:  # it may exit without reading
                file.write(stdin)
            code = forked.wait(seconds)
        return subprocess.CompletedProcess([*program], code, *(each.result() for each in printed))


def forked(server: ForkServer | None, command: Sequence[str]) -> list[str]:
    """Return a command line that does the same as a command of Python, in a fork where there is a server for it."""
    return [*command] if server is None else server.command_line(command[1:])


def _read(pipe: BinaryIO) -> bytes:
    with pipe:
        return pipe.read()


def _read_by_an_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("PYTHON") or name == "TZ"}


# The server process


@dataclass(frozen=True)
class _Request:
    connection: socket.socket
    streams: tuple[int, ...]
    program: list[str]
    folder: str
    environment: dict[str, str]
    terminal: bool = False


def _main() -> None:
    listener, modules = socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]
    for module in modules:
        import_module(module)
    gc.freeze()
    request = _serve(listener)
    if request is not None:
        _become(request)
        try:
            _run(request.program)
        except SystemExit as exc:
            if not isinstance(exc.code, int | None):
                raise
            _exit(exc.code or 0)
        _exit(0)


def _run(program: list[str]) -> None:
    if program[0] == "-m":
        sys.argv[1:] = program[2:]
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = program
        sys.path[0] = str(Path(program[0]).parent)
        runpy.run_path(program[0], run_name="__main__")


def _exit(code: int) -> None:
    """Exit as an interpreter does, but for the destruction of all modules, which takes longer than most programs."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # absent, broken or closed
        sys.exit(code)  # reports it if necessary
    os._exit(code)


def _serve(listener: socket.socket) -> _Request | None:
    """Fork a child for each request, send its process id and then its exit code.

    A child whose connection ends is killed. Returns the request in its child, and None in the server when stdin ends.
    """
    children: dict[int, tuple[int, socket.socket]] = {}  # by a descriptor, readable once the child has exited
    while True:
        processes = {connection.fileno(): process for process, connection in children.values()}
        ready, _, _ = select.select([0, listener.fileno(), *children, *processes], [], [])
        for ended in processes.keys() & {*ready}:
            os.kill(processes[ended], signal.SIGKILL)
        for descriptor in children.keys() & {*ready}:
            process, connection = children.pop(descriptor)
            os.close(descriptor)
            with connection:
                _send(connection, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        if 0 in ready:
            return None
        if listener.fileno() not in ready:
            continue
        request = _receive(listener)
        process = os.fork()
        if process == 0:
            for descriptor, (_, connection) in children.items():
                os.close(descriptor)
                connection.close()
            request.connection.close()
            listener.close()
            return request
        for stream in request.streams:
            os.close(stream)
        _send(request.connection, process)
        children[os.pidfd_open(process)] = process, request.connection


def _receive(listener: socket.socket) -> _Request:
    connection, _ = listener.accept()
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as lines:
        return _Request(connection, tuple(streams), **json.loads(lines.readline()))


def _send(connection: socket.socket, number: int) -> None:
    with suppress(ConnectionError):  # its program was killed, or its test has failed
        connection.sendall(b"%d\n" % number)


def _become(request: _Request) -> None:
    """Take over the streams, folder, environment and arguments of a new process."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    if request.terminal:
        _control_terminal()
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.path[0] = request.folder
    # An interpreter in UTF-8 mode opens them like this.
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)


def _control_terminal() -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # makes Ctrl-C a signal


if __name__ == "__main__":
    _main()
