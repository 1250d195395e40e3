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
from search_mcp.aggregate import log_folder, trust_folder
from search_mcp.cli import (
    acceptance,
    arguments,
    checkup,
    completion,
    configuring,
    cost,
    editing,
    importing,
    invocation,
    listing,
    logs,
    output,
    plot,
    registration,
    session,
    tokenizer,
)
from search_mcp.cli.memory import Eras, Renewed
from search_mcp.cli.options import (
    AsJson,
    ClientName,
    ConfigPath,
    Debug,
    Refresh,
    configuration,
    memory,
    profile,
    terminal,
)
from search_mcp.cli.problem import FINE, MISUSED, WRONG, InterruptionError, Misuse, Problem, did_you_mean, of_call
from search_mcp.cli.session import Session
from search_mcp.cli.terminal import Terminal
from search_mcp.config import ServerConfig
from search_mcp.errors import ConfigError, WireError
from search_mcp.model import InputRequired, Outcome, Status
from search_mcp.trust import TrustStore

NAME = "search-mcp"

app = typer.Typer(
    name=NAME,
    help="One MCP server in front of all the others: merged tools, and a search that finds the right one.",
    epilog="Exit codes: 0 fine, 1 something is wrong, 2 a wrong command line or configuration.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(configuring.app, name="config")


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
    except Exception as exc:  # most often a bug; a person can do more with a sentence than with a traceback
        screen.traceback(exc)
        screen.error(_unexpected(exc))
        return WRONG


def _unexpected(exc: Exception) -> str:
    if isinstance(exc, OSError) and exc.strerror:
        return f"{exc.filename}: {exc.strerror}" if exc.filename is not None else exc.strerror
    return f"this is a bug in {NAME}: {exc!r}; run it again with --debug and report what it shows"


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
def check(
    context: typer.Context,
    config: ConfigPath = None,
    client: ClientName = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Take the changed tools of a server, or one by its full name, as they are."),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Start every server, and show what is there and what is wrong."""
    screen = terminal(context, debug)
    loaded, path = configuration(config)
    judge = profile(client)
    acceptance.accept(accept or [], loaded, TrustStore(trust_folder()), screen)
    found = session.run(loaded, judge, Renewed, lambda running: checkup.examine(running, judge, screen))
    if as_json:
        screen.json({"config": str(path), **found.as_json(), "warnings": loaded.warnings})
    else:
        checkup.report(found, loaded, path, screen)
    return found.exit_code


@app.command("list")
def list_(
    context: typer.Context,
    of_server: Annotated[
        str | None,
        typer.Argument(metavar="[SERVER]", help="Only this server's tools.", autocompletion=completion.server_names),
    ] = None,
    config: ConfigPath = None,
    client: ClientName = None,
    refresh: Refresh = False,
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

    found = session.run(loaded, profile(client), memory(refresh), work)
    listing.tell_age(found.age_seconds, screen)
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
    of_server: Annotated[
        str | None,
        typer.Option(
            "--server", metavar="NAME", help="Only this server's tools.", autocompletion=completion.server_names
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each tool is where it is.")] = False,
    config: ConfigPath = None,
    client: ClientName = None,
    refresh: Refresh = False,
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
        return listing.found_tools(running, text, limit, of_server)

    found = session.run(loaded, profile(client), memory(refresh), work)
    listing.tell_age(found.age_seconds, screen)
    if as_json:
        screen.json(found.explained_as_json() if explain else found.as_json())
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
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...", help="Tools, by any spelling of their names.", autocompletion=completion.tool_names
        ),
    ],
    config: ConfigPath = None,
    client: ClientName = None,
    refresh: Refresh = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Show what tools do and which parameters they take."""
    screen = terminal(context, debug)
    loaded, _ = configuration(config)

    async def work(running: Session) -> listing.Descriptions:
        await listing.settle_tools(running, screen)
        return listing.descriptions(running, names)

    found = session.run(session.owners(loaded, profile(client), names), profile(client), memory(refresh), work)
    if found.unknown and found.age_seconds is not None:
        found = session.run(session.needed(loaded, names), profile(client), Renewed, work)
    listing.tell_age(found.age_seconds, screen)
    if as_json:
        screen.json(found.as_json())
    else:
        listing.show_definitions(found, screen)
    return listing.report_unknown(found, screen)


@app.command()
def call(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The tool, by any spelling of its name.", autocompletion=completion.tool_names
        ),
    ],
    pairs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE | KEY:=JSON | '{...}' | -]...",
            help="Its arguments: numbers as the tool wants them, or one JSON object; - reads one from stdin.",
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option("--output", metavar="PATH", help="Save the images and other bytes, or else the text, here."),
    ] = None,
    config: ConfigPath = None,
    client: ClientName = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Call a tool, and show what it answers."""
    screen = terminal(context, debug)
    given, words = arguments.read(pairs or [], sys.stdin.read)
    if target is not None:
        output.check(target)
    loaded, _ = configuration(config)

    async def work(running: Session) -> Outcome:
        return await invocation.call(running, name, given, words, screen)

    outcome = session.run(session.owners(loaded, profile(client), [name]), profile(client), Eras, work)
    if isinstance(outcome, WireError):
        if as_json:
            screen.json({"error": outcome.error_object()})
        raise of_call(outcome, name)
    if isinstance(outcome, InputRequired):
        raise Problem(f"{name} asks for something that can only be answered in an AI client", "call it from there")
    body = jsonrpc.encode(outcome.body)
    if not as_json:
        return invocation.show(body, target, screen)
    screen.raw_json(body)
    if target is not None:
        invocation.save(body, target, screen)
    return WRONG if invocation.is_error(body) else FINE


@app.command()
def tokens(
    context: typer.Context,
    picture: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw it into this PNG or SVG file, too.")
    ] = None,
    config: ConfigPath = None,
    client: ClientName = None,
    refresh: Refresh = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Show what the tools cost in a model's context, and what searching for them saves."""
    screen = terminal(context, debug)
    if picture is not None:
        plot.check(picture)
    loaded, _ = configuration(config)
    with screen.progress(lambda: "loading the tokenizer"):
        counting = tokenizer.find()

    async def work(running: Session) -> tuple[cost.Cost, list[Status]]:
        await listing.settle_tools(running, screen)
        return cost.count(running, counting), running.failures()

    found, failures = session.run(loaded, profile(client), memory(refresh), work)
    listing.tell_age(found.age_seconds, screen)
    if as_json:
        screen.json(found.as_json())
    else:
        cost.show(found, screen)
    if picture is not None:
        plot.draw(found, picture)
        screen.note(f"{picture}: saved")
    return listing.report_failures(failures, screen)


@app.command("logs")
def logs_(
    context: typer.Context,
    of_server: Annotated[
        str | None,
        typer.Argument(metavar="[SERVER]", help="Only what this server wrote.", autocompletion=completion.server_names),
    ] = None,
    following: Annotated[bool, typer.Option("--follow", "-f", help="Show what is written from now on, too.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, metavar="N", help="How many lines of each.")] = 50,
    config: ConfigPath = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Show what the servers wrote to their stderr while an AI client used them."""
    screen = terminal(context, debug)
    loaded, _ = configuration(config)
    if of_server is not None:
        listing.known_server(loaded, of_server)
    folder = log_folder()
    files = [logs.LogFile(each, folder) for each in loaded.servers if of_server in (None, each.name)]

    def show(of: ServerConfig, line: str) -> None:
        if as_json:
            screen.json_line({"server": of.name, "line": line})
        elif of_server is not None:
            screen.text(line)
        else:
            screen.logged(of.name, line)

    if following:
        session.run_alone(lambda: logs.follow(files, folder, lines, show, screen))
    else:
        logs.check(files, folder)
        logs.show_last(files, lines, show)
    return FINE


app.command("import")(importing.import_)
for _command in (
    editing.add,
    editing.remove,
    editing.enable,
    editing.disable,
    registration.install,
    registration.uninstall,
):
    app.command()(_command)


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
