"""Measures of several clients with the same configuration: with a shared engine, or with a process for each.

Every server is shareable. The clients of a turn have a home folder together, and are started one after the other.
Memory is the proportional set size, in which a page that several processes share counts once; Linux only.
"""

import contextlib
import itertools
import selectors
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import client
import psutil
from calls import BLOCK_SECONDS, call_times
from client import patience
from processes import of_home, processor_time, proportional
from readings import Extent, Reading, Turns, milliseconds_since, quantile
from subjects import HERE, START_SECONDS, Session, SharedBackend, Subject

SERVERS = 6
CLIENTS = (1, 3, 6)
"""Numbers of clients whose memory is measured."""
BUSY_CLIENTS = 12
AT_ONCE = 8
"""Calls that a busy client has in flight."""
STARTS = 5
"""Starts beside a running client in one turn."""
NAMES = [f"b{number}" for number in range(SERVERS)]


class Home:
    """A home folder in which clients are started."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        self.servers = [SharedBackend(name, ("--tools", "20")) for name in NAMES]
        self._subject, self._folder = subject, folder
        self._runtime = folder / "run"
        folder.mkdir(parents=True)
        self._runtime.mkdir(mode=0o700)

    @contextlib.contextmanager
    def client(self) -> Iterator[Session]:
        """Start a client's process; stop it as a client does."""
        session = self._subject.start(self.servers, self._folder, {"XDG_RUNTIME_DIR": str(self._runtime)})
        try:
            yield session
            session.end()
        finally:
            session.kill()

    def open(self, stack: contextlib.ExitStack, count: int) -> list[Session]:
        """Start clients that stay until the stack is closed, and that have called every server."""
        sessions = []
        for _ in range(count):
            session = stack.enter_context(self.client())
            session.open(self.servers)
            with patience(session.pipes, BLOCK_SECONDS):
                for number, name in enumerate(NAMES):
                    session.pipe_to(name).write(session.echo(number, name))
                    client.check_echoes([session.pipe_to(name).line()], [number], session.read)
            sessions.append(session)
        return sessions

    def processes(self) -> list[psutil.Process]:
        return of_home(self._folder)

    def close(self) -> None:
        """End the engine, which would wait for clients for five minutes."""
        left = self.processes()
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        _, overdue = psutil.wait_procs(left, START_SECONDS)
        for process in overdue:
            process.kill()


@contextlib.contextmanager
def home_of(subject: Subject, folder: Path) -> Iterator[Home]:
    """Make a home, and end what is left in it."""
    home = Home(subject, folder)
    try:
        yield home
    finally:
        home.close()


def start(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure the start of the first client, with an empty home and no engine, then starts beside it."""
    for turn in range(extent.turns):
        with home_of(subject, folder / str(turn)) as home:
            began = time.perf_counter()
            with home.client() as first:
                readings = _start(first, home, began, "start of the first client")
                later = [_later_start(home) for _ in range(STARTS)]
        for row in later[0]:
            median = statistics.median(found[row] for found in later)
            readings.append(Reading(f"start beside a client: {row}", "ms", median))
        yield readings


def _start(session: Session, home: Home, began: float, label: str) -> list[Reading]:
    return [Reading(f"{label}: {row}", "ms", value) for row, value in _start_times(session, home, began).items()]


def _later_start(home: Home) -> dict[str, float]:
    began = time.perf_counter()
    with home.client() as session:
        times = _start_times(session, home, began)
        ending = time.perf_counter()
    return {**times, "time to end": milliseconds_since(ending)}


def _start_times(session: Session, home: Home, began: float) -> dict[str, float]:
    with patience(session.pipes, START_SECONDS):
        session.initialize()
        initialized = milliseconds_since(began)
        session.wait_for(home.servers)
    return {"initialize": initialized, "complete list": milliseconds_since(began)}


def small_call(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure small calls of one client: while five others are idle, and while one of them is busy."""
    with home_of(subject, folder) as home, contextlib.ExitStack() as stack:
        first, second, *_ = home.open(stack, 6)
        call_times(first, NAMES[:1], extent)  # warm up
        for _ in range(extent.turns):
            alone = call_times(first, NAMES[:1], extent)
            with patience(first.pipes + second.pipes, BLOCK_SECONDS):
                beside = _beside_busy(first, second, extent)
            yield [
                Reading("small call of one of 6 clients: p50", "ms", quantile(alone, 0.5)),
                Reading("small call of one of 6 clients: p99", "ms", quantile(alone, 0.99)),
                Reading("small call beside a busy client: p50", "ms", quantile(beside, 0.5)),
                Reading("small call beside a busy client: p99", "ms", quantile(beside, 0.99)),
            ]


def _beside_busy(session: Session, busy: Session, extent: Extent) -> list[float]:
    """Call one server while another client keeps calls of another server in flight; return the times."""
    other = _Busy(busy, NAMES[1:2])
    other.send(AT_ONCE)
    spent, answers = [], []
    pipe = session.pipe_to(NAMES[0])
    with selectors.DefaultSelector() as selector:
        for each in {pipe, other.pipes[0]}:
            selector.register(each, selectors.EVENT_READ)
        for number in range(extent.block_calls):
            request = session.echo(number, NAMES[0])
            began = time.perf_counter()
            pipe.write(request)
            while len(answers) == number:
                for key, _ in selector.select():
                    if key.fileobj is pipe:
                        spent.append(milliseconds_since(began))
                        answers += pipe.lines()
                    else:
                        other.receive(other.pipes[0])
    other.finish()
    client.check_echoes(answers, range(len(answers)), session.read)
    return spent


class _Busy:
    """A client that keeps a number of calls in flight."""

    def __init__(self, session: Session, servers: Sequence[str]) -> None:
        self.pipes = list({session.pipe_to(name): None for name in servers})
        self._session, self._servers = session, itertools.cycle(servers)
        self._sent, self._received = 0, list[bytes]()

    def send(self, count: int) -> None:
        for _ in range(count):
            server = next(self._servers)
            self._session.pipe_to(server).write(self._session.echo(self._sent, server))
            self._sent += 1

    def receive(self, pipe: client.Pipe, *, is_over: bool = False) -> None:
        """Read the answers of a pipe that has some, and send as many calls."""
        lines = pipe.lines()
        self._received += lines
        if not is_over:
            self.send(len(lines))

    @property
    def is_done(self) -> bool:
        return len(self._received) == self._sent

    @property
    def answered(self) -> int:
        return len(self._received)

    def finish(self) -> None:
        """Wait for the last answers, and check all."""
        with selectors.DefaultSelector() as selector:
            for pipe in self.pipes:
                selector.register(pipe, selectors.EVENT_READ, pipe)
            while not self.is_done:
                for key, _ in selector.select():
                    self.receive(key.data, is_over=True)
        client.check_echoes(self._received, range(self._sent), self._session.read)


def throughput(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure the calls answered per second of one busy client, and of twelve together."""
    with home_of(subject, folder) as home, contextlib.ExitStack() as stack:
        sessions = home.open(stack, BUSY_CLIENTS)
        _rate(sessions, extent)  # warm up
        proxies = [each for each in home.processes() if not _is_running(each, str(HERE / "backend.py"))]
        for _ in range(extent.turns):
            one, _ = _rate(sessions[:1], extent)
            used = _sum(proxies, processor_time)
            all_of_them, answered = _rate(sessions, extent)
            yield [
                Reading("calls a second of one busy client", "/s", one),
                Reading(f"calls a second of {BUSY_CLIENTS} busy clients", "/s", all_of_them),
                Reading(f"calls of {BUSY_CLIENTS} busy clients, to those of one", "×", all_of_them / one),
                Reading(
                    f"processor time of a call of {BUSY_CLIENTS} busy clients",
                    "µs",
                    (_sum(proxies, processor_time) - used) / answered * 1e6,
                ),
            ]


def _rate(sessions: Sequence[Session], extent: Extent) -> tuple[float, int]:
    """Return the calls per second of all clients, each with the same number of calls in flight, and all calls."""
    clients = [_Busy(session, NAMES) for session in sessions]
    pipes = [pipe for session in sessions for pipe in session.pipes]
    with patience(pipes, BLOCK_SECONDS), selectors.DefaultSelector() as selector:
        for each in clients:
            for pipe in each.pipes:
                selector.register(pipe, selectors.EVENT_READ, each)
        began = time.perf_counter()
        for each in clients:
            each.send(AT_ONCE)
        while (spent := time.perf_counter() - began) < extent.block_seconds:
            for key, _ in selector.select():
                assert isinstance(key.fileobj, client.Pipe)
                key.data.receive(key.fileobj)
        answered = sum(each.answered for each in clients)
        for each in clients:
            each.finish()
    return answered / spent, sum(each.answered for each in clients)


def memory(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Count the processes and the memory of clients that have called every server, servers included."""
    if not psutil.LINUX:
        return
    for turn in range(extent.turns):
        with home_of(subject, folder / str(turn)) as home, contextlib.ExitStack() as stack:
            sessions: list[Session] = []
            readings: list[Reading] = []
            for count in CLIENTS:
                sessions += home.open(stack, count - len(sessions))
                readings += _memory(home, sessions, "1 client" if count == 1 else f"{count} clients")
        yield readings


def _memory(home: Home, sessions: Sequence[Session], label: str) -> list[Reading]:
    processes = home.processes()
    servers = [each for each in processes if _is_running(each, str(HERE / "backend.py"))]
    started = {pipe.pid for session in sessions for pipe in session.pipes}
    of_clients = [each for each in processes if each.pid in started and each not in servers]
    label = f"{label} of {SERVERS} servers"
    readings = [
        Reading(f"{label}: memory of all processes", "MB", _sum(processes, proportional)),
        Reading(f"{label}: processes", "", len(processes)),
        Reading(f"{label}: server processes", "", len(servers)),
    ]
    if of_clients:
        each = _sum(of_clients, proportional) / len(of_clients)
        readings.append(Reading(f"{label}: memory of the process that a client starts", "MB", each))
    return readings


def _is_running(process: psutil.Process, script: str) -> bool:
    return script in process.cmdline()


def _sum(processes: Sequence[psutil.Process], measure: Callable[[psutil.Process], float]) -> float:
    return sum(map(measure, processes))
