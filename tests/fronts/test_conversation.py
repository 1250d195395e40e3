"""What a client is answered when its engine is lost, and what the next engine is sent."""

import json
from typing import Any

from search_mcp.fronts.client_lines import Lines
from search_mcp.fronts.conversation import AGAIN, Conversation

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
    assert talk.conversation.is_opening
    assert talk.opening() == [{"jsonrpc": "2.0", **OPENING}]
    assert talk.hears({"id": 0, "result": {}})
    assert not talk.conversation.is_opening


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
    params = {"requestId": 8, "reason": "lost"}
    assert talk.lost() == [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}]


def test_requests_that_no_engine_has_got_are_refused() -> None:
    talk = opened()
    refused = talk.conversation.refuse(({"id": 3, "method": "ping"}, {"method": "x"}, {"id": 4, "result": {}}), "no")
    error = {"code": -32000, "message": "no", "data": {"mayHaveRun": False}}
    assert [json.loads(line) for line in refused.splitlines()] == [{"jsonrpc": "2.0", "id": 3, "error": error}]
