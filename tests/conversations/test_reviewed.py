"""What a review found: each a fault of one server that cost somebody else something."""

from conversations.back import refuses, stays_silent
from conversations.front import Asked
from conversations.pair import Pair
from conversations.words import names, text


def test_filters_hold_for_a_server_whose_list_cannot_be_had(pair: Pair) -> None:
    pair.alpha.config = {"deny": ("delete_*",)}
    pair.alpha.on("tools/list", refuses(-32601, "Method not found"))
    pair.front.opens()
    pair.front.calls("alpha.delete_everything").fails(-32602, "Tool not found: alpha.delete_everything")
    pair.alpha.hears_nothing()


def test_an_unlisted_tools_error_is_wrapped_like_any_other(pair: Pair) -> None:
    pair.alpha.on("tools/list", refuses(-32601, "Method not found"))
    pair.front.opens()
    call = pair.front.calls("alpha.any")
    pair.alpha.is_called("any").fails(-1, "no")
    call.fails(-32000, "Backend MCP server error: no")


def test_a_misspelt_tool_of_a_listed_server_waits_for_no_other_server(pair: Pair) -> None:
    listing = _opens_beside_a_silent_list(pair)
    pair.front.calls("alpha.ehco").fails(-32602, "Tool not found: alpha.ehco")
    pair.after(5)
    listing.result()


def test_a_list_that_never_comes_is_waited_for_once(pair: Pair) -> None:
    first = _opens_beside_a_silent_list(pair)
    pair.after(5)
    assert "alpha.echo" in names(first.result()["tools"])
    again = pair.front.asks("tools/list")
    assert "alpha.echo" in names(again.result()["tools"])


def _opens_beside_a_silent_list(pair: Pair) -> Asked:
    pair.with_server("beta").on("tools/list", stays_silent)
    if not pair.front.is_modern:
        pair.front.initializes()
    return pair.front.asks("tools/list")


def test_a_secret_in_a_backends_error_stays_here(pair: Pair) -> None:
    pair.alpha.config = {"env": {"TOKEN": "hunter22"}, "secrets": frozenset({"hunter22"})}
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").fails(-1, "401 for hunter22", {"token": "hunter22"})
    assert "hunter22" not in repr(call.fails(-32000).body)


def test_an_answer_with_a_null_error_is_an_answer(pair: Pair) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    kind = {"resultType": "complete"} if pair.alpha.is_modern else {}
    pair.alpha.says(id=served.said.id, result={**kind, **text("x")}, error=None)
    pair.alpha._open.remove(served)
    call.gets(text("x"))


def test_a_server_that_an_edit_adds_is_not_read_either_while_the_client_does_not_read(pair: Pair) -> None:
    pair.front.opens()
    assert pair.aggregate is not None
    pair.aggregate.pause_reading()
    beta = pair.with_server("beta")
    pair.edit()
    pair.after(1)
    assert [back.life.paused for back in (pair.alpha, beta)] == [True, True]
    pair.aggregate.resume_reading()
    assert [back.life.paused for back in (pair.alpha, beta)] == [False, False]
    pair.front.inbox.clear()  # what the lists of the new one changed is not the point here
