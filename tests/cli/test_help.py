"""The help of every command, exactly as it is printed, with any release of typer.

After an intended change: `UPDATE_SCREENS=1 .venv/bin/pytest tests/cli/test_help.py`, then read the difference.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.conftest import Place
from cli.snapshots import compare
from search_mcp.cli import main, other_words
from search_mcp.cli.app import application
from search_mcp.cli.help_text import PAGE, REPOSITORY

TEXTS = Path(__file__).parent / "help"
ROOT = Path(__file__).parents[2]
ROWS = 24
"""Lines of a usual terminal; the last one has the prompt."""


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
    assert text.splitlines()[-1].startswith(PAGE)
    if path and path not in {("auth",), ("config",), ("engine",), ("semantic",), ("token",)}:
        assert f"\nExamples:\n  search-mcp {' '.join(path)}" in text


def test_the_first_help_fits_a_usual_terminal_and_the_whole_one_has_every_command(place: Place) -> None:
    first, whole = place.run("--help"), place.run("help", "--all")
    assert (whole.code, whole.err) == (0, "")
    assert len(first.out.splitlines()) < ROWS
    assert "help --all" in first.out
    for path in PATHS[1:]:
        assert f"\n  {path[0]} " in whole.out
    assert max(map(len, whole.out.splitlines())) <= 80


def test_the_documentation_is_where_the_package_says() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert (
        urls["Repository"] == json.loads((ROOT / "server.json").read_text("utf-8"))["repository"]["url"] == REPOSITORY
    )
    for path in PATHS:
        assert _file(path).read_text("utf-8").splitlines()[-1] == f"{REPOSITORY}/blob/main/docs/commands.md"
    assert (ROOT / "docs" / "commands.md").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["status"], ["there is no command 'status'", "search-mcp servers", "search-mcp check"]),
        (["doctor", "--json"], ["search-mcp check"]),
        (["config", "show"], ["there is no command 'config show'", "search-mcp config path"]),
        (["restart", "time"], ["search-mcp engine stop"]),
        (["update"], ["pip install"]),
    ],
)
def test_a_word_of_another_tool_is_answered_with_the_command_that_does_it(
    place: Place, words: list[str], said: list[str]
) -> None:
    ended = place.run(*words)
    assert (ended.code, ended.out) == (2, "")
    assert all(each in ended.err for each in said), ended.err


def test_no_word_of_another_tool_is_a_command() -> None:
    assert all(other_words.instead_of(path) is None for path in PATHS[1:])


def test_every_command_that_is_given_for_a_word_exists() -> None:
    words = [*other_words._INSTEAD]  # the table is the subject
    named = [each.split() for word in words for each in re.findall(r"`search-mcp ([a-z ]+)", _answer(word))]
    known = {path[: len(names)] for path in PATHS for names in named}
    assert len(words) > 20
    assert [names for names in named if tuple(names) not in known] == []


def _answer(word: str) -> str:
    answer = other_words.instead_of(word.split())
    assert answer is not None
    return answer[1]


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
