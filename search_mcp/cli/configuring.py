"""`config`: where the configuration is, whether it is right, and what may be in it."""

from importlib import import_module

import typer

from search_mcp.cli.options import AsJson, ConfigPath, Debug, configuration, terminal
from search_mcp.cli.problem import FINE, WRONG

app = typer.Typer(help="Show where the configuration is, whether it is right, and what may be in it.")


@app.command()
def path(context: typer.Context, config: ConfigPath = None, debug: Debug = False) -> int:
    """Print which file is used."""
    _, found = configuration(config)
    terminal(context, debug).text(str(found))
    return FINE


@app.command()
def validate(context: typer.Context, config: ConfigPath = None, as_json: AsJson = False, debug: Debug = False) -> int:
    """Say what is wrong with the file, without starting any server."""
    screen = terminal(context, debug)
    loaded, found = configuration(config)
    problems = {server.name: server.problem for server in loaded.servers if server.enabled and server.problem}
    if as_json:
        screen.json({"config": str(found), "ok": not problems, "problems": problems, "warnings": loaded.warnings})
        return WRONG if problems else FINE
    for name, problem in problems.items():
        screen.error(f"{name}: {problem}")
    for warning in loaded.warnings:
        screen.warning(warning)
    if not problems:
        enabled = sum(server.enabled for server in loaded.servers)
        screen.text(f"{found}: {len(loaded.servers)} servers, {enabled} of them enabled")
    return WRONG if problems else FINE


@app.command("schema")
def schema_(context: typer.Context, debug: Debug = False) -> int:
    """Print the JSON Schema of the file, for an editor."""
    schema = import_module("search_mcp.cli.schema")  # no other command needs what it loads
    terminal(context, debug).json(schema.of_file())
    return FINE
