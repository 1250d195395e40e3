"""Definitions that make clients drop a whole list are repaired or left out."""

import json
from typing import Any

import pytest

from catalog.samples import catalog, entry, names, server, tool
from search_mcp.catalog.remarks import problems
from search_mcp.catalog.repair import (
    LEFT_OUT,
    NO_FRONTMATTER,
    NO_MANIFEST,
    NO_SKILL_FILE,
    OPEN_SCHEMA,
    declares_read_only,
    is_left_out,
    repaired,
)
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
NAME = payload.encode("x")
EMPTY = {"type": "object"}
OPEN = {"type": "object", "properties": {}, "additionalProperties": True}


def mend(kind: Kind, definition: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    fields, remarks = repaired(kind, Entry("x", payload.fields(payload.encode(definition))))
    return json.loads(bytes(payload.encode(fields))), remarks


TOOLS = [
    pytest.param({}, {"inputSchema": OPEN}, id="no schema"),
    pytest.param({"inputSchema": {}}, {"inputSchema": OPEN}, id="an empty schema"),
    pytest.param(
        {"inputSchema": {"properties": {}}}, {"inputSchema": {"type": "object", "properties": {}}}, id="no type"
    ),
    pytest.param(
        {"inputSchema": {**SCHEMA, "properties": []}}, {"inputSchema": {"type": "object"}}, id="PHP's empty list"
    ),
    pytest.param({"inputSchema": {**SCHEMA, "required": None}}, {"inputSchema": SCHEMA}, id="required: null"),
    pytest.param(
        {"inputSchema": {"type": "object", "properties": {"a": True, "b": {"type": "string"}}}},
        {"inputSchema": {"type": "object", "properties": {"a": {}, "b": {"type": "string"}}}},
        id="a property that is true",
    ),
    pytest.param(
        {"inputSchema": SCHEMA, "annotations": {"title": None, "readOnlyHint": True}},
        {"inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
        id="annotations as a Python model dumps them",
    ),
    pytest.param({"inputSchema": SCHEMA, "annotations": 5}, {"inputSchema": SCHEMA}, id="annotations of a wrong type"),
    pytest.param(
        {"inputSchema": SCHEMA, "execution": {"taskSupport": "maybe"}}, {"inputSchema": SCHEMA}, id="execution"
    ),
    pytest.param({"inputSchema": SCHEMA, "icons": [{}]}, {"inputSchema": SCHEMA}, id="an icon without src"),
    pytest.param(
        {"inputSchema": SCHEMA, "outputSchema": {"type": "object", "properties": []}},
        {"inputSchema": SCHEMA, "outputSchema": {"type": "object"}},
        id="an output schema with a list",
    ),
    pytest.param({"inputSchema": SCHEMA, "title": 5}, {"inputSchema": SCHEMA}, id="a title that is none"),
]


@pytest.mark.parametrize(("definition", "then"), TOOLS)
def test_a_tool_is_repaired_with_a_remark(definition: dict[str, Any], then: dict[str, Any]) -> None:
    mended, remarks = mend(Kind.TOOLS, {"name": "x", **definition})
    assert mended == {"name": "x", **then}
    assert len(remarks) == 1


def test_a_tool_that_takes_no_object_is_left_out() -> None:
    assert LEFT_OUT in mend(Kind.TOOLS, {"name": "x", "inputSchema": {"type": "string"}})[1]


def test_a_sound_definition_keeps_its_bytes() -> None:
    written = (
        b'{"inputSchema":{ "type":"object", "properties":{"a":{"maximum":1.0}} },"x":[ 1 ],"annotations":{"new":null}}'
    )
    fields = payload.fields(Raw(written))
    assert repaired(Kind.TOOLS, Entry("x", fields)) == (fields, ())


ABOUT, FILE = {"name": "x", "description": ""}, {"uri": "x", "digest": "sha256:0", "size": 1}
SKILLS = [
    # frontmatter, resources, remarks
    pytest.param(ABOUT, "dynamic", (), id="dynamic"),
    pytest.param({**ABOUT, "new": None}, [{**FILE, "new": 1}, {**FILE, "size": 1.0}], (), id="files"),
    pytest.param(ABOUT, [], (), id="no files"),
    pytest.param(None, [FILE], (NO_FRONTMATTER,), id="no frontmatter"),
    pytest.param({"name": "x"}, [FILE], (NO_FRONTMATTER,), id="no description"),
    pytest.param({**ABOUT, "name": 7}, [FILE], (NO_FRONTMATTER,), id="a name that is none"),
    pytest.param(ABOUT, None, (NO_MANIFEST,), id="no resources"),
    pytest.param(ABOUT, "Dynamic", (NO_MANIFEST,), id="another word"),
    pytest.param(ABOUT, {}, (NO_MANIFEST,), id="an object"),
    pytest.param(ABOUT, [FILE, {"uri": "x", "digest": "y"}], (NO_MANIFEST,), id="a file without a size"),
    pytest.param(ABOUT, [{**FILE, "size": "1"}], (NO_MANIFEST,), id="a size that is none"),
    pytest.param([], 7, (NO_FRONTMATTER, NO_MANIFEST), id="neither"),
]


@pytest.mark.parametrize(("frontmatter", "resources", "remarks"), SKILLS)
def test_a_skill_that_clients_refuse_is_left_out_and_any_other_keeps_its_bytes(
    frontmatter: object, resources: object, remarks: tuple[str, ...]
) -> None:
    """Nothing of it is repaired, whatever has the name of a tool's member."""
    more = {"name": 5, "_meta": [], "icons": [{}]}
    skill = entry("skill://x/SKILL.md", frontmatter=frontmatter, resources=resources, **more)
    assert repaired(Kind.SKILLS, skill) == (skill.fields, remarks)
    assert is_left_out(remarks) is bool(remarks)


def test_a_skill_whose_uri_names_no_directory_is_left_out() -> None:
    skill = entry("skill://SKILL.md", frontmatter=ABOUT, resources="dynamic")
    assert repaired(Kind.SKILLS, skill)[1] == (NO_SKILL_FILE,)


def test_a_prompt_with_an_argument_without_a_name_has_none() -> None:
    mended, _ = mend(Kind.PROMPTS, {"name": "p", "arguments": [{"description": "?"}]})
    assert mended == {"name": "p"}


def test_a_resource_without_a_name_is_called_by_its_uri() -> None:
    assert mend(Kind.RESOURCES, {"uri": "x"})[0] == {"uri": "x", "name": "x"}


@pytest.mark.parametrize(
    "key", ["annotations", "execution", "inputSchema", "outputSchema", "_meta", "icons", "arguments"]
)
def test_a_member_nested_too_deeply_does_not_affect_others(key: str) -> None:
    start, end = (b"[{", b"}]") if key in ("icons", "arguments") else (b'{"properties":{', b"}}")
    deep = Raw(start + b'"a":[' + b"[" * 100_000 + b"]" * 100_000 + b"]" + end)
    fields, remarks = repaired(Kind.TOOLS, Entry("x", {"inputSchema": payload.encode(SCHEMA), key: deep, "name": NAME}))
    assert fields["name"] == NAME
    assert LEFT_OUT not in remarks


@pytest.mark.parametrize(
    ("definition", "then"),
    [
        (b'{"annotations":{"readOnlyHint":true}}', True),
        (b'{"annotations":{"readOnlyHint":true,"destructiveHint":true}}', True),
        (b'{"annotations":{"readOnlyHint": true ,"x":[1]}}', True),
        (b'{"annotations":{"readOnlyHint":true,"readOnlyHint":false}}', False),
        (b'{"annotations":{"readOnlyHint":false}}', False),
        (b'{"annotations":{"readOnlyHint":"true"}}', False),
        (b'{"annotations":{"readOnlyHint":1}}', False),
        (b'{"annotations":{"readOnlyHint":null}}', False),
        (b'{"annotations":{"readOnlyHint":[true]}}', False),
        (b'{"annotations":{"readonlyHint":true}}', False),
        (b'{"annotations":[{"readOnlyHint":true}]}', False),
        (b'{"annotations":"readOnlyHint"}', False),
        (b'{"annotations":null}', False),
        (b'{"readOnlyHint":true}', False),
        (b'{"_meta":{"annotations":{"readOnlyHint":true}}}', False),
        (b"{}", False),
    ],
)
def test_only_a_plain_true_declares_a_tool_read_only(definition: bytes, then: bool) -> None:
    assert declares_read_only(payload.fields(Raw(definition))) is then


SCHEMAS = [
    # inputSchema as received (None: none), repaired inputSchema, remarks
    pytest.param(b'{"type":"object"}', b'{"type":"object"}', [], id="sound"),
    pytest.param(b'{ "x":1.0,"type":"object" }', b'{ "x":1.0,"type":"object" }', [], id="untouched"),
    pytest.param(None, bytes(OPEN_SCHEMA), ["it has no inputSchema; any arguments are let through"], id="none"),
    pytest.param(
        b"{}", bytes(OPEN_SCHEMA), ["it has no inputSchema; any arguments are let through"], id="an empty one"
    ),
    pytest.param(
        b"null",
        bytes(OPEN_SCHEMA),
        [
            "its inputSchema has the wrong type and is left out",
            "it has no inputSchema; any arguments are let through",
        ],
        id="null",
    ),
    pytest.param(
        b'{"properties":{"a":{"type":"string"}}}',
        b'{"type":"object","properties":{"a":{"type":"string"}}}',
        ['its inputSchema has no type; "object" is filled in'],
        id="no type",
    ),
    pytest.param(b'{"type":"array"}', None, [LEFT_OUT], id="another type"),
    pytest.param(b'{"type":["object","null"]}', None, [LEFT_OUT], id="a list of types"),
    pytest.param(b'{"type":null}', None, [LEFT_OUT], id="null for a type"),
]


@pytest.mark.parametrize(("raw", "then", "remarks"), SCHEMAS)
def test_an_input_schema_is_kept_or_repaired_or_left_out(
    raw: bytes | None, then: bytes | None, remarks: list[str]
) -> None:
    bare = entry("a", name="a")
    given_ = bare if raw is None else Entry("a", {**bare.fields, "inputSchema": Raw(raw)})
    fields, said = repaired(Kind.TOOLS, given_)
    assert list(said) == remarks
    merged = catalog((server("s"), ServerList((given_, tool("b")))))
    assert list(problems(merged)) == [("s", f"tools: a: {remark}") for remark in remarks]
    if then is None:
        assert names(merged.tools()) == ["s.b"]
    else:
        assert fields["inputSchema"] == Raw(then)
        assert names(merged.tools()) == ["s.a", "s.b"]


WRONG: list[tuple[str, object]] = [
    ("title", 5),
    ("title", None),
    ("description", {"en": "x"}),
    ("outputSchema", []),
    ("annotations", "x"),
    ("execution", True),
    ("_meta", 1),
    ("icons", {}),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_member_of_the_wrong_type_is_left_out(key: str, value: object) -> None:
    given_ = tool("a", zeta=1, **{key: value})
    fields, said = repaired(Kind.TOOLS, given_)
    assert fields == payload.without(given_.fields, key)
    assert said == (f"its {key} has the wrong type and is left out",)


def test_sound_and_unknown_members_are_not_changed() -> None:
    given_ = tool("a", title="t", icons=[], annotations={"x": 1}, unknown=[1.0], **{"com.example/x": None})
    assert repaired(Kind.TOOLS, given_) == (given_.fields, ())


@pytest.mark.parametrize("kind", [Kind.RESOURCES, Kind.TEMPLATES])
def test_a_resource_without_a_name_is_named_by_its_uri(kind: Kind) -> None:
    fields, said = repaired(kind, entry("x://{é}", uri="x://{é}"))
    assert payload.string(fields["name"]) == "x://{é}"
    assert said == ("it has no name; its URI stands in",)
    named = entry("x://y", uri="x://y", name="n")
    assert repaired(kind, named) == (named.fields, ())


def test_prompts_need_no_schema() -> None:
    given_ = entry("p", name="p", arguments=[{"name": "x"}])
    assert repaired(Kind.PROMPTS, given_) == (given_.fields, ())
