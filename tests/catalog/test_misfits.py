"""What a model is told about arguments that do not fit; `tests/own_tools/first_calls.txt` has those of real tools."""

from typing import Any

import pytest

from search_mcp.catalog.misfits import MOST_TOLD, misfits

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
EDIT = {"type": "object", "properties": {"old": TEXT, "new": TEXT}, "required": ["old"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "path": TEXT,
        "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
        "mode": {"enum": ["text", "binary"]},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "names": {"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]},
        "either": {"anyOf": [TEXT, EDIT]},
        "options": {"type": "object", "properties": {"deep": EDIT}, "additionalProperties": False},
        "free": {"type": "object", "additionalProperties": NUMBER},
        "a\nb": TEXT,
    },
    "required": ["path"],
    "$defs": {"edit": EDIT},
}
GOOD = {"path": "a"}

ROWS = [
    # arguments, what is told
    pytest.param(GOOD, [], id="they fit"),
    pytest.param([], ["they must be an object, not an array"], id="no object"),
    pytest.param({}, ["path is missing"], id="a missing one"),
    pytest.param({"file": "a"}, ["path is missing", "file is not a parameter"], id="another name"),
    pytest.param({**GOOD, "file": "a"}, ["file is not a parameter"], id="they fit, and there is an unknown one"),
    pytest.param({"path": 5}, ["path must be string, not 5"], id="a number"),
    pytest.param({"path": True}, ["path must be string, not true"], id="a truth value"),
    pytest.param({"path": ""}, [], id="an empty text is a text"),
    pytest.param({**GOOD, "mode": "x"}, ['mode must be "text"|"binary", not the string "x"'], id="not listed"),
    pytest.param({**GOOD, "limit": "5"}, ['limit must be integer|null, not the string "5"'], id="a number as text"),
    pytest.param(
        {**GOOD, "limit": ""},
        ['limit must be integer|null, not the string ""; leave it out instead'],
        id="an empty text for an optional one",
    ),
    pytest.param({**GOOD, "mode": None}, ['mode must be "text"|"binary", not null; leave it out instead'], id="null"),
    pytest.param({"path": None}, ["path must be string, not null"], id="null for a required one"),
    pytest.param(
        {**GOOD, "names": "a"},
        ['names must be string[]|null, not the string "a"; put it into an array'],
        id="one text for many",
    ),
    pytest.param(
        {**GOOD, "names": '["a"]'},
        [r'names must be string[]|null, not the string "[\"a\"]"; give the value itself, not JSON in a string'],
        id="JSON in a text",
    ),
    pytest.param(
        {**GOOD, "free": "{no JSON"},
        ['free must be Record<string, number>, not the string "{no JSON"'],
        id="a text that only begins like JSON",
    ),
    pytest.param({**GOOD, "edits": [{"new": "b"}]}, ["edits[0].old is missing"], id="within an array"),
    pytest.param(
        {**GOOD, "edits": [{"old": "b"}, {"old": 5, "x": 1}]},
        ["edits[1].x is not a parameter", "edits[1].old must be string, not 5"],
        id="within its second item",
    ),
    pytest.param(
        {**GOOD, "options": {"deep": {"old": []}}}, ["options.deep.old must be string, not an array"], id="deeper"
    ),
    pytest.param(
        {**GOOD, "either": 5}, ["either must be string|{old: string, new?: string}, not 5"], id="none of two types"
    ),
    pytest.param({"path": "a", "a\nb": 5}, [r'"a\nb" must be string, not 5'], id="a name with a line end"),
    pytest.param(
        {"path": ["x" * 100, "\u202e"]}, ["path must be string, not an array"], id="long and hidden texts in a list"
    ),
    pytest.param(
        {**GOOD, "mode": "\u202e" + "x" * 200},
        [r'mode must be "text"|"binary", not the string "\u202e' + "x" * 99 + '…"'],
        id="a long text with a hidden character",
    ),
]


@pytest.mark.parametrize(("arguments", "then"), ROWS)
def test_a_model_is_told_what_does_not_fit(arguments: Any, then: list[str]) -> None:
    assert misfits(arguments, SCHEMA) == then


OPEN = [
    pytest.param({}, id="nothing is known"),
    pytest.param({"properties": {}}, id="no properties are known"),
    pytest.param({"properties": {"b": TEXT}, "additionalProperties": True}, id="others are allowed"),
    pytest.param({"properties": {"b": TEXT}, "additionalProperties": {}}, id="of any type"),
    pytest.param({"properties": {"b": TEXT}, "patternProperties": {"a": {}}}, id="some others are allowed"),
]


@pytest.mark.parametrize("schema", OPEN)
def test_unknown_arguments_are_right_where_the_schema_is_open(schema: dict[str, Any]) -> None:
    assert misfits({"a": 1}, schema) == []


def test_a_few_of_many_mistakes_are_told() -> None:
    schema = {"properties": {}, "required": [f"p{number}" for number in range(1000)]}
    assert misfits({}, schema) == [f"p{number} is missing" for number in range(MOST_TOLD)]


def test_long_arguments_are_compared_in_little_time() -> None:
    """A check of every number would take seconds."""
    numbers = {"properties": {"a": {"type": "array", "items": NUMBER}}}
    assert misfits({"a": ["x", *range(1_000_000)]}, numbers) == ['a[0] must be number, not the string "x"']
    late = [*range(1_900), [1] * 1_000_000, "x"]
    rows = {"properties": {"a": {"type": "array", "items": {"anyOf": [NUMBER, {"type": "array", "items": NUMBER}]}}}}
    assert misfits({"a": late}, rows) == []  # undecided
    choices = {"anyOf": [{"const": each} for each in range(500)]}
    many = {"properties": {"a": {"type": "array", "items": choices}, "b": NUMBER}}
    assert misfits({"b": "x", "a": [499] * 1_000}, many) == ['b must be number, not the string "x"']


def test_a_mistake_that_is_nested_deeply_is_told() -> None:
    linked = {"type": "object", "properties": {"next": {"$ref": "#"}, "x": NUMBER}}
    value: dict[str, Any] = {"x": "wrong"}
    for _ in range(9):
        value = {"next": value}
    assert misfits(value, linked) == [f'{"next." * 9}x must be number, not the string "wrong"']
    for _ in range(100):
        value = {"next": value}
    assert misfits(value, linked) == []  # too deep to be compared


def test_a_mistake_that_cannot_be_placed_is_told() -> None:
    assert misfits({"a": 1}, {"not": {}, "anyOf": [{"required": ["b"]}]}) == ["they do not fit the schema"]


@pytest.mark.parametrize(("length", "then"), [(5, "object"), (0, "array")])
def test_a_long_type_is_only_named(length: int, then: str) -> None:
    many = {"type": "object", "properties": {f"a_long_name_{each}": TEXT for each in range(20)}}
    schema = {"properties": {"a": many if length else {"type": "array", "items": many}}}
    assert misfits({"a": 5}, schema) == [f"a must be {then}, not 5"]
