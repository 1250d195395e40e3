"""Positions at which a text may be cut: not inside what a reader sees as one character.

The rules are those of Unicode's grapheme clusters (UAX #29) that matter for marks, emoji, flags and Hangul, without the
tables of the rest. Pure.
"""

import unicodedata

MOST_JOINED = 64
"""Code points that are looked at for the end of one character; a text may have any number of marks."""

_SIMPLE = "\u0300"
"""The first code point that may join what is before it, besides the line feed of a line ending."""
_ZERO_WIDTH_NON_JOINER, _ZERO_WIDTH_JOINER = "\u200c", "\u200d"
_MARKS = frozenset({"Mn", "Mc", "Me"})
_SKIN_TONES = "\U0001f3fb", "\U0001f3ff"
_TAGS = "\U000e0020", "\U000e007f"  # the letters in flags of regions
_FLAG_LETTERS = "\U0001f1e6", "\U0001f1ff"
_HANGUL_PARTS = "\u1160", "\u11ff"  # vowels and final consonants
_HANGUL = ("\u1100", "\u11ff"), ("\uac00", "\ud7a3")


def boundary_before(text: str, position: int) -> int:
    """Return the last position, up to this one, at which a text may be cut."""
    position = max(0, min(position, len(text)))
    for boundary in range(position, max(0, position - MOST_JOINED), -1):
        if not _is_inside(text, boundary):
            return boundary
    return position if position > MOST_JOINED else 0


def boundary_after(text: str, position: int) -> int:
    """Return the first position, from this one on, at which a text may be cut."""
    position = max(0, min(position, len(text)))
    for boundary in range(position, min(len(text), position + MOST_JOINED)):
        if not _is_inside(text, boundary):
            return boundary
    return min(len(text), position + MOST_JOINED)


def _is_inside(text: str, position: int) -> bool:
    """Return whether a position is inside a character."""
    if not 0 < position < len(text):
        return False
    before, after = text[position - 1], text[position]
    if after < _SIMPLE:
        return after == "\n" and before == "\r"
    if before == _ZERO_WIDTH_JOINER or _extends(after):
        return True
    if _is_in(before, _FLAG_LETTERS) and _is_in(after, _FLAG_LETTERS):
        return _flag_letters_before(text, position) % 2 == 1
    return _is_in(after, _HANGUL_PARTS) and any(_is_in(before, each) for each in _HANGUL)


def _extends(character: str) -> bool:
    """Return whether a code point belongs to the character before it."""
    if character in (_ZERO_WIDTH_JOINER, _ZERO_WIDTH_NON_JOINER):
        return True
    if _is_in(character, _SKIN_TONES) or _is_in(character, _TAGS):
        return True
    return unicodedata.category(character) in _MARKS


def _flag_letters_before(text: str, position: int) -> int:
    """Count the letters of flags right before a position."""
    count = 0
    while count < position and count < MOST_JOINED and _is_in(text[position - count - 1], _FLAG_LETTERS):
        count += 1
    return count


def _is_in(character: str, within: tuple[str, str]) -> bool:
    return within[0] <= character <= within[1]
