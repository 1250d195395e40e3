"""The busy client beside a conversation notices what is not its own."""

import re
from pathlib import Path

import pytest

from conversations.neighbour import ALONE
from conversations.pair import Pair
from conversations.words import MODERN, Json, elicit, encode


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1000, "result": {}},
        {"id": 1, **elicit("Your name?")},
        {"method": "notifications/message", "params": {"level": "error", "data": "x"}},
        {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1, "message": "x"}},
        {"method": "notifications/resources/updated", "params": {"uri": "note://one"}},
    ],
    ids=str,
)
def test_the_busy_client_notices_what_is_not_its_own(message: Json) -> None:
    with Pair(MODERN, MODERN, is_beside_a_busy_client=True) as pair:
        pair.front.opens()
        assert pair.neighbour is not None
        pair.neighbour.hear(encode({"jsonrpc": "2.0", **message}))
        with pytest.raises(AssertionError, match="the busy client hears"):
            pair.settle()


def test_the_tests_that_are_played_alone_exist() -> None:
    modules = [path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    defined = {name for module in modules for name in re.findall(r"^def (test_\w+)", module, re.MULTILINE)}
    assert {each.partition(" ")[0] for each in ALONE} <= defined
