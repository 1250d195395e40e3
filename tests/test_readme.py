"""Every command and snippet of the README, as it stands there."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from search_mcp.config import parse

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", README, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(text) for _, text in found]


SET_UP, TESTS, CHECK, BENCHMARK, *FOR_PEOPLE = [line for block in blocks("sh") for line in block.splitlines()]
SERVERS, CLAUDE_DESKTOP = blocks("json")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with the README's servers in it, and search-mcp on the PATH."""
    (tmp_path / "mcp-servers.json").write_text(SERVERS, "utf-8")
    return tmp_path


def run(command: str, home: Path, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("SEARCH_MCP_CONFIG", None)
    return subprocess.run(
        command, shell=True, cwd=cwd or home, env=environment, capture_output=True, text=True, timeout=300
    )


def test_a_stranger_sets_it_up_and_sees_it_work(tmp_path: Path) -> None:
    """The first command, on files as a clone has them, and nothing else."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    checkout = tmp_path / "search-mcp"
    for name in listed.stdout.splitlines():
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    done = run(SET_UP, tmp_path, checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "time.get_current_time" in done.stdout


def test_ci_runs_the_command_that_passes_the_tests() -> None:
    assert TESTS in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_the_servers_start(home: Path) -> None:
    done = run(CHECK, home)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_figures_are_the_benchmarks(home: Path) -> None:
    """The README's row of ours, to the last digit; FastMCP is not installed here, so its row is left out."""
    done = run(BENCHMARK, home, ROOT)
    assert done.returncode == 0, done.stderr
    figures = re.search(r"^\| search-mcp \| (.*?) \| (.*?) \| (.*?) \|$", README, re.MULTILINE)
    assert figures is not None
    measured = re.findall(r"^\| \*\*macro average\*\* \| 231 \| ([\d.]+) ", done.stdout, re.MULTILINE)
    assert measured == list(figures.groups())


@pytest.mark.parametrize("command", FOR_PEOPLE)
def test_commands_for_people(command: str, home: Path) -> None:
    done = run(command, home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "time." in done.stdout or "Tokyo" in done.stdout


def test_what_goes_into_claude_desktop_serves(home: Path) -> None:
    text = CLAUDE_DESKTOP.replace("/full/path/to/.venv/bin", str(BIN)).replace("/full/path/to", str(home))
    entry = json.loads(text)["mcpServers"]["search-mcp"]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "claude-ai", "version": "1"}}
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
    assert {"time__get_current_time", "search_tools"} <= {tool["name"] for tool in answers[2]["tools"]}


def test_every_key_of_the_table_is_one() -> None:
    """The table names no key that the configuration would warn of."""
    keys = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", README, re.MULTILINE)))
    switches = dict.fromkeys(("enabled", "disabled", "inheritEnv", "pinTools"), False)
    values = {**switches, **dict.fromkeys(("env", "rename", "describe", "tools"), {})}
    lists = {"args", "pinned", "tags"}
    words = {"command": "x", "cwd": "~", "prefix": "p", "description": "d", "startup": "lazy", "protocol": "auto"}
    server = {key: values.get(key, [] if key in lists else words.get(key, 5)) for key in keys}
    assert len(server) > 15
    text = json.dumps({"mcpServers": {"s": server}})
    config = parse(text, source="x", variables={}, home="/h", config_dir="/c", python="/p")
    assert config.warnings == ()
