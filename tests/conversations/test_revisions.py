"""Every revision on both sides, for messages that differ between revisions."""

import pytest

from conversations.eras import every_legacy_client, every_revision
from conversations.pair import Pair
from conversations.words import LEGACY, MODERN, ROOTS, Json, accept, elicit, encode, roots, sample, sampled, text

WITH_ELICITATION = ("2025-06-18", "2025-11-25", MODERN)


@every_revision
def test_calls_progress_cancellation_and_questions_work(pair: Pair) -> None:
    pair.front.opens(sampling={}, roots={})
    call = pair.front.calls("alpha.greet", name="Ada", token="t")
    served = pair.alpha.is_called("greet", name="Ada")
    served.reports(1, total=2)
    pair.front.hears("notifications/progress", progressToken="t", progress=1, total=2)
    served.asks(what=sample("2 + 2?"))
    call.is_asked(sample("2 + 2?")).answers(sampled("4"))
    served.gets(what=sampled("4"))
    served.asks(where=ROOTS)
    call.is_asked(ROOTS).answers(roots("file:///x"))
    served.gets(where=roots("file:///x"))
    served.returns(text("hello"))
    call.gets(text("hello"))
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    call.cancels("enough")
    served.is_cancelled("enough")


@every_revision
def test_elicitation_works_where_both_have_it(pair: Pair) -> None:
    if pair.front.revision not in WITH_ELICITATION or pair.alpha.revision not in WITH_ELICITATION:
        pytest.skip("one of them has no elicitation")
    pair.front.opens(elicitation={})
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    served.asks(who=elicit("?"))
    call.is_asked(elicit("?")).answers(accept(name="Ada"))
    served.gets(who=accept(name="Ada"))
    served.returns(text("hello"))
    call.gets(text("hello"))


@every_revision
def test_lists_prompts_and_resources_work(pair: Pair) -> None:
    pair.alpha.prompts = [{"name": "hello"}]
    pair.alpha.resources, pair.alpha.templates = (
        [{"uri": "x://1", "name": "1"}],
        [{"uriTemplate": "x://{y}", "name": "y"}],
    )
    pair.front.opens()
    assert pair.front.asks("prompts/list").result()["prompts"] == [{"name": "alpha.hello"}]
    assert pair.front.asks("resources/list").result()["resources"] == pair.alpha.resources
    assert pair.front.asks("resources/templates/list").result()["resourceTemplates"] == pair.alpha.templates
    pair.front.asks("prompts/get", {"name": "alpha.hello"})
    pair.alpha.receives("prompts/get", name="hello").returns({"messages": []})
    pair.front.gets({"messages": []})
    pair.front.asks("resources/read", {"uri": "x://2"})
    pair.alpha.receives("resources/read", uri="x://2").returns({"contents": [{"uri": "x://2", "text": ""}]})
    pair.front.gets({"contents": [{"uri": "x://2", "text": ""}]})


@every_legacy_client
def test_a_batch_is_answered_in_every_legacy_revision(pair: Pair) -> None:
    pair.front.opens()
    pings = [{"jsonrpc": "2.0", "id": each, "method": "ping"} for each in ("a", "b")]
    pair.front.says_line(encode(pings))
    answers: list[Json] = pair.front.next().body
    assert answers == [{"jsonrpc": "2.0", "id": each, "result": {}} for each in ("a", "b")]


@every_legacy_client
@pytest.mark.parametrize("agreed", LEGACY)
def test_a_backend_that_settles_on_another_revision_than_the_clients_is_served(pair: Pair, agreed: str) -> None:
    if not pair.alpha.is_modern:
        pair.alpha.revision = agreed
    pair.front.opens()
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    pair.front.gets(text("x"))
