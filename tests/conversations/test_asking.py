"""Servers that ask many questions, or all at once: every answer reaches its question, in all four pairings."""

import pytest

from conversations.eras import modern_legacy
from conversations.pair import Pair
from conversations.words import ROOTS, Json, accept, elicit, roots, sample, sampled, text

CAN_ALL: dict[str, Json] = {"elicitation": {}, "sampling": {"tools": {}, "context": {}}, "roots": {"listChanged": True}}
TOOLS: list[Json] = [
    {"name": "get_time", "description": "☃", "inputSchema": {"type": "object", "x-new": 1.0}, "annotations": {}}
]
USE: Json = {"type": "tool_use", "id": "u-1", "name": "get_time", "input": {"b": 1e21, "a": None}}
RESULT: Json = {"type": "tool_result", "toolUseId": "u-1", "content": [{"type": "text", "text": "12:00"}]}


def test_a_server_samples_with_tools(pair: Pair) -> None:
    """The client's model asks for a tool, the server calls it and samples again with what came of it."""
    pair.front.opens(**CAN_ALL)
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo")
    first = sample("What time is it?")
    first["params"] |= {"tools": TOOLS, "toolChoice": {"mode": "auto"}, "temperature": 0.0, "metadata": {"k": [1]}}
    wants_tool = {"role": "assistant", "content": [USE], "model": "a-model", "stopReason": "toolUse"}
    pair.alpha.asks(first=first)
    call.is_asked(first).answers(wants_tool)
    pair.alpha.gets(first=wants_tool)
    second = sample("What time is it?")
    said = [{"role": "assistant", "content": [USE]}, {"role": "user", "content": [RESULT]}]
    second["params"]["messages"] += said
    pair.alpha.asks(second=second)
    call.is_asked(second).answers(sampled("Noon."))
    pair.alpha.gets(second=sampled("Noon."))
    pair.alpha.returns(text("It is noon."))
    call.gets(text("It is noon."))


def test_the_capabilities_within_sampling_are_mirrored(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    if pair.alpha.is_modern:
        declared = served.said.meta["io.modelcontextprotocol/clientCapabilities"]
    else:
        declared = next(said for said in pair.alpha.heard if said.method == "initialize").params["capabilities"]
    assert declared == CAN_ALL
    served.returns(text("x"))
    pair.front.gets(text("x"))


def test_several_servers_ask_at_once(pair: Pair) -> None:
    beta, gamma = pair.with_server("beta"), pair.with_server("gamma")
    backs = (pair.alpha, beta, gamma)
    questions = (elicit("Your name?"), sample("a poem"), ROOTS)
    answers = (accept(name="Ada"), sampled("roses"), roots("file:///x"))
    pair.front.opens(**CAN_ALL)
    calls = [pair.front.calls(f"{back.name}.echo") for back in backs]
    asked = []
    for back, call, question in zip(backs, calls, questions, strict=True):
        back.is_called("echo")
        back.asks(**{"same-id": question})
        asked.append(call.is_asked(question, by=back.name))
    for each, answer in reversed(list(zip(asked, answers, strict=True))):
        each.answers(answer)
    for back, call, answer in zip(backs, calls, answers, strict=True):
        back.gets(**{"same-id": answer})
        back.returns(text(back.name))
        call.gets(text(back.name))


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
def test_what_is_no_tool_may_ask_as_well_and_more_than_once(pair: Pair, method: str) -> None:
    pair.alpha.prompts, pair.alpha.resources = [{"name": "p"}], [{"uri": "x://1", "name": "1"}]
    pair.front.opens(**CAN_ALL)
    call = pair.front.asks(method, {"name": "alpha.p"} if method == "prompts/get" else {"uri": "x://1"})
    pair.alpha.receives(method)
    for number in range(3):
        pair.alpha.asks(**{f"q{number}": elicit(f"{number}?")})
        call.is_asked(elicit(f"{number}?")).answers(accept(name=f"{number}"))
        pair.alpha.gets(**{f"q{number}": accept(name=f"{number}")})
    result: Json = {"messages": [], "contents": []}
    pair.alpha.returns(result)
    call.gets(result)


def test_trace_context_passes_in_calls_and_questions(pair: Pair) -> None:
    trace = {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        "tracestate": "a=1",
        "baggage": "b=☃",
    }
    pair.front.opens(**CAN_ALL)
    call = pair.front.calls("alpha.echo", meta=trace)
    served = pair.alpha.is_called("echo")
    assert trace.items() <= served.said.meta.items()
    question = elicit("?")
    question["params"]["_meta"] = trace
    pair.alpha.asks(who=question)
    call.is_asked(question).answers(accept(name="x"))
    pair.alpha.gets(who=accept(name="x"))
    pair.alpha.returns(text("x", _meta=trace))
    call.gets(text("x", _meta=trace))


@modern_legacy
def test_parked_calls_are_capped_and_the_oldest_goes_first(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search_mcp.dialects.front.parked.PARKED_CALLS", 3)
    pair.front.opens(**CAN_ALL)
    parked = []
    for number in range(4):
        call = pair.front.calls("alpha.echo", number=number)
        served = pair.alpha.is_called("echo", number=number)
        pair.alpha.says(id=number, **ROOTS)
        parked.append((call, served, call.is_parked(ROOTS)))
        if number == 3:
            oldest, dropped, asking = parked[0]
            dropped.is_cancelled()
            assert pair.alpha.next().body["error"]["code"] == -32600
            asking.answers(roots("file:///late"))
            oldest.fails(-32602)
    for number, (call, served, asking) in list(enumerate(parked))[1:]:
        asking.answers(roots(f"file:///{number}"))
        assert pair.alpha.next().body["result"] == roots(f"file:///{number}")
        served.returns(text(str(number)))
        call.gets(text(str(number)))
