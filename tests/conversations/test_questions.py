"""Requests of a backend to the client during a call, in the four pairings of eras."""

import pytest

from conversations.back import Back, Served, exits, leaves_to_the_test
from conversations.eras import (
    legacy_backend,
    legacy_client,
    legacy_legacy,
    legacy_modern,
    modern_backend,
    modern_client,
    modern_legacy,
    modern_modern,
)
from conversations.front import Asked
from conversations.pair import Pair
from conversations.words import ROOTS, Json, accept, elicit, encode, roots, sample, sampled, text
from search_mcp.backends.connection import EARLY_MESSAGES

CAN_ALL: Json = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}
QUESTIONS = [
    pytest.param(elicit("Your name?"), accept(name="Ada ☃"), id="elicitation"),
    pytest.param(elicit("Your name?"), {"action": "decline"}, id="declined"),
    pytest.param(sample("2 + 2?"), sampled("4"), id="sampling"),
    pytest.param(ROOTS, roots("file:///home/ada"), id="roots"),
]


def calling(pair: Pair) -> tuple[Asked, Served]:
    """Begin a call, by a client that can be asked everything."""
    pair.front.opens(**CAN_ALL)
    return pair.front.calls("alpha.echo"), pair.alpha.is_called("echo")


@pytest.mark.parametrize(("question", "response"), QUESTIONS)
def test_a_backend_asks_during_a_call(pair: Pair, question: Json, response: Json) -> None:
    pair.front.opens(**CAN_ALL)
    pair.front.calls("alpha.greet", name="?")
    pair.alpha.asks(who=question)
    pair.front.is_asked(question).answers(response)
    pair.alpha.gets(who=response)
    pair.alpha.returns(text("hello Ada"))
    pair.front.gets(text("hello Ada"))


@pytest.mark.parametrize("meta", [{}, {"a.b/c": {}}])
@pytest.mark.parametrize(("question", "response"), QUESTIONS)
def test_the_meta_of_a_question_arrives_also_when_it_is_empty(
    pair: Pair, question: Json, response: Json, meta: Json
) -> None:
    pair.front.opens(**CAN_ALL)
    pair.front.calls("alpha.greet", name="?")
    asked = {**question, "params": {**question.get("params", {}), "_meta": meta}}
    pair.alpha.asks(who=asked)
    pair.front.is_asked(asked).answers(response)
    pair.alpha.gets(who=response)
    pair.alpha.returns(text("hello Ada"))
    pair.front.gets(text("hello Ada"))


def test_a_backend_asks_during_a_call_of_call_tool(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    pair.front.calls("call_tool", name="alpha.greet", arguments={"name": "?"})
    pair.alpha.asks(who=elicit("Your name?"))
    pair.front.is_asked(elicit("Your name?")).answers(accept(name="Ada"))
    pair.alpha.gets(who=accept(name="Ada"))
    pair.alpha.returns(text("hello Ada"))
    pair.front.gets(text("hello Ada"))


def test_a_backend_asks_twice(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    pair.front.calls("alpha.echo", token="t")
    for words in ("first", "second"):
        pair.alpha.asks(**{words: elicit(words)})
        pair.front.is_asked(elicit(words)).answers(accept(name=words))
        pair.alpha.gets(**{words: accept(name=words)})
    pair.alpha.returns(text("x"))
    pair.front.gets(text("x"))


@modern_backend
def test_a_backend_asks_several_things_at_once(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    pair.front.calls("alpha.echo")
    pair.alpha.asks(z=elicit("z"), a=sample("a"), m=ROOTS)
    pair.front.is_asked(elicit("z"), sample("a"), ROOTS).answers(accept(name="z"), sampled("a"), roots("file:///m"))
    pair.alpha.gets(z=accept(name="z"), a=sampled("a"), m=roots("file:///m"))
    pair.alpha.returns(text("x"))
    pair.front.gets(text("x"))


@modern_backend
@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("prompts/get", {"name": "alpha.hello"}, {"messages": []}),
        ("resources/read", {"uri": "x://1"}, {"contents": []}),
    ],
)
def test_prompts_and_resources_may_need_input_too(pair: Pair, method: str, params: Json, result: Json) -> None:
    pair.alpha.prompts, pair.alpha.resources = [{"name": "hello"}], [{"uri": "x://1", "name": "1"}]
    pair.front.opens(**CAN_ALL)
    pair.front.asks(method, params)
    pair.alpha.asks(who=elicit("Who?"))
    pair.front.is_asked(elicit("Who?")).answers(accept(name="Ada"))
    pair.alpha.gets(who=accept(name="Ada"))
    pair.alpha.returns(result)
    pair.front.gets(result)


def test_progress_goes_on_after_a_question(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    call = pair.front.calls("alpha.echo", token="t")
    served = pair.alpha.is_called("echo")
    served.reports(1)
    pair.front.hears("notifications/progress", progressToken="t", progress=1)
    served.asks(who=elicit("Who?"))
    call.is_asked(elicit("Who?")).answers(accept(name="Ada"))
    served.gets(who=accept(name="Ada"))
    served.reports(2)
    pair.front.hears("notifications/progress", progressToken="t", progress=2)
    served.returns(text("x"))
    call.gets(text("x"))


@legacy_modern
def test_progress_does_not_go_back_when_the_call_is_made_again(pair: Pair) -> None:
    """ "The `progress` value MUST increase with each notification": the client sees one call, under one token."""
    pair.front.opens(**CAN_ALL)
    call = pair.front.calls("alpha.echo", token="t")
    served = pair.alpha.is_called("echo")
    reported: list[float] = [1, 2.5]
    for progress in reported:
        served.reports(progress)
        pair.front.hears("notifications/progress", progressToken="t", progress=progress)
    for least, most in ((2.5, 3), (3, 4)):
        served.asks(who=elicit("Who?"))
        call.is_asked(elicit("Who?")).answers(accept(name="Ada"))
        served.gets(who=accept(name="Ada"))
        for progress in (0, 1, least):
            served.reports(progress, total=10)
            pair.front.hears_nothing()
        served.reports(most, total=10)
        pair.front.hears("notifications/progress", progressToken="t", progress=most, total=10)
    served.returns(text("x"))
    call.gets(text("x"))


# A client that cannot be asked


@legacy_backend
@pytest.mark.parametrize("question", [elicit("?"), sample("?"), ROOTS], ids=["elicitation", "sampling", "roots"])
def test_a_client_that_declared_nothing_is_not_asked_and_the_backend_told_at_once(pair: Pair, question: Json) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    served.asks(who=question)
    assert _refusal(pair.alpha, "who")
    served.returns(text("without"))
    pair.front.gets(text("without"))


@modern_backend
@pytest.mark.parametrize("question", [elicit("?"), sample("?"), ROOTS], ids=["elicitation", "sampling", "roots"])
def test_a_modern_backend_that_asks_what_it_must_not_fails_the_call(pair: Pair, question: Json) -> None:
    """ "Servers MUST NOT send an `inputRequests` that the client has not declared support for": nor must we."""
    pair.front.opens()
    pair.front.calls("alpha.echo")
    pair.alpha.asks(who=question)
    said = pair.front.next().body
    assert "error" in said, said


@legacy_backend
def test_a_request_no_server_may_make_is_refused(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    for method in ("what/ever", "tools/list", "initialize"):
        pair.alpha.says(id=method, method=method)
        assert _refusal(pair.alpha, method)["code"] == -32601


@legacy_backend
def test_a_backend_may_ping_us(pair: Pair) -> None:
    pair.front.opens()
    pair.alpha.says(id="p", method="ping")
    assert pair.alpha.next().body == {"jsonrpc": "2.0", "id": "p", "result": {}}


@modern_backend
def test_a_modern_backend_that_sends_a_request_gets_no_response(pair: Pair) -> None:
    """ "The client MUST NOT write JSON-RPC responses": transports/stdio."""
    pair.front.opens(**CAN_ALL)
    pair.alpha.says(id="q", **elicit("?"))
    pair.alpha.hears_nothing()


@modern_legacy
def test_a_client_that_only_listens_is_not_asked_and_the_backend_told_at_once(pair: Pair) -> None:
    """A subscription is a request to the backend, and no answer of ours that a question could be put in."""
    pair.alpha.resources = [{"uri": "note://1", "name": "1"}]
    pair.front.opens(**CAN_ALL)
    pair.front.watches("note://1")
    subscribing = pair.alpha.receives("resources/subscribe", uri="note://1")
    subscribing.asks(where=ROOTS)
    assert "only be asked during a call" in _refusal(pair.alpha, "where")["message"]
    subscribing.returns({})


# legacy + legacy: relayed under an id of our own


@legacy_legacy
def test_a_question_is_relayed_under_an_id_of_our_own(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.front.opens(**CAN_ALL)
    one, two = pair.front.calls("alpha.echo"), pair.front.calls("beta.echo")
    first, second = pair.alpha.is_called("echo"), beta.is_called("echo")
    first.asks(same=elicit("alpha's"))
    second.asks(same=elicit("beta's"))
    alphas, betas = one.is_interrupted(elicit("alpha's")), two.is_interrupted(elicit("beta's"), by="beta")
    assert alphas.requests[0].id != betas.requests[0].id
    betas.answers(accept(name="b"))
    second.gets(same=accept(name="b"))
    alphas.answers(accept(name="a"))
    first.gets(same=accept(name="a"))
    for served, call in ((first, one), (second, two)):
        served.returns(text("x"))
        call.gets(text("x"))


@legacy_legacy
def test_everything_in_a_question_and_its_answer_passes(pair: Pair) -> None:
    call, served = calling(pair)
    question = {"method": "elicitation/create", "params": {**elicit("☃")["params"], "new": {"b": 1, "a": [1.0]}}}
    served.asks(who=question)
    response = b'{"action":"accept","content":{"name":"\\u00e9","n":1.50},"_meta":{"x.y/z": 1},"new":{"b":1,"a":2}}'
    call.is_asked(question).answers(response)
    served.gets(who=response)
    served.returns(text("x"))
    call.gets(text("x"))


@legacy_legacy
def test_the_clients_error_is_the_backends_answer(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(who=sample("?"))
    call.is_interrupted(sample("?")).refuses(-1, "User rejected sampling request")
    assert _refusal(pair.alpha, "who") == {"code": -1, "message": "User rejected sampling request"}
    served.returns(text("x"))
    call.gets(text("x"))


@legacy_legacy
def test_a_question_outside_of_any_call_is_relayed(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    pair.alpha.says(id="r", **ROOTS)
    asked = pair.front.next()
    assert asked.method == "roots/list"
    pair.front.says(id=asked.id, result=roots("file:///x"))
    assert pair.alpha.next().body["result"] == roots("file:///x")


@legacy_legacy
def test_a_backend_may_withdraw_its_question(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(who=elicit("?"))
    asked = call.is_interrupted(elicit("?")).requests[0]
    pair.alpha.notifies("notifications/cancelled", requestId="who", reason="never mind")
    pair.front.hears("notifications/cancelled", requestId=asked.id, reason="never mind")
    pair.front.says(id=asked.id, result=accept(name="too late"))
    pair.alpha.hears_nothing()
    served.returns(text("x"))
    call.gets(text("x"))


@legacy_legacy
def test_progress_on_a_question_goes_back_to_who_asked(pair: Pair) -> None:
    call, served = calling(pair)
    question = {
        "method": "sampling/createMessage",
        "params": {**sample("?")["params"], "_meta": {"progressToken": "b"}},
    }
    pair.alpha.says(id="who", **question)
    asked = pair.front.next()
    token = asked.meta["progressToken"]
    pair.front.notifies("notifications/progress", progressToken=token, progress=0.5)
    assert pair.alpha.hears("notifications/progress").params == {"progressToken": "b", "progress": 0.5}
    pair.front.says(id=asked.id, result=sampled("4"))
    assert pair.alpha.next().body["result"] == sampled("4")
    pair.front.notifies("notifications/progress", progressToken=token, progress=1)
    pair.alpha.hears_nothing()
    served.returns(text("x"))
    call.gets(text("x"))


@legacy_legacy
def test_the_question_of_a_backend_that_died_is_withdrawn(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(who=elicit("?"))
    asked = call.is_interrupted(elicit("?")).requests[0]
    pair.alpha.exits(1)
    heard = [pair.front.next() for _ in pair.front.inbox[:]]
    assert [said.params.get("requestId") for said in heard if said.method == "notifications/cancelled"] == [asked.id]
    assert [said.body["error"]["data"]["mayHaveRun"] for said in heard if said.method is None] == [True]


@legacy_legacy
def test_the_end_of_an_elicitation_elsewhere_is_told(pair: Pair) -> None:
    pair.front.opens(elicitation={"url": {}})
    question = {"mode": "url", "message": "Sign in", "url": "https://example.com/", "elicitationId": "1"}
    pair.alpha.says(id="who", method="elicitation/create", params=question)
    pair.front.says(id=pair.front.next().id, result={"action": "accept"})
    assert pair.alpha.next().body["result"] == {"action": "accept"}
    pair.alpha.notifies("notifications/elicitation/complete", elicitationId="1")
    pair.front.hears("notifications/elicitation/complete", elicitationId="1")


@legacy_client
def test_new_roots_reach_legacy_backends(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    pair.front.notifies("notifications/roots/list_changed")
    if pair.alpha.is_modern:
        pair.alpha.hears_nothing()
    else:
        pair.alpha.hears("notifications/roots/list_changed")


@legacy_legacy
def test_new_roots_reach_a_legacy_backend_that_was_starting(pair: Pair) -> None:
    pair.alpha.on_opening(leaves_to_the_test)
    pair.front.capabilities = CAN_ALL
    pair.front.initializes()
    for _ in range(2):
        pair.front.notifies("notifications/roots/list_changed")
    assert pair.alpha.methods() == ["initialize"]
    pair.alpha.opens()
    heard = [method for method in pair.alpha.methods() if method.startswith("notifications/")]
    assert heard == ["notifications/initialized", "notifications/roots/list_changed"]
    pair.alpha.hears("notifications/roots/list_changed")


@legacy_legacy
def test_a_backend_that_starts_again_asks_for_the_roots_itself(pair: Pair) -> None:
    pair.alpha.on_opening(exits)
    pair.front.capabilities = CAN_ALL
    pair.front.initializes()
    pair.front.notifies("notifications/roots/list_changed")
    pair.alpha.opens_as_usual()
    pair.after(30)
    assert pair.alpha.methods()[-1] != "initialize"
    assert "notifications/roots/list_changed" not in pair.alpha.methods()


# modern + modern: input_required passes through


@modern_modern
def test_an_unfinished_answer_passes_byte_for_byte(pair: Pair) -> None:
    call, served = calling(pair)
    state = b'"\\u2603 \\/ \\ud83d\\ude00 \\u0000"'
    schema = b'"requestedSchema":{"type":"object","properties":{}}'
    requests = b'{"who":{"method":"elicitation/create","params":{%b,"message":"%b\\u2603","new":1.0}}}'
    pair.alpha.answer(
        served.said.id,
        b'{"resultType":"input_required","inputRequests":%b,"requestState":%b}' % (requests % (schema, b""), state),
    )
    said = pair.front.next()
    assert requests % (schema, b"[alpha] ") in said.line
    assert b'"requestState":' + state in said.line
    meta = encode(pair.front.stamped({}))
    pair.front.says_line(
        b'{"jsonrpc":"2.0","id":"retry","method":"tools/call","params":{"name":"alpha.echo","arguments":{},'
        b'"inputResponses":{"who":{"action":"accept","content":{"n":1.0}},"more":{"action":"decline"}},"requestState":%b,"_meta":%b}}'
        % (state, meta)
    )
    retry = pair.alpha.next()
    assert b'"requestState":' + state in retry.line
    assert b'"inputResponses":{"who":{"action":"accept","content":{"n":1.0}},"more":{"action":"decline"}}' in retry.line
    served.is_over()
    call.is_over()
    pair.alpha.answer(retry.id, text("x"))
    assert pair.front.next().id == "retry"


@modern_modern
def test_an_unfinished_answer_without_questions_passes(pair: Pair) -> None:
    """ "the client MAY retry the original request immediately"."""
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.answer(served.said.id, {"resultType": "input_required", "requestState": served.state})
    result = pair.front.next().body["result"]
    assert result["resultType"] == "input_required"
    assert "inputRequests" not in result
    call.again({"requestState": result["requestState"]})
    served.is_repeated(None)
    served.returns(text("x"))
    call.gets(text("x"))


@modern_client
def test_state_nobody_gave_is_the_backends_to_refuse_or_ours(pair: Pair) -> None:
    """To a modern backend it may be its own; to a legacy one no state is, so it is forged: -32602."""
    pair.front.opens(**CAN_ALL)
    call = pair.front.asks("tools/call", {"name": "alpha.echo", "requestState": "forged", "inputResponses": {}})
    if pair.alpha.is_modern:
        pair.alpha.receives("tools/call", requestState="forged").fails(-32602, "bad state")
        call.fails(-32000)
    else:
        call.fails(-32602)
        pair.alpha.hears_nothing()


# legacy + modern: we ask, then make the call again


@legacy_modern
def test_an_unfinished_answer_without_questions_is_retried_at_once(pair: Pair) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.answer(served.said.id, {"resultType": "input_required", "requestState": served.state})
    served.is_repeated(None)
    served.returns(text("x"))
    call.gets(text("x"))


@legacy_modern
def test_an_unfinished_answer_without_state_is_retried_without(pair: Pair) -> None:
    call, served = calling(pair)
    pair.alpha.answer(served.said.id, {"resultType": "input_required", "inputRequests": {"w": elicit("?")}})
    call.is_asked(elicit("?")).answers(accept(name="A"))
    retry = pair.alpha.next()
    assert "requestState" not in retry.params
    served.is_over()
    pair.alpha.answer(retry.id, text("x"))
    call.gets(text("x"))


@legacy_modern
@pytest.mark.parametrize("questions", [{"who": elicit("?")}, {}], ids=["asking", "without questions"])
def test_a_backend_that_never_has_enough_is_given_up(pair: Pair, questions: Json) -> None:
    _, served = calling(pair)
    unfinished = {
        "resultType": "input_required",
        "requestState": "s",
        **({"inputRequests": questions} if questions else {}),
    }
    pair.alpha.answer(served.said.id, unfinished)
    served.is_over()
    for _ in range(100):
        if pair.front.inbox and pair.front.inbox[0].method is None:
            break
        if pair.front.inbox:
            pair.front.says(id=pair.front.next().id, result=accept(name="again"))
        if pair.alpha.inbox:
            pair.alpha.answer(pair.alpha.inbox.pop(0).id, unfinished)
    error = pair.front.next().body["error"]
    assert error["code"] == -32000  # the backend failed; the caller's params were right
    pair.after(60)
    pair.alpha.hears_nothing()


@legacy_modern
def test_a_refused_question_ends_the_call(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    call = pair.front.calls("alpha.echo")
    pair.alpha.asks(a=sample("a"), b=elicit("b"))
    asked = call.is_interrupted(sample("a"), elicit("b"))
    pair.front.says(id=asked.requests[0].id, error={"code": -1, "message": "User rejected sampling request"})
    pair.front.hears("notifications/cancelled", requestId=asked.requests[1].id)
    call.fails(-1, "User rejected sampling request")
    pair.alpha.hears_nothing()


@legacy_modern
def test_a_call_cancelled_while_the_client_is_asked_is_not_made_again(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(who=elicit("?"))
    asked = call.is_interrupted(elicit("?"))
    call.cancels("enough")
    pair.front.hears("notifications/cancelled", requestId=asked.requests[0].id, reason="enough")
    asked.answers(accept(name="too late"))
    served.is_over()
    pair.alpha.hears_nothing()


@legacy_modern
def test_a_call_cancelled_after_a_round_is_cancelled_at_the_backend(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(who=elicit("?"))
    call.is_asked(elicit("?")).answers(accept(name="A"))
    served.gets(who=accept(name="A"))
    call.cancels("enough")
    served.is_cancelled("enough")


@legacy_modern
@pytest.mark.parametrize("request_", [7, {}, {"method": "what/ever"}, {"method": "elicitation/create", "params": 7}])
def test_a_question_that_is_none_fails_the_call(pair: Pair, request_: object) -> None:
    call, served = calling(pair)
    pair.alpha.answer(served.said.id, {"resultType": "input_required", "inputRequests": {"w": request_}})
    served.is_over()
    call.fails(-32000)  # the backend broke the protocol, not the caller


# modern + legacy: the call is parked


@modern_legacy
def test_a_handle_cannot_be_guessed(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    handles = set()
    for _ in range(5):
        call = pair.front.calls("alpha.echo")
        served = pair.alpha.is_called("echo")
        served.asks(who=elicit("?"))
        asked = call.is_parked(elicit("?"))
        assert len(asked.state) >= 32
        handles.add(asked.state)
        asked.answers(accept(name="A"))
        served.gets(who=accept(name="A"))
        served.returns(text("x"))
        call.gets(text("x"))
    assert len(handles) == 5


@modern_legacy
def test_a_handle_works_once(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(who=elicit("?"))
    asked = call.is_parked(elicit("?"))
    asked.answers(accept(name="A"))
    served.gets(who=accept(name="A"))
    replay = {"name": "alpha.echo", "arguments": {}, "requestState": asked.state, "inputResponses": {}}
    pair.front.asks("tools/call", replay).fails(-32602)
    served.returns(text("x"))
    call.gets(text("x"))
    pair.front.asks("tools/call", replay).fails(-32602)
    pair.alpha.hears_nothing()


@modern_legacy
def test_a_handle_expires_and_the_backend_is_told(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(who=elicit("?"))
    asked = call.is_parked(elicit("?"))
    pair.after(3600)
    served.is_cancelled()
    assert _refusal(pair.alpha, "who")
    asked.answers(accept(name="too late"))
    call.fails(-32602)
    pair.alpha.hears_nothing()


@modern_legacy
def test_a_handle_of_another_call_is_refused(pair: Pair) -> None:
    """ "rejecting state presented on a request that does not match"."""
    call, served = calling(pair)
    served.asks(who=elicit("?"))
    asked = call.is_parked(elicit("?"))
    retry = {"requestState": asked.state, "inputResponses": {key: accept(name="A") for key in asked.requests}}
    pair.front.asks("tools/call", {"name": "alpha.greet", "arguments": {}, **retry}).fails(-32602)
    heard = [pair.alpha.next() for _ in pair.alpha.inbox[:]]
    assert not any(said.result for said in heard), "the answer must not reach the backend"
    call.is_over()
    served.is_over()


@modern_legacy
def test_a_handle_with_other_arguments_is_refused(pair: Pair) -> None:
    """ "an identifier for the originating request, e.g. the method name and a digest of its salient parameters"."""
    pair.front.opens(**CAN_ALL)
    call = pair.front.calls("alpha.echo", a=1)
    served = pair.alpha.is_called("echo", a=1)
    served.asks(who=elicit("?"))
    asked = call.is_parked(elicit("?"))
    retry = {"requestState": asked.state, "inputResponses": {key: accept(name="A") for key in asked.requests}}
    pair.front.asks("tools/call", {"name": "alpha.echo", "arguments": {"a": 2}, **retry}).fails(-32602)
    pair.alpha.inbox.clear()
    call.is_over()
    served.is_over()


@modern_legacy
def test_several_questions_are_asked_in_rounds(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(a=elicit("a"), b=sample("b"))
    call.is_asked(elicit("a")).answers(accept(name="a"))
    served.gets(a=accept(name="a"))
    call.is_asked(sample("b")).answers(sampled("b"))
    served.gets(b=sampled("b"))
    served.returns(text("x"))
    call.gets(text("x"))


@modern_legacy
def test_what_was_not_answered_is_asked_again(pair: Pair) -> None:
    """ "the server SHOULD respond with a new `InputRequiredResult` requesting the missing information again"."""
    call, served = calling(pair)
    served.asks(a=elicit("a"))
    first = call.is_parked(elicit("a"))
    first.retries({"unasked": accept(name="?")})
    second = call.is_parked(elicit("a"))
    assert second.state != first.state
    second.retries(None)
    call.is_asked(elicit("a")).answers(accept(name="a"))
    served.gets(a=accept(name="a"))
    served.returns(text("x"))
    call.gets(text("x"))


@modern_legacy
def test_a_result_that_comes_while_the_call_is_parked_waits_for_the_retry(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(a=elicit("a"))
    asked = call.is_asked(elicit("a"))
    pair.alpha.notifies("notifications/cancelled", requestId="a")
    served.returns(text("never mind"))
    pair.front.hears_nothing()
    asked.answers(accept(name="a"))
    call.gets(text("never mind"))
    pair.alpha.hears_nothing()


@modern_legacy
def test_a_backend_that_dies_while_the_call_is_parked_is_told_of_on_the_retry(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(a=elicit("a"))
    asked = call.is_asked(elicit("a"))
    pair.alpha.exits(1)
    served.is_over()
    pair.front.hears_nothing()
    asked.answers(accept(name="a"))
    assert call.fails(-32000).body["error"]["data"]["mayHaveRun"] is True


@modern_legacy
def test_a_retry_can_be_cancelled(pair: Pair) -> None:
    call, served = calling(pair)
    served.asks(a=elicit("a"))
    call.is_asked(elicit("a")).answers(accept(name="a"))
    served.gets(a=accept(name="a"))
    call.cancels("enough")
    served.is_cancelled("enough")


@modern_legacy
def test_calls_stay_concurrent_and_a_question_goes_to_the_newest_that_is_not_parked(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    one, two = pair.front.calls("alpha.echo", n=1), pair.front.calls("alpha.echo", n=2)
    first, second = pair.alpha.is_called("echo", n=1), pair.alpha.is_called("echo", n=2)
    first.asks(a=elicit("a"))
    asked_two = two.is_asked(elicit("a"))  # the worst case: a question shown under the wrong call
    second.asks(b=elicit("b"))
    asked_one = one.is_asked(elicit("b"))
    asked_two.answers(accept(name="a"))
    first.gets(a=accept(name="a"))  # yet the answer goes to the request that asked
    asked_one.answers(accept(name="b"))
    second.gets(b=accept(name="b"))
    first.returns(text("1"))
    one.gets(text("1"))  # and every result to the call it belongs to
    second.returns(text("2"))
    two.gets(text("2"))


@modern_legacy
def test_without_a_call_there_is_nobody_to_ask(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    pair.alpha.says(id="early", **elicit("?"))
    assert _refusal(pair.alpha, "early")["message"]


@modern_legacy
def test_a_parked_call_that_is_dropped_costs_other_calls_nothing(pair: Pair) -> None:
    parked, served = calling(pair)
    served.asks(a=elicit("a"))
    parked.is_asked(elicit("a"))
    parked.is_over()
    other = pair.front.calls("alpha.greet", name="x")
    going_on = pair.alpha.is_called("greet", name="x")
    going_on.returns(text("x"))
    other.gets(text("x"))
    pair.after(3600)
    served.is_cancelled()
    _refusal(pair.alpha, "a")


@modern_legacy
def test_each_request_has_the_capabilities_it_carries(pair: Pair) -> None:
    """ "Servers MUST NOT rely on prior requests [...] to establish context (e.g., capabilities)"."""
    pair.front.opens(elicitation={})
    pair.front.capabilities = {}
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    served.asks(a=elicit("a"))
    assert _refusal(pair.alpha, "a")
    served.returns(text("x"))
    pair.front.gets(text("x"))


@legacy_legacy
def test_what_a_server_asks_before_it_is_open_is_refused_beyond_a_bound(pair: Pair) -> None:
    pair.alpha.on("initialize", leaves_to_the_test)
    pair.front.initializes()
    pair.alpha.next()
    for number in range(EARLY_MESSAGES + 1):
        pair.alpha.says(id=f"{number}", **elicit("?"))
    assert "Too much was asked" in _refusal(pair.alpha, f"{EARLY_MESSAGES}")["message"]


def _refusal(back: Back, key: str) -> Json:
    """Return the error that answers a backend's question."""
    said = back.next()
    assert said.id == key and "error" in said.body, f"expected a refusal of {key}, heard {said!r}"
    error: Json = said.body["error"]
    return error
