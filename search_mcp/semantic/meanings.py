"""The meanings of queries, computed for the search by the vector process.

The meaning of a query is its similarity to each tool, as `search/meaning` defines it.

A search never waits long: without an answer in time, or without a process, it ranks by words alone. The process
starts with the first query. If it has ended because it was idle, the next query starts it again.
"""

import contextlib
import itertools
import logging
import math
import time
import weakref
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from search_mcp.model.calls import CallLater
from search_mcp.search import Meaning
from search_mcp.search.documents import POOL
from search_mcp.search.negation import without_negated
from search_mcp.search.query import LONGEST_QUERY
from search_mcp.semantic.lines import Address, Compared, Failure, Forget, Local, Problem, Query, Texts
from search_mcp.semantic.vector_process import VectorProcess
from search_mcp.wire import payload

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 0.15
"""Time that a search of a client waits for the meaning of its query."""
MOST_MISSING = 0.1
"""Largest share of texts without a vector; with more, the tools that have a vector would be preferred."""
MOST_UNANSWERED = 16
"""Most queries that the process has not answered; it would answer more of them too late for their searches."""
RETRY_SECONDS = 60.0
"""Time after a failure before another process is started."""


_ANSWER: Any = Compared | Problem | Failure

Use = Callable[[Meaning | None], None]
Stop = Callable[[], None]
Give = Callable[[Local | Address | None], None]
Opening = Callable[[Give], None]
"""Gives the first line for the process, now or later; `None` if it cannot start, after the reason was logged."""


class Comparable(Protocol):
    """The texts of one catalogue."""

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts that queries are compared with, by name."""
        ...

    @property
    def texts_version(self) -> int:
        """A number that changes with the texts."""
        ...


class Similarities(Mapping[str, float]):
    """The similarities of one query by name, each found only when looked up; texts without a vector are missing."""

    def __init__(self, positions: Mapping[str, int], numbers: Sequence[float]) -> None:
        self._positions, self._numbers = positions, numbers

    def __getitem__(self, name: str) -> float:
        number = self._numbers[self._positions[name]]
        if math.isnan(number):
            raise KeyError(name)
        return number

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._positions if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Sent:
    """The texts of a catalogue as they were sent: the catalogue's number, and the names in the order of the texts."""

    def __init__(self, number: int, version: int, names: Sequence[str]) -> None:
        self.number, self.version, self.names = number, version, names
        self.positions = {name: position for position, name in enumerate(names)}


class Meanings:
    """Meanings of queries over any number of catalogues. Used from one event loop."""

    def __init__(
        self,
        command: Sequence[str],
        opening: Opening,
        later: CallLater,
        from_thread: Callable[[Callable[[], None]], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`from_thread` runs a function in the event loop, for a thread; the `command` starts the process."""
        self.users = 0
        """The number of clients whose searches use them; at zero, the process is ended."""
        self.problem = ""
        """The reason why queries have no meaning now; empty if they have one, or if no reason is known."""
        self._command, self._opening, self._later = command, opening, later
        self._from_thread, self._clock = from_thread, clock
        self._first: Local | Address | None = None  # line for the process
        self._is_opening = self._has_ended = False
        self._has_answered = False  # the running process, with the similarities of a query
        self._running: VectorProcess | None = None
        self._sent: weakref.WeakKeyDictionary[Comparable, _Sent] = weakref.WeakKeyDictionary()  # to that process
        self._waiting: dict[int, tuple[Use, Stop, _Sent]] = {}
        self._unanswered: set[int] = set()
        self._numbers, self._catalogues = itertools.count(1), itertools.count(1)
        self._not_before = -math.inf  # earliest time to start a process
        self._reported = ""

    @property
    def may_answer(self) -> bool:
        """Whether a process runs, or may be started."""
        return self._running is not None or (not self._has_ended and self._clock() >= self._not_before)

    def ask(self, catalogue: Comparable, query: str, use: Use, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Give the meaning of a query to a function, once: `None` if there is none in time."""
        if (running := self._started()) is None or len(self._unanswered) >= MOST_UNANSWERED:
            use(None)
            return
        number, sent = next(self._numbers), self._send_texts(running, catalogue)

        def give_up() -> None:
            if self._waiting.pop(number, None) is not None:
                use(None)

        self._waiting[number] = use, self._later(patience_seconds, give_up), sent
        # A command line may have bytes that are not UTF-8.
        text = without_negated(query[:LONGEST_QUERY]).encode("utf-8", "replace").decode()
        running.send(Query(number, sent.number, text, POOL))
        self._unanswered.add(number)

    def end(self) -> None:
        """End the process, and start no other; queries that wait get no meaning."""
        self._has_ended = True
        self._end_process()

    def _end_process(self) -> None:
        if self._running is not None:
            self._running.end()
        self._forget()

    def _send_texts(self, running: VectorProcess, catalogue: Comparable) -> _Sent:
        """Return the texts that the process has of a catalogue; send them if they changed."""
        sent = self._sent.get(catalogue)
        if sent is None or sent.version != catalogue.texts_version:
            if sent is None:
                number = next(self._catalogues)
                weakref.finalize(catalogue, running.send, Forget(number)).atexit = False
            else:
                number = sent.number
            sent = self._sent[catalogue] = _Sent(number, catalogue.texts_version, list(catalogue.texts))
            running.send(Texts(number, list(catalogue.texts.values())))
        return sent

    def _started(self) -> VectorProcess | None:
        if self._running is None and self.may_answer:
            if self._first is None and not self._is_opening:
                self._is_opening = True
                self._opening(self._open)
            if self._first is not None:
                self._start(self._first)
        return self._running

    def _open(self, first: Local | Address | None) -> None:
        self._is_opening, self._first = False, first
        if first is None:
            self._not_before = self._clock() + RETRY_SECONDS

    def _start(self, first: Local | Address) -> None:
        try:
            self._running = VectorProcess(self._command, self._take)
        except OSError as exc:
            self._fail(str(exc))
            return
        self._sent, self._unanswered, self._has_answered = weakref.WeakKeyDictionary(), set(), False
        self._running.send(first)

    def _take(self, running: VectorProcess, line: bytes) -> None:
        """Pass a line on to the event loop; called by a thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: search-mcp ends
            self._from_thread(lambda: self._on_line(running, line))

    def _on_line(self, running: VectorProcess, line: bytes) -> None:
        if running is not self._running:
            return
        if not line:
            if running.has_failed:
                self._fail(running.how_it_ended)
                if self._has_answered:  # it was ended from outside, so another one will work
                    self._not_before = self._clock()
            self._forget()
            return
        try:
            answer: Compared | Problem | Failure = payload.typed(line, _ANSWER)
            meaning = self._meaning(answer) if isinstance(answer, Compared) else None
        except ValueError as exc:
            self._fail(f"its process wrote a wrong line: {exc}")
            self._end_process()
            return
        if isinstance(answer, Failure):
            self._fail(answer.failure)
            self._end_process()
        elif isinstance(answer, Problem):
            self.problem = answer.problem if answer.is_given_up else ""
            if answer.problem:
                self._report(answer.problem)
        else:
            self._has_answered = True
            self._unanswered.discard(answer.number)
            if (waiting := self._waiting.pop(answer.number, None)) is not None:
                use, stop_timer, _ = waiting
                stop_timer()
                if meaning is not None:
                    self.problem = ""
                use(meaning)

    def _meaning(self, answer: Compared) -> Meaning | None:
        """Return the meaning of a query that waits; `None` without one, or if too few texts have a vector.

        Raises:
            ValueError: the answer is for other texts than those of the query.
        """
        waiting = self._waiting.get(answer.number)
        return None if waiting is None else _meaning(answer, waiting[2])

    def _fail(self, why: str) -> None:
        self._not_before = self._clock() + RETRY_SECONDS
        self.problem = why
        self._report(why)

    def _report(self, why: str) -> None:
        if why != self._reported:
            self._reported = why
            log.warning("! search by meaning: %s; tools may be ranked by words alone", why)

    def _forget(self) -> None:
        """Answer the queries that wait; the next query starts another process."""
        self._running = None
        waiting, self._waiting = self._waiting, {}
        for use, stop_timer, _ in waiting.values():
            stop_timer()
            use(None)


def _meaning(answer: Compared, sent: _Sent) -> Meaning | None:
    texts = range(len(sent.names))
    if len(answer.similarities) != 4 * len(texts) or not all(each in texts for each in answer.nearest):
        raise ValueError("the similarities are those of other texts")
    if answer.missing > len(sent.names) * MOST_MISSING:
        return None
    nearest = [sent.names[position] for position in answer.nearest]
    similarities = Similarities(sent.positions, array("f", answer.similarities))
    return Meaning(similarities, nearest, answer.knows_all_languages)
