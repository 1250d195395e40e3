"""Benchmark client: raw pipes, requests prepared in advance, answers checked after the clock has stopped.

One thread blocks in `read`, which keeps the client's share of the measured time small. A watchdog kills a process
that does not answer.
"""

import contextlib
import json
import os
import re
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

CHUNK = 1 << 20
ID = re.compile(rb'"id": ?(\d+)')
HELLO = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}}\n'
)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


class WrongAnswerError(Exception):
    """A subject gave a wrong answer."""


class EndedError(Exception):
    """A subject exited before it answered."""


class OverdueError(Exception):
    """A subject did not answer in time."""


class Pipe:
    """A process with its stdin and stdout."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], place: Path) -> None:
        self._errors = place / "stderr"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                env=dict(environment),
                cwd=place,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._parts: list[bytes] = []  # chunks of an incomplete line
        self._lines: deque[bytes] = deque()
        self._overdue = False
        self._drain = threading.Thread(target=self._read_to_the_end, daemon=True)

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        """Return the descriptor of its stdout, for a selector."""
        return self._out.fileno()

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._in.fileno(), view) :]

    def line(self) -> bytes:
        """Return the next answer; skip requests and notifications.

        Raises:
            EndedError: the process closed its stdout.
            OverdueError: the watchdog killed the process.
        """
        while True:
            while not self._lines:
                self._read()
            line = self._lines.popleft()
            if _is_answer(line):
                return line

    def lines(self) -> list[bytes]:
        """Wait for answers; return all that have arrived."""
        lines = [self.line()]
        lines += filter(_is_answer, self._lines)
        self._lines.clear()
        return lines

    def _read(self) -> None:
        chunk = os.read(self._out.fileno(), CHUNK)
        if not chunk:
            if self._overdue:
                raise OverdueError("it did not answer in time")
            raise EndedError(f"it ended; end of its stderr: {self._errors.read_text('utf-8', 'replace')[-2000:]}")
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join((*self._parts, whole[0]))
            self._parts.clear()
            self._lines.extend(whole)
        self._parts.append(rest)

    def close(self) -> None:
        """Close stdin, which asks the process to exit; read and drop its remaining output, as clients do."""
        self._in.close()
        self._drain.start()

    def _read_to_the_end(self) -> None:
        while os.read(self._out.fileno(), CHUNK):
            pass

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def give_up(self) -> None:
        """Kill the process because of the time limit; `line` and `lines` then raise OverdueError."""
        self._overdue = True
        self._process.kill()

    def release(self) -> None:
        """Close the pipes and reap the process after it exited or was killed."""
        self._process.wait()
        if self._drain.is_alive():
            self._drain.join()
        self._out.close()


def _is_answer(line: bytes) -> bool:
    # Notifications and requests have a `method` near the beginning, in any order of the keys.
    return b'"method"' not in line[:100]


@contextlib.contextmanager
def patience(pipes: Sequence[Pipe], seconds: float) -> Iterator[None]:
    """Give up on the pipes if the body takes longer than `seconds`."""

    def give_up() -> None:
        for pipe in pipes:
            pipe.give_up()

    watchdog = threading.Timer(seconds, give_up)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def request(message_id: int, method: str, params: Mapping[str, object] | None = None) -> bytes:
    body: dict[str, object] = {"jsonrpc": "2.0", "id": message_id, "method": method}
    if params is not None:
        body["params"] = params
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def text_of(message_id: int) -> str:
    """Return the text that the call with this id echoes; it is unique for each id."""
    return f"hello, this is call number {message_id} – and it is of an ordinary length"


def id_of(line: bytes) -> int:
    found = ID.search(line[:100]) or ID.search(line[-100:])
    if found is None:
        raise WrongAnswerError(f"an answer without an id: {line[:200]!r}")
    return int(found[1])


def result_of(line: bytes) -> dict[str, object]:
    message = json.loads(line)
    if "result" not in message:
        raise WrongAnswerError(f"an error: {line[:500]!r}")
    result: dict[str, object] = message["result"]
    return result


def result_within(line: bytes) -> dict[str, object]:
    """Return the result that is encoded as JSON in the text of another result."""
    match result_of(line):
        case {"content": [{"type": "text", "text": str(text)}]}:
            with contextlib.suppress(ValueError):
                if isinstance(result := json.loads(text), dict):
                    return result
    raise WrongAnswerError(f"no result within the result: {line[:500]!r}")


Read = Callable[[bytes], Mapping[str, object]]
"""Function that extracts a tool's result from an answer: `result_of` or `result_within`."""


def check_text(line: bytes, text: str, read: Read) -> None:
    """Raise unless the answer is a result with exactly this text."""
    content = read(line).get("content")
    if content != [{"type": "text", "text": text}]:
        raise WrongAnswerError(f"expected {text[:80]!r}, got {line[:500]!r}")


def check_ids(lines: Sequence[bytes], ids: Sequence[int]) -> None:
    """Raise unless each call was answered exactly once."""
    if sorted(map(id_of, lines)) != sorted(ids):
        raise WrongAnswerError(f"{len(lines)} answers to {len(ids)} calls, or not to these")


def check_echoes(lines: Sequence[bytes], ids: Sequence[int], read: Read) -> None:
    """Raise unless each call was answered exactly once and with its own text."""
    check_ids(lines, ids)
    for line in lines:
        check_text(line, text_of(id_of(line)), read)
