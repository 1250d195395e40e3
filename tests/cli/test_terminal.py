"""Cleaned output, and output into a closed pipe."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from search_mcp.cli import main
from search_mcp.cli.cleaning import clean, one_line
from search_mcp.cli.console import is_of_closed_pipe
from search_mcp.cli.problem import WRONG
from search_mcp.cli.terminal import Terminal
from search_mcp.wire.structs import Raw


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
        ("abc\u202edef\u2066ghi", r"abc\u{202e}def\u{2066}ghi"),
        ("a\u200bb\u2028c\x85d\U000e0041e", r"a\u{200b}b\u{2028}c\u{85}d\u{e0041}e"),
        ("日本語 😀 e\u0301 👩\u200d💻", "日本語 😀 e\u0301 👩\u200d💻"),
    ],
)
def test_clean(text: str, left: str) -> None:
    assert clean(text) == left


def test_one_line() -> None:
    assert one_line(" a\r\n\tb \x1b[0m\n c ") == "a b c"


@pytest.mark.parametrize(
    ("exc", "platform", "verdict"),
    [
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "linux", True),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "win32", True),
        (OSError(errno.EINVAL, "Invalid argument"), "win32", True),
        (OSError(errno.EINVAL, "Invalid argument", "a:b:c"), "win32", False),
        (OSError(errno.EINVAL, "Invalid argument"), "darwin", False),
        (OSError(errno.ENOSPC, "No space left on device"), "win32", False),
    ],
)
def test_errors_that_mean_a_closed_pipe(exc: OSError, platform: str, verdict: bool) -> None:
    assert is_of_closed_pipe(exc, platform) is verdict


class WindowsPipe(io.FileIO):
    """A pipe that fails like one on Windows whose reader has closed it."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise OSError(errno.EINVAL, "Invalid argument") from None


@contextmanager
def unread(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace stdout by a closed pipe on Windows."""
    reading, writing = os.pipe()
    os.close(reading)
    pipe = io.BufferedWriter(WindowsPipe(writing, "wb"))
    with io.TextIOWrapper(pipe, encoding="utf-8") as stdout, patch.context() as here:
        here.setattr(sys, "stdout", stdout)
        here.setattr(sys, "platform", "win32")
        yield


def test_output_into_a_closed_pipe_on_windows_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    with unread(monkeypatch):
        screen = Terminal()
        assert not screen.is_unread
        for _ in range(2):
            screen.text("x")
            assert screen.is_unread


def test_help_into_a_closed_pipe_on_windows_prints_no_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    main(["--help"])  # loads every module with the real platform
    capfd.readouterr()
    with unread(monkeypatch):
        assert main(["--help"]) == WRONG
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_json_keeps_numbers_that_python_cannot_read(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", written)
    screen = Terminal()
    members = f'"a": {"9" * 5000}, "b": 1e999, "c": "é\U0001f600"'
    screen.json(Raw(f"{{{members}}}".encode()))
    screen.raw_json(Raw(f"{{{members}}}".encode()))
    written.flush()
    shown = members.encode("ascii", "backslashreplace").decode() if encoding == "ascii" else members
    shown = shown.replace("\\xe9", "\\u00e9").replace("\\U0001f600", "\\ud83d\\ude00")
    indented = shown.replace(", ", ",\n  ")
    assert written.buffer.getvalue().decode(encoding) == f"{{\n  {indented}\n}}\n{{{shown}}}\n"


def test_a_command_to_copy_is_on_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Terminal()
    terminal.command_line("python -m pip install numpy onnxruntime tokenizers")
    terminal.error("a library is missing; this installs it", "pip install numpy")
    written = capsys.readouterr()
    assert written.out == "  python -m pip install numpy onnxruntime tokenizers\n"
    assert written.err == "error: a library is missing; this\ninstalls it:\n  pip install numpy\n"
