"""File operations in a thread: ordered, bounded, and not waited for."""

import asyncio
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from search_mcp import background
from search_mcp.backends.process.stderr_log import UNWRITTEN_BYTES, StderrLog
from search_mcp.background import FileQueue, in_own_thread, run_now


def test_operations_run_in_order_and_the_exit_waits_for_them() -> None:
    done: list[int] = []
    later = FileQueue()
    for number in range(100):
        later(lambda number=number: done.append(number))  # type: ignore[misc]  # the default binds it
    later.finish()
    assert done == list(range(100))


def test_a_bug_in_one_operation_does_not_stop_the_next(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []
    later = FileQueue()
    later(lambda: done.remove(7))
    later(lambda: done.append(1))
    later.finish()
    assert done == [1]
    assert "bug" in caplog.text


def test_the_wait_for_an_operation_that_does_not_end_is_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "LAST_SECONDS", 0.01)
    monkeypatch.setattr(background, "MOST_WAITING", 3)
    release = threading.Event()
    done: list[int] = []
    later = FileQueue()
    later(lambda: _wait(release))
    for number in range(9):
        later(lambda number=number: done.append(number))  # type: ignore[misc]
    later.finish()
    assert done == []
    assert caplog.text.count("does not answer") == 1
    release.set()
    monkeypatch.setattr(background, "LAST_SECONDS", 60)
    later.finish()
    assert 0 < len(done) <= 4


def _wait(release: threading.Event) -> None:
    release.wait(60)


def test_an_operation_is_forgotten_as_soon_as_it_is_done() -> None:
    class Operation:
        def __call__(self) -> None:
            """Stand for one that refers to a large result."""

    operation, is_gone = Operation(), threading.Event()
    weakref.finalize(operation, is_gone.set)
    FileQueue()(operation)
    del operation
    assert is_gone.wait(5)


async def test_a_thread_that_is_made_for_some_work_ends_with_it() -> None:
    working: asyncio.Future[threading.Thread] = asyncio.get_running_loop().create_future()
    in_own_thread(threading.current_thread, working.set_result)
    thread = await working
    thread.join(5)
    assert not thread.is_alive()


def test_a_log_on_a_slow_file_system_leaves_a_part_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    waiting: list[Callable[[], None]] = []
    journal = StderrLog(tmp_path / "a.log", later=waiting.append)
    line = b"x" * 65_000 + b"\n"
    for _ in range(2 * UNWRITTEN_BYTES // len(line)):
        journal.write(line)
    assert len(waiting) <= UNWRITTEN_BYTES // len(line) + 1
    assert caplog.text.count("a part is left out") == 1
    for errand in waiting:
        errand()
    journal.write(b"again\n")
    waiting[-1]()
    assert (tmp_path / "a.log").read_bytes().endswith(b"again\n")


def test_a_log_goes_on_after_its_operations_were_dropped(tmp_path: Path) -> None:
    waiting: list[Callable[[], None]] = []
    is_full = True

    def later(operation: Callable[[], None]) -> bool:
        if not is_full:
            waiting.append(operation)
        return not is_full

    journal = StderrLog(tmp_path / "a.log", later=later)
    line = b"x" * 60_000 + b"\n"
    for _ in range(2 * UNWRITTEN_BYTES // len(line)):
        journal.write(line)
    is_full = False
    journal.write(b"again\n")
    waiting.pop()()
    assert (tmp_path / "a.log").read_bytes().endswith(b"again\n")


def test_a_command_runs_its_operations_at_once() -> None:
    done: list[int] = []
    run_now(lambda: done.append(1))
    assert done == [1]
