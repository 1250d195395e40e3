"""The commands: their names, options and help.

Decides what a command line means and which exit code it ends with; what each command does is in its own
module. `serve` is here for the help only: `__main__` serves without this package.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from search_mcp import __version__, jsonrpc, server
from search_mcp.cli import arguments, checkup, invocation, listing, session
from search_mcp.cli.options import AsJson, ClientName, ConfigPath, Debug, configuration, profile, terminal
from search_mcp.cli.problem import FINE, MISUSED, WRONG, InterruptionError, Misuse, Problem, did_you_mean, of_call
from search_mcp.cli.session import Session
from search_mcp.cli.terminal import Terminal
from search_mcp.errors import ConfigError, WireError
from search_mcp.jsonrpc import Fields
from search_mcp.model import InputRequired, Outcome

NAME = "search-mcp"

app = typer.Typer(
    name=NAME,
    help="One MCP server in front of all the others: merged tools, and a search that finds the right one.",
    epilog="Exit codes: 0 fine, 1 something is wrong, 2 a wrong command line or configuration.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(words: Sequence[str]) -> int:
    """Run a command; return the exit code."""
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
    except Exception as exc:  # a bug; a person can do more with a sentence than with a traceback
        screen.traceback(exc)
        screen.error(f"this is a bug in {NAME}: {exc!r}; run it again with --debug and report what it shows")
        return WRONG


def _misuse(exc: typer.TyperException) -> str:
    context = getattr(exc, "ctx", None)
    command = context.command_path if context is not None else NAME
    return f"{exc.format_message().rstrip('.')}; {command} --help shows what there is"


def _show_version(wanted: bool) -> None:
    if wanted:
        Terminal().text(f"{NAME} {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


@app.command()
def serve(
    config: ConfigPath = None,
    client: ClientName = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
) -> int:
    """Serve an MCP client on stdin and stdout; this is what happens without a command, too."""
    return server.run(config, profile(client), log_level)


@app.command()
def check(context: typer.Context, config: ConfigPath = None, as_json: AsJson = False, debug: Debug = False) -> int:
    """Start every server, and show what is there and what is wrong."""
    screen = terminal(context, debug)
    loaded, path = configuration(config)
    findings = session.run(loaded, None, lambda running: checkup.examine(running, screen))
    if as_json:
        screen.json(checkup.as_json(findings, loaded, path))
        return checkup.exit_code(findings)
    return checkup.report(findings, loaded, path, screen)


@app.command("list")
def list_(
    context: typer.Context,
    of_server: Annotated[str | None, typer.Argument(metavar="[SERVER]", help="Only this server's tools.")] = None,
    config: ConfigPath = None,
    client: ClientName = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """List the tools of all servers, or of one."""
    screen = terminal(context, debug)
    loaded, path = configuration(config)
    if of_server is not None:
        listing.check_server(loaded, of_server)
        loaded = session.only(loaded, {of_server})

    async def work(running: Session) -> listing.Listing:
        await listing.settle_tools(running, screen)
        return listing.all_tools(running)

    found = session.run(loaded, profile(client), work)
    if as_json:
        screen.json(found.as_json())
    else:
        listing.show_tools(found, screen)
        if not found.tools and not found.failures:
            screen.note(f"There are no tools; the configuration is {path}.")
    return listing.report_failures(found.failures, screen)


@app.command()
def search(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="What the tool should do, in a few words.")],
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many tools to show.")] = 10,
    of_server: Annotated[str | None, typer.Option("--server", metavar="NAME", help="Only this server's tools.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each tool is where it is.")] = False,
    config: ConfigPath = None,
    client: ClientName = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Find tools by what they do, best first; ranked as for a model."""
    screen = terminal(context, debug)
    loaded, _ = configuration(config)
    if of_server is not None:
        listing.check_server(loaded, of_server)
        loaded = session.only(loaded, {of_server})
    text = " ".join(query)

    async def work(running: Session) -> listing.Listing:
        await listing.settle_tools(running, screen)
        find = listing.explained_tools if explain else listing.found_tools
        return find(running, text, limit, of_server)

    found = session.run(loaded, profile(client), work)
    if as_json:
        screen.json(found.as_json())
    elif explain:
        listing.show_explanations(found, screen)
    else:
        listing.show_tools(found, screen)
    code = listing.report_failures(found.failures, screen)
    if not found.tools:
        raise Problem(f"no tool matches {text!r}", did_you_mean(found.nearest, f"{NAME} list shows what there is"))
    return code


@app.command()
def describe(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Tools, by any spelling of their names.")],
    config: ConfigPath = None,
    client: ClientName = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Show what tools do and which parameters they take."""
    screen = terminal(context, debug)
    loaded, _ = configuration(config)

    async def work(running: Session) -> listing.Descriptions:
        await listing.settle_tools(running, screen)
        return listing.descriptions(running, names)

    found = session.run(session.needed(loaded, names), profile(client), work)
    if as_json:
        screen.json(found.as_json())
    else:
        listing.show_definitions(found, screen)
    return listing.report_unknown(found, screen)


@app.command()
def call(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool, by any spelling of its name.")],
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE | KEY:=JSON]...", help="Its arguments; numbers as the tool wants them."),
    ] = None,
    json_arguments: Annotated[
        str | None, typer.Option(metavar="JSON", help="All arguments as one JSON object; - reads it from stdin.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Save the images and other bytes, or else the text, here.")
    ] = None,
    config: ConfigPath = None,
    client: ClientName = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Call a tool, and show what it answers."""
    screen = terminal(context, debug)
    words = arguments.read_words(pairs or [])
    given = _json_arguments(json_arguments)
    if output is not None:
        invocation.check_output(output)
    loaded, _ = configuration(config)

    async def work(running: Session) -> Outcome:
        await listing.settle_tools(running, screen)
        return await invocation.call(running, name, given, words, screen)

    outcome = session.run(session.needed(loaded, [name]), profile(client), work)
    if isinstance(outcome, WireError):
        if as_json:
            screen.json({"error": outcome.error_object()})
        raise of_call(outcome, name)
    if isinstance(outcome, InputRequired):
        raise Problem(f"{name} asks for something that can only be answered in an AI client", "call it from there")
    body = jsonrpc.encode(outcome.body)
    if not as_json:
        return invocation.show(body, output, screen)
    screen.raw_json(body)
    if output is not None:
        invocation.save(body, output, screen)
    return WRONG if invocation.is_error(body) else FINE


def _json_arguments(option: str | None) -> Fields:
    if option is None:
        return {}
    if option == "-":
        return arguments.read_object(sys.stdin.read(), "stdin")
    return arguments.read_object(option, "--json-arguments")


@app.command()
def demo(context: typer.Context, config: ConfigPath = None, debug: Debug = False) -> int:
    """Show what an AI client sees, with the official client and real servers."""
    try:
        demonstration = import_module("search_mcp.cli.demonstration")
    except ImportError as exc:
        if (exc.name or "").partition(".")[0] != "mcp":
            raise
        raise Misuse("the demo needs the official Python SDK 2.x", "pip install 'search-mcp[demo]'") from exc
    code: int = demonstration.run(config, terminal(context, debug))
    return code
