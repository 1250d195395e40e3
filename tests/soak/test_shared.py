"""Clients of a shared engine that is killed and stopped while they call: every call is answered once and runs once.

SOAK_SEED and SOAK_SECONDS work as in test_soak.
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
from processes.run import SECONDS, server
from processes.shared import Home

from search_mcp.fronts.joining import NoEngineError
from soak.ledger import Ledger
from soak.test_soak import SECONDS as SOAK_SECONDS
from soak.test_soak import SEED

CLIENTS = 4
LIVES = 3
BURSTS = 12
AT_ONCE = 5
ANSWERS_BETWEEN_FAULTS = 40


class Caller(threading.Thread):
    """A client that is started several times, and calls several tools at once."""

    def __init__(self, name: str, home: Home, ticks: "SimpleQueue[str]", seed: str) -> None:
        super().__init__(name=name)
        self._home, self._ticks, self._random = home, ticks, random.Random(seed)
        self.outcomes: Counter[str] = Counter()
        self.has_result: list[str] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for life in range(LIVES):
                self._lives(f"{self.name}-{life}")
        except BaseException as exc:  # reported by the main thread
            self.failure = exc
        finally:
            self._ticks.put("ended")

    def _lives(self, name: str) -> None:
        with self._home.client() as run:
            ledger = run.log = Ledger()
            run.opens()
            for burst in range(BURSTS):
                words = [f"{name}-{burst}-{number}" for number in range(AT_ONCE)]
                asked = [run.sends("tools/call", name="count.echo", arguments={"words": each}) for each in words]
                if burst == BURSTS - 1 and self._random.random() < 0.5:
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
    with Home(folder, {"count": server("counts_calls", str(calls))}) as home:
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
                _fault(home, chance)
        for each in callers:
            each.join(SECONDS)
            if each.failure is not None:
                raise each.failure
    ran = Counter(calls.read_text().split())
    assert max(ran.values()) == 1, "a call was run twice"
    for each in callers:
        assert set(each.has_result) <= ran.keys()
        assert each.outcomes["result"] > 0
    print(f"{answers} answers, {sum(each.outcomes['error'] for each in callers)} errors")


def _fault(home: Home, chance: random.Random) -> None:
    number = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
    with contextlib.suppress(NoEngineError):  # it was just killed
        for engine in home.engines():
            with contextlib.suppress(ProcessLookupError):
                os.kill(engine["pid"], number)


@pytest.mark.skipif(sys.platform == "win32", reason="engines are not shared on Windows yet")
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
