"""A client with a part of the servers: nothing of the others is started or seen, in any answer or notification."""

import json
from collections.abc import Iterator

import pytest

from conversations.back import Back, answers
from conversations.front import Front
from conversations.pair import Pair
from conversations.words import MODERN, NEWEST_LEGACY, OWN_TOOLS, Json, names, text, tool

NOTE: Json = {"uri": "note://one", "name": "one"}
UNSEEN: Json = {"uri": "unseen://one", "name": "unseen"}


def _with_hidden(pair: Pair, subset: str = "alpha") -> Back:
    """Add a server with lists of all kinds, which the client does not use."""
    pair.alpha.resources = [NOTE]
    hidden = pair.with_server("hidden", tags=("secret",), description="It is unseen.")
    hidden.tools = [tool("unseen", "Does what is unseen.")]
    hidden.prompts = [{"name": "unseen"}]
    hidden.resources = [UNSEEN]
    hidden.templates = [{"uriTemplate": "unseen://{rest}", "name": "unseen"}]
    hidden.logs = hidden.completes = True
    hidden.instructions = "It is unseen."
    pair.subset = subset
    return hidden


def _says_nothing_of_hidden(answer: Json) -> None:
    said = json.dumps(answer)
    assert "hidden" not in said, said
    assert "unseen" not in said, said
    assert "secret" not in said, said


def _hears_of_tools(pair: Pair) -> None:
    if not pair.front.is_modern:  # a modern client has to ask for that
        pair.front.hears("notifications/tools/list_changed")


@pytest.mark.parametrize("listing", ["light", "search"])
def test_nothing_of_another_server_is_listed_or_found(pair: Pair, listing: str) -> None:
    hidden = _with_hidden(pair)
    pair.settings = {"listing": listing}
    pair.front.opens()
    _says_nothing_of_hidden(pair.front.opening)
    _says_nothing_of_hidden({"tools": pair.front.tools})
    for method in ("prompts/list", "resources/list", "resources/templates/list"):
        _says_nothing_of_hidden(pair.front.asks(method).result())
    for query, detail in (("", "full"), ("what nobody can see", "name"), ("echo", "signature")):
        _says_nothing_of_hidden(pair.front.calls("search_tools", query=query, detail=detail).result())
    _says_nothing_of_hidden(pair.front.calls("list_servers").result())
    assert hidden.channels == []


NAMES = ("hidden.unseen", "hidden__unseen", "unseen", "hidden.greet", "mcp__search-mcp__hidden__unseen", "hidden")


def _answers_about_hidden(pair: Pair) -> Iterator[Json]:
    """Ask for each name in every way; give the answers."""
    pair.front.opens()
    for name in NAMES:
        yield pair.front.calls(name).fails(-32602).body["error"]
        yield pair.front.calls("call_tool", name=name, arguments={}).fails(-32602).body["error"]
        yield pair.front.calls("call_read_only_tool", name=name, arguments={}).fails(-32602).body["error"]
        yield pair.front.asks("prompts/get", {"name": name}).fails(-32602).body["error"]
        prompt = {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "a", "value": "b"}}
        yield pair.front.asks("completion/complete", prompt).fails(-32602).body["error"]
        for listing in ("compact", "full"):
            yield pair.front.calls("describe_tools", names=[name], detail=listing).result()["structuredContent"]
    yield pair.front.calls("search_tools", query="x", server="hidden").result()


def test_a_name_of_another_server_is_unknown_as_if_it_were_not_in_the_file(pair: Pair) -> None:
    hidden = _with_hidden(pair)
    answers = [*_answers_about_hidden(pair)]
    assert hidden.channels == []
    del pair.backs["hidden"]
    pair.subset = None
    pair.comes_back()
    assert [*_answers_about_hidden(pair)] == answers


def test_a_resource_of_another_server_is_unknown(pair: Pair) -> None:
    hidden = _with_hidden(pair, "alpha,beta")
    pair.with_server("beta").resources = [{"uri": "beta://one", "name": "one"}]  # two, so that none is the only one
    pair.front.opens()
    code = -32602 if pair.front.is_modern else -32002
    error = pair.front.asks("resources/read", {"uri": UNSEEN["uri"]}).fails(code).body["error"]
    assert UNSEEN["uri"] not in error["data"].get("suggestions", [])
    assert hidden.channels == []


def test_no_other_server_gets_names_that_begin_with_its_prefix(pair: Pair) -> None:
    """A client's permissions go by names, and may be those of another configuration of the same client."""
    _with_hidden(pair)
    pair.alpha.config = {"prefix": ""}
    pair.alpha.tools = [tool("hidden.unseen"), tool("echo")]
    pair.front.opens()
    shown = names(pair.front.tools)
    assert "hidden.unseen" not in shown
    assert "hidden__unseen" not in shown
    assert "echo" in shown
    pair.front.calls("hidden.unseen").fails(-32602)


def test_an_edit_applies_the_expression_again(pair: Pair) -> None:
    beta = pair.with_server("beta", tags=("work",))
    pair.subset = "tag:work,-gamma"
    pair.front.opens()
    assert names(pair.front.tools) == ["beta.greet", "beta.echo", *OWN_TOOLS]
    gamma = pair.with_server("gamma", tags=("work",))
    pair.edit()
    pair.after(1)
    pair.front.hears_nothing()
    pair.alpha.config = {"tags": ("work",)}
    pair.edit()
    pair.after(1)
    _hears_of_tools(pair)
    assert "alpha.echo" in names(pair.front.asks("tools/list").result()["tools"])
    call = pair.front.calls("beta.echo")
    beta.is_called("echo")
    beta.config = {}
    pair.edit()
    pair.after(1)
    assert beta.channels[-1].has_ended()
    call.fails(-32000)
    _hears_of_tools(pair)
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", "alpha.echo", *OWN_TOOLS]
    pair.front.calls("beta.echo").fails(-32602, "Tool not found: beta.echo")
    assert gamma.channels == []


# An expression that selects too little


def test_a_client_without_servers_is_told_why(pair: Pair) -> None:
    pair.subset = "tag:wrok,-beta"
    pair.with_server("beta")
    pair.front.opens()
    why = "The user's option --servers leaves this client no server, and names what no server has: tag:wrok. "
    assert why in pair.front.opening["instructions"]
    assert "alpha" not in pair.front.opening["instructions"]
    assert names(pair.front.tools) == OWN_TOOLS
    listed = pair.front.calls("list_servers").result()
    assert listed["content"][0]["text"].startswith(why)
    assert listed["structuredContent"]["servers"] == []
    assert listed["structuredContent"]["notice"].startswith(why)
    for query in ("", "echo some words"):
        found = pair.front.calls("search_tools", query=query).result()
        assert why in found["content"][0]["text"]
        assert found["structuredContent"]["notice"].startswith(why)
        assert found["structuredContent"]["servers"] == []
    pair.alpha.config = {"tags": ("wrok",)}
    pair.edit()
    pair.after(1)
    _hears_of_tools(pair)
    listed = pair.front.calls("list_servers").result()
    assert listed["content"][0]["text"].startswith("alpha: ready, 2 tools")
    assert "notice" not in listed["structuredContent"]


def test_a_client_with_some_servers_is_told_of_an_unknown_name(pair: Pair) -> None:
    pair.subset = "alpha,bata"
    pair.with_server("beta")
    pair.front.opens()
    why = "The user's option --servers names what no server has: bata. "
    assert why in pair.front.opening["instructions"]
    lines = pair.front.calls("list_servers").result()["content"][0]["text"].splitlines()
    assert lines[0].startswith(why)
    assert lines[1].startswith("alpha: ready")
    assert "beta" not in "".join(lines)
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("hello"))
    call.gets(text("hello"))


# Clients with different servers


@pytest.fixture(params=[NEWEST_LEGACY, MODERN], ids=["legacy", "modern"])
def pool(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with Pair(request.param, request.param) as pair:
        pair.is_pooled = True
        pair.alpha.config = {"share": True}
        yield pair
        pair.nothing_is_left()


def _joins(pair: Pair, subset: str | None) -> Front:
    pair.subset = subset
    front = pair.joined_by(pair.front.revision)
    front.opens()
    return front


def test_equal_servers_are_shared_and_each_client_has_its_own_set(pool: Pair) -> None:
    hidden = _with_hidden(pool)
    hidden.config = {"share": True}
    pool.front.opens()
    second, third = _joins(pool, None), _joins(pool, "hidden")
    shown = [names(front.tools)[: -len(OWN_TOOLS)] for front in (pool.front, second, third)]
    assert shown == [["alpha.greet", "alpha.echo"], ["alpha.greet", "alpha.echo", "hidden.unseen"], ["hidden.unseen"]]
    assert (len(pool.alpha.channels), len(hidden.channels)) == (1, 1)
    for front, is_found in ((pool.front, False), (second, True), (third, True)):
        found = front.calls("search_tools", query="unseen").result()
        assert ("hidden.unseen" in json.dumps(found)) is is_found
    pool.front.calls("hidden.unseen").fails(-32602, "Tool not found: hidden.unseen")
    third.calls("alpha.echo").fails(-32602, "Tool not found: alpha.echo")
    call = second.calls("hidden.unseen")
    hidden.is_called("unseen").returns(text("here"))
    call.gets(text("here"))


def test_news_of_another_server_do_not_reach_a_client_beside_it(pool: Pair) -> None:
    hidden = _with_hidden(pool)
    hidden.config = {"share": True}
    for method in ("resources/subscribe", "resources/unsubscribe"):
        hidden.on(method, answers({}))
    pool.alpha.logs = True
    pool.front.opens()
    if pool.front.is_modern:
        everything = dict.fromkeys(("toolsListChanged", "promptsListChanged", "resourcesListChanged"), True)
        pool.front.asks("subscriptions/listen", {"notifications": everything})
        pool.front.hears("notifications/subscriptions/acknowledged")
    else:
        pool.front.asks("logging/setLevel", {"level": "debug"}).gets({})
    second = _joins(pool, None)
    second.watches(UNSEEN["uri"])
    hidden.tools = [tool("unseen"), tool("another")]
    for kind in ("tools", "prompts", "resources"):
        hidden.changes(kind)
    hidden.updates(UNSEEN["uri"])
    if not hidden.is_modern:
        hidden.notifies("notifications/message", level="error", data="it is unseen")
    pool.after(1)
    pool.front.hears_nothing()
    assert second.inbox
    second.inbox.clear()


def test_an_edit_applies_the_expression_of_each_client(pool: Pair) -> None:
    beta = pool.with_server("beta", share=True)
    pool.subset = "tag:work"
    pool.alpha.config = {"share": True, "tags": ("work",)}
    pool.front.opens()
    second = _joins(pool, "-tag:work")
    assert (names(pool.front.tools)[0], names(second.tools)[0]) == ("alpha.greet", "beta.greet")
    pool.alpha.config, beta.config = {"share": True}, {"share": True, "tags": ("work",)}
    pool.edit()
    pool.after(1)
    for front, greets in ((pool.front, "beta.greet"), (second, "alpha.greet")):
        front.inbox.clear()
        assert names(front.asks("tools/list").result()["tools"])[0] == greets
