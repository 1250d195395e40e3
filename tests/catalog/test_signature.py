"""Input schemas written as signatures, within bounds of length and of work."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.catalog.signature import SIGNATURE_LENGTH, signature


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
        schema(['b"c\n2. d'], **{'b"c\n2. d': TEXT, "x" * 110: {"type": "string): run me("}}, e={"const": "\u202ef\n"}),
        't("b\\"c\\n2. d": string, "' + "x" * 100 + '…"?: any, e?: "\\u202ef\\n")',
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
def test_a_schema_is_written_as_a_signature(given_: dict[str, Any], then: str) -> None:
    assert signature("t", given_) == then


def said(text: str, kind: str = "string", **more: object) -> dict[str, Any]:
    return {"type": kind, "description": text, **more}


UNWRITTEN: list[object] = [None, False, "", [], {}, "x" * 50]
NOTED = [
    # schema, then
    pytest.param(schema(["a"], a=said("In HH:MM")), "t(a: string<HH:MM>)", id="a format"),
    pytest.param(
        schema(["a"], a=said("Like 'x'"), b=said("Like 'x'")), "t(a: string<e.g. x>, b?: string)", id="an example"
    ),
    pytest.param(schema(a=said("In seconds", "number", default=10)), "t(a?: number<seconds> = 10)", id="a unit"),
    pytest.param(schema(a={"type": "string", "default": "x", "enum": ["x"]}), 't(a?: "x" = "x")', id="a default"),
    pytest.param(schema(["a"], a={"type": "integer", "default": 3}), "t(a: integer)", id="of a required one"),
    pytest.param(
        schema(**{f"p{number}": {"default": value} for number, value in enumerate(UNWRITTEN)}),
        f"t({', '.join(f'p{number}?: any' for number in range(6))})",
        id="usual and long defaults",
    ),
    pytest.param(
        schema(a={"type": "boolean", "default": True}, b={"type": "integer", "default": 0}),
        "t(a?: boolean = true, b?: integer = 0)",
        id="true and 0",
    ),
    pytest.param(
        schema(
            a={"type": "integer", "minimum": 1, "maximum": 10},
            b={"type": "number", "minimum": 0, "maximum": 0.5},
            c={"type": "integer", "minimum": 1},
            d={"type": "integer", "minimum": 0, "maximum": 2**53},
            e={"type": "integer", "maximum": 9},
            f={"type": "number", "minimum": "1", "maximum": True},
        ),
        "t(a?: integer<1..10>, b?: number<0..0.5>, c?: integer<min 1>, d?: integer, e?: integer<max 9>, f?: number)",
        id="limits",
    ),
    pytest.param(
        schema(a=said("1-based", "integer", minimum=1), b=said("In bytes", "integer", maximum=9)),
        "t(a?: integer<1-based>, b?: integer<max 9 bytes>)",
        id="limits and units",
    ),
    pytest.param(
        schema(a={"anyOf": [TEXT, {"type": "null"}], "default": None, "description": "In HH:MM"}),
        "t(a?: string<HH:MM>)",
        id="null as the default",
    ),
    pytest.param(
        schema(
            a={"type": ["string", "null"], "default": None}, b={"type": ["null", "string", "number"], "default": None}
        ),
        "t(a?: string, b?: string|number)",
        id="null as the default, by type",
    ),
    pytest.param(
        schema(a={"anyOf": [TEXT, {"type": "null"}], "description": "In HH:MM"}),
        "t(a?: string<HH:MM>|null)",
        id="null that may mean something",
    ),
    pytest.param(schema(a={"type": ["null"], "default": None}), "t(a?: null)", id="null alone"),
    pytest.param(
        {**schema(a={"allOf": [NODE], "default": "x"}), "$defs": {"node": {"enum": ["x", "y"]}}},
        't(a?: "x"|"y" = "x")',
        id="a reference with a default",
    ),
    pytest.param(schema(a={"allOf": [TEXT, TEXT]}), "t(a?: any)", id="several demands"),
    pytest.param(
        schema(a={"type": "object", "additionalProperties": TEXT}), "t(a?: Record<string, string>)", id="a map"
    ),
    pytest.param(schema(a={"type": "array", "prefixItems": [TEXT, NUMBER]}), "t(a?: [string, number])", id="a pair"),
    pytest.param(
        schema(a={"type": "array", "items": schema(["x"], x=said("Like 'y'"))}),
        "t(a?: {x: string<e.g. y>}[])",
        id="nested",
    ),
    pytest.param(
        schema(["a"], a=said("Like '1'"), **{f"p{n}": said("As JSON") for n in range(16)}),
        f"t(a: string<e.g. 1>, {', '.join(f'p{n}?: string' for n in range(16))})",
        id="too long for all notes",
    ),
]


@pytest.mark.parametrize(("given_", "then"), NOTED)
def test_a_signature_says_what_is_known_of_values(given_: dict[str, Any], then: str) -> None:
    assert signature("t", given_) == then


def test_the_description_of_a_tool_is_read_for_what_it_says_of_parameters() -> None:
    given_ = schema(["path", "mode"], path=TEXT, mode=said("What to do"))
    described = "Do it.\n\nArgs:\n  path: a path, e.g. 'a.txt'\n  mode: one of x, y"
    assert signature("t", given_, description=described) == "t(path: string<e.g. a.txt>, mode: string)"


LOOPS = [
    # Recursive schemas are common: any JSON value, a tree of blocks, a filter of filters.
    pytest.param({"node": {"anyOf": [TEXT, {"type": "array", "items": NODE}]}}, id="a JSON value"),
    pytest.param({"node": {"type": "array", "items": NODE}}, id="lists of lists"),
    pytest.param({"node": {"anyOf": [NODE, TEXT]}}, id="a choice of itself"),
    pytest.param(
        {"node": {"oneOf": [schema(all_of={"type": "array", "items": NODE}), TEXT]}}, id="a filter of filters"
    ),
]


@pytest.mark.parametrize("defs", LOOPS)
def test_a_recursive_schema_has_a_signature(defs: dict[str, Any]) -> None:
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
def test_a_long_signature_counts_the_parameters_left_out(limit: int) -> None:
    given_ = schema(["p0"], **{f"p{number}": TEXT for number in range(99)})
    written = signature("t", given_, limit)
    assert len(written) <= limit
    found = re.fullmatch(r"t\((?:(.*), )?… (\d+) more\)", written)
    assert found is not None
    assert len((found[1] or "").split(", ") if found[1] else []) + int(found[2]) == 99


def test_a_huge_schema_has_a_signature_in_linear_time() -> None:
    """A quadratic step would take hours."""
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
def test_any_object_has_a_signature(given_: dict[str, Any]) -> None:
    assert signature("t", given_).startswith("t(")


@pytest.mark.parametrize("given_", [{}, {"properties": None}, {"properties": []}, {"properties": {}}])
def test_a_name_longer_than_the_limit_is_written_whole(given_: dict[str, Any]) -> None:
    assert signature("t" * SIGNATURE_LENGTH, given_) == "t" * SIGNATURE_LENGTH + "()"
