"""Clients of a shared engine against clients with an engine each: `python benchmarks/shared.py`.

Measures the start to `initialize`, a small call, the throughput of busy clients, and the memory of all processes. The
servers are those of the other benchmarks. Linux only: memory is the proportional set size, which counts pages that
several processes share once.
"""

import argparse
import contextlib
import itertools
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import client
import psutil
import subjects
from client import Pipe
from subjects import Backend, Session, Subject, backends, environment_below

MEGABYTE = 1_000_000
CALLS = 2000
START_TURNS = 15
BUSY_CALLS = 500
"""Calls of each busy client."""
AT_ONCE = 8
"""Calls that a busy client has in flight."""


class Home:
    """A home folder with a configuration, in which clients are started."""

    def __init__(self, folder: Path, subject: Subject, servers: Sequence[Backend], engine: str) -> None:
        self._folder, self._subject, self.servers = folder, subject, servers
        folder.mkdir()
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        self._environment = {**environment_below(folder), "XDG_RUNTIME_DIR": str(runtime)}
        self._config = folder / "mcp-servers.json"
        entries = {each.name: each.entry for each in servers}
        settings = {"listing": subject.listings[0], **({"engine": engine} if engine else {})}
        self._config.write_text(json.dumps({"mcpServers": entries, "settings": settings}), "utf-8")

    @contextlib.contextmanager
    def client(self) -> Iterator[Session]:
        """Start a client's process, and stop it as a client does."""
        pipe = Pipe(self._subject.command(self._config, self._folder), self._environment, self._folder)
        session = Session(self._subject, {each.name: pipe for each in self.servers})
        try:
            yield session
            session.end()
        finally:
            session.kill()

    @contextlib.contextmanager
    def clients(self, count: int) -> Iterator[list[Session]]:
        """Start several clients that have opened."""
        with contextlib.ExitStack() as stack:
            sessions = [stack.enter_context(self.client()) for _ in range(count)]
            for session in sessions:
                session.open(self.servers)
            yield sessions

    def processes(self) -> list[psutil.Process]:
        """Return all processes of this home, the engine included."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("HOME") == str(self._folder):
                    found.append(process)
        return found

    def close(self) -> None:
        """End the engine, which would wait for clients for five minutes."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.terminate()
                process.wait(10)


def start(home: Home) -> float:
    """Return the median time to the answer to `initialize`, in ms."""
    times = []
    for _ in range(START_TURNS):
        began = time.perf_counter()
        with home.client() as session:
            session.initialize()
            times.append((time.perf_counter() - began) * 1000)
            session.wait_for(home.servers)
    return statistics.median(times)


def small_call(session: Session, server: str) -> float:
    """Return the median time of a small call, in microseconds."""
    (pipe,) = session.pipes
    requests = [session.echo(number, server) for number in range(CALLS)]
    times, lines = [], []
    for each in requests:
        began = time.perf_counter()
        pipe.write(each)
        lines.append(pipe.line())
        times.append((time.perf_counter() - began) * 1e6)
    client.check_echoes(lines, range(CALLS), session.read)
    return statistics.median(times)


def throughput(sessions: Sequence[Session], server: str) -> float:
    """Return the calls in a second of all clients together."""
    threads = [threading.Thread(target=_busy, args=(each, server)) for each in sessions]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(sessions) * BUSY_CALLS / (time.perf_counter() - began)


def _busy(session: Session, server: str) -> None:
    (pipe,) = session.pipes
    numbers = itertools.count()
    for _ in range(AT_ONCE):
        pipe.write(session.echo(next(numbers), server))
    answered = 0
    while answered < BUSY_CALLS:
        for _ in pipe.lines():
            answered += 1
            if (number := next(numbers)) < BUSY_CALLS:
                pipe.write(session.echo(number, server))


def memory(processes: Sequence[psutil.Process]) -> float:
    """Return the proportional set size in MB."""
    return float(sum(each.memory_full_info().pss for each in processes)) / MEGABYTE


def measured(home: Home, servers: Sequence[Backend], clients: int, busy: int) -> dict[str, float]:
    """Return all figures of one way to serve."""
    found = {"start to initialize, ms": start(home)}
    with home.clients(1) as (session,):
        found["small call, us"] = small_call(session, servers[0].name)
        found["throughput of one client, calls/s"] = throughput([session], servers[0].name)
    with home.clients(busy) as sessions:
        found[f"throughput of {busy} clients, calls/s"] = throughput(sessions, servers[0].name)
    with home.clients(clients) as sessions:
        processes = home.processes()
        started = {pipe.pid for session in sessions for pipe in session.pipes}
        of_clients = [each for each in processes if each.pid in started]
        found[f"memory of {clients} clients, MB"] = memory(processes)
        found["processes"] = len(processes)
        found["memory of the process of one client, MB"] = memory(of_clients) / clients
    return found


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=6, help="clients whose memory is measured")
    parser.add_argument("--servers", type=int, default=6, help="servers of each client")
    parser.add_argument("--busy", type=int, default=12, help="clients that call at the same time")
    options = parser.parse_args()
    servers = backends(options.servers, "--tools", "20")
    ways = {
        "floor": (subjects.floor(), ""),
        "own": (subjects.search_mcp(), "own"),
        "shared": (subjects.search_mcp(), "shared"),
    }
    figures = {}
    with tempfile.TemporaryDirectory(prefix="mcp-") as folder:
        for name, (subject, engine) in ways.items():
            home = Home(Path(folder) / name, subject, servers, engine)
            try:
                figures[name] = measured(home, servers, options.clients, options.busy)
            finally:
                home.close()
    print(f"| {'':40} | " + " | ".join(f"{name:>8}" for name in figures) + " |")
    print("| :--- |" + " ---: |" * len(figures))
    for label in figures["shared"]:
        print(f"| {label:40} | " + " | ".join(f"{found[label]:8.1f}" for found in figures.values()) + " |")


if __name__ == "__main__":
    main()
