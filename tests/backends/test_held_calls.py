"""Calls that wait for their server: order, cancellation and limit."""

from typing import cast

from search_mcp.backends.held_calls import MOST_HELD, HeldCalls
from search_mcp.model.calls import Call, Caller
from search_mcp.model.names import Action
from search_mcp.wire.inflight import Reason


def call(target: str) -> Call:
    caller = cast(Caller, None)  # the client is not asked anything
    return Call(Action.CALL_TOOL, target, {}, {}, caller, lambda _outcome: None)


def test_calls_are_taken_once_and_in_their_order() -> None:
    held = HeldCalls()
    for name in "abc":
        held.hold(call(name), name)
    assert [each.target for each in held.take(lambda one: one.target != "b")] == ["a", "c"]
    assert [each.target for each in held.take()] == ["b"]
    assert len(held) == 0


def test_a_waiting_call_that_is_cancelled_is_gone() -> None:
    held, one = HeldCalls(), call("a")
    cancel = held.hold(one, "a")
    assert cancel is not None
    assert one in held
    cancel(None)
    assert (one in held, held.take()) == (False, [])


def test_a_call_that_was_passed_on_is_cancelled_where_it_is() -> None:
    held, cancelled = HeldCalls(), list[Reason]()
    cancel = held.hold(call("a"), "a")
    (passed_on,) = held.take()
    passed_on.cancel = cancelled.append
    assert cancel is not None
    cancel(None)
    assert cancelled == [None]


def test_no_more_calls_wait_than_a_server_may_be_sent() -> None:
    held, one = HeldCalls(), call("a")
    assert all(held.hold(one, "a") is not None for _ in range(MOST_HELD))
    assert held.hold(one, "a") is None
