"""Conversations with a peer: the bytes fed to it, the bytes it writes, and the callbacks it makes."""

import json
import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.model.errors import ToolNotFound
from search_mcp.wire.errors import PeerError
from search_mcp.wire.inflight import RECEIVED_REQUESTS, SENT_REQUESTS, Answer, Request, RequestFailure
from search_mcp.wire.messages import LONGEST_SHOWN
from search_mcp.wire.receiver import ConnectionEndedError, RequestFailedError
from search_mcp.wire.structs import UNSET, ErrorObject, Fields, Raw, RequestId
from wire.conversation import LIMIT, OK, Conversation, call, error, news, result

# Requests that we receive


@pytest.mark.parametrize("message_id", [1, "1", 0, -5, 2**60, "", "é", "a\nb"])
def test_a_request_is_answered_under_its_id(talk: Conversation, message_id: RequestId) -> None:
    talk.hears(call(message_id, "tools", params={"a": 1}))
    (request,) = talk.owner.requests
    assert (request.id, request.method, request.params) == (message_id, "tools", Raw(b'{"a": 1}'))
    assert talk.said() == []
    talk.peer.answer(request, OK)
    assert talk.said() == [result(message_id)]


def test_requests_are_answered_in_any_order(talk: Conversation) -> None:
    talk.hears(call(1), call("1"), call(2))
    first, second, third = talk.owner.requests
    talk.peer.answer(third, OK)
    talk.peer.refuse(first, ToolNotFound("x", ["y"]))
    talk.peer.answer(second, OK)
    not_found = error(1, -32602, "Tool not found: x. Nearest: y", data={"suggestions": ["y"]})
    assert talk.said() == [result(2), not_found, result("1")]


def test_an_answer_is_written_once(talk: Conversation) -> None:
    talk.hears(call(1))
    (request,) = talk.owner.requests
    assert talk.peer.is_open(request)
    for _ in range(2):
        talk.peer.answer(request, OK)
        talk.peer.refuse(request, ToolNotFound("x"))
    assert not talk.peer.is_open(request)
    assert talk.said() == [result(1)]


def test_an_id_in_use_is_refused(talk: Conversation) -> None:
    talk.hears(call(1), call(1))
    assert talk.said() == [error(1, -32600, "Invalid Request: id 1 is already in use")]
    (request,) = talk.owner.requests
    talk.peer.answer(request, OK)
    assert talk.said() == [result(1)]
    talk.hears(call(1))
    assert len(talk.owner.requests) == 2


@pytest.mark.parametrize("reason", [None, Raw(b'"enough"')])
def test_a_cancelled_request_gets_no_response(talk: Conversation, reason: Raw | None) -> None:
    talk.hears(call(1), call(2))
    cancelled, other = talk.owner.requests
    talk.peer.cancelled(1, reason)
    assert talk.owner.cancelled == [(1, reason)]
    talk.peer.answer(cancelled, OK)
    talk.peer.refuse(cancelled, ToolNotFound("x"))
    talk.peer.answer(other, OK)
    assert talk.said() == [result(2)]


@pytest.mark.parametrize("message_id", ["1", 2, None])
def test_a_cancellation_of_something_else_is_ignored(talk: Conversation, message_id: RequestId | None) -> None:
    talk.hears(call(1))
    talk.peer.cancelled(message_id, None)
    assert talk.owner.cancelled == []
    assert talk.peer.is_open(talk.owner.requests[0])


def test_a_cancellation_cancels_once(talk: Conversation) -> None:
    talk.hears(call(1))
    talk.peer.cancelled(1, None)
    talk.peer.cancelled(1, None)
    talk.peer.end()
    assert talk.owner.cancelled == [(1, None)]


def test_a_request_without_a_cancel_function_is_retired_as_well(talk: Conversation) -> None:
    talk.hears(call(1))
    (request,) = talk.owner.requests
    request.cancel = None
    talk.peer.cancelled(1, None)
    assert not talk.peer.is_open(request)
    talk.hears(call(2))
    talk.owner.requests[1].cancel = None
    talk.peer.end()
    assert not talk.peer.is_open(talk.owner.requests[1])


def test_a_request_may_be_dropped_without_an_answer(talk: Conversation) -> None:
    talk.hears(call(1), call(2))
    for _ in range(2):
        talk.peer.drop(talk.owner.requests[0])
    talk.peer.answer(talk.owner.requests[0], OK)
    assert not talk.peer.is_open(talk.owner.requests[0])
    assert talk.peer.is_open(talk.owner.requests[1])
    assert talk.said() == []
    talk.peer.end()
    assert talk.owner.cancelled == [(2, None)]


# Notifications and invalid lines


def test_notifications_are_received_in_order(talk: Conversation) -> None:
    talk.hears(news("a"), news("b", params={"x": 1.0}), call(1), news("c", params=[]))
    assert talk.owner.notified == [("a", UNSET), ("b", Raw(b'{"x": 1.0}')), ("c", Raw(b"[]"))]
    assert talk.said() == []


REFUSED = [
    # given, code, id
    pytest.param(b"hello\n", -32700, None, id="no JSON"),
    pytest.param(b'{"id":1}\n', -32600, 1, id="no message"),
    pytest.param(b"[]\n", -32600, None, id="an empty batch"),
    pytest.param(b'"' + b"x" * LIMIT + b'"\n', -32700, None, id="too long"),
]


@pytest.mark.parametrize(("given_", "code", "message_id"), REFUSED)
def test_an_invalid_line_is_answered_with_the_error_of_the_owner(
    talk: Conversation, given_: bytes, code: int, message_id: RequestId | None
) -> None:
    talk.hears(given_, call(5))
    assert talk.said() == [error(message_id, code, "?")]
    assert len(talk.owner.requests) == 1


@pytest.mark.parametrize(("given_", "code", "message_id"), REFUSED)
def test_an_invalid_line_gets_no_answer_if_the_owner_returns_none(
    talk: Conversation, given_: bytes, code: int, message_id: RequestId | None
) -> None:
    talk.owner.excuse = lambda invalid: None
    talk.hears(given_, call(5))
    assert talk.said() == []
    assert [invalid.code for invalid in talk.owner.invalid] == [code]
    assert len(talk.owner.requests) == 1


def test_the_size_of_a_line_that_is_too_long_is_reported(talk: Conversation) -> None:
    talk.hears(b"x" * 5000 + b"\n")
    assert [invalid.message for invalid in talk.owner.invalid] == [
        "Parse error: a message of 5,000 bytes, over the limit of 4,096"
    ]


# Requests that we send


@pytest.mark.parametrize(
    ("given_", "then"),
    [
        pytest.param({"result": {"ok": 1}}, Raw(b'{"ok": 1}'), id="a result"),
        pytest.param({"result": None}, Raw(b"null"), id="null for a result"),
        pytest.param({"error": {"code": -5, "message": "no"}}, ErrorObject(-5, "no"), id="an error"),
        pytest.param(
            {"error": {"code": 1, "message": "no", "data": [1]}}, ErrorObject(1, "no", Raw(b"[1]")), id="with data"
        ),
        pytest.param({"error": "no"}, ErrorObject(-32603, "malformed error object", Raw(b'"no"')), id="malformed"),
    ],
)
def test_an_answer_settles_its_request(talk: Conversation, given_: dict[str, object], then: Answer) -> None:
    message_id, answers = talk.asks("ask")
    _, others = talk.asks("other")
    assert talk.said()[0] == call(message_id, "ask")
    answer = {"jsonrpc": "2.0", "id": message_id, **given_}
    talk.hears(answer, answer)  # the second answer has no effect
    assert answers == [then]
    assert others == []
    assert talk.said() == []


@pytest.mark.parametrize("message_id", ["1", 2, None, 0])
def test_an_answer_to_something_else_settles_nothing(talk: Conversation, message_id: RequestId | None) -> None:
    _, answers = talk.asks()
    talk.hears(result(message_id), error(message_id, 1, "no"))
    assert answers == []
    assert repr(talk.peer) == "<Peer them inflight=1>"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{"x":"\xff"}}\n', id="no UTF-8"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{]}\n', id="no JSON"),
        pytest.param(b'{"id":1,"result":{}}\n', id="no version"),
        pytest.param(b'{"jsonrpc":"2.0","id":1}\n', id="neither result nor error"),
        pytest.param(b'[{"id":1,"result":{}}]\n', id="no version, in a batch"),
        pytest.param(b'[{"jsonrpc":"2.0","id":1,"result":{]}]\n', id="no JSON, in a batch"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * LIMIT + b'"}\n', id="too long, id first"),
        pytest.param(b'{"jsonrpc":"2.0","result":"' + b"x" * LIMIT + b'","id":1}\n', id="too long, id last"),
    ],
)
def test_an_unreadable_answer_settles_its_request_with_an_error(talk: Conversation, line: bytes) -> None:
    _, answers = talk.asks()
    _, others = talk.asks()
    talk.hears(line)
    (answer,) = answers
    assert isinstance(answer, ErrorObject)
    assert answer.code == -32603
    assert answer.message.startswith("unreadable answer: ")
    assert others == []


@pytest.mark.parametrize(
    "answer", [b'{"jsonrpc":"2.0","id":1,"result":{}}\n', b'{"jsonrpc":"2.0","id":1,"result":{]}\n']
)
def test_an_answer_in_the_wrong_place_settles_nothing(talk: Conversation, answer: bytes) -> None:
    _, answers = talk.asks()
    _, others = talk.asks()
    talk.peer.feed(answer, 2)
    talk.peer.feed(answer, 0)
    assert answers == []
    talk.peer.feed(answer, 1)
    assert len(answers) == 1
    assert others == []


@pytest.mark.parametrize(
    ("lines", "answered"),
    [
        pytest.param([b'{"jsonrpc":"1.0","id":1,"method":"m"}\n'], [], id="a request that breaks the rules"),
        pytest.param([b'{"jsonrpc":"2.0","id":1,"method":5}\n'], [], id="a request with an odd method"),
        # An unreadable element of a batch says nothing about the other elements.
        pytest.param([b'[5,{"jsonrpc":"2.0","id":1,"result":{}}]\n'], [Raw(b"{}")], id="noise beside it in a batch"),
        pytest.param([b'{"id":"1","result":{}}\n', b'{"result":{"id":"1"}}\n'], [], id="another id"),
    ],
)
def test_an_unreadable_line_settles_no_other_request(
    talk: Conversation, lines: list[bytes], answered: list[Answer]
) -> None:
    _, answers = talk.asks()
    talk.hears(*lines)
    assert answers == answered


def test_an_abandoned_request_is_over(talk: Conversation) -> None:
    message_id, answers = talk.asks()
    talk.said()
    assert talk.peer.abandon(message_id, "forget", Raw(b'{"it":1}'))
    assert talk.said() == [news("forget", params={"it": 1})]
    assert not talk.peer.abandon(message_id, "forget", Raw(b"{}"))
    talk.hears(result(message_id))
    talk.peer.end()
    assert answers == []
    assert talk.said() == []


def test_an_answered_request_cannot_be_abandoned(talk: Conversation) -> None:
    message_id, _ = talk.asks()
    talk.hears(result(message_id))
    talk.said()
    assert not talk.peer.abandon(message_id, "forget", Raw(b"{}"))
    assert talk.said() == []


def test_progress_reaches_the_request_it_concerns(talk: Conversation) -> None:
    reports: list[Fields] = []
    body: Fields = {"progress": Raw(b"1")}

    token = talk.peer.request("m", lambda token: {"token": token}, lambda answer: None, reports.append)
    deaf = talk.peer.request("m", None, lambda answer: None)
    assert talk.said() == [call(token, params={"token": token}), call(deaf)]
    for other in (str(token), token + 100, deaf, None):
        talk.peer.report(other, body)
    assert reports == []
    talk.peer.report(token, body)
    assert reports == [body]
    talk.hears(result(token))
    talk.peer.report(token, body)
    assert len(reports) == 1


def test_a_peer_is_idle_without_open_requests_of_ours(talk: Conversation) -> None:
    assert talk.peer.unanswered == 0
    message_id, _ = talk.asks()
    assert talk.peer.unanswered
    talk.hears(result(message_id))
    assert talk.peer.unanswered == 0
    talk.hears(call(1))
    assert talk.peer.unanswered == 0


@pytest.mark.parametrize(
    ("method", "params", "then"),
    [("m", None, news("m")), ("m", Raw(b'{"x":1.0}'), news("m", params={"x": 1.0}))],
)
def test_notifies(talk: Conversation, method: str, params: Raw | None, then: dict[str, object]) -> None:
    talk.peer.notify(method, params)
    assert talk.said() == [then]


def test_after_a_half_close_only_answers_are_written(talk: Conversation) -> None:
    talk.hears(call(1))
    talk.peer.half_close()
    talk.peer.notify("m", None)
    assert talk.said() == []
    talk.peer.answer(talk.owner.requests[0], OK)
    assert talk.said() == [result(1)]


def test_after_a_half_close_no_answer_is_waited_for(talk: Conversation) -> None:
    _, before = talk.asks()
    talk.said()
    talk.peer.half_close()
    _, behind = talk.asks()
    assert (before, behind) == ([None], [None])
    assert talk.peer.unanswered == 0
    assert talk.said() == []


# Waiting


async def test_asks_and_waits(talk: Conversation) -> None:
    got: list[Raw] = []

    async def ask() -> None:
        got.append(await talk.peer.ask("m", Raw(b"{}")))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await wait_all_tasks_blocked()
            assert talk.said() == [call(1, params={})]
            talk.hears(result(1))
    assert [json.loads(bytes(raw)) for raw in got] == [{"ok": True}]
    assert talk.peer.unanswered == 0


@pytest.mark.parametrize(
    ("then", "raised"),
    [
        pytest.param(lambda talk: talk.hears(error(1, -5, "no")), PeerError, id="an error"),
        pytest.param(lambda talk: talk.peer.end(), ConnectionEndedError, id="the end"),
        pytest.param(lambda talk: talk.hears(b'{"jsonrpc":"2.0","id":1,"result":\n'), PeerError, id="noise"),
        pytest.param(lambda talk: talk.peer.fail(1, RequestFailure("x")), RequestFailedError, id="a failure"),
    ],
)
async def test_asks_in_vain(talk: Conversation, then: Callable[[Conversation], None], raised: type[Exception]) -> None:
    outcomes: list[type[Exception]] = []

    async def ask() -> None:
        try:
            await talk.peer.ask("m", None)
        except (PeerError, RequestFailedError, ConnectionEndedError) as exc:
            outcomes.append(type(exc))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await wait_all_tasks_blocked()
            then(talk)
    assert outcomes == [raised]
    assert talk.peer.unanswered == 0


def test_a_failure_ends_only_its_own_request(talk: Conversation) -> None:
    answers: list[Answer] = []
    for _ in range(2):
        talk.peer.request("m", None, answers.append)
    failure = RequestFailure("it answered with HTTP status 502")
    talk.peer.fail(1, failure)
    talk.peer.fail(1, RequestFailure("again"))
    assert answers == [failure]
    assert [talk.peer.is_waiting(each) for each in (1, 2)] == [False, True]
    talk.hears(result(1), result(2))
    assert answers == [failure, Raw(b'{"ok": true}')]


async def test_a_cancelled_wait_abandons_its_request(talk: Conversation) -> None:
    with anyio.move_on_after(0):
        await talk.peer.ask("m", None)
    assert talk.peer.unanswered == 0
    talk.hears(result(1))


async def test_asks_nothing_after_the_end(talk: Conversation) -> None:
    talk.peer.end()
    with pytest.raises(ConnectionEndedError):
        await talk.peer.ask("m", None)
    assert talk.said() == []


async def test_waits_until_everything_is_answered(talk: Conversation) -> None:
    with anyio.fail_after(30):
        await talk.peer.answered()
        talk.hears(call(1), call(2))
        done: list[str] = []

        async def wait() -> None:
            await talk.peer.answered()
            done.append("answered")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await wait_all_tasks_blocked()
            talk.peer.answer(talk.owner.requests[0], OK)
            await wait_all_tasks_blocked()
            assert done == []
            talk.peer.cancelled(2, None)
    assert done == ["answered"]


async def test_the_end_releases_all_waits_for_answers(talk: Conversation) -> None:
    talk.hears(call(1))
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.peer.answered)
            await wait_all_tasks_blocked()
            talk.peer.end()


async def test_several_may_wait_until_everything_is_answered(talk: Conversation) -> None:
    talk.hears(call(1))
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.peer.answered)
            tasks.start_soon(talk.peer.answered)
            await wait_all_tasks_blocked()
            talk.peer.answer(talk.owner.requests[0], OK)


# Pausing, and limits


def test_while_paused_nothing_is_acted_on_and_then_in_order(talk: Conversation) -> None:
    talk.peer.pause()
    talk.hears(call(1), news("n"), call(2))
    assert (talk.owner.requests, talk.owner.notified) == ([], [])
    talk.peer.resume()
    assert [request.id for request in talk.owner.requests] == [1, 2]
    assert len(talk.owner.notified) == 1


def test_an_answer_may_pause_the_rest_of_its_chunk(talk: Conversation) -> None:
    def answer(request: Request) -> None:
        talk.peer.answer(request, OK)
        talk.peer.pause()

    talk.owner.act = answer
    talk.hears(b"".join(json.dumps(call(number)).encode() + b"\n" for number in range(3)))
    for number in range(3):
        assert talk.said() == [result(number)]
        talk.peer.resume()
    assert talk.said() == []


async def test_a_request_held_by_a_pause_is_waited_for(talk: Conversation) -> None:
    talk.owner.act = lambda request: talk.peer.answer(request, OK)
    talk.peer.pause()
    talk.hears(call(1))
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.peer.answered)
            await wait_all_tasks_blocked()
            talk.peer.resume()
    assert talk.said() == [result(1)]


async def test_the_end_drops_messages_held_by_a_pause(talk: Conversation) -> None:
    talk.peer.pause()
    talk.hears(call(1))
    talk.peer.end()
    talk.peer.resume()
    with anyio.fail_after(30):
        await talk.peer.answered()
    assert talk.owner.requests == []


def test_more_requests_than_can_be_kept_are_refused_until_some_are_answered(talk: Conversation) -> None:
    talk.hears(*(call(number) for number in range(RECEIVED_REQUESTS)))
    assert talk.said() == []
    talk.hears(call("one too many"), news("n"))
    (refusal,) = talk.said()
    assert (refusal["id"], refusal["error"]["code"]) == ("one too many", -32000)
    assert len(talk.owner.notified) == 1
    talk.peer.answer(talk.owner.requests[0], OK)
    talk.hears(call("again"))
    assert talk.owner.requests[-1].id == "again"


def test_long_requests_are_too_many_sooner(talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search_mcp.wire.inflight.RECEIVED_BYTES", 2 * LIMIT)
    long = {"text": "x" * (LIMIT - 200)}
    talk.hears(call(1, params=long), [call(2, params=long)], call(3, params=long), call("too long"))
    (refusal,) = talk.said()
    assert (refusal["id"], refusal["error"]["code"]) == ("too long", -32000)
    talk.peer.answer(talk.owner.requests[1], OK)
    talk.hears(call("again"))
    assert talk.owner.requests[-1].id == "again"


def test_a_side_that_answers_nothing_gets_no_more_requests(talk: Conversation) -> None:
    for _ in range(SENT_REQUESTS):
        _, answers = talk.asks()
        assert answers == []
    talk.said()
    _, answers = talk.asks()
    (refusal,) = answers
    assert isinstance(refusal, ErrorObject)
    assert talk.said() == []
    talk.hears(result(1))
    _, answers = talk.asks()
    assert answers == []


# The end


def test_the_end_retires_everything_once(talk: Conversation) -> None:
    talk.hears(call(1), call("a"))
    _, first = talk.asks()
    _, second = talk.asks()
    talk.said()
    for _ in range(2):
        talk.peer.end()
    assert (first, second) == ([None], [None])
    assert talk.owner.cancelled == [(1, None), ("a", None)]
    assert repr(talk.peer) == "<Peer them inflight=0 ended>"
    for request in talk.owner.requests:
        assert not talk.peer.is_open(request)
        talk.peer.answer(request, OK)
    talk.peer.notify("m", None)
    assert talk.said() == []


def test_the_end_acts_on_the_last_line_first(talk: Conversation) -> None:
    message_id, answers = talk.asks()
    talk.hears(json.dumps(result(message_id)).encode())
    assert answers == []
    talk.peer.end()
    assert answers == [Raw(b'{"ok": true}')]


def test_a_request_after_the_end_waits_for_nothing(talk: Conversation) -> None:
    talk.peer.end()
    _, answers = talk.asks()
    assert answers == [None]
    assert talk.peer.unanswered == 0
    assert talk.said() == []


# Log lines


def test_every_message_is_logged_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="search_mcp.wire.peer")
    talk = Conversation()
    message_id, _ = talk.asks("first")
    talk.hears(result(message_id))
    talk.asks("second")
    first, answer, second = caplog.messages
    assert first.startswith("> them ") and '"first"' in first
    assert answer.startswith("< them ") and '"result"' in answer
    assert second.startswith("> them ") and '"second"' in second


def test_a_logged_message_is_text_on_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="search_mcp.wire.peer")
    talk = Conversation()
    talk.peer.feed('back\\slash "and" \u00e9\u2028end\n'.encode())
    assert caplog.messages[0] == '< them back\\slash "and" \u00e9 end'


def test_a_logged_message_is_cut_between_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="search_mcp.wire.peer")
    talk = Conversation()
    talk.peer.feed(b'{"a": "b c", "d": "' + b"x" * LONGEST_SHOWN + b'"}\n')
    assert caplog.messages[0] == '< them {"a": "b c", "d": "...'


# Bugs


def bug(*_: object) -> None:
    raise LookupError("a bug")


def test_a_bug_fails_its_own_request_only(talk: Conversation, caplog: pytest.LogCaptureFixture) -> None:
    talk.owner.act = bug
    talk.hears(call(1, "one"))
    assert talk.said() == [error(1, -32603, "Internal error")]
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "! them: bug while serving one")
    assert record.exc_info is not None
    talk.owner.act = lambda request: talk.peer.answer(request, OK)
    talk.hears(call(1, "two"))
    assert talk.said() == [result(1)]


def test_a_bug_behind_an_answer_adds_nothing(talk: Conversation) -> None:
    def answer_and_fail(request: Request) -> None:
        talk.peer.answer(request, OK)
        bug()

    talk.owner.act = answer_and_fail
    talk.hears(call(1))
    assert talk.said() == [result(1)]


def test_an_error_of_the_owner_is_the_answer(talk: Conversation, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_: Request) -> None:
        raise ToolNotFound("x")

    talk.owner.act = refuse
    talk.hears(call(1))
    assert talk.said() == [
        error(1, -32602, "Tool not found: x. search_tools finds tools by what they do", data={"suggestions": []})
    ]
    assert not caplog.records


BUGS = [
    # place of the bug, event
    pytest.param(lambda talk: setattr(talk.owner, "take_note", bug), news("n"), id="a notification"),
    pytest.param(lambda talk: talk.peer.request("m", None, bug), result(1), id="an answer"),
    pytest.param(lambda talk: talk.peer.request("m", None, bug), error(1, 1, "x"), id="an error"),
    pytest.param(lambda talk: talk.peer.request("m", None, bug), b'{"id":1,"result":1}\n', id="an unreadable answer"),
    pytest.param(lambda talk: setattr(talk.owner, "excuse", bug), b"hello\n", id="a line that is no message"),
]


@pytest.mark.parametrize(("where", "given_"), BUGS)
def test_the_next_message_is_served(
    talk: Conversation, caplog: pytest.LogCaptureFixture, where: Callable[[Conversation], object], given_: object
) -> None:
    where(talk)
    talk.hears(given_, call("next"))
    assert [request.id for request in talk.owner.requests] == ["next"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_a_bug_does_not_keep_the_end_from_retiring_the_rest(talk: Conversation) -> None:
    talk.peer.request("m", None, bug)
    _, answers = talk.asks()
    talk.hears(call(1), call(2))
    talk.owner.requests[0].cancel = bug
    talk.peer.end()
    assert answers == [None]
    assert talk.owner.cancelled == [(2, None)]


# Framing


def lsp(message: object) -> bytes:
    text = json.dumps(message, indent=1).encode()
    return b"Content-Length: %d\r\n\r\n" % len(text) + text


def test_a_side_that_frames_like_lsp_is_answered_in_the_same_way(talk: Conversation) -> None:
    talk.hears(lsp(call(1)), lsp([call(2)]))
    for request in talk.owner.requests:
        talk.peer.answer(request, OK)
    talk.peer.notify("n", None)
    first = b'{"jsonrpc":"2.0","id":1,"result":{"ok":true}}'
    second = b'[{"jsonrpc":"2.0","id":2,"result":{"ok":true}}]'
    third = b'{"jsonrpc":"2.0","method":"n"}'
    framed = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(text), text) for text in (first, second, third))
    assert talk.written == framed


def test_lines_are_answered_with_lines(talk: Conversation) -> None:
    talk.hears(call(1))
    talk.peer.answer(talk.owner.requests[0], OK)
    assert talk.written == b'{"jsonrpc":"2.0","id":1,"result":{"ok":true}}\n'


# Any interleaving

IDS = st.sampled_from([1, "1", 2, "2"])
INDEX = st.integers(0, 5)
STEPS = st.lists(
    st.tuples(st.just("hears"), IDS)
    | st.tuples(st.just("hears a batch"), st.lists(IDS, min_size=1, max_size=4))
    | st.tuples(st.sampled_from(["answers", "refuses"]), INDEX)
    | st.tuples(st.just("is told to cancel"), IDS)
    | st.tuples(st.just("asks"), st.none())
    | st.tuples(st.sampled_from(["is answered", "is refused", "cannot read the answer", "abandons"]), st.integers(1, 5))
    | st.tuples(st.just("ends"), st.none()),
    max_size=40,
)


@given(STEPS)
def test_any_interleaving_retires_each_request_exactly_once(steps: list[tuple[str, Any]]) -> None:
    talk = Conversation()
    ended = False
    asked: dict[int, list[Answer]] = {}
    abandoned: set[int] = set()
    done: list[int] = []  # positions of received requests that were answered while they were open
    duplicates = 0
    heard = 0
    for step, argument in steps:
        requests = talk.owner.requests
        if step == "ends":
            talk.peer.end()
            ended = True
        elif ended and step != "answers":
            continue
        elif step in ("hears", "hears a batch"):
            ids = argument if isinstance(argument, list) else [argument]
            before = len(requests)
            talk.hears(call(argument) if step == "hears" else [call(each) for each in ids])
            heard += len(ids)
            duplicates += len(ids) - (len(requests) - before)
        elif step in ("answers", "refuses") and argument < len(requests):
            request = requests[argument]
            if talk.peer.is_open(request):
                done.append(argument)
            act = {
                "answers": lambda r: talk.peer.answer(r, OK),
                "refuses": lambda r: talk.peer.refuse(r, ToolNotFound("x")),
            }
            act[step](request)
        elif step == "is told to cancel":
            talk.peer.cancelled(argument, None)
        elif step == "asks":
            message_id, answers = talk.asks()
            asked[message_id] = answers
        elif step == "is answered":
            talk.hears(result(argument))
        elif step == "is refused":
            talk.hears(error(argument, 1, "no"))
        elif step == "cannot read the answer":
            talk.owner.excuse = lambda invalid: None
            talk.hears(b'{"jsonrpc":"2.0","id":%d,"result":}\n' % argument)
        elif step == "abandons" and talk.peer.abandon(argument, "forget", Raw(b"{}")):
            abandoned.add(argument)
    talk.peer.end()

    said = [each for line in talk.said() for each in (line if isinstance(line, list) else [line])]
    responses = [each for each in said if "method" not in each]
    assert len(talk.owner.requests) + duplicates == heard
    assert len(done) == len(set(done))
    assert len(done) + len(talk.owner.cancelled) == len(talk.owner.requests)
    assert len(responses) <= len(done) + duplicates  # a batch that the end interrupted is not answered
    for message_id, answers in asked.items():
        assert len(answers) == (0 if message_id in abandoned else 1)
    assert repr(talk.peer) == "<Peer them inflight=0 ended>"
    assert not any(talk.peer.is_open(request) for request in talk.owner.requests)


async def test_the_loop_is_not_needed_to_talk(talk: Conversation) -> None:
    """All work happens inside `feed`, in the order of the bytes."""
    talk.owner.act = lambda request: talk.peer.answer(request, OK)
    talk.hears(b"".join(json.dumps(call(number)).encode() + b"\n" for number in range(3)))
    assert talk.said() == [result(0), result(1), result(2)]
    await checkpoint()
    assert talk.said() == []
