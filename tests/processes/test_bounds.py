"""A server sends far too much wherever it may send something: neither memory nor files nor the log grow with it.

The steps of the event loop are measured in tests/loop_steps.
"""

import contextlib
import json
import threading
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from processes.conftest import Serve
from processes.run import REVISION, Run, server
from processes.test_floods import GOOD, MB, takes_at_most


class Bounds(NamedTuple):
    """How much of what a server sends may be taken, in megabytes."""

    memory: int = 64
    files: int = 4


LISTS: Mapping[str, Bounds] = {
    # What tests/servers/lists_without_end.py lists, as long as it is asked for more.
    "cursors": Bounds(),
    "short cursors": Bounds(),
    "padded pages": Bounds(),
    # 16 MiB are taken, kept in the cache and in the record of definitions, and indexed.
    "definitions": Bounds(memory=300, files=64),
    "small definitions": Bounds(memory=100),
    "large definitions": Bounds(),
    "names": Bounds(memory=100),
    "wide definitions": Bounds(memory=200, files=10),
    "very wide definitions": Bounds(memory=100),
}
PLACES: Mapping[str, tuple[int, int, Bounds]] = {
    # Where tests/servers/sends_too_much.py sends: how often it is called, the megabytes of each flood.
    "instructions": (1, 0, Bounds(memory=100)),
    "a padded opening": (1, 0, Bounds(memory=100)),
    "early notifications": (1, 0, Bounds()),
    "a line": (1, 1024, Bounds(memory=100)),
    "noise": (1, 1, Bounds()),
    "long noise": (1, 1024, Bounds()),
    "malformed notifications": (1, 4, Bounds()),
    "large notifications": (1, 256, Bounds()),
    "batches": (1, 256, Bounds()),
    "answers": (1, 1024, Bounds()),
    "questions": (1, 256, Bounds()),
    "stderr": (1, 256, Bounds()),
    "a line of stderr": (1, 1024, Bounds()),
    "results": (32, 0, Bounds()),
    "errors": (16, 0, Bounds(memory=200)),
    "errors of lists": (8, 0, Bounds(memory=200)),
    "errors of openings": (1, 0, Bounds(memory=200)),
}
RARE = {
    *("small definitions", "names", "wide definitions", "very wide definitions", "noise", "long noise", "answers"),
    *("stderr", "a line of stderr", "malformed notifications", "errors", "events"),
}
"""What is tried with `-m figures` only."""
LOGGED = MB // 4
"""Most bytes of the log, and of an answer of search-mcp's own tools."""


def calls_beside(run: Run, call: int) -> None:
    """Call the good server until a call of the bad one is answered."""
    number = 0
    while not any(message.get("id") == call for message in run.others):
        number += 1
        assert run.calls("good.echo", words=str(number)) == str(number)
    run.answer(call)


def size_of_files(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def marked(names: Iterable[str]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.figures if name in RARE else ()) for name in names]


def takes_little(run: Run, bounds: Bounds, calls: int = 0, flood: int = 0) -> None:
    run.opens()
    with takes_at_most(run, bounds.memory * MB):
        for method in ("tools/list", "prompts/list", "resources/list"):
            run.asks(method)
        for _ in range(calls):
            calls_beside(run, run.sends("tools/call", name="bad.flood", arguments={"size": flood * MB}))
        assert run.calls("good.echo", words="x") == "x"
        run.calls("search_tools", query="a thing")
        assert len(run.calls("list_servers")) < LOGGED
    assert len(run.stderr) < LOGGED
    assert size_of_files(run.folder) < bounds.files * MB


@pytest.mark.parametrize("pages", marked(LISTS))
def test_lists_without_an_end_take_little(serve: Serve, pages: str) -> None:
    with serve({"bad": server("lists_without_end", pages), "good": GOOD}) as run:
        takes_little(run, LISTS[pages])


@pytest.mark.parametrize("place", marked(PLACES))
def test_what_a_server_sends_takes_little(serve: Serve, place: str) -> None:
    calls, flood, bounds = PLACES[place]
    with serve({"bad": server("sends_too_much", place), "good": GOOD}) as run:
        takes_little(run, bounds, calls, flood)


# Over HTTP

BODIES: Mapping[str, tuple[str, bytes, bytes, int]] = {
    # the type of an answer, how it begins, what follows, and how many megabytes of that
    "a value": ("application/json", b'"', b"x" * MB, 1024),
    "a line": ("text/event-stream", b"data: ", b"x" * MB, 512),
    "lines of an event": ("text/event-stream", b"", b"data: x\n" * 10_000, 8),
    "comments": ("text/event-stream", b"", b":\n" * 50_000, 8),
    "events": ("text/event-stream", b"", b"data: {}\n\n" * 10_000, 8),
    "an error": ("text/plain", b"", b"x" * MB, 1024),
}


class Endless(ThreadingHTTPServer):
    """A server whose answer to a call has one of these bodies, as far as it is read."""

    def __init__(self, body: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.body = BODIES[body]
        self.is_over = threading.Event()


class _Answer(BaseHTTPRequestHandler):
    server: Endless

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, number = message.get("method"), message.get("id")
        if method == "tools/call":
            self._answer_call()
        elif method in ("initialize", "tools/list"):
            tools = [{"name": "flood", "inputSchema": {"type": "object"}}]
            info = {"name": "bad", "version": "1"}
            opened = {"protocolVersion": REVISION, "capabilities": {"tools": {}}, "serverInfo": info, "tools": tools}
            self._begin(200, "application/json")
            self.wfile.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": opened}).encode())
        else:
            self._begin(400 if number else 202, "text/plain")

    def do_GET(self) -> None:
        self._begin(405, "text/plain")

    def _begin(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def _answer_call(self) -> None:
        kind, start, piece, size = self.server.body
        self._begin(500 if kind == "text/plain" else 200, kind)
        with contextlib.suppress(OSError):  # it is not read any more
            self.wfile.write(start)
            for _ in range(size * MB // len(piece)):
                self.wfile.write(piece)
        self.server.is_over.set()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the standard library
        """Log nothing."""


@pytest.mark.parametrize("body", marked(BODIES))
def test_what_a_remote_server_sends_takes_little(serve: Serve, body: str) -> None:
    with Endless(body) as endless:
        threading.Thread(target=endless.serve_forever, daemon=True).start()
        with serve({"bad": {"url": f"http://127.0.0.1:{endless.server_port}/"}, "good": GOOD}) as run:
            run.opens()
            run.asks("tools/list")
            with takes_at_most(run, 250 * MB):
                call = run.sends("tools/call", name="bad.flood", arguments={})
                while not endless.is_over.is_set():
                    assert run.calls("good.echo", words="x") == "x"
                assert "error" in run.answer(call)
        endless.shutdown()
    assert len(run.stderr) < LOGGED
