"""The process that makes vectors (`semantic/worker`): its start, its pipes, and how it ended."""

import contextlib
import logging
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO

from search_mcp.wire import payload

log = logging.getLogger(__name__)

LONGEST_LINE = 16 << 20
"""Most bytes of a line that the process writes: enough for the similarities of three million texts."""


class VectorProcess:
    """One process; its pipes are read and written by threads, because a large catalogue is more than a pipe holds."""

    def __init__(self, command: Sequence[str], on_line: "Callable[[VectorProcess, bytes], None]") -> None:
        """Start it; `on_line` is called by a thread, with an empty line when the process has ended.

        Raises:
            OSError: it cannot be started.
        """
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr_tail = ""
        threading.Thread(target=self._read, args=(on_line,), name="meanings reader", daemon=True).start()
        threading.Thread(target=self._write, name="meanings writer", daemon=True).start()

    def send(self, line: object) -> None:
        self._lines.put(payload.encode_bytes(line) + b"\n")

    def end(self) -> None:
        """Close the stdin of the process, so that it ends; one that is suspended (SIGSTOP) is resumed for that."""
        self._lines.put(None)
        if sys.platform != "win32":
            self._process.send_signal(signal.SIGCONT)

    def wait(self) -> None:
        """Wait until it has ended."""
        self._process.wait()

    @property
    def has_failed(self) -> bool:
        """Whether it has ended with an error."""
        return bool(self._process.returncode)

    @property
    def how_it_ended(self) -> str:
        words = f" ({self._stderr_tail})" if self._stderr_tail else ""
        return f"its process ended with {self._process.returncode}{words}"

    def _write(self) -> None:
        pipe = _pipe(self._process.stdin)
        with contextlib.suppress(OSError), pipe:  # the process has ended; the reader notices it
            while (line := self._lines.get()) is not None:
                pipe.write(line)
                pipe.flush()

    def _read(self, on_line: "Callable[[VectorProcess, bytes], None]") -> None:
        errors = threading.Thread(target=self._read_errors, name="meanings stderr", daemon=True)
        errors.start()
        with _pipe(self._process.stdout) as pipe:
            for line in iter(partial(pipe.readline, LONGEST_LINE), b""):
                on_line(self, line)
        errors.join()
        self._process.wait()
        on_line(self, b"")
        self.end()  # the writer

    def _read_errors(self) -> None:
        with _pipe(self._process.stderr) as pipe:
            for line in iter(partial(pipe.readline, LONGEST_LINE), b""):
                if text := line.decode(errors="replace").strip():
                    self._stderr_tail = text[:500]
                    log.debug("= search by meaning: %s", self._stderr_tail)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise TypeError("the process was started without pipes")
    return pipe
