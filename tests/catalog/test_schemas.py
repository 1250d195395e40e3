"""Checks of arguments against a schema, within a fixed budget of work."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.catalog import schemas

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
EDIT = {
    "type": "object",
    "properties": {"oldText": TEXT, "newText": TEXT},
    "required": ["oldText", "newText"],
    "additionalProperties": False,
}
EDIT_FILE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "path": TEXT,
        "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
        "mode": {"enum": ["text", "binary", 1, None]},
        "encoding": {"anyOf": [TEXT, {"type": "null"}]},
        "lines": {"type": ["integer", "boolean"]},
        "headers": {"type": "object", "additionalProperties": TEXT},
        "x": {"const": True},
    },
    "required": ["path", "edits"],
    "additionalProperties": False,
    "$defs": {"edit": EDIT},
}
GOOD = {"path": "a", "edits": [{"oldText": "a", "newText": "b"}]}

ROWS = [
    # arguments, then
    pytest.param(GOOD, True, id="they fit"),
    pytest.param({}, False, id="none where some are required"),
    pytest.param({"path": "a"}, False, id="a required one is missing"),
    pytest.param({**GOOD, "file": "a"}, False, id="an unknown one where the schema is closed"),
    pytest.param({**GOOD, "path": 5}, False, id="another type"),
    pytest.param({**GOOD, "edits": GOOD["edits"][0]}, False, id="an object for an array"),
    pytest.param({**GOOD, "edits": [{"old": "a", "new": "b"}]}, False, id="other members of an item"),
    pytest.param({**GOOD, "edits": ["a"]}, False, id="items of another type"),
    pytest.param({**GOOD, "edits": []}, True, id="no items"),
    pytest.param({**GOOD, "mode": "text"}, True, id="one of a list"),
    pytest.param({**GOOD, "mode": "utf-8"}, False, id="none of a list"),
    pytest.param({**GOOD, "mode": True}, False, id="true is not 1"),
    pytest.param({**GOOD, "mode": None}, True, id="null where it is listed"),
    pytest.param({**GOOD, "encoding": None}, True, id="one of two schemas"),
    pytest.param({**GOOD, "encoding": 5}, False, id="neither of two schemas"),
    pytest.param({**GOOD, "lines": 5.0}, True, id="a whole number with a point"),
    pytest.param({**GOOD, "lines": 5.5}, False, id="a fraction for a whole number"),
    pytest.param({**GOOD, "lines": True}, True, id="one of two types"),
    pytest.param({**GOOD, "headers": {"a": "b"}}, True, id="other members of a type"),
    pytest.param({**GOOD, "headers": {"a": 1}}, False, id="other members of another type"),
    pytest.param({**GOOD, "x": False}, False, id="another constant"),
    pytest.param([], False, id="no object"),
]


@pytest.mark.parametrize(("arguments", "then"), ROWS)
def test_arguments_fit_or_not(arguments: Any, then: bool) -> None:
    assert schemas.fits(arguments, EDIT_FILE) is then
    assert jsonschema_rs.is_valid(EDIT_FILE, arguments) is then


UNKNOWN = [
    pytest.param({"type": "nonsense"}, id="no type"),
    pytest.param({"type": []}, id="an empty list of types"),
    pytest.param({"required": "a"}, id="required is no list"),
    pytest.param({"properties": {"a": {"$ref": "https://example.com/x.json"}}}, id="a schema elsewhere is not fetched"),
    pytest.param({"properties": {"a": {"$ref": "#/$defs/none"}}}, id="a reference to nothing"),
    pytest.param({"properties": {"a": {"$ref": "#" + "/a" * 10_000}}}, id="an endless reference"),
    pytest.param({"properties": {"a": {"$ref": "#/properties/a"}}}, id="a reference to itself"),
    pytest.param({"properties": {"a": 5, "b": None}}, id="no schemas"),
    pytest.param({"patternProperties": {"^a$": TEXT}, "additionalProperties": False}, id="patterns are not tried"),
    pytest.param({"anyOf": []}, id="no choices"),
]


@pytest.mark.parametrize("schema", UNKNOWN)
def test_arguments_fit_a_schema_that_is_not_understood(schema: dict[str, Any]) -> None:
    assert schemas.fits({"a": 1}, schema)


@contextmanager
def steps_counted() -> Iterator[list[int]]:
    """Count the calls of functions of `schemas`: a measure of work that does not depend on the machine."""
    count = [0]

    def on_event(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and frame.f_code.co_filename == schemas.__file__:
            count[0] += 1

    sys.setprofile(on_event)
    try:
        yield count
    finally:
        sys.setprofile(None)


def fan(keyword: str, width: int, levels: int) -> dict[str, Any]:
    """Return a short schema whose references fan out to `width ** levels` checks."""
    steps = {f"s{level}": {keyword: [{"$ref": f"#/$defs/s{level + 1}"}] * width} for level in range(levels)}
    last = {"type": "string"} if keyword == "anyOf" else {}
    return {"properties": {"a": {"$ref": "#/$defs/s0"}}, "$defs": {**steps, f"s{levels}": last}}


HOSTILE = [
    pytest.param(fan("anyOf", 10, 18), {"a": 1}, id="choices that fan out"),
    pytest.param(fan("allOf", 10, 18), {"a": 1}, id="demands that fan out"),
    pytest.param(fan("oneOf", 2, 500), {"a": 1}, id="and go deep"),
    pytest.param({"properties": {"a": {"enum": list(range(10**6))}}}, {"a": -1}, id="an endless list of values"),
    pytest.param({"required": ["a"] * 10**6}, {"a": 1}, id="an endless list of names"),
    pytest.param({"items": {}, "properties": {"a": {"items": TEXT}}}, {"a": ["x"] * 10**6}, id="an endless list"),
]


@pytest.mark.parametrize(("schema", "arguments"), HOSTILE)
def test_a_hostile_schema_costs_no_more_than_a_fixed_budget(schema: dict[str, Any], arguments: Any) -> None:
    with steps_counted() as count:
        schemas.fits(arguments, schema)
    assert count[0] < 10 * schemas.CHECKS


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["object", "#/$defs/a", "#"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "items", "enum", "anyOf", "const", "$ref", "$defs", "a"]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@given(JSON, st.dictionaries(st.sampled_from(["type", "properties", "required", "anyOf", "$defs", "$ref"]), JSON))
def test_any_object_is_taken_for_a_schema(arguments: Any, schema: dict[str, Any]) -> None:
    assert schemas.fits(arguments, schema) in (True, False)
    assert isinstance(schemas.compact(schema), dict)


def test_a_compact_schema_has_no_dialect_and_no_titles() -> None:
    written = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "EditFileArguments",
        "type": "object",
        "properties": {
            "title": {"title": "Title", "type": "string", "description": "Its title", "default": "title"},
            "edits": {"title": "Edits", "type": "array", "items": {"title": "Edit", "$ref": "#/$defs/E"}},
            "mode": {"anyOf": [{"title": "A", "const": 1}, True]},
        },
        "required": ["title"],
        "$defs": {"E": {"title": "E", "type": "object", "enum": [{"title": "kept"}]}},
    }
    assert schemas.compact(written) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Its title", "default": "title"},
            "edits": {"type": "array", "items": {"$ref": "#/$defs/E"}},
            "mode": {"anyOf": [{"const": 1}, True]},
        },
        "required": ["title"],
        "$defs": {"E": {"type": "object", "enum": [{"title": "kept"}]}},
    }


def test_a_schema_is_compacted_down_to_a_depth() -> None:
    deep: dict[str, Any] = {"title": "kept"}
    for _ in range(schemas.DEEPEST + 1):
        deep = {"title": "left out", "items": deep}
    inner: Any = schemas.compact(deep)
    for _ in range(schemas.DEEPEST + 1):
        assert inner.keys() == {"items"}
        inner = inner["items"]
    assert inner == {"title": "kept"}
