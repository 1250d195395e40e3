"""Clients of a shared engine that call while the engine, the server and clients die and the configuration is edited.

Every call is answered once and runs once, and no process is left. SOAK_SEED and SOAK_SECONDS work as in test_soak:

    SOAK_SECONDS=600 python -m pytest tests/soak/test_shared.py -s
"""

import contextlib
import os
import queue
import random
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from queue import SimpleQueue

import pytest
from processes.conftest import write
from processes.run import SECONDS, Json, server
from processes.shared import Home
from real.processes import living

from search_mcp.engine.joining import NoEngineError
from soak.ledger import Ledger
from soak.test_soak import SECONDS as SOAK_SECONDS
from soak.test_soak import SEED

CLIENTS = 4
RUNS = 3
BURSTS = 12
AT_ONCE = 5
ANSWERS_BETWEEN_FAULTS = 20
CHANCE_OF_A_CLIENTS_DEATH = 0.05


class Caller(threading.Thread):
    """A client that is started several times, and calls several tools at once."""

    def __init__(self, name: str, home: Home, ticks: "SimpleQueue[str]", seed: str) -> None:
        super().__init__(name=name)
        self._home, self._ticks, self._random = home, ticks, random.Random(seed)
        self.outcomes: Counter[str] = Counter()
        self.deaths = 0
        self.has_result: list[str] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for number in range(RUNS):
                self._runs_once(f"{self.name}-{number}")
        except BaseException as exc:  # reported by the main thread
            self.failure = exc
        finally:
            self._ticks.put("ended")

    def _runs_once(self, name: str) -> None:
        with self._home.client() as run:
            ledger = run.log = Ledger()
            run.opens()
            for burst in range(BURSTS):
                words = [f"{name}-{burst}-{number}" for number in range(AT_ONCE)]
                asked = [run.sends("tools/call", name="count.echo", arguments={"words": each}) for each in words]
                if self._random.random() < CHANCE_OF_A_CLIENTS_DEATH:
                    self.deaths += 1
                    run.process.kill()  # in the middle of its calls
                    return
                for each, identifier in zip(words, asked, strict=True):
                    answer = run.answer(identifier)
                    self.outcomes["result" if "result" in answer else "error"] += 1
                    if "result" in answer:
                        self.has_result.append(each)
                    self._ticks.put("answered")
            assert ledger.waiting() == []


def rages(folder: Path, seed: int) -> None:
    """Run one round."""
    calls = folder / "calls"
    calls.touch()
    chance = random.Random(seed)
    ticks: SimpleQueue[str] = SimpleQueue()
    faults: Counter[str] = Counter()
    with Home(folder, _servers(calls, 0)) as home:
        callers = [Caller(f"client{number}", home, ticks, f"{seed}-{number}") for number in range(CLIENTS)]
        for each in callers:
            each.start()
        running, answers = CLIENTS, 0
        while running:
            try:
                tick = ticks.get(timeout=SECONDS)
            except queue.Empty:
                pytest.fail("the clients wait for answers")
            running -= tick == "ended"
            answers += tick == "answered"
            if tick == "answered" and answers % ANSWERS_BETWEEN_FAULTS == 0:
                faults[_fault(home, calls, chance)] += 1
        for each in callers:
            each.join(SECONDS)
        failures = [each.failure for each in callers if each.failure is not None]
        if failures:  # the first one kills the other clients
            raise BaseExceptionGroup("clients failed", failures)
    ran = Counter(calls.read_text().split())
    assert max(ran.values()) == 1, "a call was run twice"
    for each in callers:
        assert set(each.has_result) <= ran.keys()
        faults["client killed"] += each.deaths
    errors = sum(each.outcomes["error"] for each in callers)
    assert errors < answers
    print(f"{answers} answers, {errors} of them errors; {', '.join(f'{n} x {kind}' for kind, n in faults.items())}")


def _servers(calls: Path, generation: int) -> dict[str, Json]:
    return {"count": server("counts_calls", str(calls), env={"GENERATION": str(generation)})}


def _fault(home: Home, calls: Path, chance: random.Random) -> str:
    """Let something go wrong; return what."""
    kind = chance.choice(["engine killed", "engine killed", "engine stopped", "server killed", "edit"])
    if kind == "edit":
        write(home.client(), _servers(calls, chance.randrange(1 << 30)), engine="shared", firstListSeconds=60)
        return kind
    engines: list[Json] = []
    with contextlib.suppress(NoEngineError):  # it was just killed
        engines = home.engines()
    pids = [each["pid"] for each in engines]
    if kind == "server killed":
        pids = [pid for pid in living(home.mark) if _runs(pid, "counts_calls")]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM if kind == "engine stopped" else signal.SIGKILL)
    return kind


def _runs(pid: int, program: str) -> bool:
    with contextlib.suppress(OSError):  # it has ended
        return program in Path(f"/proc/{pid}/cmdline").read_text()
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="the server is found in /proc")
def test_no_call_is_lost_or_run_twice_while_engines_die(tmp_path: Path) -> None:
    deadline, seed = time.monotonic() + SOAK_SECONDS, SEED
    while True:
        folder = tmp_path / str(seed)
        folder.mkdir()
        print(f"seed {seed}: ", end="", flush=True)
        rages(folder, seed)
        seed += 1
        if time.monotonic() >= deadline:
            break
