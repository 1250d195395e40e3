"""A client, ten servers and a seed: calls, while servers are killed, edited, disabled and made to misbehave."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from processes.conftest import write
from processes.run import SECONDS, Json, Run, server
from real.processes import living

from soak.ledger import Ledger

NAMES = [f"server{number}" for number in range(10)]
MOST_OPEN = 40
"""Number of open calls at which the client waits for answers; calls that hang are not counted."""
MOST_DISABLED = 2
FAULTS = ("die", "break_off", "close", "answer_twice", "flood_stdout", "flood_stderr")


class Storm:
    """One run; a seed repeats the kinds of the steps, but the call that a step meets depends on the machine."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.run = Run(folder, folder / "mcp-servers.json")
        self.ledger = Ledger()
        self.run.log = self.ledger
        self.generations = dict.fromkeys(NAMES, 0)
        self.disabled: set[str] = set()
        self.hanging: list[int] = []
        self.count = 0
        self._edit()

    def rages(self, steps: int) -> None:
        """Take the steps, then finish: every server works again, every call is answered, no process is left."""
        weights: dict[Callable[[], object], int] = {
            self.calls: 200,
            self.cancels: 30,
            self.misbehaves: 12,
            self.hangs: 8,
            self.kills: 4,
            self.edits: 4,
            self.breaks_the_file: 1,
            self.looks_around: 10,
            self.stops_reading: 1,
        }
        with self.run:
            self.run.opens()
            for _ in range(steps):
                self.random.choices(list(weights), list(weights.values()))[0]()
                self._waits()
            self._comes_to_rest()

    # Steps

    def calls(self, words: str = "echo") -> int:
        self.count += 1
        sized = "x" * self.random.choice((0, 10, 100, 1000, 100_000))
        arguments = {"words": f"{words} {self.count} {sized}"}
        return self.run.sends("tools/call", name=f"{self.random.choice(NAMES)}.echo", arguments=arguments)

    def cancels(self) -> None:
        self._cancel(self.random.choice([self.calls(), *self.ledger.waiting()]))

    def misbehaves(self) -> None:
        self.calls(self.random.choice(FAULTS))

    def hangs(self) -> None:
        self.hanging.append(self.calls("hang"))
        if len(self.hanging) > 20:
            self._cancel(self.hanging.pop(0))

    def kills(self) -> None:
        children = sorted(living(self.run.mark) - {self.run.process.pid})
        if children:
            with contextlib.suppress(ProcessLookupError):  # it exited just before
                os.kill(self.random.choice(children), getattr(signal, "SIGKILL", signal.SIGTERM))

    def edits(self) -> None:
        for name in self.random.sample(NAMES, 2):
            if name in self.disabled:
                self.disabled.remove(name)
            elif len(self.disabled) < MOST_DISABLED:
                self.disabled.add(name)
            else:
                self.generations[name] += 1
        self._edit()

    def breaks_the_file(self) -> None:
        self.run.config.write_text('{"mcpServers": {')

    def looks_around(self) -> None:
        method, params = self.random.choice(
            [
                ("tools/list", {}),
                ("tools/call", {"name": "search_tools", "arguments": {"query": "echo"}}),
                ("tools/call", {"name": "list_servers", "arguments": {}}),
                ("tools/call", {"name": "server0.nothing", "arguments": {}}),
            ]
        )
        self.run.sends(method, **params)

    def stops_reading(self) -> None:
        self.run.stops_reading()
        for _ in range(5):
            self.misbehaves()
        self.run.reads_on()

    # Between and after the steps

    def _cancel(self, identifier: int) -> None:
        self.run.cancels(identifier)
        self.run.sends("ping")

    def _edit(self) -> None:
        entries: dict[str, Json] = {
            name: server(
                "does_as_told",
                env={"GENERATION": str(self.generations[name])},
                enabled=name not in self.disabled,
            )
            for name in NAMES
        }
        write(self.run, entries)

    def _waits(self) -> None:
        """Read the messages that came, and wait for more while too many calls are open."""
        self.run.hears()
        while len(self.ledger.waiting()) > MOST_OPEN + len(self.hanging):
            self.run.next()

    def _comes_to_rest(self) -> None:
        for identifier in self.hanging:
            self._cancel(identifier)
        self.disabled.clear()
        self.generations = {name: generation + 1 for name, generation in self.generations.items()}
        self._edit()
        for name in NAMES:
            self._answers_again(name)
        while self.ledger.waiting():
            self.run.next()
        self.run.close_stdin()
        assert self.run.ended() == 0
        print(f"{self.ledger.served} results, {self.ledger.answered - self.ledger.served} errors, ", end="")
        print(f"{self.ledger.cancelled} cancelled")

    def _answers_again(self, name: str) -> None:
        """Call a server until it answers: the last edit may not be applied yet."""
        deadline = time.monotonic() + SECONDS
        while True:
            call = self.run.sends("tools/call", name=f"{name}.echo", arguments={"words": "at last"})
            answer = self.run.answer(call)
            if "result" in answer:
                return
            assert time.monotonic() < deadline, f"{name} did not recover: {answer}"
            time.sleep(0.05)
