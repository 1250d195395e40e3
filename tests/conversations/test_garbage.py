"""Memory of finished calls: nothing is left for the garbage collector to search for."""

import gc
from collections.abc import Callable, Iterator

import pytest

from conversations.eras import legacy_backend
from conversations.pair import Pair
from conversations.words import accept, elicit, text
from search_mcp.gateway.skills import SkillSearch
from search_mcp.model.calls import Call
from search_mcp.wire.inflight import Request
from search_mcp.wire.pending import Pending


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()  # other tests' calls
    gc.disable()
    yield
    gc.enable()


def is_answered(pair: Pair) -> None:
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    pair.front.gets(text("x"))


def is_refused(pair: Pair) -> None:
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").fails(-1, "no")
    pair.front.fails(-32000)


def is_reported_on(pair: Pair) -> None:
    pair.front.calls("alpha.echo", token="t")
    served = pair.alpha.is_called("echo")
    served.reports(1)
    pair.front.hears("notifications/progress", progress=1, progressToken="t")
    served.returns(text("x"))
    pair.front.gets(text("x"))


def is_cancelled(pair: Pair) -> None:
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    call.cancels()
    served.is_cancelled()


def is_listed(pair: Pair) -> None:
    assert pair.front.asks("tools/list").result()["tools"]


def is_searched(pair: Pair) -> None:
    assert pair.front.calls("search_tools", query="echo").result()["content"]


def asks_something(pair: Pair) -> None:
    call = pair.front.calls("alpha.greet")
    pair.alpha.is_called("greet")
    pair.alpha.asks(who=elicit("Your name?"))
    call.is_asked(elicit("Your name?")).answers(accept(name="Ada"))
    pair.alpha.gets(who=accept(name="Ada"))
    pair.alpha.returns(text("hello Ada"))
    call.gets(text("hello Ada"))


@legacy_backend
def test_a_question_that_is_refused_at_once_is_gone(pair: Pair) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.greet")
    served = pair.alpha.is_called("greet")
    served.asks(who=elicit("Your name?"))
    assert "error" in pair.alpha.next().body
    served.returns(text("hello"))
    call.gets(text("hello"))
    assert [each for each in gc.get_objects() if isinstance(each, Call | Request | Pending)] == []


@pytest.mark.parametrize(
    "happens", [is_answered, is_refused, is_reported_on, is_cancelled, is_listed, is_searched, asks_something]
)
def test_a_call_that_is_over_is_gone(pair: Pair, happens: Callable[[Pair], None]) -> None:
    pair.front.opens(elicitation={})
    happens(pair)
    assert [each for each in gc.get_objects() if isinstance(each, Call | Request | Pending)] == []


@pytest.mark.parametrize("happens", [is_answered, is_reported_on, is_cancelled, asks_something])
def test_a_call_with_a_time_limit_that_is_over_is_gone(pair: Pair, happens: Callable[[Pair], None]) -> None:
    pair.alpha.config = {"call_timeout_seconds": 10.0, "max_call_seconds": 20.0}
    pair.front.opens(elicitation={})
    happens(pair)
    assert [each for each in gc.get_objects() if isinstance(each, Call | Request | Pending)] == []


@pytest.mark.parametrize("is_found", [True, False])
def test_a_search_for_a_skill_that_is_over_is_gone(pair: Pair, *, is_found: bool) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills = beta.skills = []
    uri = "skill://x/SKILL.md"
    found = {"skill": {"uri": uri, "frontmatter": {"name": "x", "description": ""}, "resources": "dynamic"}}
    pair.front.opens()
    getting = pair.front.asks("skills/get", {"uri": uri})
    pair.alpha.receives("skills/get").fails(-32602, "no such skill")
    served = beta.receives("skills/get")
    if is_found:
        served.returns(found)
        getting.gets(found)
    else:
        served.fails(-32602, "no such skill")
        getting.fails(-32602)
    assert [each for each in gc.get_objects() if isinstance(each, Call | Request | Pending | SkillSearch)] == []
