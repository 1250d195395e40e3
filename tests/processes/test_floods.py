"""Floods from either side: memory stays bounded, no other server waits, no request is answered twice.

Memory is the peak of the process (`VmHWM`), which does not depend on the time of the measurement; on systems without
it, only the rest of each test counts. Each bound is far above the measured value and far below the memory that the
flood would take if it were kept.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from real.processes import living
from wire_log import Unjudged

from processes.conftest import Serve, write
from processes.run import SECONDS, Run, server
from search_mcp.wire.inflight import SENT_REQUESTS

MB = 1 << 20
GOOD = server("well_behaved")


@contextmanager
def takes_at_most(run: Run, size: int) -> Iterator[None]:
    """Fail if the process's peak of memory rises by this many bytes or more."""
    before = run.peak() if sys.platform == "linux" else 0
    yield
    if sys.platform == "linux":
        assert run.peak() - before < size


# Backends that flood


def test_a_backend_that_floods_a_client_that_does_not_read_is_made_to_wait(serve: Serve) -> None:
    with serve({"bad": server("floods_stdout"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        with takes_at_most(run, 24 * MB):
            run.stops_reading()
            flood = run.sends("tools/call", name="bad.flood", arguments={"size": 64 * MB})
            run.waits_until((run.folder / "stuck").exists)
            call = run.sends("tools/call", name="good.echo", arguments={"words": "x"})
            run.reads_on()
            assert run.answer(call)["result"]["content"][0]["text"] == "x"
            assert run.answer(flood)["result"]["content"][0]["text"] == "flooded"
        assert sum(message["method"] == "notifications/message" for message in run.others) * 3900 > 60 * MB


def test_calls_elsewhere_are_answered_while_a_backend_floods(serve: Serve) -> None:
    with serve({"bad": server("floods_stdout"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        flood = run.sends("tools/call", name="bad.flood")
        assert run.next()["method"] == "notifications/message"
        with takes_at_most(run, 24 * MB):
            for number in range(50):
                assert run.calls("good.echo", words=str(number)) == str(number)
        run.others.clear()
        run.calls("good.echo", words="x")
        while not run.others:  # the flood goes on
            run.others.append(run.next())
        run.cancels(flood)


@pytest.mark.parametrize("more", [{}, {"pinTools": True}], ids=["as usual", "pinned"])
def test_endless_announcements_are_relayed_and_calls_are_answered_beside_them(
    serve: Serve, more: dict[str, bool]
) -> None:
    with serve({"bad": server("announces_endlessly", **more), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        with takes_at_most(run, 24 * MB):
            for number in range(5):
                assert run.next()["method"] == "notifications/tools/list_changed"
                assert run.calls("bad.echo", words=str(number)) == str(number)
                assert run.calls("good.echo", words=str(number)) == str(number)


def test_a_backend_that_is_switched_off_while_it_floods(serve: Serve) -> None:
    """It does not notice EOF on its stdin, and floods until it is terminated."""
    with serve({"bad": server("floods_stdout"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        flood = run.sends("tools/call", name="bad.flood")
        assert run.next()["method"] == "notifications/message"
        with takes_at_most(run, 24 * MB):
            write(run, {"good": GOOD})
            assert run.answer(flood)["error"]["data"]["mayHaveRun"] is True
            run.waits_until(lambda: len(living(run.mark)) == 2)  # search-mcp and the good server
        assert run.calls("good.echo", words="x") == "x"


def test_a_backend_that_asks_without_reading_is_stopped(serve: Serve) -> None:
    with serve({"bad": server("asks_without_reading"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        with takes_at_most(run, 400 * MB):
            call = run.sends("tools/call", name="bad.ask", arguments={})
            for number in range(50):
                assert run.calls("good.echo", words=str(number)) == str(number)
            error = run.answer(call)["error"]
        assert error["data"]["mayHaveRun"] is True
        assert "does not read the answers to its requests" in error["data"]["reason"]
        assert run.calls("bad.echo", words="back") == "back"


# Clients that flood, or do not read


def test_the_end_of_a_client_that_reads_nothing_any_more_is_noticed(serve: Serve) -> None:
    """Reading stops while nothing can be written, so EOF on stdin once went unnoticed."""
    with serve({"bad": server("floods_stdout")}) as run:
        run.opens()
        run.asks("tools/list")
        run.stops_reading()
        run.sends("tools/call", name="bad.flood", arguments={"size": 64 * MB})
        run.waits_until((run.folder / "stuck").exists)
        run.close_stdin()
        run.process.wait(SECONDS)
        run.log = Unjudged()  # the unread output was cut off inside a line


def test_a_client_that_asks_for_long_lists_and_does_not_read_them(serve: Serve) -> None:
    with serve({"many": server("many_tools")}, listing="full") as run:
        run.opens()
        size = len(json.dumps(run.asks("tools/list")))
        assert size > MB
        with takes_at_most(run, 50 * MB):
            run.stops_reading()
            ids = [run.sends("tools/list") for _ in range(100)]  # sent at once, and read by search-mcp at once
            run.reads_on()
            for each in ids:
                assert len(run.answer(each)["result"]["tools"]) > 1000


def test_a_client_that_sends_more_than_a_backend_reads(serve: Serve) -> None:
    with serve({"bad": server("reads_nothing"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        with takes_at_most(run, 350 * MB):
            ids = [run.sends("tools/call", name="bad.stop")]
            words = "x" * MB
            ids += [run.sends("tools/call", name="bad.echo", arguments={"words": words}) for _ in range(200)]
            assert run.calls("good.echo", words="still here") == "still here"
        refused = [message for message in run.others if message.get("id") in ids]
        assert len(refused) > 100
        assert all("does not read its input" in answer["error"]["data"]["reason"] for answer in refused)
        answered = {answer["id"] for answer in refused}
        for each in ids:
            if each not in answered:
                run.cancels(each)
        run.asks("ping")
        assert run.log.waiting() == []


def test_a_client_that_does_not_wait_for_answers_gets_one_to_every_call(serve: Serve) -> None:
    """More small calls than any real client sends, and more waiting at once than a slower server can be sent."""
    with serve({"good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        with takes_at_most(run, 100 * MB):
            ids = [run.sends("tools/call", name="good.echo", arguments={"words": str(n)}) for n in range(20_000)]
            answers = [run.answer(each) for each in ids]
        served = {n: answer["result"] for n, answer in enumerate(answers) if "result" in answer}
        assert served
        assert all(result["content"][0]["text"] == str(n) for n, result in served.items())
        refused = [answer["error"] for answer in answers if "error" in answer]
        assert all(error["code"] == -32000 and "mayHaveRun" not in error["data"] for error in refused)
        assert run.calls("good.echo", words="x") == "x"


def test_more_calls_than_a_backend_can_be_asked_are_refused(serve: Serve) -> None:
    with serve({"bad": server("reads_nothing"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        with takes_at_most(run, 150 * MB):
            ids = [run.sends("tools/call", name="bad.stop")]
            ids += [run.sends("tools/call", name="bad.echo") for _ in range(17_000)]
            assert run.calls("good.echo", words="still here") == "still here"
        assert 500 < len(run.others) < 1000
        assert {answer["error"]["code"] for answer in run.others} == {-32000}
        for each in ids:
            run.cancels(each)
        run.asks("ping")
        assert run.log.waiting() == []
        assert run.calls("good.echo", words="x") == "x"


def test_more_calls_than_can_wait_for_a_backend_are_refused_and_those_that_wait_are_answered(
    serve: Serve, tmp_path: Path
) -> None:
    """Its tools are cached from an earlier run, so they can be called before it is initialized."""
    sign = tmp_path / "sign"
    sign.touch()
    servers = {"late": server("waits_for_a_file", str(sign), startTimeoutSeconds=600), "good": GOOD}
    with serve(servers) as run:
        run.opens()
        run.asks("tools/list")
    sign.unlink()
    with serve(servers) as run:
        run.opens()
        with takes_at_most(run, 150 * MB):
            ids = [
                run.sends("tools/call", name="late.echo", arguments={"words": str(n)})
                for n in range(SENT_REQUESTS + 100)
            ]
            assert run.calls("good.echo", words="still here") == "still here"
        refused = {answer["id"]: answer["error"] for answer in run.others}
        assert [*refused] == ids[SENT_REQUESTS:]
        assert {error["code"] for error in refused.values()} == {-32000}
        assert all("mayHaveRun" not in error["data"] for error in refused.values())
        run.others.clear()
        sign.touch()
        for number, each in enumerate(ids[:SENT_REQUESTS]):
            assert run.answer(each)["result"]["content"][0]["text"] == str(number)


# Careless clients


@pytest.mark.parametrize("name", ["well_behaved", "hangs_in_start"])
def test_a_client_that_cancels_everything(serve: Serve, name: str) -> None:
    """Calls answered before their cancellation are answered, the others are not, and nothing else is affected."""
    with serve({"some": server(name), "good": GOOD}, firstListSeconds=0.1) as run:
        run.opens()
        run.asks("tools/list")
        for each in range(10_000, 12_000):
            call = {"id": each, "method": "tools/call", "params": {"name": "some.echo", "arguments": {"words": "x"}}}
            cancel = {"method": "notifications/cancelled", "params": {"requestId": each}}
            # In one write: the answer and the cancellation must not cross.
            run.writes(b"".join(json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\n" for said in (call, cancel)))
        assert run.calls("good.echo", words="x") == "x"
        run.asks("ping")
        assert run.log.waiting() == []


def test_an_id_that_is_in_use_is_refused_and_the_first_is_answered(serve: Serve) -> None:
    with serve({"good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        call = {"method": "tools/call", "params": {"name": "good.echo", "arguments": {"words": "x"}}}
        lines = b"".join(json.dumps({"jsonrpc": "2.0", "id": 7, **call}).encode() + b"\n" for _ in range(3))
        run.writes(lines)
        outcomes = [run.next() for _ in range(3)]
        assert [outcome.get("error", {}).get("code") for outcome in outcomes] == [-32600, -32600, None]


def test_an_end_in_the_middle_of_a_line_leaves_nothing(serve: Serve) -> None:
    with serve({"good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        call = run.sends("tools/call", name="good.echo", arguments={"words": "x"})
        assert run.process.stdin is not None
        run.log.sent(b"{")
        run.process.stdin.write(b'{"jsonrpc":"2.0","id":99,"method":"tools/ca')
        run.close_stdin()
        assert run.answer(call)["result"]["content"][0]["text"] == "x"
        assert run.answer(None)["error"]["code"] == -32700
        assert run.ended() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not report that the reader is gone")
@pytest.mark.parametrize("floods", [False, True])
def test_a_client_that_closes_our_stdout_ends_everything(serve: Serve, floods: bool) -> None:
    """The client keeps our stdin open: only SIGPIPE, or the pipe's end, shows that it is gone."""
    with serve({"bad": server("floods_stdout"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        if floods:
            run.sends("tools/call", name="bad.flood")
            assert run.next()["method"] == "notifications/message"
        run.hangs_up()
        assert run.ended() == 0
