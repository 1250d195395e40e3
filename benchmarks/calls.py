"""Measures of calls: alone, with many in flight, and beside a slow or flooding server."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import client
import processes
from client import Pipe, patience
from readings import Extent, Reading, Turns, counted, milliseconds_since, quantile
from subjects import Backend, Session, Subject, backends

BLOCK_SECONDS = 60.0
"""Time limit for a block of calls, or for one large result."""
MANY = 64
"""Calls in flight while the processor time of a call is measured, and the number of these calls."""
PROCESSOR_CALLS = 10_000
RECORDED_BLOCKS = 20
"""Blocks of calls in a turn, with and without a record of the calls."""
SLOW_CALLS = 50
SLOW_SECONDS = 2.0
BULK_BYTES = 1_000_000
HUGE_TOOLS = 20_000
FIRST_BURDEN_ID = 1_000_000
"""First id of the calls to the slow or flooding server."""
LOG = {"method": "notifications/message", "params": {"level": "info", "data": "noise " * 16}}
STRAY = {
    "method": "notifications/progress",
    "params": {"progressToken": "nobody's", "progress": 1, "message": "noise " * 16},
}


def small_call(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure small calls, one after the other."""
    yield from _with_backends(subject, extent, folder, _small_calls)


def throughput(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure the calls answered per second with a constant number in flight."""
    yield from _with_backends(subject, extent, folder, _rates)


def _with_backends(
    subject: Subject, extent: Extent, folder: Path, measure: Callable[[Session, Sequence[str], Extent], list[Reading]]
) -> Turns:
    """Measure one backend and eight backends in the same turns, in two running subjects."""
    one, eight = backends(1), backends(8)
    with subject.running(one, folder / "1") as alone, subject.running(eight, folder / "8") as among:
        alone.open(one)
        among.open(eight)
        measure(alone, ["b0"], extent)  # warm up: work done only once is no part of a call's cost
        for _ in range(extent.turns):
            yield measure(alone, ["b0"], extent) + measure(among, [server.name for server in eight], extent)


def _small_calls(session: Session, servers: Sequence[str], extent: Extent) -> list[Reading]:
    spent = call_times(session, servers, extent)
    label = f"small call, {counted(len(servers))}"
    return [Reading(f"{label}: p50", "ms", quantile(spent, 0.5)), Reading(f"{label}: p99", "ms", quantile(spent, 0.99))]


def call_times(
    session: Session, servers: Sequence[str], extent: Extent, on_other: Callable[[bytes], None] | None = None
) -> list[float]:
    """Call the servers in turn, one call at a time; return the time of each call in milliseconds.

    Answers to other calls are given to `on_other`.
    """
    prepared = [
        (number, session.pipe_to(server), session.echo(number, server))
        for number, server in _numbered(servers, extent.block_calls)
    ]
    answers, spent = [], []
    until = time.perf_counter() + extent.block_seconds
    with patience(session.pipes, BLOCK_SECONDS):
        for message_id, pipe, request in prepared:
            started = time.perf_counter()
            pipe.write(request)
            line = pipe.line()
            while on_other is not None and client.id_of(line) != message_id:
                on_other(line)
                line = pipe.line()
            now = time.perf_counter()
            answers.append(line)
            spent.append((now - started) * 1e3)
            if now > until:
                break
    client.check_echoes(answers, range(1, len(answers) + 1), session.read)
    return spent


def _numbered(servers: Sequence[str], count: int) -> Iterable[tuple[int, str]]:
    return enumerate(islice(cycle(servers), count), 1)


def _rates(session: Session, servers: Sequence[str], extent: Extent) -> list[Reading]:
    label = f"in flight, {counted(len(servers))}"
    rates = [
        Reading(f"calls a second, {window} {label}", "/s", call_rate(session, servers, extent, window))
        for window in extent.windows
    ]
    return [*rates, *processor_times(session, servers, extent, f"processor time of a call, {MANY} {label}")]


def processor_times(session: Session, servers: Sequence[str], extent: Extent, label: str) -> list[Reading]:
    """Measure the processor time that the subject needs for a call while many are in flight; none without a subject."""
    if not processes.own(session):
        return []
    whole = replace(extent, block_calls=PROCESSOR_CALLS // 4, block_seconds=BLOCK_SECONDS)
    used = processes.cpu_seconds(session)
    call_rate(session, servers, whole, MANY)
    return [Reading(label, "µs", (processes.cpu_seconds(session) - used) / PROCESSOR_CALLS * 1e6)]


def call_rate(session: Session, servers: Sequence[str], extent: Extent, window: int) -> float:
    """Keep `window` calls in flight, divided among the pipes, until all are answered; return calls per second."""
    pipes = session.pipes
    waiting: dict[Pipe, list[bytes]] = {pipe: [] for pipe in pipes}
    for number, server in _numbered(servers, 4 * extent.block_calls):
        waiting[session.pipe_to(server)].append(session.echo(number, server))
    sent = dict.fromkeys(pipes, 0)
    received: dict[Pipe, list[bytes]] = {pipe: [] for pipe in pipes}

    def send(pipe: Pipe, count: int) -> None:
        requests = waiting[pipe][sent[pipe] : sent[pipe] + count]
        sent[pipe] += len(requests)
        pipe.write(b"".join(requests))

    started = time.perf_counter()
    until = started + extent.block_seconds
    with patience(pipes, BLOCK_SECONDS):
        for number, pipe in enumerate(pipes):
            send(pipe, window // len(pipes) + (number < window % len(pipes)))
        while owing := [pipe for pipe in pipes if len(received[pipe]) < sent[pipe]]:
            for pipe in owing:
                lines = pipe.lines()
                received[pipe] += lines
                if time.perf_counter() < until:
                    send(pipe, len(lines))
    spent = time.perf_counter() - started
    for pipe in pipes:
        client.check_echoes(received[pipe], list(map(client.id_of, waiting[pipe][: sent[pipe]])), session.read)
    return sum(map(len, received.values())) / spent


# With and without a record of the calls


def recorded_call(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure how much longer calls take while they are recorded, by blocks with and without the record in turn."""
    servers, without = backends(1), replace(subject, settings={**subject.settings, "usage": False})
    with subject.running(servers, folder / "with") as recorded, without.running(servers, folder / "without") as plain:
        for session in (recorded, plain):
            session.open(servers)
            call_times(session, ["b0"], extent)
        for _ in range(extent.turns):
            spent: dict[Session, list[float]] = {recorded: [], plain: []}
            rates: list[float] = []
            used = {each: processes.cpu_seconds(each) for each in (recorded, plain)}
            one = replace(extent, block_calls=1)
            for number in range(RECORDED_BLOCKS * extent.block_calls):  # single calls in turn: both see the same load
                for session in _in_turn(number, recorded, plain):
                    spent[session] += call_times(session, ["b0"], one)
            more = {each: processes.cpu_seconds(each) - used[each] for each in (recorded, plain)}
            for number in range(RECORDED_BLOCKS):
                rate = {each: call_rate(each, ["b0"], extent, 16) for each in _in_turn(number, recorded, plain)}
                rates.append(rate[recorded] / rate[plain])
            small = quantile(spent[recorded], 0.5) / quantile(spent[plain], 0.5)
            yield [
                Reading("recorded small call, to one that is not: p50", "×", small),
                Reading("recorded small call, to one that is not: processor", "×", more[recorded] / more[plain]),
                Reading("recorded calls a second, 16 in flight, to those that are not", "×", quantile(rates, 0.5)),
            ]


def _in_turn(number: int, first: Session, second: Session) -> Sequence[Session]:
    return (first, second) if number % 2 else (second, first)


# Beside a slow or flooding server


def longest_wait(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure the longest wait of a call to one server while another server's very long list is read and shown."""
    servers = [*backends(1), Backend("huge", ("--tools", str(HUGE_TOOLS)))]
    for turn in range(extent.turns):
        with subject.running(servers, folder / str(turn)) as session:
            session.open(servers[:1])
            pipe = session.pipe_to("huge")
            lists: list[bytes] = []
            pipe.write(client.request(FIRST_BURDEN_ID, "tools/list"))
            spent = call_times(session, ["b0"], extent, lists.append)
            with patience(session.pipes, BLOCK_SECONDS):
                while not any(client.id_of(line) == FIRST_BURDEN_ID for line in lists):
                    lists.append(pipe.line())
        yield [Reading(f"longest small call beside a server of {HUGE_TOOLS:,} tools", "ms", max(spent))]


def fairness(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure how much longer calls to one server take while another is slow, returns large results, or floods."""
    servers = backends(2)
    burdens: Mapping[str, Callable[[Session, Extent], list[float]]] = {
        "50 slow calls": _beside_slow,
        "1 MB results": _beside_bulk,
        "a flood of reports on no request": partial(_beside_flood, STRAY),
        "a flood of log messages": partial(_beside_flood, LOG),
    }
    for turn in range(extent.turns):
        readings = []
        for number, (burden, block) in enumerate(burdens.items()):
            with subject.running(servers, folder / f"{turn}-{number}") as session:
                session.open(servers)
                call_times(session, ["b0"], extent)
                alone = quantile(call_times(session, ["b0"], extent), 0.99)
                beside = quantile(block(session, extent), 0.99)
            readings.append(Reading(f"p99 beside {burden}, to p99 without", "×", beside / alone))
        yield readings


def _beside_slow(session: Session, extent: Extent) -> list[float]:
    pipe = session.pipe_to("b1")
    ids = range(FIRST_BURDEN_ID, FIRST_BURDEN_ID + SLOW_CALLS)
    answers: list[bytes] = []
    with patience(session.pipes, BLOCK_SECONDS):
        pipe.write(b"".join(session.call(number, "b1", "sleep", seconds=SLOW_SECONDS) for number in ids))
        spent = call_times(session, ["b0"], extent, answers.append)
        while len(answers) < SLOW_CALLS:
            answers.append(pipe.line())
    client.check_ids(answers, ids)
    for answer in answers:
        client.check_text(answer, "slept", session.read)
    return spent


def _beside_bulk(session: Session, extent: Extent) -> list[float]:
    """Keep one large result in transfer at all times."""
    pipe = session.pipe_to("b1")
    request = session.call(FIRST_BURDEN_ID, "b1", "bulk", size=BULK_BYTES)
    answers: list[bytes] = []

    def on_other(line: bytes) -> None:
        answers.append(line)
        pipe.write(request)

    with patience(session.pipes, BLOCK_SECONDS):
        pipe.write(request)
        spent = call_times(session, ["b0"], extent, on_other)
        answers.append(pipe.line())
    for answer in answers:
        client.check_text(answer, "x" * BULK_BYTES, session.read)
    return spent


def _beside_flood(message: Mapping[str, object], session: Session, extent: Extent) -> list[float]:
    """Flood with one message as fast as it is accepted; where it is relayed, the client reads it as well."""
    pipe = session.pipe_to("b1")
    with patience(session.pipes, BLOCK_SECONDS):
        pipe.write(session.call(FIRST_BURDEN_ID, "b1", "flood", message={"jsonrpc": "2.0", **message}))
        client.check_text(pipe.line(), "flooding", session.read)
        return call_times(session, ["b0"], extent)


# Large results


def large_result(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure large results, and how far the subject's memory rises above its level before the first one."""
    servers = backends(1)
    sizes = [size for size in extent.megabytes if size <= subject.largest_result]
    for turn in range(extent.turns):
        with subject.running(servers, folder / str(turn)) as session:
            session.open(servers)
            call_times(session, ["b0"], extent)
            before = processes.memory(session)
            yield [reading for size in sizes for reading in large_results(session, size, before)]


def large_results(session: Session, megabytes: int, before: float, what: str = "result") -> list[Reading]:
    """Measure a result of this size; `before` is the memory that the subject used without it, in MB."""
    pipe = session.pipe_to("b0")
    size = megabytes * 1_000_000
    request = session.call(1, "b0", "bulk", size=size)
    with patience(session.pipes, BLOCK_SECONDS):
        started = time.perf_counter()
        pipe.write(request)
        line = pipe.line()
        spent = milliseconds_since(started)
    client.check_text(line, "x" * size, session.read)
    readings = [Reading(f"{megabytes} MB {what}", "ms", spent)]
    peak = processes.peak_memory(session)
    if peak is not None:
        readings.append(Reading(f"{megabytes} MB {what}: peak memory", "MB", peak - before))
    return readings
