"""A model that read the light list or one answer of `search_tools` can call each tool of small real servers right.

If it does not, what it is told is enough for the next call.
"""

import json
import re
from collections import defaultdict
from typing import Any

import jsonschema_rs
import pytest

from own_tools.first_calls import FIRST_CALLS, TOOLS, FirstCall
from own_tools.test_own_tools import HERE, Bench, entry
from search_mcp.catalog import arguments
from search_mcp.catalog.items import Item
from search_mcp.catalog.profiles import BY_NAME, Audience
from search_mcp.catalog.rendering import light_definition
from search_mcp.model.calls import Result
from search_mcp.wire import payload

CLAUDE_DESKTOP = Audience(BY_NAME["claude-desktop"], False)
WRONG = [
    pytest.param(call, given, error, id=f"{call.tool} {json.dumps(given)}")
    for call in FIRST_CALLS
    for given, error in call.wrong
]


@pytest.fixture(scope="module")
def bench() -> Bench:
    """Return our own tools over all tools of these servers."""
    servers = defaultdict(list)
    for each in TOOLS:
        servers[each["server"]].append(entry(each["tool"], each["description"], inputSchema=each["inputSchema"]))
    return Bench(**servers)


def _item(bench: Bench, call: FirstCall) -> Item:
    return next(item for item in bench.catalog.tools() if item.name == call.tool)


def _names(arguments: Any) -> set[str]:
    """Return the names in arguments, those in objects and lists included."""
    if isinstance(arguments, dict):
        return {*arguments}.union(*map(_names, arguments.values()))
    return set[str]().union(*map(_names, arguments)) if isinstance(arguments, list) else set()


def test_there_are_thirty_tools_and_every_server_is_among_them() -> None:
    assert len({call.tool for call in FIRST_CALLS}) >= 30
    assert {call.tool.partition(".")[0] for call in FIRST_CALLS} == {each["server"] for each in TOOLS}


@pytest.mark.parametrize("call", FIRST_CALLS, ids=lambda call: call.tool)
def test_an_answer_shows_how_to_call_the_tool(bench: Bench, call: FirstCall) -> None:
    text, data = bench.ask("search_tools", {"query": call.query})
    assert call.answer in [line.partition(". ")[2].partition(" [")[0] for line in text.splitlines()]
    assert any(each == call.answer or each.startswith(f"{call.answer}: ") for each in data["results"])


@pytest.mark.parametrize("call", FIRST_CALLS, ids=lambda call: call.tool)
def test_the_light_list_has_all_names_for_the_call(bench: Bench, call: FirstCall) -> None:
    shown = json.loads(bytes(light_definition(_item(bench, call), call.tool, 100)["description"]))
    assert _names(call.arguments) <= {*re.findall(r"\w+", shown)}


@pytest.mark.parametrize("call", FIRST_CALLS, ids=lambda call: call.tool)
def test_an_answer_has_the_names_of_the_client(bench: Bench, call: FirstCall) -> None:
    text, _ = bench.ask("search_tools", {"query": call.query}, CLAUDE_DESKTOP)
    assert f" {call.answer.replace('.', '__', 1)}\n" in text


@pytest.mark.parametrize("call", FIRST_CALLS, ids=lambda call: call.tool)
def test_a_call_written_from_the_signature_fits_the_schema(bench: Bench, call: FirstCall) -> None:
    assert jsonschema_rs.is_valid(dict(_item(bench, call).input_schema), call.arguments)


@pytest.mark.parametrize(("call", "given", "error"), WRONG)
def test_a_model_is_told_what_is_wrong_and_what_is_right(
    bench: Bench, call: FirstCall, given: dict[str, Any], error: str
) -> None:
    refused = Result(payload.encode({"content": [], "isError": True}))
    told = arguments.tool_result(call.tool, {"arguments": payload.encode(given)}, _item(bench, call), refused)
    assert json.loads(bytes(told.fields()["content"])) == [{"type": "text", "text": error}]
    assert error.endswith(f"Call it as {call.answer}")


@pytest.mark.parametrize("call", FIRST_CALLS, ids=lambda call: call.tool)
def test_nothing_is_said_about_arguments_that_are_right(bench: Bench, call: FirstCall) -> None:
    refused = Result(payload.encode({"content": [], "isError": True}))
    params = {"arguments": payload.encode(call.arguments)}
    assert arguments.tool_result(call.tool, params, _item(bench, call), refused) is refused


def test_the_answers_are_short(bench: Bench) -> None:
    sizes = sorted(len(bench.ask("search_tools", {"query": call.query})[0]) for call in FIRST_CALLS)
    assert sizes[len(sizes) // 2] < 800  # 180 tokens; 700 without notes about values
    assert HERE.profile.listing == "light"
