"""Each server on the list of known servers is shared, and its clients get what each gets alone.

The version that is tested is the one whose source was read. A few run in every run, all of them every night.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from pool.machine import Script, compare, filled

from real import packages
from real.conversation import Era
from real.known_trials import FILES, TRIALS, Trial, make_files
from search_mcp.config.schema import ServerConfig
from search_mcp.pool.known_servers import KnownServer, find, rows

ERAS = {"legacy": Era("2025-11-25", {}), "modern": Era("2026-07-28", {})}
ROWS = {row.package: row for row in rows()}
LISTS = ("tools", "prompts", "resources", "resources/templates")
EVERY_RUN = {
    "npm:@modelcontextprotocol/server-memory",
    "npm:exa-mcp-server",
    "npm:howtocook-mcp",
    "pypi:mcp-server-git",
    "pypi:mcp-server-time",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a git repository with the files that are read."""
    folder = tmp_path_factory.mktemp("files")
    make_files(folder)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "One ✓"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    return folder


def _entry(row: KnownServer, trial: Trial, files: Path) -> ServerConfig:
    """Write the entry of a server whose program is on the PATH."""
    programs = packages.known_server(row.package, row.version)
    env = {name: value.replace(FILES, files.as_posix()) for name, value in trial.env.items()}
    env["PATH"] = os.pathsep.join([str(programs), os.environ["PATH"]])
    return ServerConfig(name="alpha", command=row.runs, args=trial.args, env=env)


def _script(trial: Trial, files: Path) -> Script:
    lists = [(f"{kind}/list", dict[str, object]()) for kind in LISTS]
    named = {"tools/call": trial.calls, "prompts/get": trial.prompts}
    asked = [
        (method, {"name": f"alpha.{name}", "arguments": arguments})
        for method, each in named.items()
        for name, arguments in each
    ]
    read = [("resources/read", {"uri": uri}) for uri in trial.resources]
    return filled([*lists, *asked, *read], FILES, files)


def test_each_row_is_tried() -> None:
    assert [*ROWS] == [row.package for row in rows()] == [*TRIALS] == sorted(TRIALS)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.package)
def test_no_other_server_has_the_same_program(row: KnownServer) -> None:
    assert set(re.split("[-_.]", row.runs)) - {"mcp", "server"}, "a program of this name may be any server"
    assert find(ServerConfig(name="alpha", command=row.runs)) == row


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "package", [each if each in EVERY_RUN else pytest.param(each, marks=pytest.mark.figures) for each in ROWS]
)
async def test_clients_of_a_known_server_get_what_each_gets_alone(
    package: str, era: str, files: Path, tmp_path: Path
) -> None:
    row, trial = ROWS[package], TRIALS[package]
    script = _script(trial, files)
    folders = (str(files), str(files) if row.folder else str(tmp_path))
    compared = await compare(_entry(row, trial, files), script, ERAS[era], tmp_path, folders)
    assert compared.together == [compared.alone] * 3
    assert compared.processes == 1
    listed, *others = [json.loads(line) for line in compared.alone[-len(script) :]]
    tools = {each["name"] for each in listed["result"]["tools"]}
    assert any(name.startswith("alpha.") for name in tools)
    assert tools >= {f"alpha.{name}" for name, _ in trial.calls}
    assert not any("error" in each for each in others[len(LISTS) - 1 :])
