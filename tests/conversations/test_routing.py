"""Prompts, resources, templates and completions reach the one server they belong to."""

from pathlib import Path

import pytest

from conversations.back import Back, exits, leaves_to_the_test
from conversations.eras import legacy_legacy, modern_legacy
from conversations.pair import Pair
from conversations.words import SKILLS, Json, text, tool

HELLO: Json = {"name": "hello"}


def test_a_prompt_is_got_from_its_server_under_its_own_name(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.prompts = beta.prompts = [HELLO]
    pair.front.opens()
    result = {"description": "☃", "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "new": 1.0}
    for spelling, back in (("beta.hello", beta), ("alpha__hello", pair.alpha)):
        pair.front.asks("prompts/get", {"name": spelling, "arguments": {"b": "1", "a": "2"}})
        back.receives("prompts/get", name="hello", arguments={"b": "1", "a": "2"}).returns(result)
        pair.front.gets(result)


def test_a_completion_goes_to_the_server_of_its_prompt(pair: Pair) -> None:
    beta = pair.with_server("beta")
    for back in (pair.alpha, beta):
        back.prompts, back.completes = [HELLO], True
    pair.front.opens()
    result = {"completion": {"values": ["a", "b"], "total": 2, "hasMore": False}}
    params: Json = {
        "ref": {"type": "ref/prompt", "name": "beta.hello", "title": "Hello"},
        "argument": {"name": "x", "value": "y"},
        "context": {"arguments": {"z": "1"}},
    }
    pair.front.asks("completion/complete", params)
    reference = {"type": "ref/prompt", "name": "hello", "title": "Hello"}
    served = beta.receives("completion/complete", ref=reference, argument={"name": "x", "value": "y"})
    assert served.said.params["context"] == {"arguments": {"z": "1"}}
    served.returns(result)
    pair.front.gets(result)


def test_a_completion_goes_to_the_server_of_its_template(pair: Pair) -> None:
    beta = pair.with_server("beta")
    beta.templates, beta.completes = [{"uriTemplate": "b://{x}/{y}", "name": "B"}], True
    pair.alpha.templates = [{"uriTemplate": "a://{x}", "name": "A"}]
    pair.front.opens()
    reference = {"type": "ref/resource", "uri": "b://{x}/{y}"}
    pair.front.asks("completion/complete", {"ref": reference, "argument": {"name": "x", "value": ""}})
    beta.receives("completion/complete", ref=reference).returns({"completion": {"values": []}})
    pair.front.gets({"completion": {"values": []}})


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": 7, "argument": {"name": "x", "value": ""}},
        {"ref": {"type": "ref/what", "name": "x"}, "argument": {"name": "x", "value": ""}},
        {"ref": {"type": "ref/prompt"}, "argument": {"name": "x", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "alpha.hello"}},
        {"ref": {"type": "ref/prompt", "name": "alpha.nothing"}, "argument": {"name": "x", "value": ""}},
    ],
    ids=repr,
)
def test_a_malformed_completion_is_refused(pair: Pair, params: Json) -> None:
    pair.alpha.prompts, pair.alpha.completes = [HELLO], True
    pair.front.opens()
    pair.front.asks("completion/complete", params).fails(-32602)


def test_resources_are_read_from_whoever_has_them(pair: Pair) -> None:
    """In this order: listed, a template that matches, seen in a result, the only server with the scheme."""
    beta, gamma = pair.with_server("beta"), pair.with_server("gamma")
    pair.alpha.resources = [{"uri": "file:///a", "name": "a"}, {"uri": "only://1", "name": "o"}]
    beta.resources = [{"uri": "file:///b", "name": "b"}]
    gamma.templates = [
        {"uriTemplate": "file:///g/{name}.txt", "name": "g"},
        {"uriTemplate": "git:///{+path}", "name": "p"},
    ]
    pair.front.opens()
    pair.front.calls("beta.echo")
    link = {"type": "resource_link", "uri": "seen://x", "name": "x"}
    embedded = {"type": "resource", "resource": {"uri": "file:///g/mine.txt", "text": "t"}}
    beta.returns({"content": [link, embedded]})
    pair.front.gets({"content": [link, embedded]})
    for uri, back in (
        ("file:///a", pair.alpha),
        ("file:///b", beta),
        ("seen://x", beta),
        ("file:///g/mine.txt", gamma),  # seen in beta's result, which takes nothing that gamma's template covers
        ("file:///g/other.txt", gamma),
        ("git:///a/b/c", gamma),
        ("only://anything", pair.alpha),
    ):
        pair.front.asks("resources/read", {"uri": uri})
        result = {"contents": [{"uri": uri, "text": "☃", "_meta": {"x.y/z": 1}}]}
        back.receives("resources/read", uri=uri).returns(result)
        pair.front.gets(result)


def reads(pair: Pair, uri: str, back: Back) -> None:
    """Have the client read a resource, and expect the request at this server."""
    reading = pair.front.asks("resources/read", {"uri": uri})
    back.receives("resources/read", uri=uri).returns({"contents": []})
    reading.gets({"contents": []})


def test_the_resources_that_a_prompt_links_to_are_those_of_its_server(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [{"uri": "a://1", "name": "a"}], [{"uri": "b://1", "name": "b"}]
    beta.prompts = [HELLO]
    pair.front.opens()
    link: Json = {"type": "resource_link", "uri": "seen://p", "name": "p"}
    embedded: Json = {"type": "resource", "resource": {"uri": "within://p", "text": "t"}}
    result = {"messages": [{"role": "user", "content": each} for each in (link, embedded)]}
    pair.front.asks("prompts/get", {"name": "beta.hello"})
    beta.receives("prompts/get", name="hello").returns(result)
    pair.front.gets(result)
    for uri in ("seen://p", "within://p"):
        reads(pair, uri, beta)


def test_no_server_takes_a_uri_that_another_lists_or_covers(pair: Pair) -> None:
    """Neither with a template that matches everything, nor by a mention, nor by listing the page of another's tool."""
    files, last = pair.with_server("files"), pair.with_server("last")
    show = tool("show", _meta={"ui": {"resourceUri": "ui://files/view.html"}})
    pair.alpha.templates = [{"uriTemplate": "{+x}", "name": "x"}, {"uriTemplate": "file:{+x}", "name": "x"}]
    files.templates = [{"uriTemplate": "file:///{+path}", "name": "f"}]
    files.resources = [{"uri": "https://files/1", "name": "1"}]
    pair.alpha.resources = [{"uri": "ui://files/view.html", "name": "v"}]
    files.tools, last.tools = [show], [tool("link"), show]
    pair.alpha.completes = files.completes = True
    pair.front.opens()
    targets = ["file:///home/me/.env", "https://files/1", "ui://files/view.html"]
    links = {"content": [{"type": "resource_link", "uri": uri, "name": "x"} for uri in targets]}
    call = pair.front.calls("last.link")
    last.is_called("link").returns(links)
    call.gets(links)
    for uri in targets:
        reading = pair.front.asks("resources/read", {"uri": uri})
        files.receives("resources/read", uri=uri).returns({"contents": []})
        reading.gets({"contents": []})
    reference = {"type": "ref/resource", "uri": "file:///{+path}"}
    pair.front.asks("completion/complete", {"ref": reference, "argument": {"name": "path", "value": ""}})
    files.receives("completion/complete", ref=reference).returns({"completion": {"values": []}})
    pair.front.gets({"completion": {"values": []}})
    pair.after(1)
    assert any("templates: {+x}: it has no literal scheme" in each for each in pair.transcript.warnings)


def test_a_uri_that_two_servers_mention_is_that_of_the_first_to_do_so_and_the_user_is_told(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.front.opens()
    link = {"content": [{"type": "resource_link", "uri": "seen://x", "name": "x"}]}
    for back in (pair.alpha, beta, beta):
        pair.front.calls(f"{back.name}.echo")
        back.is_called("echo").returns(link)
        pair.front.gets(link)
    reading = pair.front.asks("resources/read", {"uri": "seen://x"})
    pair.alpha.receives("resources/read", uri="seen://x").returns({"contents": []})
    reading.gets({"contents": []})
    said = "! beta: its result mentions seen://x, which a result of 'alpha' mentioned before; it is read at 'alpha'"
    assert [each for each in pair.transcript.warnings if "mentions" in each] == [said]


def test_a_uri_of_nobody_is_not_guessed(pair: Pair) -> None:
    pair.alpha.resources = [{"uri": "file:///a", "name": "a"}]
    pair.with_server("beta").resources = [{"uri": "file:///b", "name": "b"}]
    pair.front.opens()
    for uri in ("file:///c", "nothing://x", "no uri at all"):
        pair.front.asks("resources/read", {"uri": uri}).fails(-32602 if pair.front.is_modern else -32002)


@pytest.mark.parametrize("params", [{}, {"uri": 7}, {"uri": ""}])
def test_a_malformed_read_is_refused(pair: Pair, params: Json) -> None:
    pair.front.opens()
    pair.front.asks("resources/read", params).fails(-32602)


@legacy_legacy
def test_the_capabilities_are_those_of_the_backends_once_they_are_known(pair: Pair) -> None:
    pair.front.opens()
    everything = {"tools", "prompts", "resources", "logging", "completions", "extensions"}
    assert set(pair.front.opening["capabilities"]) == everything
    assert pair.front.opening["capabilities"]["extensions"] == {SKILLS: {}}
    pair.front.initializes()  # a second one of the same client: now they are known
    assert set(pair.front.opening["capabilities"]) == {"tools"}


def test_the_capabilities_are_those_of_all_servers_together(pair: Pair, tmp_path: Path) -> None:
    """Also where each of them has one only."""
    beta, gamma = pair.with_server("beta"), pair.with_server("gamma")
    pair.alpha.prompts, beta.resources = [HELLO], [{"uri": "b://1", "name": "b"}]
    gamma.logs = gamma.completes = True
    pair.was_here_before(tmp_path)
    pair.front.opens()
    assert pair.front.opening["capabilities"] == {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "completions": {},
        "logging": {},
    }
    for method, key, name in (("prompts/list", "prompts", "alpha.hello"), ("resources/list", "resources", "b")):
        assert [each["name"] for each in pair.front.asks(method).result()[key]] == [name]


def test_a_result_may_mention_resources_in_any_shape(pair: Pair) -> None:
    """What is looked for in a result must not be stumbled over."""
    pair.front.opens()
    pair.front.hears_anything()
    for content in (
        [{"type": "resource"}],
        [{"type": "resource_link", "uri": 7}],
        [{"type": "resource", "resource": 7}],
        [7, None, "x"],
        {"type": "resource"},
    ):
        call = pair.front.calls("alpha.echo")
        pair.alpha.is_called("echo").returns({"content": content})
        call.gets({"content": content})


# Search


def test_a_search_finds_prompts_and_resources_where_it_is_asked_for_them(pair: Pair) -> None:
    pair.alpha.tools = [tool("review", "Review a change.")]
    pair.alpha.prompts = [{"name": "review", "description": "Review a change.", "arguments": [{"name": "focus"}]}]
    pair.alpha.resources = [{"uri": "notes://june", "name": "june", "description": "Notes on the review."}]
    pair.front.opens()
    for kind, lines in (
        (None, ["1. alpha.review()", "   Review a change."]),
        (
            "prompts",
            [
                "1. prompt alpha.review(focus?)",
                "   Review a change.",
                "   a prompt for the user to choose in the client, not a tool to call",
            ],
        ),
        (
            "resources",
            [
                "1. resource june (server alpha)",
                "   Notes on the review.",
                "   to read as a resource: notes://june",
            ],
        ),
    ):
        found = pair.front.calls("search_tools", query="review", kind=kind).result()
        assert found["content"][0]["text"].splitlines() == lines


@modern_legacy
def test_a_search_of_prompts_waits_for_the_first_list_of_them(pair: Pair) -> None:
    pair.alpha.prompts = [HELLO]
    pair.alpha.on("prompts/list", leaves_to_the_test)
    search = pair.front.calls("search_tools", query="hello", kind="prompts")
    pair.front.hears_nothing()
    pair.alpha.receives("prompts/list").returns({"prompts": [HELLO]})
    assert search.result()["content"][0]["text"].startswith("1. prompt alpha.hello()")


# Instructions


def test_instructions_name_the_servers_and_how_to_search(pair: Pair) -> None:
    pair.with_server("beta", description="Reads mail.")
    pair.front.opens()
    assert "search_tools" in pair.front.opening["instructions"]
    assert "- beta: Reads mail." in pair.front.opening["instructions"]
    pair.front.calls("alpha.echo")
    pair.alpha.returns(text("x"))
    pair.front.gets(text("x"))


def test_instructions_say_which_servers_do_not_run(pair: Pair, tmp_path: Path) -> None:
    pair.with_server("beta").on_opening(exits)
    pair.was_here_before(tmp_path)
    pair.front.opens()
    *_, alpha, beta = pair.front.opening["instructions"].splitlines()
    assert (alpha, beta) == ("- alpha (2 tools): greet, echo", "- beta (not running)")


def test_instructions_say_what_each_remembered_server_is_for(pair: Pair, tmp_path: Path) -> None:
    pair.alpha.instructions = "# Alpha: how to use it\n\n- Keeps *nothing*.\n\nKeeps `notes` for a team. Ask first."
    pair.with_server("beta").tools = [tool("add"), tool("echo")]
    pair.was_here_before(tmp_path)
    pair.front.opens()
    *_, alpha, beta = pair.front.opening["instructions"].splitlines()
    assert (alpha, beta) == ('- alpha (2 tools): "Keeps notes for a team."', "- beta (2 tools): add, echo")
