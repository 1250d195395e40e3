"""The quick look for `"engine": "own"`: it agrees with the parser, and finds the file that `serve` uses."""

import json
from pathlib import Path

import pytest

from search_mcp.config.location import approvals
from search_mcp.engine.setting import is_own, plain_options, says_own, shared_file

PLAIN = '{"mcpServers": {}}'
OWN = '{"mcpServers": {}, "settings": {"engine": "own"}}'


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (OWN, True),
        ("\ufeff" + OWN, True),
        ('{"mcpServers": {}, // a comment\n"settings": {"engine": "own",},}', True),
        (r'{"mcpServers": {}, "settings": {"\u0065ngine": "\u006fwn"}}', True),
        (PLAIN, False),
        ('{"mcpServers": {}, "settings": {"engine": "shared"}}', False),
        ('{"mcpServers": {}, "settings": {/* "engine": "own" */}}', False),
        ('{"mcpServers": {"own": {"command": "own"}}}', False),
        ('{"mcpServers": {"a": {"settings": {"engine": "own"}}}}', False),
        ('{"settings": ["engine", "own"]}', False),
        ('["own"]', False),
        ('{"engine": "own"', False),
        ("", False),
    ],
)
def test_the_setting_is_found_in_any_json_with_comments(text: str, verdict: bool) -> None:
    assert is_own(text.encode()) is verdict


def test_a_file_without_the_word_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", None)
    assert not is_own(PLAIN.encode())


def test_text_that_is_no_utf_8_is_left_to_the_engine_to_report() -> None:
    assert not is_own(OWN.encode("utf-16"))
    assert not is_own(OWN.encode() + b"\xff")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--config", "a", "--client=codex"], {"--config": "a", "--client": "codex"}),
        (["--config=a=b"], {"--config": "a=b"}),
        (["--conf", "a"], None),
        (["--config"], None),
        (["a"], None),
    ],
)
def test_only_whole_options_are_understood(arguments: list[str], options: dict[str, str] | None) -> None:
    assert plain_options(arguments) == options


def test_the_file_is_the_one_that_serve_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("HOME", str(tmp_path))
    variables = {"HOME": str(tmp_path)}
    named = tmp_path / "named.json"
    named.write_text(PLAIN)
    assert shared_file({"--config": "named.json"}, variables) == "named.json"
    assert shared_file({"--config": "~/named.json"}, variables) == str(named)
    assert shared_file({}, {**variables, "SEARCH_MCP_CONFIG": str(named)}) == str(named)
    assert not says_own(str(named))
    named.write_text(OWN)
    assert shared_file({"--config": "named.json"}, variables) is None
    assert says_own(str(named))


def test_what_cannot_be_read_is_reported_by_a_process_that_serves_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("HOME", str(tmp_path))
    variables = {"HOME": str(tmp_path)}
    assert shared_file({}, variables) is None
    assert shared_file({"--config": "nothing.json"}, variables) is None
    assert shared_file({"--config": "a\0b"}, variables) is None
    assert shared_file({"--config": str(tmp_path)}, variables) is None
    (tmp_path / "empty.json").touch()
    assert shared_file({"--config": "empty.json"}, variables) is None


@pytest.mark.skipif("sys.platform != 'linux'", reason="the folder of the user's own file is named by a variable")
def test_a_file_in_the_current_folder_counts_once_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project = tmp_path / "project"
    (project / "config").mkdir(parents=True)
    monkeypatch.chdir(project)
    own = tmp_path / "own" / "search-mcp" / "mcp-servers.json"
    own.parent.mkdir(parents=True)
    own.write_text(PLAIN)
    assert shared_file({}, {}) == str(own)
    (project / "config" / "mcp-servers.json").write_text(OWN)
    assert shared_file({}, {}) == str(own)
    own.write_text(OWN)
    (project / "config" / "mcp-servers.json").write_text(PLAIN)
    assert shared_file({}, {}) is None
    own.unlink()
    assert shared_file({}, {}) is None
    approvals().trust(project / "config" / "mcp-servers.json", [])
    assert shared_file({}, {}) == str(project / "config" / "mcp-servers.json")
