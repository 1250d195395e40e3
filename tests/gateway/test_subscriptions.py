"""The resources that one client subscribed to."""

from typing import Any

import pytest

from search_mcp.gateway.subscriptions import Subscriptions

CALLER: Any = None  # the caller is not asked anything here


@pytest.fixture
def subscriptions() -> Subscriptions:
    found = Subscriptions()
    found.add("note://one/", "a", CALLER)
    return found


COVERED = [
    ("a", "note://one/", True),
    ("a", "note://one/part", True),
    ("a", "note://oneself", False),
    ("b", "note://one/part", False),
]


@pytest.mark.parametrize(("server", "uri", "then"), COVERED)
def test_a_subscription_covers_the_parts_of_a_resource(
    subscriptions: Subscriptions, server: str, uri: str, then: bool
) -> None:
    assert subscriptions.cover(server, uri) is then
    assert subscriptions.has(server, uri) is (then and uri == "note://one/")


def test_a_removed_subscription_names_its_server_once(subscriptions: Subscriptions) -> None:
    assert [subscriptions.remove("note://one/"), subscriptions.remove("note://one/")] == ["a", None]


def test_draining_gives_every_subscription_and_leaves_none(subscriptions: Subscriptions) -> None:
    subscriptions.add("note://two", "b", CALLER)
    assert {(each.uri, each.server) for each in subscriptions.drain()} == {("note://one/", "a"), ("note://two", "b")}
    assert not subscriptions.cover("a", "note://one/")
