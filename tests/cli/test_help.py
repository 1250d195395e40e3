"""The help of every command, exactly as it is printed, with any release of typer.

After an intended change: `UPDATE_SCREENS=1 .venv/bin/pytest tests/cli/test_help.py`, then read the difference.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.conftest import Place
from cli.snapshots import compare
from search_mcp.cli import main
from search_mcp.cli.app import application

TEXTS = Path(__file__).parent / "help"


def _paths(group: Any, *before: str) -> Iterator[tuple[str, ...]]:
    yield before
    for name, command in group.commands.items():
        yield from _paths(command, *before, name) if hasattr(command, "commands") else [(*before, name)]


PATHS = [*_paths(typer.main.get_command(application()))]


def _file(path: tuple[str, ...]) -> Path:
    return TEXTS / f"{'-'.join(path) or 'search-mcp'}.txt"


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.mark.usefixtures("at_home")
@pytest.mark.skipif(sys.platform != "linux", reason="the default config file has another path")
@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_the_help_of_a_command_is_unchanged(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*path, "--help"]) == 0
    compare(_file(path), capsys.readouterr().out)


def test_no_file_is_left_of_a_removed_command() -> None:
    assert {*TEXTS.iterdir()} == {*map(_file, PATHS)}


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_a_help_text_fits_and_has_all_its_parts(path: tuple[str, ...]) -> None:
    text = _file(path).read_text("utf-8")
    assert max(map(len, text.splitlines())) <= 80
    assert text.isascii()
    assert "[[" not in text
    assert not re.search(r"<\w+>", text)
    assert "Documentation: " in text
    if path and path not in {("auth",), ("config",), ("engine",), ("semantic",), ("token",)}:
        assert f"\nExamples:\n  search-mcp {' '.join(path)}" in text


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["help"], ["--help"]),
        (["-h"], ["--help"]),
        (["help", "check"], ["check", "--help"]),
        (["help", "config", "path"], ["config", "path", "-h"]),
        (["config"], ["config", "--help"]),
        (["serve", "-h"], ["help", "serve"]),
        (["--client", "cursor", "--help"], ["help", "serve"]),
        (["-V"], ["--version"]),
        (["version"], ["--version"]),
    ],
)
def test_the_ways_to_ask_for_help(place: Place, words: list[str], same: list[str]) -> None:
    ended, wanted = place.run(*words), place.run(*same)
    assert (ended.code, ended.err, ended.out) == (0, "", wanted.out)
    assert ended.out


def test_help_of_a_command_that_does_not_exist(place: Place) -> None:
    ended = place.run("help", "chek")
    assert (ended.code, ended.out) == (2, "")
    assert "chek" in ended.err
    assert "check" in ended.err


def test_options_of_the_command_that_is_added(place: Place) -> None:
    ended = place.run("add", "foo", "npx", "-y", "bar")
    assert ended.code == 2
    assert "put -- before the command, as in: search-mcp add NAME -- npx -y PACKAGE" in ended.err
