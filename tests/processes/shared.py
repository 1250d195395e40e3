"""Clients that share an engine process: each is a run of `search-mcp serve` in the same home."""

import contextlib
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from real.processes import VARIABLE, command_line, living, wait_until_gone

from processes.conftest import write
from processes.run import SECONDS, Json, Run
from search_mcp.engine import joining
from search_mcp.engine.joining import ask

DELAYS = """
import os, sys
from search_mcp.engine import joining

if "FILES" in os.environ and "serve" in sys.orig_argv:
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    for _ in range(int(os.environ["FILES"])):
        os.dup(2)
if "FULL" in os.environ:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
joining.PATIENCE_SECONDS = float(os.environ.get("PATIENCE", 100))
if "run_engine" in " ".join(sys.orig_argv):
    if "BROKEN" in os.environ:
        sys.exit("it is broken")
    if "KILLED_BEFORE" in os.environ:
        from search_mcp.engine import process as engine_process

        setattr(engine_process, os.environ["KILLED_BEFORE"], lambda *_: os.kill(os.getpid(), 9))
    if "HELLO" in os.environ:
        from search_mcp.engine import connection as engine_connection

        engine_connection.HELLO_SECONDS = float(os.environ["HELLO"])
    if "UNREAD" in os.environ:
        from search_mcp.engine import host

        host.CONFIGURATION_SECONDS = 0
    if "NO_PIPES" in os.environ:
        from search_mcp.engine import connection as engine_connection

        def fails(_opened):
            raise OSError(24, "Too many open files")

        engine_connection._pipe = fails
    if "EXHAUSTED_ONCE" in os.environ:
        from search_mcp.engine import host

        read_configuration = host.open_configuration

        def fails_once(*given):
            if os.path.exists(os.environ["EXHAUSTED_ONCE"]):
                os.unlink(os.environ["EXHAUSTED_ONCE"])
                raise eval(os.environ["EXHAUSTED_BY"])
            return read_configuration(*given)

        host.open_configuration = fails_once
    if "IMPORTED" in os.environ:

        class Records:
            @staticmethod
            def find_spec(name, *_):
                with open(os.environ["IMPORTED"], "a") as file:
                    file.write(name + "\\n")

        sys.meta_path.insert(0, Records)
    if "STEPS" in os.environ:
        import threading, time
        from asyncio import events

        run_step = events.Handle._run

        def measures(step):
            began = time.thread_time()
            run_step(step)
            took = time.thread_time() - began
            is_main = threading.current_thread() is threading.main_thread()  # others have loops of their own
            if is_main and took > float(os.environ["STEPS"]):
                os.write(2, f"STEP of {1e3 * took:.0f} ms: {step!r}\\n".encode())

        events.Handle._run = measures
    if "IDLE" in os.environ:
        from search_mcp.engine import process as engine_process

        engine_process.IDLE_SECONDS = float(os.environ["IDLE"])
    if "LOG_BYTES" in os.environ:
        from search_mcp.engine import process as engine_process

        engine_process.LOG_BYTES = int(os.environ["LOG_BYTES"])
"""
"""Makes relays wait for an engine as long as a busy machine may take to start it."""


class SharedRun(Run):
    """One client; the engine may outlive it."""

    def ended(self) -> int:
        """Wait for the exit of the relay; return the exit code."""
        while self._line() is not None:
            pass
        return self.process.wait(SECONDS)


class Home:
    """A home with a configuration for a shared engine; leaving the `with` stops the engine and fails if one is left."""

    def __init__(self, folder: Path, servers: dict[str, Json], **settings: Any) -> None:
        self.folder = folder
        self.runtime = Path(tempfile.mkdtemp(prefix="search-mcp-"))  # short, as the path of a socket has to be
        self.mark = uuid4().hex
        (folder / "delays").mkdir()
        (folder / "delays" / "sitecustomize.py").write_text(DELAYS)
        self.environment = {
            "XDG_RUNTIME_DIR": str(self.runtime),
            VARIABLE: self.mark,
            "PYTHONPATH": str(folder / "delays"),
        }
        self.config = folder / "servers.json"
        settings = {"firstListSeconds": 60, "engine": "shared", **settings}
        write(self.client(), servers, **settings)

    def client(self, environment: dict[str, str] | None = None, options: Sequence[str] = ()) -> SharedRun:
        """Return a client, which starts when its context is entered."""
        run = SharedRun(self.folder, self.config, {**self.environment, **(environment or {})}, options)
        run.mark = self.mark
        return run

    @property
    def log(self) -> Path:
        """The log of its engines."""
        return self.folder / "state" / "search-mcp" / "log" / "engine" / "engine.log"

    @property
    def meeting_folder(self) -> Path:
        return self.runtime / "search-mcp"

    def sockets(self) -> list[Path]:
        return sorted(self.meeting_folder.glob("*.sock"))

    def engines(self) -> list[Json]:
        """Return the status of every engine."""
        asked = [ask(str(path), {"wants": "status"}, SECONDS) for path in self.sockets()]
        return [each for each in asked if each is not None]

    def engine(self) -> Json:
        """Return the status of the only engine."""
        (found,) = self.engines()
        return found

    def kills_engine(self) -> None:
        """Kill the engine, and wait for its end."""
        ends(self.engine()["pid"], signal.SIGKILL)

    def _stop_engines(self) -> None:
        """Stop the engines that listen; an engine that a killed client has started may listen only later."""
        for path in self.sockets():
            with contextlib.suppress(joining.NoEngineError):
                ask(str(path), {"wants": "stop"}, SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if self.log.exists():
            print(self.log.read_text(errors="replace")[-20_000:], file=sys.stderr)
        try:
            self._stop_engines()
            left = wait_until_gone(self.mark, act=self._stop_engines) if kind is None else set()
            assert not left, f"processes left: {[command_line(each) for each in left]}"
        finally:
            for pid in living(self.mark):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            shutil.rmtree(self.runtime)


def ends(pid: int, number: int) -> None:
    """Send a signal to a process that is no child, and wait for its end."""
    handle = os.pidfd_open(pid)
    try:
        os.kill(pid, number)
        assert select.select([handle], [], [], SECONDS)[0], "the process does not end"
    finally:
        os.close(handle)


def connection(home: Home, first: bytes) -> socket.socket:
    """Connect to the engine by hand, and send the beginning of a first line."""
    (path,) = home.sockets()
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(SECONDS)
    made.connect(str(path))
    made.sendall(first)
    return made
