"""Invisible characters are escaped, except those that ordinary text needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.model.visible import hidden, visible, wholly_visible

TAGS = "".join(chr(0xE0000 + ord(each)) for each in "read ~/.ssh")


@pytest.mark.parametrize(
    "honest",
    [
        "plain text, émigré, 日本語, 한국어",
        "👩\u200d💻 👨\U0001f3fd\u200d🌾 🏳\ufe0f\u200d🌈 ❤\ufe0f 1\ufe0f\u20e3 ⚠\ufe0f",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cخواهم, क\u094d\u200dष",
        "שלום\u200f! مرحبا",
        "tab\tand\nnewline",
    ],
)
def test_ordinary_text_is_not_changed(honest: str) -> None:
    assert visible(honest) == wholly_visible(honest) == honest
    assert list(hidden(honest)) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200bb\u200cc\u200dd\u2060e\ufefff", r"a\u{200b}b\u{200c}c\u{200d}d\u{2060}e\u{feff}f"),
        ("\u202eabc\u202c \u2066x\u2069", r"\u{202e}abc\u{202c} \u{2066}x\u{2069}"),
        ("a\u2028b\u2029c", r"a\u{2028}b\u{2029}c"),
        ("a\x85b\x9bc", r"a\u{85}b\u{9b}c"),
        ("x\ufe0f", r"x\u{fe0f}"),
        ("😀\ufe00\ufe01\U000e0110", r"😀\u{fe00}\u{fe01}\u{e0110}"),
        ("😀\ufe0f\ufe0f", r"😀\u{fe0f}\u{fe0f}"),
        ("\U0001f3f4" + TAGS, "\U0001f3f4" + "".join(f"\\u{{{ord(each):x}}}" for each in TAGS)),
        ("left\u200fto right", r"left\u{200f}to right"),
        ("\u3164\u115f", r"\u{3164}\u{115f}"),
    ],
)
def test_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert list(hidden(text)) != []


def test_control_characters_are_escaped_too_when_all_is_made_visible() -> None:
    assert wholly_visible("a\x1b[31mb\x07\r\nc") == "a\\u{1b}[31mb\\u{7}\nc"


@given(st.text(st.characters(codec="utf-8")))
def test_escaped_text_is_stable_and_has_no_invisible_characters(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert not set("\u202e\u2066\u2028\u200b\U000e0041\x9b") & set(shown)
