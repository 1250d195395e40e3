"""The searched texts of a tool."""

from typing import Any

import pytest

from search_mcp.search.documents import Document, server_texts, tool_texts


def texts(document: Document) -> dict[str, str]:
    return {field.label: text.strip() for field, text in (*tool_texts(document), *server_texts(document))}


@pytest.mark.parametrize(
    ("description", "summary", "rest"),
    [
        ("", "", ""),
        ("Only one", "Only one", ""),
        ("Reads e.g. a file. Then stops.", "Reads e.g.", "a file. Then stops."),
        ("  A line\nanother", "A line", "another"),
        ("請求書を作成します。金額を指定。", "請求書を作成します。", "金額を指定。"),
    ],
)
def test_the_first_sentence_is_a_field(description: str, summary: str, rest: str) -> None:
    found = texts(Document("n", "s", "t", description))
    assert (found["summary"], found["description"]) == (summary, rest)


def test_parameters_are_read_with_their_texts() -> None:
    schema = {
        "properties": {
            "path": {"description": "Where it is", "enum": ["here", 1]},
            "options": {"properties": {"deep": {"description": "How deep"}}},
            "lines": {"items": {"properties": {"text": {}}}},
        }
    }
    found = texts(Document("n", "s", "t", input_schema=schema))
    assert found["parameters"] == "path options lines deep text"
    assert found["parameter text"].split() == ["Where", "it", "is", "here", "How", "deep"]


@pytest.mark.parametrize("schema", [None, {}, {"properties": []}, {"properties": {"a": True, "b": None}}, {"items": 3}])
def test_schemas_of_the_wrong_shape_are_ignored(schema: Any) -> None:
    assert texts(Document("n", "s", "t", input_schema=schema))["parameter text"] == ""


def test_a_schema_that_contains_itself_is_read_to_a_depth() -> None:
    schema: dict[str, Any] = {"properties": {}}
    schema["properties"]["again"] = schema
    assert texts(Document("n", "s", "t", input_schema=schema))["parameters"] == "again again again"


def test_texts_are_read_to_a_limit() -> None:
    schema = {"properties": {f"parameter{number}": {"description": "x" * 1_000} for number in range(10_000)}}
    found = texts(Document("n", "s", "t", "y" * 10**6, schema, server_description="z" * 10**6))
    assert all(len(text) <= 10_000 for text in found.values())


def test_a_servers_texts() -> None:
    document = Document("n", "s", "t", server_title="Title", server_description="About", category="c", tags=("x", "y"))
    assert texts(document)["server"] == "s Title c x y"
    assert texts(document)["server text"] == "About"
