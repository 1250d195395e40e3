"""Caching by modern clients: `ttlMs` and `cacheScope` of lists and results."""

import pytest

from conversations.back import exits, leaves_to_the_test
from conversations.eras import legacy_client, modern_client, modern_legacy, modern_modern
from conversations.pair import Pair
from conversations.words import ECHO, Json

NOTHING_TO_KEEP: Json = {"ttlMs": 0, "cacheScope": "private"}
TO_KEEP: Json = {"ttlMs": 60_000, "cacheScope": "public"}
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")


def freshness(result: Json) -> Json:
    return {key: result[key] for key in NOTHING_TO_KEEP}


@modern_modern
def test_a_list_that_is_still_filling_is_not_to_be_kept(pair: Pair) -> None:
    """Its servers may say for how long theirs hold; this is not theirs yet."""
    beta = pair.with_server("beta")
    pair.alpha.on("tools/list", lambda back, said: back.answer(said.id, {"tools": [ECHO]}, **TO_KEEP))
    beta.on("tools/list", leaves_to_the_test)
    listing = pair.front.asks("tools/list")
    pair.after(5)
    assert freshness(listing.result()) == NOTHING_TO_KEEP
    beta.next()
    beta.answer(beta.heard[-1].id, {"tools": []}, **TO_KEEP)
    assert freshness(pair.front.asks("tools/list").result()) == {**TO_KEEP, "ttlMs": 55_000}  # alpha's is 5 s old


def _lists_what_may_be_kept(pair: Pair, *, notifies: bool) -> None:
    """Have alpha list a tool with a `ttlMs` of a minute; with `notifies`, it announces changes of its list."""
    pair.alpha.more_capabilities = {"tools": {"listChanged": True} if notifies else {}}
    pair.alpha.on("tools/list", lambda back, said: back.answer(said.id, {"tools": [ECHO]}, **TO_KEEP))
    pair.front.opens()


@modern_modern
@pytest.mark.parametrize("notifies", [True, False], ids=["changes announced", "changes not announced"])
@pytest.mark.parametrize(("seconds", "ttl"), [(0, 60_000), (0.5, 59_500), (50, 10_000), (60, 0), (70, 0)])
def test_the_time_since_a_list_was_read_counts(pair: Pair, seconds: float, ttl: int, *, notifies: bool) -> None:
    """The client would keep it for longer than its server said."""
    _lists_what_may_be_kept(pair, notifies=notifies)
    pair.after(seconds)
    assert freshness(pair.front.asks("tools/list").result()) == {**TO_KEEP, "ttlMs": ttl}


@modern_modern
@pytest.mark.parametrize("notifies", [True, False], ids=["changes announced", "changes not announced"])
def test_a_list_that_is_not_fresh_is_read_again_when_a_client_lists(pair: Pair, *, notifies: bool) -> None:
    _lists_what_may_be_kept(pair, notifies=notifies)
    pair.after(70)
    assert pair.alpha.methods().count("tools/list") == 1
    for ttl in (0, 60_000):
        assert freshness(pair.front.asks("tools/list").result()) == {**TO_KEEP, "ttlMs": ttl}
    assert pair.alpha.methods().count("tools/list") == 2


@modern_modern
def test_a_list_is_not_to_be_kept_while_a_server_never_seen_backs_off(pair: Pair) -> None:
    pair.alpha.on("tools/list", lambda back, said: back.answer(said.id, {"tools": [ECHO]}, **TO_KEEP))
    pair.with_server("beta").on_opening(exits)
    pair.front.opens()
    assert freshness(pair.front.asks("tools/list").result()) == NOTHING_TO_KEEP


@modern_legacy
@pytest.mark.parametrize("method", LISTS)
def test_what_comes_of_a_legacy_server_says_nothing_and_is_not_to_be_kept(pair: Pair, method: str) -> None:
    pair.front.opens()
    assert freshness(pair.front.asks(method).result()) == NOTHING_TO_KEEP


@modern_client
def test_a_resource_is_as_fresh_as_its_server_says(pair: Pair) -> None:
    pair.alpha.resources = [{"uri": "x://1", "name": "1"}]
    pair.front.opens()
    reading = pair.front.asks("resources/read", {"uri": "x://1"})
    served = pair.alpha.receives("resources/read")
    own: Json = {"ttlMs": 1500, "cacheScope": "public"} if pair.alpha.is_modern else {}
    served.is_over()
    pair.alpha.answer(served.said.id, {"contents": [], **own})
    assert freshness(reading.result()) == (own or NOTHING_TO_KEEP)


@legacy_client
@pytest.mark.parametrize("method", LISTS)
def test_a_legacy_client_is_told_none_of_it(pair: Pair, method: str) -> None:
    pair.front.opens()
    assert not NOTHING_TO_KEEP.keys() & pair.front.asks(method).result().keys()
