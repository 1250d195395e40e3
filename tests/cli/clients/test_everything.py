"""`uninstall --everything`: nothing of search-mcp is left, and only a person can ask for it."""

import sys
from pathlib import Path

import pytest

from cli.conftest import Place, server

if sys.platform != "win32":
    from cli.screen import Screen

BEFORE = '{"mcpServers": {"mine": {"command": "uvx", "args": ["mine"]}}}'


def used(place: Place) -> Path:
    """Use search-mcp as a person does: servers, a client with one of them, completion; return the client's file."""
    place.configure({"box": server("toolbox")})
    file = place.folder / ".claude.json"
    file.write_text(BEFORE)
    assert place.run("check").code == 0
    assert place.run("install", "claude-code", "--replace", "--no-start").code == 0
    (place.folder / ".bashrc").write_text(f"mine\n\nsource '{place.folder}/.bash_completions/search-mcp.sh'\n")
    (place.folder / ".bash_completions").mkdir()
    (place.folder / ".bash_completions" / "search-mcp.sh").write_text("complete")
    return file


def of_search_mcp(place: Place) -> list[Path]:
    return [each for each in place.folder.rglob("*") if "search-mcp" in str(each.relative_to(place.folder))]


@pytest.mark.skipif(sys.platform == "win32", reason="bash keeps its files elsewhere")
def test_nothing_is_left(place: Place) -> None:
    file = used(place)
    ended = place.run("uninstall", "--everything", "--all-found", "--yes")
    assert ended.code == 0, ended
    assert (file.read_text(), of_search_mcp(place)) == (BEFORE, [])
    assert "Claude Code: restored mine" in ended.err
    assert (place.folder / ".bashrc").read_text() == "mine\n"
    assert not (place.folder / ".bash_completions").exists()
    assert ended.out.splitlines()[-1].endswith("uninstall search-mcp")
    again = place.run("uninstall", "--everything", "--yes")
    assert (again.code, again.err) == (0, "There is nothing to remove.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="only administrators may make links")
def test_a_folder_behind_a_link_stays_and_is_named(place: Place) -> None:
    place.configure({})
    elsewhere = place.config.parent.rename(place.folder / "elsewhere")
    place.config.parent.symlink_to(elsewhere)
    ended = place.run("uninstall", "--everything", "--yes")
    assert (ended.code, of_search_mcp(place), [*elsewhere.iterdir()] != []) == (0, [], True)
    assert f"what it leads to stays: {elsewhere}" in " ".join(ended.err.split())


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
def test_a_person_is_told_what_is_lost_and_asked(place: Place) -> None:
    place.configure({})
    screen = Screen(place, "uninstall", "--everything", columns=100)
    screen.wait_for("your list of servers, logins and stored secrets? [y/N]")
    screen.press("n\r")
    assert (screen.end(), place.config.exists()) == (1, True)


@pytest.mark.parametrize("words", [["--dry-run"], []])
def test_nothing_is_removed_unless_a_person_agrees(place: Place, words: list[str]) -> None:
    used(place)
    before = {each: each.read_bytes() for each in of_search_mcp(place) if each.is_file()}
    ended = place.run("uninstall", "--everything", *words)
    assert ended.code == (0 if words else 2)
    assert str(place.config.parent) in ended.out
    assert "The entry of Claude Code, in " in ended.out
    assert words or "this needs a person" in ended.err
    assert {each: each.read_bytes() for each in before if each.exists()} == before


def test_the_configuration_stays_while_a_client_cannot_be_restored(place: Place) -> None:
    file = used(place)
    file.write_text("{")
    ended = place.run("uninstall", "--everything", "--yes")
    assert (ended.code, "a client could not be restored" in " ".join(ended.err.split())) == (1, True)
    assert place.config.exists()
