"""A run of `search-mcp serve` from the view of a client: lines in, lines out, stderr and exit.

Every wait is for a line, for an end of file or for the exit of a process, never for a fixed time; the deadline is
reached only on failure. Every line on stdout goes through a WireLog.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import IO, Any, Protocol, Self
from uuid import uuid4

from real.processes import VARIABLE, living, wait_until_gone
from wire_log import WireLog

SECONDS = 120.0
"""Time limit for an expected event, in seconds."""
SERVERS = Path(__file__).parent.parent / "servers"
REVISION = "2025-11-25"

Json = dict[str, Any]


def server(name: str, *arguments: str, **more: Any) -> Json:
    """Return a configuration entry for one of tests/servers."""
    return {"command": sys.executable, "args": [str(SERVERS / f"{name}.py"), *arguments], **more}


class Log(Protocol):
    """Judge of both directions of a conversation."""

    def sent(self, line: bytes) -> None: ...
    def received(self, line: bytes) -> None: ...
    def waiting(self) -> Sequence[object]:
        """Return the requests without an answer."""
        ...


class Run:
    """A running `search-mcp serve`; leaving the `with` stops it and fails if a process of it is left."""

    def __init__(
        self, folder: Path, config: Path, environment: dict[str, str] | None = None, options: Sequence[str] = ()
    ) -> None:
        self.mark = uuid4().hex
        self.folder = folder
        self.log: Log = WireLog(REVISION)
        self.stderr = b""
        self.others: list[Json] = []  # messages that are no answers, in order
        self.config = config
        self._options = options
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ},
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
            VARIABLE: self.mark,
            **(environment or {}),
        }
        self._lines: Queue[bytes | None] = Queue()
        self._heard = threading.Condition()
        self._reads = threading.Event()
        self._reads.set()
        self._hangs_up = False
        self._ids = 0
        self._silent = False  # its stdout has reached EOF

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "search_mcp", "serve", *self.names_file(), *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read_lines, args=(self.process.stdout,), daemon=True),
            threading.Thread(target=self._read_stderr, args=(self.process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.reads_on()
        self.close_stdin()
        try:
            if kind is None:
                self.ended()
        finally:
            self.process.kill()
            self.process.wait()
            for pid in living(self.mark) if kind is not None else ():
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            for reader in self._readers:
                reader.join(SECONDS)
            print(self.stderr.decode(errors="replace")[-20_000:], file=sys.stderr)

    def names_file(self) -> Sequence[str]:
        """Return the options that select the configuration."""
        return "--config", str(self.config)

    def types(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the same folder, as the same user."""
        command = [sys.executable, "-m", "search_mcp", *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, env=self.environment, cwd=self.folder
        )

    # The client

    def opens(self) -> Json:
        """Initialize as a legacy client; return the answer."""
        info = {"name": "a client", "version": "1"}
        opening = self.asks("initialize", protocolVersion=REVISION, capabilities={}, clientInfo=info)
        self.says({"method": "notifications/initialized"})
        return opening

    def asks(self, method: str, **params: Any) -> Json:
        """Send a request and return its result."""
        answer = self.answer(self.sends(method, **params))
        assert "result" in answer, f"expected a result, got an error: {answer}"
        result: Json = answer["result"]
        return result

    def calls(self, name: str, **arguments: Any) -> str:
        """Call a tool and return the text of its result."""
        words: str = self.asks("tools/call", name=name, arguments=arguments)["content"][0]["text"]
        return words

    def is_refused(self, name: str, **arguments: Any) -> Json:
        """Call a tool and return the error."""
        answer = self.answer(self.sends("tools/call", name=name, arguments=arguments))
        assert "error" in answer, f"expected an error, got a result: {answer}"
        error: Json = answer["error"]
        return error

    def sends(self, method: str, **params: Any) -> int:
        """Send a request; return its id."""
        self._ids += 1
        self.says({"id": self._ids, "method": method, "params": params})
        return self._ids

    def cancels(self, identifier: int) -> None:
        """Cancel a request without an answer."""
        self.says({"method": "notifications/cancelled", "params": {"requestId": identifier}})

    def says(self, message: Json) -> None:
        self.writes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def writes(self, data: bytes) -> None:
        """Write bytes to stdin."""
        for line in data.splitlines():
            self.log.sent(line)
        self._put(data)

    def _put(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def stops_reading(self) -> None:
        """Stop reading stdout, except for data that is already being read."""
        self._reads.clear()

    def reads_on(self) -> None:
        self._reads.set()

    def hangs_up(self) -> None:
        """Close the reading end of stdout, and no other stream."""
        self._hangs_up = True
        self.sends("ping")  # its answer, or another message, is the last one read
        self._readers[0].join(SECONDS)
        assert not self._readers[0].is_alive()

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has exited already
            self.process.stdin.close()

    def answer(self, identifier: int | str | None) -> Json:
        """Return the answer to a request, waiting for it if necessary; other messages go to `others`."""
        for message in self.others:
            if _answers(message, identifier):
                self.others.remove(message)
                return message
        while not _answers(message := self.next(), identifier):
            self.others.append(message)
        return message

    def next(self) -> Json:
        """Return the next message."""
        line = self._line()
        assert line is not None, f"it exited; stderr: {self.stderr.decode(errors='replace')}"
        message: Json = json.loads(line)
        return message

    def hears(self) -> None:
        """Read the messages that have arrived, without waiting."""
        while not self._lines.empty() and (line := self._line()) is not None:
            self.others.append(json.loads(line))

    def _line(self) -> bytes | None:
        if self._silent:
            return None
        try:
            line = self._lines.get(timeout=SECONDS)
        except Empty:
            raise AssertionError(f"silent for {SECONDS} s; waiting for {self.log.waiting()}") from None
        if line is None:
            self._silent = True
        else:
            self.log.received(line)
        return line

    def logs(self, words: str) -> None:
        """Wait until stderr contains these words."""
        with self._heard:
            assert self._heard.wait_for(lambda: words.encode() in self.stderr, SECONDS), f"not in stderr: {words!r}"

    def waits_until(self, what: Callable[[], bool]) -> None:
        """Poll until a condition is true for which there is no event."""
        deadline = time.monotonic() + SECONDS
        while not what():
            assert time.monotonic() < deadline, "the condition did not become true"
            time.sleep(0.01)

    def states(self) -> dict[str, str]:
        """Return the state of every server, by name."""
        return {each["name"]: each["state"] for each in self.servers()}

    def servers(self) -> list[Json]:
        servers: list[Json] = self.asks("tools/call", name="list_servers")["structuredContent"]["servers"]
        return servers

    def peak(self) -> int:
        """Return the peak of resident memory, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))

    # The exit

    def ended(self) -> int:
        """Wait for the exit; return the exit code. Fail if a process of the run is left."""
        while self._line() is not None:
            pass
        code = self.process.wait(SECONDS)
        left = wait_until_gone(self.mark)
        assert not left, f"processes left: {left}"
        return code

    def _read_lines(self, stdout: IO[bytes]) -> None:
        with stdout:
            for line in stdout:
                self._lines.put(line)
                self._reads.wait()
                if self._hangs_up:
                    break
        self._lines.put(None)

    def _read_stderr(self, stderr: IO[bytes]) -> None:
        with stderr:
            for line in stderr:
                with self._heard:
                    self.stderr += line
                    self._heard.notify_all()


def _answers(message: Json, identifier: int | str | None) -> bool:
    return "method" not in message and message.get("id") == identifier
