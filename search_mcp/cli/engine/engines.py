"""`engine`: the shared engines of this user, each of which serves the AI clients of a configuration.

Every engine is asked, also those of other configurations and versions; none is started.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from search_mcp.cli import logs
from search_mcp.cli.counting import counted
from search_mcp.cli.engine import memory
from search_mcp.cli.groups import command_group
from search_mcp.cli.help_text import Command
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.engine.hello import Json
from search_mcp.engine.joining import NoEngineError, ask
from search_mcp.engine.meeting import LOG_FILE, LOG_FOLDER, UnsafeFolderError, is_supported, sockets
from search_mcp.folders import log_folder
from search_mcp.pool.sharing import NOT_SHARED

app = command_group("Show and stop the engines that several clients share.")

PATIENCE_SECONDS = 5.0
"""Time for an engine to answer."""
_SHARED, _OWN = "shared", "own"
_NONE = "No shared engine is running."
_CLIENTS = ("Client", "Client PID", "Since", "Servers")
_SERVERS = ("Server", "State", "Since", "Clients", "Memory", "Sharing")


@app.command(cls=Command, epilog="search-mcp engine status --json")
@takes("as_json", "debug")
def status(options: Options) -> int:
    """Show the running engines, their clients and servers."""
    found = [_with_memory(engine) for engine in _asked("status", options.screen)]
    if options.as_json:
        options.screen.json({"engines": found})
    elif not found:
        options.screen.text(_NONE)
    for position, engine in enumerate(found if not options.as_json else ()):
        if position:
            options.screen.text("")
        show(engine, options.screen)
    return FINE


@app.command(cls=Command, epilog="search-mcp engine stop")
@takes("debug")
def stop(
    options: Options,
    pid: Annotated[
        int | None, typer.Argument(metavar="[PID]", help="Only the engine with this process id.", show_default=False)
    ] = None,
) -> int:
    """Stop the running engines, of all config files; the next message of a client starts another one."""
    stopped = stop_all(options.screen, pid)
    if pid is not None and not stopped:
        raise Problem(f"there is no shared engine with the process id {pid}", "`search-mcp engine status` shows all")
    if not stopped:
        options.screen.text(_NONE)
    return FINE


def stop_all(screen: Terminal, pid: int | None = None) -> list[Json]:
    """Stop all engines, or the one with this process id, and report each."""
    stopped = list(_asked("stop", screen, pid))
    for engine in stopped:
        screen.text(f"Stopped the engine with pid {engine['pid']} and {_count(len(engine['clients']))}.")
    return stopped


@app.command("logs", cls=Command, epilog="search-mcp engine logs --follow")
@takes("debug")
def engine_logs(
    options: Options,
    following: logs.Following = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, metavar="N", help="Number of lines.")] = 50,
) -> int:
    """Show the log of the engines."""
    folder = log_folder() / LOG_FOLDER

    def show_line(_name: str, line: logs.Line) -> None:
        options.screen.text(" ".join(filter(None, (line.time, line.text))))

    files = [logs.LogFile("engine", folder / LOG_FILE)]
    logs.print_lines(files, folder, lines, show_line, options, is_following=following)
    return FINE


def _asked(wants: str, screen: Terminal, pid: int | None = None) -> Iterator[Json]:
    """Yield the answers of all engines, or of the one with this process id."""
    for path in _sockets():
        try:
            if pid is not None and (ask(path, {"wants": "status"}, PATIENCE_SECONDS) or {}).get("pid") != pid:
                continue
            answer = ask(path, {"wants": wants}, PATIENCE_SECONDS)
        except NoEngineError as exc:
            screen.warning(f"{path}: {exc}.")
            continue
        if answer is not None and isinstance(answer.get("pid"), int) and isinstance(answer.get("clients"), list):
            yield {"config": None, "servers": [], **answer}  # an earlier version may not say all


def _sockets() -> list[str]:
    """Return the sockets of this user; engines that were killed have left theirs behind.

    Raises:
        Problem: engines cannot be shared here, or other users could have made what is in their folder.
    """
    if not is_supported(sys.platform):
        raise Problem("engines cannot be shared on this system; each client has a process of its own")
    try:
        return sockets(os.environ)
    except OSError as exc:
        remedy = "remove it, or make it a folder for you alone" if isinstance(exc, UnsafeFolderError) else ""
        raise Problem(f"no shared engine can be found: {exc}", remedy) from exc


def _with_memory(engine: Json) -> Json:
    """Add the memory of the engine's own process and of each server, in bytes, as far as the system tells it."""
    servers = [each["pid"] for each in engine["servers"] if each["pid"] is not None]
    found = memory.of_trees([engine["pid"], *servers])
    whole = found.get(engine["pid"])
    saved = sum(found.get(each["pid"], 0) * max(0, each["clients"] - 1) for each in engine["servers"])
    return {
        **engine,
        "memory": max(0, whole - sum(found.get(pid, 0) for pid in servers)) if whole is not None else None,
        **({"saved": saved} if saved and memory.IS_PROPORTIONAL else {}),
        "servers": [{**each, "memory": found.get(each["pid"])} for each in engine["servers"]],
    }


def show(engine: Json, screen: Terminal) -> None:
    """Show one engine: itself, its clients, and its servers."""
    screen.heading(f"Engine {engine['pid']}, since {_clock(engine['since'])}")
    if engine["config"] is not None:
        screen.paragraph(f"Config file: {engine['config']}", indent=2)
    screen.paragraph(f"Memory: {_memory(engine)}", indent=2)
    screen.text("")
    if engine["clients"]:
        rows = [_client_row(each) for each in engine["clients"]]
        screen.table(_CLIENTS, rows, ("Client PID",), dispensable=("Client PID",))
    else:
        screen.text("No client is connected; the engine ends within five minutes.")
    if engine["servers"]:
        screen.text("")
        rows = _server_rows(engine["servers"])
        screen.table(_SERVERS, rows, ("Clients", "Memory"), dispensable=("Since", "State"))
        for line in dict.fromkeys(
            f"{each['name']}: {each['reason']}" for each in engine["servers"] if "reason" in each
        ):
            screen.text("")
            screen.paragraph(line)


def _memory(engine: Json) -> str:
    parts = [each["memory"] for each in engine["servers"] if each["memory"] is not None]
    if engine["memory"] is None:
        return "unknown"
    whole = _size(engine["memory"] + sum(parts))
    saved = f"; sharing saves up to {_size(engine['saved'])}" if "saved" in engine else ""
    return f"{whole}, of which {_size(engine['memory'])} are the engine's own{saved}" if parts else whole


def _client_row(client: Json) -> Sequence[str]:
    counts = Counter(map(_use, client["servers"]))
    words = [*(word for word in (_SHARED, _OWN) if word in counts), *sorted({*counts} - {_SHARED, _OWN})]
    servers = ", ".join(f"{counts[word]} {word}" for word in words) or "none"
    pid = client.get("pid")
    return client["name"], "" if pid is None else str(pid), _clock(client["since"]), servers


def _use(server: Json) -> str:
    """Return whether clients share the process, or could; while that is unknown, the state of the server."""
    if "sharing" not in server:
        return _word(server)
    return _OWN if server["sharing"].startswith(NOT_SHARED) else _SHARED


def _server_rows(servers: Sequence[Json]) -> list[Sequence[str]]:
    """Return the rows of the servers; processes with the same name, state and sharing are one row.

    The time of a row is the latest of its processes.
    """
    groups: dict[tuple[str, str, str], list[Json]] = {}
    for each in servers:
        groups.setdefault((each["name"], _word(each), each.get("sharing", "")), []).append(each)
    rows: list[Sequence[str]] = []
    for (name, word, sharing), group in sorted(groups.items()):
        known = [each["memory"] for each in group if each["memory"] is not None]
        clients = sum(each["clients"] for each in group)
        running = sum(each["pid"] is not None for each in group)
        why = sharing
        if running > 1:
            rest = f", {sharing}" if sharing else " until it is known whether clients can share one"
            why = f"{counted(running, 'process')}{rest}"
        since = max((each["since"] for each in group if "since" in each), default=None)
        at = "" if since is None else _clock(since)
        rows.append((name, word, at, str(clients), _size(sum(known)) if known else "", why))
    return rows


def _word(server: Json) -> str:
    return str(server.get("word", server["state"]))  # an earlier version says the state alone


def _size(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MiB"


def _clock(seconds: Any) -> str:
    """Write a time; with its day if it is not today's."""
    then = time.localtime(seconds)
    is_today = then[:3] == time.localtime()[:3]
    return time.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M", then)


def _count(clients: int) -> str:
    return {0: "its servers", 1: "1 client's servers"}.get(clients, f"the servers of {clients} clients")
