"""`add`, `import` and `install` start the servers once, so that the first list of every client is complete."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from first_list import visit

from cli.conftest import COMMAND, Place, server
from cli.test_command_cache import Counted

WANTED = {"box__echo", "box__measure"}


def desktop(place: Place) -> Path:
    """The file of an installed Claude Desktop."""
    path = place.folder / ".config" / "Claude" / "claude_desktop_config.json"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def home(place: Place) -> Place:
    return replace(place, variables={**place.variables, "XDG_CONFIG_HOME": str(place.folder / ".config")})


@pytest.mark.usefixtures("engines_to_stop")
def test_install_makes_the_first_list_complete(home: Place) -> None:
    box = Counted(home.folder, "box")
    desktop(home).write_text(json.dumps({"mcpServers": {"box": box.entry, "dying": server("dying")}}))
    ended = home.run("install", "claude-desktop", "--replace")
    assert ended.code == 0
    assert "Ready: 7 tools of 1 server." in ended.err
    assert "Failed: dying (" in ended.err
    assert box.starts == 1
    box.script.unlink()  # it cannot start any more, so a list comes from the cache
    visit([*COMMAND, "serve"], "claude-ai", WANTED, folder=home.folder, environment=home.variables)


def test_import_caches_the_tools_of_the_clients_servers(home: Place) -> None:
    box = Counted(home.folder, "box")
    desktop(home).write_text(json.dumps({"mcpServers": {"box": box.entry}}))
    assert "Ready: 7 tools." in home.run("import").err
    assert home.run("import").code == 0
    assert home.run("install", "claude-desktop").code == 0
    assert box.starts == 1, "its tools are cached after the import"


def test_add_starts_what_it_adds_and_names_the_clients_to_restart(home: Place) -> None:
    box, other = Counted(home.folder, "box"), Counted(home.folder, "other")
    (home.folder / ".cursor").mkdir()
    desktop(home).write_text("{}")
    assert home.run("install", "claude-desktop", "cursor").code == 0
    ended = home.run("add", "box", "--json", json.dumps(box.entry))
    assert (ended.code, ended.err) == (0, "Ready: 7 tools.\nClaude Desktop notices this after a restart.\n")
    assert home.run("install", "claude-desktop", "--servers", "box", "--no-start").code == 0
    assert home.run("add", "other", "--json", json.dumps(other.entry)).err == "Ready: 7 tools.\n"
    assert (box.starts, other.starts) == (1, 1)
    for words in (["disable", "box.echo"], ["enable", "box.echo"], ["disable", "box"], ["remove", "box"]):
        assert home.run(*words).err == "Claude Desktop notices this after a restart.\n"
    assert home.run("disable", "other").err == ""  # that client does not have it


def test_add_says_why_what_it_added_does_not_start(place: Place) -> None:
    for command, reason in ((sys.executable, "it exited with code 3"), ("no-such-program", "was not found on PATH")):
        ended = place.run("add", "bad", "--", command, "-c", "exit(3)")
        assert ended.code == 0
        assert f"Failed: bad ({reason if command == sys.executable else ''}" in ended.err
        assert reason in ended.err
        assert "`search-mcp check bad` tries again." in ended.err
        assert place.run("remove", "bad").code == 0


def test_add_tries_a_server_again_whose_start_has_failed(place: Place) -> None:
    box = Counted(place.folder, "box")
    text = box.script.read_text(encoding="utf-8")
    box.script.write_text("exit(3)", encoding="utf-8")
    assert "Failed: box" in place.run("add", "box", "--json", json.dumps(box.entry)).err
    box.script.write_text(text, encoding="utf-8")
    assert place.run("remove", "box").code == 0
    assert place.run("add", "box", "--json", json.dumps(box.entry)).err == "Ready: 7 tools.\n"


def test_add_with_no_start_starts_nothing(place: Place) -> None:
    box = Counted(place.folder, "box")
    ended = place.run("add", "box", "--no-start", "--json", json.dumps(box.entry))
    assert (ended.code, ended.err) == (0, "Next: search-mcp check box\n")
    assert box.starts == 0


def test_only_requested_servers_are_started(home: Place) -> None:
    box = Counted(home.folder, "box")
    desktop(home).write_text(json.dumps({"mcpServers": {"box": box.entry}}))
    for words in (["import", "--dry-run"], ["install", "claude-desktop", "--replace", "--dry-run"]):
        assert home.run(*words).code == 0
    for words in (["import", "--no-start"], ["install", "claude-desktop", "--no-start"]):
        assert home.run(*words).code == 0
    assert box.starts == 0


def test_an_install_without_any_servers_says_so(home: Place) -> None:
    desktop(home)
    ended = home.run("install", "claude-desktop")
    assert ended.code == 0
    assert "There are no servers yet: run `search-mcp import`" in ended.err


def test_the_servers_of_a_named_file_are_not_started(home: Place) -> None:
    box = Counted(home.folder, "box")
    (home.folder / "strangers.json").write_text(json.dumps({"mcpServers": {"box": box.entry}}))
    assert home.run("import", "strangers.json").code == 0
    assert box.starts == 0


def test_a_bridge_is_left_to_check(home: Place) -> None:
    """mcp-remote may open a browser to log in."""
    marker = home.folder / "started"
    program = home.folder / "npx"
    program.write_text(f"#!/bin/sh\necho x > {marker}\n")
    program.chmod(0o755)
    desktop(home).write_text(
        json.dumps({"mcpServers": {"web": {"command": "npx", "args": ["mcp-remote", "https://h/", "--device-code"]}}})
    )
    ended = home.run("import", PATH=f"{home.folder}{os.pathsep}{os.environ['PATH']}")
    assert ended.code == 0
    assert "Not started yet: web. `search-mcp check web` starts it." in ended.err
    assert not marker.exists()
