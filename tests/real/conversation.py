"""A conversation with a server, line by line and without any SDK: results are kept as bytes.

Every line goes through a WireLog, so that a server which breaks the protocol fails the test that talks to it.
A thread reads into a queue, because pipes on Windows cannot be waited for with a deadline.
"""

import json
import signal
import subprocess
import threading
from dataclasses import dataclass
from queue import Empty, Queue
from types import TracebackType
from typing import IO, Any, Self

import msgspec
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from wire_log import WireLog

SECONDS = 120  # for one answer; npm servers take about a second to start on two cores

INFO = {"name": "conversation", "version": "1.0.0"}


class Reply(msgspec.Struct):
    """A response, notification or request of a server; `result` has the bytes of the line."""

    id: int | str | None = None
    method: str | None = None
    params: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = None

    @property
    def value(self) -> Any:
        """Result, decoded; fails with the error if there is none."""
        assert isinstance(self.result, msgspec.Raw), f"expected a result, got an error: {self.error}"
        return json.loads(bytes(self.result))

    @property
    def payload(self) -> dict[str, bytes]:
        """Bytes of every member of the result, except those that each hop sets itself."""
        assert isinstance(self.result, msgspec.Raw), f"expected a result, got an error: {self.error}"
        members = msgspec.json.decode(self.result, type=dict[str, msgspec.Raw])
        own = {"resultType", "ttlMs", "cacheScope", "_meta"}
        return {name: bytes(raw) for name, raw in members.items() if name not in own}


@dataclass(frozen=True)
class Era:
    """Revision and capabilities of a client."""

    revision: str
    capabilities: dict[str, Any]

    def meta(self) -> dict[str, Any]:
        if self.revision not in MODERN_PROTOCOL_VERSIONS:
            return {}
        reserved = "io.modelcontextprotocol/"
        return {
            f"{reserved}protocolVersion": self.revision,
            f"{reserved}clientInfo": INFO,
            f"{reserved}clientCapabilities": self.capabilities,
        }


class Conversation:
    """A server process and its client; a context manager that ends with the process."""

    def __init__(self, command: list[str], era: Era, environment: dict[str, str]) -> None:
        self._command, self._era, self._environment = command, era, environment
        self._log = WireLog(era.revision)
        self._lines: Queue[bytes | None] = Queue()
        self._ids = 0
        self.others: list[Reply] = []  # notifications and requests of the server, in the order of their arrival

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._environment
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        try:
            self._open()
        except BaseException as exc:
            self.__exit__(type(exc), exc, exc.__traceback__)
            raise
        return self

    def _open(self) -> None:
        if not self._era.meta():
            params = {"protocolVersion": self._era.revision, "capabilities": self._era.capabilities}
            _ = self.ask("initialize", **params, clientInfo=INFO).value
            self.write({"method": "notifications/initialized"})

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        """Close the conversation; a server that keeps running is killed and fails the test."""
        assert self._process.stdout is not None
        try:
            self.leave()
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join(SECONDS)
        if kind is None:
            self._drain()

    def leave(self) -> int:
        """Close stdin, as a client does that leaves; return the exit code of the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(SECONDS)

    def ask(self, method: str, **params: Any) -> Reply:
        """Send a request and return its response; other messages go to `others`."""
        return self.answer_to(self.begin(method, **params))

    def begin(self, method: str, **params: Any) -> int:
        """Send a request; return its id."""
        self._ids += 1
        meta = {**self._era.meta(), **params.pop("_meta", {})}
        whole = {**params, **({"_meta": meta} if meta else {})}
        self.write({"id": self._ids, "method": method, "params": whole})
        return self._ids

    def answer_to(self, identifier: int) -> Reply:
        """Wait for the response to a request that was sent with `begin`."""
        while True:
            reply = self.next()
            if reply.method is None:
                assert reply.id == identifier, f"expected the response to {identifier}, got {reply}"
                return reply
            self.others.append(reply)

    def next(self) -> Reply:
        """Return the next message of the server."""
        try:
            line = self._lines.get(timeout=SECONDS)
        except Empty:
            raise AssertionError(f"silent for {SECONDS} s; waiting for: {self._log.waiting()}") from None
        assert line is not None, f"exited with code {self._process.wait(SECONDS)}; waiting: {self._log.waiting()}"
        self._log.received(line)
        return msgspec.json.decode(line, type=Reply)

    def write(self, message: dict[str, Any]) -> None:
        """Send any message."""
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"
        self._log.sent(line)
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def end(self, number: signal.Signals) -> None:
        """Send the server a signal and wait for its exit."""
        self._process.send_signal(number)
        self._process.wait(SECONDS)

    def _drain(self) -> None:
        """Judge the last lines of the server."""
        while (line := self._lines.get(timeout=SECONDS)) is not None:
            self._log.received(line)

    def _read(self, stdout: IO[bytes]) -> None:
        with stdout:
            for line in stdout:
                self._lines.put(line)
        self._lines.put(None)
