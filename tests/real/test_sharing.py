"""Real servers behind one pool: two clients see exactly what each of them sees alone.

The clients are in this process, each with an engine of its own, and the servers are real.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fork_server import ForkServer, forked
from pool.machine import Machine, Script, compare, filled

from real import packages
from real.conversation import Era
from search_mcp.config.schema import ServerConfig
from search_mcp.wire.structs import replace

LEGACY, MODERN = Era("2025-11-25", {}), Era("2026-07-28", {})
FILES = "{files}"  # the folder of the files, which has another name in every run


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a git repository with a file."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "text.txt").write_text("first\nsecond ✓ 日本語\n", encoding="utf-8", newline="\n")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "text.txt"], ["commit", "-q", "-m", "One ✓"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    return folder


@pytest.fixture
def config(name: str, files: Path, server_fork_server: ForkServer | None) -> ServerConfig:
    """The entry of a row's server; one in Python starts as a fork."""
    made = ROWS[name][0](files)
    if made.command != sys.executable:
        return made
    command, *args = forked(server_fork_server, [made.command, *made.args])
    return replace(made, command=command, args=tuple(args))


def time(_files: Path) -> ServerConfig:
    args = ("-m", "mcp_server_time", "--local-timezone", "UTC")
    return ServerConfig(name="time", command=sys.executable, args=args)


def git(files: Path) -> ServerConfig:
    args = ("-m", "mcp_server_git", "--repository", str(files))
    return ServerConfig(name="git", command=sys.executable, args=args)


def everything(_files: Path) -> ServerConfig:
    command, *args = packages.server("everything")
    return ServerConfig(name="everything", command=command, args=tuple(args))


def filesystem(files: Path) -> ServerConfig:
    command, *args = packages.server("filesystem")
    return ServerConfig(name="filesystem", command=command, args=(*args, str(files)))


def memory(files: Path) -> ServerConfig:
    command, *args = packages.server("memory")
    env = {"MEMORY_FILE_PATH": str(files.parent / "memory.jsonl")}
    return ServerConfig(name="memory", command=command, args=tuple(args), env=env)


def calls(server: str, *made: tuple[str, dict[str, Any]]) -> Script:
    lists = [(f"{kind}/list", dict[str, Any]()) for kind in ("tools", "prompts", "resources", "resources/templates")]
    return [*lists, *(("tools/call", {"name": f"{server}.{tool}", "arguments": each}) for tool, each in made)]


TOKYO = {"source_timezone": "Asia/Tokyo", "time": "12:30", "target_timezone": "Asia/Kolkata"}
ROWS: dict[str, tuple[Callable[[Path], ServerConfig], Script]] = {
    "time": (time, calls("time", ("convert_time", TOKYO), ("convert_time", {**TOKYO, "source_timezone": "Nowhere"}))),
    "git": (
        git,
        calls(
            "git",
            ("git_log", {"repo_path": FILES}),
            ("git_status", {"repo_path": FILES}),
            ("git_show", {"repo_path": FILES, "revision": "no-such-revision"}),
        ),
    ),
    "everything": (
        everything,
        calls(
            "everything",
            ("echo", {"message": "✓"}),
            ("get-structured-content", {"location": "Chicago"}),
            ("get-resource-links", {"count": 2}),
            ("get-sum", {"a": "one"}),
        ),
    ),
    "filesystem": (
        filesystem,
        calls("filesystem", ("read_text_file", {"path": f"{FILES}/text.txt"}), ("list_allowed_directories", {})),
    ),
    "memory": (memory, calls("memory", ("read_graph", {}), ("search_nodes", {"query": "✓"}))),
}


@pytest.mark.parametrize("era", [LEGACY, MODERN], ids=["legacy", "modern"])
@pytest.mark.parametrize("name", ROWS)
async def test_two_clients_see_what_each_sees_alone(
    name: str, era: Era, config: ServerConfig, files: Path, tmp_path: Path
) -> None:
    compared = await compare(config, filled(ROWS[name][1], FILES, files), era, tmp_path)
    assert compared.together == [compared.alone] * 3
    assert compared.processes == 2


@pytest.mark.parametrize("era", [LEGACY, MODERN], ids=["legacy", "modern"])
@pytest.mark.parametrize("name", ROWS)
async def test_two_clients_of_a_server_that_the_user_shares_see_the_same(
    name: str, era: Era, config: ServerConfig, files: Path, tmp_path: Path
) -> None:
    compared = await compare(replace(config, share=True), filled(ROWS[name][1], FILES, files), era, tmp_path)
    assert compared.together == [compared.alone] * 3
    assert compared.processes == 1


@pytest.mark.parametrize("protocol", ["auto", "2025-11-25"])
async def test_a_terminal_and_a_desktop_client_share_a_known_server_from_its_first_start(
    protocol: str, files: Path, tmp_path: Path
) -> None:
    desktop = Era("2025-06-18", {})
    terminal = Era("2025-11-25", {"roots": {}, "elicitation": {"form": {}, "url": {}}})
    machine = Machine(replace(time(files), protocol=protocol), tmp_path)
    variables = {"TERM": "xterm-256color", "LANG": "en_US.UTF-8", "PATH": f"{files}:{os.environ['PATH']}"}
    async with (
        machine.pool.running(),
        machine.client(desktop, "/") as one,
        machine.client(terminal, str(files), **variables) as other,
    ):
        for client in (one, other):
            *_, answer = await client.play([("tools/call", {"name": "time.convert_time", "arguments": TOKYO})])
            assert json.loads(answer)["result"]["structuredContent"]["time_difference"] == "-3.5h"
        (server,) = machine.pool.servers
        described = machine.pool.describe_sharing(server)
        assert described is not None
        assert described.startswith("shared by 2 clients: it is known to keep nothing between calls, because ")
