"""A relay between pipes of a client and an engine that the test plays."""

import json
import os
import select
import sys
import threading
from collections.abc import Iterator
from io import FileIO
from typing import Any

import pytest

from search_mcp.engine import relay
from search_mcp.engine.joining import NoEngineError, Piped
from search_mcp.engine.relay import ENGINE_LOST, Relay

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the sockets of POSIX")
SECONDS = 30.0

Json = dict[str, Any]


class Engine:
    """The engine's end of a connection."""

    def __init__(self) -> None:
        incoming, answers = os.pipe()
        messages, outgoing = os.pipe()
        self.joined = Piped(FileIO(incoming), FileIO(outgoing, "w"), {})
        self._lines, self._answers = os.fdopen(messages, "rb"), os.fdopen(answers, "wb")

    def hears(self) -> Json:
        message: Json = json.loads(self._lines.readline())
        return message

    def waits(self) -> None:
        """Wait until there is something to read."""
        assert select.select([self._lines], [], [], SECONDS)[0]

    def is_told_the_end(self) -> bool:
        return self._lines.readline() == b""

    def says(self, message: Json) -> None:
        self.writes(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n")

    def writes(self, data: bytes) -> None:
        self._answers.write(data)
        self._answers.flush()

    def dies(self) -> None:
        self._lines.close()
        self._answers.close()

    def close(self) -> None:
        self.dies()
        self.joined.incoming.close()
        self.joined.outgoing.close()


class Bench:
    """A relay in a thread, with the client's ends of its pipes."""

    def __init__(self, *engines: Engine, kind: type[Relay] = Relay) -> None:
        stdin, self.stdin = os.pipe()
        self.stdout, stdout = os.pipe()
        self._descriptors = [stdin, stdout]
        first, *self._next = engines
        self.joins = 0
        self.code: int | None = None
        self._relay = kind(first.joined, self._again, stdin, stdout)
        self._thread = threading.Thread(target=self._run)
        self._lines = os.fdopen(self.stdout, "rb", closefd=False)

    def _again(self) -> Piped:
        self.joins += 1
        if not self._next:
            raise NoEngineError("there is none")
        return self._next.pop(0).joined

    def _run(self) -> None:
        try:
            self.code = self._relay.run()
        finally:
            for each in self._descriptors:
                os.close(each)

    def starts(self) -> None:
        self._thread.start()

    def says(self, message: Json) -> None:
        self.writes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def writes(self, data: bytes) -> None:
        os.write(self.stdin, data)

    def writes_all(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.stdin, data) :]

    def hears(self) -> Json:
        message: Json = json.loads(self.line())
        return message

    def line(self) -> bytes:
        return self._lines.readline()

    def waits(self) -> None:
        """Wait until there is something to read."""
        assert select.select([self.stdout], [], [], SECONDS)[0]

    def ends(self) -> None:
        """End the client's messages."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def closes_stdout(self) -> None:
        assert os.dup2(os.open(os.devnull, os.O_RDONLY), self.stdout) == self.stdout

    def is_over(self) -> bool:
        self._thread.join(SECONDS)
        return not self._thread.is_alive()

    def close(self) -> None:
        self.ends()
        self._lines.close()
        os.close(self.stdout)
        if self._thread.ident is not None:
            assert self.is_over()


@pytest.fixture
def engines() -> Iterator[list[Engine]]:
    made = [Engine() for _ in range(3)]
    yield made
    for each in made:
        each.close()


@pytest.fixture
def bench(engines: list[Engine]) -> Iterator[Bench]:
    made = Bench(*engines)
    made.starts()
    yield made
    for each in engines:
        each.dies()
    made.close()


def test_messages_pass_in_both_directions_until_the_client_ends(bench: Bench, engines: list[Engine]) -> None:
    bench.says({"id": 1, "method": "ping"})
    assert engines[0].hears()["id"] == 1
    engines[0].says({"id": 1, "result": {}})
    assert bench.hears()["id"] == 1
    bench.ends()
    assert engines[0].is_told_the_end()
    engines[0].says({"method": "the last word"})
    engines[0].dies()
    assert bench.hears()["method"] == "the last word"
    assert bench.line() == b""
    assert bench.is_over()
    assert bench.code == 0


def test_lines_wait_for_an_engine_that_does_not_read(bench: Bench, engines: list[Engine]) -> None:
    lines = [b'{"id":%d,"method":"ping","params":"%b"}\n' % (number, b"x" * 30_000) for number in range(40)]
    writer = threading.Thread(target=bench.writes_all, args=(b"".join(lines),))
    writer.start()
    engines[0].says({"method": "the engine writes before it reads"})
    assert bench.hears()["method"] == "the engine writes before it reads"
    assert [engines[0]._lines.readline() for _ in lines] == lines
    writer.join(SECONDS)


def test_a_line_of_the_engine_that_comes_in_two_parts_arrives_whole(bench: Bench, engines: list[Engine]) -> None:
    engines[0].says({"method": "first"})
    assert bench.hears()["method"] == "first"
    engines[0].writes(b'{"method":"half ')
    bench.says({"id": 1, "method": "ping"})
    engines[0].hears()  # the relay has read the first part: the engine is read before the client
    engines[0].writes(b'and half"}\n')
    assert bench.hears()["method"] == "half and half"


def test_a_line_of_the_client_that_comes_in_two_parts_arrives_whole(bench: Bench, engines: list[Engine]) -> None:
    bench.says({"id": 1, "method": "ping"})
    engines[0].hears()
    bench.writes(b'{"id":2,"method":"half ')
    for _ in range(2):  # the relay has read the first part with the first of these, or before
        engines[0].says({"method": "news"})
        bench.hears()
    bench.writes(b'and half"}\n')
    assert engines[0].hears()["method"] == "half and half"


LONG, SHORT = "x" * 65_000, "x" * 1000
"""Each is read at once, and a pipe has no room for both."""


def opens(bench: Bench, engine: Engine) -> None:
    """Exchange the first messages; from then on, single lines are written before they are read."""
    bench.says({"id": 1, "method": "ping"})
    engine.says({"id": engine.hears()["id"], "result": {}})
    bench.hears()


@pytest.mark.parametrize(("first", "second"), [(SHORT, LONG), (LONG, SHORT)], ids=["in part", "not"])
def test_a_line_that_cannot_be_written_at_once_keeps_its_place(
    bench: Bench, engines: list[Engine], first: str, second: str
) -> None:
    opens(bench, engines[0])
    bench.says({"id": 2, "method": first})
    engines[0].waits()
    bench.says({"id": 3, "method": second})
    for _ in range(3):  # the relay has tried to write it with the second of these, or before
        engines[0].says({"method": "news"})
        bench.hears()
    assert engines[0].hears()["id"] == 2
    bench.says({"id": 4, "method": "ping"})
    assert [engines[0].hears()["id"] for _ in range(2)] == [3, 4]


def test_a_line_of_the_engine_that_is_written_in_two_parts_arrives_whole(bench: Bench, engines: list[Engine]) -> None:
    opens(bench, engines[0])
    engines[0].says({"method": SHORT})
    bench.waits()
    engines[0].says({"method": LONG})
    for _ in range(2):  # the relay has written the first part with the first of these, or before
        bench.says({"method": "news"})
        engines[0].hears()
    engines[0].says({"method": "last"})
    assert [bench.hears()["method"] for _ in range(3)] == [SHORT, LONG, "last"]


OPENING: Json = {"id": 0, "method": "initialize", "params": {}}
ANSWER: Json = {"id": 0, "result": {"capabilities": {"tools": {"listChanged": True}}}}


def opens_as_before(engine: Engine, answer: Json = ANSWER) -> None:
    assert [engine.hears()["method"] for _ in range(2)] == ["initialize", "notifications/initialized"]
    engine.says(answer)


def test_another_engine_is_opened_like_the_lost_one_and_the_client_is_told_of_changes(
    bench: Bench, engines: list[Engine]
) -> None:
    bench.says(OPENING)
    engines[0].says({"id": engines[0].hears()["id"], "result": {}})
    bench.hears()
    engines[0].dies()
    bench.says({"id": 1, "method": "tools/call"})
    opens_as_before(engines[1])
    assert engines[1].hears()["id"] == 1
    assert bench.hears()["method"] == "notifications/tools/list_changed"
    engines[1].says({"id": 1, "result": {}})
    assert bench.hears()["id"] == 1


def test_a_client_that_no_engine_has_opened_yet_is_opened_by_the_next_one(bench: Bench, engines: list[Engine]) -> None:
    bench.says(OPENING)
    engines[0].hears()
    engines[0].dies()
    assert engines[1].hears()["method"] == "initialize"
    engines[1].says(ANSWER)
    assert bench.hears()["result"] == ANSWER["result"]


def test_a_list_of_a_lost_engine_comes_from_the_next_one(bench: Bench, engines: list[Engine]) -> None:
    bench.says(OPENING)
    engines[0].hears()
    engines[0].says(ANSWER)
    bench.hears()
    bench.says({"id": 1, "method": "tools/list"})
    engines[0].hears()
    engines[0].dies()
    opens_as_before(engines[1])
    assert engines[1].hears()["method"] == "tools/list"
    engines[1].says({"id": 1, "result": {"tools": []}})
    assert bench.hears()["method"] == "notifications/tools/list_changed"
    assert bench.hears()["result"] == {"tools": []}


def test_a_message_is_refused_if_the_engine_that_is_opened_for_it_ends(bench: Bench, engines: list[Engine]) -> None:
    bench.says(OPENING)
    engines[0].hears()
    engines[0].says(ANSWER)
    bench.hears()
    for engine in engines[:2]:
        engine.dies()
    bench.says({"id": 1, "method": "tools/call"})
    assert bench.hears()["error"]["data"] == {"mayHaveRun": False}
    bench.says({"id": 2, "method": "tools/call"})
    opens_as_before(engines[2], {"id": 0, "error": {"code": 0, "message": "no"}})
    assert engines[2].hears()["id"] == 2


def test_a_line_that_a_lost_engine_has_broken_off_is_not_passed_on(bench: Bench, engines: list[Engine]) -> None:
    bench.says({"id": 1, "method": "tools/call"})
    engines[0].hears()
    engines[0].writes(b'{"jsonrpc":"2.0","id":1,"result":{"half')
    engines[0].dies()
    assert bench.hears()["error"]["message"] == ENGINE_LOST


def test_a_long_line_that_is_broken_off_is_ended(bench: Bench, engines: list[Engine]) -> None:
    bench.says({"id": 1, "method": "tools/call"})
    engines[0].hears()
    begun = b'{"jsonrpc":"2.0","id":1,"result":{"long":"' + b"x" * 1_500_000
    writer = threading.Thread(target=engines[0].writes, args=(begun,))
    writer.start()
    broken = bench._lines.read(len(begun))
    assert broken == begun
    writer.join(SECONDS)
    engines[0].dies()
    assert bench.line() == b"\n"
    assert bench.hears()["id"] == 1


def test_a_message_for_an_engine_that_is_gone_goes_to_the_next_one(bench: Bench, engines: list[Engine]) -> None:
    engines[0].dies()
    bench.says({"id": 1, "method": "tools/call"})
    assert engines[1].hears()["id"] == 1
    engines[1].says({"id": 1, "result": {}})
    assert bench.hears() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert bench.joins == 1


def test_the_rest_of_a_broken_line_reaches_no_engine(bench: Bench, engines: list[Engine]) -> None:
    long = b'{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"x":"' + b"x" * 1_500_000
    writer = threading.Thread(target=bench.writes_all, args=(long,))
    writer.start()
    assert engines[0]._lines.read(1_000_000) == long[:1_000_000]
    engines[0].dies()
    writer.join(SECONDS)
    bench.writes(b'"}}\n')
    error = bench.hears()
    assert error["id"] == "long"
    assert error["error"] == {"code": -32000, "message": ENGINE_LOST, "data": {"mayHaveRun": True}}
    bench.says({"id": 2, "method": "ping"})
    assert engines[1].hears()["id"] == 2


def test_a_last_message_without_a_line_ending_goes_to_the_next_engine(bench: Bench, engines: list[Engine]) -> None:
    engines[0].dies()
    bench.writes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    bench.ends()
    assert engines[1].hears()["id"] == 1
    assert engines[1].is_told_the_end()
    engines[1].says({"id": 1, "result": {}})
    engines[1].dies()
    assert bench.hears()["id"] == 1
    assert bench.is_over()
    assert bench.code == 0


def test_messages_are_refused_while_there_is_no_engine(engines: list[Engine]) -> None:
    bench = Bench(engines[0])
    bench.starts()
    engines[0].dies()
    for identifier in (1, 2):
        bench.says({"id": identifier, "method": "tools/call"})
        error = bench.hears()["error"]
        assert "there is none" in error["message"]
        assert error["data"] == {"mayHaveRun": False}
    assert bench.joins >= 1
    bench.close()


def test_a_client_that_ends_and_does_not_read_is_not_waited_for(
    engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "LAST_BYTES_SECONDS", 0.05)
    bench = Bench(engines[0])
    bench.starts()
    bench.ends()
    assert engines[0].is_told_the_end()
    engines[0].writes(b"x" * 100_000 + b"\n")  # more than a pipe takes
    engines[0].dies()
    assert bench.is_over()
    bench.close()


def test_an_engine_that_does_not_answer_the_end_is_not_waited_for(
    engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "LAST_ANSWERS_SECONDS", 0.05)
    bench = Bench(engines[0])
    bench.starts()
    bench.ends()
    assert bench.is_over()
    bench.close()


def test_a_client_that_closes_stdout_ends_the_relay(bench: Bench, engines: list[Engine]) -> None:
    bench.says({"id": 1, "method": "ping"})
    engines[0].hears()
    bench.closes_stdout()
    assert bench.is_over()
    assert bench.code == 0
    assert engines[0].is_told_the_end()


def test_a_client_with_header_framing_starts_again_after_a_loss(bench: Bench, engines: list[Engine]) -> None:
    bench.writes(b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert engines[0]._lines.readline().startswith(b"Content-Length")
    engines[0].dies()
    assert bench.line() == b""
    assert bench.is_over()


class InSteps(Relay):
    """Waits only as often as the test permits."""

    permits = threading.Semaphore(0)

    def _wait(self) -> dict[int, int]:
        self.permits.acquire()
        return super()._wait()


def test_a_client_with_header_framing_is_not_served_further_if_it_speaks_at_a_loss(engines: list[Engine]) -> None:
    bench = Bench(*engines, kind=InSteps)
    bench.starts()
    framed = b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}'
    bench.writes(framed)
    InSteps.permits.release()
    assert engines[0]._lines.readline().startswith(b"Content-Length")
    bench.writes(framed)
    engines[0].dies()
    InSteps.permits.release(100)  # the next look finds both
    assert bench.is_over()
    assert bench.joins == 0
    bench.close()
