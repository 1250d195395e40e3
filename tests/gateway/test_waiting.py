"""A call that waits for lists: submitted, cancelled before or after that, or too late."""

from collections.abc import Callable
from typing import Any

from search_mcp.gateway.waiting import WaitingCall
from search_mcp.model.calls import Call, Outcome
from search_mcp.model.errors import ToolNotFound
from search_mcp.model.names import Action
from search_mcp.wire.errors import InternalError
from search_mcp.wire.inflight import Cancel, Reason, cancel_nothing

TOO_LATE = ToolNotFound("too late", ())


class Waiter:
    """A waiting call, with lists and a timer that the test releases."""

    def __init__(self, *, is_settled: bool = False, is_broken: bool = False) -> None:
        self.outcomes: list[Outcome] = []
        self.submitted: list[Call] = []
        self.cancelled: list[Reason] = []
        self.waiting: list[Callable[[], None]] = []
        self.timers: list[Callable[[], None]] = []
        self._is_settled, self._is_broken = is_settled, is_broken
        caller: Any = None
        self.call = Call(Action.CALL_TOOL, "a.b", {}, {}, caller, reply=self.outcomes.append)
        waiting = WaitingCall(self.call, self._submit, lambda: TOO_LATE)
        self.cancel = waiting.wait(self._when_settled, self._later, 1.0)

    def _submit(self, call: Call) -> Cancel:
        if self._is_broken:
            raise RuntimeError
        self.submitted.append(call)
        return self.cancelled.append

    def _when_settled(self, act: Callable[[], None]) -> Cancel:
        if self._is_settled:
            act()
            return cancel_nothing
        self.waiting.append(act)
        return lambda _reason: self.waiting.clear()

    def _later(self, _seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        self.timers.append(act)
        return self.timers.clear


def test_a_call_is_submitted_when_the_lists_are_there() -> None:
    waiter = Waiter()
    assert waiter.submitted == []
    waiter.waiting[0]()
    assert (waiter.submitted, waiter.timers) == ([waiter.call], [])


def test_a_call_that_was_submitted_at_once_is_cancelled_where_it_is() -> None:
    waiter = Waiter(is_settled=True)
    waiter.cancel(None)
    assert (waiter.submitted, waiter.cancelled) == ([waiter.call], [None])


def test_a_call_that_was_submitted_later_is_cancelled_where_it_is() -> None:
    waiter = Waiter()
    waiter.waiting[0]()
    waiter.cancel(None)
    assert waiter.cancelled == [None]


def test_a_call_that_still_waits_is_cancelled_here() -> None:
    waiter = Waiter()
    waiter.cancel(None)
    waiter.cancel(None)
    assert (waiter.waiting, waiter.timers, waiter.submitted, waiter.cancelled, waiter.outcomes) == ([], [], [], [], [])


def test_a_call_that_waits_too_long_is_answered_once() -> None:
    waiter = Waiter()
    waiter.timers[0]()
    waiter.cancel(None)
    assert (waiter.waiting, waiter.outcomes) == ([], [TOO_LATE])


def test_a_bug_answers_the_call() -> None:
    ((outcome,),) = [Waiter(is_settled=True, is_broken=True).outcomes]
    assert isinstance(outcome, InternalError)
