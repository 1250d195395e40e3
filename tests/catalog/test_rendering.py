"""Lists and definitions as one client is shown them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from catalog import samples
from catalog.samples import entry, server, tool
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import fold
from search_mcp.catalog.profiles import BY_NAME, CANONICAL, Audience, Listing, Profile
from search_mcp.catalog.rendering import compact_definition, prompt_list, resource_list, tool_list
from search_mcp.catalog.shown_names import Spellings
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.own_tools.definitions import definitions
from search_mcp.wire import payload
from search_mcp.wire.payload import SMALL_BYTES
from search_mcp.wire.structs import Raw, replace

TEXT = {"type": "string"}


OPEN = {"type": "object", "properties": {}, "additionalProperties": True}


def catalog(kind: Kind = Kind.TOOLS, /, **servers: list[Entry]) -> Catalog:
    lists = [(server(name), ServerList(tuple(entries))) for name, entries in servers.items()]
    return samples.catalog(*lists, kind=kind)


FULL_DEFINITION = {
    "title": "Read",
    "description": "Reads a file. At length.",
    "inputSchema": {"type": "object", "properties": {"path": TEXT}, "x": 1},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "icons": [],
    "_meta": {"a": 1},
    "unknown": [1.0],
}


def audience(listing: Listing = "light", *, profile: Profile = CANONICAL, object_output_only: bool = False) -> Audience:
    return Audience(replace(profile, listing=listing), object_output_only)


def shown(merged: Catalog, whom: Audience) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(tool_list_bytes(merged, whom))
    return found


def tool_list_bytes(merged: Catalog, whom: Audience) -> bytes:
    return bytes(tool_list(Spellings(merged), whom, [{"name": Raw(b'"our_own"')}], 120))


LIGHT = {
    "description": "Reads a file (path?)",
    "inputSchema": OPEN,
    "annotations": {"readOnlyHint": True},
    "_meta": {"a": 1},
}


BARE = {"description": "", "inputSchema": OPEN}


OWN = {"name": "our_own"}


LISTS = [
    # listing, then
    pytest.param("light", [{"name": "s.read", **LIGHT}, {"name": "s.x", **BARE}, OWN], id="light"),
    pytest.param(
        "full",
        [{"name": "s.read", **FULL_DEFINITION}, {"name": "s.x", "inputSchema": {"type": "object"}}, OWN],
        id="full",
    ),
    pytest.param("search", [OWN], id="search"),
]


def test_the_light_list_has_the_names_of_required_parameters_behind_its_sentence() -> None:
    long = "word " * 40
    path_required = {"type": "object", "properties": {"path": TEXT}, "required": ["path"]}
    merged = catalog(s=[tool("edit", description=f"{long}.", inputSchema=path_required)])
    (edit, _) = shown(merged, audience())
    sentence, _, required = edit["description"].partition(" (")
    assert len(sentence) > 110  # the limit of 120 applies to the sentence alone
    assert required == "path)"
    assert edit["inputSchema"] == OPEN


@pytest.mark.parametrize(("listing", "then"), LISTS)
def test_each_listing_shows_its_definitions(listing: Listing, then: list[dict[str, Any]]) -> None:
    merged = catalog(s=[tool("read", **FULL_DEFINITION), tool("x")])
    assert shown(merged, audience(listing)) == then


@pytest.mark.parametrize("listing", ["light", "full", "search"])
def test_a_pinned_tool_is_shown_in_full_in_every_list(listing: Listing) -> None:
    page = ServerList((tool("x"), tool("read", **FULL_DEFINITION)))
    merged = samples.catalog((server("s", pinned=("read",)), page))
    assert {"name": "s.read", **FULL_DEFINITION} in shown(merged, audience(listing))
    assert len(shown(merged, audience(listing))) == (2 if listing == "search" else 3)


def test_a_definition_keeps_its_bytes() -> None:
    schema_text = b'{ "type":"object", "maximum":1.0, "z":1e5, "a":"\\u00e9" }'
    merged = catalog(s=[Entry("x", {"zeta": Raw(b"[ 1.50 ]"), "name": Raw(b'"x"'), "inputSchema": Raw(schema_text)})])
    assert b'{"zeta":[ 1.50 ],"name":"s.x","inputSchema":' + schema_text in tool_list_bytes(merged, audience("full"))


def test_a_list_is_the_same_every_time() -> None:
    servers = {"s": [tool("read"), tool("x y"), tool("x/y")], "t": [tool("z" * 200)]}
    assert tool_list_bytes(catalog(**servers), audience()) == tool_list_bytes(catalog(**servers), audience())


OUTPUTS = [
    # outputSchema, whether a client that supports only objects receives it
    ({"type": "object"}, True),
    ({"type": "array", "items": {}}, False),
    ({"type": ["object", "null"]}, False),
    ({"properties": {}}, False),
    ({}, False),
]


@pytest.mark.parametrize(("output", "then"), OUTPUTS)
def test_an_output_schema_of_no_object_is_left_out_for_some_clients(output: dict[str, Any], then: bool) -> None:
    merged = catalog(s=[tool("x", outputSchema=output)])
    assert "outputSchema" in shown(merged, audience("full"))[0]
    assert ("outputSchema" in shown(merged, audience("full", object_output_only=True))[0]) is then


APP: dict[str, Any] = {"ui": {"resourceUri": "ui://clock/view.html"}}


FOR_APPS: dict[str, Any] = {"ui": {"visibility": ["app"]}}


FOR_MODELS: dict[str, Any] = {"ui": {"visibility": ["model"]}}


CLOCK = [tool("clock", _meta=APP), tool("tick"), tool("refresh", _meta=FOR_APPS), tool("buy", _meta=FOR_MODELS)]


def visibilities(servers: Mapping[str, list[Entry]], profile: Profile = CANONICAL, **more: Any) -> dict[str, Any]:
    """Return the visibility of each name in the list of a client that supports apps."""
    lists = [(server(name, **more), ServerList(tuple(entries))) for name, entries in servers.items()]
    merged = samples.catalog(*lists)
    listed_tools = shown(merged, Audience(profile, object_output_only=False, shows_apps=True))
    assert len({each["name"] for each in listed_tools}) == len(listed_tools)
    return {each["name"]: each.get("_meta", {}).get("ui", {}).get("visibility") for each in listed_tools}


def test_a_client_with_apps_is_shown_the_visibility_of_each_name() -> None:
    assert visibilities({"a": CLOCK, "b": [tool("write", _meta={"x": 1})]}) == {
        "a.clock": None,
        "a.tick": None,
        "a.buy": ["model"],
        "b.write": ["model"],
        "clock": ["app"],
        "tick": ["app"],
        "refresh": ["app"],
        "our_own": ["model"],
    }


@pytest.mark.parametrize("listing", ["light", "full"])
def test_an_entry_for_apps_differs_in_name_and_visibility(listing: Listing) -> None:
    merged = catalog(s=[tool("clock", **{**FULL_DEFINITION, "_meta": APP | {"a": 1}})])
    whom = Audience(replace(CANONICAL, listing=listing), object_output_only=False, shows_apps=True)
    first, second, _ = shown(merged, whom)
    assert second == {**first, "name": "clock", "_meta": {"a": 1, "ui": {**APP["ui"], "visibility": ["app"]}}}


def test_without_apps_a_list_does_not_depend_on_showing_them() -> None:
    merged = catalog(s=[tool("read"), tool("buy", _meta=FOR_MODELS)])
    assert tool_list_bytes(merged, Audience(CANONICAL, False, shows_apps=True)) == tool_list_bytes(merged, audience())


def test_a_client_without_apps_is_shown_no_names_for_apps() -> None:
    names = [each["name"] for each in shown(catalog(s=CLOCK, t=[tool("x")]), audience())]
    assert names == ["s.clock", "s.tick", "s.refresh", "s.buy", "t.x", "our_own"]


IN_A_SEARCH = [
    # pinned, then
    pytest.param((), {"our_own": None}, id="no app is shown"),
    pytest.param(("tick",), {"s.tick": None, "our_own": None}, id="nor of a tool without an app"),
    pytest.param(
        ("clock",),
        {"s.clock": None, "clock": ["app"], "tick": ["app"], "refresh": ["app"], "our_own": ["model"]},
        id="the app of a pinned tool",
    ),
]


@pytest.mark.parametrize(("pinned", "then"), IN_A_SEARCH)
def test_in_a_search_the_apps_of_pinned_tools_can_call(pinned: tuple[str, ...], then: dict[str, Any]) -> None:
    assert visibilities({"s": CLOCK}, replace(CANONICAL, listing="search"), pinned=pinned) == then


NAMES_FOR_APPS = [
    # servers besides the app's, profile, names that are for apps only
    pytest.param({"b": [tool("tick", _meta=APP)]}, CANONICAL, {"clock", "refresh"}, id="a name of two"),
    pytest.param({"b": [tool("tick")]}, CANONICAL, {"clock", "tick", "refresh"}, id="a name of one without an app"),
    pytest.param({"b": [tool("a.clock", _meta=APP)]}, CANONICAL, {"clock", "tick", "refresh"}, id="a name of another"),
    pytest.param({"b": [tool("a-clock", _meta=APP)]}, CANONICAL, {"clock", "tick", "refresh"}, id="one that is folded"),
    pytest.param(
        {"b": [tool("search_tools", _meta=APP), tool("call-tool")]}, CANONICAL, {"clock", "tick", "refresh"}, id="ours"
    ),
    pytest.param(
        {"b": [tool("x-y", _meta=APP), tool("x_y")]}, CANONICAL, {"clock", "tick", "refresh", "x-y"}, id="two that fold"
    ),
    pytest.param({"b": [tool("x.y", _meta=APP)]}, BY_NAME["cursor"], {"clock", "tick", "refresh"}, id="odd characters"),
    pytest.param(
        {"b": [tool("long_name" * 10, _meta=APP)]}, BY_NAME["cursor"], {"clock", "tick", "refresh"}, id="too long"
    ),
]


@pytest.mark.parametrize(("more", "profile", "then"), NAMES_FOR_APPS)
def test_only_unambiguous_names_are_for_apps(more: Mapping[str, list[Entry]], profile: Profile, then: set[str]) -> None:
    told = visibilities({"a": CLOCK, **more}, profile)
    assert {name for name, visibility in told.items() if visibility == ["app"]} == then


def test_a_tool_with_a_bare_name_is_listed_once() -> None:
    bare = {"clock": None, "tick": None, "refresh": ["app"], "buy": ["model"], "our_own": ["model"]}
    assert visibilities({"s": CLOCK}, prefix="") == bare
    pinned = visibilities({"s": CLOCK}, replace(CANONICAL, listing="search"), prefix="", pinned=("clock",))
    assert pinned == {"clock": None, "tick": ["app"], "refresh": ["app"], "our_own": ["model"]}


def test_an_empty_visibility_is_kept() -> None:
    nobody = tool("x", _meta={"ui": {"visibility": []}})
    assert visibilities({"a": CLOCK, "b": [nobody]})["b.x"] == []


def test_prompts_are_only_renamed() -> None:
    merged = catalog(Kind.PROMPTS, s=[entry("a b", name="a b", title="T", arguments=[{"name": "x"}], unknown=1)])
    there = {"title": "T", "arguments": [{"name": "x"}], "unknown": 1}
    assert json.loads(bytes(prompt_list(Spellings(merged), audience()))) == [{"name": "s.a_b", **there}]
    cursor = audience(profile=BY_NAME["cursor"])
    assert json.loads(bytes(prompt_list(Spellings(merged), cursor))) == [{"name": "s__a_b", **there}]


@pytest.mark.parametrize(("kind", "key"), [(Kind.RESOURCES, "uri"), (Kind.TEMPLATES, "uriTemplate")])
def test_resources_are_not_changed(kind: Kind, key: str) -> None:
    first, second = {key: "x://é", "name": "n", "unknown": 1.0}, {key: "x://2", "name": "x://2"}
    merged = catalog(kind, s=[entry("x://é", **first), entry("x://2", **{key: "x://2"})], t=[entry("x://é", **second)])
    assert json.loads(bytes(resource_list(merged, kind))) == [first, second]


OWN_NAMES = {json.loads(bytes(fields["name"])) for fields in definitions("search")}


MISTAKABLE = [
    # prefix, server, tool, separator
    pytest.param("", "s", "search_tools", ".", id="a bare name"),
    pytest.param(None, "search", "tools", ".", id="folded"),
    pytest.param(None, "list", "servers", "_", id="with a separator of the user's"),
    pytest.param(None, "call", "tool", "-", id="with another"),
]


@pytest.mark.parametrize(("prefix", "name", "key", "separator"), MISTAKABLE)
def test_no_tool_can_be_mistaken_for_one_of_our_own(prefix: str | None, name: str, key: str, separator: str) -> None:
    """Clients that fold names drop the second of two equal names, or call the wrong tool."""
    merged = samples.catalog((server(name, prefix=prefix), ServerList((tool(key),))))
    whom = Audience(replace(CANONICAL, separator=separator), False)
    listed_names = [
        each["name"] for each in json.loads(bytes(tool_list(Spellings(merged), whom, definitions("search"), 120)))
    ]
    assert set(listed_names) >= OWN_NAMES
    assert len({fold(each) for each in listed_names}) == len(listed_names)


COMPACT = [
    # definition, compact definition
    pytest.param(
        FULL_DEFINITION,
        {
            "description": "Reads a file. At length.",
            "inputSchema": FULL_DEFINITION["inputSchema"],
            "annotations": {"readOnlyHint": True},
        },
        id="only the members that help to call it",
    ),
    pytest.param(
        {"title": "Read", "inputSchema": {"type": "object", "title": "ReadArguments"}},
        {"description": "Read", "inputSchema": {"type": "object"}},
        id="a title for a description",
    ),
    pytest.param(
        {"inputSchema": {"type": "object", "title": "x" * SMALL_BYTES}},
        {"inputSchema": {"type": "object", "title": "x" * SMALL_BYTES}},
        id="a schema too large to be shortened",
    ),
]


@pytest.mark.parametrize(("definition", "then"), COMPACT)
def test_a_compact_definition(definition: dict[str, Any], then: dict[str, Any]) -> None:
    (item,) = catalog(s=[tool("read", **definition)]).tools()
    assert json.loads(bytes(payload.encode(compact_definition(item, "s.read", audience())))) == {
        "name": "s.read",
        **then,
    }
