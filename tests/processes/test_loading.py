"""Time of imports: few before the first answer, the search at the first search."""

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from processes.conftest import Serve
from processes.run import server
from search_mcp.__main__ import main

LATER = ("anyio._backends._asyncio", "watchdog", "rapidfuzz", "pydantic")
"""Modules that run the backends, watch for edits, suggest similar words and explain invalid files."""

FOR_REMOTE_SERVERS = ("search_mcp.backends.remote", "search_mcp.auth", "search_mcp.http", "httpx2", "httpcore2", "h11")


def loaded(stderr: bytes, *packages: str) -> set[str]:
    """Return the modules of these packages that a run with PYTHONPROFILEIMPORTTIME has loaded."""
    modules = {line.rpartition("|")[2].strip() for line in stderr.decode().splitlines() if "import time:" in line}
    return {name for name in modules if any(f"{name}.".startswith(f"{package}.") for package in packages)}


def without(*modules: str) -> str:
    """Return a program that runs search-mcp without access to these modules."""
    return (
        f"import sys; sys.modules.update(dict.fromkeys({modules})); "
        "from search_mcp.__main__ import main; main(sys.argv[1:])"
    )


def test_initialize_is_answered_before_modules_that_it_does_not_need_are_loaded(tmp_path: Path) -> None:
    # The contract: "answers `initialize` at once".
    config = tmp_path / "mcp-servers.json"
    servers = {"one": {"command": sys.executable}}
    config.write_text(json.dumps({"mcpServers": servers, "settings": {"engine": "own"}}))
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    command = [sys.executable, "-c", without(*LATER), "--config", str(config)]
    run = subprocess.run(command, input=f"{line}\n", capture_output=True, text=True, timeout=60)
    assert json.loads(run.stdout.splitlines()[0])["result"]["protocolVersion"] == "2025-11-25"
    assert "anyio._backends" in run.stderr  # the missing module is reported afterwards


def test_the_search_is_loaded_by_the_first_search_only(serve: Serve) -> None:
    servers, imports = {"one": server("well_behaved")}, {"PYTHONPROFILEIMPORTTIME": "1"}
    with serve(servers, imports) as run:
        run.opens()
        run.asks("tools/list")
        run.calls("one.echo", words="x")
    assert b"search_mcp.fronts" in run.stderr
    assert b"search_mcp.search" not in run.stderr
    with serve(servers, imports) as run:
        run.opens()
        assert "one.echo" in run.calls("search_tools", query="echo")
    assert b"search_mcp.search" in run.stderr


def test_nothing_for_remote_servers_is_loaded_before_one_is_reached(serve: Serve, tmp_path: Path) -> None:
    imports, calls = {"PYTHONPROFILEIMPORTTIME": "1"}, {"one": server("well_behaved")}
    with serve(calls, imports) as run:
        run.opens()
        run.calls("one.echo", words="x")
    assert loaded(run.stderr, *FOR_REMOTE_SERVERS) == set()
    with serve({**calls, "two": {"url": "http://127.0.0.1:9/mcp", "enabled": False}}, imports) as run:
        run.opens()
        run.calls("one.echo", words="x")
    assert loaded(run.stderr, *FOR_REMOTE_SERVERS) == set()
    with serve({**calls, "two": {"url": "http://127.0.0.1:9/mcp"}}, imports) as run:
        run.opens()
        run.is_refused("two.echo", words="x")
    assert {"search_mcp.backends.remote.channel", "httpx2"} <= loaded(run.stderr, *FOR_REMOTE_SERVERS)


def test_messages_that_came_with_a_search_are_answered_before_the_search_is_loaded(tmp_path: Path) -> None:
    config = tmp_path / "mcp-servers.json"
    config.write_text('{"mcpServers": {}, "settings": {"engine": "own"}}')
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}}
    search = {"name": "search_tools", "arguments": {"query": "file"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": search},
        {"id": 3, "method": "ping"},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    command = [sys.executable, "-c", without("search_mcp.own_tools.catalog_index"), "--config", str(config)]
    run = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 3, 2]
    assert "error" in answers[2]  # the search could not be loaded


def test_a_wrong_command_line_leaves_the_collector_on() -> None:
    assert main(["--client", "nonsense"]) == 2
    assert gc.isenabled()
