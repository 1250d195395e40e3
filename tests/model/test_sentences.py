"""Names and texts in sentences: how many, and how much of each."""

import pytest

from search_mcp.model.sentences import LONGEST_NAME, MOST_NAMED, cut, enumerated, on_one_line


@pytest.mark.parametrize(
    ("text", "then"), [("", ""), ("x" * LONGEST_NAME, "x" * LONGEST_NAME), ("x" * 101, f"{'x' * 100}…")]
)
def test_a_long_text_is_cut(text: str, then: str) -> None:
    assert cut(text) == then


def test_many_names_are_counted_behind_the_first() -> None:
    names = [f"n{number}" for number in range(MOST_NAMED + 1_500)]
    assert enumerated(names[:2]) == "n0, n1"
    assert enumerated(names) == f"{', '.join(names[:MOST_NAMED])}, 1,500 more"
    assert enumerated({"x" * 101: None}) == f"{'x' * 100}…"


def test_what_is_not_printable_becomes_a_space() -> None:
    assert on_one_line(" a\n\tb\x1b[0m  c ") == "a b [0m c"
