"""Progress and cancellation reach exactly the request they belong to."""

import pytest

from conversations.eras import legacy_client, legacy_legacy, modern_client
from conversations.front import Asked
from conversations.pair import Pair
from conversations.words import RESERVED, Json, encode, text

WAYS = ["directly", "through call_tool"]


def _calls(pair: Pair, way: str, token: int | str | None) -> Asked:
    if way == "directly":
        return pair.front.calls("alpha.echo", token=token)
    return pair.front.calls("call_tool", name="alpha.echo", token=token)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("token", [7, "7", 0, "", "a ☃", 2**53])
def test_progress_travels_under_the_clients_token(pair: Pair, token: int | str, way: str) -> None:
    pair.front.opens()
    _calls(pair, way, token=token)
    served = pair.alpha.is_called("echo")
    served.reports(0.5, total=2, message="half ☃", unknown=[1])
    pair.front.hears(
        "notifications/progress", progress=0.5, total=2, message="half ☃", unknown=[1], progressToken=token
    )
    served.reports(2)
    pair.front.hears("notifications/progress", progress=2, progressToken=token)
    served.returns(text("x"))
    pair.front.gets(text("x"))


def test_the_tokens_1_and_1_as_text_are_two(pair: Pair) -> None:
    pair.front.opens()
    number, words = pair.front.calls("alpha.echo", token=1), pair.front.calls("alpha.echo", token="1")
    first, second = pair.alpha.is_called("echo"), pair.alpha.is_called("echo")
    second.reports(1)
    pair.front.hears("notifications/progress", progressToken="1", progress=1)
    first.reports(1)
    pair.front.hears("notifications/progress", progressToken=1, progress=1)
    first.returns(text("x"))
    number.gets(text("x"))
    first.back.notifies("notifications/progress", progressToken=first.token, progress=2)
    pair.front.hears_nothing()  # "Progress notifications MUST stop after completion"
    second.returns(text("y"))
    words.gets(text("y"))


def test_nobody_asked_and_nobody_is_told(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    assert "progressToken" not in served.said.meta
    for token in (served.said.id, str(served.said.id), 999, "x", None, 1.5):
        pair.alpha.notifies("notifications/progress", progressToken=token, progress=1)
    pair.front.hears_nothing()
    served.returns(text("x"))
    pair.front.gets(text("x"))


def test_a_backend_cannot_report_on_anothers_call(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.front.opens()
    pair.front.calls("alpha.echo", token="t")
    served = pair.alpha.is_called("echo")
    for token in (served.token, "t"):
        beta.notifies("notifications/progress", progressToken=token, progress=1)
    pair.alpha.notifies("notifications/progress", progressToken="t", progress=1)
    pair.front.hears_nothing()
    beta.says(id=served.said.id, result=text("not mine"))
    beta.notifies("notifications/cancelled", requestId=served.said.id)
    pair.front.hears_nothing()
    served.returns(text("x"))
    pair.front.gets(text("x"))


def test_progress_leaves_before_the_response_it_came_before(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo", token=5)
    served = pair.alpha.is_called("echo")
    note: Json = {"jsonrpc": "2.0", "method": "notifications/progress"}
    kind = {"resultType": "complete"} if pair.alpha.is_modern else {}
    lines = [encode({**note, "params": {"progressToken": served.token, "progress": done}}) for done in range(100)]
    lines.append(encode({"jsonrpc": "2.0", "id": served.said.id, "result": {**kind, "content": []}}))
    served.is_over()
    pair.alpha.says_line(b"\n".join(lines))
    for done in range(100):
        pair.front.hears("notifications/progress", progressToken=5, progress=done)
    pair.front.gets({"content": []})


def test_progress_of_prompts_and_resources(pair: Pair) -> None:
    pair.alpha.prompts, pair.alpha.resources = [{"name": "hello"}], [{"uri": "x://1", "name": "1"}]
    pair.front.opens()
    rows: list[tuple[str, Json, Json]] = [
        ("prompts/get", {"name": "alpha.hello"}, {"messages": []}),
        ("resources/read", {"uri": "x://1"}, {"contents": []}),
    ]
    for method, params, result in rows:
        pair.front.asks(method, params, meta={"progressToken": "p"})
        served = pair.alpha.receives(method)
        served.reports(1)
        pair.front.hears("notifications/progress", progressToken="p", progress=1)
        served.returns(result)
        pair.front.gets(result)


# Cancellation


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", [None, 'she said "☃"'])
def test_a_cancellation_travels_to_the_one_backend_request(pair: Pair, way: str, reason: str | None) -> None:
    beta = pair.with_server("beta")
    pair.front.opens()
    call, other, third = _calls(pair, way, token="t"), pair.front.calls("alpha.greet"), pair.front.calls("beta.echo")
    served, going_on, elsewhere = pair.alpha.is_called("echo"), pair.alpha.is_called("greet"), beta.is_called("echo")
    call.cancels(reason)
    served.is_cancelled(reason)
    beta.hears_nothing()
    pair.alpha.notifies("notifications/progress", progressToken=served.token, progress=1)
    pair.alpha.answer(served.said.id, text("too late"))
    pair.front.hears_nothing()  # "a cancelled request gets no response"
    going_on.returns(text("a"))
    other.gets(text("a"))
    elsewhere.returns(text("b"))
    third.gets(text("b"))


def test_cancelling_1_does_not_cancel_1_as_text(pair: Pair) -> None:
    pair.front.opens()
    number = pair.front.asks("tools/call", {"name": "alpha.echo"}, id=501)
    words = pair.front.asks("tools/call", {"name": "alpha.echo"}, id="501")
    first, second = pair.alpha.is_called("echo"), pair.alpha.is_called("echo")
    words.cancels()
    second.is_cancelled()
    first.returns(text("x"))
    number.gets(text("x"))


def test_a_cancellation_that_comes_too_late_or_twice_goes_nowhere(pair: Pair) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))
    for _ in range(2):
        pair.front.notifies("notifications/cancelled", requestId=call.id)
    pair.alpha.hears_nothing()


def test_an_id_is_free_again_after_its_cancellation(pair: Pair) -> None:
    pair.front.opens()
    pair.front.asks("tools/call", {"name": "alpha.echo"}, id="again").cancels()
    pair.alpha.is_called("echo").is_cancelled()
    call = pair.front.asks("tools/call", {"name": "alpha.echo"}, id="again")
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_a_call_that_waits_for_its_server_can_be_cancelled(pair: Pair) -> None:
    pair.front.opens()
    pair.alpha.exits(1)
    pair.front.calls("alpha.echo").cancels()
    pair.after(5)
    assert len(pair.alpha.channels) == 2
    pair.alpha.hears_nothing()


def test_a_list_that_is_waited_for_can_be_cancelled(pair: Pair) -> None:
    pair.alpha.on("tools/list", lambda back, said: None)
    if not pair.front.is_modern:
        pair.front.initializes()
    pair.front.asks("tools/list").cancels()
    pair.after(60)
    pair.front.hears_nothing()


@legacy_client
def test_initialize_cannot_be_cancelled(pair: Pair) -> None:
    """ "The `initialize` request MUST NOT be cancelled by clients": it is answered at once anyway."""
    pair.front.initializes()
    pair.front.notifies("notifications/cancelled", requestId=1)
    pair.front.hears_nothing()


@legacy_legacy
def test_a_backend_cannot_cancel_what_it_did_not_ask(pair: Pair) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    for other in (call.id, served.said.id, "x", None):
        pair.alpha.notifies("notifications/cancelled", requestId=other)
    pair.front.hears_nothing()
    served.returns(text("x"))
    call.gets(text("x"))


@modern_client
def test_reserved_keys_of_a_backends_progress_do_not_leak(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo", token="t")
    served = pair.alpha.is_called("echo")
    served.reports(1, _meta={"com.example/x": 1})
    said = pair.front.hears("notifications/progress", progressToken="t", progress=1)
    assert said.meta == {"com.example/x": 1}
    assert not any(key.startswith(RESERVED) for key in said.meta)
    served.returns(text("x"))
    pair.front.gets(text("x"))
