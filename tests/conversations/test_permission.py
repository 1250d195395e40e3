"""Permission to call tools: `call_read_only_tool`, `callTool` and `readOnly`."""

from pathlib import Path
from typing import Any

import pytest

from conversations.back import Habit, exits, leaves_to_the_test, refuses
from conversations.eras import legacy_backend
from conversations.pair import Pair
from conversations.words import (
    CALL_TOOLS,
    GREET,
    OWN_TOOLS,
    WITH_CALL_TOOL,
    Json,
    accept,
    elicit,
    names,
    text,
    tool,
)

READ: Json = tool("read", "Read a file.", annotations={"readOnlyHint": True})
DELETE: Json = tool("delete", "Delete a file.", annotations={"destructiveHint": True})
LIAR: Json = tool("liar", "Read a file.", annotations={"readOnlyHint": "true"})
NOT_READ: Json = {**READ, "annotations": {"readOnlyHint": False}}
TOOLS = [READ, DELETE, GREET]


def _calls_read_only(pair: Pair, name: str, **more: Any) -> Any:
    return pair.front.calls("call_read_only_tool", name=name, **more)


def _is_refused(pair: Pair, name: str, remedy: str = "use call_tool for it") -> None:
    asked = _calls_read_only(pair, name)
    asked.fails(-32602, f"Tool not declared read-only: {name}; {remedy}")
    pair.alpha.hears_nothing()


def _is_hidden(pair: Pair, name: str, by: str | None = None) -> None:
    asked = pair.front.calls(name) if by is None else pair.front.calls(by, name=name)
    error = asked.fails(-32602).body["error"]
    why = f"Tool not declared read-only: {name}, and no other of server 'alpha' may be called (readOnly)"
    assert error["message"] == why
    pair.alpha.hears_nothing()


# call_read_only_tool


@pytest.mark.parametrize("mode", ["light", "full", "search"])
@pytest.mark.parametrize("name", ["alpha.read", "alpha__read", "alpha_read", "read", "mcp__search-mcp__alpha__read"])
def test_a_read_only_tool_is_called_by_any_spelling(pair: Pair, mode: str, name: str) -> None:
    pair.settings = {"listing": mode}
    pair.alpha.tools = TOOLS
    pair.front.opens()
    _calls_read_only(pair, name, arguments={"a": 1})
    pair.alpha.is_called("read", a=1).returns(text("x"))
    pair.front.gets(text("x"))


@pytest.mark.parametrize("name", ["alpha.delete", "alpha__delete", "alpha_greet", "greet", "alpha.liar"])
def test_every_other_tool_is_refused(pair: Pair, name: str) -> None:
    pair.alpha.tools = [*TOOLS, LIAR]
    pair.front.opens()
    _is_refused(pair, name)


def test_with_call_tool_switched_off_the_refusal_does_not_send_there(pair: Pair) -> None:
    pair.settings = {"call_tool": "read-only"}
    pair.alpha.tools = TOOLS
    pair.front.opens()
    _is_refused(pair, "alpha.delete", "the user has switched call_tool off")


def test_an_unknown_name_is_not_found(pair: Pair) -> None:
    pair.alpha.tools = TOOLS
    pair.front.opens()
    said = _calls_read_only(pair, "alpha.reed").fails(-32602, "Tool not found: alpha.reed")
    assert said.body["error"]["data"]["suggestions"][0] == "alpha.read"


def test_our_own_tools_that_read_can_be_called_and_those_that_call_cannot(pair: Pair) -> None:
    pair.front.opens()
    _calls_read_only(pair, "list_servers").result()
    for outer in CALL_TOOLS:
        for inner in (*CALL_TOOLS, "mcp__search-mcp__call_tool"):
            arguments: Json = {"name": inner, "arguments": {"name": "alpha.greet"}}
            pair.front.calls(outer, **arguments).fails(-32602)


@pytest.mark.parametrize("arguments", [{}, {"name": 7}, {"name": ""}, {"name": "alpha.read", "arguments": [1]}])
def test_malformed_arguments_are_refused(pair: Pair, arguments: Json) -> None:
    pair.alpha.tools = TOOLS
    pair.front.opens()
    pair.front.calls("call_read_only_tool", **arguments).fails(-32602)


@legacy_backend
def test_a_server_that_asks_in_the_middle_of_the_call_is_answered(pair: Pair) -> None:
    pair.alpha.tools = TOOLS
    pair.front.opens(elicitation={})
    asked = _calls_read_only(pair, "alpha.read")
    served = pair.alpha.is_called("read")
    served.asks(who=elicit("Your name?"))
    asked.is_asked(elicit("Your name?")).answers(accept(name="Ada"))
    served.gets(who=accept(name="Ada"))
    served.returns(text("x"))
    asked.gets(text("x"))


def test_progress_and_cancellation_pass(pair: Pair) -> None:
    pair.alpha.tools = TOOLS
    pair.front.opens()
    asked = pair.front.calls("call_read_only_tool", name="alpha.read", token="t")
    served = pair.alpha.is_called("read")
    token = served.said.meta["progressToken"]
    pair.alpha.notifies("notifications/progress", progressToken=token, progress=1)
    pair.front.hears("notifications/progress", progressToken="t", progress=1)
    asked.cancels()
    pair.alpha.hears("notifications/cancelled")


@pytest.mark.parametrize("failure", [refuses(-32603, "no"), exits], ids=["no list", "it exits"])
def test_nothing_is_forwarded_to_a_server_whose_list_cannot_be_had(pair: Pair, failure: Habit) -> None:
    pair.alpha.on("tools/list", failure)
    pair.front.opens_over(200)
    asked = _calls_read_only(pair, "alpha.read")
    pair.after(200)
    asked.fails(-32602 if failure is not exits else -32000)
    assert "tools/call" not in pair.alpha.methods()


def test_a_definition_that_changed_since_the_search_decides(pair: Pair) -> None:
    pair.alpha.tools = TOOLS
    pair.front.opens()
    assert "[read-only]" in str(pair.front.calls("search_tools", query="read file").result())
    pair.alpha.tools = [NOT_READ]
    pair.alpha.changes("tools")
    pair.after(1)
    pair.front.inbox.clear()
    _is_refused(pair, "alpha.read")


@pytest.mark.parametrize("read_only", [False, True], ids=["call_read_only_tool", "readOnly"])
@pytest.mark.parametrize("now", [READ, NOT_READ], ids=["still read-only", "not any more"])
def test_a_call_that_starts_its_server_is_checked_against_the_new_list(
    pair: Pair, tmp_path: Path, now: Json, read_only: bool
) -> None:
    """What is remembered of an earlier process says nothing of this one."""
    pair.alpha.config = {"startup": "lazy", "read_only": read_only}
    pair.alpha.tools = [READ]
    pair.was_here_before(tmp_path)
    pair.front.opens()
    pair.alpha.tools = [now]
    pair.alpha.on("tools/list", leaves_to_the_test)
    asked = pair.front.calls("alpha.read") if read_only else _calls_read_only(pair, "alpha.read")
    listing = pair.alpha.receives("tools/list")
    pair.alpha.hears_nothing()
    listing.returns({"tools": [now]} | ({"ttlMs": 0, "cacheScope": "private"} if pair.alpha.is_modern else {}))
    if now is READ:
        pair.alpha.is_called("read").returns(text("x"))
        asked.gets(text("x"))
    else:
        asked.fails(-32602)
        pair.alpha.hears_nothing()
    pair.after(1)
    pair.front.inbox.clear()


def test_a_waiting_call_survives_an_idle_limit(pair: Pair, tmp_path: Path) -> None:
    """A server that is slow to list is not idle while a call waits for its list."""
    pair.alpha.config = {"startup": "lazy", "idle_stop_seconds": 1.0}
    pair.alpha.tools = [READ]
    pair.was_here_before(tmp_path)
    pair.front.opens()
    pair.alpha.on("tools/list", leaves_to_the_test)
    asked = _calls_read_only(pair, "alpha.read")
    listing = pair.alpha.receives("tools/list")
    pair.after(10)
    listing.returns({"tools": [READ]} | ({"ttlMs": 0, "cacheScope": "private"} if pair.alpha.is_modern else {}))
    pair.alpha.is_called("read").returns(text("x"))
    asked.gets(text("x"))


def test_a_server_that_was_given_up_is_started_for_the_call_and_its_list_decides(pair: Pair) -> None:
    pair.alpha.tools = TOOLS
    pair.alpha.on_opening(exits)
    pair.front.opens_over(200)
    pair.alpha.opens_as_usual()
    asked = _calls_read_only(pair, "alpha.read")
    pair.alpha.is_called("read").returns(text("x"))
    pair.front.inbox[:] = [said for said in pair.front.inbox if said.method is None]
    asked.gets(text("x"))
    pair.after(1)
    pair.front.inbox.clear()


# Which of the two there are


@pytest.mark.parametrize(
    ("setting", "there"), [("all", CALL_TOOLS), ("read-only", ["call_read_only_tool"]), ("off", [])]
)
def test_call_tool_decides_which_are_listed_described_and_callable(pair: Pair, setting: str, there: list[str]) -> None:
    pair.settings = {"listing": "search", "call_tool": setting}
    pair.alpha.tools = TOOLS
    pair.front.opens()
    assert names(pair.front.tools) == [name for name in WITH_CALL_TOOL if name in {*OWN_TOOLS, *there}]
    said = str(pair.front.opening.get("instructions"))
    assert ("call_tool" in said.replace("call_read_only_tool", "")) is ("call_tool" in there)
    assert ("call_read_only_tool" in said) is ("call_read_only_tool" in there)
    for name in CALL_TOOLS:
        described = pair.front.calls("describe_tools", names=[name]).result()["structuredContent"]
        asked = pair.front.calls(name, name="alpha.read")
        if name in there:
            assert described["tools"][0]["name"] == name
            pair.alpha.is_called("read").returns(text("x"))
            asked.gets(text("x"))
        else:
            assert not described["tools"]
            assert name not in described["unknown"][0]["suggestions"]
            error = asked.fails(-32602).body["error"]["message"]
            assert error.startswith(f'{name} is switched off in the configuration ("callTool": "{setting}"); ')
    pair.alpha.hears_nothing()


def test_the_setting_takes_effect_at_once(pair: Pair) -> None:
    pair.settings = {"listing": "search"}
    pair.front.opens()
    pair.settings = {"listing": "search", "call_tool": "off"}
    pair.edit()
    pair.after(1)
    pair.front.inbox.clear()
    assert names(pair.front.asks("tools/list").result()["tools"]) == OWN_TOOLS
    pair.front.calls("call_tool", name="alpha.greet").fails(-32602)


# readOnly


def test_only_read_only_tools_are_listed_and_found(pair: Pair) -> None:
    pair.alpha.config = {"read_only": True}
    pair.alpha.tools = TOOLS
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.read", *OWN_TOOLS]
    found = pair.front.calls("search_tools", query="delete a file").result()["structuredContent"]
    assert "alpha.delete" not in str(found)
    (server,) = pair.front.calls("list_servers").result()["structuredContent"]["servers"]
    assert (server["tools"], server["readOnly"], server["leftOut"]) == (1, True, 2)


@pytest.mark.parametrize("by", [None, "call_tool", "call_read_only_tool"])
@pytest.mark.parametrize(
    "name", ["alpha.delete", "alpha__delete", "alpha.greet", "delete", "alpha.remove", "alpha.d_e_l"]
)
def test_a_hidden_tool_cannot_be_called_in_any_spelling(pair: Pair, name: str, by: str | None) -> None:
    pair.alpha.config = {"read_only": True, "rename": {"greet_all": "remove"}}
    pair.alpha.tools = [*TOOLS, {**GREET, "name": "greet_all"}, {**DELETE, "name": "d-e-l"}]
    pair.front.opens()
    _is_hidden(pair, name, by)


def test_a_denied_tool_is_not_said_to_be_hidden_for_writing(pair: Pair) -> None:
    pair.alpha.config = {"read_only": True, "deny": ("delete",)}
    pair.alpha.tools = TOOLS
    pair.front.opens()
    pair.front.calls("alpha.delete").fails(-32602, "Tool not found: alpha.delete")


@pytest.mark.parametrize("failure", [refuses(-32603, "no"), exits], ids=["no list", "it exits"])
def test_nothing_is_forwarded_to_a_read_only_server_without_a_list(pair: Pair, failure: Habit) -> None:
    pair.alpha.config = {"read_only": True}
    pair.alpha.on("tools/list", failure)
    pair.front.opens_over(200)
    for name in ("alpha.delete", "alpha__delete"):
        for arguments in ({"name": name}, {"name": "call_tool", "arguments": {"name": name}}):
            asked = pair.front.asks("tools/call", arguments)
            pair.after(200)
            asked.fails(-32602 if failure is not exits else -32000)
    assert "tools/call" not in pair.alpha.methods()


def test_a_call_that_waits_while_the_server_starts_is_checked(pair: Pair) -> None:
    pair.alpha.config = {"read_only": True}
    pair.alpha.tools = TOOLS
    pair.alpha.starts_slowly(5)
    if not pair.front.is_modern:
        pair.front.initializes()
    calls = [pair.front.calls(name) for name in ("alpha.delete", "alpha.read")]
    pair.front.hears_nothing()
    pair.after(6)
    calls[0].fails(-32602)
    pair.alpha.is_called("read").returns(text("x"))
    calls[1].gets(text("x"))


def test_a_call_that_waits_when_the_user_sets_read_only_is_checked(pair: Pair, tmp_path: Path) -> None:
    pair.alpha.config = {"startup": "lazy"}
    pair.alpha.tools = TOOLS
    pair.was_here_before(tmp_path)
    pair.front.opens()
    pair.alpha.starts_slowly(5)
    asked = pair.front.calls("alpha.delete")
    pair.alpha.config = {"startup": "lazy", "read_only": True}
    pair.edit()
    pair.after(10)
    pair.front.inbox[:] = [said for said in pair.front.inbox if said.method is None]
    asked.fails(-32602)
    pair.alpha.hears_nothing()


def test_prompts_and_resources_stay(pair: Pair) -> None:
    pair.alpha.config = {"read_only": True}
    pair.alpha.prompts = [{"name": "p"}]
    pair.alpha.resources = [{"uri": "x://1", "name": "r"}]
    pair.front.opens()
    assert names(pair.front.asks("prompts/list").result()["prompts"]) == ["alpha.p"]
    assert names(pair.front.asks("resources/list").result()["resources"]) == ["r"]
    pair.front.asks("prompts/get", {"name": "alpha.p"})
    pair.alpha.receives("prompts/get", name="p").returns({"messages": []})
    pair.front.gets({"messages": []})
