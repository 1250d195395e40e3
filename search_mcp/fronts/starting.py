"""The start of the processes that an adapter needs: an engine, and a process that serves the client alone.

Decides how an engine becomes independent of the process that starts it, and how it says that it is ready. Loaded only
when a process is started. Standard library only, because adapters load nothing else.
"""

import errno
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import FileIO
from typing import IO, Any

READY = b"search-mcp: the engine is ready\n"
"""Written by an engine to its stdout once it can be joined."""
_PROGRAM = """
import gc, sys
gc.disable()  # until all modules are loaded
sys.path.append(sys.argv.pop(1))  # last, so that it hides no other module
from search_mcp.fronts.engine_process import main
main()
"""
"""Starts an engine also if the package was found in the current folder, which is another one for the engine.

With `-P`, Python finds no other module there: it may be a folder that the user does not trust.
"""
_STEP = """
import subprocess, sys
passing = subprocess.STARTUPINFO(lpAttributeList={'handle_list': [int(sys.argv[-1])]})
subprocess.Popen(sys.argv[1:], stdin=0, stdout=1, stderr=2, startupinfo=passing)
"""
"""Windows: starts an engine with our standard streams and the handle of the lock, its last argument."""
_OWN_PROGRAM = """
import sys
sys.path.append(sys.argv.pop(1))
from search_mcp.__main__ import serve_alone
sys.exit(serve_alone(sys.argv[1:]))
"""
_CREATE_BREAKAWAY_FROM_JOB, _CREATE_NO_WINDOW = 0x01000000, 0x08000000  # of `subprocess`, on Windows only
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120
VENV_VARIABLE = "__PYVENV_LAUNCHER__"
"""Windows: tells a Python in which virtual environment it is."""


class NotStartedError(OSError):
    """No engine is ready; the text is the reason."""


def start_engine(address: str, lock: int, deadline: float) -> None:
    """Start an engine that listens at an address and has our lock, and wait until it is ready.

    Raises:
        NotStartedError: it has failed, or is not ready in time.
        OSError: no process can be started.
    """
    process = _independent(address, lock)
    assert process.stdout is not None
    said = (_said_in_thread if sys.platform == "win32" else _said)(process.stdout, deadline)
    if said is None:
        process.returncode = 0  # it outlives us, so `Popen` must not warn that it is not waited for
        raise NotStartedError("it takes long to start the engine")  # the next client finds it
    process.wait()  # the engine is a child of this process, which has ended
    if READY not in said:
        *_, last = [b"unknown reason", *said.strip().splitlines()]
        raise NotStartedError(f"the engine could not be started: {last.decode('utf-8', 'replace')}")


def _independent(address: str, lock: int) -> "subprocess.Popen[bytes]":
    """Start a process that starts an engine and ends, so that tools that end us with our children spare the engine.

    Raises:
        OSError: it cannot be started.
    """
    program, added = interpreter(sys.platform, sys.executable, getattr(sys, "_base_executable", None))
    number, passing = _passed_on(lock)
    words = [program, "-P", "-c", _PROGRAM, _PACKAGE, address, str(number)]
    if sys.platform == "win32":  # elsewhere, the engine forks
        words = [program, "-P", "-S", "-c", _STEP, *words]
    refusal = None
    for options in detachments(sys.platform, os.environ):
        try:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **added} if added else None,
                **passing,
                **options,
            )
        except PermissionError as exc:
            refusal = exc
    assert refusal is not None
    raise refusal


def _passed_on(lock: int) -> tuple[int, dict[str, Any]]:
    """Return the number of our lock in a child, and the options by which the child gets the lock, and nothing else."""
    if sys.platform == "win32":
        handle = import_module("msvcrt").get_osfhandle(lock)
        os.set_handle_inheritable(handle, True)
        return handle, {"startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})}
    return lock, {"pass_fds": (lock,)}


def detachments(platform: str, variables: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the options that make a process independent of ours, and others if Windows refuses them.

    Its working folder is one that is never removed, because the process keeps it in use.
    """
    if platform != "win32":
        return [{"start_new_session": True, "cwd": "/"}]
    # Not DETACHED_PROCESS, by which CREATE_NO_WINDOW has no effect: the consoles of the servers would appear. The job
    # of the client may forbid that a process asks to leave it, and let all leave that do not ask.
    folder = variables.get("SYSTEMROOT", "C:\\")
    leaving = {"creationflags": _CREATE_NO_WINDOW | _CREATE_BREAKAWAY_FROM_JOB, "cwd": folder}
    return [leaving, {**leaving, "creationflags": _CREATE_NO_WINDOW}]


def interpreter(platform: str, executable: str, base: str | None) -> tuple[str, dict[str, str]]:
    """Return the program of a Python like ours, and the variables that it needs besides.

    On Windows, that of a virtual environment starts another one, and keeps it in a job with which it ends.
    `multiprocessing` avoids it in the same way.
    """
    if platform == "win32" and base and base != executable:
        return base, {VENV_VARIABLE: executable}
    return executable, {}


def _said(stdout: IO[bytes], deadline: float) -> bytes | None:
    """Return the output of an engine until it is ready or has ended; `None` if neither happens in time."""
    said, poller = b"", select.poll()  # not `select`, which fails if the client has left us 1024 open files
    poller.register(stdout, select.POLLIN)
    with stdout:
        while READY not in said:
            if not poller.poll(1000 * max(0.001, deadline - time.monotonic())):
                return None
            chunk = os.read(stdout.fileno(), 1 << 16)
            if not chunk:
                break
            said += chunk
    return said


def _said_in_thread(stdout: IO[bytes], deadline: float) -> bytes | None:
    """Do the same as `_said`, where the system cannot wait for a pipe."""
    said = bytearray()

    def read() -> None:
        with stdout:
            while READY not in said and (chunk := os.read(stdout.fileno(), 1 << 16)):
                said.extend(chunk)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    return None if thread.is_alive() else bytes(said)


def start_own(arguments: Sequence[str]) -> tuple[FileIO, FileIO]:
    """Start a process that serves the client alone, as a child that ends with us; return its stdout and its stdin.

    Raises:
        OSError: it cannot be started.
    """
    return start_child([sys.executable, "-P", "-c", _OWN_PROGRAM, _PACKAGE, *arguments])


def start_child(command: Sequence[str]) -> tuple[FileIO, FileIO]:
    """Start a process that is known by its stdout and its stdin alone, which are returned.

    Raises:
        OSError: it cannot be started.
    """
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    process.returncode = 0  # its end is noticed at the pipes, so `Popen` must not warn that it is not waited for
    assert isinstance(process.stdin, FileIO)
    assert isinstance(process.stdout, FileIO)
    return process.stdout, process.stdin


class ChildConnection:
    """A connection to a child by its stdout and stdin, for threads: nothing has a time limit."""

    def __init__(self, stdout: FileIO, stdin: FileIO) -> None:
        self._stdout, self._stdin = stdout, stdin
        self._writing = threading.Lock()

    def settimeout(self, seconds: float | None, /) -> None:
        """Do nothing."""

    def recv(self, size: int, /) -> bytes:
        chunk = b"" if self._stdout.closed else os.read(self._stdout.fileno(), size)
        if not chunk:
            self._stdout.close()
        return chunk

    def sendall(self, data: memoryview | bytes, /) -> None:
        with self._writing:
            if self._stdin.closed:
                raise BrokenPipeError(errno.EPIPE, "this end is closed")
            left = memoryview(data)
            while left:
                left = left[os.write(self._stdin.fileno(), left) :]

    def shutdown(self, _how: int, /) -> None:
        with self._writing:
            self._stdin.close()

    def close(self) -> None:
        """End the child, unless a thread writes to it: then the system does, when this process ends.

        Windows would let us wait for that thread. The one that reads its stdout closes it, for the same reason.
        """
        if self._writing.acquire(blocking=False):
            self._stdin.close()
            self._writing.release()
