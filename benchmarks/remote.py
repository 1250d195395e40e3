"""Measures of one remote server.

The subject `direct` is `http_client.py` here: the same calls by httpx2, in the process of the benchmarks.
"""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import client
import processes
from calls import BLOCK_SECONDS, BULK_BYTES, MANY, call_rate, call_times, large_results, processor_times
from client import patience
from http_client import HttpClient
from readings import Extent, Reading, Turns, milliseconds_since, quantile
from subjects import HERE, START_SECONDS, Backend, RemoteBackend, Server, Session, Subject

KINDS: Mapping[str, Sequence[str]] = {
    "answers in JSON": (),
    "answers in streams": ("--events",),
    "modern server": ("--modern",),
}
"""Options of `remote_backend.py`, by the label of their rows."""
NAME = "b0"
MEGABYTE = 1_000_000
PROFILED = "import time:"
"""Beginning of a line in which Python reports an import."""


@contextlib.contextmanager
def listening(options: Sequence[str] = ()) -> Iterator[RemoteBackend]:
    """Run a remote server."""
    command = [sys.executable, "-E", "-s", "-S", str(HERE / "remote_backend.py"), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield RemoteBackend(NAME, process.stdout.readline().strip())
        finally:
            process.kill()


@contextlib.contextmanager
def connected(subject: Subject, options: Sequence[str], home: Path) -> Iterator[Session | HttpClient]:
    """Run a remote server and a subject that has called it."""
    with listening(options) as server:
        if subject.name == "direct":
            with HttpClient(server.url, is_modern="--modern" in options) as direct:
                yield direct
        else:
            with subject.running([server], home) as session:
                session.open([server])
                yield session


def small_call(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure small calls, one after the other, for each kind of server in the same turns."""
    with contextlib.ExitStack() as stack:
        running = {
            kind: stack.enter_context(connected(subject, options, folder / kind)) for kind, options in KINDS.items()
        }
        for caller in running.values():
            _times(caller, extent)  # warm up
        for _ in range(extent.turns):
            yield [reading for kind, caller in running.items() for reading in _small_calls(kind, caller, extent)]


def _small_calls(kind: str, caller: Session | HttpClient, extent: Extent) -> list[Reading]:
    spent = _times(caller, extent)
    label = f"small remote call, {kind}"
    return [Reading(f"{label}: p50", "ms", quantile(spent, 0.5)), Reading(f"{label}: p99", "ms", quantile(spent, 0.99))]


def _times(caller: Session | HttpClient, extent: Extent) -> list[float]:
    if isinstance(caller, HttpClient):
        return caller.times(extent.block_calls, extent.block_seconds)
    return call_times(caller, [NAME], extent)


def throughput(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure the calls answered per second with a constant number in flight."""
    with connected(subject, (), folder) as caller:
        _times(caller, extent)  # warm up
        for _ in range(extent.turns):
            rates = [
                Reading(f"remote calls a second, {window} in flight", "/s", _rate(caller, extent, window))
                for window in extent.windows
            ]
            label = f"processor time of a remote call, {MANY} in flight"
            is_proxy = not isinstance(caller, HttpClient)
            yield [*rates, *(processor_times(caller, [NAME], extent, label) if is_proxy else [])]


def _rate(caller: Session | HttpClient, extent: Extent, window: int) -> float:
    if isinstance(caller, HttpClient):
        return caller.rate(4 * extent.block_calls, extent.block_seconds, window)
    return call_rate(caller, [NAME], extent, window)


def large_result(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure a result of 1 MB, and how far the subject's memory rises above its level before."""
    for turn in range(extent.turns):
        with connected(subject, (), folder / str(turn)) as caller:
            _times(caller, extent)  # warm up
            if isinstance(caller, HttpClient):
                yield [Reading("1 MB remote result", "ms", caller.large_result(BULK_BYTES))]
            else:
                yield large_results(caller, 1, processes.memory(caller), "remote result")


def start(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure a start with a remote server and an empty home, then one with the caches of the first."""
    for turn in range(extent.turns):
        with listening() as server:
            yield [
                reading
                for which in ("first", "second")
                for reading in _start(subject, server, folder / str(turn), f"{which} start, remote server")
            ]


def _start(subject: Subject, server: Server, home: Path, label: str) -> list[Reading]:
    started = time.perf_counter()
    with subject.running([server], home) as session:
        with patience(session.pipes, START_SECONDS):
            session.initialize()
            initialized = milliseconds_since(started)
            called = _first_call(session) - started
        ending = time.perf_counter()
    return [
        Reading(f"{label}: initialize", "ms", initialized),
        Reading(f"{label}: first call", "ms", 1e3 * called),
        Reading(f"{label}: time to end", "ms", milliseconds_since(ending)),
    ]


def _first_call(session: Session) -> float:
    """Call the server and check the answer; return when it came."""
    pipe = session.pipe_to(NAME)
    pipe.write(session.echo(1, NAME))
    answer = pipe.line()
    answered = time.perf_counter()
    client.check_echoes([answer], [1], session.read)
    return answered


def modules(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Count the modules that a subject in Python has loaded after the first call of a server."""
    if subject.imports is None:
        return
    for turn in range(extent.turns):
        with listening() as remote:
            servers: Mapping[str, Server] = {"process": Backend(NAME), "remote server": remote}
            yield [
                Reading(
                    f"modules loaded for the first call of a {kind}",
                    "",
                    _modules(subject, server, folder / f"{turn}-{kind}"),
                )
                for kind, server in servers.items()
            ]


def _modules(subject: Subject, server: Server, home: Path) -> int:
    # The servers ignore this variable: they run isolated.
    with subject.running([server], home, {"PYTHONPROFILEIMPORTTIME": "1"}) as session:
        session.open([server])
        with patience(session.pipes, BLOCK_SECONDS):
            _first_call(session)
    lines = (home / "stderr").read_text("utf-8", "replace").splitlines()
    return len({line.rpartition("|")[2].strip() for line in lines if line.startswith(PROFILED)})
