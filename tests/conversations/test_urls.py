"""Elicitation in URL mode, which differs between the eras."""

import pytest

from conversations.eras import legacy_modern, modern_client, modern_legacy
from conversations.pair import Pair
from conversations.words import Json, text
from search_mcp.dialects.asking import ON_THE_PAGE

BOTH_MODES: Json = {"form": {}, "url": {}}
URL: Json = {"mode": "url", "message": "Sign in", "url": "https://example.com/sign-in?state=☃"}
WITH_ID: Json = {**URL, "elicitationId": "e-1"}
ACCEPTED: Json = {"action": "accept"}
REQUIRED = (-32042, "URL elicitation required", {"elicitations": [WITH_ID, {**WITH_ID, "elicitationId": "e-2"}]})


def question(params: Json) -> Json:
    return {"method": "elicitation/create", "params": params}


def test_a_backend_asks_for_a_url_to_be_opened(pair: Pair) -> None:
    """In the words of each era: "Remove [...] the `elicitationId` field of URL mode elicitation requests"."""
    pair.front.opens(elicitation=BOTH_MODES)
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo")
    pair.alpha.asks(who=question(URL if pair.alpha.is_modern else WITH_ID))
    if pair.eras == ("legacy", "modern"):
        said = pair.front.next()
        assert said.params.pop("elicitationId")
        assert said.params == {**URL, "message": "[alpha] Sign in"}
        pair.front.says(id=said.id, result=ACCEPTED)
    else:
        call.is_asked(question(URL if pair.front.is_modern else WITH_ID)).answers(ACCEPTED)
    pair.alpha.gets(who=ACCEPTED)
    pair.alpha.returns(text("signed in"))
    call.gets(text("signed in"))


@legacy_modern
def test_every_url_has_an_id_of_its_own(pair: Pair) -> None:
    pair.front.opens(elicitation=BOTH_MODES)
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo")
    pair.alpha.asks(first=question(URL), second=question(URL))
    asked = [pair.front.next() for _ in range(2)]
    assert len({said.params["elicitationId"] for said in asked}) == 2
    for said in asked:
        pair.front.says(id=said.id, result=ACCEPTED)
    pair.alpha.gets(first=ACCEPTED, second=ACCEPTED)
    pair.alpha.returns(text("x"))
    pair.front.gets(text("x"))


@modern_legacy
@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_an_error_that_asks_for_urls_is_an_unfinished_answer_to_a_modern_client(pair: Pair, method: str) -> None:
    """ "Implementations of this protocol version MUST NOT emit these codes: `-32042`"."""
    pair.alpha.prompts, pair.alpha.resources = [{"name": "echo"}], [{"uri": "x://1", "name": "1"}]
    pair.front.opens(elicitation=BOTH_MODES)
    call = pair.front.asks(method, {"uri": "x://1"} if method == "resources/read" else {"name": "alpha.echo"})
    pair.alpha.receives(method).fails(*REQUIRED)
    call.is_parked(question(URL), question(URL)).answers(ACCEPTED, ACCEPTED)
    again = pair.alpha.receives(method)
    assert not {"requestState", "inputResponses"} & again.said.params.keys()
    result: Json = {"content": [], "messages": [], "contents": []}
    again.returns(result)
    call.gets(result)


@modern_legacy
@pytest.mark.parametrize("responses", [{}, None, {"elicitation-1": {"action": "decline"}, "elicitation-2": ACCEPTED}])
def test_a_url_that_the_user_does_not_want_to_open_ends_the_call(pair: Pair, responses: Json | None) -> None:
    pair.front.opens(elicitation=BOTH_MODES)
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").fails(*REQUIRED)
    call.is_parked(question(URL), question(URL)).retries(responses)
    call.fails(-32600)
    pair.alpha.hears_nothing()


@modern_legacy
@pytest.mark.parametrize("data", [None, {}, {"elicitations": []}, {"elicitations": 7}, {"elicitations": [7]}])
def test_an_error_that_does_not_say_what_it_asks_for_is_an_error_of_this_era(pair: Pair, data: object) -> None:
    pair.front.opens(elicitation=BOTH_MODES)
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").fails(-32042, "URL elicitation required", data)
    pair.front.fails(-32603, "URL elicitation required")


@modern_client
@pytest.mark.parametrize("declared", [{}, {"form": {}}])
def test_who_cannot_open_urls_is_not_asked_to(pair: Pair, declared: Json) -> None:
    """ "Servers MUST NOT send elicitation requests with modes that are not supported by the client"."""
    pair.front.opens(elicitation=declared)
    pair.front.calls("alpha.echo")
    if pair.alpha.is_modern:
        served = pair.alpha.is_called("echo")
        served.asks(who=question(URL))
        served.is_over()
    else:
        pair.alpha.is_called("echo").fails(*REQUIRED)
    pair.front.fails(
        -32021,
        f"The server needs of the client what it did not declare: elicitation{ON_THE_PAGE if pair.is_pooled else ''}",
        {"requiredCapabilities": {"elicitation": {"url": {}}}},
    )


@modern_legacy
def test_what_happened_to_a_url_is_no_news_to_a_modern_client(pair: Pair) -> None:
    pair.front.opens(elicitation=BOTH_MODES)
    pair.alpha.notifies("notifications/elicitation/complete", elicitationId="e-1")
    pair.front.hears_nothing()
