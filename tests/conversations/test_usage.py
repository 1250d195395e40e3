"""The record of tool calls: one for each, with its outcome, in both eras, and nothing of what was said."""

import gc
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from conversations.eras import legacy_legacy, modern_legacy, modern_modern
from conversations.neighbour import INFO as BUSY
from conversations.pair import Pair
from conversations.words import Json, accept, elicit, text, tool
from search_mcp.fronts.serve import LAST_ANSWERS_SECONDS
from search_mcp.model.calls import Call
from search_mcp.results.client_results import WRITE_SECONDS
from search_mcp.usage.client_usage import MOST_TASKS
from search_mcp.usage.ended_calls import LONGEST_CLIENT
from search_mcp.usage.queue import WAIT_SECONDS
from search_mcp.wire.inflight import Request

TASK: Json = {"taskId": "t-1", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000}
EXTENSION = "io.modelcontextprotocol/tasks"


class Recorded(NamedTuple):
    """A recorded call, as far as the tests look at it."""

    client: str
    server: str
    tool: str
    seconds: float
    ending: str
    given: int
    returned: int


@pytest.fixture(autouse=True)
def file(pair: Pair, tmp_path: Path) -> Path:
    path = tmp_path / "usage" / "calls.sqlite3"
    pair.records_in(path)
    return path


def recorded(pair: Pair, file: Path) -> list[Recorded]:
    """Return the calls in the file that are not of a busy client, after enough time to write them."""
    pair.after(WAIT_SECONDS)
    return written(file)


def written(file: Path) -> list[Recorded]:
    """Return the calls in the file now."""
    if not file.exists():
        return []
    with closing(sqlite3.connect(file)) as database:
        query = "SELECT client, server, tool, seconds, ending, characters_in, characters_out FROM calls ORDER BY rowid"
        calls = [Recorded(*each) for each in database.execute(query)]
    return [each for each in calls if each.client != BUSY["name"]]


def endings(pair: Pair, file: Path) -> list[tuple[str, str, str]]:
    return [(each.server, each.tool, each.ending) for each in recorded(pair, file)]


def test_a_call_is_recorded_with_its_client_its_duration_and_its_sizes(pair: Pair, file: Path) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo", words="日本")
    served = pair.alpha.is_called("echo", words="日本")
    pair.after(1.5)
    served.returns(text("日本語"))
    result = call.result()
    (found,) = recorded(pair, file)
    assert found[:5] == ("a client", "alpha", "echo", 1.5, "ok")
    assert found.given == len('{"words":"日本"}')
    assert found.returned in range(len('[{"type":"text","text":"日本語"}]'), len(str(result)))


def test_neither_arguments_nor_results_are_recorded(pair: Pair, file: Path) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo", words="an argument")
    pair.alpha.is_called("echo", words="an argument").returns(text("a result"))
    pair.front.gets(text("a result"))
    pair.front.calls("alpha.an argument").fails(-32602)
    pair.front.calls("an argument").fails(-32602)
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").fails(-1, "a result")
    pair.front.fails(-32000)
    assert len(recorded(pair, file)) == 4
    written = b"".join(each.read_bytes() for each in file.parent.iterdir())
    assert b"an argument" not in written and b"a result" not in written


def test_every_outcome_has_its_name(pair: Pair, file: Path) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("it failed", isError=True))
    call.gets(text("it failed", isError=True))
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").fails(-1, "no")
    call.fails(-32000)
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    call.cancels()
    served.is_cancelled()
    pair.front.calls("alpha.nonsense").fails(-32602)
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").is_over()
    pair.alpha.exits(1)
    call.fails(-32000)
    assert endings(pair, file) == [
        ("alpha", "echo", "tool error"),
        ("alpha", "echo", "error"),
        ("alpha", "echo", "cancelled"),
        ("", "", "error"),
        ("alpha", "echo", "lost"),
    ]


def test_our_own_tools_are_recorded_and_calls_by_name_are_those_of_the_tool(pair: Pair, file: Path) -> None:
    pair.front.opens()
    pair.front.calls("search_tools", query="echo").result()
    pair.front.calls("describe_tools", names=7).result()
    call = pair.front.calls("call_tool", name="alpha.echo", arguments={"words": "x"})
    pair.alpha.is_called("echo", words="x").returns(text("x"))
    call.gets(text("x"))
    pair.front.calls("call_tool", name="nonsense").fails(-32602)
    pair.front.calls("call_read_only_tool", name="alpha.echo").fails(-32602)
    assert endings(pair, file) == [
        ("", "search_tools", "ok"),
        ("", "describe_tools", "tool error"),
        ("alpha", "echo", "ok"),
        ("", "call_tool", "error"),
        ("", "call_read_only_tool", "error"),
    ]


def test_a_call_that_waits_for_its_server_is_recorded_once(pair: Pair, file: Path) -> None:
    pair.alpha.starts_slowly(3)
    pair.front.opens_over(0) if pair.front.is_modern else pair.front.initializes()
    call = pair.front.calls("alpha.echo")
    pair.after(3)
    pair.alpha.is_called("echo").returns(text("x"))
    pair.front.inbox[:] = [said for said in pair.front.inbox if said.id == call.id]
    call.gets(text("x"))
    assert [(each.tool, each.seconds, each.ending) for each in recorded(pair, file)] == [("echo", 3.0, "ok")]


def test_a_call_that_asks_the_user_is_recorded_once(pair: Pair, file: Path) -> None:
    pair.front.opens(elicitation={})
    call = pair.front.calls("alpha.greet")
    pair.alpha.is_called("greet")
    pair.alpha.asks(who=elicit("Your name?"))
    call.is_asked(elicit("Your name?")).answers(accept(name="Ada"))
    pair.alpha.gets(who=accept(name="Ada"))
    pair.alpha.returns(text("hello Ada"))
    call.gets(text("hello Ada"))
    assert endings(pair, file) == [("alpha", "greet", "ok")]


def test_a_call_that_is_cancelled_while_its_long_result_is_written_is_recorded_once(
    pair: Pair, file: Path, tmp_path: Path
) -> None:
    pair.keeps_results_in(tmp_path / "results", lambda _act, _done: None)  # the file system does not answer
    pair.alpha.config = {"max_result_characters": 1000}
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x" * 2000))
    call.cancels()
    pair.after(WRITE_SECONDS)
    assert endings(pair, file) == [("alpha", "echo", "cancelled")]


def test_a_client_that_leaves_during_a_call_has_cancelled_it(pair: Pair, file: Path) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").is_over()
    call.is_over()
    pair.ends()
    pair.after(LAST_ANSWERS_SECONDS)
    assert endings(pair, file) == [("alpha", "echo", "cancelled")]


def test_the_last_calls_are_written_at_the_end(pair: Pair, file: Path) -> None:
    pair.front.opens()
    pair.front.calls("list_servers").result()
    assert not file.exists()
    pair.ends()
    assert [each.tool for each in written(file)] == ["list_servers"]


def test_nothing_is_recorded_if_it_is_switched_off_at_once(pair: Pair, file: Path) -> None:
    pair.settings = {"usage": False}
    pair.front.opens()
    pair.front.calls("list_servers").result()
    pair.after(WAIT_SECONDS)
    assert not file.parent.exists()
    pair.settings = {"usage": True}
    pair.edit()
    pair.front.calls("search_tools", query="echo").result()
    assert endings(pair, file) == [("", "search_tools", "ok")]
    pair.settings = {"usage": False}
    pair.edit()
    pair.front.calls("list_servers").result()
    assert len(recorded(pair, file)) == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Claude\x1b[31m\u202e", "Claude\\u{1b}[31m\\u{202e}"),
        ("two\nlines", "two lines"),
        ("x" * 1000, "x" * (LONGEST_CLIENT - 1) + "…"),
        ("", "unknown"),
        ("日" * 10_000, "日" * (LONGEST_CLIENT - 1) + "…"),
    ],
    ids=["controls", "lines", "long", "empty", "monstrous"],
)
def test_the_name_of_a_client_is_safe_to_print(pair: Pair, file: Path, name: object, expected: str) -> None:
    pair.front.hears_anything()
    pair.front.info = {"name": name, "version": "1"}
    pair.front.opens()
    pair.front.calls("list_servers").result()
    assert [each.client for each in recorded(pair, file)] == [expected]


def test_the_name_of_a_tool_is_safe_to_print(pair: Pair, file: Path) -> None:
    pair.front.hears_anything()
    pair.alpha.tools = [tool("ec\u202eho")]
    pair.front.opens()
    call = pair.front.calls("alpha.ec\u202eho")
    pair.alpha.is_called("ec\u202eho").returns(text("x"))
    call.gets(text("x"))
    assert endings(pair, file) == [("alpha", "ec\\u{202e}ho", "ok")]


def test_two_clients_of_one_process_are_distinguished(pair: Pair, file: Path) -> None:
    pair.is_pooled = True
    pair.front.opens()
    second = pair.joined_by(pair.front.revision)
    second.info = {"name": "another", "version": "1"}
    second.opens()
    for front in (second, pair.front):
        front.calls("list_servers").result()
    assert sorted(each.client for each in recorded(pair, file)) == ["a client", "another"]


def test_a_file_that_cannot_be_written_costs_no_call(pair: Pair, file: Path) -> None:
    file.parent.write_text("in the way")
    pair.front.opens()
    for _ in range(2):
        call = pair.front.calls("alpha.echo")
        pair.alpha.is_called("echo").returns(text("x"))
        call.gets(text("x"))
        pair.after(WAIT_SECONDS)
    assert file.parent.read_text() == "in the way"


# Tasks


@legacy_legacy
@pytest.mark.parametrize(
    ("answer", "ending"), [(text("done"), "ok"), (text("no", isError=True), "tool error")], ids=["ok", "error"]
)
def test_a_call_that_became_a_task_ends_when_its_result_is_read(
    pair: Pair, file: Path, answer: Json, ending: str
) -> None:
    pair.alpha.more_capabilities = {"tasks": {"requests": {"tools": {"call": {}}}, "cancel": {}}}
    pair.front.opens()
    call = pair.front.asks("tools/call", {"name": "alpha.echo", "arguments": {}, "task": {"ttl": 60000}})
    pair.alpha.is_called("echo").returns({"task": TASK})
    call.gets({"task": TASK})
    pair.after(5)
    polled = pair.front.asks("tasks/get", {"taskId": "t-1"})
    pair.alpha.receives("tasks/get", taskId="t-1").returns({**TASK, "status": "completed"})
    polled.result()
    assert recorded(pair, file) == []
    read = pair.front.asks("tasks/result", {"taskId": "t-1"})
    pair.alpha.receives("tasks/result", taskId="t-1").returns(answer)
    read.gets(answer)
    (found,) = recorded(pair, file)
    assert (found.tool, found.ending) == ("echo", ending)
    assert found.seconds == 5 + WAIT_SECONDS
    assert found.returned > 0


@legacy_legacy
def test_a_task_that_is_cancelled_or_never_read_is_recorded_as_such(pair: Pair, file: Path) -> None:
    pair.alpha.more_capabilities = {"tasks": {"requests": {"tools": {"call": {}}}, "cancel": {}}}
    pair.front.opens()
    for task in ("t-1", "t-2"):
        call = pair.front.asks("tools/call", {"name": "alpha.echo", "arguments": {}, "task": {"ttl": 60000}})
        pair.alpha.is_called("echo").returns({"task": {**TASK, "taskId": task}})
        call.result()
    cancelled = pair.front.asks("tasks/cancel", {"taskId": "t-1"})
    pair.alpha.receives("tasks/cancel", taskId="t-1").returns({**TASK, "status": "cancelled"})
    cancelled.result()
    pair.ends()
    assert [each.ending for each in recorded(pair, file)] == ["cancelled", "unread task"]


@legacy_legacy
def test_tasks_do_not_wait_without_bound(pair: Pair, file: Path) -> None:
    pair.alpha.more_capabilities = {"tasks": {"requests": {"tools": {"call": {}}}}}
    pair.front.opens()
    for number in range(MOST_TASKS + 1):
        call = pair.front.asks("tools/call", {"name": "alpha.echo", "arguments": {}, "task": {}})
        pair.alpha.is_called("echo").returns({"task": {**TASK, "taskId": f"t-{number}"}})
        call.result()
    assert [each.ending for each in recorded(pair, file)] == ["unread task"]


@modern_modern
@pytest.mark.parametrize(
    ("change", "ending"),
    [
        ({"status": "completed", "result": text("done")}, "ok"),
        ({"status": "completed", "result": text("no", isError=True)}, "tool error"),
        ({"status": "failed", "error": {"code": -1, "message": "no"}}, "tool error"),
        ({"status": "cancelled"}, "cancelled"),
    ],
    ids=["ok", "error", "failed", "cancelled"],
)
@pytest.mark.parametrize("way", ["asked for", "told of"])
def test_a_task_of_the_extension_ends_with_its_status(
    pair: Pair, file: Path, change: Json, ending: str, way: str
) -> None:
    pair.alpha.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens(extensions={EXTENSION: {}})
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns({"resultType": "task", **TASK})
    call.result()
    polled = pair.front.asks("tasks/get", {"taskId": "t-1"})
    pair.alpha.receives("tasks/get", taskId="t-1").returns({"resultType": "complete", **TASK})
    polled.result()
    assert recorded(pair, file) == []
    if way == "asked for":
        polled = pair.front.asks("tasks/get", {"taskId": "t-1"})
        pair.alpha.receives("tasks/get", taskId="t-1").returns({"resultType": "complete", **TASK, **change})
        polled.result()
    else:
        pair.front.asks("subscriptions/listen", {"notifications": {"taskIds": ["t-1"]}})
        pair.front.hears("notifications/subscriptions/acknowledged")
        (stream,) = pair.alpha.listening
        subscription = {"io.modelcontextprotocol/subscriptionId": stream}
        pair.alpha.notifies("notifications/tasks", **(TASK | change), _meta=subscription)
        pair.front.hears("notifications/tasks")
    assert endings(pair, file) == [("alpha", "echo", ending)]


# Memory


def _is_answered(pair: Pair) -> None:
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def _is_refused(pair: Pair) -> None:
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").fails(-1, "no")
    call.fails(-32000)


def _is_cancelled(pair: Pair) -> None:
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    call.cancels()
    served.is_cancelled()


@pytest.mark.parametrize("happens", [_is_answered, _is_refused, _is_cancelled])
def test_a_call_that_was_recorded_is_gone(pair: Pair, file: Path, happens: Callable[[Pair], None]) -> None:
    pair.front.opens()
    gc.collect()
    gc.disable()
    try:
        happens(pair)
        assert [each for each in gc.get_objects() if isinstance(each, Call | Request)] == []
    finally:
        gc.enable()
    assert len(recorded(pair, file)) == 1


@modern_legacy
def test_a_parked_call_that_is_given_up_is_cancelled(pair: Pair, file: Path) -> None:
    pair.front.opens(elicitation={})
    call = pair.front.calls("alpha.greet")
    served = pair.alpha.is_called("greet")
    pair.alpha.asks(who=elicit("Your name?"))
    call.is_asked(elicit("Your name?"))
    call.is_over()
    pair.after(700)
    served.is_cancelled()
    assert pair.alpha.next().id == "who"  # its question is refused
    assert endings(pair, file) == [("alpha", "greet", "cancelled")]
