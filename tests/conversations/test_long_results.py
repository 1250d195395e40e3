"""Long results of tools, where the user limits them: `maxResultCharacters`, `read_result` and `resultSize`.

Without a limit nothing changes, which the other conversations show: they have results of any length.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from conversations.eras import every_revision, legacy_backend, legacy_legacy, modern_backend
from conversations.pair import Pair
from conversations.words import CALL_TOOLS, GREET, LEGACY, MODERN, OWN_TOOLS, Json, accept, elicit, names, text, tool

LIMIT = 1000
LONG = "".join(f"line {number} 日本👩\u200d👧\n" for number in range(400))
READ: Json = tool("read", "Read.", annotations={"readOnlyHint": True})
OUTPUT: Json = {"type": "object", "properties": {"items": {"type": "array"}}}
LIST: Json = tool("list", "List.", outputSchema=OUTPUT)
ITEMS: Json = {"items": [{"name": f"item {number}", "size": number} for number in range(200)]}
MARK = "search-mcp/truncated"
WITH_READ = [*OWN_TOOLS, "read_result"]


@pytest.fixture
def limited(pair: Pair, tmp_path: Path) -> Pair:
    limits(pair, tmp_path)
    return pair


def limits(pair: Pair, folder: Path, **config: Any) -> None:
    pair.keeps_results_in(folder)
    pair.alpha.tools = [READ, LIST, GREET]
    pair.alpha.config = {"max_result_characters": LIMIT, **config}


def calls(pair: Pair, result: Json, name: str = "alpha.read") -> Json:
    """Call a tool of alpha, which returns this result; give the result that the client gets."""
    asked = pair.front.calls(name)
    pair.alpha.is_called(name.removeprefix("alpha.")).returns(result)
    return asked.result()


def texts(result: Json) -> list[str]:
    return [block["text"] for block in result["content"] if block["type"] == "text"]


def handle(result: Json) -> str:
    assert result["_meta"][MARK]["total"] > LIMIT
    return str(result["_meta"][MARK]["handle"])


def reads(pair: Pair, **arguments: Any) -> Json:
    return pair.front.calls("read_result", **arguments).result()


def definition(pair: Pair, name: str) -> Json:
    (found,) = [each for each in pair.front.tools if each["name"] == name]
    return found


# Shortening


def test_a_long_result_is_shortened_and_read_on(limited: Pair) -> None:
    limited.front.opens()
    result = calls(limited, text(LONG))
    shown, note = texts(result)
    assert LONG.startswith(shown.partition("\n\n[…")[0])
    assert f"{len(LONG):,} characters in all" in note
    assert sum(map(len, (shown, note))) <= LIMIT
    part, about = texts(reads(limited, handle=handle(result), offset=2000, length=300))
    assert LONG[2000:].startswith(part)
    assert f"of {len(LONG):,}; next offset {2000 + len(part)}" in about
    line = texts(reads(limited, handle=handle(result), pattern="line 399"))[0]
    assert line.endswith(": line 399 日本👩\u200d👧")


@pytest.mark.parametrize("by", CALL_TOOLS)
def test_a_call_by_name_is_shortened_too(limited: Pair, by: str) -> None:
    limited.settings = {"listing": "search"}
    limited.front.opens()
    assert names(limited.front.tools) == ["search_tools", "describe_tools", *CALL_TOOLS, "list_servers", "read_result"]
    asked = limited.front.calls(by, name="alpha.read")
    limited.alpha.is_called("read").returns(text(LONG))
    found = handle(asked.result())
    reading = limited.front.calls(by, name="read_result", arguments={"handle": found, "length": 4})
    assert texts(reading.result())[0] == "line"


def test_a_result_at_the_limit_passes_byte_for_byte(limited: Pair) -> None:
    limited.front.opens()
    for words in ("x" * LIMIT, "日" * LIMIT, "\n" * LIMIT):
        asked = limited.front.calls("alpha.read")
        limited.alpha.is_called("read").returns(text(words, more=1.50))
        asked.gets(text(words, more=1.50))


def test_one_character_more_is_shortened(limited: Pair) -> None:
    limited.front.opens()
    assert handle(calls(limited, text("x" * (LIMIT + 1))))


PASSED: list[Any] = [
    pytest.param({**text(LONG), "isError": True}, id="an error"),
    pytest.param({"content": [{"type": "image", "data": "A" * 4000, "mimeType": "image/png"}]}, id="an image"),
    pytest.param({"content": [{"type": "audio", "data": "A" * 4000, "mimeType": "audio/wav"}]}, id="audio"),
    pytest.param({**text(LONG), "_meta": {MARK: {"total": 9000, "handle": "of another"}}}, id="shortened before"),
]


@pytest.mark.parametrize("result", PASSED)
def test_what_must_not_be_shortened_passes(limited: Pair, result: Json) -> None:
    limited.front.opens()
    asked = limited.front.calls("alpha.read")
    limited.alpha.is_called("read").returns(result)
    asked.gets(result)


def test_results_of_apps_pass_and_their_tools_keep_their_schema(limited: Pair) -> None:
    app = {"ui": {"resourceUri": "ui://clock"}}
    limited.settings = {"listing": "full"}
    limited.alpha.tools = [{**LIST, "_meta": app}]
    limited.front.opens()
    assert definition(limited, "alpha.list")["outputSchema"] == OUTPUT
    asked = limited.front.calls("alpha.list")
    limited.alpha.is_called("list").returns({**text(LONG), "structuredContent": ITEMS})
    asked.gets({**text(LONG), "structuredContent": ITEMS})


def test_a_server_without_a_limit_is_not_limited(limited: Pair) -> None:
    beta = limited.with_server("beta")
    limited.settings = {"listing": "full"}
    beta.tools = [LIST]
    limited.front.opens()
    assert "outputSchema" in definition(limited, "beta.list")
    asked = limited.front.calls("beta.list")
    beta.is_called("list").returns({**text(LONG), "structuredContent": ITEMS})
    asked.gets({**text(LONG), "structuredContent": ITEMS})


def test_structured_content_becomes_text_where_no_schema_was_listed(limited: Pair) -> None:
    limited.settings = {"listing": "full"}
    limited.front.opens()
    assert "outputSchema" not in definition(limited, "alpha.list")
    result = calls(limited, {**text("200 items"), "structuredContent": ITEMS}, "alpha.list")
    assert "structuredContent" not in result
    assert texts(result)[0] == "200 items"
    assert texts(result)[1].startswith('{"items":[{"name":"item 0"')
    found = handle(result)
    assert texts(reads(limited, handle=found, path="/items/7/name"))[0] == "item 7"
    assert texts(reads(limited, handle=found, path="items[?size > `197`].name"))[0] == '["item 198","item 199"]'


def test_a_schema_that_the_client_knows_is_kept_until_it_lists_again(limited: Pair) -> None:
    limited.settings = {"listing": "full"}
    limited.alpha.config = {}
    limited.front.opens()
    assert definition(limited, "alpha.list")["outputSchema"] == OUTPUT
    limited.alpha.config = {"max_result_characters": LIMIT}
    limited.edit()
    limited.after(1)
    limited.front.inbox.clear()  # the list changed
    whole = {**text("200 items"), "structuredContent": ITEMS}
    asked = limited.front.calls("alpha.list")
    limited.alpha.is_called("list").returns(whole)
    asked.gets(whole)
    assert "outputSchema" not in limited.front.asks("tools/list").result()["tools"][1]
    assert handle(calls(limited, whole, "alpha.list"))


def test_an_edit_takes_the_limit_away(limited: Pair) -> None:
    limited.front.opens()
    limited.alpha.config = {}
    limited.edit()
    limited.after(1)
    limited.front.inbox.clear()  # the list changed
    assert names(limited.front.asks("tools/list").result()["tools"])[3:] == OWN_TOOLS
    asked = limited.front.calls("alpha.read")
    limited.alpha.is_called("read").returns(text(LONG))
    asked.gets(text(LONG))
    limited.front.calls("read_result", handle="x").fails(-32602, "Tool not found: read_result")


@pytest.mark.parametrize("settings", [{}, {"listing": "full"}, {"listing": "search"}])
def test_without_a_limit_there_is_no_tool_for_it(pair: Pair, settings: Json) -> None:
    pair.settings = settings
    pair.front.opens()
    assert "read_result" not in names(pair.front.tools)
    pair.front.calls("read_result", handle="x").fails(-32602, "Tool not found: read_result")


def test_the_tool_is_described(limited: Pair) -> None:
    limited.front.opens()
    assert names(limited.front.tools)[3:] == WITH_READ
    assert definition(limited, "read_result")["annotations"]["readOnlyHint"] is True
    described = limited.front.calls("describe_tools", names=["read_result", "alpha.list"], detail="full").result()
    own, other = described["structuredContent"]["tools"]
    assert own == definition(limited, "read_result")
    assert other["outputSchema"] == OUTPUT, "it tells a model what a path may select"


@pytest.mark.parametrize("prefix", ["mcp__search-mcp__", ""])
def test_the_tool_is_found_with_the_prefix_of_the_client(limited: Pair, prefix: str) -> None:
    limited.front.opens()
    found = handle(calls(limited, text(LONG)))
    assert texts(limited.front.calls(f"{prefix}read_result", handle=found, length=4).result())[0] == "line"


def test_no_tool_of_a_server_is_mistaken_for_it(limited: Pair) -> None:
    limited.alpha.config = {**limited.alpha.config, "prefix": ""}
    limited.alpha.tools = [tool("read_result"), READ]
    limited.front.opens()
    shown = names(limited.front.tools)
    assert shown.count("read_result") == 1
    assert shown[0].startswith("read_result_")
    body = limited.front.calls("read_result", handle="x").result()
    assert body["isError"] is True


def test_two_search_mcp_in_a_row_shorten_once(limited: Pair) -> None:
    """The outer one passes what the inner one answers: a shortened result, and what `read_result` reads."""
    limited.front.opens()
    result = calls(limited, text(LONG))
    inner: list[Json] = [result, reads(limited, handle=handle(result))]
    for each in inner:
        body = {key: value for key, value in each.items() if key in ("content", "_meta")}
        body["_meta"] = {MARK: body["_meta"][MARK]}
        body["content"] = [*body["content"], {"type": "text", "text": "x" * LIMIT}]
        asked = limited.front.calls("alpha.read")
        limited.alpha.is_called("read").returns(body)
        assert asked.result()["content"] == body["content"]


@legacy_backend
def test_a_question_during_the_call_is_asked(limited: Pair) -> None:
    limited.front.opens(elicitation={})
    asked = limited.front.calls("alpha.read")
    served = limited.alpha.is_called("read")
    served.asks(who=elicit("Your name?"))
    asked.is_asked(elicit("Your name?")).answers(accept(name="Ada"))
    served.gets(who=accept(name="Ada"))
    served.returns(text(LONG))
    assert handle(asked.result())


@modern_backend
def test_an_unfinished_result_passes(limited: Pair) -> None:
    limited.front.opens(elicitation={})
    asked = limited.front.calls("alpha.read")
    served = limited.alpha.is_called("read")
    served.asks(who=elicit("x" * 5000))
    asked.is_asked(elicit("x" * 5000)).answers(accept(name="Ada"))
    limited.alpha.receives("tools/call", name="read").returns(text("Ada"))
    asked.gets(text("Ada"))


@legacy_legacy
def test_the_result_of_a_task_passes(limited: Pair) -> None:
    limited.alpha.more_capabilities = {"tasks": {"requests": {"tools": {"call": {}}}}}
    limited.alpha.tools = [{**READ, "execution": {"taskSupport": "optional"}}]
    limited.front.opens(tasks={})
    asked = limited.front.asks("tools/call", {"name": "alpha.read", "arguments": {}, "task": {"ttl": 60000}})
    task = {
        "taskId": "t",
        "status": "working",
        "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z",
        "ttl": 60000,
    }
    limited.alpha.is_called("read").returns({"task": task, "_meta": {"padding": "x" * 5000}})
    made = asked.result()["task"]["taskId"]
    getting = limited.front.asks("tasks/result", {"taskId": made})
    limited.alpha.receives("tasks/result").returns(text(LONG))
    assert texts(getting.result()) == [LONG]


def test_a_cancelled_call_gets_nothing(pair: Pair, tmp_path: Path) -> None:
    waiting: list[Any] = []
    limits(pair, tmp_path)
    pair.keeps_results_in(tmp_path, lambda act, done: waiting.append(lambda: done(act())))
    pair.front.opens()
    asked = pair.front.calls("alpha.read")
    pair.alpha.is_called("read").returns(text(LONG))
    pair.front.hears_nothing()
    asked.cancels()
    (write,) = waiting
    pair.loop.call_soon(write)
    pair.settle()
    pair.front.hears_nothing()


# The same as a resource


@every_revision
def test_a_link_leads_to_the_whole_text_where_the_revision_has_links(pair: Pair, tmp_path: Path) -> None:
    limits(pair, tmp_path)
    pair.front.opens()
    assert "resources" in pair.front.opening["capabilities"]
    result = calls(pair, text(LONG))
    links = [block for block in result["content"] if block["type"] == "resource_link"]
    uri = f"search-mcp://result/{handle(result)}"
    if pair.front.revision in LEGACY[:2]:
        assert links == []
    else:
        assert links == [
            {
                "type": "resource_link",
                "uri": uri,
                "name": "whole result",
                "mimeType": "text/plain",
                "size": len(LONG.encode()),
            }
        ]
    read = pair.front.asks("resources/read", {"uri": uri}).result()
    assert read["contents"] == [{"uri": uri, "mimeType": "text/plain", "text": LONG}]


def test_an_unknown_result_is_not_found(limited: Pair) -> None:
    limited.front.opens()
    code = -32602 if limited.front.is_modern else -32002
    limited.front.asks("resources/read", {"uri": "search-mcp://result/x"}).fails(code)


# Several clients


def test_a_result_belongs_to_the_client_that_got_it(pair: Pair, tmp_path: Path) -> None:
    pair.is_pooled = True
    limits(pair, tmp_path)
    pair.front.opens()
    other = pair.joined_by(MODERN)
    other.opens()
    found = handle(calls(pair, text(LONG)))
    for asked in (other.calls("read_result", handle=found),):
        body = asked.result()
        assert body["isError"] is True
        assert "Call" not in body["content"][0]["text"]
    other.asks("resources/read", {"uri": f"search-mcp://result/{found}"}).fails(-32602)
    pair.left_by(other)
    assert texts(reads(pair, handle=found, length=4))[0] == "line"


def test_the_files_of_a_client_go_with_it(pair: Pair, tmp_path: Path) -> None:
    pair.is_pooled = True
    limits(pair, tmp_path)
    pair.front.opens()
    pair.alpha.tools = [READ]
    other = pair.joined_by(MODERN)
    other.opens()
    asked = other.calls("alpha.read")
    pair.alpha.is_called("read").returns(text(LONG))
    handle(asked.result())
    handle(calls(pair, text(LONG)))
    assert len([each for each in tmp_path.glob("*/*") if each.name != "lock"]) == 2
    pair.left_by(other)
    assert len([each for each in tmp_path.glob("*/*") if each.name != "lock"]) == 1
    pair.ends()
    assert [each for each in tmp_path.glob("*/*") if each.name != "lock"] == []


# resultSize

SIZE = "anthropic/maxResultSizeChars"


@pytest.mark.parametrize("listing", ["light", "full", "search"])
def test_a_result_size_is_declared_where_the_server_declares_none(pair: Pair, listing: str) -> None:
    pair.settings = {"listing": listing}
    beta = pair.with_server("beta", result_size=300_000)
    pair.alpha.config = {"result_size": 200_000}
    pair.alpha.tools = [GREET, {**READ, "_meta": {SIZE: 7, "kept": 1}}, {**LIST, "_meta": {"kept": 2}}]
    beta.tools = [GREET]
    pair.front.opens()
    found = {each["name"]: each.get("_meta") for each in pair.front.tools}
    if listing == "search":
        assert {name: meta for name, meta in found.items() if meta} == {name: {SIZE: 300_000} for name in CALL_TOOLS}
        return
    assert found == {
        "alpha.greet": {SIZE: 200_000},
        "alpha.read": {SIZE: 7, "kept": 1},
        "alpha.list": {"kept": 2, SIZE: 200_000},
        "beta.greet": {SIZE: 300_000},
        **dict.fromkeys(OWN_TOOLS),
    }


def test_a_result_of_that_size_passes(pair: Pair) -> None:
    pair.alpha.config = {"result_size": 500}
    pair.front.opens()
    asked = pair.front.calls("alpha.greet")
    pair.alpha.is_called("greet").returns(text(LONG))
    asked.gets(text(LONG))


def test_the_definitions_of_our_own_tools_are_the_same_without_these_settings(pair: Pair) -> None:
    pair.settings = {"listing": "search"}
    pair.front.opens()
    assert not any("_meta" in each for each in pair.front.tools)
    assert "read_result" not in json.dumps(pair.front.tools)
