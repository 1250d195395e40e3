"""The client's side: raw pipes, bytes prepared beforehand, and every answer checked after the clock has stopped.

It is one thread that blocks in `read`, so that next to nothing of what is measured is its own. A watchdog ends a
process that does not answer.
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
    """A subject answered something else than it should have."""


class EndedError(Exception):
    """A subject ended where it should have answered."""


class OverdueError(Exception):
    """A subject did not answer in time."""


class Pipe:
    """A process and its stdin and stdout."""

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
        self._parts: list[bytes] = []  # of a line that is not whole yet
        self._lines: deque[bytes] = deque()
        self._overdue = False
        self._drain = threading.Thread(target=self._read_to_the_end, daemon=True)

    @property
    def pid(self) -> int:
        return self._process.pid

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._in.fileno(), view) :]

    def line(self) -> bytes:
        """Wait for the next answer, past whatever else is said.

        Raises:
            EndedError: there will be none.
            OverdueError: it was ended because there was none in time.
        """
        while True:
            while not self._lines:
                self._read()
            line = self._lines.popleft()
            if _is_answer(line):
                return line

    def lines(self) -> list[bytes]:
        """Wait for answers and return all that are there."""
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
        """Close its stdin, which tells it to end; what it still says is read and dropped, as clients do."""
        self._in.close()
        self._drain.start()

    def _read_to_the_end(self) -> None:
        while os.read(self._out.fileno(), CHUNK):
            pass

    def terminate(self) -> None:
        """Tell it to end by a signal."""
        self._process.terminate()

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def give_up(self) -> None:
        """End it, because it took too long; whoever reads from it is told."""
        self._overdue = True
        self._process.kill()

    def release(self) -> None:
        """Leave nothing behind of a process that was killed or ended."""
        self._process.wait()
        if self._drain.is_alive():
            self._drain.join()
        self._out.close()


def _is_answer(line: bytes) -> bool:
    # Notifications and requests say what they are early on, whatever order their keys are in.
    return b'"method"' not in line[:100]


@contextlib.contextmanager
def patience(pipes: Sequence[Pipe], seconds: float) -> Iterator[None]:
    """Give up if what is done within takes too long."""

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
    """Return what the call of this id says and is to hear: no two are alike."""
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
    """Return the result that is the text of another, as JSON."""
    match result_of(line):
        case {"content": [{"type": "text", "text": str(text)}]}:
            with contextlib.suppress(ValueError):
                if isinstance(result := json.loads(text), dict):
                    return result
    raise WrongAnswerError(f"no result within the result: {line[:500]!r}")


Read = Callable[[bytes], Mapping[str, object]]
"""What gets a tool's result out of an answer: `result_of` or `result_within`."""


def check_text(line: bytes, text: str, read: Read) -> None:
    """Raise unless this is a result of exactly this text."""
    content = read(line).get("content")
    if content != [{"type": "text", "text": text}]:
        raise WrongAnswerError(f"expected {text[:80]!r}, got {line[:500]!r}")


def check_ids(lines: Sequence[bytes], ids: Sequence[int]) -> None:
    """Raise unless each call got an answer, once."""
    if sorted(map(id_of, lines)) != sorted(ids):
        raise WrongAnswerError(f"{len(lines)} answers to {len(ids)} calls, or not to these")


def check_echoes(lines: Sequence[bytes], ids: Sequence[int], read: Read) -> None:
    """Raise unless each call got its own answer, once."""
    check_ids(lines, ids)
    for line in lines:
        check_text(line, text_of(id_of(line)), read)
