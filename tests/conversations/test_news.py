"""Notifications of backends: changed lists, updated resources, log messages."""

import pytest

from conversations.back import Back, answers, exits, leaves_to_the_test, refuses
from conversations.eras import (
    legacy_client,
    legacy_legacy,
    modern_client,
)
from conversations.front import Asked
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import ECHO, GREET, LOG_LEVEL, OWN_TOOLS, SUBSCRIPTION, WITH_CALL_TOOL, Json, names, text
from search_mcp.wire.payload import SMALL_BYTES

EVERYTHING: Json = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
TOLD = 1.0
"""Time after which all coalesced notifications have been sent."""


def listens(pair: Pair, **wanted: object) -> Asked | None:
    """Subscribe to changes; a legacy client needs no request for that."""
    if not pair.front.is_modern:
        return None
    listening = pair.front.asks("subscriptions/listen", {"notifications": wanted or EVERYTHING})
    pair.front.hears("notifications/subscriptions/acknowledged")
    return listening


# list_changed


def test_a_changed_list_is_told_of_once_and_is_new(pair: Pair) -> None:
    pair.front.opens()
    listens(pair)
    pair.alpha.tools = [GREET]
    pair.alpha.changes("tools")
    pair.after(TOLD)
    pair.front.hears("notifications/tools/list_changed")
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", *OWN_TOOLS]


def test_many_changes_of_many_backends_are_one(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.front.opens()
    listens(pair)
    for back in (pair.alpha, beta):
        for tools in ([GREET], [], [ECHO]):
            back.tools = tools
            back.changes("tools")
    pair.front.hears_nothing()
    pair.after(TOLD)
    pair.front.hears("notifications/tools/list_changed")
    pair.after(TOLD)
    pair.front.hears_nothing()


@pytest.mark.parametrize("what", ["tools", "prompts", "resources"])
def test_a_change_that_a_server_announces_is_passed_on_though_its_list_reads_as_before(pair: Pair, what: str) -> None:
    """Once for a burst: it may mean something that the list does not show."""
    pair.alpha.prompts, pair.alpha.resources = [{"name": "a"}], [{"uri": "x://1", "name": "x"}]
    pair.front.opens()
    listens(pair)
    for _ in range(3):
        pair.alpha.changes(what)
    pair.front.hears_nothing()
    pair.after(TOLD)
    pair.front.hears(f"notifications/{what}/list_changed")
    pair.front.hears_nothing()
    pair.alpha.changes(what)
    pair.after(TOLD)
    pair.front.hears(f"notifications/{what}/list_changed")


def test_one_announcement_about_two_lists_is_passed_on_once_however_late_the_second_is_read(pair: Pair) -> None:
    pair.alpha.resources, pair.alpha.templates = (
        [{"uri": "x://1", "name": "x"}],
        [{"uriTemplate": "x://{a}", "name": "x"}],
    )
    pair.front.opens()
    listens(pair)
    pair.alpha.on("resources/templates/list", leaves_to_the_test)
    for _ in range(2):
        pair.alpha.changes("resources")
        pair.after(TOLD)
        pair.front.hears_nothing()
        pair.alpha.receives("resources/templates/list").returns({"resourceTemplates": pair.alpha.templates})
        pair.after(TOLD)
        pair.front.hears("notifications/resources/list_changed")
        pair.after(TOLD)
        pair.front.hears_nothing()


def test_a_list_that_cannot_be_read_is_reported_once(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    pair.alpha.prompts = [{"name": "a"}]
    pair.alpha.on("prompts/list", refuses(-32603, "not now"))
    pair.front.opens()
    for _ in range(3):
        pair.alpha.changes("prompts")
        pair.after(TOLD)
    pair.front.inbox.clear()
    assert caplog.text.count("its list of prompts could not be read: not now") == 1


def test_in_search_mode_a_change_that_a_server_announces_is_passed_on_too(pair: Pair) -> None:
    pair.settings = {"listing": "search"}
    pair.front.opens()
    listens(pair)
    pair.alpha.tools = []
    pair.alpha.changes("tools")
    pair.after(TOLD)
    pair.front.hears("notifications/tools/list_changed")


def test_an_announced_change_is_passed_on_after_the_list_was_read_again(pair: Pair) -> None:
    """So that a client that lists at once gets the new list."""
    pair.front.opens()
    listens(pair)
    pair.alpha.on("tools/list", leaves_to_the_test)
    pair.alpha.changes("tools")
    pair.after(TOLD)
    pair.front.hears_nothing()
    pair.alpha.receives("tools/list").returns({"tools": [GREET]})
    pair.after(TOLD)
    pair.front.hears("notifications/tools/list_changed")
    assert names(pair.front.asks("tools/list").result()["tools"])[0] == "alpha.greet"


def test_an_announced_change_is_passed_on_though_the_list_cannot_be_read(pair: Pair) -> None:
    pair.alpha.prompts = [{"name": "a"}]
    pair.front.opens()
    listens(pair)
    pair.alpha.on("prompts/list", refuses(-32603, "not now"))
    pair.alpha.changes("prompts")
    pair.after(TOLD)
    pair.front.hears("notifications/prompts/list_changed")


def test_a_change_during_the_reading_of_the_list_is_not_lost(pair: Pair) -> None:
    pair.front.opens()
    listens(pair)
    pair.alpha.on("tools/list", leaves_to_the_test)
    pair.alpha.changes("tools")
    reading = pair.alpha.receives("tools/list")
    pair.alpha.changes("tools")
    reading.returns({"tools": [ECHO]})
    pair.alpha.receives("tools/list").returns({"tools": [GREET]})
    pair.after(TOLD)
    pair.front.hears("notifications/tools/list_changed")
    assert names(pair.front.asks("tools/list").result()["tools"])[0] == "alpha.greet"


def test_a_list_that_changes_whenever_it_is_read_is_not_read_for_ever(pair: Pair) -> None:
    def lists_and_tells_of_a_change(back: Back, said: Said) -> None:
        back.lists(said)
        back.changes("tools")

    pair.alpha.on("tools/list", lists_and_tells_of_a_change)
    pair.front.opens()
    pair.after(10)
    assert 10 < pair.alpha.methods().count("tools/list") < 40
    pair.alpha.on("tools/list", Back.lists)
    pair.alpha.tools = [GREET]
    pair.after(2)
    pair.front.inbox.clear()
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", *OWN_TOOLS]


def test_a_restart_with_the_same_tools_is_not_told_of(pair: Pair) -> None:
    pair.front.opens()
    listens(pair)
    pair.alpha.exits(1)
    pair.after(10)
    assert len(pair.alpha.channels) == 2
    pair.front.hears_nothing()


def test_a_restart_with_other_tools_is_told_of(pair: Pair) -> None:
    pair.front.opens()
    listens(pair)
    pair.alpha.tools = [GREET]
    pair.alpha.exits(1)
    pair.after(10)
    pair.front.hears("notifications/tools/list_changed")


def test_tools_that_come_after_the_first_list_are_told_of(pair: Pair) -> None:
    pair.alpha.on("tools/list", leaves_to_the_test)
    if not pair.front.is_modern:
        pair.front.initializes()
    listing = pair.front.asks("tools/list")
    listens(pair)
    pair.after(17.9)
    pair.front.hears_nothing()
    pair.after(0.1)
    assert names(listing.result()["tools"]) == WITH_CALL_TOOL
    pair.alpha.returns({"tools": [GREET]})
    pair.after(TOLD)
    pair.front.hears("notifications/tools/list_changed")


def test_prompts_and_resources_change_alike(pair: Pair) -> None:
    pair.alpha.prompts, pair.alpha.resources = [{"name": "a"}], [{"uri": "x://1", "name": "1"}]
    pair.front.opens()
    for method in ("prompts/list", "resources/list", "resources/templates/list"):
        pair.front.asks(method).result()
    listens(pair)
    pair.alpha.prompts, pair.alpha.templates = [], [{"uriTemplate": "x://{id}", "name": "x"}]
    pair.alpha.changes("prompts")
    pair.alpha.changes("resources")
    pair.after(TOLD)
    pair.front.hears("notifications/prompts/list_changed")
    pair.front.hears("notifications/resources/list_changed")


@legacy_client
def test_an_announced_change_of_what_a_client_never_listed_is_passed_on_too(pair: Pair) -> None:
    pair.alpha.prompts = [{"name": "a"}]
    pair.front.opens()
    pair.alpha.prompts = [{"name": "b"}]
    pair.alpha.changes("prompts")
    pair.after(TOLD)
    pair.front.hears("notifications/prompts/list_changed")


# subscriptions/listen


@modern_client
@pytest.mark.parametrize("identifier", [7, "seven ☃", 0])
def test_a_subscription_is_acknowledged_first_tagged_and_ended_by_its_client(pair: Pair, identifier: int | str) -> None:
    pair.front.opens()
    listening = pair.front.asks("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id=identifier)
    said = pair.front.hears("notifications/subscriptions/acknowledged", notifications={"toolsListChanged": True})
    assert said.meta[SUBSCRIPTION] == identifier
    pair.alpha.tools = [GREET]
    pair.alpha.changes("tools")
    pair.after(TOLD)
    assert pair.front.hears("notifications/tools/list_changed").meta[SUBSCRIPTION] == identifier
    listening.cancels()
    pair.alpha.tools = [ECHO]
    pair.alpha.changes("tools")
    pair.after(TOLD)
    pair.front.hears_nothing()


@modern_client
def test_nobody_is_told_what_it_did_not_ask_for(pair: Pair) -> None:
    pair.alpha.prompts = [{"name": "a"}]
    pair.front.opens()
    pair.front.asks("prompts/list").result()
    listens(pair, promptsListChanged=True, toolsListChanged=False)
    pair.alpha.tools, pair.alpha.prompts = [], []
    pair.alpha.changes("tools")
    pair.alpha.changes("prompts")
    pair.after(TOLD)
    pair.front.hears("notifications/prompts/list_changed")


@modern_client
def test_every_subscription_is_told_under_its_own_id(pair: Pair) -> None:
    pair.front.opens()
    first, second = listens(pair), listens(pair, toolsListChanged=True)
    assert first is not None
    assert second is not None
    pair.alpha.tools = [GREET]
    pair.alpha.changes("tools")
    pair.after(TOLD)
    heard = [pair.front.hears("notifications/tools/list_changed").meta[SUBSCRIPTION] for _ in range(2)]
    assert heard == [first.id, second.id]


@modern_client
def test_a_subscription_without_a_list_before_it_is_told_of_changes_too(pair: Pair) -> None:
    """A client may have its list from a cache, or from another process."""
    listening = pair.front.asks("subscriptions/listen", {"notifications": EVERYTHING})
    pair.front.hears("notifications/subscriptions/acknowledged")
    pair.after(TOLD)
    pair.front.inbox.clear()  # that the first lists are there may be told or not
    pair.alpha.tools = [GREET]
    pair.alpha.changes("tools")
    pair.after(TOLD)
    assert pair.front.hears("notifications/tools/list_changed").meta[SUBSCRIPTION] == listening.id


@modern_client
def test_a_subscription_ends_gracefully_when_we_do(pair: Pair) -> None:
    pair.front.opens()
    listening = listens(pair)
    assert listening is not None
    pair.ends()
    result = listening.result()
    assert result["resultType"] == "complete"
    assert result["_meta"][SUBSCRIPTION] == listening.id


@modern_client
@pytest.mark.parametrize("params", [{}, {"notifications": 7}, {"notifications": {"resourceSubscriptions": 7}}])
def test_a_malformed_subscription_is_refused(pair: Pair, params: Json) -> None:
    pair.front.opens()
    pair.front.asks("subscriptions/listen", params).fails(-32602)


@legacy_client
def test_the_legacy_era_has_no_subscriptions_of_this_kind(pair: Pair) -> None:
    pair.front.opens()
    pair.front.asks("subscriptions/listen", {"notifications": {}}).fails(-32601)


# resources that are watched

NOTE: Json = {"uri": "note://one", "name": "One"}


@legacy_client
def test_a_legacy_client_watches_a_resource(pair: Pair) -> None:
    pair.alpha.resources = [NOTE]
    pair.front.opens()
    watching = pair.front.asks("resources/subscribe", {"uri": "note://one"})
    if not pair.alpha.is_modern:
        pair.alpha.receives("resources/subscribe", uri="note://one").returns({})
    watching.gets({})
    pair.alpha.updates("note://one")
    pair.front.hears("notifications/resources/updated", uri="note://one")
    leaving = pair.front.asks("resources/unsubscribe", {"uri": "note://one"})
    if not pair.alpha.is_modern:
        pair.alpha.receives("resources/unsubscribe", uri="note://one").returns({})
    leaving.gets({})
    if pair.alpha.is_modern:
        assert [each.get("resourceSubscriptions") for each in pair.alpha.listening.values()] == [None]


@modern_client
def test_a_modern_client_watches_a_resource(pair: Pair) -> None:
    pair.alpha.resources = [NOTE]
    pair.front.opens()
    listening = pair.front.asks("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["note://one"]}})
    pair.front.hears(
        "notifications/subscriptions/acknowledged", notifications={"resourceSubscriptions": ["note://one"]}
    )
    if not pair.alpha.is_modern:
        pair.alpha.receives("resources/subscribe", uri="note://one").returns({})
    pair.alpha.updates("note://one")
    assert pair.front.hears("notifications/resources/updated", uri="note://one").meta[SUBSCRIPTION] == listening.id
    pair.alpha.notifies("notifications/resources/updated", uri="note://other")
    pair.front.hears_nothing()
    listening.cancels()
    if not pair.alpha.is_modern:
        pair.alpha.receives("resources/unsubscribe", uri="note://one").returns({})
    pair.alpha.updates("note://one")
    pair.front.hears_nothing()


@modern_client
def test_two_who_watch_one_resource_do_not_end_it_for_each_other(pair: Pair) -> None:
    pair.alpha.resources = [NOTE]
    pair.front.opens()
    first = listens(pair, resourceSubscriptions=["note://one"])
    second = listens(pair, resourceSubscriptions=["note://one"])
    assert first is not None
    assert second is not None
    for said in pair.alpha.inbox[:]:
        pair.alpha.receives(said.method or "").returns({})
    first.cancels()
    assert "resources/unsubscribe" not in [said.method for said in pair.alpha.inbox]
    pair.alpha.updates("note://one")
    assert pair.front.hears("notifications/resources/updated").meta[SUBSCRIPTION] == second.id


def test_what_is_watched_is_watched_again_after_a_restart(pair: Pair) -> None:
    """ "Active `subscriptions/listen` streams must also be re-established after restart"."""
    pair.alpha.resources = [NOTE]
    pair.front.opens()
    if pair.front.is_modern:
        listens(pair, resourceSubscriptions=["note://one"])
    else:
        watching = pair.front.asks("resources/subscribe", {"uri": "note://one"})
    if not pair.alpha.is_modern:
        pair.alpha.receives("resources/subscribe", uri="note://one").returns({})
    if not pair.front.is_modern:
        watching.gets({})
    pair.alpha.listening.clear()
    pair.alpha.exits(1)
    pair.after(10)
    if pair.alpha.is_modern:
        assert ["note://one"] in [each.get("resourceSubscriptions") for each in pair.alpha.listening.values()]
    else:
        pair.alpha.receives("resources/subscribe", uri="note://one").returns({})


@modern_client
def test_a_subscription_to_a_server_that_backs_off_is_made_when_it_is_back(pair: Pair) -> None:
    """The client was told that it will hear of updates."""
    pair.alpha.resources = [NOTE]
    pair.alpha.on("resources/subscribe", answers({}))
    pair.front.opens()
    pair.alpha.on_opening(exits)
    pair.alpha.exits(1)
    pair.front.watches("note://one")
    pair.after(1)
    pair.alpha.opens_as_usual()
    pair.after(60)
    pair.front.inbox.clear()
    assert "note://one" in pair.alpha.watched()


@modern_client
def test_only_what_can_be_told_of_is_acknowledged(pair: Pair) -> None:
    """A server that has no subscriptions keeps its resources to itself."""
    pair.alpha.resources = [NOTE]
    beta = pair.with_server("beta")
    beta.resources = [{"uri": "quiet://1", "name": "quiet"}]
    beta.more_capabilities = {"resources": {}}
    pair.alpha.on("resources/subscribe", answers({}))
    pair.front.opens()
    pair.front.asks("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["note://one", "quiet://1"]}})
    pair.front.hears(
        "notifications/subscriptions/acknowledged", notifications={"resourceSubscriptions": ["note://one"]}
    )


LATER: Json = {"uri": "later://1", "name": "Later"}


def _listens_to_what_no_server_has(pair: Pair) -> Asked:
    """Make two servers with resources, and a subscription to another resource, which is acknowledged."""
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [NOTE], [{"uri": "beta://1", "name": "1"}]
    for back in (pair.alpha, beta):
        back.on("resources/subscribe", answers({}))
        back.on("resources/unsubscribe", answers({}))
    pair.front.opens()
    uris = [LATER["uri"]]
    listening = pair.front.asks("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}})
    pair.front.hears("notifications/subscriptions/acknowledged", notifications={"resourceSubscriptions": uris})
    pair.after(60)
    assert LATER["uri"] not in (*pair.alpha.watched(), *beta.watched())
    return listening


def _is_listed(pair: Pair, server: str) -> None:
    back = pair.backs[server]
    back.resources = [*back.resources, LATER]
    back.changes("resources")
    pair.after(TOLD)


@modern_client
def test_a_resource_that_was_acknowledged_is_subscribed_to_once_a_server_lists_it(pair: Pair) -> None:
    """ "reflects the subset the server agreed to honor"."""
    listening = _listens_to_what_no_server_has(pair)
    _is_listed(pair, "beta")
    beta = pair.backs["beta"]
    assert beta.watched() == [LATER["uri"]]
    assert pair.alpha.watched() == []
    beta.updates(LATER["uri"])
    assert pair.front.hears("notifications/resources/updated", uri=LATER["uri"]).meta[SUBSCRIPTION] == listening.id
    listening.cancels()
    beta.updates(LATER["uri"])
    pair.front.hears_nothing()


@modern_client
def test_a_resource_that_is_not_listened_to_any_more_is_not_subscribed_to_later(pair: Pair) -> None:
    listening = _listens_to_what_no_server_has(pair)
    second = listens(pair, resourceSubscriptions=[LATER["uri"]])
    assert second is not None
    listening.cancels()
    second.cancels()
    _is_listed(pair, "alpha")
    assert pair.alpha.watched() == []


@modern_client
def test_a_server_that_lists_late_is_subscribed_to_when_it_does(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [NOTE], [LATER]
    beta.on("resources/subscribe", answers({}))
    beta.starts_slowly(30)
    pair.front.watches(LATER["uri"])
    pair.after(20)
    assert beta.watched() == []
    pair.after(20)
    assert beta.watched() == [LATER["uri"]]


def test_resources_below_one_that_was_subscribed_to_are_told_of(pair: Pair) -> None:
    """ "This might be a sub-resource of the one that the client actually subscribed to." """
    pair.alpha.resources = [NOTE]
    pair.alpha.on("resources/subscribe", answers({}))
    pair.front.opens()
    pair.front.watches("note://one")
    pair.after(1)
    pair.alpha.updates("note://one/part")
    pair.front.hears("notifications/resources/updated")
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_nobody_but_its_owner_tells_of_a_resource(pair: Pair) -> None:
    """Neither of what another server lists, covers or mentioned, nor of what nobody is known to have."""
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [NOTE], [{"uri": "beta://1", "name": "1"}]
    pair.alpha.templates = [{"uriTemplate": "covered://{+x}", "name": "x"}]
    for back in (pair.alpha, beta):
        back.on("resources/subscribe", answers({}))
    pair.front.opens()
    uris = ["note://one", "note://one/part", "covered://1", "beta://1"]
    if pair.front.is_modern:
        listens(pair, resourceSubscriptions=uris)
    else:
        for uri in uris:
            pair.front.watches(uri)
    for uri in (*uris[:3], "nobody://1"):
        beta.notifies("notifications/resources/updated", uri=uri)
    beta.notifies("notifications/resources/updated")
    pair.alpha.notifies("notifications/resources/updated", uri="beta://1")
    pair.front.hears_nothing()
    for back, uri in ((pair.alpha, "note://one/part"), (pair.alpha, "covered://1"), (beta, "beta://1")):
        back.notifies("notifications/resources/updated", uri=uri)
        pair.front.hears("notifications/resources/updated", uri=uri)


@legacy_client
def test_a_resource_of_nobody_is_told_of_by_the_server_that_it_was_subscribed_to_at(pair: Pair) -> None:
    """Its list may leave it out; parts of it belong to the same server."""
    beta = pair.with_server("beta")
    beta.more_capabilities = {"resources": {"listChanged": True}}
    beta.on("resources/list", refuses(-32601, "Method not found"))
    beta.on("resources/templates/list", refuses(-32601, "Method not found"))
    pair.alpha.resources = [{"uri": "file:///a", "name": "a"}]
    beta.tools = pair.alpha.tools
    pair.alpha.on("resources/subscribe", answers({}))
    pair.alpha.on("resources/unsubscribe", answers({}))
    pair.front.opens()
    link = {"content": [{"type": "resource_link", "uri": "seen://x", "name": "x"}]}
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(link)
    pair.front.gets(link)
    pair.front.watches("seen://x")
    for uri in ("seen://x", "seen://x/part"):
        beta.notifies("notifications/resources/updated", uri=uri)
        pair.front.hears_nothing()
        pair.alpha.notifies("notifications/resources/updated", uri=uri)
        pair.front.hears("notifications/resources/updated", uri=uri)
    beta.resources = [{"uri": "seen://x", "name": "x"}]
    beta.on("resources/list", Back.lists)
    beta.changes("resources")
    pair.after(TOLD)
    pair.front.inbox.clear()
    pair.alpha.notifies("notifications/resources/updated", uri="seen://x")  # the client subscribed there
    pair.front.hears("notifications/resources/updated", uri="seen://x")
    pair.front.asks("resources/unsubscribe", {"uri": "seen://x"}).gets({})  # and ends it there
    pair.alpha.notifies("notifications/resources/updated", uri="seen://x")
    pair.front.hears_nothing()


def test_the_only_server_with_resources_tells_of_what_no_list_holds(pair: Pair) -> None:
    """It is asked for such a URI, too: lists of resources need not be complete."""
    pair.alpha.resources = [NOTE]
    pair.alpha.on("resources/subscribe", answers({}))
    beta = pair.with_server("beta")
    pair.front.opens()
    pair.front.watches("unlisted://1")
    beta.notifies("notifications/resources/updated", uri="unlisted://1")
    pair.front.hears_nothing()
    pair.alpha.notifies("notifications/resources/updated", uri="unlisted://1")
    pair.front.hears("notifications/resources/updated", uri="unlisted://1")


def test_log_messages_pass_as_they_are_whatever_logger_they_name(pair: Pair) -> None:
    pair.alpha.logs = True
    pair.front.opens()
    if pair.front.is_modern:
        call = pair.front.calls("alpha.echo", meta={LOG_LEVEL: "debug"})
    else:
        call = pair.front.calls("alpha.echo")
    said = b'{"level":"info","logger":"github","data":{"b":1.0,"a":"\\u2603"},"new":[ ]}'
    pair.alpha.says_line(b'{"jsonrpc":"2.0","method":"notifications/message","params":%b}' % said)
    assert said in pair.front.next().line
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_of_a_large_log_message_the_members_that_the_protocol_knows_pass(pair: Pair) -> None:
    pair.alpha.logs = True
    pair.front.opens()
    call = pair.front.calls("alpha.echo", meta={LOG_LEVEL: "debug"} if pair.front.is_modern else None)
    known = b'"level":"info","logger":"x","data":{"b":1.0,"a":"%b"}' % (b"x" * SMALL_BYTES)
    pair.alpha.says_line(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"new":1,%b}}' % known)
    assert b'"params":{%b' % known in pair.front.next().line
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_other_news_that_is_large_is_not_read(pair: Pair) -> None:
    pair.alpha.resources = [NOTE]
    pair.front.opens()
    pair.alpha.notifies("notifications/resources/updated", uri=NOTE["uri"], **{f"k{each}": 1 for each in range(9000)})
    pair.front.hears_nothing()
    assert any("notifications/resources/updated' of more than" in each for each in pair.transcript.warnings)


@legacy_legacy
def test_a_backend_without_subscriptions_is_not_asked_for_one(pair: Pair) -> None:
    pair.alpha.resources = [NOTE]
    pair.alpha.on("initialize", _without_subscriptions)
    pair.front.opens()
    pair.front.asks("resources/subscribe", {"uri": "note://one"}).fails(-32601)


def _without_subscriptions(back: Back, said: Said) -> None:
    info = {"name": "alpha", "version": "1"}
    body = {"protocolVersion": said.params["protocolVersion"], "capabilities": {"resources": {}, "tools": {}}}
    back.answer(said.id, {**body, "serverInfo": info})
