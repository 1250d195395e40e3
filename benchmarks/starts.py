"""Measures of the start, from the process to the first answers, and of the exit, from the end of stdin."""

import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import client
from client import OverdueError, patience
from readings import Extent, Reading, Turns, counted, milliseconds_since
from subjects import POLL_SECONDS, START_SECONDS, Backend, Subject, backends, tools_in

DELAY_SECONDS = 3.0
HINDERED_SECONDS = 15.0
"""Time limit for a list while a server is slow or silent."""


def start(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure a start with an empty home, then one with the caches of the first."""
    for turn in range(extent.turns):
        readings = []
        for count in extent.backends:
            servers = backends(count, "--tools", "20")
            for which in ("first", "second"):
                home = folder / f"{turn}-{count}"
                readings += _start(subject, servers, home, f"{which} start, {counted(count)}")
        yield readings


def _start(subject: Subject, servers: Sequence[Backend], home: Path, label: str) -> list[Reading]:
    started = time.perf_counter()
    with subject.running(servers, home) as session:
        with patience(session.pipes, START_SECONDS):
            session.initialize()
            initialized = milliseconds_since(started)
            session.wait_for(servers)
            listed = milliseconds_since(started)
        ending = time.perf_counter()
    ended = milliseconds_since(ending)
    readings = [Reading(f"{label}: initialize", "ms", initialized)]
    if subject.lists_tools:
        readings.append(Reading(f"{label}: complete list", "ms", listed))
    if subject.ends_with_stdin:
        readings.append(Reading(f"{label}: time to end", "ms", ended))
    return readings


def hindered_start(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure starts with four servers and a fifth that is slow, or that never answers."""
    awaited = ("initialize", *(["complete list"] if subject.lists_tools else []), "first call")
    for turn in range(extent.turns):
        readings = []
        for name, options in (("slow", ("--delay", str(DELAY_SECONDS))), ("silent", ("--silent",))):
            servers = [*backends(4), Backend(name, options)]
            listed = servers if name == "slow" else servers[:-1]
            for which in ("first", "second"):
                times = _hindered(subject, servers, listed, folder / f"{turn}-{name}")
                readings += [
                    Reading(f"{which} start beside a {name} server: {what}", "ms", times.get(what)) for what in awaited
                ]
        yield readings


def _hindered(subject: Subject, servers: Sequence[Backend], listed: Sequence[Backend], home: Path) -> dict[str, float]:
    """Start, then at once request the list and call one good server; return the time of each answer."""
    times: dict[str, float] = {}
    started = time.perf_counter()
    session = subject.start(servers, home)
    try:
        with patience(session.pipes, HINDERED_SECONDS):
            session.initialize()
            times["initialize"] = milliseconds_since(started)
            pipe = session.pipe_to(servers[0].name)
            expected = {session.listed_name(server.name, "echo") for server in listed}
            list_ids = itertools.count(1)
            pipe.write(session.echo(0, servers[0].name) + client.request(next(list_ids), "tools/list"))
            while len(times) < 3:
                line = pipe.line()
                if client.id_of(line) == 0:
                    times["first call"] = milliseconds_since(started)
                    client.check_echoes([line], [0], session.read)
                elif expected <= tools_in([line]):
                    times["complete list"] = milliseconds_since(started)
                else:
                    time.sleep(POLL_SECONDS)
                    pipe.write(client.request(next(list_ids), "tools/list"))
        session.end()
    except OverdueError:
        pass  # answers that did not come in time are missing from the times
    finally:
        session.kill()
    return times
