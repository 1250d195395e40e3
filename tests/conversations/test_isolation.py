"""Clients of one server of a pool: what one of them did there, reaches no other one, also after it has left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conversations.front import Front
from conversations.pair import Pair
from conversations.words import LOG_LEVEL, MODERN, NEWEST_LEGACY, ROOTS, Json, roots, text

NOTE: Json = {"uri": "note://one", "name": "one"}
TASK: Json = {"taskId": "t-1", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000}
WITH_TASKS: Json = {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}


@pytest.fixture(params=[NEWEST_LEGACY, MODERN], ids=["legacy", "modern"])
def pool(request: pytest.FixtureRequest, is_beside_a_busy_client: bool) -> Iterator[Pair]:
    with Pair(request.param, request.param, is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        pair.is_pooled = True
        yield pair
        pair.nothing_is_left()


legacy = pytest.mark.parametrize("pool", [NEWEST_LEGACY], indirect=True, ids=["legacy"])
modern = pytest.mark.parametrize("pool", [MODERN], indirect=True, ids=["modern"])


def _joins(pair: Pair, capabilities: Json | None = None) -> Front:
    front = pair.joined_by(pair.front.revision)
    front.opens(**(capabilities or {}))
    return front


def _two(pair: Pair, capabilities: Json | None = None) -> tuple[Front, Front]:
    """Open two clients of the same server."""
    pair.alpha.config.setdefault("share", True)
    pair.front.opens(**(capabilities or {}))
    return pair.front, _joins(pair, capabilities)


def _calls(pair: Pair, front: Front) -> int:
    """Let a client call; return the process that served it."""
    call, served = front.calls("alpha.echo"), pair.alpha.is_called("echo")
    pid = pair.alpha.channel.pid
    served.returns(text("x"))
    call.gets(text("x"))
    return pid


# Log messages


@legacy
def test_a_log_message_after_the_answer_reaches_no_other_client(pool: Pair) -> None:
    """It may be about the call, and the other client may have called since."""
    pool.alpha.logs = True
    first, second = _two(pool)
    _calls(pool, first)
    pool.alpha.notifies("notifications/message", level="error", data="of the first")
    first.hears("notifications/message", data="of the first", level="error")
    second.hears_nothing()
    call, served = second.calls("alpha.echo"), pool.alpha.is_called("echo")
    pool.alpha.notifies("notifications/message", level="error", data="of the first")
    served.returns(text("x"))
    call.gets(text("x"))
    for front in (first, second):
        front.hears_nothing()


@legacy
def test_a_log_message_of_a_client_that_left_reaches_no_other_client(pool: Pair) -> None:
    pool.alpha.logs = True
    first, second = _two(pool)
    _calls(pool, second)
    pool.left_by(second)
    pool.alpha.notifies("notifications/message", level="error", data="of the second")
    first.hears_nothing()
    _calls(pool, first)


@legacy
def test_log_messages_before_any_call_reach_all_clients_and_again_after_a_restart(pool: Pair) -> None:
    pool.alpha.logs = True
    fronts = _two(pool)
    for _ in range(2):
        pool.alpha.notifies("notifications/message", level="error", data="I cannot write to the disk")
        for front in fronts:
            front.hears("notifications/message", level="error", data="I cannot write to the disk")
            _calls(pool, front)
        pool.alpha.exits(1)
        pool.after(10)


@modern
def test_a_log_message_reaches_the_only_client_whose_calls_want_any(pool: Pair) -> None:
    first, second = _two(pool)
    quiet, other = second.calls("alpha.echo"), pool.alpha.is_called("echo")
    call, served = first.calls("alpha.greet", meta={LOG_LEVEL: "debug"}), pool.alpha.is_called("greet")
    pool.alpha.notifies("notifications/message", level="error", data="of the first")
    first.hears("notifications/message", level="error", data="of the first")
    for asked, answered in ((call, served), (quiet, other)):
        answered.returns(text("x"))
        asked.gets(text("x"))
    pool.alpha.notifies("notifications/message", level="error", data="late")


# Questions


@modern
def test_a_modern_server_that_asks_for_roots_is_given_to_no_more_clients(pool: Pair, tmp_path: Path) -> None:
    """The client of the call gives its roots with it; but the server may keep them, as legacy ones do."""
    pool.alpha.config = {"share": None}
    pool.was_here_before(tmp_path)
    first, second = _two(pool, {"roots": {}})
    call, served = second.calls("alpha.echo"), pool.alpha.is_called("echo")
    served.asks(r=ROOTS)
    call.is_asked(ROOTS).answers(roots("file:///x"))
    served.gets(r=roots("file:///x"))
    served.returns(text("x"))
    call.gets(text("x"))
    assert [_calls(pool, front) for front in (first, second, _joins(pool), _joins(pool))] == [1000, 1000, 1001, 1002]


@modern
def test_a_modern_server_that_asked_for_roots_at_its_first_start_is_not_shared(pool: Pair, tmp_path: Path) -> None:
    pool.alpha.config = {"share": None}
    pool.remembers_in(tmp_path)
    pool.front.opens(roots={})
    call, served = pool.front.calls("alpha.echo"), pool.alpha.is_called("echo")
    served.asks(r=ROOTS)
    call.is_asked(ROOTS)
    pool.comes_back()
    assert [_calls(pool, front) for front in _two(pool)] == [1000, 1001]


# Subscriptions


def _watch(pair: Pair, *fronts: Front) -> None:
    for front in fronts:
        front.watches("note://one")


def _accepts_subscriptions(pair: Pair) -> None:
    pair.alpha.resources = [NOTE]
    for method in ("resources/subscribe", "resources/unsubscribe"):
        pair.alpha.on(method, lambda back, said: back.answer(said.id, {}))


def _watching(pair: Pair) -> set[int]:
    """Return the running processes that were last asked to tell of the note."""
    watching = {}
    for said in pair.alpha.heard:
        channel = pair.alpha.channel_of(said)
        if said.method in ("resources/subscribe", "resources/unsubscribe"):
            watching[channel] = said.method == "resources/subscribe"
        elif said.method == "subscriptions/listen":
            watching[channel] = bool(said.params["notifications"].get("resourceSubscriptions"))
    return {channel.pid for channel, is_watching in watching.items() if is_watching and not channel.has_ended()}


def test_each_client_keeps_its_subscription_when_they_share_no_longer(pool: Pair) -> None:
    _accepts_subscriptions(pool)
    fronts = _two(pool)
    _watch(pool, *fronts)
    pool.alpha.config = {"share": False}
    pool.edit()
    pool.after(1)
    assert _watching(pool) == {1001, 1002}
    for front in fronts:
        front.inbox.clear()


# Tasks


def _makes_task(pair: Pair, front: Front) -> None:
    call = front.asks("tools/call", {"name": "alpha.echo", "arguments": {}, "task": {}})
    pair.alpha.is_called("echo").returns({"task": TASK})
    call.gets({"task": TASK})


@legacy
def test_the_tasks_of_a_client_that_left_are_hidden_from_others(pool: Pair) -> None:
    pool.alpha.more_capabilities = WITH_TASKS
    first, second = _two(pool)
    _makes_task(pool, second)
    pool.left_by(second)
    listing = first.asks("tasks/list")
    pool.alpha.receives("tasks/list").returns({"tasks": [TASK]})
    listing.gets({"tasks": []})
    for method in ("tasks/get", "tasks/cancel", "tasks/result"):
        first.asks(method, {"taskId": "t-1"}).fails(-32602, "Task not found: t-1")


@legacy
def test_a_task_that_no_client_knows_yet_is_hidden_from_all(pool: Pair) -> None:
    """It is made by the call of the second one, which is not answered yet."""
    pool.alpha.more_capabilities = WITH_TASKS
    first, second = _two(pool)
    call = second.asks("tools/call", {"name": "alpha.echo", "arguments": {}, "task": {}})
    made = pool.alpha.is_called("echo")
    first.asks("tasks/cancel", {"taskId": "t-1"}).fails(-32602, "Task not found: t-1")
    made.returns({"task": TASK})
    call.gets({"task": TASK})


@legacy
def test_a_client_that_is_the_first_of_its_server_finds_tasks_of_another_day(pool: Pair) -> None:
    pool.alpha.more_capabilities = WITH_TASKS
    pool.alpha.config = {"share": True}
    pool.front.opens()
    listing = pool.front.asks("tasks/list")
    pool.alpha.receives("tasks/list").returns({"tasks": [TASK]})
    listing.gets({"tasks": [TASK]})
    second = _joins(pool)
    second.asks("tasks/cancel", {"taskId": "t-1"}).fails(-32602, "Task not found: t-1")


# Pausing
