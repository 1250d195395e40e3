"""Processes that carry a mark, which shows whether a process of a run is left.

The mark is the name of the run's folder. It is in the environment of every process of the run: as the value of a
separate variable, and in the home, which is passed on by clients that drop unknown variables. Where an environment
cannot be read (Windows), the command line is searched.
"""

import os
import platform
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from search_mcp.engine.joining import ask
from search_mcp.engine.meeting import is_supported, sockets

VARIABLE = "SEARCH_MCP_TEST_RUN"
_ENGINE = b"from search_mcp.__main__ import run_engine"
SECONDS = 60.0
"""Time limit for the exit of processes: far longer than search-mcp waits before it kills."""
ENDING_SECONDS = 10.0
"""Time that an engine may take to end by itself; one that does not end has 300 s more."""
LOOK_SECONDS = 1.0
"""Poll interval for processes that started meanwhile."""


def living(mark: str) -> set[int]:
    """Return the processes with the mark."""
    if platform.system() == "Linux":
        return {int(entry.name) for entry in Path("/proc").glob("[0-9]*") if mark.encode() in _read(entry / "environ")}
    if platform.system() == "Windows":
        query = f"Get-CimInstance Win32_Process -Filter \"CommandLine like '%{mark}%' and Name != 'powershell.exe'\""
        command = ["powershell", "-NoProfile", "-Command", f"({query}).ProcessId"]
        return {int(pid) for pid in _output(command).split()}
    lines = _output(["ps", "-A", "-E", "-ww", "-o", "pid=,command="]).splitlines()
    return {int(line.split()[0]) for line in lines if mark in line}


def engines(mark: str) -> set[int]:
    """Return the engine processes with the mark, where /proc tells them from others."""
    return {pid for pid in living(mark) if _ENGINE in _read(Path(f"/proc/{pid}/cmdline"))}


def lasting_engines(mark: str) -> set[int]:
    """Return the engines with the mark that still run after some seconds.

    An engine ends by itself if its first client has a wrong option, but not at once.
    """
    deadline = time.monotonic() + ENDING_SECONDS
    while (left := engines(mark)) and time.monotonic() < deadline:
        _wait_for_one(min(left), deadline - time.monotonic())
    return left


def stop_engines() -> None:
    """Stop the engines in the folder where those of these tests are."""
    if is_supported(sys.platform):
        for path in sockets(os.environ):
            if (stopped := ask(path, {"wants": "stop"}, SECONDS)) is not None:
                _wait_for_one(stopped["pid"], SECONDS)  # it closes the connection a moment before its exit


def wait_until_gone(mark: str, *, but_engines: bool = False, act: Callable[[], None] = lambda: None) -> set[int]:
    """Wait for the exit of every process with the mark; return those that are still running at the time limit.

    `act` is called again and again meanwhile.
    """
    deadline = time.monotonic() + SECONDS
    while (left := living(mark) - (engines(mark) if but_engines else set())) and time.monotonic() < deadline:
        _wait_for_one(left.pop(), min(LOOK_SECONDS, deadline - time.monotonic()))
        act()
    return left


def command_line(pid: int) -> str:
    """Return the number and the command line of a process, where /proc has it."""
    return f"{pid} {_read(Path(f'/proc/{pid}/cmdline')).replace(bytes(1), b' ').decode(errors='replace')}"


def _wait_for_one(pid: int, seconds: float) -> None:
    """Wait for a process that is not a child; where that is impossible, listing them all takes its time instead."""
    if sys.platform == "linux":
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return  # exited since it was listed
        try:
            select.select([handle], [], [], max(0.0, seconds))
        finally:
            os.close(handle)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # exited, or another user's: not of this run


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
