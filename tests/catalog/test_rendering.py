"""What one client is shown: names it takes, and definitions as short as it pays, without a word cut in two."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.catalog.brief import brief, with_required
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import fold
from search_mcp.catalog.named_items import NamedItems
from search_mcp.catalog.profiles import BY_NAME, CANONICAL, Audience, Listing, Profile
from search_mcp.catalog.rendering import prompt_list, resource_list, tool_list
from search_mcp.catalog.shown_names import ShownNames, Spellings
from search_mcp.catalog.signature import SIGNATURE_LENGTH, signature
from search_mcp.config.schema import ServerConfig
from search_mcp.gateway.own_tool_definitions import definitions
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.model.visible import one_line
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw, replace

OPEN = {"type": "object", "properties": {}, "additionalProperties": True}


def entry(key: str, **members: object) -> Entry:
    return Entry(key, {name: payload.encode(member) for name, member in members.items()})


def tool(name: str, **members: object) -> Entry:
    return entry(name, **{"name": name, "inputSchema": {"type": "object"}, **members})


def catalog(kind: Kind = Kind.TOOLS, /, **servers: list[Entry]) -> Catalog:
    merged = Catalog([ServerConfig(name=name, command="x") for name in servers])
    for name, entries in servers.items():
        merged.put(name, kind, ServerList(tuple(entries)))
    return merged


def listed(servers: Mapping[str, list[str]], prefix: str | None = None) -> NamedItems:
    merged = Catalog([ServerConfig(name=name, command="x", prefix=prefix) for name in servers])
    for name, keys in servers.items():
        merged.put(name, Kind.TOOLS, ServerList(tuple(tool(key) for key in keys)))
    return merged.tools()


# Brief descriptions

BRIEF = [
    # given, limit, then
    pytest.param("Reads a file.", 120, "Reads a file.", id="one sentence"),
    pytest.param("Reads a file. Then more.", 120, "Reads a file.", id="the first of two"),
    pytest.param("Reads a file", 120, "Reads a file", id="no end"),
    pytest.param("  Reads\n  a\tfile.  ", 120, "Reads a file.", id="white space"),
    pytest.param("Reads a file\n\nArgs:\n  path: x", 120, "Reads a file", id="a paragraph"),
    pytest.param("Reads a file\nof text. More.", 120, "Reads a file of text.", id="a line is no paragraph"),
    pytest.param("Really? Yes.", 120, "Really?", id="a question"),
    pytest.param("Now! And then.", 120, "Now!", id="an exclamation"),
    pytest.param('Says "hello." Then more.', 120, 'Says "hello.', id="a quotation"),
    pytest.param("Reads files (e.g. text files) whole. More.", 120, "Reads files (e.g. text files) whole.", id="e.g."),
    pytest.param(
        "Files, i.e. text, vs. data, etc. and more. X.", 120, "Files, i.e. text, vs. data, etc. and more.", id="etc."
    ),
    pytest.param("By J. R. Smith. More.", 120, "By J. R. Smith.", id="initials"),
    pytest.param("Takes 1.5 s with v2.0 of node.js. More.", 120, "Takes 1.5 s with v2.0 of node.js.", id="dots inside"),
    pytest.param("See https://a.b/c.d?e=f for it. More.", 120, "See https://a.b/c.d?e=f for it.", id="an address"),
    pytest.param("", 120, "", id="nothing"),
    pytest.param(" \n ", 120, "", id="white space only"),
    pytest.param("ファイルを読む。次の文。", 120, "ファイルを読む。", id="Japanese"),
    pytest.param("本当？はい。", 120, "本当？", id="Japanese question"),
    pytest.param("すごい！次。", 120, "すごい！", id="Japanese exclamation"),
    pytest.param("半角｡次｡", 120, "半角｡", id="half-width"),
    pytest.param("读取文件的内容。然后返回。", 120, "读取文件的内容。", id="Chinese"),
    pytest.param("파일을 읽습니다. 그리고 저장합니다.", 120, "파일을 읽습니다.", id="Korean"),
    pytest.param("파일을 읽을까요? 네.", 120, "파일을 읽을까요?", id="Korean question"),
    pytest.param("Reads the whole file", 10, "Reads the…", id="cut behind a word"),
    pytest.param("Reads the whole file", 14, "Reads the…", id="not inside the next"),
    pytest.param("Reads the whole file", 16, "Reads the whole…", id="right behind it"),
    pytest.param("Reads, slowly: the file", 8, "Reads…", id="no comma before the mark"),
    pytest.param("Reads it now", 12, "Reads it now", id="at the limit"),
    pytest.param("読むことができるファイル", 6, "読むことが…", id="Japanese has no spaces"),
    pytest.param("读取文件的全部内容", 5, "读取文件…", id="Chinese has no spaces"),
    pytest.param("파일을 읽고 내용을 보여줍니다", 9, "파일을 읽고…", id="Korean has spaces"),
    pytest.param("ファイルをread_text_fileで読む", 10, "ファイルを…", id="a Latin word in Japanese"),
    pytest.param("Pneumonoultramicroscopic", 6, "Pneum…", id="a word that is longer than the limit"),
]


@pytest.mark.parametrize(("text", "limit", "then"), BRIEF)
def test_brief(text: str, limit: int, then: str) -> None:
    assert brief(text, limit) == then


@given(st.text() | st.text("ab .,;。あ字한e.g\n", max_size=60), st.integers(1, 80))
def test_a_brief_description_is_short_and_nothing_new(text: str, limit: int) -> None:
    short = brief(text, limit)
    assert len(short) <= limit
    assert one_line(short) == short
    whole = one_line(text)
    assert whole.startswith(short.removesuffix("…"))
    assert brief(short, limit) == short


@given(st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=20), st.integers(9, 60))
def test_no_word_is_cut(words: list[str], limit: int) -> None:
    short = brief(" ".join(words), limit)
    assert short.removesuffix("…").split() == words[: len(short.removesuffix("…").split())]


# Signatures


def schema(required: list[Any] | None = None, /, **properties: object) -> dict[str, Any]:
    body: dict[str, Any] = {"type": "object", "properties": properties}
    return body if required is None else {**body, "required": required}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
NODE = {"$ref": "#/$defs/node"}

SIGNATURES = [
    # schema, then
    pytest.param(
        schema(["path"], path=TEXT, head=NUMBER, tail=NUMBER),
        "t(path: string, head?: number, tail?: number)",
        id="plain",
    ),
    pytest.param(
        schema(["b", "d"], a=TEXT, b=TEXT, c=TEXT, d=TEXT),
        "t(b: string, d: string, a?: string, c?: string)",
        id="required first",
    ),
    pytest.param(schema(), "t()", id="none"),
    pytest.param({}, "t()", id="an empty schema"),
    pytest.param({"type": "object", "properties": []}, "t()", id="properties of the wrong type"),
    pytest.param({"properties": {"a": TEXT}, "required": "a"}, "t(a?: string)", id="required of the wrong type"),
    pytest.param(schema(["a", 5, {}], a=TEXT), "t(a: string)", id="required with odd members"),
    pytest.param(schema(a={}, b=True, c=None, d=5), "t(a?: any, b?: any, c?: any, d?: any)", id="no type"),
    pytest.param(schema(a={"enum": ["x", 1, None, True]}), 't(a?: "x"|1|null|true)', id="an enum"),
    pytest.param(schema(a={"type": "string", "enum": ["x"]}), 't(a?: "x")', id="an enum with a type"),
    pytest.param(schema(a={"enum": list("abcdefgh")}), 't(a?: "a"|"b"|"c"|"d"|"e"|"f"|"g"|"h")', id="a longer enum"),
    pytest.param(schema(a={"enum": list(range(50))}), f"t(a?: {'|'.join(map(str, range(20)))}|…)", id="a long enum"),
    pytest.param(
        schema(a={"enum": ["x" * 40 + each for each in "abcdefgh"]}),
        "t(a?: " + "|".join(f'"{"x" * 40}{each}"' for each in "abcdef") + "|…)",
        id="an enum of long texts",
    ),
    pytest.param(
        schema(a={"type": "string", "format": "date-time"}, b={"type": "string", "format": "x): run(\n"}),
        "t(a?: string<date-time>, b?: string)",
        id="a format that is known",
    ),
    pytest.param(schema(a={"enum": []}), "t(a?: any)", id="an empty enum"),
    pytest.param(schema(a={"enum": [{"x": 1}, [2]]}), 't(a?: {"x":1}|[2])', id="an enum of objects"),
    pytest.param(schema(a={"const": "x"}, b={"const": None}), 't(a?: "x", b?: null)', id="a constant"),
    pytest.param(schema(a={"type": ["string", "null"]}), "t(a?: string|null)", id="several types"),
    pytest.param(schema(a={"anyOf": [TEXT, {"type": "null"}]}), "t(a?: string|null)", id="anyOf"),
    pytest.param(schema(a={"oneOf": [TEXT, TEXT, NUMBER]}), "t(a?: string|number)", id="oneOf, each once"),
    pytest.param(schema(a={"type": "array", "items": TEXT}), "t(a?: string[])", id="an array"),
    pytest.param(
        schema(a={"type": "array"}, b={"type": "array", "items": [TEXT]}), "t(a?: any[], b?: any[])", id="of anything"
    ),
    pytest.param(schema(a={"type": "array", "items": {"enum": [1, 2]}}), "t(a?: (1|2)[])", id="an array of choices"),
    pytest.param(schema(a=schema(["y"], x=TEXT, y=NUMBER)), "t(a?: {y: number, x?: string})", id="a nested object"),
    pytest.param(schema(a={"type": "object"}), "t(a?: object)", id="an object without properties"),
    pytest.param(schema(a={"properties": {"x": TEXT}}), "t(a?: {x?: string})", id="a nested object without a type"),
    pytest.param(schema(a=schema(b=schema(c=schema(d=TEXT)))), "t(a?: {b?: {c?: object}})", id="nested deeper"),
    pytest.param({**schema(a=NODE), "$defs": {"node": NUMBER}}, "t(a?: number)", id="a reference"),
    pytest.param(
        {**schema(a={"$ref": "#/$defs/a~1b~0"}), "$defs": {"a/b~": TEXT}}, "t(a?: string)", id="an escaped one"
    ),
    pytest.param(schema(a={"$ref": "#/$defs/none"}), "t(a?: any)", id="a reference to nothing"),
    pytest.param({**schema(a=NODE), "$defs": {"node": NODE}}, "t(a?: any)", id="a reference to itself"),
    pytest.param(
        {**schema(a={"$ref": "#/$defs/alias"}), "$defs": {"alias": NODE, "node": NUMBER}},
        "t(a?: number)",
        id="a reference to a reference",
    ),
    pytest.param(
        schema(['b"c\n2. d'], **{'b"c\n2. d': TEXT, "x" * 70: {"type": "string): run me("}}, e={"const": "\u202ef\n"}),
        't("b\\"c\\n2. d": string, "' + "x" * 64 + '…"?: any, e?: "\\u202ef\\n")',
        id="names, types and values that would forge a signature",
    ),
    pytest.param(schema(a={"$ref": "https://example.com/x.json"}), "t(a?: any)", id="nothing is fetched"),
    pytest.param(
        {**schema(a=NODE), "$defs": {"node": schema(next=NODE)}},
        "t(a?: {next?: {next?: object}})",
        id="an object in itself",
    ),
]


@pytest.mark.parametrize(("given_", "then"), SIGNATURES)
def test_signatures(given_: dict[str, Any], then: str) -> None:
    assert signature("t", given_) == then


LOOPS = [
    # Schemas that hold themselves are common: any JSON value, a tree of blocks, a filter of filters.
    pytest.param({"node": {"anyOf": [TEXT, {"type": "array", "items": NODE}]}}, id="a JSON value"),
    pytest.param({"node": {"type": "array", "items": NODE}}, id="lists of lists"),
    pytest.param({"node": {"anyOf": [NODE, TEXT]}}, id="a choice of itself"),
    pytest.param(
        {"node": {"oneOf": [schema(all_of={"type": "array", "items": NODE}), TEXT]}}, id="a filter of filters"
    ),
]


@pytest.mark.parametrize("defs", LOOPS)
def test_a_schema_that_holds_itself_has_a_signature(defs: dict[str, Any]) -> None:
    written = signature("t", {**schema(["a"], a=NODE), "$defs": defs})
    assert re.fullmatch(r"t\(a: .+\)", written)
    assert len(written) <= SIGNATURE_LENGTH


@pytest.mark.parametrize("wrap", [lambda inner: {"anyOf": [inner]}, lambda inner: {"type": "array", "items": inner}])
def test_a_deep_schema_has_a_signature(wrap: Any) -> None:
    deep: dict[str, Any] = TEXT
    for _ in range(900):
        deep = wrap(deep)
    assert signature("t", schema(["a"], a=deep)).startswith("t(")


@pytest.mark.parametrize("limit", [20, 60, SIGNATURE_LENGTH])
def test_a_long_signature_says_how_many_it_leaves_out(limit: int) -> None:
    given_ = schema(["p0"], **{f"p{number}": TEXT for number in range(99)})
    written = signature("t", given_, limit)
    assert len(written) <= limit
    found = re.fullmatch(r"t\((?:(.*), )?… (\d+) more\)", written)
    assert found is not None
    assert len((found[1] or "").split(", ") if found[1] else []) + int(found[2]) == 99


def test_a_huge_schema_has_a_signature_in_linear_time() -> None:
    """Anything quadratic in it takes hours."""
    many = [f"p{number}" for number in range(300_000)]
    huge = schema(many, **dict.fromkeys(many, TEXT))
    assert signature("t", huge).endswith(" more)")
    nested = {**schema(["a0"], **{f"a{number}": NODE for number in range(500)}), "$defs": {"node": huge}}
    assert len(signature("t", nested)) <= SIGNATURE_LENGTH


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "required", "items", "enum", "anyOf", "const", "$ref", "a"]), inner
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "required", "anyOf"]), JSON))
def test_whatever_a_backend_calls_a_schema_has_a_signature(given_: dict[str, Any]) -> None:
    assert signature("t", given_).startswith("t(")


# Lists

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


REQUIRED = [
    # description, required, then
    pytest.param("Edit a file.", ["path", "edits"], "Edit a file (path, edits)", id="the full stop goes"),
    pytest.param("Edit a file", ["path"], "Edit a file (path)", id="no full stop"),
    pytest.param("Edit a file!", ["path"], "Edit a file! (path)", id="another end"),
    pytest.param("ファイルを読む。", ["path"], "ファイルを読む (path)", id="a Japanese end"),
    pytest.param("Files, folders etc.", ["path"], "Files, folders etc. (path)", id="an abbreviation keeps its own"),
    pytest.param("Edit a file.", [], "Edit a file.", id="none is required"),
    pytest.param("Edit a file.", None, "Edit a file.", id="nothing is said of it"),
    pytest.param("Edit a file.", "path", "Edit a file.", id="no list"),
    pytest.param("", ["path"], "(path)", id="no description"),
    pytest.param("Edit.", ["path", 5, {}], "Edit (path)", id="members that are no names"),
    pytest.param("Edit.", ["a b", "x)\n- y", '"'], 'Edit ("a b", "x)\\n- y", "\\"")', id="no plain words"),
    pytest.param("Edit.", ["x" * 5000], 'Edit ("' + "x" * 64 + '…")', id="an endless name"),
    pytest.param("Edit.", ["パス", "first-name", "$id"], "Edit (パス, first-name, $id)", id="other plain words"),
    pytest.param("Edit.", ["word"] * 30, "Edit (" + "word, " * 25 + "… 5 more)", id="too many"),
]


@pytest.mark.parametrize(("description", "required", "then"), REQUIRED)
def test_the_light_list_names_what_is_required(description: str, required: object, then: str) -> None:
    body = {"type": "object"} if required is None else {"type": "object", "required": required}
    assert with_required(description, payload.encode(body)) == then


def test_many_required_parameters_are_counted_and_not_written() -> None:
    body = payload.encode({"type": "object", "required": [f"parameter_{number}" for number in range(100_000)]})
    assert len(with_required("Does it.", body)) < 200


LIGHT = {"description": "Reads a file.", "inputSchema": OPEN, "annotations": {"readOnlyHint": True}, "_meta": {"a": 1}}
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
    merged = catalog(s=[tool("edit", description=f"{long}.", inputSchema=schema(["path"], path=TEXT))])
    (edit, _) = shown(merged, audience())
    sentence, _, required = edit["description"].partition(" (")
    assert len(sentence) > 110  # the limit of 120 is the sentence's alone
    assert required == "path)"
    assert edit["inputSchema"] == OPEN


@pytest.mark.parametrize(("listing", "then"), LISTS)
def test_lists(listing: Listing, then: list[dict[str, Any]]) -> None:
    merged = catalog(s=[tool("read", **FULL_DEFINITION), tool("x")])
    assert shown(merged, audience(listing)) == then


@pytest.mark.parametrize("listing", ["light", "full", "search"])
def test_a_pinned_tool_is_shown_in_full_in_every_list(listing: Listing) -> None:
    merged = Catalog([ServerConfig(name="s", command="x", pinned=("read",))])
    merged.put("s", Kind.TOOLS, ServerList((tool("x"), tool("read", **FULL_DEFINITION))))
    assert {"name": "s.read", **FULL_DEFINITION} in shown(merged, audience(listing))
    assert len(shown(merged, audience(listing))) == (2 if listing == "search" else 3)


def test_what_a_backend_wrote_is_shown_as_it_wrote_it() -> None:
    schema_text = b'{ "type":"object", "maximum":1.0, "z":1e5, "a":"\\u00e9" }'
    merged = catalog(s=[Entry("x", {"zeta": Raw(b"[ 1.50 ]"), "name": Raw(b'"x"'), "inputSchema": Raw(schema_text)})])
    assert b'{"zeta":[ 1.50 ],"name":"s.x","inputSchema":' + schema_text in tool_list_bytes(merged, audience("full"))


def test_a_list_is_the_same_every_time() -> None:
    servers = {"s": [tool("read"), tool("x y"), tool("x/y")], "t": [tool("z" * 200)]}
    assert tool_list_bytes(catalog(**servers), audience()) == tool_list_bytes(catalog(**servers), audience())


OUTPUTS = [
    # outputSchema, whether a client that knows only objects is shown it
    ({"type": "object"}, True),
    ({"type": "array", "items": {}}, False),
    ({"type": ["object", "null"]}, False),
    ({"properties": {}}, False),
    ({}, False),
]


@pytest.mark.parametrize(("output", "then"), OUTPUTS)
def test_some_clients_know_only_output_schemas_of_objects(output: dict[str, Any], then: bool) -> None:
    merged = catalog(s=[tool("x", outputSchema=output)])
    assert "outputSchema" in shown(merged, audience("full"))[0]
    assert ("outputSchema" in shown(merged, audience("full", object_output_only=True))[0]) is then


# MCP Apps

APP: dict[str, Any] = {"ui": {"resourceUri": "ui://clock/view.html"}}
FOR_APPS: dict[str, Any] = {"ui": {"visibility": ["app"]}}
FOR_MODELS: dict[str, Any] = {"ui": {"visibility": ["model"]}}
CLOCK = [tool("clock", _meta=APP), tool("tick"), tool("refresh", _meta=FOR_APPS), tool("buy", _meta=FOR_MODELS)]


def visibilities(servers: Mapping[str, list[Entry]], profile: Profile = CANONICAL, **more: Any) -> dict[str, Any]:
    """What a client that shows apps is told of who may call what."""
    merged = Catalog([ServerConfig(name=name, command="x", **more) for name in servers])
    for name, entries in servers.items():
        merged.put(name, Kind.TOOLS, ServerList(tuple(entries)))
    listed_tools = shown(merged, Audience(profile, object_output_only=False, shows_apps=True))
    assert len({each["name"] for each in listed_tools}) == len(listed_tools)
    return {each["name"]: each.get("_meta", {}).get("ui", {}).get("visibility") for each in listed_tools}


def test_who_shows_apps_is_told_by_which_names_they_call_and_what_is_left_to_the_model() -> None:
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
def test_a_name_for_apps_is_all_that_its_entry_has_of_its_own(listing: Listing) -> None:
    merged = catalog(s=[tool("clock", **{**FULL_DEFINITION, "_meta": APP | {"a": 1}})])
    whom = Audience(replace(CANONICAL, listing=listing), object_output_only=False, shows_apps=True)
    first, second, _ = shown(merged, whom)
    assert second == {**first, "name": "clock", "_meta": {"a": 1, "ui": {**APP["ui"], "visibility": ["app"]}}}


def test_without_apps_a_list_is_the_same_for_who_would_show_them() -> None:
    merged = catalog(s=[tool("read"), tool("buy", _meta=FOR_MODELS)])
    assert tool_list_bytes(merged, Audience(CANONICAL, False, shows_apps=True)) == tool_list_bytes(merged, audience())


def test_who_shows_no_apps_is_told_nothing_of_them() -> None:
    names = [each["name"] for each in shown(catalog(s=CLOCK, t=[tool("x")]), audience())]
    assert names == ["s.clock", "s.tick", "s.refresh", "s.buy", "t.x", "our_own"]


IN_A_SEARCH = [
    # pinned, then
    pytest.param((), {"our_own": None}, id="no app is shown"),
    pytest.param(("tick",), {"s.tick": None, "our_own": None}, id="nor by what has none"),
    pytest.param(
        ("clock",),
        {"s.clock": None, "clock": ["app"], "tick": ["app"], "refresh": ["app"], "our_own": ["model"]},
        id="what is shown can call",
    ),
]


@pytest.mark.parametrize(("pinned", "then"), IN_A_SEARCH)
def test_in_a_search_the_apps_of_pinned_tools_can_call(pinned: tuple[str, ...], then: dict[str, Any]) -> None:
    assert visibilities({"s": CLOCK}, replace(CANONICAL, listing="search"), pinned=pinned) == then


NAMES_FOR_APPS = [
    # further tools beside an app's; the client; those it is told of for apps alone
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
def test_names_for_apps(more: Mapping[str, list[Entry]], profile: Profile, then: set[str]) -> None:
    told = visibilities({"a": CLOCK, **more}, profile)
    assert {name for name, visibility in told.items() if visibility == ["app"]} == then


def test_what_has_no_other_name_than_an_app_knows_is_listed_once() -> None:
    bare = {"clock": None, "tick": None, "refresh": ["app"], "buy": ["model"], "our_own": ["model"]}
    assert visibilities({"s": CLOCK}, prefix="") == bare
    pinned = visibilities({"s": CLOCK}, replace(CANONICAL, listing="search"), prefix="", pinned=("clock",))
    assert pinned == {"clock": None, "tick": ["app"], "refresh": ["app"], "our_own": ["model"]}


def test_what_nobody_may_call_stays_so() -> None:
    nobody = tool("x", _meta={"ui": {"visibility": []}})
    assert visibilities({"a": CLOCK, "b": [nobody]})["b.x"] == []


def test_prompts_are_renamed_and_else_as_they_are() -> None:
    merged = catalog(Kind.PROMPTS, s=[entry("a b", name="a b", title="T", arguments=[{"name": "x"}], unknown=1)])
    there = {"title": "T", "arguments": [{"name": "x"}], "unknown": 1}
    assert json.loads(bytes(prompt_list(Spellings(merged), audience()))) == [{"name": "s.a_b", **there}]
    cursor = audience(profile=BY_NAME["cursor"])
    assert json.loads(bytes(prompt_list(Spellings(merged), cursor))) == [{"name": "s__a_b", **there}]


@pytest.mark.parametrize(("kind", "key"), [(Kind.RESOURCES, "uri"), (Kind.TEMPLATES, "uriTemplate")])
def test_resources_are_as_they_are(kind: Kind, key: str) -> None:
    first, second = {key: "x://é", "name": "n", "unknown": 1.0}, {key: "x://2", "name": "x://2"}
    merged = catalog(kind, s=[entry("x://é", **first), entry("x://2", **{key: "x://2"})], t=[entry("x://é", **second)])
    assert json.loads(bytes(resource_list(merged, kind))) == [first, second]


# Names

LONG = "a_tool_with_a_very_long_name_" * 5

SHOWN = [
    # profile, servers with their tools, then
    pytest.param("canonical", {"my.s": ["a-b", "c.d"]}, ["my.s.a-b", "my.s.c.d"], id="canonical"),
    pytest.param("vscode", {"my.s": ["a-b", "c.d"]}, ["my_s__a-b", "my_s__c_d"], id="underscores"),
    pytest.param("cursor", {"my.s": ["a-b", "c.d"]}, ["my_s__a_b", "my_s__c_d"], id="nothing else"),
    pytest.param("cursor", {"s": [LONG]}, ["s__a_tool_with_a_very_long_name_a_tool_with_[0-9a-f]{6}"], id="shortened"),
    pytest.param("canonical", {"s": [LONG]}, [f"s.{LONG[:119]}_[0-9a-f]{{6}}"], id="shortened at 128"),
    pytest.param(
        "zed", {"s": ["x" * 62, "x" * 63]}, ["s." + "x" * 62, "s." + "x" * 55 + "_[0-9a-f]{6}"], id="at the limit"
    ),
    pytest.param(
        "vscode", {"a_": ["b"], "a": ["_b"]}, ["a___b", "x[0-9a-f]{6}_a_x[0-9a-f]{6}_b"], id="alike when shown"
    ),
]


@pytest.mark.parametrize(("profile", "servers", "then"), SHOWN)
def test_shown_names(profile: str, servers: dict[str, list[str]], then: list[str]) -> None:
    items = listed(servers)
    spelt = ShownNames(items, BY_NAME[profile])
    assert len(items) == len(then)
    for item, pattern in zip(items, then, strict=True):
        assert re.fullmatch(pattern.replace(".", r"\."), spelt[item]), spelt[item]
        assert spelt.find(spelt[item]) is item
    assert spelt.find("no.such") is None


def test_names_that_are_alike_only_as_this_client_is_shown_them_get_a_suffix() -> None:
    merged = Catalog([ServerConfig(name="a", command="x"), ServerConfig(name="bare", command="x", prefix="")])
    merged.put("a", Kind.TOOLS, ServerList((tool("b"),)))
    merged.put("bare", Kind.TOOLS, ServerList((tool("a___b"),)))
    items, profile = merged.tools(), replace(CANONICAL, separator="___")
    assert [re.sub("[0-9a-f]{6}", "*", item.name) for item in items] == ["a.b", "x*_a_b"]  # else it begins like a's
    spelt = ShownNames(items, profile)
    assert spelt[items[0]] != spelt[items[1]]
    for item in items:
        assert spelt.find(spelt[item]) is item
        assert spelt.find(item.name) is item


def test_names_are_looked_up_as_they_are_shown_and_by_every_other_spelling() -> None:
    items = listed({"my.s": ["a-b"]})
    spelt = ShownNames(items, replace(CANONICAL, separator="--"))
    assert list(spelt.names()) == ["my.s--a-b"]
    for name in ("my.s--a-b", "my.s.a-b", "my.s__a-b", "my_s_a_b"):
        assert spelt.find(name) is items[0]


def test_spellings_are_made_once_until_the_catalogue_changes() -> None:
    merged = Catalog([ServerConfig(name="s", command="x")])
    merged.put("s", Kind.TOOLS, ServerList((tool("a"),)))
    spellings, cursor = Spellings(merged), BY_NAME["cursor"]
    before = spellings.of(Kind.TOOLS, cursor)
    assert spellings.of(Kind.TOOLS, cursor) is before
    assert list(spellings.of(Kind.TOOLS, CANONICAL).names()) == ["s.a"]
    assert list(spellings.of(Kind.PROMPTS, cursor).names()) == []
    merged.put("s", Kind.TOOLS, ServerList((tool("b"),)))
    assert list(spellings.of(Kind.TOOLS, cursor).names()) == ["s__b"]


def test_shortening_is_the_same_in_every_session() -> None:
    spelt = []
    for servers in ({"s": [LONG]}, {"t": [LONG], "s": ["x", LONG]}):
        items = listed(servers)
        spelt.append(ShownNames(items, BY_NAME["cursor"])[items[-1]])
    assert spelt[0] == spelt[1]


OWN_NAMES = {json.loads(bytes(fields["name"])) for fields in definitions("search")}

MISTAKABLE = [
    # prefix, server, tool, separator
    pytest.param("", "s", "search_tools", ".", id="a bare name"),
    pytest.param(None, "search", "tools", ".", id="folded"),
    pytest.param(None, "list", "servers", "_", id="with a separator of the user's"),
    pytest.param(None, "call", "tool", "-", id="with another"),
]


@pytest.mark.parametrize(("prefix", "server", "name", "separator"), MISTAKABLE)
def test_no_tool_can_be_mistaken_for_one_of_our_own(prefix: str | None, server: str, name: str, separator: str) -> None:
    """Clients that fold names drop the second of two that coincide, or call the wrong one."""
    merged = Catalog([ServerConfig(name=server, command="x", prefix=prefix)])
    merged.put(server, Kind.TOOLS, ServerList((tool(name),)))
    whom = Audience(replace(CANONICAL, separator=separator), False)
    listed_names = [
        each["name"] for each in json.loads(bytes(tool_list(Spellings(merged), whom, definitions("search"), 120)))
    ]
    assert set(listed_names) >= OWN_NAMES
    assert len({fold(each) for each in listed_names}) == len(listed_names)


ODD = st.text("aA_.- é", max_size=4) | st.text(max_size=5) | st.just(LONG)
SERVERS = st.dictionaries(ODD.filter(bool), st.lists(ODD.filter(bool), unique=True, max_size=6), max_size=4)
PROFILES = st.builds(
    replace,
    st.sampled_from(list(BY_NAME.values())),
    separator=st.sampled_from([".", "__", "_", "-", "..", "_._"]),
    max_length=st.integers(16, 64),
)


@given(SERVERS, st.none() | st.just(""), PROFILES | st.sampled_from(list(BY_NAME.values())))
def test_shown_names_are_a_bijection_unique_after_folding_and_within_the_limit(
    servers: dict[str, list[str]], prefix: str | None, profile: Profile
) -> None:
    items = listed(servers, prefix)
    spelt = ShownNames(items, profile)
    every = [spelt[item] for item in items]
    assert len({fold(name) for name in every}) == len(items)
    for item, name in zip(items, every, strict=True):
        assert 0 < len(name) <= profile.max_length
        assert not re.search(profile.refused, name)
        assert spelt.find(name) is item
        for good in (name, item.name):  # shown and canonical, looked up the way a call's name is
            assert (spelt.find(good) or items.find(good)) is item


@given(SERVERS, st.none() | st.just(""), PROFILES | st.sampled_from(list(BY_NAME.values())))
def test_a_name_for_apps_means_nothing_else_to_anybody(
    servers: dict[str, list[str]], prefix: str | None, profile: Profile
) -> None:
    merged = Catalog([ServerConfig(name=name, command="x", prefix=prefix) for name in servers])
    for name, keys in servers.items():
        merged.put(name, Kind.TOOLS, ServerList(tuple(tool(key, _meta=FOR_APPS) for key in keys)))
    items = merged.tools()
    spelt = ShownNames(items, profile)
    for_apps = dict(spelt.for_apps())
    others = [spelt[item] for item in items if for_apps.get(item.key) is not item]
    assert len({fold(name) for name in (*for_apps, *others, *OWN_NAMES)}) == len(items) + len(OWN_NAMES)
    for name, item in for_apps.items():
        assert len(name) <= profile.max_length
        assert not re.search(profile.refused, name)
        assert spelt.find(name) in (None, item)  # and then what has it as its own name is asked for
        assert items.for_apps[name] is item
