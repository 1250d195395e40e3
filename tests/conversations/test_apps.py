"""MCP Apps (the extension io.modelcontextprotocol/ui): a tool names the `ui://` resource that shows it.

Requirements: the capability passes both ways, `_meta.ui` reaches the client in every listing that has the tool, and
the resource is read from the server whose tool names it, listed or not. The page of the resource calls tools by its
server's names for them, and a client looks these up in our list: "Host MUST reject `tools/call` requests from apps for
tools that don't include "app" in visibility".
"""

import pytest

from conversations.pair import Pair
from conversations.words import CALL_TOOLS, OWN_TOOLS, Json, text, tool

UI = "io.modelcontextprotocol/ui"
HTML = "text/html;profile=mcp-app"
APPS: Json = {"extensions": {UI: {"mimeTypes": [HTML]}}}
NEW: Json = {"ui": {"resourceUri": "ui://clock/view.html", "visibility": ["model", "app"]}}
OLD: Json = {"ui/resourceUri": "ui://clock/view.html"}
HIDDEN: Json = {"ui": {"visibility": ["app"]}}
FOR_MODELS: Json = {"ui": {"visibility": ["model"]}}


def opens_with_apps(pair: Pair) -> None:
    pair.front.opens(**APPS)


def visibilities(pair: Pair) -> Json:
    """Return the visibility of each listed tool, as the client receives it; `None` if it has none."""
    return {each["name"]: each.get("_meta", {}).get("ui", {}).get("visibility") for each in pair.front.tools}


def page(server: str, uri: str = "ui://clock/view.html") -> Json:
    return {
        "contents": [{"uri": uri, "mimeType": HTML, "text": f"<html>{server}</html>", "_meta": {"ui": {"csp": {}}}}]
    }


@pytest.mark.parametrize("meta", [NEW, OLD, {**NEW, **OLD}], ids=["new", "old", "both"])
@pytest.mark.parametrize("listing", ["light", "full"])
def test_a_tools_app_is_read_from_the_tools_server(pair: Pair, meta: Json, listing: str) -> None:
    """The resource is in no list: "tools reference UI resources via `_meta.ui.resourceUri`"."""
    pair.settings = {"listing": listing}
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [{"uri": "ui://a", "name": "a"}], [{"uri": "ui://b", "name": "b"}]
    beta.tools = [tool("clock", "Show the time.", _meta={**meta, "com.example/kept": 1})]
    opens_with_apps(pair)
    (shown,) = [each for each in pair.front.tools if each["name"] == "beta.clock"]
    assert shown["_meta"] == {**meta, "com.example/kept": 1}
    reading = pair.front.asks("resources/read", {"uri": "ui://clock/view.html"})
    beta.receives("resources/read", uri="ui://clock/view.html").returns(page("beta"))
    reading.gets(page("beta"))
    pair.alpha.hears_nothing()


@pytest.mark.parametrize("of_alpha", ["listed", "unlisted"])
@pytest.mark.parametrize("of_beta", ["listed", "unlisted"])
def test_of_two_servers_with_one_app_the_first_shows_it_and_the_user_is_told(
    pair: Pair, of_alpha: str, of_beta: str
) -> None:
    """ "Servers MAY omit UI-only resources from `resources/list`": whoever lists it has no better right to it."""
    beta = pair.with_server("beta")
    for back, is_listed in ((pair.alpha, of_alpha), (beta, of_beta)):
        back.tools = [tool("clock", "Show the time.", _meta=NEW)]
        uri = "ui://clock/view.html" if is_listed == "listed" else f"ui://{back.name}"
        back.resources = [{"uri": uri, "name": "clock", "mimeType": HTML, "_meta": {"ui": {}}}]
    pair.front.opens()
    reading = pair.front.asks("resources/read", {"uri": "ui://clock/view.html"})
    pair.alpha.receives("resources/read", uri="ui://clock/view.html").returns(page("its"))
    reading.gets(page("its"))
    pair.after(1)
    assert any("ui://clock/view.html is also a URI of 'alpha'" in each for each in pair.transcript.warnings)


def test_a_server_that_lists_the_page_of_another_s_tool_is_not_asked_for_it(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.resources = [{"uri": "ui://clock/view.html", "name": "clock", "mimeType": HTML}]
    beta.tools = [tool("clock", "Show the time.", _meta=NEW)]
    pair.front.opens()
    reading = pair.front.asks("resources/read", {"uri": "ui://clock/view.html"})
    beta.receives("resources/read", uri="ui://clock/view.html").returns(page("its"))
    reading.gets(page("its"))
    pair.after(1)
    assert any("ui://clock/view.html is also a URI of 'beta'" in each for each in pair.transcript.warnings)


def test_a_page_that_no_list_holds_is_asked_for_where_it_was_mentioned(pair: Pair) -> None:
    """A result may name an app of its own; until it does, nobody can tell whose it is."""
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [{"uri": "ui://a", "name": "a"}], [{"uri": "file:///b", "name": "b"}]
    beta.tools = [tool("clock", "Show the time.", _meta=NEW)]
    pair.front.opens()
    pair.front.asks("resources/read", {"uri": "ui://zone"}).fails(-32602 if pair.front.is_modern else -32002)
    call = pair.front.calls("beta.clock")
    result = text("12:00", _meta={"ui": {"resourceUri": "ui://zone"}})
    beta.is_called("clock").returns(result)
    call.gets(result)
    reading = pair.front.asks("resources/read", {"uri": "ui://zone"})
    beta.receives("resources/read", uri="ui://zone").returns(page("beta", "ui://zone"))
    reading.gets(page("beta", "ui://zone"))


def test_an_app_of_a_tool_that_is_gone_is_nobodys(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [{"uri": "ui://a", "name": "a"}], [{"uri": "ui://b", "name": "b"}]
    beta.tools = [tool("clock", "Show the time.", _meta=NEW)]
    pair.front.opens()
    if not pair.front.is_modern:
        beta.tools = []
        beta.changes("tools")
        pair.after(1)
        pair.front.hears("notifications/tools/list_changed")
        pair.front.asks("resources/read", {"uri": "ui://clock/view.html"}).fails(-32002)


@pytest.mark.parametrize("meta", [{"ui": 7}, {"ui": {"resourceUri": 7}}, {"ui/resourceUri": None}, {"ui": {}}])
def test_what_is_no_reference_is_passed_on_and_means_nothing(pair: Pair, meta: Json) -> None:
    pair.alpha.tools = [tool("clock", "Show the time.", _meta=meta)]
    pair.front.opens()
    assert pair.front.tools[0]["_meta"] == meta


def test_an_app_calls_its_servers_tools_by_the_names_it_knows(pair: Pair) -> None:
    """The client passes on what the page asks for, and the page was written for its server alone."""
    beta = pair.with_server("beta")
    beta.tools = [tool("clock", "Show the time.", _meta=NEW), tool("tick", "Count one second.")]
    pair.front.opens()
    for name in ("clock", "tick"):
        call = pair.front.calls(name)
        beta.is_called(name).returns(text(name))
        call.gets(text(name))
    pair.front.calls("echo").fails(-32602, "Tool not found: echo")  # alpha has no app


def test_an_app_calls_no_tool_that_is_for_models_only(pair: Pair) -> None:
    """Clients that forward what a page calls leave it to us to tell what the name means."""
    pair.alpha.tools = [tool("clock", "Show the time.", _meta=NEW), tool("buy", "Buy a clock.", _meta=FOR_MODELS)]
    pair.front.opens()
    pair.front.calls("buy").fails(-32602, "Tool not found: buy")
    call = pair.front.calls("alpha.buy")
    pair.alpha.is_called("buy").returns(text("bought"))
    call.gets(text("bought"))


@pytest.mark.parametrize("by", CALL_TOOLS)
@pytest.mark.parametrize("name", ["alpha.refresh", "alpha__refresh"])
def test_a_tool_kept_for_an_app_is_not_called_by_name_while_its_server_starts(pair: Pair, name: str, by: str) -> None:
    """The list that says whose the tool is comes after the call."""
    pair.alpha.tools = [tool("clock", "Show the time.", _meta=NEW), tool("refresh", "Count anew.", _meta=HIDDEN)]
    pair.alpha.starts_slowly(3)
    if not pair.front.is_modern:
        pair.front.initializes()
    call = pair.front.calls(by, name=name)
    pair.after(5)
    call.fails(-32602, f"Tool not found: {name}")
    pair.alpha.hears_nothing()


def test_a_server_has_an_app_where_a_tool_names_apps_as_its_callers(pair: Pair) -> None:
    pair.alpha.tools = [tool("refresh", "Count anew.", _meta=HIDDEN)]
    pair.front.opens()
    call = pair.front.calls("refresh")
    pair.alpha.is_called("refresh").returns(text("0"))
    call.gets(text("0"))


@pytest.mark.parametrize("name", ["alpha.refresh", "refresh"])
def test_what_an_app_keeps_to_itself_no_model_reaches(pair: Pair, name: str) -> None:
    """ "`model`: Tool visible to and callable by the agent": and so are our tools, which find and call the others."""
    pair.alpha.tools = [tool("clock", "Show the time.", _meta=NEW), tool("refresh", "Count anew.", _meta=HIDDEN)]
    pair.front.opens()
    said = pair.front.calls("call_tool", name=name).fails(-32602, f"Tool not found: {name}")
    assert "alpha.refresh" not in said.body["error"]["data"]["suggestions"]
    described = pair.front.calls("describe_tools", names=[name]).result()["structuredContent"]
    assert described["tools"] == []
    assert "alpha.refresh" not in described["unknown"][0]["suggestions"]


@pytest.mark.parametrize("listing", ["light", "full"])
def test_a_client_that_shows_apps_finds_the_names_that_they_call(pair: Pair, listing: str) -> None:
    pair.settings = {"listing": listing}
    beta = pair.with_server("beta")
    beta.tools = [
        tool("clock", "Show the time.", _meta=NEW),
        tool("tick", "Count one second."),
        tool("refresh", "Count anew.", _meta=HIDDEN),
        tool("buy", "Buy a clock.", _meta=FOR_MODELS),
    ]
    opens_with_apps(pair)
    assert visibilities(pair) == {
        "alpha.greet": ["model"],
        "alpha.echo": ["model"],
        "beta.clock": ["model", "app"],
        "beta.tick": None,
        "beta.buy": ["model"],
        "clock": ["app"],
        "tick": ["app"],
        "refresh": ["app"],
        **{each: ["model"] for each in OWN_TOOLS},
    }
    for name in ("clock", "tick", "refresh"):
        call = pair.front.calls(name)
        beta.is_called(name).returns(text(name))
        call.gets(text(name))


@pytest.mark.parametrize("capabilities", [{}, {"extensions": {"io.modelcontextprotocol/tasks": {}}}])
def test_a_client_that_shows_no_apps_is_told_of_no_further_names(pair: Pair, capabilities: Json) -> None:
    pair.alpha.tools = [tool("clock", "Show the time.", _meta=NEW), tool("refresh", "Count anew.", _meta=HIDDEN)]
    pair.front.opens(**capabilities)
    assert list(visibilities(pair)) == ["alpha.clock", "alpha.refresh", *OWN_TOOLS]


def test_in_a_search_the_app_of_a_pinned_tool_finds_the_names_that_it_calls(pair: Pair) -> None:
    pair.settings = {"listing": "search"}
    pair.alpha.config = {"pinned": ("clock",)}
    pair.alpha.tools = [tool("clock", "Show the time.", _meta=NEW), tool("refresh", "Count anew.", _meta=HIDDEN)]
    pair.with_server("beta").tools = [tool("chart", "Draw.", _meta={"ui": {"resourceUri": "ui://chart"}})]
    opens_with_apps(pair)
    assert visibilities(pair) == {
        "alpha.clock": ["model", "app"],
        "clock": ["app"],
        "refresh": ["app"],
        **{each: ["model"] for each in (*OWN_TOOLS, *CALL_TOOLS)},
    }


def test_a_client_hears_of_a_tool_that_only_apps_are_shown(pair: Pair) -> None:
    pair.settings = {"listing": "search"}
    pair.alpha.config = {"pinned": ("clock",)}
    clock = tool("clock", "Show the time.", _meta=NEW)
    pair.alpha.tools = [clock]
    if pair.front.is_modern:  # it may have its list from elsewhere
        pair.front.capabilities = APPS
        pair.front.asks("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        pair.front.hears("notifications/subscriptions/acknowledged")
    else:
        opens_with_apps(pair)
    pair.alpha.tools = [clock, tool("refresh", "Count anew.", _meta=HIDDEN)]
    pair.alpha.changes("tools")
    pair.after(1)
    pair.front.hears("notifications/tools/list_changed")


def test_a_name_that_two_servers_with_apps_know_is_nobodys(pair: Pair) -> None:
    beta = pair.with_server("beta")
    for back in (pair.alpha, beta):
        back.tools = [tool("clock", "Show the time.", _meta=NEW)]
    pair.front.opens()
    said = pair.front.calls("clock").fails(-32602, "2 servers have clock: alpha, beta; write alpha.clock")
    assert set(said.body["error"]["data"]["suggestions"]) >= {"alpha.clock", "beta.clock"}


def test_the_capability_and_the_result_of_an_app_pass(pair: Pair) -> None:
    """ "Hosts advertise support via `extensions`": the backend sees the client's settings as they are."""
    pair.alpha.more_capabilities = {"extensions": {UI: {"mimeTypes": [HTML]}}}
    pair.alpha.tools = [tool("clock", "Show the time.", _meta=NEW)]
    settings = {"mimeTypes": [HTML], "later": [1.0]}
    pair.front.opens(extensions={UI: settings})
    call = pair.front.calls("alpha.clock")
    served = pair.alpha.is_called("clock")
    declared = (
        served.said.meta["io.modelcontextprotocol/clientCapabilities"]
        if pair.alpha.is_modern
        else next(said for said in pair.alpha.heard if said.method == "initialize").params["capabilities"]
    )
    assert declared["extensions"] == {UI: settings}
    result = text("12:00", structuredContent={"hour": 12}, _meta={"ui": {"state": {"b": 1, "a": 2}}})
    served.returns(result)
    call.gets(result)
