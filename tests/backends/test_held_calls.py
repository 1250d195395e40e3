"""Calls that wait for their server: order, cancellation and limit."""

from typing import cast

from search_mcp.backends.held_calls import MOST_HELD, HeldCalls
from search_mcp.model.calls import Call, Caller, unheard
from search_mcp.model.names import Action


def call(target: str) -> Call:
    caller = cast(Caller, None)  # the client is not asked anything
    return Call(Action.CALL_TOOL, target, {}, {}, caller, unheard())


def test_calls_are_taken_once_and_in_their_order() -> None:
    held = HeldCalls()
    for name in "abc":
        held.hold(call(name), name)
    assert [each.target for each in held.take(lambda one: one.target != "b")] == ["a", "c"]
    assert [each.target for each in held.take()] == ["b"]
    assert len(held) == 0


def test_a_waiting_call_that_is_cancelled_is_gone() -> None:
    held, one = HeldCalls(), call("a")
    assert held.hold(one, "a")
    assert one.reply in held
    one.reply.cancel()
    assert (one.reply in held, held.take()) == (False, [])


def test_no_more_calls_wait_than_a_server_may_be_sent() -> None:
    held = HeldCalls()
    assert all(held.hold(call("a"), "a") for _ in range(MOST_HELD))
    assert not held.hold(call("a"), "a")
