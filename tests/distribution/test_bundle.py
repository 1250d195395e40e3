"""The bundle: validated by the official tool, and started as by a host."""

import json
import os
import subprocess
import sys
from pathlib import Path

import first_list
import pytest
from checkout import ROOT
from real import packages

from distribution.conftest import SECONDS, Distributions, Shell
from search_mcp import __version__
from search_mcp.own_tools.definitions import NAMES

pytestmark = [
    pytest.mark.installs,
    pytest.mark.usefixtures("engines_to_stop"),
    pytest.mark.skipif(not (packages.has_node() or os.environ.get("CI")), reason="there is no Node.js 20 or newer"),
]

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}

# The command that a host would run: the manifest as read by the official tool.
READ_AS_A_HOST = """
import { readFileSync } from "node:fs";
const { getMcpConfigForManifest } = await import(process.argv[1]);
const [extensionPath, userConfig] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync(`${extensionPath}/manifest.json`, "utf-8"));
const options = { manifest, extensionPath, systemDirs: {}, userConfig: JSON.parse(userConfig), pathSeparator: "/" };
console.log(JSON.stringify(await getMcpConfigForManifest(options)));
"""


@pytest.fixture(scope="module")
def bundle(distributions: Distributions) -> Path:
    command = [sys.executable, str(ROOT / "packaging" / "mcpb.py"), str(distributions.wheel)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(distributions.wheel.with_name(f"search-mcp-{__version__}.mcpb"))
    return Path(done.stdout.strip())


@pytest.fixture
def unpacked(bundle: Path, shell: Shell) -> Path:
    _mcpb(shell, "unpack", bundle, shell.home / "extension")
    return shell.home / "extension"


def test_the_official_tool_finds_nothing_wrong(unpacked: Path, shell: Shell) -> None:
    assert "passes" in _mcpb(shell, "validate", unpacked)
    manifest = json.loads((unpacked / "manifest.json").read_text("utf-8"))
    assert (manifest["manifest_version"], manifest["server"]["type"]) == ("0.4", "uv")
    assert manifest["version"] == __version__
    assert {tool["name"] for tool in manifest["tools"]} == {*NAMES}


def test_it_serves_the_file_that_was_chosen(unpacked: Path, shell: Shell) -> None:
    chosen = shell.home / "chosen.json"
    chosen.write_text(json.dumps({"mcpServers": {"time": TIME}}), "utf-8")
    _serves(unpacked, shell, {"config_file": str(chosen)}, {"time__get_current_time", "search_tools"})


def test_without_a_choice_it_begins_a_file_to_fill_in(unpacked: Path, shell: Shell) -> None:
    _serves(unpacked, shell, {}, {"search_tools"})
    (begun,) = (path for path in shell.home.rglob("mcp-servers.json") if unpacked not in path.parents)
    filled = begun.read_text("utf-8").replace("{}", json.dumps({"time": TIME}))
    begun.write_text(filled, "utf-8")
    _serves(unpacked, shell, {}, {"time__get_current_time"})
    assert begun.read_text("utf-8") == filled


def _mcpb(shell: Shell, *words: str | Path) -> str:
    return shell.run(packages.node(), packages.bundles() / "dist" / "cli" / "cli.js", *words)


def _serves(unpacked: Path, shell: Shell, choices: dict[str, str], wanted: set[str]) -> None:
    """Start it as Claude Desktop does, and wait for tools."""
    library = (packages.bundles() / "dist" / "node.js").as_uri()
    read = [packages.node(), "--input-type=module", "--eval", READ_AS_A_HOST, library]
    start = json.loads(shell.run(*read, unpacked, json.dumps(choices)))
    command, environment = [start["command"], *start["args"]], {**shell.environment, **start["env"]}
    first_list.visit(command, "claude-ai", wanted, folder=shell.home, environment=environment)
