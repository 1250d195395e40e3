"""Answers under way: given once, or cancelled, whatever they wait for."""

import gc
import weakref
from typing import TypeAlias

import pytest

from search_mcp.wire.errors import InternalError, WireError
from search_mcp.wire.inflight import Reason
from search_mcp.wire.payload import encode
from search_mcp.wire.pending import Pending

Outcome: TypeAlias = int | WireError


class Request:
    """A request, and what happened to it, in order."""

    def __init__(self) -> None:
        self.log: list[object] = []
        self.reply: Pending[Outcome] = Pending(self.log.append)
        self.reply.cancel_work = self.cancel
        self.reply.ends += [lambda outcome: self.log.append(("end", outcome))]

    def cancel(self, reason: Reason) -> None:
        self.log.append(("cancelled", reason))


@pytest.fixture
def request_() -> Request:
    return Request()


def test_it_is_answered_once(request_: Request) -> None:
    request_.reply(1)
    request_.reply(2)
    request_.reply.cancel()
    request_.reply.give_up(3)
    assert request_.log == [1, ("end", 1)]
    assert request_.reply.is_over


def test_nothing_is_answered_after_a_cancellation(request_: Request) -> None:
    request_.reply.cancel(encode("why"))
    request_.reply.cancel()
    request_.reply(1)
    assert request_.log == [("cancelled", encode("why")), ("end", None)]


def test_work_that_is_given_up_is_cancelled_before_the_answer(request_: Request) -> None:
    request_.reply.give_up(1)
    assert request_.log == [("cancelled", None), 1, ("end", 1)]


def test_an_outcome_passes_through_the_steps_the_newest_first(request_: Request) -> None:
    def twice(outcome: Outcome | None) -> Outcome:
        assert isinstance(outcome, int)
        return 2 * outcome

    def one_more(outcome: Outcome | None) -> Outcome:
        assert isinstance(outcome, int)
        return outcome + 1

    request_.reply.steps += [twice, one_more]
    request_.reply(1)
    assert request_.log == [4, ("end", 4)]


def test_a_cancellation_passes_the_steps_that_are_left(request_: Request) -> None:
    def hears(outcome: Outcome | None) -> Outcome | None:
        request_.log.append(("passes", outcome))
        return outcome

    request_.reply.steps.append(hears)
    request_.reply.cancel()
    assert request_.log == [("cancelled", None), ("passes", None), ("end", None)]


def test_a_step_may_need_more_work_which_is_cancelled_in_place_of_the_work_before(request_: Request) -> None:
    def ask_another(_outcome: Outcome | None) -> None:
        request_.reply.cancel_work = lambda reason: request_.log.append(("another", reason))

    request_.reply.steps.append(ask_another)
    request_.reply(1)
    assert not request_.reply.is_over
    request_.reply.cancel()
    assert request_.log == [("another", None), ("end", None)]


def test_a_step_may_go_on_with_more_work_that_is_done_at_once(request_: Request) -> None:
    def ask_another(_outcome: Outcome | None) -> None:
        request_.reply(2)

    request_.reply.steps.append(ask_another)
    request_.reply(1)
    assert request_.log == [2, ("end", 2)]


def test_a_bug_in_a_step_is_answered(request_: Request) -> None:
    def breaks(_outcome: Outcome | None) -> Outcome:
        raise RuntimeError

    request_.reply.steps.append(breaks)
    request_.reply(1)
    assert isinstance(request_.log[0], InternalError)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_it_is_gone_at_the_end(is_cancelled: bool) -> None:
    request = Request()
    gone, reply = weakref.ref(request), request.reply
    gc.disable()
    try:
        if is_cancelled:
            reply.cancel()
        else:
            reply(1)
        del request
        assert gone() is None
    finally:
        gc.enable()
