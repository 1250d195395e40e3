"""The start of the processes that a relay needs: an engine, and a process that serves the client alone.

Decides how an engine becomes independent of the process that starts it, and how it says that it is ready. Loaded only
when a process is started. Standard library only, because relays load nothing else.
"""

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from io import FileIO
from typing import IO

from search_mcp.engine.meeting import of_engine

READY = b"search-mcp: the engine is ready\n"
"""Written by an engine to its stdout once it can be joined."""
_PROGRAM = """
import gc, sys
gc.disable()  # until all modules are loaded
sys.path.append(sys.argv.pop(1))  # last, so that it hides no other module
from search_mcp.__main__ import run_engine
run_engine()
"""
"""Starts an engine also if the package was found in the current folder, which is another one for the engine.

With `-P`, Python finds no other module there: it may be a folder that the user does not trust.
"""
_OWN_PROGRAM = """
import sys
sys.path.append(sys.argv.pop(1))
from search_mcp.__main__ import serve_alone
from search_mcp.engine.setting import plain_options
sys.exit(serve_alone(plain_options(sys.argv[1:])))
"""
_PAGE_PROGRAM = """
import sys
sys.path.append(sys.argv.pop(1))
from search_mcp.__main__ import run_page
run_page()
"""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120


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
    said = _said(process.stdout, deadline)
    if said is None:
        process.returncode = 0  # it outlives us, so `Popen` must not warn that it is not waited for
        raise NotStartedError("it takes long to start the engine")  # the next client finds it
    process.wait()  # the engine is a child of this process, which has ended
    if READY not in said:
        *_, last = [b"unknown reason", *said.strip().splitlines()]
        raise NotStartedError(f"the engine could not be started: {last.decode('utf-8', 'replace')}")


def _independent(address: str, lock: int) -> "subprocess.Popen[bytes]":
    """Start a process that becomes an engine; it forks, so that tools that end us with our children spare the engine.

    Its working folder is one that is never removed, because the process keeps it in use.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, _PACKAGE, address, str(lock)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(lock,),
        start_new_session=True,
        cwd="/",
        env=of_engine(os.environ),
    )


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


def start_page() -> "subprocess.Popen[bytes]":
    """Start a process that shows the page without an engine, until its stdin ends.

    Raises:
        OSError: it cannot be started.
    """
    command = [sys.executable, "-P", "-c", _PAGE_PROGRAM, _PACKAGE]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def start_own(arguments: Sequence[str]) -> tuple[FileIO, FileIO]:
    """Start a process that serves the client alone, as a child that ends with us; return its stdout and its stdin.

    Raises:
        OSError: it cannot be started.
    """
    command = [sys.executable, "-P", "-c", _OWN_PROGRAM, _PACKAGE, *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    process.returncode = 0  # its end is noticed at the pipes, so `Popen` must not warn that it is not waited for
    assert isinstance(process.stdin, FileIO)
    assert isinstance(process.stdout, FileIO)
    return process.stdout, process.stdin
