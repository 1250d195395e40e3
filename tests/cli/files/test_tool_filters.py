"""Switches of single tools: what they write into the configuration file."""

import json
from pathlib import Path
from typing import Any

import pytest

from search_mcp.catalog.items import is_allowed
from search_mcp.cli.files.editing import switch_tool
from search_mcp.cli.problem import Problem
from search_mcp.config import location
from search_mcp.page.commands import carried_out


def switched(path: Path, tools: Any, tool: str, *, is_on: bool) -> Any:
    """Switch a tool of a server with these `tools`; return what the file has afterwards."""
    entry = {"command": "x"} if tools is None else {"command": "x", "tools": tools}
    path.write_text(json.dumps({"mcpServers": {"one": entry}}))
    carried_out(path, lambda options: switch_tool(options, "one", tool, is_on=is_on))
    (server,) = location.read(path, {}).servers
    assert is_allowed(server, tool) is is_on
    return json.loads(path.read_text())["mcpServers"]["one"].get("tools")


@pytest.mark.parametrize(
    ("before", "tool", "after"),
    [
        (None, "a", {"deny": ["a"]}),
        ({"deny": ["b"]}, "a", {"deny": ["b", "a"]}),
        ({"allow": ["a", "b"]}, "a", {"allow": ["b"]}),
        ({"allow": ["a"]}, "a", {"allow": ["a"], "deny": ["a"]}),  # without any, all would be shown
        ({"allow": ["a*"]}, "a", {"allow": ["a*"], "deny": ["a"]}),
        ({"allow": ["a", "*"]}, "a", {"allow": ["a", "*"], "deny": ["a"]}),
        (["a", "b"], "a", ["b"]),
        (["*"], "a", {"allow": ["*"], "deny": ["a"]}),
        (None, "what?[1]*", {"deny": ["what[?][[]1][*]"]}),
    ],
)
def test_a_tool_is_hidden(tmp_path: Path, before: Any, tool: str, after: Any) -> None:
    assert switched(tmp_path / "servers.json", before, tool, is_on=False) == after


@pytest.mark.parametrize(
    ("before", "tool", "after"),
    [
        ({"deny": ["a"]}, "a", None),
        ({"deny": ["a", "b"]}, "a", {"deny": ["b"]}),
        ({"deny": ["a"], "allow": ["*"]}, "a", {"allow": ["*"]}),
        ({"allow": ["b"]}, "a", {"allow": ["b", "a"]}),
        (["b"], "a", ["b", "a"]),
        ({"deny": ["what[?][[]1][*]"]}, "what?[1]*", None),
        (None, "a", None),
    ],
)
def test_a_tool_is_shown(tmp_path: Path, before: Any, tool: str, after: Any) -> None:
    assert switched(tmp_path / "servers.json", before, tool, is_on=True) == after


@pytest.mark.parametrize("tools", [{"allow": "read_*"}, {"deny": [1]}])
def test_faulty_filters_are_left_to_the_user(tmp_path: Path, tools: Any) -> None:
    with pytest.raises(Problem, match='"tools" of one cannot be edited'):
        switched(tmp_path / "servers.json", tools, "a", is_on=False)


def test_a_pattern_that_hides_several_tools_is_left_to_the_user(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"the pattern 'delete_\*' in \"deny\" of one hides delete_all"):
        switched(tmp_path / "servers.json", {"deny": ["delete_*"]}, "delete_all", is_on=True)


def test_a_server_that_is_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    path.write_text('{"mcpServers": {}}')
    with pytest.raises(Problem, match="there is no server 'one'"):
        carried_out(path, lambda options: switch_tool(options, "one", "a", is_on=True))
