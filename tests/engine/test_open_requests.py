"""What a client is answered when its engine is lost, and how the next engine is opened."""

import json
from typing import Any

import pytest

from search_mcp.engine.open_requests import MOST_REPEATED, OpenRequests, changes, refusal

Json = dict[str, Any]
OPENING: Json = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "x": {"kept": 1}}}


class Talk:
    """Open requests, with messages as values."""

    def __init__(self) -> None:
        self._open = OpenRequests()

    def says(self, *messages: Json | list[Json]) -> None:
        for message in messages:
            self._open.asked(line(message))

    def hears(self, message: Json | list[Json]) -> None:
        self._open.answered(line(message))

    def lost(self) -> list[Any]:
        return values(self._open.lose("lost"))

    def repeated(self) -> list[Any]:
        return values(b"".join(self._open.repeat()))

    def opening(self) -> list[Json]:
        return values(self._open.opening())


def line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def values(lines: bytes) -> list[Any]:
    return [json.loads(line) for line in lines.splitlines()]


def failure(identifier: int | str, reason: str = "lost", may_have_run: bool = True) -> Json:
    error = {"code": -32000, "message": reason, "data": {"mayHaveRun": may_have_run}}
    return {"jsonrpc": "2.0", "id": identifier, "error": error}


def test_open_requests_are_answered_once() -> None:
    talk = Talk()
    talk.says({"id": 1, "method": "tools/call"}, {"id": "1", "method": "tools/call"}, {"id": 2, "method": "ping"})
    talk.hears({"id": 2, "result": {}})
    talk.hears({"id": "1", "method": "elicitation/create"})  # a question
    talk.says({"id": 1, "result": {}})  # an answer
    assert talk.lost() == [failure(1), failure("1")]
    assert talk.lost() == []


@pytest.mark.parametrize(("cancelled", "lost"), [(1, []), *((each, [failure(1)]) for each in (True, None, [1], "1"))])
def test_a_cancelled_request_is_not_answered(cancelled: Any, lost: list[Json]) -> None:
    talk = Talk()
    talk.says({"id": 1, "method": "tools/call"})
    talk.says({"method": "notifications/cancelled", "params": {"requestId": cancelled}})
    talk.says({"method": "notifications/cancelled"})
    assert talk.lost() == lost


def test_each_request_of_a_batch_is_answered() -> None:
    talk = Talk()
    talk.says([{"id": 1, "method": "tools/call"}, {"method": "x"}, {"id": 2, "method": "tools/call"}])
    talk.says([{"id": 3, "method": "ping"}])
    talk.hears([{"id": 3, "result": {}}])
    assert talk.lost() == [failure(1), failure(2)]


def test_the_next_engine_is_opened_like_the_lost_one() -> None:
    talk = Talk()
    assert talk.opening() == []
    talk.says(OPENING)
    talk.hears({"id": 0, "result": {}})
    assert talk.lost() == []
    assert talk.opening() == [OPENING, {"jsonrpc": "2.0", "method": "notifications/initialized"}]


@pytest.mark.parametrize("method", ["initialize", "server/discover", "tools/list"])
def test_a_request_that_a_client_sends_once_goes_to_the_next_engine_some_times(method: str) -> None:
    opening, talk = {**OPENING, "method": method}, Talk()
    for _ in range(MOST_REPEATED):
        talk.says(opening, {"id": 1, "method": "tools/call"})
        assert talk.repeated() == [opening]
        assert (talk.opening(), talk.lost()) == ([], [failure(1)])
    talk.says(opening)
    assert (talk.repeated(), talk.lost(), talk.opening()) == ([], [failure(0)], [])
    talk.says(opening, {"id": 2, "method": "ping"})
    talk.hears({"id": 2, "result": {}})  # this engine works
    assert talk.repeated() == [opening]


def test_an_opening_is_not_repeated_with_a_call_or_after_its_end() -> None:
    talk = Talk()
    talk.says([OPENING, {"id": 1, "method": "tools/call"}])
    assert (talk.repeated(), talk.lost()) == ([], [failure(0), failure(1)])
    talk.says(OPENING)
    talk.hears({"id": 0, "result": {}})
    assert talk.repeated() == []


def test_a_modern_client_is_told_to_listen_again() -> None:
    talk = Talk()
    talk.says({"id": "s", "method": "subscriptions/listen", "params": {}})
    result = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": "s"}}
    assert talk.lost() == [{"jsonrpc": "2.0", "id": "s", "result": result}]


def test_the_requests_of_a_line_are_refused() -> None:
    messages: list[Json] = [{"id": 3, "method": "ping"}, {"method": "x"}, {"id": 4, "result": {}}]
    for each in ([messages], messages):
        refused = b"".join(refusal(line(message), "no", may_have_run=False) for message in each)
        assert values(refused) == [failure(3, "no", may_have_run=False)]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"result": {"capabilities": {"tools": {"listChanged": True}, "prompts": {}, "logging": {}}}}, ["tools"]),
        (
            {"result": {"capabilities": {each: {"listChanged": True} for each in ("resources", "prompts")}}},
            ["prompts", "resources"],
        ),
        ({"error": {"code": -32602, "message": "no"}}, []),
    ],
)
def test_lists_that_an_answer_declares_have_changed(answer: Json, told: list[str]) -> None:
    methods = [each["method"] for each in values(changes(line({"id": 0, **answer})))]
    assert methods == [f"notifications/{each}/list_changed" for each in told]
