"""`config`: where the configuration is, whether it is right, and what may be in it."""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer

from search_mcp import server
from search_mcp.cli.counting import counted
from search_mcp.cli.help_text import Command, Group
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, MISUSED, WRONG
from search_mcp.cli.terminal import Terminal
from search_mcp.config import NOTHING, Config, FaultyFile
from search_mcp.errors import ConfigError

app = typer.Typer(cls=Group, help="Locate, validate and describe the config file.", invoke_without_command=True)


@app.callback()
def without_command(context: typer.Context) -> None:
    """Show the help."""
    if context.invoked_subcommand is None:
        assert isinstance(context.obj, Terminal)
        context.obj.text(context.get_help())


@app.command(cls=Command, epilog="search-mcp config path")
@takes("config", "debug")
def path(options: Options) -> int:
    """Print the path of the config file in use."""
    places = server.places(options.config, os.environ)
    found = next((place for place in places if place.is_file()), None)
    options.screen.text(str(found or places[-1]))
    if found is None:
        options.screen.note("That file does not exist yet; search-mcp import or search-mcp add creates it.")
    return FINE if found is not None else WRONG


@app.command(cls=Command, epilog="search-mcp config validate\nsearch-mcp config validate --config ./mcp-servers.json")
@takes("config", "as_json", "debug")
def validate(options: Options) -> int:
    """Report every mistake in the config file, without starting any server."""
    screen = options.screen
    file, loaded, faults = _examined(options)
    if options.as_json:
        screen.json(
            {
                "config": file,
                "ok": not faults and not loaded.problems,
                "faults": [_as_json(each) for each in faults],
                "problems": [_as_json(each) for each in loaded.problems],
                "warnings": loaded.warnings,
            }
        )
    else:
        for each in (*faults, *loaded.problems):
            screen.error(str(each))
        for warning in loaded.warnings:
            screen.warning(warning)
    if faults:
        return MISUSED
    if loaded.problems:
        return WRONG
    if not options.as_json:
        enabled = sum(server.enabled for server in loaded.servers)
        screen.text(f"{file}: {counted(len(loaded.servers), 'server')}, {enabled} enabled")
    return FINE


def _examined(options: Options) -> tuple[str, Config, Sequence[ConfigError]]:
    """Read what can be read of the file, and say what is wrong with the rest."""
    try:
        loaded, found = options.configuration()
    except FaultyFile as exc:
        return exc.source, exc.rest, exc.faults
    except ConfigError as exc:
        options.screen.traceback(exc)
        return exc.source, NOTHING, [exc]
    return str(found), loaded, []


def _as_json(fault: ConfigError) -> dict[str, Any]:
    return {
        "file": fault.source,
        "line": fault.line,
        "key": fault.key,
        "problem": fault.problem,
        "remedy": fault.remedy,
    }


@app.command("schema", cls=Command, epilog="search-mcp config schema > mcp-servers.schema.json")
@takes("debug")
def schema_(options: Options) -> int:
    """Print the JSON Schema of the config file, for editors."""
    schema = import_module("search_mcp.cli.schema")  # no other command needs what it loads
    options.screen.json(schema.of_file())
    return FINE
