"""What reaches a terminal."""

import pytest

from search_mcp.cli.terminal import clean, one_line


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[H\x1b[?25lgone", "gone"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://x.test\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x9d0;a title\x9ctext", "text"),
        ("\x1bP1$r\x1b\\text", "text"),
        ("\x1b(Btext\x1b=\x1bc", "text"),
        ("\x1b", ""),
        ("\x1b]0;never ends", ""),
        ("10%\r20%\r\n", "10%\n20%\n"),
        ("a\x08b\x07c\x00d\x7fe", "abcde"),
        ("abc\u202edef\u2066ghi", "abcdefghi"),
        ("日本語 😀 e\u0301 👩\u200d💻", "日本語 😀 e\u0301 👩\u200d💻"),
    ],
)
def test_clean(text: str, left: str) -> None:
    assert clean(text) == left


def test_one_line() -> None:
    assert one_line(" a\r\n\tb \x1b[0m\n c ") == "a b c"
