"""The scenarios of the other files with their servers behind HTTP, in all four pairings of eras."""

from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from conversations import (
    test_asking,
    test_calls,
    test_endings,
    test_exactly_once,
    test_extensions,
    test_listening,
    test_logging,
    test_news,
    test_progress,
    test_questions,
    test_tasks,
    test_undeclared,
    test_urls,
)
from conversations.conftest import has_failed
from conversations.eras import PAIRINGS, modern_backend
from conversations.over_http import HttpPair
from conversations.test_announced import announces
from conversations.words import ECHO

DIFFERENT = {
    "test_parked_calls_are_capped_and_the_oldest_goes_first": "fewer requests are sent to one server at once",
    "test_a_batch_is_answered_as_a_batch": "messages sent at once are separate requests, without an order",
    "test_a_call_that_waits_for_its_server_can_be_cancelled": "only a request shows that a server is gone",
    "test_a_restart_with_the_same_tools_is_not_told_of": "only a request shows that a server is gone",
    "test_the_question_of_a_backend_that_died_is_withdrawn": "a stream that broke does not mean that its server died",
    "test_what_a_server_asks_before_it_is_open_is_refused_beyond_a_bound": "there is no session yet to answer in",
}
"""Tests of what does not apply over HTTP, with the reason."""


def _scenarios(*modules: ModuleType) -> dict[str, Callable[..., None]]:
    found = {name: each for module in modules for name, each in vars(module).items() if name.startswith("test_")}
    return {name: each for name, each in found.items() if DIFFERENT.pop(name, None) is None}


@pytest.fixture(params=PAIRINGS, ids=lambda each: f"{each[0]}+{each[1]}")
def pair(request: pytest.FixtureRequest, is_beside_a_busy_client: bool) -> Iterator[HttpPair]:
    with HttpPair(*request.param, is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        yield pair
        if not has_failed(request.node):
            pair.nothing_is_left()


ENDINGS = (
    "test_what_is_answered_soon_after_the_end_of_stdin_is_still_sent",
    "test_the_end_of_stdin_retires_everything",
    "test_without_anything_in_flight_the_end_is_at_once",
    "test_a_call_with_an_open_question_is_given_up_at_the_end",
)
globals().update({name: getattr(test_endings, name) for name in ENDINGS})
globals().update(
    _scenarios(
        test_asking,
        test_calls,
        test_exactly_once,
        test_extensions,
        test_listening,
        test_logging,
        test_news,
        test_progress,
        test_questions,
        test_tasks,
        test_undeclared,
        test_urls,
    )
)


@modern_backend
def test_a_call_does_not_wait_for_a_list_that_cannot_be_read(pair: HttpPair) -> None:
    """A server that is not there any more is not noticed in another way."""
    pair.front.opens()
    announces(pair.alpha, "tools", "tools/list")
    pair.alpha.receives("tools/list").is_over()
    call = pair.front.calls("alpha.new")
    pair.front.hears_nothing()
    pair.alpha.is_unreachable = True
    pair.alpha.exits(1)
    call.fails(-32602, "Tool not found: alpha.new")


@modern_backend
def test_a_call_waits_for_a_tool_to_be_read_only_as_long_as_its_list_can_be_read(pair: HttpPair) -> None:
    pair.alpha.config["read_only"] = True
    pair.alpha.tools = [{**ECHO, "annotations": {"readOnlyHint": True}}]
    pair.front.opens()
    announces(pair.alpha, "tools", "tools/list")
    pair.alpha.receives("tools/list").is_over()
    call = pair.front.calls("alpha.echo")
    pair.front.hears_nothing()
    pair.alpha.is_unreachable = True
    pair.alpha.exits(1)
    call.fails(-32000, "MCP server 'alpha' did not run the call")


assert not DIFFERENT, f"there are no such tests: {DIFFERENT}"
