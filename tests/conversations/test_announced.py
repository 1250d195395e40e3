"""A changed list: its new tools can be called before it is read, and clients are notified after that."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conversations.back import Back, leaves_to_the_test
from conversations.eras import legacy_client
from conversations.pair import Pair
from conversations.words import ECHO, OWN_TOOLS, Json, names, text, tool

NEW = tool("new", "Does more.")
HELLO: Json = {"name": "hello"}


def announces(back: Back, what: str, method: str) -> None:
    """Have a server announce that a list changed; the test decides when it is read."""
    back.on(method, leaves_to_the_test)
    back.changes(what)


@pytest.mark.parametrize("name", ["alpha.new", "alpha__new", "new"])
def test_a_tool_that_a_call_added_is_called_before_its_list_was_read_again(pair: Pair, name: str) -> None:
    """The model was told of it in the result of that call; a direct connection would have the tool."""
    pair.with_server("beta")
    pair.front.opens()
    adding = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    announces(pair.alpha, "tools", "tools/list")
    reading = pair.alpha.receives("tools/list")
    served.returns(text("There is a tool called new now."))
    adding.gets(text("There is a tool called new now."))
    call = pair.front.calls(name)
    pair.alpha.hears_nothing()
    pair.front.hears_nothing()
    reading.returns({"tools": [ECHO, NEW]})
    pair.alpha.is_called("new").returns(text("x"))
    call.gets(text("x"))
    pair.after(1)
    pair.front.inbox.clear()


@pytest.mark.parametrize("name", ["alpha.other", "other"])
def test_a_tool_that_the_changed_list_does_not_hold_is_refused(pair: Pair, name: str) -> None:
    pair.with_server("beta")
    pair.front.opens()
    announces(pair.alpha, "tools", "tools/list")
    reading = pair.alpha.receives("tools/list")
    call = pair.front.calls(name)
    pair.front.hears_nothing()
    reading.returns({"tools": [ECHO, NEW]})
    call.fails(-32602, f"Tool not found: {name}")
    pair.after(1)
    pair.front.inbox.clear()


def test_a_call_to_another_server_does_not_wait(pair: Pair) -> None:
    pair.with_server("beta")
    pair.front.opens()
    announces(pair.alpha, "tools", "tools/list")
    reading = pair.alpha.receives("tools/list")
    pair.front.calls("beta.new").fails(-32602, "Tool not found: beta.new")
    known = pair.front.calls("alpha.echo")  # nor does a tool that was listed before
    pair.alpha.is_called("echo").returns(text("x"))
    known.gets(text("x"))
    reading.returns({"tools": [ECHO]})
    pair.after(1)
    pair.front.inbox.clear()


def test_a_change_that_is_announced_while_a_list_is_read_is_waited_for(pair: Pair) -> None:
    pair.front.opens()
    announces(pair.alpha, "tools", "tools/list")
    first = pair.alpha.receives("tools/list")
    pair.alpha.changes("tools")
    call = pair.front.calls("alpha.new")
    first.returns({"tools": [ECHO]})
    pair.front.hears_nothing()
    pair.alpha.receives("tools/list").returns({"tools": [ECHO, NEW]})
    pair.alpha.is_called("new").returns(text("x"))
    call.gets(text("x"))
    pair.after(1)
    pair.front.inbox.clear()


def test_a_server_that_announces_changes_for_ever_does_not_hold_a_call_for_ever(pair: Pair) -> None:
    pair.front.opens()
    announces(pair.alpha, "tools", "tools/list")
    pair.alpha.changes("tools")
    call = pair.front.calls("alpha.new")
    for _ in range(2):  # the reading that goes on, and the one that was due when the call came
        pair.front.hears_nothing()
        reading = pair.alpha.receives("tools/list")
        pair.alpha.changes("tools")
        reading.returns({"tools": [ECHO]})
    call.fails(-32602, "Tool not found: alpha.new")
    pair.alpha.receives("tools/list").is_over()
    pair.after(1)
    pair.front.inbox.clear()


def test_a_call_waits_no_longer_than_the_reading_of_the_list_may_take(pair: Pair) -> None:
    pair.front.opens()
    announces(pair.alpha, "tools", "tools/list")
    reading = pair.alpha.receives("tools/list")
    call = pair.front.calls("alpha.new")
    pair.after(59)
    pair.front.hears_nothing()
    pair.after(2)
    reading.is_over()
    pair.alpha.is_called("new").returns(text("x"))  # as of any server whose list cannot be had
    pair.front.inbox = [said for said in pair.front.inbox if said.method is None]
    call.gets(text("x"))
    pair.after(1)
    pair.front.inbox.clear()


def test_a_call_that_waits_for_a_changed_list_can_be_cancelled(pair: Pair) -> None:
    pair.front.opens()
    announces(pair.alpha, "tools", "tools/list")
    reading = pair.alpha.receives("tools/list")
    pair.front.calls("alpha.new").cancels()
    reading.returns({"tools": [ECHO, NEW]})
    pair.alpha.hears_nothing()
    pair.after(1)
    pair.front.inbox.clear()


def test_a_call_does_not_wait_for_a_server_that_ended(pair: Pair) -> None:
    pair.front.opens()
    announces(pair.alpha, "tools", "tools/list")
    pair.alpha.receives("tools/list").is_over()
    call = pair.front.calls("alpha.new")
    pair.front.hears_nothing()
    pair.alpha.exits(1)
    call.fails(-32000, "MCP server 'alpha' is not running")


def test_a_list_that_a_server_does_not_have_is_not_waited_for(pair: Pair) -> None:
    """It is never read, whatever is said of it."""
    pair.front.opens()
    pair.alpha.notifies("notifications/prompts/list_changed")
    pair.front.asks("prompts/get", {"name": "alpha.hello"}).fails(-32602)
    pair.after(1)
    pair.front.hears_nothing()


def test_a_prompt_that_a_server_announced_is_got_at_once(pair: Pair) -> None:
    pair.alpha.prompts = [HELLO]
    pair.front.opens()
    announces(pair.alpha, "prompts", "prompts/list")
    reading = pair.alpha.receives("prompts/list")
    call = pair.front.asks("prompts/get", {"name": "alpha.new"})
    pair.front.hears_nothing()
    reading.returns({"prompts": [HELLO, {"name": "new"}]})
    pair.alpha.receives("prompts/get", name="new").returns({"messages": []})
    call.gets({"messages": []})
    pair.after(1)
    pair.front.inbox.clear()


def test_a_resource_that_a_server_announced_is_read_at_once(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [{"uri": "x://1", "name": "1"}], [{"uri": "y://1", "name": "1"}]
    pair.front.opens()
    announces(pair.alpha, "resources", "resources/list")
    reading = pair.alpha.receives("resources/list")
    call = pair.front.asks("resources/read", {"uri": "new://1"})
    pair.front.hears_nothing()
    reading.returns({"resources": [{"uri": "new://1", "name": "1"}]})
    pair.alpha.receives("resources/read", uri="new://1").returns({"contents": []})
    call.gets({"contents": []})
    pair.after(1)
    pair.front.inbox.clear()


# Telling the client


@pytest.mark.parametrize("tools", [[ECHO, NEW], [ECHO]], ids=["with another list", "with the same list"])
def test_a_client_is_told_once_the_list_was_read_and_gets_it_at_once(pair: Pair, tools: list[Json]) -> None:
    """Told before, it would list the old tools and hear nothing more."""
    pair.alpha.tools = [ECHO]
    pair.front.opens()
    if pair.front.is_modern:
        pair.front.asks("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        pair.front.hears("notifications/subscriptions/acknowledged")
    announces(pair.alpha, "tools", "tools/list")
    reading = pair.alpha.receives("tools/list")
    pair.after(10)
    pair.front.hears_nothing()
    reading.returns({"tools": tools})
    pair.after(1)
    pair.front.hears("notifications/tools/list_changed")
    shown = names(pair.front.asks("tools/list").result()["tools"])
    assert shown == [*(f"alpha.{each['name']}" for each in tools), *OWN_TOOLS]
    pair.after(10)
    pair.front.hears_nothing()


@legacy_client
@pytest.mark.parametrize("lists_them", [False, True], ids=["not listed", "listed"])
def test_a_legacy_client_is_not_told_of_a_list_whose_capability_was_not_declared(
    pair: Pair, tmp_path: Path, lists_them: bool
) -> None:
    """The server has prompts now that it had not when it was remembered."""
    pair.was_here_before(tmp_path)
    pair.alpha.prompts, pair.alpha.resources = [HELLO], [{"uri": "x://1", "name": "1"}]
    pair.front.opens()
    assert set(pair.front.opening["capabilities"]) == {"tools"}
    if lists_them:
        for method in ("prompts/list", "resources/list", "resources/templates/list"):
            pair.front.asks(method).result()
    pair.alpha.prompts, pair.alpha.resources = [], []
    pair.alpha.changes("prompts")
    pair.alpha.changes("resources")
    pair.after(1)
    pair.front.hears_nothing()
    pair.alpha.changes("tools")
    pair.after(1)
    pair.front.hears("notifications/tools/list_changed")


# Endless announcements


@contextlib.contextmanager
def announcing_endlessly(pair: Pair, what: str) -> Iterator[None]:
    """Have alpha announce a change a thousand times a second."""
    is_over = False

    def announce() -> None:
        if not is_over:
            pair.alpha.changes(what)
            pair.loop.call_later(0.001, announce)

    pair.loop.call_soon(announce)
    yield
    is_over = True
    pair.after(1)
    pair.front.inbox.clear()


@pytest.mark.parametrize("what", ["tools", "prompts", "resources"])
def test_endless_announcements_are_relayed_twice_a_second(pair: Pair, what: str) -> None:
    pair.alpha.prompts, pair.alpha.resources, pair.alpha.skills = [HELLO], [{"uri": "x://1", "name": "1"}], []
    pair.front.opens()
    pair.after(1)
    if pair.front.is_modern:
        pair.front.asks("subscriptions/listen", {"notifications": {f"{what}ListChanged": True}})
        pair.front.hears("notifications/subscriptions/acknowledged")
    with announcing_endlessly(pair, what):
        pair.after(5)  # the first few are relayed sooner
        pair.front.inbox.clear()
        for _ in range(5):
            pair.after(1)
            pair.front.hears(f"notifications/{what}/list_changed")
            pair.front.hears(f"notifications/{what}/list_changed")
            pair.front.hears_nothing()
        call = pair.front.calls("alpha.echo")
        pair.alpha.is_called("echo").returns(text("x"))
        call.gets(text("x"))


@pytest.mark.parametrize(
    ("config", "method", "params"),
    [
        pytest.param({"pin_tools": True}, "tools/call", {"name": "alpha.read"}, id="pinTools, a tool"),
        pytest.param({"pin_tools": True}, "prompts/get", {"name": "alpha.hello"}, id="pinTools, a prompt"),
        pytest.param({"read_only": True}, "tools/call", {"name": "alpha.read"}, id="readOnly"),
        pytest.param({}, "tools/call", {"name": "call_read_only_tool", "arguments": {"name": "alpha.read"}}, id="own"),
    ],
)
def test_a_call_that_needs_a_compared_list_is_answered_beside_endless_announcements(
    pair: Pair, tmp_path: Path, config: dict[str, Any], method: str, params: Json
) -> None:
    """It waits for the changes that were announced before it."""
    pair.distrusts_in(tmp_path)
    pair.alpha.config = config
    pair.alpha.tools = [tool("read", "Read a file.", annotations={"readOnlyHint": True})]
    pair.alpha.prompts = [HELLO]
    pair.front.opens()
    pair.after(1)
    with announcing_endlessly(pair, "prompts" if method == "prompts/get" else "tools"):
        pair.after(5)
        pair.front.inbox.clear()
        call = pair.front.asks(method, params)
        pair.after(1)
        result: Json = {"messages": []} if method == "prompts/get" else text("x")
        pair.alpha.receives(method).returns(result)
        pair.front.inbox = [said for said in pair.front.inbox if said.method is None]
        call.gets(result)
