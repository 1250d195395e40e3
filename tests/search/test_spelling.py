"""Correction of mistyped words."""

import pytest

from search_mcp.search.spelling import Spelling


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("mesage", ["message"]),  # one letter missing
        ("messagge", ["message"]),  # one too many
        ("massage", ["message"]),  # another one
        ("emssage", ["message"]),  # two swapped, at the beginning
        ("messaeg", ["message"]),  # and at the end
        ("dirctroy", ["directory"]),  # two mistakes in a long word
        ("mssgae", []),  # two in a short one
        ("fil", []),  # too short
        ("x" * 30, []),
        ("raed", ["read"]),
    ],
)
def test_nearest(typed: str, expected: list[str]) -> None:
    spelling = Spelling()
    spelling.add(["message", "directory", "file", "read", "42", "id"])
    assert spelling.nearest(typed)[0] == expected


def test_all_nearest_words_are_returned() -> None:
    spelling = Spelling()
    spelling.add(["place", "plane"])
    assert spelling.nearest("placed") == (["place"], 1)
    assert spelling.nearest("plaxe") == (["place", "plane"], 1)


def test_a_word_is_known_until_its_last_text_is_removed() -> None:
    spelling = Spelling()
    spelling.add(["message"])
    spelling.add(["message", "id"])
    spelling.discard(["message"])
    assert spelling.nearest("mesage") == (["message"], 1)
    spelling.discard(["message", "id"])
    assert spelling.nearest("mesage") == ([], 0)
