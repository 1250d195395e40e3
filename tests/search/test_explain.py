"""`search-mcp search --explain` in a process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SERVERS = Path(__file__).parents[1] / "cli" / "servers"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mcp-servers.json"
    toolbox = {"command": sys.executable, "args": [str(SERVERS / "toolbox.py")]}
    path.write_text(json.dumps({"mcpServers": {"toolbox": toolbox}}))
    return path


def run(config: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "search_mcp", "search", "--explain", "--config", str(config), *words]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)


def test_a_person_sees_the_parts_of_a_score(config: Path) -> None:
    ended = run(config, "draw", "picture", "--limit", "1")
    assert ended.returncode == 0, ended.stderr
    first, *lines = ended.stdout.splitlines()
    assert first.startswith("1. toolbox.draw: ")
    assert any("draw (" in line and "in name" in line for line in lines)
    assert any("of the name matches" in line for line in lines)


def test_a_query_that_is_a_name_is_explained(config: Path) -> None:
    assert "ranked first: the query is the name of the tool" in run(config, "draw", "--limit", "1").stdout


def test_json_has_the_same_explanation(config: Path) -> None:
    ended = run(config, "draw", "--limit", "1", "--json")
    (tool,) = json.loads(ended.stdout)["tools"]
    assert tool["name"] == "toolbox.draw"
    why = tool["explanation"]
    assert why["placedFirst"] == "tool_name"
    assert why["score"] == pytest.approx(why["boost"] * sum(term["score"] for term in why["terms"]))


def test_a_query_names_an_unknown_server(config: Path) -> None:
    ended = run(config, "server:nope", "draw")
    assert "There is no server 'nope' (servers: toolbox)" in ended.stderr
    assert ended.stdout.startswith("1. toolbox.draw: ")


def test_no_tool_is_found(config: Path) -> None:
    ended = run(config, "xyzzyqwfp")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "no tool matches" in ended.stderr
