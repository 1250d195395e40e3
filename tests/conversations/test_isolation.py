"""Clients of one server of a pool: what one of them did there, reaches no other one, also after it has left."""

from collections.abc import Iterator

import pytest

from conversations.front import Front
from conversations.pair import Pair
from conversations.words import LOG_LEVEL, MODERN, NEWEST_LEGACY, ROOTS, Json, elicit, roots, text

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


@legacy
def test_a_question_outside_of_a_call_goes_to_no_client_once_there_were_several(pool: Pair) -> None:
    """It may be about what the client that left has done."""
    _, second = _two(pool, {"elicitation": {}})
    pool.left_by(second)
    pool.alpha.says(id="q", **elicit("Who?"))
    refused = pool.alpha.next()
    assert (refused.id, refused.body["error"]["code"]) == ("q", -32600)


def _asks_for_roots(pair: Pair, front: Front) -> int:
    """Have a call of a client ask for its roots; return the process that gets them."""
    call = front.calls("alpha.echo")
    asking = pair.alpha.is_called("echo")
    asking.asks(r=ROOTS)
    asking.is_over()
    asking = pair.alpha.is_called("echo")  # at a process of its own, where it is sent again
    pid = pair.alpha.channel_of(asking.said).pid
    asking.asks(r=ROOTS)
    call.is_asked(ROOTS).answers(roots("file:///x"))
    asking.gets(r=roots("file:///x"))
    asking.returns(text("x"))
    call.gets(text("x"))
    return pid


@modern
def test_a_client_that_a_modern_server_asks_for_roots_gets_its_own(pool: Pair) -> None:
    """The server may keep them: the filesystem server of the older revisions does."""
    pool.alpha.config = {"share": None}
    first, second = _two(pool, {"roots": {}})
    other, slow = first.calls("alpha.greet"), pool.alpha.is_called("greet")
    assert _asks_for_roots(pool, second) == 1001
    third = _joins(pool, {"roots": {}})
    assert [_calls(pool, front) for front in (first, second, third)] == [1000, 1001, 1002]
    pool.alpha.speaks_as(pool.alpha.channels[0])
    slow.returns(text("x"))
    other.gets(text("x"))


@modern
def test_a_call_that_is_sent_again_for_its_roots_can_be_cancelled(pool: Pair) -> None:
    pool.alpha.config = {"share": None}
    _, second = _two(pool, {"roots": {}})
    call = second.calls("alpha.echo")
    served = pool.alpha.is_called("echo")
    served.asks(r=ROOTS)
    served.is_over()
    served = pool.alpha.is_called("echo")
    call.cancels()
    served.is_cancelled()


@modern
def test_clients_of_other_processes_of_a_server_that_asks_for_roots_are_separated_too(pool: Pair) -> None:
    pool.alpha.config = {"share": None}
    first, second = _two(pool)
    third = _joins(pool, {"roots": {}})
    assert [_calls(pool, front) for front in (first, second, third)] == [1000, 1000, 1001]
    call, served = third.calls("alpha.echo"), pool.alpha.is_called("echo")
    served.asks(r=ROOTS)
    call.is_asked(ROOTS).answers(roots("file:///third"))
    served.gets(r=roots("file:///third"))
    served.returns(text("x"))
    call.gets(text("x"))
    pids = [_calls(pool, front) for front in (first, second, third, _joins(pool))]
    assert len(set(pids)) == len(pids)


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


def test_each_client_keeps_its_subscription_when_the_server_turns_out_to_keep_state(
    is_beside_a_busy_client: bool,
) -> None:
    with Pair(MODERN, MODERN, is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        pair.is_pooled = True
        pair.alpha.config = {"share": None}
        _accepts_subscriptions(pair)
        fronts = _two(pair)
        _watch(pair, *fronts)
        pair.alpha.revision = NEWEST_LEGACY
        pair.alpha.exits(1)
        pair.after(20)
        assert len(_watching(pair)) == 2
        for front in fronts:
            front.inbox.clear()


def test_a_client_that_is_given_a_server_of_its_own_ends_its_subscription_at_the_shared_one(
    is_beside_a_busy_client: bool,
) -> None:
    with Pair(MODERN, MODERN, is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        pair.is_pooled = True
        pair.alpha.config = {"share": None}
        _accepts_subscriptions(pair)
        _, second = _two(pair, {"roots": {}})
        _watch(pair, second)
        _asks_for_roots(pair, second)
        pair.after(1)
        assert _watching(pair) == {1001}


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


def test_news_that_wait_for_a_client_outlive_the_server(is_beside_a_busy_client: bool) -> None:
    """The client does not read while its server is found to keep state, and gets another one."""
    with Pair(MODERN, MODERN, is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        pair.is_pooled = True
        pair.alpha.config = {"share": None}
        _accepts_subscriptions(pair)
        _, third, first = *_two(pair, {"roots": {}}), _joins(pair, {"roots": {}})
        _watch(pair, first)
        pair.stops_reading(first)
        pair.alpha.updates("note://one")
        _asks_for_roots(pair, third)
        pair.reads_on(first)
        first.hears("notifications/resources/updated", uri="note://one")
