"""`engine`: the shared engines of this user, which serve the AI clients of a configuration with `"engine": "shared"`.

Every engine is asked, also those of other configurations and versions; none is started.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from search_mcp.cli.help_text import Command, Group
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.fronts.hello import Json
from search_mcp.fronts.joining import NoEngineError, ask
from search_mcp.fronts.meeting import folder_name, is_supported, make_safe
from search_mcp.model.visible import visible

app = typer.Typer(cls=Group, help="Show and stop the engines that several clients share.", invoke_without_command=True)

PATIENCE_SECONDS = 5.0
"""Time for an engine to answer."""
_HEADINGS = ("Engine", "Client", "Servers", "Since", "Configuration")


@app.callback()
def without_command(context: typer.Context) -> None:
    """Show the help."""
    if context.invoked_subcommand is None:
        assert isinstance(context.obj, Terminal)
        context.obj.text(context.get_help())


@app.command(cls=Command, epilog="search-mcp engine status --json")
@takes("as_json", "debug")
def status(options: Options) -> int:
    """Show the running engines, their clients and servers."""
    found = list(_asked("status", options.screen))
    if options.as_json:
        options.screen.json({"engines": found})
    elif not found:
        options.screen.text("No shared engine is running.")
    else:
        options.screen.table(_HEADINGS, [row for engine in found for row in _rows(engine)], ("Engine",), is_cut=True)
    return FINE


@app.command(cls=Command, epilog="search-mcp engine stop")
@takes("debug")
def stop(options: Options) -> int:
    """Stop the running engines; the next message of a client starts another one."""
    stopped = list(_asked("stop", options.screen))
    for engine in stopped:
        options.screen.text(f"Stopped the engine with pid {engine['pid']} and {_count(len(engine['clients']))}.")
    if not stopped:
        options.screen.text("No shared engine is running.")
    return FINE


def _asked(wants: str, screen: Terminal) -> Iterator[Json]:
    """Yield the answers of all engines."""
    for path in _sockets():
        try:
            answer = ask(str(path), {"wants": wants}, PATIENCE_SECONDS)
        except NoEngineError as exc:
            screen.warning(f"{path}: {exc}.")
            continue
        if answer is not None and isinstance(answer.get("pid"), int) and isinstance(answer.get("clients"), list):
            yield answer


def _sockets() -> list[Path]:
    """Return the sockets of this user; engines that were killed have left theirs behind.

    Raises:
        Problem: engines cannot be shared here.
    """
    if not is_supported(sys.platform):
        raise Problem("engines cannot be shared on this system yet", 'leave "engine" at "own"')
    folder = Path(folder_name(os.environ, os.getuid()))
    if not folder.exists():
        return []
    make_safe(str(folder))
    return sorted(folder.glob("*.sock"))


def _rows(engine: Json) -> Iterator[tuple[str, str, str, str, str]]:
    pid = str(engine["pid"])
    for client in engine["clients"]:
        states = Counter(each["state"] for each in client["servers"])
        servers = ", ".join(f"{count} {state}" for state, count in states.items()) or "none"
        yield pid, visible(client["name"]), servers, _clock(client["since"]), visible(client["config"])
    if not engine["clients"]:
        yield pid, "none", "", _clock(engine["since"]), ""


def _clock(seconds: Any) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _count(clients: int) -> str:
    return "1 client's servers" if clients == 1 else f"the servers of {clients} clients"
