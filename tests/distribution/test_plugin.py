"""The plugin: validated by the schemas of Agent Plugins, the validator of skills and Claude Code, which installs it."""

import json
import re
from typing import Any

import jsonschema_rs
import pytest
from checkout import ROOT
from real import packages

from distribution.conftest import Shell
from search_mcp.own_tools.definitions import NAMES

pytestmark = pytest.mark.installs

PLUGIN = ROOT / "packaging" / "plugin"
SKILL = PLUGIN / "skills" / "search-mcp"


@pytest.mark.parametrize("name", ["plugin", "mcp"])
def test_it_follows_the_schemas_that_it_names(name: str) -> None:
    document: dict[str, Any] = json.loads((PLUGIN / f"{name}.json").read_text("utf-8"))
    schema = packages.schema("agent_plugins", "1.0.0", name)
    assert schema["$id"] == document["$schema"]
    jsonschema_rs.validate(schema, document)
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(schema, {**document, "other": 1})


def test_its_skill_follows_the_specification(shell: Shell) -> None:
    assert "Valid skill" in shell.run("uvx", "--quiet", "--from", packages.SKILLS_REF, "agentskills", "validate", SKILL)


def test_its_skill_names_tools_that_exist() -> None:
    named = re.findall(r"`([a-z]+_[a-z_]+)`", (SKILL / "SKILL.md").read_text("utf-8"))
    assert named
    assert {*named} <= NAMES


@pytest.mark.skipif(not packages.has_node(), reason="npm installs Claude Code")
def test_claude_code_installs_it_from_the_repository(shell: Shell) -> None:
    plugin = [*packages.claude_code(), "plugin"]
    assert "Validation passed" in shell.run(*plugin, "validate", "--strict", PLUGIN)
    shell.run(*plugin, "install", "search-mcp", "--marketplace", ROOT)
    found = shell.run(*plugin, "details", "search-mcp")
    assert "Skills (1)  search-mcp" in found
    assert "MCP servers (1)  search-mcp" in found
