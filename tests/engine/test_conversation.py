"""What a client is answered when its engine is lost, and what the next engine is sent."""

import json
from typing import Any

import pytest

from search_mcp.engine.client_lines import HELD_BYTES, Lines
from search_mcp.engine.conversation import (
    AGAIN,
    ASKER_LOST,
    LOST_REPEATEDLY,
    MOST_ENGINES,
    REMEMBERED,
    REMEMBERED_BYTES,
    Conversation,
)

Json = dict[str, Any]
OPENING: Json = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "x": {"kept": 1}}}
OPENED: Json = {"method": "notifications/initialized"}


class Talk:
    """A conversation, with messages as values."""

    def __init__(self) -> None:
        self.conversation = Conversation()

    def says(self, *messages: Json | list[Json]) -> None:
        for message in messages:
            (piece,) = Lines().feed(json.dumps(message).encode() + b"\n")
            self.conversation.from_client(piece)

    def hears(self, message: Json | list[Json]) -> bool:
        (piece,) = Lines().feed(json.dumps(message).encode() + b"\n")
        return self.conversation.from_engine(piece)

    def refused(self, message: Json | list[Json]) -> list[Any]:
        (piece,) = Lines().feed(json.dumps(message).encode() + b"\n")
        return [json.loads(line) for line in self.conversation.refuse(piece, "no").splitlines()]

    def waits(self) -> bool:
        return self.conversation.is_waiting

    def lost(self) -> list[Any]:
        return [json.loads(line) for line in self.conversation.lose("lost").splitlines()]

    def opening(self) -> list[Json]:
        return [json.loads(line) for line in self.conversation.opening().splitlines()]


def failure(identifier: int | str) -> Json:
    error = {"code": -32000, "message": "lost", "data": {"mayHaveRun": True}}
    return {"jsonrpc": "2.0", "id": identifier, "error": error}


def opened() -> Talk:
    talk = Talk()
    talk.says(OPENING)
    assert talk.hears({"id": 0, "result": {}})
    talk.says(OPENED)
    return talk


def test_open_requests_are_answered_once() -> None:
    talk = opened()
    talk.says({"id": 1, "method": "tools/call"}, {"id": "1", "method": "tools/call"}, {"id": 2, "method": "ping"})
    assert talk.hears({"id": 2, "result": {}})
    assert talk.lost() == [failure(1), failure("1")]
    assert talk.lost() == []


def test_a_cancelled_request_is_not_answered() -> None:
    talk = opened()
    talk.says({"id": 1, "method": "tools/call"}, {"method": "notifications/cancelled", "params": {"requestId": 1}})
    assert talk.lost() == []


def test_a_lost_batch_is_answered_as_a_batch() -> None:
    talk = opened()
    talk.says([{"id": 1, "method": "tools/call"}, {"method": "x"}, {"id": 2, "method": "tools/call"}])
    talk.says([{"id": 3, "method": "ping"}])
    assert talk.hears([{"id": 3, "result": {}}])
    assert talk.lost() == [[failure(1), failure(2)]]


def test_the_next_engine_is_opened_like_the_lost_one_and_its_answers_are_swallowed() -> None:
    talk = opened()
    talk.says({"id": 1, "method": "logging/setLevel", "params": {"level": "info"}})
    talk.says({"id": 2, "method": "logging/setLevel", "params": {"level": "error"}})
    talk.says({"id": 3, "method": "resources/subscribe", "params": {"uri": "a:1"}})
    talk.says({"id": 4, "method": "resources/subscribe", "params": {"uri": "a:2"}})
    talk.says({"id": 5, "method": "resources/unsubscribe", "params": {"uri": "a:1"}})
    for identifier in range(1, 6):
        talk.hears({"id": identifier, "result": {}})
    assert talk.lost() == []
    again = talk.opening()
    assert [each.get("method") for each in again] == [
        *("initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe")
    ]
    assert again[0]["params"] == OPENING["params"]
    assert again[2]["params"] == {"level": "error"}
    assert again[3]["params"] == {"uri": "a:2"}
    identifiers = [each["id"] for each in again if "id" in each]
    assert all(each.startswith(AGAIN) for each in identifiers)
    assert [talk.hears({"id": each, "result": {}}) for each in identifiers] == [False] * 3
    assert talk.hears({"id": identifiers[0], "result": {}})  # it is no answer of the opening


def test_the_answer_to_an_open_initialize_comes_from_the_next_engine() -> None:
    talk = Talk()
    talk.says(OPENING)
    assert talk.lost() == []
    assert talk.waits()
    assert talk.opening() == [OPENING]
    assert talk.hears({"id": 0, "result": {}})
    assert not talk.waits()


def test_a_modern_client_is_told_to_listen_again() -> None:
    talk = Talk()
    talk.says({"id": "s", "method": "subscriptions/listen", "params": {}})
    result = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": "s"}}
    assert talk.lost() == [{"jsonrpc": "2.0", "id": "s", "result": result}]
    assert talk.opening() == []


def test_questions_of_a_lost_engine_are_withdrawn() -> None:
    talk = opened()
    talk.hears({"id": 7, "method": "elicitation/create", "params": {}})
    talk.hears({"id": 8, "method": "elicitation/create", "params": {}})
    talk.says({"id": 7, "result": {}})
    params = {"requestId": 8, "reason": ASKER_LOST}
    assert talk.lost() == [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}]


@pytest.mark.parametrize("is_batch", [False, True])
def test_requests_that_no_engine_has_got_are_refused(is_batch: bool) -> None:
    messages: list[Json] = [{"id": 3, "method": "ping"}, {"method": "x"}, {"id": 4, "result": {}}]
    error = {"code": -32000, "message": "no", "data": {"mayHaveRun": False}}
    refusal = {"jsonrpc": "2.0", "id": 3, "error": error}
    refused = [answer for each in ([messages] if is_batch else messages) for answer in opened().refused(each)]
    assert refused == ([[refusal]] if is_batch else [refusal])


def test_a_batch_without_requests_is_not_answered() -> None:
    assert opened().refused([{"method": "x"}]) == []


def test_what_may_be_repeated_goes_to_the_next_engine() -> None:
    talk = opened()
    listing: Json = {"id": 1, "method": "tools/list", "params": {"_meta": {"progressToken": 1}}}
    talk.says(listing, {"id": 2, "method": "tools/call"}, {"id": 3, "method": "ping"})
    assert talk.lost() == [failure(2)]
    assert talk.waits()
    first, opened_again, *repeated = talk.opening()
    assert [first["method"], opened_again["method"]] == ["initialize", "notifications/initialized"]
    assert repeated == [listing, {"id": 3, "method": "ping"}]
    assert talk.hears({"id": 1, "result": {}})
    talk.says({"method": "notifications/cancelled", "params": {"requestId": 3}})
    assert not talk.waits()
    assert talk.lost() == []


def test_what_sets_something_is_repeated_once_with_its_own_id_while_it_is_open() -> None:
    talk = opened()
    setting: Json = {"id": 0, "method": "logging/setLevel", "params": {"level": "info"}}  # the id of `initialize`
    talk.says(setting)
    assert talk.lost() == []
    first, _, second = talk.opening()
    assert first["id"].startswith(AGAIN)
    assert second == setting


def test_a_request_that_ends_every_engine_is_refused_in_the_end() -> None:
    talk = Talk()
    talk.says(OPENING)
    for _ in range(MOST_ENGINES - 1):
        assert talk.lost() == []
        assert [each["id"] for each in talk.opening()] == [0]
    (refused,) = talk.lost()
    assert refused["error"]["message"] == LOST_REPEATEDLY
    assert refused["error"]["data"] == {"mayHaveRun": False}
    assert not talk.waits()
    assert talk.opening() == []


def test_requests_that_wait_for_an_engine_are_refused_if_there_is_none() -> None:
    talk = Talk()
    talk.says(OPENING)
    assert talk.lost() == []
    (refused,) = talk.conversation.refuse_open("no").splitlines()
    assert json.loads(refused)["error"]["message"] == "no"
    assert not talk.waits()
    assert talk.opening() == []


@pytest.mark.parametrize(
    "params",
    [b"[" * 70_000 + b"]" * 70_000, b"not JSON " * 10_000],
    ids=["deep", "not JSON"],
)
def test_an_initialize_that_no_engine_can_read_is_passed_on_and_not_repeated_later(params: bytes) -> None:
    talk = Talk()
    (piece,) = Lines().feed(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":' + params + b"}\n")
    talk.conversation.from_client(piece)
    assert talk.hears({"id": 0, "error": {}})
    assert talk.lost() == []
    assert talk.opening() == []


def test_an_initialize_that_is_too_long_to_keep_is_answered() -> None:
    talk = Talk()
    long = json.dumps({**OPENING, "params": {"x": "y" * 2 * HELD_BYTES}}).encode() + b"\n"
    lines = Lines()
    for start in range(0, len(long), 1 << 16):
        for piece in lines.feed(long[start : start + (1 << 16)]):
            talk.conversation.from_client(piece)
    assert talk.lost() == [failure(0)]
    assert not talk.waits()


def test_a_question_that_the_engine_has_withdrawn_itself_is_not_withdrawn_again() -> None:
    talk = opened()
    talk.hears({"id": 7, "method": "elicitation/create", "params": {}})
    talk.hears({"method": "notifications/cancelled", "params": {"requestId": 7}})
    assert talk.lost() == []


@pytest.mark.parametrize("cancelled", [True, 1.0, None, [1], "1"])
def test_a_cancellation_of_another_id_leaves_a_request_open(cancelled: Any) -> None:
    talk = opened()
    talk.says({"id": 1, "method": "tools/call"})
    talk.says({"method": "notifications/cancelled", "params": {"requestId": cancelled}})
    assert talk.lost() == [failure(1)]


def test_memory_for_what_is_repeated_is_bounded() -> None:
    talk = opened()
    long = "u" * REMEMBERED_BYTES
    talk.says({"id": 1, "method": "resources/subscribe", "params": {"uri": long}})
    talk.says({"id": 2, "method": "ping", "params": {"x": long}})
    assert talk.lost() == [failure(1), failure(2)]
    for number in range(REMEMBERED + 10):
        talk.says({"id": number, "method": "ping"})
    assert talk.lost() == [failure(REMEMBERED + number) for number in range(10)]
    assert len(talk.opening()) == 2 + REMEMBERED
