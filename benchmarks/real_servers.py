"""Count the processes and the memory of six AI clients with six real servers, first without and then with an engine.

    python benchmarks/real_servers.py

Without an engine, each client has a search-mcp of its own, with servers of its own. The clients speak two revisions of
the protocol and declare different capabilities. Each of them lists the tools and calls five servers.
Linux only: memory is the proportional set size, in which a page that several processes share counts once. The first
run installs the servers from PyPI and npm.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
from client import Pipe, patience
from installed import interpreter, modules
from processes import of_home, proportional

PACKAGES = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24")
SCRIPTS = tuple(f"@modelcontextprotocol/server-{name}@2026.8.31" for name in ("memory", "everything", "filesystem"))
SHARED = ("time", "fetch", "memory", "git")
"""Servers that clients may share, because their processes keep nothing between calls."""
CLIENTS: Sequence[tuple[str, str, Mapping[str, object]]] = (
    ("claude-ai", "2025-06-18", {}),
    ("claude-code", "2025-11-25", {"elicitation": {}, "roots": {"listChanged": True}}),
    ("cursor-vscode", "2025-06-18", {"elicitation": {}}),
) * 2
SECONDS = 60.0


def main() -> None:
    """Measure both ways, and print a table."""
    programs = _programs()
    own, shared = (_measured(programs, engine) for engine in ("own", "shared"))
    print("| | a process for each client | shared engine | ratio |\n|---|---:|---:|---:|")
    for row, before in own.items():
        print(f"| {row} | {before:,.4g} | {shared[row]:,.4g} | {shared[row] / before:.2f} |")


def _programs() -> Mapping[str, Path]:
    """Install the servers; return the file of each program, by the name of the server."""
    folder = interpreter("real-servers", " ".join(PACKAGES), PACKAGES).parent
    found = {name: folder / f"mcp-server-{name}" for name in ("time", "git", "fetch")}
    for package in SCRIPTS:
        name = package.rpartition("@")[0].removeprefix("@modelcontextprotocol/server-")
        found[name] = modules(package) / ".bin" / f"mcp-server-{name}"
    return found


def _measured(programs: Mapping[str, Path], engine: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="mcp-", ignore_cleanup_errors=True) as temporary:
        home = Path(temporary)
        variables = _prepared(home, programs, engine)
        try:
            with contextlib.ExitStack() as stack:
                starts = [_opened(stack, home, variables, *each) for each in CLIENTS]
                return {**_counted(home), "start of a later client: initialize, ms": statistics.median(starts[1:])}
        finally:
            for each in of_home(home):
                with contextlib.suppress(psutil.Error):
                    each.kill()


def _prepared(home: Path, programs: Mapping[str, Path], engine: str) -> Mapping[str, str]:
    """Write the configuration of a home folder; return the environment of its clients."""
    (home / "bin").mkdir()
    subprocess.run(["git", "init", "--quiet", home / "documents"], check=True)
    for name, program in programs.items():
        (home / "bin" / f"mcp-server-{name}").symlink_to(program)
    servers: dict[str, dict[str, Any]] = {name: {"command": f"mcp-server-{name}"} for name in programs}
    servers["filesystem"]["args"] = [str(home / "documents")]
    servers["memory"]["env"] = {"MEMORY_FILE_PATH": str(home / "memory.jsonl")}
    config = {"mcpServers": servers, "settings": {"engine": engine}}
    (home / "mcp-servers.json").write_text(json.dumps(config), "utf-8")
    path = os.pathsep.join([str(home / "bin"), str(Path(shutil.which("node") or "node").parent), os.environ["PATH"]])
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": str(home)}


def _opened(
    stack: contextlib.ExitStack,
    home: Path,
    variables: Mapping[str, str],
    name: str,
    revision: str,
    capabilities: Mapping[str, object],
) -> float:
    """Start a client, list its tools and call the servers; return the milliseconds until it was initialized."""
    began = time.perf_counter()
    pipe = Pipe([sys.executable, "-m", "search_mcp", "--config", str(home / "mcp-servers.json")], variables, home)
    stack.callback(_close, pipe)
    with patience([pipe], SECONDS):
        opening = {"protocolVersion": revision, "capabilities": capabilities}
        _ask(pipe, "initialize", {**opening, "clientInfo": {"name": name, "version": "1"}})
        spent = (time.perf_counter() - began) * 1000
        pipe.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        listed = [each["name"] for each in _ask(pipe, "tools/list", {})["tools"]]
        for tool, arguments in (
            ("get_current_time", {"timezone": "UTC"}),
            ("git_status", {"repo_path": str(home / "documents")}),
            ("read_graph", {}),
            ("echo", {"message": "x"}),
            ("list_allowed_directories", {}),
        ):
            shown = next(each for each in listed if each.endswith(tool))
            _ask(pipe, "tools/call", {"name": shown, "arguments": arguments})
    return spent


def _ask(pipe: Pipe, method: str, params: Mapping[str, object]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    pipe.write(json.dumps(message).encode() + b"\n")
    result: dict[str, Any] = json.loads(pipe.line())["result"]
    if result.get("isError"):
        sys.exit(f"{params}: {result}")
    return result


def _close(pipe: Pipe) -> None:
    pipe.close()
    pipe.release()


def _counted(home: Path) -> dict[str, float]:
    processes = {each: " ".join(each.cmdline()) for each in of_home(home)}
    memory = {each: proportional(each) for each in processes}
    sharing = [each for each, line in processes.items() if any(f"mcp-server-{name}" in line for name in SHARED)]
    return {
        "processes": len(processes),
        "memory of all processes, MB": sum(memory.values()),
        f"processes of {', '.join(SHARED)}": len(sharing),
        f"memory of {', '.join(SHARED)}, MB": sum(memory[each] for each in sharing),
    }


if __name__ == "__main__":
    main()
