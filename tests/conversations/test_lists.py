"""Lists of all kinds: their content for a client, and the lookup of names."""

from pathlib import Path
from typing import Any

import pytest

from conversations.back import CACHED, Back, answers, leaves_to_the_test, refuses, stays_silent
from conversations.eras import legacy_client, modern_client, modern_modern
from conversations.front import Asked
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import ECHO, GREET, OWN_TOOLS, WITH_CALL_TOOL, Json, encode, names, text, tool
from search_mcp.catalog import list_limits
from search_mcp.gateway.problems import MOST_LOGGED
from search_mcp.model.names import Kind

OPEN = {"type": "object", "properties": {}, "additionalProperties": True}

RICH: Json = {
    **tool("rich", "Words. More words.", "a"),
    "title": "Rich ☃",
    "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "annotations": {"readOnlyHint": True, "x-unknown": 1},
    "icons": [{"src": "data:image/png;base64,AAAA", "mimeType": "image/png"}],
    "_meta": {"com.example/k": [1, 2]},
    "somethingNew": {"z": 1, "a": 2},
}


def test_a_light_list_has_brief_descriptions_and_the_names_of_required_parameters(pair: Pair) -> None:
    pair.alpha.tools = [GREET, RICH]
    pair.front.opens()
    greet, rich = pair.front.tools[:2]
    assert greet == {"name": "alpha.greet", "description": "Greet somebody (name)", "inputSchema": OPEN}
    assert (rich["description"], rich["inputSchema"]) == ("Words (a)", OPEN)
    assert rich["annotations"] == RICH["annotations"]  # clients gate on them
    assert names(pair.front.tools[2:]) == OWN_TOOLS


def test_a_full_list_has_every_definition_as_it_is_only_renamed(pair: Pair) -> None:
    pair.settings = {"listing": "full"}
    pair.alpha.tools = [RICH, GREET]
    pair.front.opens()
    rich, greet = pair.front.tools[:2]
    assert list(rich.items()) == list({**RICH, "name": "alpha.rich"}.items())
    assert greet == {**GREET, "name": "alpha.greet"}
    assert names(pair.front.tools[2:]) == OWN_TOOLS


def test_a_search_list_has_our_own_tools_only(pair: Pair) -> None:
    pair.settings = {"listing": "search"}
    pair.front.opens()
    assert names(pair.front.tools) == WITH_CALL_TOOL


@pytest.mark.parametrize("mode", ["light", "full", "search"])
def test_a_pinned_tool_is_shown_in_full_in_every_mode(pair: Pair, mode: str) -> None:
    pair.settings = {"listing": mode}
    pair.alpha.config = {"pinned": ("rich",)}
    pair.alpha.tools = [GREET, RICH]
    pair.front.opens()
    assert {**RICH, "name": "alpha.rich"} in pair.front.tools


def test_lists_stand_in_the_order_of_the_configuration(pair: Pair) -> None:
    """Whoever answers first."""
    pair.with_server("beta")
    pair.alpha.on("tools/list", leaves_to_the_test)
    listing = pair.front.asks("tools/list") if pair.front.is_modern else None
    if listing is None:
        pair.front.initializes()
        listing = pair.front.asks("tools/list")
    pair.front.hears_nothing()
    pair.alpha.returns({"tools": [GREET]})
    assert names(listing.result()["tools"]) == ["alpha.greet", "beta.greet", "beta.echo", *OWN_TOOLS]


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
@legacy_client
def test_an_output_schema_of_another_type_than_object_is_kept_from_legacy_clients(pair: Pair, version: str) -> None:
    """They drop the whole list over it."""
    pair.front.revision = version
    pair.front.expects(version)
    pair.settings = {"listing": "full"}
    pair.alpha.tools = [{**ECHO, "outputSchema": {"type": "array"}}]
    pair.front.opens()
    assert pair.front.tools[0] == {**ECHO, "name": "alpha.echo"}


@modern_client
def test_an_output_schema_of_any_type_is_shown_to_modern_clients(pair: Pair) -> None:
    pair.settings = {"listing": "full"}
    pair.alpha.tools = [{**ECHO, "outputSchema": {"type": "array"}}]
    pair.front.opens()
    assert pair.front.tools[0] == {**ECHO, "name": "alpha.echo", "outputSchema": {"type": "array"}}


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "array"}])
def test_a_definition_that_clients_reject_is_left_out_alone(pair: Pair, schema: Json) -> None:
    pair.alpha.tools = [{**ECHO, "name": "bad", "inputSchema": schema}, GREET]
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.greet", *OWN_TOOLS]


@pytest.mark.parametrize("bad", [{"name": "t"}, {"name": "t", "inputSchema": None}, {"name": "t", "inputSchema": {}}])
def test_a_definition_without_a_schema_is_repaired(pair: Pair, bad: Json) -> None:
    pair.settings = {"listing": "full"}
    pair.alpha.tools = [bad, GREET]
    pair.front.opens()
    assert names(pair.front.tools)[:2] == ["alpha.t", "alpha.greet"]
    assert pair.front.tools[0]["inputSchema"] == OPEN


@pytest.mark.parametrize("nonsense", [7, "x", None, [], {}, {"name": 7}, {"name": ""}])
def test_an_entry_that_is_no_definition_costs_nothing_else(pair: Pair, nonsense: Any) -> None:
    pair.alpha.tools = [nonsense, GREET]
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.greet", *OWN_TOOLS]


@pytest.mark.parametrize("place", ["icons", "inputSchema", "outputSchema"])
def test_a_definition_at_the_limit_of_what_can_be_read_costs_no_other(pair: Pair, place: str) -> None:
    """How deep JSON can be read depends on the stack it is read on: a line may be where its parts may not be."""
    for depth in range(700, 1000, 3):
        nested = b'{"type":' * depth + b"1" + b"}" * depth
        deep = {"name": b'"deep"', "inputSchema": encode(OPEN), place: b"[%b]" % nested if place == "icons" else nested}
        definition = b",".join(b'"%b":%b' % (key.encode(), value) for key, value in deep.items())
        server = pair.with_server(f"s{depth}")
        server.on("tools/list", answers(b'{"tools":[{%b},%b]}' % (definition, encode(GREET))))
    pair.front.opens()
    tools = names(pair.front.tools)
    unlisted = [name for name in pair.backs if f"{name}.greet" not in tools]
    assert {"alpha.greet", "alpha.echo", *OWN_TOOLS} <= set(tools)
    for name in unlisted:
        assert any(f"{name}: its list of tools could not be read" in warning for warning in pair.transcript.warnings)
    found = pair.front.calls("search_tools", query="greet", server="alpha", detail="name").result()
    assert found["structuredContent"]["results"] == ["alpha.greet"]


def test_every_page_of_a_backend_is_read(pair: Pair) -> None:
    pair.alpha.on("tools/list", leaves_to_the_test)
    if not pair.front.is_modern:
        pair.front.initializes()
    listing = pair.front.asks("tools/list")
    pair.alpha.receives("tools/list").returns({"tools": [GREET], "nextCursor": ""})
    pair.alpha.receives("tools/list", cursor="").returns({"tools": [], "nextCursor": "☃"})
    pair.alpha.receives("tools/list", cursor="☃").returns({"tools": [ECHO]})
    assert names(listing.result()["tools"]) == ["alpha.greet", "alpha.echo", *OWN_TOOLS]


def test_a_list_without_an_end_is_read_up_to_a_page_and_that_is_said(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gives_another_page(back: Back, said: Said) -> None:
        page = int(said.params.get("cursor", "0"))
        back.answer(said.id, {"tools": [tool(f"t{page}")], "nextCursor": f"{page + 1}"}, **CACHED)

    monkeypatch.setattr("search_mcp.dialects.back.lists.MAX_PAGES", 3)
    pair.alpha.on("tools/list", gives_another_page)
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.t0", "alpha.t1", "alpha.t2", *OWN_TOOLS]
    pair.after(1)  # what is wrong with the lists is looked for once they are all there
    assert any("alpha" in each and "more than 3 pages" in each for each in pair.transcript.warnings)


# What is too much


def of(server: str, tools: list[Json]) -> list[str]:
    return [each for each in names(tools) if each.startswith(f"{server}.")]


def warned(pair: Pair, words: str) -> bool:
    return any("alpha" in each and words in each for each in pair.transcript.warnings)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits, so that a test needs fewer entries."""
    monkeypatch.setattr(list_limits, "MOST_ENTRIES", 50)
    monkeypatch.setattr(list_limits, "MOST_BYTES", 100_000)
    monkeypatch.setattr(list_limits, "LARGEST_ENTRY", 20_000)


@pytest.mark.usefixtures("few")
def test_a_server_with_too_many_tools_is_cut_and_no_other(pair: Pair) -> None:
    """The first in its order are taken; tools come first, and all lists are cut as one."""
    beta = pair.with_server("beta")
    pair.alpha.tools = [tool(f"t{number}") for number in range(57)]
    pair.alpha.resources = [NOTE]
    pair.front.opens()
    assert of("alpha", pair.front.tools) == [f"alpha.t{number}" for number in range(50)]
    assert of("beta", pair.front.tools) == [f"beta.{each['name']}" for each in beta.tools]
    assert pair.front.asks("resources/list").result()["resources"] == []
    pair.after(1)
    assert warned(pair, "tools: the first 50 are taken and the others are left out")
    assert warned(pair, "resources: the first 0 are taken and the others are left out")


@legacy_client
@pytest.mark.usefixtures("few")
def test_a_list_that_makes_room_lets_another_in(pair: Pair) -> None:
    pair.alpha.tools = [tool(f"t{number}") for number in range(57)]
    pair.alpha.resources = [NOTE]
    pair.front.opens()
    assert pair.front.asks("resources/list").result()["resources"] == []
    pair.alpha.tools = [GREET]
    pair.alpha.changes("tools")
    pair.after(1)
    told = {pair.front.next().method for _ in range(2)}
    assert told == {"notifications/tools/list_changed", "notifications/resources/list_changed"}
    assert pair.front.asks("resources/list").result()["resources"] == [NOTE]


@pytest.mark.usefixtures("few")
def test_pages_without_an_end_are_read_up_to_the_limit_of_bytes(pair: Pair) -> None:
    """Nothing is asked for once there is more than is taken."""
    asked: list[int] = []

    def gives_another_page(back: Back, said: Said) -> None:
        page = int(said.params.get("cursor", "0"))
        asked.append(page)
        many = [{**tool(f"t{page}-{each}"), "description": "x" * 9_300} for each in range(3)]
        back.answer(said.id, {"tools": many, "nextCursor": f"{page + 1}"}, **CACHED)

    pair.alpha.on("tools/list", gives_another_page)
    pair.front.opens()
    assert of("alpha", pair.front.tools) == [f"alpha.t{number // 3}-{number % 3}" for number in range(10)]
    assert asked == [0, 1, 2, 3]
    pair.after(1)
    assert warned(pair, "tools: the first 10 are taken and the others are left out")


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        pytest.param(tool("n" * 1001), "has 1,001 characters; up to 1,000 are taken", id="a name"),
        pytest.param({**tool("big"), "description": "x" * (1 << 20)}, "up to 1,048,576 are taken", id="a definition"),
        pytest.param({**tool("wide"), **{str(n): n for n in range(999)}}, "up to 1,000 are taken", id="members"),
    ],
)
def test_what_is_too_long_is_left_out_alone_and_reported(pair: Pair, definition: Json, words: str) -> None:
    pair.alpha.tools = [definition, GREET]
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.greet", *OWN_TOOLS]
    pair.after(1)
    (warning,) = pair.transcript.warnings
    assert words in warning
    assert len(warning) < 400


def test_a_name_as_long_as_names_may_be_is_listed_and_called(pair: Pair) -> None:
    pair.alpha.tools = [tool("n" * 1000)]
    pair.front.opens()
    (shown, *_) = names(pair.front.tools)
    pair.front.calls(shown)
    pair.alpha.is_called("n" * 1000).returns(text("x"))
    pair.front.gets(text("x"))


def test_very_many_problems_of_one_server_are_counted(pair: Pair) -> None:
    def lists(back: Back, said: Said) -> None:  # not as the official types have it
        back.says_line(encode({"jsonrpc": "2.0", "id": said.id, "result": {"tools": wrong, **CACHED}}))

    wrong = [{**tool(f"t{number}"), "title": 5} for number in range(500)]
    pair.alpha.on("tools/list", lists)
    pair.front.opens()
    assert len(of("alpha", pair.front.tools)) == 500
    pair.after(1)
    assert len(pair.transcript.warnings) == MOST_LOGGED + 1
    assert warned(pair, "480 more of its definitions are repaired or left out")


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
def test_a_cursor_we_never_gave_is_refused(pair: Pair, method: str) -> None:
    pair.front.opens()
    pair.front.asks(method, {"cursor": "x"}).fails(-32602)


def test_a_backend_that_never_lists_delays_the_first_list_and_no_more(pair: Pair) -> None:
    listing = _opens_beside_a_silent_list(pair)
    pair.after(4.9)
    pair.front.hears_nothing()
    pair.after(0.1)
    assert names(listing.result()["tools"]) == ["alpha.greet", "alpha.echo", *WITH_CALL_TOOL]


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


def test_a_backend_that_refuses_to_list_delays_nothing(pair: Pair) -> None:
    pair.with_server("beta").on("tools/list", refuses(-32603, "sorry"))
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.greet", "alpha.echo", *WITH_CALL_TOOL]


@pytest.mark.parametrize("nonsense", [{}, {"tools": None}, {"tools": {}}, [], "x", None])
def test_a_list_that_is_none_costs_nothing_else(pair: Pair, nonsense: Any) -> None:
    pair.with_server("beta").on("tools/list", answers(nonsense) if isinstance(nonsense, dict) else _says(nonsense))
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.greet", "alpha.echo", *WITH_CALL_TOOL]


def _says(result: Any) -> Any:
    return lambda back, said: back.says(id=said.id, result=result)


@modern_modern
def test_a_merged_list_is_as_fresh_as_its_stalest_part(pair: Pair) -> None:
    fresh, stale = (
        {"tools": [ECHO], "ttlMs": ttl, "cacheScope": scope} for ttl, scope in ((900, "public"), (50, "private"))
    )
    pair.alpha.on("tools/list", answers(fresh))
    pair.with_server("beta").on("tools/list", answers(stale))
    result = pair.front.asks("tools/list").result()
    assert (result["ttlMs"], result["cacheScope"]) == (50, "private")


def test_the_users_filters_and_words_apply(pair: Pair) -> None:
    pair.alpha.config = {"deny": ("e*",), "rename": {"greet": "hello"}, "describe": {"greet": "Mine."}}
    pair.front.opens()
    assert pair.front.tools[0] == {"name": "alpha.hello", "description": "Mine (name)", "inputSchema": OPEN}
    assert names(pair.front.tools[1:]) == OWN_TOOLS
    pair.front.calls("alpha.hello")
    pair.alpha.is_called("greet").returns(text("x"))
    pair.front.gets(text("x"))
    pair.front.calls("alpha.echo")
    pair.front.fails(-32602)


def test_filters_hold_for_a_server_whose_list_cannot_be_had(pair: Pair) -> None:
    pair.alpha.config = {"deny": ("delete_*",)}
    pair.alpha.on("tools/list", refuses(-32601, "Method not found"))
    pair.front.opens()
    pair.front.calls("alpha.delete_everything").fails(-32602, "Tool not found: alpha.delete_everything")
    pair.alpha.hears_nothing()


# Our own tools


def test_a_tool_is_found_described_and_called(pair: Pair) -> None:
    pair.front.opens()
    found = pair.front.calls("search_tools", query="greet").result()["structuredContent"]["results"]
    assert found[0].startswith("alpha.greet(name: string)")
    described = pair.front.calls("describe_tools", names=["alpha.greet", "alpha.gret"]).result()["structuredContent"]
    assert described["tools"] == [{**GREET, "name": "alpha.greet"}]
    assert [(each["name"], each["suggestions"][0]) for each in described["unknown"]] == [("alpha.gret", "alpha.greet")]
    pair.front.calls("call_tool", name="alpha.greet", arguments={"name": "Ada"})
    pair.alpha.is_called("greet", name="Ada").returns(text("hello"))
    pair.front.gets(text("hello"))


def test_search_waits_for_the_first_lists(pair: Pair) -> None:
    pair.alpha.on("tools/list", leaves_to_the_test)
    if not pair.front.is_modern:
        pair.front.initializes()
    search = pair.front.calls("search_tools", query="greet")
    pair.front.hears_nothing()
    pair.alpha.returns({"tools": [GREET]})
    assert search.result()["structuredContent"]["results"][0].startswith("alpha.greet(")


def test_no_match_says_what_there_is(pair: Pair) -> None:
    pair.front.opens()
    result = pair.front.calls("search_tools", query="zzzzqqqq").result()
    assert result["structuredContent"]["results"] == []
    assert "alpha" in result["content"][0]["text"]


def test_wrong_arguments_of_our_own_tools_are_something_a_model_can_act_on(pair: Pair) -> None:
    pair.front.opens()
    assert pair.front.calls("search_tools", query="x", detail="huge").result()["isError"] is True


def test_every_servers_state_is_shown(pair: Pair) -> None:
    pair.with_server("beta", enabled=False)
    pair.with_server("gamma", problem="environment variable X is not set; set it")
    pair.front.opens()
    servers = pair.front.calls("list_servers").result()["structuredContent"]["servers"]
    states = {server["name"]: (server["state"], server["tools"]) for server in servers}
    assert states == {"alpha": ("ready", 2), "beta": ("off", 0), "gamma": ("failed", 0)}
    assert servers[2]["lastError"] == "environment variable X is not set; set it"


# The other kinds

HELLO: Json = {"name": "hello", "description": "Says hello", "arguments": [{"name": "whom", "required": True}]}
NOTE: Json = {"uri": "note://one", "name": "One", "mimeType": "text/plain", "size": 3, "_meta": {"x.y/z": 1}}
PROMPTS_OFF: Json = {"switched_off": frozenset({Kind.PROMPTS})}
RESOURCES_OFF: Json = {"switched_off": frozenset({Kind.RESOURCES, Kind.TEMPLATES})}
ALL_OFF: Json = {"switched_off": frozenset({Kind.PROMPTS, Kind.RESOURCES, Kind.TEMPLATES})}
NOTES: Json = {"uriTemplate": "note://{id}", "name": "Notes", "annotations": {"priority": 0.5}}


def test_prompts_and_resources_of_a_server_can_be_switched_off_at_once(pair: Pair) -> None:
    pair.alpha.prompts, pair.alpha.resources, pair.alpha.templates = [HELLO], [NOTE], [NOTES]
    beta = pair.with_server("beta")
    beta.prompts = [HELLO]
    pair.front.opens()
    assert names(pair.front.asks("prompts/list").result()["prompts"]) == ["alpha.hello", "beta.hello"]
    pair.front.asks("resources/list").result()
    pair.alpha.config = ALL_OFF
    pair.edit()
    pair.after(1)
    if not pair.front.is_modern:
        pair.front.hears("notifications/prompts/list_changed")
        pair.front.hears("notifications/resources/list_changed")
    assert names(pair.front.asks("prompts/list").result()["prompts"]) == ["beta.hello"]
    assert NOTE["uri"] not in [each["uri"] for each in pair.front.asks("resources/list").result()["resources"]]
    assert pair.front.asks("resources/templates/list").result()["resourceTemplates"] == []
    pair.front.asks("prompts/get", {"name": "alpha.hello"}).fails(-32602)
    assert len(pair.alpha.channels) == 1


def test_lists_that_were_switched_off_are_back_at_once(pair: Pair) -> None:
    pair.alpha.config = ALL_OFF
    pair.alpha.prompts, pair.alpha.resources, pair.alpha.templates = [HELLO], [NOTE], [NOTES]
    pair.front.opens()
    assert pair.front.asks("prompts/list").result()["prompts"] == []
    assert pair.front.asks("resources/templates/list").result()["resourceTemplates"] == []
    pair.alpha.config = {}
    pair.edit()
    pair.after(1)
    pair.front.inbox.clear()
    assert names(pair.front.asks("prompts/list").result()["prompts"]) == ["alpha.hello"]
    assert pair.front.asks("resources/list").result()["resources"] == [NOTE]
    assert pair.front.asks("resources/templates/list").result()["resourceTemplates"] == [NOTES]
    assert len(pair.alpha.channels) == 1


def test_prompts_that_are_switched_off_are_not_declared_but_resources_are(pair: Pair, tmp_path: Path) -> None:
    pair.alpha.config = ALL_OFF
    pair.alpha.prompts, pair.alpha.resources = [HELLO], [NOTE]
    pair.was_here_before(tmp_path)
    pair.front.opens()
    assert set(pair.front.opening["capabilities"]) == {"tools", "resources"}


def test_a_resource_that_is_switched_off_can_be_read_once_a_result_refers_to_it(pair: Pair) -> None:
    pair.alpha.config = RESOURCES_OFF
    pair.alpha.resources = [NOTE]
    beta = pair.with_server("beta")
    beta.resources = [{"uri": "other://x", "name": "X"}]
    pair.front.opens()
    pair.front.asks("resources/read", {"uri": NOTE["uri"]}).fails(-32602 if pair.front.is_modern else -32002)
    call = pair.front.calls("alpha.echo")
    link = {"content": [{"type": "resource_link", "uri": NOTE["uri"], "name": "One"}]}
    pair.alpha.is_called("echo").returns(link)
    call.gets(link)
    pair.front.asks("resources/read", {"uri": NOTE["uri"]})
    pair.alpha.receives("resources/read", uri=NOTE["uri"]).returns({"contents": []})
    pair.front.gets({"contents": []})


@legacy_client
def test_a_client_does_not_hear_of_changes_of_a_list_that_is_switched_off(pair: Pair) -> None:
    pair.alpha.config = PROMPTS_OFF
    pair.alpha.prompts = [HELLO]
    beta = pair.with_server("beta")
    beta.prompts = [HELLO]
    pair.front.opens()
    pair.front.asks("prompts/list").result()
    pair.alpha.prompts = [HELLO, {**HELLO, "name": "bye"}]
    pair.alpha.changes("prompts")
    pair.after(1)
    pair.front.hears_nothing()
    beta.prompts = []
    beta.changes("prompts")
    pair.after(1)
    pair.front.hears("notifications/prompts/list_changed")


def test_prompts_resources_and_templates_are_merged(pair: Pair) -> None:
    pair.alpha.prompts, pair.alpha.resources, pair.alpha.templates = [HELLO], [NOTE], [NOTES]
    beta = pair.with_server("beta")
    beta.prompts, beta.resources = [HELLO], [{"uri": "other://x", "name": "X"}]
    pair.front.opens()
    prompts = pair.front.asks("prompts/list").result()["prompts"]
    assert prompts == [{**HELLO, "name": "alpha.hello"}, {**HELLO, "name": "beta.hello"}]
    assert pair.front.asks("resources/list").result()["resources"] == [NOTE, {"uri": "other://x", "name": "X"}]
    assert pair.front.asks("resources/templates/list").result()["resourceTemplates"] == [NOTES]


def test_of_two_resources_with_one_uri_the_first_server_has_it_and_a_warning_says_so(pair: Pair) -> None:
    pair.alpha.resources = [NOTE]
    beta = pair.with_server("beta")
    beta.resources = [{**NOTE, "name": "Mine"}]
    pair.front.opens()
    assert pair.front.asks("resources/list").result()["resources"] == [NOTE]
    pair.front.asks("resources/read", {"uri": "note://one"})
    pair.alpha.receives("resources/read", uri="note://one").returns({"contents": []})
    pair.front.gets({"contents": []})
    pair.after(1)  # what is wrong with the lists is looked for once they are all there
    assert any("note://one" in warning for warning in pair.transcript.warnings)


def test_a_list_that_changes_unannounced_is_read_again_when_somebody_looks(pair: Pair) -> None:
    """A server need not declare `listChanged`; a client that lists again is to see what is there now."""
    pair.alpha.more_capabilities = {"tools": {}}
    pair.front.opens()
    if pair.front.is_modern:
        pair.front.asks("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        pair.front.hears("notifications/subscriptions/acknowledged")
    pair.alpha.tools = [GREET]
    pair.after(2)
    pair.front.asks("tools/list").result()
    pair.after(1)
    pair.front.hears("notifications/tools/list_changed")
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", *OWN_TOOLS]


def test_a_tool_that_an_app_keeps_to_itself_is_listed_and_not_searched(pair: Pair) -> None:
    hidden = {**GREET, "name": "refresh", "_meta": {"ui": {"visibility": ["app"]}}}
    pair.alpha.tools = [hidden, {**ECHO, "_meta": {"ui": {"visibility": ["model", "app"]}}}]
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.refresh", "alpha.echo", *OWN_TOOLS]
    for query, found in (("refresh", []), ("echo", ["alpha.echo"]), ("", ["alpha.echo"])):
        results = pair.front.calls("search_tools", query=query, detail="name").result()
        assert results["structuredContent"]["results"] == found


@modern_client
def test_who_asks_what_there_is_changes_nothing_for_a_client_that_is_served(pair: Pair, tmp_path: Path) -> None:
    """A server may have offered more to a client that could do more, and that is remembered."""
    pair.remembers_in(tmp_path)
    pair.front.opens(elicitation={})
    pair.comes_back()
    pair.alpha.tools = [ECHO]
    pair.front.opens()
    pair.front.capabilities = {"elicitation": {}}
    pair.front.asks("server/discover").result()
    tools = pair.front.asks("tools/list").result()["tools"]
    assert "alpha.greet" not in names(tools)
