"""The resources that one client subscribed to."""

import pytest

from search_mcp.gateway.subscriptions import Subscriptions


@pytest.fixture
def subscriptions() -> Subscriptions:
    found = Subscriptions()
    found.add("note://one/", "a")
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
