"""The process that counts the tokens of results, as the process that serves sees it.

tiktoken and its encoding take more memory than everything else in a process that serves, and the counting takes
processor time. So they have a process of low priority, which is ended after a minute without work. Decides when it is
started and ended, and what a failure of it costs: the counts of some minutes, and one warning.
"""

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from search_mcp.backends.process.launching import background_options
from search_mcp.gateway.token_counting import CACHE_VARIABLE, ENCODING_FILE, SECONDS, cache_of_encodings

log = logging.getLogger(__name__)

PROGRAM = (sys.executable, "-P", "-m", "search_mcp.gateway.token_counting")
LAST_SECONDS = 0.1
"""Time limit at the end of the process that serves, which waits 0.3 s for its files."""
IDLE_SECONDS = 60.0
RETRY_SECONDS = 600.0
"""Time without counts after a failure."""
END_SECONDS = 1.0
"""Time that a process has for its end, once its stdin is closed or it was killed."""


class TokenCounter:
    """The process that counts, started when there is work. Every method may be called in any thread."""

    def __init__(
        self,
        folder: Path,
        program: Sequence[str] = PROGRAM,
        *,
        seconds: float = SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`folder` is that of tiktoken's encodings."""
        self._folder, self._program, self._clock = folder, program, clock
        self._seconds, self._idle_seconds = seconds, idle_seconds
        self._lock = threading.Lock()  # held by the thread that uses the process
        self._process: subprocess.Popen[bytes] | None = None
        self._idle: threading.Timer | None = None
        self._is_ending = self._has_warned = False
        self._failed_at = -float("inf")

    def is_available(self) -> bool:
        """Return whether tokens can be counted now: tiktoken is installed, and its encoding is on the disk."""
        if self._is_ending or self._clock() - self._failed_at < RETRY_SECONDS:
            return False
        return os.access(self._folder / ENCODING_FILE, os.R_OK) and find_spec("tiktoken") is not None

    def start(self) -> None:
        """Start the process, which will be needed soon; the encoding takes a while to load."""
        with self._in_use():
            self._ensure_process()

    def count(self, texts: Sequence[bytes]) -> Sequence[int | None]:
        """Return the number of tokens of each text, in UTF-8; `None` for each if they cannot be counted."""
        with self._in_use():
            process = self._ensure_process()
            if process is not None:
                seconds = LAST_SECONDS if self._is_ending else self._seconds
                is_late = threading.Event()
                limit = _after(seconds, lambda: _kill_late(process, is_late))
                try:
                    return _asked(process, texts)
                except (OSError, ValueError) as exc:
                    why = f"the count took more than {seconds:g} s" if is_late.is_set() else str(exc)
                    self._give_up(f"tokens of results are not counted: {why}")
                finally:
                    limit.cancel()
        return [None] * len(texts)

    def end_soon(self) -> None:
        """Have the process end in a tenth of a second, with the process that serves; a count may still finish."""
        self._is_ending = True
        if (process := self._process) is not None:
            _after(LAST_SECONDS, process.kill)

    def close(self) -> None:
        """End the process, and wait for its end."""
        with self._lock:
            self._end()

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[None]:
        """Use the process; it ends after some time without another use."""
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            try:
                yield
            finally:
                self._idle = _after(self._idle_seconds, self.close) if self._process is not None else None

    def _ensure_process(self) -> "subprocess.Popen[bytes] | None":
        """Return the process; `None` if it cannot be started or should not be."""
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None and self.is_available():
            try:
                self._process = subprocess.Popen(
                    self._program,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, CACHE_VARIABLE: str(self._folder)},
                    **background_options(sys.platform),
                )
            except OSError as exc:
                self._give_up(f"tokens of results are not counted: {exc}")
        return self._process

    def _give_up(self, text: str) -> None:
        """Count nothing for some time."""
        if not self._is_ending:
            log.log(logging.DEBUG if self._has_warned else logging.WARNING, "! %s", text)
            self._has_warned = True
        self._failed_at = self._clock()
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # text that was not written yet is dropped
                stream.close()  # type: ignore[union-attr]  # they are pipes
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # the system does not end it now
                process.wait(END_SECONDS)


def counter_of_encodings() -> TokenCounter | None:
    """Make a counter for the encoding that `search-mcp tokens` stores; `None` if none is stored."""
    folder = cache_of_encodings()
    return TokenCounter(folder) if folder is not None else None


def _after(seconds: float, act: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    return timer


def _kill_late(process: "subprocess.Popen[bytes]", is_late: threading.Event) -> None:
    is_late.set()
    process.kill()


def _asked(process: "subprocess.Popen[bytes]", texts: Sequence[bytes]) -> list[int]:
    """Have a process count the tokens of some texts.

    Raises:
        OSError: it has ended.
        ValueError: it gives no answer, or a wrong one.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b" ".join(b"%d" % len(text) for text in texts) + b"\n")
    for text in texts:
        process.stdin.write(text)
    process.stdin.flush()
    most_bytes = sum(len(str(len(text))) + 1 for text in texts) + 1
    line = process.stdout.readline(most_bytes)
    if not line:
        raise ValueError("the process that counts them has ended")
    found = [int(each) if each.isdigit() else -1 for each in line.split()]
    if len(found) != len(texts) or not all(0 <= each <= len(text) for each, text in zip(found, texts, strict=True)):
        raise ValueError("the process that counts them gives a wrong answer")
    return found
