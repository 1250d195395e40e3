"""Sizes of payloads: exact for small ones, cheap for large ones."""

import json
from typing import Any

import pytest

from search_mcp.model.calls import Result
from search_mcp.usage.result_sizes import (
    LEAST_OF_INTEREST,
    WHOLLY_READ,
    characters,
    measured,
)
from search_mcp.wire.structs import Raw

LONG = "x" * (LEAST_OF_INTEREST + 1)


def raw(value: object) -> Raw:
    return Raw(json.dumps(value, ensure_ascii=False).encode())


def both(body: dict[str, Any]) -> list[Result]:
    """Return a result as its server wrote it, and as search-mcp rebuilt it."""
    return [Result(raw(body)), Result({key: raw(value) for key, value in body.items()})]


@pytest.mark.parametrize("text", ["", "plain", "naïve", "日本語のテキスト", "👩‍👩‍👧 emoji", "x" * 65_535 + "é" * 3])
def test_characters_are_counted_not_bytes(text: str) -> None:
    assert characters(raw(text)) == len(text) + 2


@pytest.mark.parametrize("character", ["é", "日", "😀"])
def test_a_character_between_two_chunks_counts_once(character: str) -> None:
    for before in range(4):
        text = "a" * before + character * 50_000
        assert characters(raw(text)) == len(text) + 2


def test_the_rest_of_a_very_large_payload_is_estimated() -> None:
    text = "日" * WHOLLY_READ
    assert characters(raw(text)) == pytest.approx(len(text), rel=0.01)
    assert characters(raw("x" * 3 * WHOLLY_READ)) == 3 * WHOLLY_READ + 2


def test_no_arguments_have_no_characters() -> None:
    assert characters(None) == 0


def test_the_size_of_a_result_is_that_of_its_json() -> None:
    body = {"content": [{"type": "text", "text": "日本"}]}
    assert measured(Result(raw(body)))[0] == len(json.dumps(body, ensure_ascii=False))


@pytest.mark.parametrize("content", [[], [{"type": "text", "text": "x" * 100_000}]], ids=["small", "large"])
@pytest.mark.parametrize(
    ("more", "is_error"),
    [
        ({"isError": True}, True),
        ({"isError": False}, False),
        ({}, False),
        ({"structuredContent": {"isError": True}}, False),
        ({"isError": "true"}, False),
    ],
)
def test_a_result_is_an_error_if_it_says_so_itself(content: Any, more: dict[str, Any], is_error: bool) -> None:
    for body in ({"content": content, **more}, {**more, "content": content}):
        assert [measured(result)[2] for result in both(body)] == [is_error] * 2


def text(result: Result) -> int | None:
    return measured(result)[1]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"content": [{"type": "text", "text": "short"}]}, None),
        ({"content": [{"type": "text", "text": LONG}, {"type": "text", "text": "\n日"}]}, len(LONG) + 2),
        ({"content": [{"type": "text", "text": LONG}], "structuredContent": {"a": LONG}}, len(LONG) + len('{"a": ""}')),
        ({"content": [{"type": "image", "data": LONG, "mimeType": "image/png"}]}, 0),
        ({"content": [{"type": "resource", "resource": {"uri": "a://b", "text": LONG}}]}, len(LONG)),
        ({"content": LONG}, 0),
        ({"content": [LONG, 7, {"text": 7}]}, 0),
    ],
    ids=["short", "texts", "structured", "image", "resource", "no list", "no blocks"],
)
def test_the_text_of_a_long_result_is_measured_as_clients_use_it(body: dict[str, Any], expected: int | None) -> None:
    assert [text(result) for result in both(body)] == [expected] * 2


def test_a_very_large_result_is_not_decoded() -> None:
    huge = "x" * (WHOLLY_READ + 1)
    shown = Result(raw({"content": [{"type": "text", "text": huge}]}))
    assert text(shown) == measured(shown)[0]
    for image in (
        {"type": "image", "data": huge, "mimeType": "image/png"},
        {"data": huge, "mimeType": "image/png", "type": "image"},
    ):
        assert text(Result(raw({"content": [image]}))) is None


def test_a_payload_that_is_no_object_is_no_error() -> None:
    assert not measured(Result(Raw(b'["isError":true')))[2]
