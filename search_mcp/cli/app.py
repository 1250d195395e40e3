"""The table of the commands.

Decides what there is, in which order the help has it, and which exit code a command line ends with; what a command
does and which options it has is in the module of its noun. `serve` is here for the help only: `__main__` serves
without this package.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from search_mcp import __version__, server
from search_mcp.cli import (
    checkup,
    configuring,
    description,
    editing,
    importing,
    invocation,
    listing,
    logs,
    registration,
    tokens,
)
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, MISUSED, WRONG, InterruptionError, Misuse, Problem
from search_mcp.cli.terminal import Terminal, is_of_closed_pipe
from search_mcp.errors import ConfigError

NAME = "search-mcp"

app = typer.Typer(
    name=NAME,
    help="One MCP server in front of all the others: merged tools, and a search that finds the right one.",
    epilog="Exit codes: 0 fine, 1 something is wrong, 2 a wrong command line or configuration.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(words: Sequence[str]) -> int:
    """Run a command; return the exit code."""
    if sys.stdin is None:  # it was closed: to whoever reads it, it is empty
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115  # for as long as we live
    screen = Terminal()
    try:
        command: Any = typer.main.get_command(app)
        code = command.main(args=list(words), prog_name=NAME, standalone_mode=False, obj=screen)
        return code if isinstance(code, int) else FINE
    except (Problem, ConfigError) as exc:
        screen.traceback(exc)
        screen.error(str(exc))
        return exc.code if isinstance(exc, Problem) else MISUSED
    except typer.TyperException as exc:
        screen.error(_misuse(exc))
        return MISUSED
    except InterruptionError as exc:
        return exc.code
    except KeyboardInterrupt:
        return 130
    except Exception as exc:  # most often a bug; a person can do more with a sentence than with a traceback
        screen.traceback(exc)
        if isinstance(exc, OSError) and is_of_closed_pipe(exc, sys.platform):  # of the help, which typer writes
            screen.leave_unread()
        else:
            screen.error(_unexpected(exc))
        return WRONG


def _unexpected(exc: Exception) -> str:
    if isinstance(exc, OSError) and exc.strerror:
        return f"{exc.filename}: {exc.strerror}" if exc.filename is not None else exc.strerror
    return f"this is a bug in {NAME}: {exc!r}; run it again with --debug and report what it shows"


def _misuse(exc: typer.TyperException) -> str:
    context = getattr(exc, "ctx", None)
    command = context.command_path if context is not None else NAME
    message = exc.format_message().rstrip(".")
    return f"{message}{' ' if message.endswith('?') else '; '}{command} --help shows what there is"


def _show_version(wanted: bool) -> None:
    if wanted:
        Terminal().text(f"{NAME} {__version__}")
        raise typer.Exit


@app.callback()
def before_any_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


@takes("config", "client")
def serve(
    options: Options,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
) -> int:
    """Serve an MCP client on stdin and stdout; this is what happens without a command, too."""
    return server.run(options.config, options.profile, log_level)


@takes("config", "debug")
def demo(options: Options) -> int:
    """Show what an AI client sees, with the official client and real servers."""
    try:
        demonstration = import_module("search_mcp.cli.demonstration")
    except ImportError as exc:
        if (exc.name or "").partition(".")[0] != "mcp":
            raise
        remedy = "pip install 'mcp>=2.3' mcp-server-git mcp-server-time"
        raise Misuse("the demo needs the official Python SDK 2.x", remedy) from exc
    code: int = demonstration.run(options.config, options.screen)
    return code


for _name, _command in (
    ("serve", serve),
    ("check", checkup.check),
    ("list", listing.list_),
    ("search", listing.search),
    ("describe", description.describe),
    ("call", invocation.call),
    ("tokens", tokens.tokens),
    ("logs", logs.logs),
    ("import", importing.import_),
    ("add", editing.add),
    ("remove", editing.remove),
    ("enable", editing.enable),
    ("disable", editing.disable),
    ("install", registration.install),
    ("uninstall", registration.uninstall),
    ("demo", demo),
):
    app.command(_name)(_command)
app.add_typer(configuring.app, name="config")
