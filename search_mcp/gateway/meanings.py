"""The meanings of queries for the search, from the process that makes vectors. `serve` does not use this yet.

A search never waits long: without an answer in time, or without a process, it has no meaning and ranks by words. The
process is started by the first query, and again by the next one after it ended because it was idle. Its pipes are read
and written by threads, because the texts of a large catalogue are more than a pipe holds.
"""

import contextlib
import logging
import queue
import subprocess
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

from search_mcp.model.calls import CallLater
from search_mcp.search import Meaning
from search_mcp.search.meaning import POOL
from search_mcp.semantic.lines import Compared, Failure, Query, Texts
from search_mcp.wire import payload

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 0.15
"""Time that a search waits for the meaning of its query."""
MOST_MISSING = 0.1
"""Share of the texts that may be without a vector; before that, the tools that have one would be preferred."""
MOST_FAILURES = 3
"""Processes that may end with an error, one after another; then none is started any more."""

Use = Callable[[Meaning | None], None]


class Similarities(Mapping[str, float]):
    """The similarities of one query by name, of which few are looked up; those without a vector are missing."""

    def __init__(self, positions: Mapping[str, int], numbers: Sequence[float]) -> None:
        self._positions, self._numbers = positions, numbers

    def __getitem__(self, name: str) -> float:
        number = self._numbers[self._positions[name]]
        if number != number:  # not a number
            raise KeyError(name)
        return number

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None if isinstance(name, str) else False

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._positions if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Names:
    """The names of the texts that are compared, in the order of the texts."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.positions = {name: position for position, name in enumerate(names)}


class _Running:
    """One process with the threads of its pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def start(self, on_line: Callable[[bytes], None]) -> None:
        """Begin to read and write; `on_line` is called by a thread, with an empty line when the process has ended."""
        threading.Thread(target=self._read, args=(on_line,), name="meanings reader", daemon=True).start()
        threading.Thread(target=self._write, name="meanings writer", daemon=True).start()

    def send(self, line: bytes) -> None:
        self._lines.put(line + b"\n")

    def end(self) -> None:
        """Close the stdin of the process, which ends it."""
        self._lines.put(None)

    def _write(self) -> None:
        pipe = _pipe(self.process.stdin)
        with contextlib.suppress(OSError), pipe:  # the process has ended; the reader notices it
            while (line := self._lines.get()) is not None:
                pipe.write(line)
                pipe.flush()

    def _read(self, on_line: Callable[[bytes], None]) -> None:
        with _pipe(self.process.stdout) as pipe:
            for line in pipe:
                on_line(line)
        self.process.wait()
        on_line(b"")


class Meanings:
    """Meanings of queries over one catalogue. Used from one event loop."""

    def __init__(
        self,
        command: Sequence[str],
        later: CallLater,
        from_thread: Callable[[Callable[[], None]], object],
        *,
        knows_all_languages: bool = False,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """`from_thread` runs a function in the event loop, for a thread; the `command` starts the process."""
        self._command, self._later, self._from_thread = command, later, from_thread
        self._knows_all_languages, self._patience_seconds = knows_all_languages, patience_seconds
        self._running: _Running | None = None
        self._texts: Mapping[str, str] = {}
        self._sent: _Names | None = None  # of the texts that the process compares
        self._waiting: dict[int, tuple[Use, Callable[[], None], _Names]] = {}
        self._number = self._failures = 0

    def follow(self, texts: Mapping[str, str]) -> None:
        """Compare with these texts, by name, from the next query on."""
        if texts != self._texts:
            self._texts, self._sent = texts, None

    def ask(self, query: str, use: Use) -> None:
        """Give the meaning of a query to a function, once: `None` if there is none in time."""
        if (running := self._started()) is None:
            use(None)
            return
        if self._sent is None:
            self._sent = _Names(list(self._texts))
            running.send(payload.encode_bytes(Texts(list(self._texts.values()))))
        self._number += 1
        number = self._number
        self._waiting[number] = use, self._later(self._patience_seconds, lambda: self._give_up(number)), self._sent
        running.send(payload.encode_bytes(Query(number, query, POOL)))

    def end(self) -> None:
        """End the process; queries that wait have no meaning."""
        if self._running is not None:
            self._running.end()
        self._forget()

    def _started(self) -> _Running | None:
        if self._running is None and self._failures < MOST_FAILURES:
            try:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0)
                    | getattr(subprocess, "CREATE_NO_WINDOW", 0),
                )
            except OSError as exc:
                self._fail(str(exc))
                return None
            self._running = running = _Running(process)
            running.start(lambda line: self._take(running, line))
        return self._running

    def _take(self, running: _Running, line: bytes) -> None:
        """Pass a line on to the event loop; called by a thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: search-mcp ends
            self._from_thread(lambda: self._on_line(running, line))

    def _on_line(self, running: _Running, line: bytes) -> None:
        if running is not self._running:
            return
        if not line:
            if running.process.returncode:
                self._fail(f"its process ended with {running.process.returncode}")
            self._forget()
            return
        try:
            answer: Compared | Failure = _answer(line)
        except ValueError as exc:
            self._fail(f"its process wrote a wrong line: {exc}")
            self.end()
            return
        if isinstance(answer, Failure):
            self._failures = MOST_FAILURES  # a missing model or library: another process would say the same
            log.warning("! search by meaning: %s; tools are ranked by words", answer.failure)
            return
        self._failures = 0
        if (waiting := self._waiting.pop(answer.number, None)) is not None:
            use, stop_timer, texts = waiting
            stop_timer()
            use(self._meaning(answer, texts))

    def _meaning(self, answer: Compared, texts: _Names) -> Meaning | None:
        numbers = array("f", answer.similarities)
        if answer.missing > len(texts.names) * MOST_MISSING:
            return None
        nearest = [texts.names[position] for position in answer.nearest]
        return Meaning(Similarities(texts.positions, numbers), nearest, self._knows_all_languages)

    def _give_up(self, number: int) -> None:
        if (waiting := self._waiting.pop(number, None)) is not None:
            waiting[0](None)

    def _fail(self, why: str) -> None:
        self._failures += 1
        log.warning("! search by meaning: %s; tools are ranked by words", why)

    def _forget(self) -> None:
        """Answer what waits, and start another process with the next query."""
        self._running = self._sent = None
        waiting, self._waiting = self._waiting, {}
        for use, stop_timer, _ in waiting.values():
            stop_timer()
            use(None)


def _answer(line: bytes) -> Compared | Failure:
    try:
        return payload.typed(line, Compared)
    except ValueError:
        return payload.typed(line, Failure)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise TypeError("the process was started without pipes")
    return pipe
