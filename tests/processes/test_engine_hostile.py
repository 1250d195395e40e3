"""Clients of an engine that flood it, do not read, send monsters, or come and go: the others get every answer.

The evidence is the order of events and their number: a server counts the calls that it gets from all clients.
"""

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from itertools import pairwise
from pathlib import Path

import pytest

from processes.run import SECONDS, Json, Run, server
from processes.shared import Home
from search_mcp.engine.joining import Piped, join
from search_mcp.engine.meeting import Meeting
from search_mcp.pool.turns import WINDOW

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shared engine needs POSIX")

MB = 1 << 20
SERVERS = {"counter": {**server("numbers_calls"), "share": True}}
FLOOD = 100_000
MOST_BETWEEN = 4_000
"""Calls of a flood between two answers to another client: 300 are usual, and 17,000 without turns."""
CALLS = 20
"""Calls of the client that behaves, one after the other."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home(tmp_path, SERVERS) as home:
        home.environment["PYTHONCOERCECLOCALE"] = (
            "0"  # Python would add a variable, and `Hostile` would share no server
        )
        yield home


class Hostile:
    """A client without a relay."""

    def __init__(self, home: Home) -> None:
        variables = home.client().environment
        first = {"config": str(home.config), "folder": str(home.folder), "variables": variables}
        (path,) = home.sockets()
        place = Meeting(str(path.parent), path.stem)
        joined = join(
            place,
            {"wants": "serve", "client": None, "log_level": None, "subset": None, **first},
            SECONDS,
        )
        assert isinstance(joined, Piped)
        self._lines, self._messages = BufferedReader(joined.incoming), joined.outgoing

    def opens(self) -> None:
        client = {"name": "hostile", "version": "1"}
        self.sends(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        assert self.answer()["id"] == 1

    def sends(self, number: int, method: str, **params: object) -> None:
        self.writes(_request(number, method, params))

    def writes(self, data: bytes) -> None:
        self._messages.write(data)

    def reads(self) -> bytes:
        return self._lines.read1(MB)

    def answer(self) -> Json:
        while True:
            message: Json = json.loads(self._lines.readline())
            if "method" not in message:
                return message

    def leaves(self) -> None:
        self._messages.close()  # first: a thread may be reading until the engine ends the answers
        self._lines.close()


def _request(number: int, method: str, params: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


@contextmanager
def _sending(hostile: Hostile, *parts: bytes) -> Iterator[None]:
    """Send these bytes meanwhile, as fast as the engine takes them; at the end, leave."""

    def send() -> None:
        try:
            for part in parts:
                hostile.writes(part)
        except OSError:
            pass  # it has left

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        hostile.leaves()
        thread.join(SECONDS)


def _counts(good: Run) -> list[int]:
    return [int(good.calls("counter.count")) for _ in range(CALLS)]


def _counts_in_a_flood(good: Run, made: int) -> list[int]:
    """Call until there are other calls than these and the `made` ones before, and then `CALLS` times."""
    counts = [made]

    def is_flooded() -> bool:
        counts.append(int(good.calls("counter.count")))
        return counts[-1] - counts[-2] > 1

    good.waits_until(is_flooded)
    return counts + _counts(good)


@contextmanager
def _reading(hostile: Hostile) -> Iterator[list[int]]:
    """Read everything that the client gets; give the number of lines, as it grows."""
    lines = [0]

    def read() -> None:
        try:
            while data := hostile.reads():
                lines[0] += data.count(b"\n")
        except (OSError, ValueError):
            pass  # it has left

    thread = threading.Thread(target=read)
    thread.start()
    yield lines
    thread.join(SECONDS)


@pytest.mark.parametrize("reads", [True, False], ids=["reading", "not reading"])
def test_a_client_that_sends_very_many_calls_delays_no_other(home: Home, reads: bool) -> None:
    """Each answer to the other client comes after few calls of the flood, and in the end the rest is not made."""
    with home.client() as good:
        good.opens()
        good.asks("tools/list")
        hostile = Hostile(home)
        hostile.opens()
        assert good.calls("counter.count") == "1"
        hostile.sends(2, "tools/call", name="counter.count", arguments={})
        assert hostile.answer()["result"]["content"][0]["text"] == "2", "they share the server"
        flood = b"".join(
            _request(number, "tools/call", {"name": "counter.count", "arguments": {}}) for number in range(3, FLOOD)
        )
        if reads:
            with _reading(hostile) as lines, _sending(hostile, flood):
                counts = _counts_in_a_flood(good, made=2)
            assert lines[0] > WINDOW, "its calls are answered, too"
        else:
            with _sending(hostile, flood):
                counts = _counts_in_a_flood(good, made=2)
        counts += _counts(good)  # the other calls of a client that left are not made
        assert max(later - earlier for earlier, later in pairwise(counts)) < MOST_BETWEEN
        assert counts[-1] < FLOOD / 2


def test_monstrous_lines_cost_their_own_client_an_error(home: Home) -> None:
    with home.client() as good:
        good.opens()
        good.asks("tools/list")
        deep, long = b"[" * MB, b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * (16 * MB) + b'"}'
        for monster in (deep, long, b"\xff" * (16 * MB)):
            hostile = Hostile(home)
            hostile.opens()
            with _sending(hostile, monster, b"\n" + _request(8, "ping", {})):
                _counts(good)
                assert "error" in hostile.answer()
                assert hostile.answer() == {"jsonrpc": "2.0", "id": 8, "result": {}}
        _counts(good)


def test_a_monstrous_first_line_costs_its_connection_only(home: Home) -> None:
    with home.client() as good:
        good.opens()
        good.asks("tools/list")
        (path,) = home.sockets()
        for monster in (b"[" * MB + b"\n", b'{"search-mcp":1,"wants":"serve"}\n', b"x" * (17 * MB)):
            made = socket.socket(socket.AF_UNIX)
            made.settimeout(SECONDS)
            made.connect(str(path))
            try:
                made.sendall(monster)
                while made.recv(MB):
                    pass
            except ConnectionError:
                pass  # it was closed before the end
            made.close()
            _counts(good)


@pytest.mark.parametrize("sessions", [20, pytest.param(1000, marks=pytest.mark.figures)])
def test_sessions_that_come_and_go_leave_nothing(home: Home, sessions: int) -> None:
    with home.client() as good:
        good.opens()
        good.asks("tools/list")
        pid = home.engine()["pid"]
        before = _open_files(pid)
        for number in range(sessions):
            hostile = Hostile(home)
            hostile.opens()
            hostile.sends(2, "tools/call", name="counter.count", arguments={})
            hostile.leaves()
            if number % 10 == 0:
                good.calls("counter.count")
        good.waits_until(lambda: len(home.engine()["clients"]) == 1)
        once = 5  # files that the engine opens once, such as the watch of the configuration
        good.waits_until(lambda: _open_files(pid) <= before + once)
        assert home.engine()["pid"] == pid


def _open_files(pid: int) -> int:
    folder = Path(f"/proc/{pid}/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0
