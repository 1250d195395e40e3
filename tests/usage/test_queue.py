"""Calls on their way to the file: written together, never without bound, and never by the event loop."""

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import cast

import pytest

from search_mcp.gateway.person import Person
from search_mcp.model.calls import Outcome, Result
from search_mcp.usage.ended_calls import EndedCall
from search_mcp.usage.queue import MANY, MOST_HELD_BYTES, MOST_WAITING, RETRY_SECONDS, WAIT_SECONDS, UsageQueue
from search_mcp.usage.store import UsageStore
from search_mcp.wire.structs import Raw


def ended(tool: str, outcome: Outcome | None = None, arguments: Raw | None = None) -> EndedCall:
    """Return a call of a tool that has ended."""
    return EndedCall(Person(), ("alpha", tool), arguments, 1.0, 1.1, outcome or Result(Raw(b"{}")))


class Threads:
    """A clock and a queue of file operations that the test controls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.operations: list[Callable[[], None]] = []
        self.due: list[tuple[float, Callable[[], None]]] = []
        self.queue = UsageQueue(path, self.operations.append, self._later, lambda: 0.0, lambda: 1.8e9)
        self.queue._store = UsageStore(path, lambda: 1.8e9, busy_seconds=0.01)

    def _later(self, seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        self.due.append((seconds, act))
        return lambda: None

    def add(self, *names: str) -> None:
        for name in names:
            self.queue.add(ended(name))

    def pass_time(self) -> list[float]:
        """Let the time that is waited for pass; return it."""
        due, self.due = self.due, []
        for _, act in due:
            act()
        return [seconds for seconds, _ in due]

    def carry_out(self) -> int:
        """Carry out the queued operations; return their number."""
        queued, self.operations[:] = list(self.operations), []
        for operation in queued:
            operation()
        return len(queued)

    def written(self) -> list[str]:
        with closing(sqlite3.connect(self.path)) as database:
            return [tool for (tool,) in database.execute("SELECT tool FROM calls ORDER BY rowid")]


@pytest.fixture
def threads(tmp_path: Path) -> Threads:
    return Threads(tmp_path / "usage" / "calls.sqlite3")


def test_calls_are_gathered_and_written_by_another_thread(threads: Threads) -> None:
    threads.add("a", "b")
    assert not threads.operations
    assert threads.pass_time() == [WAIT_SECONDS]
    assert not threads.path.exists()
    assert threads.carry_out() == 1
    assert threads.written() == ["a", "b"]
    threads.add("c")
    assert threads.pass_time() == [WAIT_SECONDS]
    threads.carry_out()
    assert threads.written() == ["a", "b", "c"]


@pytest.mark.parametrize("failure", [ImportError("no _sqlite3"), OSError(24, "Too many open files")])
def test_calls_are_written_once_the_database_can_be_loaded(
    threads: Threads, failure: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(MetaPathFinder):
        def find_spec(self, fullname: str, _path: object, _target: object = None) -> None:
            if fullname == "search_mcp.usage.store":
                raise failure

    threads.queue._store = None
    with monkeypatch.context() as patches:
        patches.delitem(sys.modules, "search_mcp.usage.store")
        patches.setattr(sys, "meta_path", [Failing(), *sys.meta_path])
        for name in "ab":
            threads.add(name)
            threads.pass_time()
            threads.carry_out()
    assert [record.getMessage() for record in caplog.records] == [f"! calls are not recorded: {failure}"]
    threads.add("c")
    threads.pass_time()
    threads.carry_out()
    assert threads.written() == ["c"]


def test_many_calls_are_written_at_once_and_queued_once(threads: Threads) -> None:
    threads.add(*map(str, range(3 * MANY)))
    assert threads.carry_out() == 1
    assert len(threads.written()) == 3 * MANY
    threads.pass_time()
    assert threads.carry_out() == 0


def test_calls_are_written_at_once_while_a_page_shows_them(threads: Threads) -> None:
    threads.queue.hasten()
    assert threads.carry_out() == 0
    threads.add("a")
    threads.queue.hasten()
    threads.queue.hasten()
    assert threads.carry_out() == 1
    assert threads.written() == ["a"]


def test_calls_whose_writing_was_dropped_are_written_later(tmp_path: Path) -> None:
    offered: list[Callable[[], None]] = []
    due: list[Callable[[], None]] = []

    def run(operation: Callable[[], None]) -> bool:
        offered.append(operation)
        return len(offered) > 1

    def later(_seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        due.append(act)
        return lambda: None

    log = UsageQueue(tmp_path / "calls.sqlite3", run, later)
    for _ in range(2):
        log.add(ended("echo"))
        due.pop()()
    assert len(offered) == 2


def test_calls_do_not_wait_without_bound_for_a_file_system_that_does_not_answer(threads: Threads) -> None:
    threads.add(*map(str, range(MOST_WAITING + 10)))
    threads.pass_time()
    assert threads.carry_out() == 1
    assert threads.written() == [*map(str, range(10, MOST_WAITING + 10))]


def test_calls_wait_in_order_while_the_file_is_locked(threads: Threads) -> None:
    threads.add("a")
    threads.pass_time()
    threads.carry_out()
    with closing(sqlite3.connect(threads.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        threads.add("b", "c")
        threads.pass_time()
        threads.carry_out()
        threads.add("d")
        assert threads.pass_time() == [RETRY_SECONDS]
        other.execute("ROLLBACK")
    threads.carry_out()
    assert threads.written() == ["a", "b", "c", "d"]


def test_the_last_calls_are_written_at_the_end(threads: Threads) -> None:
    threads.add("a")
    threads.queue.flush()
    threads.carry_out()
    assert threads.written() == ["a"]
    threads.queue.flush()
    assert threads.carry_out() == 0


def test_large_results_do_not_wait_in_memory(threads: Threads) -> None:
    large = Result(Raw(b'"%b"' % bytes(MOST_HELD_BYTES // 3).replace(b"\0", b"x")))
    references = sys.getrefcount(large)
    threads.queue.add(ended("a", large))
    assert threads.operations == []
    threads.queue.add(ended("b", large))
    assert len(threads.operations) == 1
    threads.queue.add(ended("c", large))
    assert sys.getrefcount(large) == references + 2, "it was measured at once"
    assert threads.carry_out() == 1
    assert sys.getrefcount(large) == references
    assert threads.written() == ["a", "b", "c"]


def test_a_bug_in_the_measuring_of_a_call_costs_no_other_one(
    threads: Threads, caplog: pytest.LogCaptureFixture
) -> None:
    threads.add("a")
    threads.queue.add(ended("b", arguments=cast(Raw, "not bytes")))
    threads.add("c")
    threads.pass_time()
    threads.carry_out()
    assert threads.written() == ["a", "c"]
    assert [record.getMessage() for record in caplog.records] == ["! bug while a call was recorded"]
