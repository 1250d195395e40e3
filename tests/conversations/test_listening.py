"""Our own subscription at a modern backend: renewed when the backend ends it, without missing a change."""

import pytest

from conversations.back import refuses
from conversations.eras import modern_backend
from conversations.pair import Pair
from conversations.words import ECHO, GREET, OWN_TOOLS, SUBSCRIPTION, Json, names

NOTE: Json = {"uri": "note://one", "name": "One"}
LONGEST_PAUSE = 30.0


def ends_its_streams(pair: Pair, **how: object) -> None:
    """Answer, and so end, every `subscriptions/listen` of ours."""
    for stream in list(pair.alpha.listening):
        del pair.alpha.listening[stream]
        graceful: Json = {"result": {"resultType": "complete", "_meta": {SUBSCRIPTION: stream}}}
        pair.alpha.says(id=stream, **(how or graceful))


def listens(pair: Pair, **wanted: object) -> None:
    if pair.front.is_modern:
        pair.front.asks("subscriptions/listen", {"notifications": wanted})
        pair.front.hears("notifications/subscriptions/acknowledged", notifications=wanted)


@modern_backend
@pytest.mark.parametrize("how", [{}, {"error": {"code": -32603, "message": "torn down"}}])
def test_a_subscription_that_the_backend_ends_is_opened_again_and_no_change_is_missed(pair: Pair, how: Json) -> None:
    pair.front.opens()
    listens(pair, toolsListChanged=True)
    ends_its_streams(pair, **how)
    pair.alpha.tools = [GREET]
    pair.alpha.changes("tools")  # to nobody
    assert not pair.alpha.listening
    pair.after(LONGEST_PAUSE)
    assert [each["toolsListChanged"] for each in pair.alpha.listening.values()] == [True]
    pair.front.hears("notifications/tools/list_changed")
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", *OWN_TOOLS]
    pair.alpha.tools = [ECHO]
    pair.alpha.changes("tools")
    pair.after(LONGEST_PAUSE)
    pair.front.hears("notifications/tools/list_changed")


@modern_backend
def test_what_is_watched_is_watched_again_after_the_backend_ended_our_subscription(pair: Pair) -> None:
    """The client's subscription is to all servers: one of them that ends its part ends it for nobody."""
    pair.alpha.resources = [NOTE]
    pair.front.opens()
    if pair.front.is_modern:
        listens(pair, resourceSubscriptions=["note://one"])
    else:
        pair.front.asks("resources/subscribe", {"uri": "note://one"}).gets({})
    ends_its_streams(pair)
    pair.after(LONGEST_PAUSE)
    assert [each["resourceSubscriptions"] for each in pair.alpha.listening.values()] == [["note://one"]]
    pair.alpha.updates("note://one")
    pair.front.hears("notifications/resources/updated", uri="note://one")


@modern_backend
def test_a_backend_that_always_ends_it_is_asked_less_and_less_often(pair: Pair) -> None:
    pair.front.opens()
    asked = []
    for _ in range(8):
        before = pair.alpha.methods().count("subscriptions/listen")
        ends_its_streams(pair)
        seconds = 0
        while pair.alpha.methods().count("subscriptions/listen") == before:
            pair.after(0.5)
            seconds += 1
        asked.append(seconds / 2)
    assert asked == sorted(asked)
    assert asked[0] == 1.0
    assert LONGEST_PAUSE <= asked[-1] <= LONGEST_PAUSE + 1  # a list that changes all the time is read more slowly, too


@modern_backend
def test_a_backend_that_refuses_it_is_not_asked_again(pair: Pair) -> None:
    pair.alpha.on("subscriptions/listen", refuses(-32601, "Method not found"))
    pair.front.opens()
    pair.after(10 * LONGEST_PAUSE)
    assert pair.alpha.methods().count("subscriptions/listen") == 1
    assert any("subscriptions/listen refused" in warning for warning in pair.transcript.warnings)


@modern_backend
def test_a_wish_that_comes_while_there_is_no_subscription_opens_it_at_once(pair: Pair) -> None:
    pair.alpha.resources = [NOTE]
    pair.front.opens()
    ends_its_streams(pair)
    if pair.front.is_modern:
        listens(pair, resourceSubscriptions=["note://one"])
    else:
        pair.front.asks("resources/subscribe", {"uri": "note://one"}).gets({})
    assert [each["resourceSubscriptions"] for each in pair.alpha.listening.values()] == [["note://one"]]
    pair.after(LONGEST_PAUSE)
    assert len(pair.alpha.listening) == 1
