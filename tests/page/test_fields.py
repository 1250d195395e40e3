"""The form for each kind of schema, and the arguments that it means when it is filled."""

from typing import Any

import pytest

from search_mcp.cli.problem import Problem
from search_mcp.cli.tools.invocation import fitted
from search_mcp.page.fields import MOST_FIELDS, OTHERS, filled, form_for
from search_mcp.page.web import Form
from search_mcp.wire import payload

KINDS: list[tuple[Any, str, str, Any]] = [
    # the schema, the kind of its field, a text in it, and the argument
    ({"type": "string"}, "line", "Asia/Tokyo\n", "Asia/Tokyo"),
    ({"type": ["string", "null"]}, "line", "null", "null"),
    ({"type": "string", "maxLength": 201}, "text", "two\nlines\n", "two\nlines\n"),
    ({"type": "string", "maxLength": 200}, "line", "one ", "one "),
    ({"type": "integer"}, "integer", " 12345678901234567890 ", 12345678901234567890),
    ({"type": "number"}, "number", "2.5", 2.5),
    ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number", "3", 3),
    ({"type": "boolean"}, "choice", "true", True),
    ({"enum": ["a", 1, None]}, "choice", "1", 1),
    ({"anyOf": [{"$ref": "#/$defs/colour"}, {"type": "null"}]}, "choice", '"red"', "red"),
    ({"const": "only"}, "choice", '"only"', "only"),
    ({"type": "array", "items": {"type": "string"}}, "lines", "one\n\n two\n", ["one", " two"]),
    ({"type": "array", "items": {"type": "integer"}}, "json", "[1, 2]", [1, 2]),
    ({"type": "object", "properties": {"x": {"type": "number"}}}, "json", '{"x": 1.50}', {"x": 1.5}),
    ({"type": ["string", "integer"]}, "json", '"text"', "text"),
    ({}, "json", "null", None),
    (True, "json", "[]", []),
]
ROOT = {"type": "object", "$defs": {"colour": {"enum": ["red", "green"]}}}


@pytest.mark.parametrize(("schema", "shape", "text", "argument"), KINDS)
def test_each_kind_of_schema_has_a_field_and_its_text_an_argument(
    schema: Any, shape: str, text: str, argument: Any
) -> None:
    root = {**ROOT, "properties": {"key": schema}}
    made = form_for(root)
    (field,) = made.fields
    assert field.shape == shape
    given, words = filled(made, Form(((field.name, text),)))
    assert payload.value(payload.encode(fitted("tool", given, words, root))) == {"key": argument}


@pytest.mark.parametrize(
    ("key", "schema", "shape"),
    [
        ("timezone", {}, "line"),
        ("path", {"default": "a/b", "examples": 5, "maxLength": "many"}, "line"),
        ("country_code", {}, "line"),
        ("context", {}, "line"),
        ("code", {}, "text"),
        ("query_sql", {}, "text"),
        ("newText", {}, "text"),
        ("commit-message", {}, "text"),
        ("Body", {}, "text"),
        ("name", {"default": "one\ntwo"}, "text"),
        ("name", {"examples": ["one", "one\ntwo"]}, "text"),
        ("name", {"anyOf": [{"type": "string"}, {"type": "null"}], "default": "one\ntwo"}, "text"),
        ("name", {"anyOf": [{"type": "string", "maxLength": 1000}, {"type": "null"}]}, "text"),
    ],
)
def test_a_text_that_is_likely_long_has_several_lines(key: str, schema: Any, shape: str) -> None:
    schema = schema if "anyOf" in schema else {"type": "string", **schema}
    (field,) = form_for({"properties": {key: schema}}).fields
    assert field.shape == shape


def test_choices_have_their_texts() -> None:
    (field,) = form_for({"properties": {"key": {"enum": ["a b", 1, None]}}}).fields
    assert field.choices == (('"a b"', "a b"), ("1", "1"), ("null", "null"))


def test_required_arguments_come_first_and_defaults_are_told() -> None:
    properties = {"one": {"type": "integer", "default": 5}, "two": {"type": "string", "description": "Second."}}
    one, two = reversed(form_for({"properties": properties, "required": ["two", 7]}).fields)
    assert (one.key, one.is_required, one.about, one.type) == ("one", False, "(default: 5)", "integer")
    assert (two.key, two.is_required, two.about, two.type) == ("two", True, "Second.", "string")


def test_any_name_may_be_a_key() -> None:
    (field,) = form_for({"properties": {"<b> key": {"type": "string"}}}).fields
    assert (field.key, field.name, field.type) == ("<b> key", "argument <b> key", "string")


def test_an_empty_field_is_no_argument() -> None:
    made = form_for({"properties": {"key": {"type": "string"}, "other": {"type": "boolean"}}})
    assert filled(made, Form(tuple((each.name, "") for each in made.fields))) == ({}, [])


def test_arguments_without_a_field_are_given_as_one_object() -> None:
    schema = {"properties": {"key": {"type": "string"}}}
    made = form_for(schema)
    given, words = filled(made, Form(((made.fields[0].name, "b"), (OTHERS, '{"key": "a", "more": [1]}'))))
    assert payload.value(payload.encode(fitted("tool", given, words, schema))) == {"key": "b", "more": [1]}
    assert made.is_open
    assert not form_for({**schema, "additionalProperties": False}).is_open


@pytest.mark.parametrize(
    ("schema", "name", "text", "said"),
    [
        ({"type": "array"}, "argument key", "one", "the value of 'key' is not JSON"),
        ({"type": "array"}, "argument key", "[NaN]", "the value of 'key' is not JSON"),
        ({"enum": ["a"]}, "argument key", "a", "the value of 'key' is not JSON"),
        ({}, OTHERS, "[]", "the field for other arguments is not a JSON object"),
        ({}, OTHERS, '{"key"', "the field for other arguments is not JSON"),
    ],
)
def test_what_is_no_json_is_refused(schema: Any, name: str, text: str, said: str) -> None:
    with pytest.raises(Problem, match=said):
        filled(form_for({"properties": {"key": schema}}), Form(((name, text),)))


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {"key": 5}}, {"required": "key"}])
def test_a_wrong_schema_has_a_form(schema: Any) -> None:
    assert form_for(schema).is_open


def test_a_form_has_so_many_fields_whatever_the_schema_repeats() -> None:
    chain = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 50} for level in range(20)}
    properties = {f"p{number}": {"$ref": "#/$defs/d0"} for number in range(300)}
    made = form_for({"$defs": chain, "properties": properties, "required": ["p299"], "additionalProperties": False})
    assert len(made.fields) == MOST_FIELDS
    assert made.fields[0].key == "p299"
    assert made.is_open
