"""The answers to a batch are written as one array, as soon as the last one is known."""

import json
from collections.abc import Sequence

import pytest

from search_mcp.model.errors import ToolNotFound
from search_mcp.wire.inflight import Way
from search_mcp.wire.messages import BATCH_MESSAGES
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import ErrorObject, Raw
from wire.conversation import OK, Conversation, call, error, news, result


def test_a_batch_is_answered_as_a_batch(talk: Conversation) -> None:
    talk.hears([call(1), news("n"), call("1"), 5, result(99), call(1)])
    assert talk.said() == []
    first, second = talk.owner.requests
    talk.peer.answer(second, OK)
    assert talk.said() == []
    talk.peer.refuse(first, ToolNotFound("x"))
    assert talk.said() == [
        [
            error(None, -32600, "?"),
            error(1, -32600, "Invalid Request: id 1 is already in use"),
            result("1"),
            error(1, -32602, "Tool not found: x. search_tools finds tools by what they do", data={"suggestions": []}),
        ]
    ]
    assert [method for method, _ in talk.owner.notified] == ["n"]


def test_a_batch_may_be_answered_at_once(talk: Conversation) -> None:
    talk.owner.act = lambda request: talk.peer.answer(request, OK)
    talk.hears([call(1), call(2)], call(3))
    assert talk.said() == [[result(1), result(2)], result(3)]


def test_a_batch_of_more_messages_is_refused_as_a_whole(talk: Conversation) -> None:
    talk.owner.act = lambda request: talk.peer.answer(request, OK)
    talk.peer = Peer("them", talk.write, talk.owner, 1 << 20)
    talk.hears([call(number) for number in range(BATCH_MESSAGES)])
    (answers,) = [json.loads(line) for line in talk.written.splitlines()]
    assert answers == [result(number) for number in range(BATCH_MESSAGES)]
    talk.hears([call(number) for number in range(BATCH_MESSAGES + 1)])
    refused = json.loads(talk.written.splitlines()[-1])
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert len(talk.owner.requests) == BATCH_MESSAGES


@pytest.mark.parametrize("batch", [[news("a")], [news("a"), result(1), error(None, 1, "x")]])
def test_a_batch_without_requests_gets_no_answer(talk: Conversation, batch: Sequence[object]) -> None:
    talk.hears(list(batch))
    assert talk.said() == []


def test_a_batch_does_not_wait_for_a_cancelled_request(talk: Conversation) -> None:
    talk.hears([call(1), call(2)], [call(3)])
    talk.peer.cancelled(1, None)
    assert talk.said() == []
    talk.peer.answer(talk.owner.requests[1], OK)
    assert talk.said() == [[result(2)]]
    talk.peer.cancelled(3, None)
    assert talk.said() == []  # "there is nothing to return": not even an empty array


def test_a_batch_does_not_wait_for_a_dropped_request(talk: Conversation) -> None:
    talk.hears([call(1), call(2)])
    talk.peer.drop(talk.owner.requests[0])
    talk.peer.answer(talk.owner.requests[1], OK)
    assert talk.said() == [[result(2)]]


def test_a_batch_does_not_wait_for_an_invalid_element_without_an_answer(talk: Conversation) -> None:
    talk.owner.excuse = lambda invalid: None
    talk.hears([5, call(1)])
    talk.peer.answer(talk.owner.requests[0], OK)
    assert talk.said() == [[result(1)]]


def test_a_batch_of_answers_settles(talk: Conversation) -> None:
    first, answers = talk.asks()
    second, others = talk.asks()
    talk.hears([result(second), error(first, 1, "x")])
    assert (answers, others) == ([ErrorObject(1, "x")], [Raw(b'{"ok": true}')])


def test_a_batch_that_came_on_its_own_is_dropped_only_as_a_whole(talk: Conversation) -> None:
    written: list[bytes] = []
    dropped: list[bool] = []
    for ids in ((1, 2), (3, 4)):
        line = json.dumps([call(each) for each in ids]).encode()
        talk.peer.take(line, Way(written.append, dropped=lambda: dropped.append(True)))
        talk.peer.cancelled(ids[0], None)
        assert dropped == []
        if ids[0] == 1:
            talk.peer.answer(talk.owner.requests[1], OK)
    assert [json.loads(each) for each in written] == [[result(2)]]
    talk.peer.cancelled(4, None)
    assert dropped == [True]
