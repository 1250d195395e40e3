"""A queue of file operations, carried out in order by one daemon thread.

A disk, a network folder or a scanner may take seconds for a file, and the event loop has none. The order stays.
Loaded at the start, so the thread begins with the first errand.
"""

import logging
import queue
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

LAST_SECONDS = 0.3
"""How long the end waits for what is left to be done: a client may kill us half a second after it closed our stdin."""
MOST_WAITING = 10_000
"""FileQueue that may wait for a file system that does not answer; what comes then is not done."""


class FileQueue:
    """A queue and the thread that works on it; it dies with the process."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def __call__(self, errand: Callable[[], None]) -> None:
        """Do this later, after all that was handed over before."""
        if self._waiting.qsize() >= MOST_WAITING:
            log.warning("! the file system does not answer: state is not saved")
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="files", daemon=True)
            self._thread.start()
        self._waiting.put(errand)

    def finish(self) -> None:
        """Wait until all is done that was handed over, but not for long."""
        if self._thread is not None:
            done = threading.Event()
            self._waiting.put(done.set)
            done.wait(LAST_SECONDS)

    def _run(self) -> None:
        while True:
            errand = self._waiting.get()
            try:
                errand()
            except Exception:  # a bug in one must not keep the others from being done
                log.exception("! bug in what is done in a thread")


def at_once(errand: Callable[[], None]) -> None:
    """Do it now, in the place of `FileQueue`: for commands, which wait for files anyway."""
    errand()
