"""Every command and snippet of the README, unchanged."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import first_list
import pytest
from checkout import ROOT, clone
from real import packages

from search_mcp.clients.found import usual_file
from search_mcp.clients.known import BY_NAME, CLIENTS, Machine
from search_mcp.engine.meeting import is_supported

README = (ROOT / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", README, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(text) for _, text in found]


(SET_UP,), (TESTS,), CLAUDE_DESKTOP, FOR_PEOPLE = map(str.splitlines, blocks("sh"))
(SERVERS,) = blocks("json")


INSTALLERS = dict(re.findall(r"^\| (pipx|uv) \| `(.*)` \|$", README, re.MULTILINE))
NOT_INHERITED = ("XDG_C", "XDG_D", "XDG_S", "SEARCH_MCP_")  # all per-user folders but the one of engines
(CHECKOUT,) = re.findall(r"^\| neither \| `(.*?)`", README, re.MULTILINE)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with the README's servers in the user's own configuration file."""
    script = "from search_mcp.config import location; print(location.places(None, {})[-1])"
    path = Path(run(f'"{sys.executable}" -c "{script}"', tmp_path).stdout.strip())
    path.parent.mkdir(parents=True)
    path.write_text(SERVERS, "utf-8")
    return tmp_path


def run(command: str, home: Path, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, shell=True, cwd=cwd or home, env=_environment(home), capture_output=True, text=True, timeout=300
    )


def _environment(home: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    caches = {"PIP_CACHE_DIR": str(packages.CACHE / "pip"), "UV_CACHE_DIR": str(packages.CACHE / "uv")}
    return {**inherited, **caches, "HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.usefixtures("engines_to_stop")
def test_the_first_command_sets_it_up_and_shows_that_it_works(tmp_path: Path) -> None:
    """The first command works in a fresh clone."""
    checkout = clone(tmp_path / "search-mcp")
    done = run(SET_UP, tmp_path, checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "time.get_current_time" in done.stdout
    done = run(f"{CHECKOUT} && pwd && which search-mcp", tmp_path, checkout)
    assert done.stdout.splitlines() == [str(tmp_path), str(checkout / ".venv" / "bin" / "search-mcp")]


@pytest.mark.installs
@pytest.mark.parametrize("installer", ["pipx", "uv"])
def test_an_installer_installs_the_command(tmp_path: Path, installer: str) -> None:
    checkout, bin_ = clone(tmp_path / "search-mcp"), tmp_path / "bin"
    bin_.mkdir()
    interpreter = packages.installers()
    (bin_ / "pipx").write_text(f'#!/bin/sh\nexec {interpreter} -m pipx "$@"\n')
    (bin_ / "pipx").chmod(0o755)
    folders = {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "UV_TOOL_DIR": "uv", "UV_TOOL_BIN_DIR": "bin"}
    exports = " ".join(f"{name}={tmp_path / folder}" for name, folder in folders.items())
    line = f'export {exports} PATH="{bin_}:{interpreter.parent}:$PATH" && {INSTALLERS[installer]}'
    done = run(line, tmp_path, checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert run(f"{bin_}/search-mcp --version", tmp_path).stdout.startswith("search-mcp ")


def test_ci_runs_the_command_that_passes_the_tests() -> None:
    assert TESTS in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


@pytest.mark.usefixtures("engines_to_stop")
def test_claude_desktop_in_one_minute(tmp_path: Path) -> None:
    """Its server moves to search-mcp, and the new entry serves the server's tools."""
    path = usual_file(BY_NAME["claude-desktop"], Machine(sys.platform, str(tmp_path), {}))
    path.parent.mkdir(parents=True)
    path.write_text(
        json.dumps({"mcpServers": {"time": {"command": sys.executable, "args": ["-m", "mcp_server_time"]}}}), "utf-8"
    )
    for command in CLAUDE_DESKTOP:
        done = run(command, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    ((name, entry),) = json.loads(path.read_text("utf-8"))["mcpServers"].items()
    assert name == "search-mcp"
    first_list.visit(
        [entry["command"], *entry["args"]],
        "claude-ai",
        {"time__get_current_time", "search_tools"},
        folder=tmp_path,
        environment=_environment(tmp_path),
    )
    if is_supported(sys.platform):
        assert run("search-mcp engine stop", tmp_path).stdout.startswith("Stopped the engine with pid ")


def test_it_names_all_clients() -> None:
    others = re.findall(r"`([a-z-]+)`", README.partition("Other clients: ")[2].partition(", or `--all-found`")[0])
    assert ["claude-desktop", *others] == [client.name for client in CLIENTS]


@pytest.mark.figures
def test_the_figures_are_the_benchmarks(home: Path) -> None:
    """Compare every digit of search-mcp's averages; FastMCP is not installed here, so its figures are not checked."""
    folder = ROOT / "benchmarks" / "search"
    done = run(f'"{sys.executable}" "{folder / "run.py"}" --quality', home, ROOT)
    assert done.returncode == 0, done.stderr
    measured, written = (
        re.findall(r"^\| \*\*macro average\*\* \| 255 \| ([\d.]+) ", text, re.MULTILINE)
        for text in (done.stdout, (folder / "README.md").read_text("utf-8"))
    )
    assert measured == written[: len(measured)] != []


def test_commands_for_people(home: Path) -> None:
    """A reader types one after the other; the first starts the servers, the others know the lists."""
    for command in FOR_PEOPLE:
        done = run(command, home)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        assert "time" in done.stdout, command
