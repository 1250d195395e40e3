"""A call that waits for the list of one server: submitted, cancelled before or after that, or too late."""

from collections.abc import Callable

from search_mcp.gateway.waiting import AwaitedLists, Limit
from search_mcp.model.calls import Outcome, Reply
from search_mcp.model.errors import ToolNotFound
from search_mcp.model.names import Kind
from search_mcp.wire.errors import InternalError
from search_mcp.wire.inflight import Reason

TOO_LATE = ToolNotFound("too late", ())


class Waiter:
    """A waiting call, with a list and a timer that the test releases."""

    def __init__(self, *, is_listed: bool = False, is_broken: bool = False) -> None:
        self.outcomes: list[Outcome] = []
        self.cancelled: list[Reason] = []
        self.timers: list[Callable[[], None]] = []
        self.submitted = 0
        self._is_listed, self._is_broken = is_listed, is_broken
        self.reply = Reply(self.outcomes.append)
        self.lists = AwaitedLists(lambda _server, _kind: not self._is_listed, lambda _kinds: False, self._later)
        limit = Limit(1.0, lambda: TOO_LATE)
        self.lists.when_settled(frozenset({Kind.TOOLS}), ["a"], self._submit, self.reply, None, limit=limit)

    def _submit(self) -> None:
        if self._is_broken:
            raise RuntimeError
        self.submitted += 1
        self.reply.cancel_work = self.cancelled.append

    def _later(self, _seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        self.timers.append(act)
        return self.timers.clear

    def lists_now(self) -> None:
        self._is_listed = True
        self.lists.release_settled()


def test_a_call_is_submitted_when_the_list_is_there() -> None:
    waiter = Waiter()
    assert waiter.submitted == 0
    waiter.lists_now()
    waiter.lists_now()
    assert (waiter.submitted, waiter.timers) == (1, [])


def test_a_call_that_was_submitted_at_once_is_cancelled_where_it_is() -> None:
    waiter = Waiter(is_listed=True)
    waiter.reply.cancel()
    assert (waiter.submitted, waiter.cancelled) == (1, [None])


def test_a_call_that_was_submitted_later_is_cancelled_where_it_is() -> None:
    waiter = Waiter()
    waiter.lists_now()
    waiter.reply.cancel()
    assert waiter.cancelled == [None]


def test_a_call_that_still_waits_is_cancelled_here() -> None:
    waiter = Waiter()
    waiter.reply.cancel()
    waiter.lists_now()
    assert (waiter.timers, waiter.submitted, waiter.cancelled, waiter.outcomes) == ([], 0, [], [])


def test_a_call_that_waits_too_long_is_answered_once() -> None:
    waiter = Waiter()
    waiter.timers[0]()
    waiter.lists_now()
    assert (waiter.submitted, waiter.outcomes) == (0, [TOO_LATE])


def test_a_bug_answers_the_call() -> None:
    waiter = Waiter(is_broken=True)
    waiter.lists_now()
    (outcome,) = waiter.outcomes
    assert isinstance(outcome, InternalError)
