"""The quick look for a shared engine: it agrees with the parser, and is never sure without reason."""

import json
from pathlib import Path

import pytest

from search_mcp.engine.setting import is_shared, plain_options, shared_file

SHARED = '{"mcpServers": {}, "settings": {"engine": "shared"}}'


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (SHARED, True),
        ("\ufeff" + SHARED, True),
        ('{"mcpServers": {}, // a comment\n"settings": {"engine": "shared",},}', True),
        ('{"mcpServers": {}, "settings": {"engine": "own"}}', False),
        ('{"mcpServers": {}, "settings": {/* "engine": "shared" */}}', False),
        ('{"mcpServers": {"engine": {"command": "shared"}}}', False),
        ('{"mcpServers": {"a": {"settings": {"engine": "shared"}}}}', False),
        ('{"settings": ["engine", "shared"]}', False),
        ('["engine"]', False),
        ('{"engine": "shared"', False),
        ("", False),
    ],
)
def test_the_setting_is_found_in_any_json_with_comments(text: str, verdict: bool) -> None:
    assert is_shared(text.encode()) is verdict


def test_text_that_is_no_utf_8_is_not_shared() -> None:
    assert not is_shared(SHARED.encode("utf-16"))
    assert not is_shared(SHARED.encode() + b"\xff")


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
    named.write_text(SHARED)
    assert shared_file({"--config": "named.json"}, variables) == "named.json"
    assert shared_file({"--config": "~/named.json"}, variables) == str(named)
    assert shared_file({}, {**variables, "SEARCH_MCP_CONFIG": str(named)}) == str(named)
    assert shared_file({"--config": "nothing.json"}, variables) is None
    assert shared_file({"--config": str(tmp_path)}, variables) is None
    assert shared_file({}, variables) is None


@pytest.mark.skipif("sys.platform != 'linux'", reason="the folder of the user's own file is named by a variable")
def test_the_users_own_file_counts_where_the_folder_has_one_that_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project = tmp_path / "project"
    (project / "config").mkdir(parents=True)
    monkeypatch.chdir(project)
    own = tmp_path / "own" / "search-mcp" / "mcp-servers.json"
    own.parent.mkdir(parents=True)
    own.write_text(SHARED)
    assert shared_file({}, {}) == str(own)
    (project / "config" / "mcp-servers.json").write_text(json.dumps({"mcpServers": {}}))
    assert shared_file({}, {}) == str(own)
    own.unlink()
    (project / "config" / "mcp-servers.json").write_text(SHARED)
    assert shared_file({}, {}) is None
