"""Two clients of one engine, which share a server: no state of one reaches the other."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from conversations.front import Front
from conversations.pair import Pair
from conversations.words import (
    LOG_LEVEL,
    MODERN,
    NEWEST_LEGACY,
    Json,
    accept,
    elicit,
    names,
    text,
    tool,
)
from search_mcp.catalog.profiles import BY_NAME, Profile

ERAS = {"legacy": NEWEST_LEGACY, "modern": MODERN}
NOTE: Json = {"uri": "note://one", "name": "one"}
TASK: Json = {"taskId": "t-1", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000}
URL: Json = {"mode": "url", "elicitationId": "e-1", "url": "https://example.com/", "message": "Log in"}


class Two:
    """Two clients and the search-mcp they share."""

    def __init__(self, pair: Pair, second: str) -> None:
        self.pair, self.alpha, self._second = pair, pair.alpha, second
        self.first = pair.front

    def open(self, profile: Profile | None = None, **capabilities: Json) -> tuple[Front, Front]:
        """Open the first client, then the second."""
        self.first.opens(**capabilities)
        self.second = self.pair.joined_by(self._second, profile)
        self.second.opens(**capabilities)
        return self.first, self.second

    def leaves(self) -> None:
        """Close the connection of the second client."""
        self.pair.left_by(self.second)


def _params(*eras: tuple[str, str], beside: Sequence[bool] = (False, True)) -> list[Any]:
    """Return the eras of the clients and of the server, without and beside a third client, which is busy."""
    return [
        pytest.param((front, back, is_beside), id=f"{front}+{back}{' beside a busy client' * is_beside}")
        for front, back in eras
        for is_beside in beside
    ]


@pytest.fixture(params=_params(*product(ERAS, ERAS)))
def two(request: pytest.FixtureRequest) -> Iterator[Two]:
    front, back, is_beside_a_busy_client = request.param
    with Pair(ERAS[front], ERAS[back], is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        pair.is_pooled = True
        pair.alpha.config = {"share": True}
        yield Two(pair, ERAS[front])
        pair.nothing_is_left()


def _in(*eras: tuple[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("two", _params(*eras), indirect=True)


legacy_backend = _in(*product(ERAS, ["legacy"]))
all_legacy = _in(("legacy", "legacy"))


def _listens(front: Front) -> None:
    """Subscribe to changes of the tools, if a client of this era has to."""
    if front.is_modern:
        front.asks("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        front.hears("notifications/subscriptions/acknowledged")


# Lists


def test_each_is_shown_its_own_spelling_and_may_call_by_any(two: Two) -> None:
    first, second = two.open(BY_NAME["goose"])
    assert names(first.tools)[:2] == ["alpha.greet", "alpha.echo"]
    assert names(second.tools)[:2] == ["alpha__greet", "alpha__echo"]
    for front, name in ((first, "alpha.echo"), (second, "alpha__echo")):
        call = front.calls(name)
        two.alpha.is_called("echo").returns(text("x"))
        call.gets(text("x"))
    assert len(two.alpha.channels) == 1


def test_each_hears_of_a_list_that_its_server_announces_as_changed(two: Two) -> None:
    """Both, though only the second sees descriptions in full."""
    first, second = two.open(BY_NAME["claude-code"])
    for front in (first, second):
        _listens(front)
        front.asks("tools/list").result()
    two.alpha.tools = [tool("echo", "Say it again. And again.")]
    two.alpha.changes("tools")
    two.pair.after(1)
    for front in (first, second):
        front.hears("notifications/tools/list_changed")


def test_each_hears_of_a_list_that_differs_for_it_after_a_restart(two: Two) -> None:
    """The second sees descriptions in full: only for it does the end of one make a difference."""
    two.alpha.tools = [tool("echo", "Say it again. And again.")]
    first, second = two.open(BY_NAME["claude-code"])
    for front in (first, second):
        _listens(front)
        front.asks("tools/list").result()
    two.alpha.tools = [tool("echo", "Say it again. And again, but louder.")]
    two.alpha.exits(1)
    two.pair.after(10)
    second.hears("notifications/tools/list_changed")
    first.hears_nothing()


def test_a_client_that_joins_while_a_server_starts_gets_its_tools(two: Two) -> None:
    two.alpha.starts_slowly(2)
    first = two.first
    if not first.is_modern:
        first.initializes()
    waiting = first.asks("tools/list")
    second = two.second = two.pair.joined_by(two._second)
    if not second.is_modern:
        second.initializes()
    call = second.calls("alpha.echo")
    two.pair.after(3)
    assert "alpha.echo" in names(waiting.result()["tools"])
    two.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_a_client_that_leaves_waits_for_no_list(two: Two) -> None:
    two.alpha.starts_slowly(2)
    if not two.first.is_modern:
        two.first.initializes()
    waiting = two.first.asks("tools/list")
    second = two.second = two.pair.joined_by(two._second)
    if not second.is_modern:
        second.initializes()
    lists, call = second.asks("tools/list"), second.calls("alpha.echo")
    two.leaves()
    for ended in (lists, call):
        ended.is_over()
    two.pair.after(3)
    assert "alpha.echo" in names(waiting.result()["tools"])


# Calls


def test_answers_and_progress_reach_the_client_that_called(two: Two) -> None:
    """Both use the same ids and progress tokens."""
    calls = []
    for front in two.open():
        front._ids = 100
        call = front.calls("alpha.echo", token="t")
        calls.append((front, call, two.alpha.is_called("echo")))
    for front, _, served in calls:
        served.reports(1)
        front.hears("notifications/progress", progressToken="t", progress=1)
    for number, (_, call, served) in enumerate(calls):
        served.returns(text(f"{number}"))
        call.gets(text(f"{number}"))


def test_a_cancellation_reaches_the_call_of_the_client_that_cancelled(two: Two) -> None:
    calls = []
    for front in two.open():
        front._ids = 100
        calls.append((front.calls("alpha.echo"), two.alpha.is_called("echo")))
    (kept, kept_at_alpha), (cancelled, cancelled_at_alpha) = calls
    cancelled.cancels("enough")
    cancelled_at_alpha.is_cancelled("enough")
    kept_at_alpha.returns(text("x"))
    kept.gets(text("x"))


def test_a_client_that_leaves_ends_its_own_calls_only(two: Two) -> None:
    first, second = two.open()
    kept, kept_at_alpha = first.calls("alpha.echo"), two.alpha.is_called("echo")
    ended, ended_at_alpha = second.calls("alpha.echo"), two.alpha.is_called("echo")
    two.leaves()
    ended.is_over()
    ended_at_alpha.is_cancelled()
    kept_at_alpha.returns(text("x"))
    kept.gets(text("x"))
    two.alpha.tools = []
    two.alpha.changes("tools")
    two.pair.after(1)
    if not first.is_modern:
        first.hears("notifications/tools/list_changed")


# Questions


def test_a_question_reaches_the_client_whose_call_it_belongs_to(two: Two) -> None:
    for front in two.open(elicitation={}):
        call = front.calls("alpha.greet")
        two.alpha.is_called("greet")
        two.alpha.asks(who=elicit("Your name?"))
        call.is_asked(elicit("Your name?")).answers(accept(name=front.name))
        two.alpha.gets(who=accept(name=front.name))
        two.alpha.returns(text("hello"))
        call.gets(text("hello"))


@_in(*product(ERAS, ["modern"]))
def test_questions_of_modern_servers_cross_in_no_order(two: Two) -> None:
    fronts = two.open(elicitation={})
    calls = [(front, front.calls("alpha.greet"), two.alpha.is_called("greet")) for front in fronts]
    for front, call, served in calls:
        served.asks(who=elicit(f"{front.name}?"))
        call.is_asked(elicit(f"{front.name}?")).answers(accept(name=front.name))
        served.gets(who=accept(name=front.name))
    for front, call, served in reversed(calls):
        served.returns(text(front.name))
        call.gets(text(front.name))


@legacy_backend
def test_a_question_that_may_belong_to_either_client_is_refused(two: Two) -> None:
    """A legacy server does not say which call it asks in."""
    calls = [(front.calls("alpha.greet"), two.alpha.is_called("greet")) for front in two.open(elicitation={})]
    two.alpha.says(id="who", **elicit("Your name?"))
    refused = two.alpha.next()
    assert (refused.id, refused.body["error"]["code"]) == ("who", -32600)
    for call, served in calls:
        served.returns(text("hello"))
        call.gets(text("hello"))


@legacy_backend
def test_a_client_that_leaves_answers_the_question_it_was_asked(two: Two) -> None:
    _, second = two.open(elicitation={})
    call = second.calls("alpha.greet")
    two.alpha.is_called("greet")
    two.alpha.asks(who=elicit("Your name?"))
    call.is_asked(elicit("Your name?"))
    two.leaves()
    if not second.is_modern:
        call.is_over()
    heard = [two.alpha.next() for _ in range(len(two.alpha.inbox))]
    assert any(said.id == "who" and "error" in said.body for said in heard)
    assert any(said.method == "notifications/cancelled" for said in heard)


# News


# A message of a legacy server is for no client once several have called: `test_isolation`.
@pytest.mark.parametrize("two", _params(("legacy", "modern"), beside=[False]), indirect=True)
def test_a_log_message_reaches_the_client_whose_call_it_belongs_to(two: Two) -> None:
    two.alpha.logs = True
    first, second = two.open()
    first.asks("logging/setLevel", {"level": "debug"}).result()
    for front, other in ((first, second), (second, first)):
        call = front.calls("alpha.echo", meta={LOG_LEVEL: "debug"} if front.is_modern else None)
        served = two.alpha.is_called("echo")
        two.alpha.notifies("notifications/message", level="warning", data="w")
        front.hears("notifications/message", level="warning", data="w")
        other.hears_nothing()
        served.returns(text("x"))
        call.gets(text("x"))


@all_legacy
def test_each_gets_the_log_messages_that_it_wants(two: Two) -> None:
    two.alpha.logs = True
    first, second = two.open()
    third = two.pair.joined_by(NEWEST_LEGACY)
    third.opens()
    second.asks("logging/setLevel", {"level": "debug"}).result()
    first.asks("logging/setLevel", {"level": "error"}).result()
    set_to = [said.params["level"] for said in two.alpha.heard if said.method == "logging/setLevel"]
    assert set_to == ["debug", "debug"], "the most verbose that any of them wants"
    for level, hearing in (("debug", [second]), ("info", [second, third]), ("error", [first, second, third])):
        two.alpha.notifies("notifications/message", level=level, data=level)
        for front in hearing:
            front.hears("notifications/message", level=level, data=level)
    two.leaves()
    assert two.alpha.heard[-1].params == {"level": "error"}


def test_updates_reach_who_subscribed_and_the_server_is_told_when_the_last_one_leaves(two: Two) -> None:
    two.alpha.resources = [NOTE]
    two.alpha.on("resources/subscribe", lambda back, said: back.answer(said.id, {}))
    two.alpha.on("resources/unsubscribe", lambda back, said: back.answer(said.id, {}))
    first, second = two.open()
    subscriptions = {}
    for front in (first, second):
        if front.is_modern:
            listen = {"notifications": {"resourceSubscriptions": ["note://one"]}}
            subscriptions[front] = front.asks("subscriptions/listen", listen)
            front.hears("notifications/subscriptions/acknowledged")
        else:
            front.asks("resources/subscribe", {"uri": "note://one"}).gets({})
        two.alpha.updates("note://one")
        for hearing in (first, second) if front is second else (first,):
            hearing.hears("notifications/resources/updated", uri="note://one")
        two.pair.nothing_is_left()
    if first.is_modern:
        subscriptions[first].cancels()
    else:
        first.asks("resources/unsubscribe", {"uri": "note://one"}).gets({})
    assert _is_watched(two)
    two.alpha.updates("note://one")
    second.hears("notifications/resources/updated", uri="note://one")
    two.leaves()
    second.inbox.clear()  # a modern subscription is answered when it ends
    assert not _is_watched(two)


def _is_watched(two: Two) -> bool:
    if two.alpha.is_modern:
        return any(wanted.get("resourceSubscriptions") for wanted in two.alpha.listening.values())
    return "resources/unsubscribe" not in two.alpha.methods()


@all_legacy
def test_tasks_belong_to_the_client_that_made_them(two: Two) -> None:
    capabilities: Json = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    two.alpha.more_capabilities = {"tasks": capabilities}
    first, second = two.open()
    call = first.asks("tools/call", {"name": "alpha.echo", "arguments": {}, "task": {}})
    two.alpha.is_called("echo").returns({"task": TASK})
    call.gets({"task": TASK})
    two.alpha.notifies("notifications/tasks/status", **TASK)
    assert first.hears("notifications/tasks/status").params == TASK
    two.alpha.notifies("notifications/tasks/status", **{**TASK, "taskId": "of-no-client"})
    two.pair.nothing_is_left()
    second.asks("tasks/get", {"taskId": "t-1"}).fails(-32602, "Task not found: t-1")
    for front, listed in ((second, []), (first, [TASK])):
        listing = front.asks("tasks/list")
        two.alpha.receives("tasks/list").returns({"tasks": [TASK]})
        listing.gets({"tasks": listed})


@all_legacy
def test_the_end_of_an_elicitation_reaches_the_client_that_was_asked(two: Two) -> None:
    _, second = two.open(elicitation={"form": {}, "url": {}})
    call = second.calls("alpha.greet")
    served = two.alpha.is_called("greet")
    two.alpha.says(id="u", method="elicitation/create", params=URL)
    asked = second.next()
    second.says(id=asked.id, result={"action": "accept"})
    two.alpha.next()
    two.alpha.notifies("notifications/elicitation/complete", elicitationId="e-1")
    second.hears("notifications/elicitation/complete")
    two.first.hears_nothing()
    served.returns(text("x"))
    call.gets(text("x"))
