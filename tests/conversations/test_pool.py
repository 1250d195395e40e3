"""Clients that share servers: which of them get the same one, and what each notices."""

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conversations.front import Asked, Front
from conversations.pair import CONFIGURATION_FOLDER, Pair
from conversations.pair import KEEPS_NOTHING as ROW
from conversations.words import (
    CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    MODERN,
    NEWEST_LEGACY,
    ROOTS,
    Json,
    elicit,
    names,
    roots,
    sample,
    text,
)
from search_mcp.pool.pooled_server import LINGER_SECONDS
from search_mcp.pool.turns import WINDOW

KEEPS_NOTHING = f"it is known to keep nothing between calls, because {ROW.why}"
ANY_CLIENT: Json = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}},
}
NOTE: Json = {"uri": "note://one", "name": "one"}


@pytest.fixture
def pool(request: pytest.FixtureRequest, is_beside_a_busy_client: bool, tmp_path: Path) -> Iterator[Pair]:
    """A pool whose server was started before, so that its revision is known."""
    front, back = request.param if isinstance(request.param, tuple) else (request.param, request.param)
    with Pair(front, back, is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        pair.is_pooled = True
        pair.was_here_before(tmp_path)
        pair.commands.clear()
        yield pair
        pair.nothing_is_left()


def _of(revision: str | tuple[str, str], era: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("pool", [revision], indirect=True, ids=[era])


legacy = _of(NEWEST_LEGACY, "legacy")
modern = _of(MODERN, "modern")
legacy_modern = _of((NEWEST_LEGACY, MODERN), "legacy+modern")
modern_legacy = _of((MODERN, NEWEST_LEGACY), "modern+legacy")
both = pytest.mark.parametrize("pool", [NEWEST_LEGACY, MODERN], indirect=True, ids=["legacy", "modern"])


def _joins(pair: Pair, capabilities: Json | None = None, **world: Any) -> Front:
    """Let another client of the same era open."""
    front = pair.joined_by(pair.front.revision, **world)
    front.opens(**(capabilities or {}))
    return front


def _two(pair: Pair, capabilities: Json | None = None, **world: Any) -> tuple[Front, Front]:
    pair.front.opens()
    return pair.front, _joins(pair, capabilities, **world)


def _running(pair: Pair) -> int:
    return sum(not channel.has_ended() for channel in pair.alpha.channels)


def _paused(pair: Pair) -> list[bool]:
    return [channel.paused for channel in pair.alpha.channels]


def _accepts_subscriptions(pair: Pair) -> None:
    for method in ("resources/subscribe", "resources/unsubscribe"):
        pair.alpha.on(method, lambda back, said: back.answer(said.id, {}))


# Which clients share


@modern
def test_clients_share_a_modern_server(pool: Pair) -> None:
    first, second = _two(pool)
    assert pool.each_calls(first, second) == [1000, 1000]
    assert names(first.tools) == names(second.tools)
    assert pool.alpha.methods().count("tools/list") == 1


@legacy
def test_each_client_has_a_legacy_server_of_its_own(pool: Pair) -> None:
    first, second = _two(pool)
    assert pool.each_calls(first, second) == [1000, 1001]


@legacy
def test_clients_share_a_legacy_server_if_its_entry_says_so(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    assert pool.each_calls(*_two(pool)) == [1000, 1000]


@modern
def test_clients_do_not_share_a_server_if_its_entry_forbids_it(pool: Pair) -> None:
    pool.alpha.config = {"share": False}
    assert pool.each_calls(*_two(pool)) == [1000, 1001]


@modern
@pytest.mark.parametrize("world", [{"variables": {"TZ": "UTC"}}, {"folder": "/elsewhere"}], ids=str)
def test_clients_do_not_share_a_server_that_is_started_differently(pool: Pair, world: Json) -> None:
    assert pool.each_calls(*_two(pool, **world)) == [1000, 1001]


@modern
def test_clients_share_a_server_that_is_not_given_the_difference(pool: Pair) -> None:
    assert pool.each_calls(*_two(pool, variables={"SECRET": "x"})) == [1000, 1000]


@legacy_modern
def test_clients_of_all_revisions_share_a_modern_server(pool: Pair) -> None:
    pool.front.opens()
    others = [pool.joined_by(revision) for revision in ("2025-06-18", "2024-11-05", MODERN)]
    for front in others:
        front.opens(elicitation={})
    assert pool.each_calls(pool.front, *others) == [1000] * 4
    assert pool.alpha.methods().count("initialize") == 0


@legacy_modern
def test_a_shared_modern_server_is_told_of_the_client_of_each_call(pool: Pair) -> None:
    declared: list[Json] = [{}, {"elicitation": {"url": {}}}]
    first, second = _two(pool, declared[1])
    for front, capabilities in zip((first, second), declared, strict=True):
        call, served = front.calls("alpha.echo"), pool.alpha.is_called("echo")
        meta = served.said.meta
        assert (meta[CAPABILITIES], meta[CLIENT_INFO], meta[LOG_LEVEL]) == (capabilities, front.info, "debug")
        served.returns(text("x"))
        call.gets(text("x"))
    listed = next(said for said in pool.alpha.heard if said.method == "tools/list")
    assert listed.meta[CLIENT_INFO]["name"] == "search-mcp"
    assert listed.meta[CAPABILITIES] == ANY_CLIENT


@legacy
def test_clients_of_all_revisions_share_a_legacy_server_that_is_opened_for_any_of_them(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    pool.front.opens(elicitation={})
    second = pool.joined_by("2025-06-18")
    second.opens()
    third = pool.joined_by(MODERN)
    assert pool.each_calls(pool.front, second, third) == [1000] * 3
    (opened,) = [said for said in pool.alpha.heard if said.method == "initialize"]
    assert opened.params["protocolVersion"] == NEWEST_LEGACY
    assert opened.params["capabilities"] == ANY_CLIENT
    assert opened.params["clientInfo"]["name"] == "search-mcp"


@both
def test_an_entry_that_is_shared_runs_in_the_folder_of_the_configuration(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    assert pool.each_calls(*_two(pool, folder="/elsewhere")) == [1000, 1000]
    assert [command.cwd for command in pool.commands] == [CONFIGURATION_FOLDER]


@legacy
def test_a_server_of_one_client_runs_in_the_folder_of_the_client(pool: Pair) -> None:
    _two(pool, folder="/elsewhere")
    assert [command.cwd for command in pool.commands] == [None, "/elsewhere"]


def _serves(pair: Pair, calls: dict[str, Asked]) -> None:
    """Answer one call of each client, by the process that was given it."""
    for _ in calls:
        served = pair.alpha.receives("tools/call")
        pair.alpha.speaks_as(pair.alpha.channel_of(served.said))
        by = served.said.params["arguments"]["by"]
        served.returns(text(by))
        calls[by].gets(text(by))


@modern
def test_clients_that_open_during_its_start_share_a_server(pool: Pair) -> None:
    pool.alpha.starts_slowly(2)
    calls = {}
    for number in range(3):
        front = pool.joined_by(pool.front.revision) if number else pool.front
        calls[front.name] = front.calls("alpha.echo", by=front.name)
    pool.after(5)
    assert len(pool.alpha.channels) == 1
    _serves(pool, calls)


# What each notices


@modern
def test_a_client_that_joins_gets_the_lists_that_are_known(pool: Pair) -> None:
    pool.alpha.config = {"startup": "eager"}
    pool.front.opens()
    pool.alpha.on("tools/list", lambda _back, _said: None)
    second = _joins(pool)
    assert "alpha.echo" in names(second.tools)


@both
def test_calls_of_all_clients_end_with_the_server_and_it_starts_once(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    fronts = _two(pool)
    calls = [(front.calls("alpha.echo"), pool.alpha.is_called("echo")) for front in fronts]
    pool.alpha.exits(1)
    for call, served in calls:
        assert call.fails(-32000).body["error"]["data"]["mayHaveRun"] is True
        pool.alpha._open.remove(served)
    pool.after(10)
    assert len(pool.alpha.channels) == 2
    assert len(set(pool.each_calls(*fronts))) == 1


@modern
def test_an_edit_starts_a_shared_server_once_and_ends_the_one_before(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    fronts = _two(pool)
    pool.alpha.config = {"share": True, "env": {"A": "1"}}
    pool.edit()
    pool.after(1)
    assert len(pool.alpha.channels) == 2
    assert _running(pool) == 1
    assert pool.each_calls(*fronts) == [1001, 1001]


@both
def test_an_edit_of_share_takes_effect(pool: Pair) -> None:
    pool.alpha.config = {"share": False}
    fronts = _two(pool)
    pool.alpha.config = {"share": True}
    pool.edit()
    pool.after(1)
    assert _running(pool) == 1
    assert len(set(pool.each_calls(*fronts))) == 1


@legacy
def test_a_question_of_a_shared_server_outside_of_any_call_is_refused(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    pool.front.opens(elicitation={})
    pool.alpha.says(id="q", **elicit("Who?"))
    refused = pool.alpha.next()
    assert (refused.id, refused.body["error"]["code"]) == ("q", -32601)


URL: Json = {"mode": "url", "message": "m", "url": "https://example.com", "elicitationId": "1"}
TOOLS: Json = {**sample("x")["params"], "tools": []}


@pytest.mark.parametrize(
    ("declared", "question", "code"),
    [
        ({}, elicit("Who?"), -32601),
        ({"elicitation": {}}, {"method": "elicitation/create", "params": URL}, -32602),
        ({"elicitation": {}}, sample("x"), -32601),
        ({"sampling": {}}, {"method": "sampling/createMessage", "params": TOOLS}, -32602),
        ({"elicitation": {}}, elicit("Who?"), None),
        ({"elicitation": {"url": {}}}, {"method": "elicitation/create", "params": URL}, None),
        ({"sampling": {"tools": {}}}, {"method": "sampling/createMessage", "params": TOOLS}, None),
    ],
)
@legacy
def test_a_question_of_a_shared_server_is_refused_as_its_own_client_would(
    pool: Pair, declared: Json, question: Json, code: int | None
) -> None:
    pool.alpha.config = {"share": True}
    pool.front.opens(**declared)
    call, served = pool.front.calls("alpha.echo"), pool.alpha.is_called("echo")
    pool.alpha.says(id="q", **question)
    if code is None:
        asked = pool.front.next()
        assert asked.method == question["method"]
        pool.front.says(id=asked.id, error={"code": -1, "message": "no"})
    answer = next(said for said in pool.alpha.inbox if said.id == "q")
    assert answer.body["error"]["code"] == (code or -1)
    pool.alpha.inbox.clear()
    served.returns(text("x"))
    call.gets(text("x"))


@legacy
def test_a_shared_server_gets_no_roots(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    pool.front.opens(roots={"listChanged": True})
    opened = next(said for said in pool.alpha.heard if said.method == "initialize")
    assert "roots" not in opened.params["capabilities"]
    pool.front.notifies("notifications/roots/list_changed")
    _joins(pool, {"roots": {}})
    call, served = pool.front.calls("alpha.echo"), pool.alpha.is_called("echo")
    pool.alpha.says(id="r", **ROOTS)
    refused = next(said for said in pool.alpha.inbox if said.id == "r")
    assert refused.body["error"]["code"] == -32600
    pool.alpha.inbox.clear()
    served.returns(text("x"))
    call.gets(text("x"))


@legacy
def test_a_server_of_one_client_gets_its_roots(pool: Pair) -> None:
    pool.front.opens(roots={"listChanged": True})
    second = _joins(pool, {"roots": {"listChanged": True}})
    call, served = second.calls("alpha.echo"), pool.alpha.is_called("echo")
    pool.alpha.says(id="r", **ROOTS)
    asked = second.next()
    assert asked.method == "roots/list"
    second.says(id=asked.id, result=roots("file:///x"))
    assert pool.alpha.next().body["result"] == roots("file:///x")
    second.notifies("notifications/roots/list_changed")
    pool.alpha.hears("notifications/roots/list_changed")
    served.returns(text("x"))
    call.gets(text("x"))


@both
def test_a_client_that_leaves_before_the_server_of_an_edit_starts_leaves_nothing(pool: Pair) -> None:
    pool.alpha.config = {"share": False}
    first, second = _two(pool)
    pool.alpha.channels[1].stop_seconds = 5.0
    pool.alpha.config = {"share": False, "env": {"A": "1"}}
    pool.edit()
    pool.left_by(second, seconds=6)
    second.inbox.clear()
    pool.after(10)
    assert len(pool.alpha.channels) == 3
    assert pool.each_calls(first) == [1002]


# The era in which a server is asked for first


@pytest.mark.parametrize("pair", [("2025-03-26", "2025-03-26")], indirect=True)
def test_a_legacy_server_of_one_client_is_opened_in_the_revision_of_the_client(pair: Pair) -> None:
    pair.is_pooled = True
    pair.front.opens(roots={})
    (opened,) = [said for said in pair.alpha.heard if said.method == "initialize"]
    assert opened.params["protocolVersion"] == "2025-03-26"
    assert opened.params["capabilities"] == {"roots": {}}
    assert opened.params["clientInfo"] == pair.front.info


@pytest.mark.parametrize("config", [{"share": False}, {"protocol": NEWEST_LEGACY}], ids=str)
@legacy
def test_it_is_not_asked_for_the_modern_era_if_its_entry_says_so(pool: Pair, config: Json) -> None:
    pool.alpha.config = config
    pool.alpha.heard.clear()
    pool.front.opens()
    assert pool.alpha.methods()[0] == "initialize"


# Reports


def _sharing(front: Front) -> list[str]:
    result = front.calls("list_servers").result()
    (server,) = result["structuredContent"]["servers"]
    assert server["sharing"] in result["content"][0]["text"]
    sharing: str = server["sharing"]
    return sharing.split(": ", 1)


@modern
def test_list_servers_says_who_shares_a_server_and_why(pool: Pair) -> None:
    pool.front.opens()
    assert _sharing(pool.front) == ["can be shared", KEEPS_NOTHING]
    second = _joins(pool)
    assert _sharing(second) == ["shared by 2 clients", KEEPS_NOTHING]


@modern
def test_list_servers_says_that_a_shared_server_has_two_processes(pool: Pair) -> None:
    first, second = _two(pool, variables={"TZ": "UTC"})
    assert _sharing(first) == _sharing(second) == ["shared by the clients with the same folder and variables"]


@modern
def test_two_processes_that_wait_for_a_client_say_that_they_are_two(pool: Pair) -> None:
    pool.front.opens()
    for folder in ("/a", "/b"):
        pool.left_by(_joins(pool, folder=folder))
    servers = pool.pool
    assert servers is not None
    apart = "shared by the clients with the same folder and variables"
    assert list(map(servers.describe_sharing, servers.servers)) == [f"can be shared: {KEEPS_NOTHING}", apart, apart]


@legacy
def test_list_servers_says_why_a_server_is_not_shared(pool: Pair) -> None:
    first, second = _two(pool)
    why = 'it is not known to keep nothing between calls; "share": true changes that'
    assert _sharing(first) == _sharing(second) == ["one for each client", why]


# Ends


@legacy
def test_a_server_of_one_client_ends_with_it(pool: Pair) -> None:
    first, second = _two(pool)
    pool.left_by(second)
    pool.others.remove(second)
    assert [channel.has_ended() for channel in pool.alpha.channels] == [False, True]
    assert pool.each_calls(first) == [1000]


@modern
def test_a_shared_server_goes_on_for_a_while_without_a_client(pool: Pair) -> None:
    pool.with_server("beta", MODERN, share=False)
    first, second = _two(pool, variables={"TZ": "UTC"})
    assert _running(pool) == 2
    pool.left_by(second)
    assert _running(pool) == 2
    pool.after(LINGER_SECONDS - 1)
    third = _joins(pool, variables={"TZ": "UTC"})
    assert pool.each_calls(first, third) == [1000, 1001]
    pool.left_by(third)
    pool.after(LINGER_SECONDS + 1)
    assert [channel.has_ended() for channel in pool.alpha.channels] == [False, True]


@modern
def test_a_shared_server_that_exits_without_a_client_is_not_started_again(pool: Pair) -> None:
    _, second = _two(pool, variables={"TZ": "UTC"})
    pool.left_by(second)
    pool.alpha.channels[1].exit(1, "")
    pool.after(60)
    assert len(pool.alpha.channels) == 2


@both
def test_nothing_of_a_client_that_left_is_kept(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    pool.alpha.resources = [NOTE]
    _accepts_subscriptions(pool)
    first, second = _two(pool)
    for front in (first, second):
        front.watches("note://one")
    gateway = weakref.ref(pool.gateway_of(second))
    pool.each_calls(first, second)
    pool.left_by(second)
    second.inbox.clear()
    pool.after(1)  # timers that refer to it have expired
    gc.collect()
    assert gateway() is None
    pool.alpha.listening.clear()
    pool.alpha.exits(1)
    pool.after(10)
    assert pool.alpha.watched()[-1] == "note://one", "the first client is still subscribed"
    pool.alpha.updates("note://one")
    first.hears("notifications/resources/updated", uri="note://one")


@both
@pytest.mark.parametrize("is_last", [False, True], ids=["one of two", "the last"])
def test_the_subscriptions_of_a_client_that_is_cut_off_end(pool: Pair, is_last: bool) -> None:
    pool.alpha.config = {"share": True}
    pool.alpha.resources = [NOTE]
    _accepts_subscriptions(pool)
    _, second = _two(pool)
    if is_last:
        pool.alpha.config = {"share": False}
        pool.edit_of(pool.front)
    second.watches("note://one")
    pool.cut_off(second)
    pool.after(1)
    second.inbox.clear()
    if pool.front.is_modern:
        assert not any(wanted.get("resourceSubscriptions") for wanted in pool.alpha.listening.values())
    else:
        assert pool.alpha.methods()[-1] == "resources/unsubscribe"


# Edits while calls wait


@both
def test_calls_that_wait_for_their_turn_go_to_the_server_of_the_edited_entry(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    first, _ = _two(pool)
    calls = [first.calls("alpha.echo", by=str(number)) for number in range(WINDOW + 2)]
    pool.alpha.inbox.clear()
    pool.alpha.config = {"share": True, "env": {"A": "1"}}
    pool.edit()
    pool.after(1)
    for call in calls[:WINDOW]:
        assert call.fails(-32000).body["error"]["data"]["mayHaveRun"] is True
    calls.pop().cancels()
    (call,) = calls[WINDOW:]
    served = pool.alpha.receives("tools/call")
    served.returns(text("x"))
    call.gets(text("x"))
    pool.alpha.inbox.clear()  # the cancelled one, and its cancellation


@both
def test_subscriptions_of_all_clients_outlive_a_server_that_is_switched_off_and_on(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    pool.alpha.resources = [NOTE]
    _accepts_subscriptions(pool)
    fronts = _two(pool)
    for front in fronts:
        front.watches("note://one")
    for enabled in (False, True):
        pool.alpha.config = {"share": True, "enabled": enabled}
        pool.edit()
        pool.after(1)
    pool.alpha.listening = {key: on for key, on in pool.alpha.listening.items() if "resourceSubscriptions" in on}
    for front in fronts:
        front.inbox.clear()
    pool.alpha.updates("note://one")
    for front in fronts:
        front.hears("notifications/resources/updated", uri="note://one")
        front.inbox.clear()


@both
def test_calls_that_wait_for_a_removed_server_are_refused(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    pool.with_server("beta", pool.front.revision)
    first, _ = _two(pool)
    calls = [first.calls("alpha.echo", by=str(number)) for number in range(WINDOW + 1)]
    pool.alpha.inbox.clear()
    pool.alpha.config = {"share": True, "enabled": False}
    pool.edit()
    pool.after(1)
    for front in (first, *pool.others):
        front.inbox = [said for said in front.inbox if said.method != "notifications/tools/list_changed"]
    errors = {said.id: said.body["error"]["data"] for said in first.inbox}
    first.inbox.clear()
    for call in calls:
        call.is_over()
    assert [errors[call.id].get("mayHaveRun") for call in calls] == [True] * WINDOW + [None]


# Fairness


@both
def test_a_flood_of_one_client_goes_to_the_server_in_turns(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    first, second = _two(pool)
    calls = [first.calls("alpha.echo", by=str(number)) for number in range(3 * WINDOW)]
    assert len(pool.alpha.inbox) == WINDOW
    other = second.calls("alpha.greet")
    assert pool.alpha.inbox.pop().params["name"] == "greet", "it is behind one window, not behind the whole flood"
    calls.pop(0).cancels()  # with the server
    calls.pop(-1).cancels()  # still waiting
    pool.alpha.inbox = [said for said in pool.alpha.inbox if said.method == "tools/call"][1:]
    for call in calls:
        served = pool.alpha.receives("tools/call")
        served.returns(text(served.said.params["arguments"]["by"]))
        call.gets(text(call.params["arguments"]["by"]))
    other.cancels()
    pool.alpha.inbox.clear()


@both
def test_calls_that_end_only_with_a_later_one_do_not_block_it(pool: Pair) -> None:
    pool.alpha.config = {"share": True}
    first, _ = _two(pool)
    calls = [first.calls("alpha.echo", by=str(number)) for number in range(2 * WINDOW + 1)]
    assert len(pool.alpha.inbox) == WINDOW
    pool.after(1)
    assert len(pool.alpha.inbox) == len(calls)
    served = [pool.alpha.receives("tools/call") for _ in calls]
    for each in reversed(served):
        each.returns(text("x"))
    for call in reversed(calls):
        call.gets(text("x"))


@both
def test_a_client_that_does_not_read_delays_no_other(pool: Pair) -> None:
    """It gets the newest news of each subject when it reads again, and no progress from before."""
    pool.alpha.config = {"share": True}
    pool.alpha.resources = [NOTE]
    _accepts_subscriptions(pool)
    first, second = _two(pool)
    for front in (first, second):
        front.watches("note://one")
    call, served = second.calls("alpha.echo", token="t"), pool.alpha.is_called("echo")
    pool.stops_reading(second)
    assert _paused(pool) == [False]
    for number in range(5):
        served.reports(number)
        pool.alpha.updates("note://one")
        first.hears("notifications/resources/updated", uri="note://one")
    second.hears_nothing()
    assert pool.each_calls(first) == [1000]
    pool.stops_reading(first)
    assert _paused(pool) == [True], "no client reads"
    pool.reads_on(second)
    assert _paused(pool) == [False]
    second.hears("notifications/resources/updated", uri="note://one")
    pool.reads_on(first)
    served.reports(9)
    second.hears("notifications/progress", progressToken="t", progress=9)
    served.returns(text("x"))
    call.gets(text("x"))


@legacy
def test_a_server_of_a_client_that_does_not_read_is_not_read(pool: Pair) -> None:
    _, second = _two(pool)
    pool.stops_reading(second)
    assert _paused(pool) == [False, True]
    pool.reads_on(second)
    assert _paused(pool) == [False, False]


@modern
def test_a_client_that_leaves_while_it_does_not_read_lets_the_server_be_read(pool: Pair) -> None:
    first, second = _two(pool)
    pool.stops_reading(first)
    assert _paused(pool) == [False]
    pool.left_by(second)
    assert _paused(pool) == [True]
    pool.reads_on(first)
    assert _paused(pool) == [False]
