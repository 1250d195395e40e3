"""MCP Apps (the extension io.modelcontextprotocol/ui): a tool names the `ui://` resource that shows it.

What is needed of us: the capability passes both ways, `_meta.ui` reaches the client in every listing that shows the
tool, and the resource is read from the server whose tool names it, listed or not.
"""

import pytest

from conversations.pair import Pair
from conversations.words import Json, text, tool

UI = "io.modelcontextprotocol/ui"
HTML = "text/html;profile=mcp-app"
NEW: Json = {"ui": {"resourceUri": "ui://clock/view.html", "visibility": ["model", "app"]}}
OLD: Json = {"ui/resourceUri": "ui://clock/view.html"}


def page(server: str) -> Json:
    uri = "ui://clock/view.html"
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
    pair.front.opens(extensions={UI: {"mimeTypes": [HTML]}})
    (shown,) = [each for each in pair.front.tools if each["name"] == "beta.clock"]
    assert shown["_meta"] == {**meta, "com.example/kept": 1}
    reading = pair.front.asks("resources/read", {"uri": "ui://clock/view.html"})
    beta.receives("resources/read", uri="ui://clock/view.html").returns(page("beta"))
    reading.gets(page("beta"))
    pair.alpha.hears_nothing()


def test_an_app_that_is_listed_is_the_listed_one(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.tools = [tool("clock", "Show the time.", _meta=NEW)]
    beta.resources = [{"uri": "ui://clock/view.html", "name": "clock", "mimeType": HTML, "_meta": {"ui": {}}}]
    pair.front.opens()
    assert pair.front.asks("resources/list").result()["resources"] == beta.resources
    reading = pair.front.asks("resources/read", {"uri": "ui://clock/view.html"})
    beta.receives("resources/read", uri="ui://clock/view.html").returns(page("beta"))
    reading.gets(page("beta"))


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


def test_a_name_that_two_servers_with_apps_know_is_nobodys(pair: Pair) -> None:
    beta = pair.with_server("beta")
    for back in (pair.alpha, beta):
        back.tools = [tool("clock", "Show the time.", _meta=NEW)]
    pair.front.opens()
    said = pair.front.calls("clock").fails(-32602, "Tool not found: clock")
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
