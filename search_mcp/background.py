"""File operations and other blocking work, done off the event loop.

A disk, a network folder or a virus scanner may take seconds for a file; the event loop must not wait for them.
"""

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

log = logging.getLogger(__name__)

LAST_SECONDS = 0.3
"""Time that the end waits for queued operations: a client may kill us half a second after it closed our stdin."""
MOST_WAITING = 10_000
"""Operations that may wait for a file system that does not answer; later ones are dropped."""

QueueOperation: TypeAlias = Callable[[Callable[[], None]], object]
"""Has a file operation carried out; returns false if it drops it."""

_Answer = TypeVar("_Answer")


class FileQueue:
    """A queue of file operations, carried out in order by one daemon thread, which starts with the first of them."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_full = False

    def __call__(self, operation: Callable[[], None]) -> bool:
        """Queue an operation; return false if it is dropped."""
        waiting = self._waiting.qsize()
        if waiting >= MOST_WAITING:
            if not self._is_full:
                log.warning("! the file system does not answer: state is not saved")
            self._is_full = True
            return False
        if waiting <= MOST_WAITING // 2:  # not before, so that a slow file system is not warned of all the time
            self._is_full = False
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="files", daemon=True)
            self._thread.start()
        self._waiting.put(operation)
        return True

    def finish(self) -> None:
        """Wait until all queued operations are done, for a short time."""
        if self._thread is not None:
            done = threading.Event()
            self._waiting.put(done.set)
            done.wait(LAST_SECONDS)

    def _run(self) -> None:
        while True:
            operation = self._waiting.get()
            try:
                operation()
            except Exception:  # a bug in one operation must not keep the others from being done
                log.exception("! bug in a file operation")
            del operation  # it may refer to a large result, and the next operation may come in an hour


def run_now(operation: Callable[[], None]) -> None:
    """Carry out an operation now; stands in for a `FileQueue` in commands, which wait for files anyway."""
    operation()


class Apart(Protocol):
    """Carries out blocking work off the event loop, and gives its outcome to the loop."""

    def __call__(self, act: Callable[[], _Answer], done: Callable[[_Answer], None], /) -> None: ...


def in_queue(queue: FileQueue) -> Apart:
    """Return a way to carry out work in the thread of a queue, in order."""

    def carry_out(act: Callable[[], _Answer], done: Callable[[_Answer], None], /) -> None:
        queue(_reporting(act, done))

    return carry_out


def in_own_thread(act: Callable[[], _Answer], done: Callable[[_Answer], None], /) -> None:
    """Carry out work in a daemon thread of its own, which ends with it."""
    threading.Thread(target=_reporting(act, done), name="blocking", daemon=True).start()


def _reporting(act: Callable[[], _Answer], done: Callable[[_Answer], None]) -> Callable[[], None]:
    """Return a function that carries out work in another thread, and gives its outcome to the loop of this one."""
    loop = asyncio.get_running_loop()

    def run() -> None:
        answer = act()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(done, answer)

    return run


def at_once(act: Callable[[], _Answer], done: Callable[[_Answer], None], /) -> None:
    """Carry out work now; stands in for the others where nothing else runs."""
    done(act())


class RunBlocking(Protocol):
    """Runs a function that may block, and returns its result."""

    def __call__(self, act: Callable[[], _Answer], /) -> Awaitable[_Answer]: ...


async def run_in_thread(act: Callable[[], _Answer], /) -> _Answer:
    """Run a function in a daemon thread; cancelled, leave the thread to its end.

    Unlike the worker threads of anyio, a daemon thread does not hold up the end of the process if a file never answers.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_Answer] = loop.create_future()

    def settle(how: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lambda: None if answer.done() else how())

    def run() -> None:
        try:
            found = act()
        except Exception as exc:  # raised where the result is awaited
            settle(partial(answer.set_exception, exc))
        else:
            settle(partial(answer.set_result, found))

    threading.Thread(target=run, name="blocking", daemon=True).start()
    return await answer


async def run_in_place(act: Callable[[], _Answer], /) -> _Answer:
    """Run a function in the event loop, where nothing else runs in it: in a command that only reads the cache."""
    return act()
