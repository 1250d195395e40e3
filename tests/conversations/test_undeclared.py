"""Resources and prompts that servers do not list, and capabilities that they do not declare."""

import pytest

from conversations.back import Back, answers, exits, refuses
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import Json, text

COMPLETION: Json = {"completion": {"values": ["ada"]}}
ARGUMENT: Json = {"name": "name", "value": "a"}


def read(uri: str) -> Json:
    return {"contents": [{"uri": uri, "text": "☃"}]}


def test_a_uri_of_no_list_is_asked_of_the_only_server_with_resources(pair: Pair) -> None:
    """A list of resources need not be complete. Whether it has this one is the server's to say."""
    pair.with_server("beta")
    pair.alpha.resources = [{"uri": "file:///a", "name": "a"}]
    pair.front.opens()
    pair.front.asks("resources/read", {"uri": "made://on/demand"})
    pair.alpha.receives("resources/read", uri="made://on/demand").returns(read("made://on/demand"))
    pair.front.gets(read("made://on/demand"))
    pair.front.asks("resources/read", {"uri": "made://wrong"})
    pair.alpha.receives("resources/read", uri="made://wrong").fails(-32602, "no such thing", {"hint": "x"})
    pair.front.fails(-32602, "no such thing", {"hint": "x"})


def test_a_template_of_no_list_is_completed_by_the_only_server_that_completes(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [{"uri": "a://a", "name": "a"}], [{"uri": "b://b", "name": "b"}]
    beta.completes = True
    pair.front.opens()
    reference = {"type": "ref/resource", "uri": "made://{name}"}
    pair.front.asks("completion/complete", {"ref": reference, "argument": ARGUMENT})
    beta.receives("completion/complete", ref=reference, argument=ARGUMENT).returns(COMPLETION)
    pair.front.gets(COMPLETION)


def test_as_long_as_another_server_may_have_it_too_nobody_is_asked(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.resources = [{"uri": "file:///a", "name": "a"}]
    beta.on("initialize", exits)
    beta.on("server/discover", exits)
    pair.front.opens()
    pair.front.asks("resources/read", {"uri": "made://x"}).fails(-32602 if pair.front.is_modern else -32002)


def declares_nothing(back: Back) -> None:
    """Make a server like the simplest examples: handlers without capabilities."""

    def initializes(back: Back, said: Said) -> None:
        info = {"name": back.name, "version": "1"}
        version = said.params["protocolVersion"]
        back.answer(said.id, {"protocolVersion": version, "capabilities": {}, "serverInfo": info})

    def discovers(back: Back, said: Said) -> None:
        answers({"supportedVersions": [back.revision], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"})(
            back, said
        )

    back.on("server/discover", discovers) if back.is_modern else back.on("initialize", initializes)


def test_a_server_that_declares_nothing_is_asked_for_its_lists_all_the_same(pair: Pair) -> None:
    declares_nothing(pair.alpha)
    pair.alpha.prompts, pair.alpha.resources = [{"name": "hello"}], [{"uri": "x://1", "name": "1"}]
    pair.front.opens()
    assert [prompt["name"] for prompt in pair.front.asks("prompts/list").result()["prompts"]] == ["alpha.hello"]
    assert pair.front.asks("resources/list").result()["resources"] == pair.alpha.resources
    pair.front.calls("alpha.echo")
    pair.alpha.returns(text("x"))
    pair.front.gets(text("x"))


@pytest.mark.parametrize("prefix", [None, ""])
def test_a_server_that_declares_and_lists_nothing_is_asked_for_what_is_called(pair: Pair, prefix: str | None) -> None:
    """Only its prefix says that something may be its, or that it is the only one whose names have none."""
    declares_nothing(pair.alpha)
    pair.alpha.config = {} if prefix is None else {"prefix": prefix}
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        pair.alpha.on(method, refuses(-32601, "Method not found"))
    pair.front.opens()
    name = "hello" if prefix == "" else "alpha.hello"
    pair.front.asks("prompts/get", {"name": name})
    pair.alpha.receives("prompts/get", name="hello").returns({"messages": []})
    pair.front.gets({"messages": []})
    pair.front.asks("resources/read", {"uri": "x://1"})
    pair.alpha.receives("resources/read", uri="x://1").returns(read("x://1"))
    pair.front.gets(read("x://1"))
    reference = {"type": "ref/prompt", "name": name}
    pair.front.asks("completion/complete", {"ref": reference, "argument": ARGUMENT})
    pair.alpha.receives("completion/complete", ref={**reference, "name": "hello"}).returns(COMPLETION)
    pair.front.gets(COMPLETION)
