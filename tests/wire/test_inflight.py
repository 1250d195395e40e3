"""Records of open requests in both directions: each is registered once and retired once, however it ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.wire.inflight import RECEIVED_BYTES, RECEIVED_REQUESTS, SENT_REQUESTS, Answer, Inflight, Request, Sent
from search_mcp.wire.structs import UNSET, Raw, RequestId


def nobody(_: object) -> None:
    """Do nothing: the test does not need this callback."""


def asked(message_id: RequestId) -> Request:
    return Request(message_id, "m", UNSET, nobody, 0)


# Requests that we send


def test_each_request_of_ours_has_an_id_of_its_own() -> None:
    inflight, sent = Inflight(), [Sent(nobody), Sent(nobody), Sent(nobody)]
    ids = [inflight.send(each) for each in sent]
    assert len(set(ids)) == len(inflight) == 3
    assert [inflight.waiting(message_id) for message_id in ids] == sent


def test_an_id_is_not_used_again() -> None:
    inflight = Inflight()
    first = inflight.send(Sent(nobody))
    inflight.settle(first)
    assert inflight.send(Sent(nobody)) != first


@pytest.mark.parametrize(
    "other",
    ["1", 1.0, True, 2, 0, None, Raw(b"1"), [1]],
    ids=["1 in a string", "1.0", "True", "2", "0", "None", "Raw", "[1]"],
)
def test_an_answer_to_something_else_settles_nothing(other: object) -> None:
    inflight, sent = Inflight(), Sent(nobody)
    assert inflight.send(sent) == 1
    assert inflight.waiting(other) is None
    assert inflight.settle(other) is None
    assert inflight.waiting(1) is sent


def test_settling_retires() -> None:
    inflight, sent = Inflight(), Sent(nobody)
    message_id = inflight.send(sent)
    assert inflight.settle(message_id) is sent
    assert inflight.settle(message_id) is None
    assert inflight.waiting(message_id) is None
    assert len(inflight) == 0


# Requests that we receive


def test_1_and_the_string_1_are_different_ids() -> None:
    inflight, number, text = Inflight(), asked(1), asked("1")
    assert inflight.receive(number)
    assert inflight.receive(text)
    assert inflight.received(1) is number
    assert inflight.received("1") is text
    inflight.retire(number)
    assert not inflight.is_open(number)
    assert inflight.is_open(text)


def test_an_id_in_use_is_refused_and_its_request_stays_open() -> None:
    inflight, first, second = Inflight(), asked("a"), asked("a")
    assert inflight.receive(first)
    assert not inflight.receive(second)
    assert inflight.is_open(first)
    assert not inflight.is_open(second)


def test_an_id_can_be_used_again_once_its_request_is_retired() -> None:
    inflight, first, second = Inflight(), asked("a"), asked("a")
    inflight.receive(first)
    inflight.retire(first)
    assert inflight.receive(second)
    assert inflight.received("a") is second


def test_a_request_is_retired_once() -> None:
    inflight, request = Inflight(), asked(1)
    assert not inflight.retire(request)
    inflight.receive(request)
    assert inflight.retire(request)
    assert not inflight.retire(request)


def test_retiring_twice_does_not_retire_a_later_request_with_the_same_id() -> None:
    inflight, first, second = Inflight(), asked(1), asked(1)
    inflight.receive(first)
    inflight.retire(first)
    inflight.receive(second)
    assert not inflight.retire(first)
    assert inflight.is_open(second)


def test_no_request_is_found_for_an_absent_id() -> None:
    assert Inflight().received(None) is None


def test_has_received_is_true_while_a_request_of_theirs_is_open() -> None:
    inflight, request = Inflight(), asked(1)
    assert not inflight.has_received()
    inflight.send(Sent(nobody))
    assert not inflight.has_received()
    inflight.receive(request)
    assert inflight.has_received()
    inflight.retire(request)
    assert not inflight.has_received()


# Limits


def test_many_requests_of_theirs_are_too_many() -> None:
    inflight = Inflight()
    requests = [asked(number) for number in range(RECEIVED_REQUESTS)]
    for request in requests:
        assert not inflight.is_full()
        inflight.receive(request)
    assert inflight.is_full()
    inflight.retire(requests[7])
    assert not inflight.is_full()


def test_long_requests_of_theirs_are_too_many_sooner() -> None:
    inflight, size = Inflight(), RECEIVED_BYTES // 2
    requests = [Request(number, "m", UNSET, nobody, size) for number in range(2)]
    for request in requests:
        assert not inflight.is_full()
        inflight.receive(request)
        assert not inflight.receive(Request(request.id, "m", UNSET, nobody, size))  # already in use: not counted
    assert inflight.is_full()
    inflight.retire(requests[0])
    assert not inflight.is_full()


def test_unanswered_requests_of_ours_are_limited() -> None:
    inflight = Inflight()
    ids = []
    while message_id := inflight.send(Sent(nobody)):
        ids.append(message_id)
    assert len(ids) == SENT_REQUESTS
    inflight.settle(ids[7])
    assert inflight.send(Sent(nobody)) == SENT_REQUESTS + 1


# The end


def test_the_end_retires_in_order() -> None:
    inflight = Inflight()
    sent, received = [Sent(nobody), Sent(nobody)], [asked(2), asked("2"), asked(1)]
    for each in sent:
        inflight.send(each)
    for request in received:
        inflight.receive(request)
    assert list(inflight.drain_sent()) == sent
    assert list(inflight.drain_received()) == received
    assert not list(inflight.drain_sent())
    assert not list(inflight.drain_received())


def test_a_request_registered_during_the_end_is_retired_too() -> None:
    inflight, first, second = Inflight(), Sent(nobody), Sent(nobody)
    inflight.send(first)
    drained = []
    for sent in inflight.drain_sent():
        drained.append(sent)
        if sent is first:
            inflight.send(second)
    assert drained == [first, second]


STEPS = st.lists(
    st.tuples(st.sampled_from(["send", "settle"]), st.integers(0, 6))
    | st.tuples(st.sampled_from(["receive", "retire"]), st.sampled_from([1, "1", 2, "2"]))
)


@given(STEPS)
def test_everything_is_retired_exactly_once(steps: list[tuple[str, RequestId]]) -> None:
    inflight = Inflight()
    settled: list[int] = []
    retired: list[Request] = []
    accepted: list[Request] = []
    sent: list[int] = []

    def settle_as(position: int) -> Sent:
        def settle(_: Answer) -> None:
            settled.append(position)

        return Sent(settle)

    for step, argument in steps:
        if step == "send":
            sent.append(inflight.send(settle_as(len(sent))))
        elif step == "settle":
            found = inflight.settle(argument)
            if found is not None:
                found.settle(None)
        elif step == "receive":
            request = asked(argument)
            if inflight.receive(request):
                accepted.append(request)
        else:
            open_now = inflight.received(argument)
            if open_now is not None:
                inflight.retire(open_now)
                retired.append(open_now)
    for left in inflight.drain_sent():
        left.settle(None)
    retired += inflight.drain_received()
    assert sorted(settled) == list(range(len(sent)))
    assert sorted(map(id, retired)) == sorted(map(id, accepted))
    assert len(inflight) == 0
    assert not inflight.has_received()
