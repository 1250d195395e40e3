"""Where a text may be cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.results.characters import MOST_JOINED, boundary_after, boundary_before

FAMILY = "👨\u200d👩\u200d👧"
UNDIVIDED = [
    pytest.param("日", id="Japanese"),
    pytest.param("か\u3099", id="a kana and its voicing mark"),
    pytest.param("e\u0301", id="a letter and its accent"),
    pytest.param("நி", id="a letter and a spacing mark"),
    pytest.param(FAMILY, id="emoji joined to a family"),
    pytest.param("👍🏽", id="a skin tone"),
    pytest.param("❤\ufe0f", id="a variation selector"),
    pytest.param("🇯🇵", id="a flag of two letters"),
    pytest.param("🏴\U000e0067\U000e0062\U000e007f", id="a flag with tags"),
    pytest.param("\u1112\u1161\u11ab", id="Hangul in parts"),
    pytest.param("가\u11a8", id="Hangul with a final consonant"),
    pytest.param("\r\n", id="a line ending"),
]


@pytest.mark.parametrize("character", UNDIVIDED)
def test_no_cut_is_inside_a_character(character: str) -> None:
    text = f"ab{character}{character}cd"
    middle, end = 2 + len(character), 2 + 2 * len(character)
    for position in range(len(text) + 1):
        expected = position if position <= 2 or position >= end else 2 if position < middle else middle
        assert boundary_before(text, position) == expected
    for position in range(2, middle + 1):
        assert boundary_after(text, position) == (2 if position == 2 else middle)


@pytest.mark.parametrize(("text", "position", "then"), [("🇯🇵🇫🇷🇩🇪", 3, 2), ("🇯🇵🇫🇷🇩🇪", 4, 4), ("a🇯🇵🇫🇷", 3, 3)])
def test_flags_in_a_row_are_counted(text: str, position: int, then: int) -> None:
    assert boundary_before(text, position) == then


def test_endless_marks_are_cut() -> None:
    text = "a" + "\u0301" * 10_000
    assert boundary_before(text, 5000) == 5000
    assert boundary_after(text, 5000) == 5000 + MOST_JOINED
    assert boundary_before(text, 5) == 0


@given(
    st.text(alphabet=st.sampled_from(["a", "\u0301", "\u200d", "👩", "🇯", "🇵", "\r", "\n", "ᄀ", "ᅡ", "가"])),
    st.integers(),
)
def test_a_boundary_is_in_the_text_and_on_its_side(text: str, position: int) -> None:
    within = max(0, min(position, len(text)))
    assert 0 <= boundary_before(text, position) <= within <= boundary_after(text, position) <= len(text)
