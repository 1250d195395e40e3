"""The table of the commands.

Decides which commands there are, their order in the help, their examples, and the exit code. Each command and its
options are in another module. `serve` is here only for its help: `__main__` runs it without this package.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from search_mcp import __version__, installer
from search_mcp.cli import other_words
from search_mcp.cli.console import is_of_closed_pipe
from search_mcp.cli.counting import enumerated
from search_mcp.cli.help_text import REST, Command, First, of_group
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, MISUSED, WRONG, InterruptionError, Misuse, Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.fronts.serve import run
from search_mcp.logs import LEVELS
from search_mcp.model.errors import ConfigError

NAME = "search-mcp"
COMPLETION_VARIABLE = "_SEARCH_MCP_COMPLETE"


def main(words: Sequence[str]) -> int:
    """Run a command; returns the exit code."""
    if sys.stdin is None:  # it was closed, which is read as empty
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115  # for as long as we live
    screen = Terminal()
    try:
        if (answer := other_words.instead_of(words)) is not None:
            word, remedy, better = answer
            raise Misuse(f"there is no command {word!r}", remedy, better)
        command: Any = typer.main.get_command(application(_needed(words)))
        code = command.main(args=list(words), prog_name=NAME, standalone_mode=False, obj=screen)
        return code if isinstance(code, int) else FINE
    except (Problem, ConfigError) as exc:
        screen.traceback(exc)
        return _reported(exc, screen)
    except typer.TyperException as exc:
        screen.error(_misuse(exc, words))
        return MISUSED
    except InterruptionError as exc:
        return exc.code
    except KeyboardInterrupt:
        return 130
    except Exception as exc:  # most often a bug; a sentence helps a user more than a traceback
        screen.traceback(exc)
        if isinstance(exc, OSError) and is_of_closed_pipe(exc, sys.platform):  # while typer wrote the help
            screen.leave_unread()
        else:
            screen.error(_unexpected(exc))
        return WRONG


def _reported(exc: Problem | ConfigError, screen: Terminal) -> int:
    if isinstance(exc, Problem):
        screen.error(exc.sentence, exc.command)
        return exc.code
    screen.error(str(exc))
    return MISUSED


def _unexpected(exc: Exception) -> str:
    if isinstance(exc, OSError) and exc.strerror:
        return f"{exc.filename}: {exc.strerror}" if exc.filename is not None else exc.strerror
    return f"this is a bug in {NAME}: {exc!r}; run it again with --debug and report the output"


def _misuse(exc: typer.TyperException, words: Sequence[str]) -> str:
    context = getattr(exc, "ctx", None)
    command = context.command_path if context is not None else NAME
    message = exc.format_message().rstrip(".")
    if command == f"{NAME} add" and hasattr(exc, "option_name") and "--" not in words:
        return f"{message}; put -- before the command, as in: {NAME} add NAME -- npx -y PACKAGE"
    if command == f"{NAME} serve" and message.startswith("No such option"):  # it may be meant for another command
        return f"{message}; options go after the command, see {NAME} --help"
    return f"{message}{' ' if message.endswith('?') else '; '}see {command} --help"


def _show_version(wanted: bool) -> None:
    if wanted:
        Terminal().text(f"{NAME} {__version__}")
        raise typer.Exit


def _before_any_command(
    shown: Annotated[
        bool, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Read the options before a command."""


@takes("config", "client", "servers")
def serve(
    options: Options,
    log_level: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="Log level on stderr: debug, info, warning or error.")
    ] = None,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="Serve clients over HTTP at this address, path /mcp."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="With --http: also accept this host name, such as that of a proxy; repeatable.",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin", metavar="ORIGIN", help="With --http: let web pages of this origin call; repeatable."
        ),
    ] = None,
    health: Annotated[
        str | None,
        typer.Option(
            "--health", metavar="HOST:PORT", help="With --http: answer /healthz, /readyz and /metrics at this address."
        ),
    ] = None,
    issuer: Annotated[
        str | None,
        typer.Option(
            "--issuer", metavar="URL", help="With --http: also accept the access tokens of this authorization server."
        ),
    ] = None,
    audience: Annotated[
        str | None,
        typer.Option(
            "--audience", metavar="URL", help="With --issuer: the public address of /mcp, which its tokens are for."
        ),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="NAME", help="With --issuer: a scope that its tokens need; repeatable."),
    ] = None,
    log_json: Annotated[bool, typer.Option("--log-json", help="With --http: log JSON objects, one a line.")] = False,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="With --http: ask for no token, on loopback addresses only; for trials.")
    ] = False,
) -> int:
    """Run the MCP server on stdio (default when started by a client), or over HTTP."""
    if log_level not in (None, *LEVELS):
        raise typer.BadParameter(f"there is no log level {log_level!r}; the levels are {', '.join(LEVELS)}")
    if http is not None:
        from search_mcp.cli import http_front  # with libraries that no other command needs

        hosts, origins, scopes = allow_host or (), allow_origin or (), scope or ()
        wanted = http_front.Wanted(http, hosts, origins, not no_auth, health, issuer, audience, scopes, log_json)
        return http_front.run(options, log_level, wanted)
    only_http = {
        "--allow-host": allow_host,
        "--allow-origin": allow_origin,
        "--health": health,
        "--issuer": issuer,
        "--audience": audience,
        "--scope": scope,
        "--log-json": log_json,
        "--no-auth": no_auth,
    }
    if given := [name for name, value in only_http.items() if value]:
        raise Misuse(f"{enumerated(given)} work{'s' * (len(given) == 1)} with --http only", "add --http HOST:PORT")
    return run(options.config, options.profile, log_level, options.servers)


@takes("config", "debug")
def demo(options: Options) -> int:
    """Show what an AI client sees, with real servers."""
    try:
        from search_mcp.cli import demonstration
    except ImportError as exc:
        if (exc.name or "").partition(".")[0] != "mcp":
            raise
        raise Misuse("the demo needs the official Python SDK 2.x", *installer.add("demo")) from exc
    return demonstration.run(options.config, options.screen)


def _command_names(context: typer.Context, incomplete: str) -> list[str]:
    group: Any = context.find_root().command
    return [name for name in group.commands if name.startswith(incomplete)]


@takes()
def help_(
    options: Options,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]", help="The command to explain.", autocompletion=_command_names),
    ] = None,
    shows_all: Annotated[bool, typer.Option("--all", help="Show all commands.")] = False,
) -> int:
    """Show the help of search-mcp, or of one command."""
    if not shows_all:
        return main([*(names or []), "--help"])
    options.screen.text(of_group(typer.main.get_command(application()), NAME))
    return FINE


def version() -> None:
    """Show the version."""
    _show_version(True)


EVERYDAY, SERVERS, CLIENTS = "Everyday", "Servers", "Clients"
COMMANDS: Sequence[tuple[str, str, str, Sequence[str]]] = (
    (EVERYDAY, "check", "checks.checkup:check", ("check", "check github time", "check --client cursor")),
    (EVERYDAY, "servers", "overview:servers", ("servers", "servers github", "servers --json")),
    (EVERYDAY, "list", "tools.contents:list_", ("list", "list time --refresh", "list --prompts --resources")),
    (
        EVERYDAY,
        "search",
        "tools.listing:search",
        ("search what time is it in Tokyo", "search read a file --server filesystem"),
    ),
    (
        EVERYDAY,
        "call",
        "tools.invocation:call",
        ("call time.get_current_time timezone=Asia/Tokyo", """call memory.open_nodes 'names=["Anna"]'"""),
    ),
    (
        EVERYDAY,
        "usage",
        "usage.usage:usage",
        ("usage", "usage --last 20", "usage --client cursor --by server --days 7"),
    ),
    (EVERYDAY, "logs", "logs:logs", ("logs", "logs github --follow")),
    (EVERYDAY, "ui", "ui:ui", ("ui", "ui --no-open")),
    (
        SERVERS,
        "add",
        "files.adding:add",
        ("add memory -- npx -y @modelcontextprotocol/server-memory", "add --json -   # then paste a README's JSON"),
    ),
    (SERVERS, "remove", "files.editing:remove", ("remove memory", "remove memory --dry-run")),
    (SERVERS, "enable", "files.editing:enable", ("enable memory", "enable git.git_reset")),
    (SERVERS, "disable", "files.editing:disable", ("disable memory github", "disable git.git_reset")),
    (CLIENTS, "import", "clients.importing:import_", ("import --dry-run", "import claude-desktop cursor")),
    (
        CLIENTS,
        "install",
        "clients.registration:install",
        (
            "install claude-desktop --dry-run",
            "install --all-found --replace",
            "install cursor --servers 'tag:work,github,-jira'",
        ),
    ),
    (CLIENTS, "uninstall", "clients.removal:uninstall", ("uninstall claude-desktop", "uninstall --everything")),
    (REST, "clients", "clients.found_clients:clients", ("clients", "clients --json")),
    (REST, "describe", "tools.description:describe", ("describe time.convert_time",)),
    (REST, "secret", "files.moving_secrets:secret", ("secret github GITHUB_PERSONAL_ACCESS_TOKEN",)),
    (REST, "tokens", "tokens.tokens:tokens", ("tokens", "tokens --client claude-desktop")),
    (REST, "demo", "app:demo", ("demo",)),
    (REST, "serve", "app:serve", ("serve --client claude-desktop",)),
    (REST, "help", "app:help_", ("help check", "help --all")),
    (REST, "version", "app:version", ("version",)),
)
"""Every command: group in the help, name, module and function, examples."""
GROUPS = {
    "auth": (SERVERS, "logins.logins"),
    "config": (REST, "files.configuring"),
    "engine": (REST, "engine.engines"),
    "semantic": (REST, "models.sentence_models"),
    "token": (REST, "front_tokens"),
}
"""Every command with commands of its own: group in the help, and module."""


def application(only: str | None = None) -> typer.Typer:
    """Assemble all commands, or only one, without loading the modules of the others."""
    app = typer.Typer(
        name=NAME,
        cls=First,
        help="""One MCP server in front of all your MCP servers: your AI client sees one server with all tools, and a
        search that finds the right one.""",
        epilog=f"{NAME} import\n{NAME} check\n{NAME} install claude-desktop",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_before_any_command)
    for heading, name, place, examples in COMMANDS:
        if only in (None, name):
            module, _, function = place.partition(":")
            run = getattr(import_module(f"search_mcp.cli.{module}"), function)
            lines = "\n".join(f"{NAME} {each}" for each in examples)
            app.command(name, cls=Command, rich_help_panel=heading, epilog=lines)(run)
    for name, (heading, module) in GROUPS.items():
        if only in (None, name):
            app.add_typer(import_module(f"search_mcp.cli.{module}").app, name=name, rich_help_panel=heading)
    return app


def _needed(words: Sequence[str]) -> str | None:
    """Return the command that a command line runs; None if all are needed for completion or help."""
    names = {*GROUPS, *(name for _, name, _, _ in COMMANDS)}
    return words[0] if words and words[0] in names and COMPLETION_VARIABLE not in os.environ else None
