"""`add`: one more server in the configuration file, from a command, a URL or pasted JSON."""

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.cli.files import addition, stored_secrets, warming
from search_mcp.cli.files.addition import Addition
from search_mcp.cli.files.own_file import command_to_check, in_turn, own_file, tell_of_restarts
from search_mcp.cli.files.stored_secrets import Secret
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Misuse
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import found, native, storage
from search_mcp.clients.found import Server, tagged
from search_mcp.clients.merging import ROOT
from search_mcp.config import location
from search_mcp.config.blanks import blanks
from search_mcp.config.subset import TAG
from search_mcp.model.errors import for_shell


@takes("config", "no_start", "dry_run", "debug")
def add(
    options: Options,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Name of the server.")] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND ARGS...]", help="The command that starts the server, after --.", show_default=False
        ),
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", metavar="KEY=VALUE", help="Environment variable for the server.")
    ] = None,
    cwd: Annotated[str | None, typer.Option("--cwd", metavar="PATH", help="Working directory of the server.")] = None,
    json_entry: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="JSON", help="""A server's JSON, as in '{"mcpServers": {...}}'; - reads it from stdin."""
        ),
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME:VALUE", help="HTTP header for a remote server.")
    ] = None,
    transport: Annotated[
        str | None, typer.Option("--transport", metavar="http|sse", help="Transport of a remote server.")
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="Tag of the server, which --servers tag:TAG selects; repeatable."),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="NAME",
            help="Store the value of this variable or header in the system's keyring, or in a file that only you can "
            "read; repeatable. You type the value, or give it on stdin; several: one a line. If the value of "
            "Authorization is a single word, `Bearer` is put before it.",
        ),
    ] = None,
) -> int:
    """Add a server: the command that starts it, a URL, or pasted JSON."""
    given = [_tag(each) for each in tags or []]
    secrets: list[Secret] = []
    if json_entry is not None:
        if command or env or cwd or header or transport or secret:
            raise Misuse("--json cannot be combined with a command or other options", "leave them out")
        if json_entry == "-" and sys.stdin.isatty():
            ends = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
            options.screen.note(f"Paste the server's JSON, then press Enter and {ends}.")
        servers = found.pasted(sys.stdin.read() if json_entry == "-" else json_entry, name)
    else:
        name, command = _asked(name, command or [], options.screen)
        servers = [typed(name, command, env or [], cwd, header or [], transport)]
        if secret:
            secrets = _asked_for(options, servers[0], secret)
            servers = [_with_secrets(servers[0], secrets)]
    servers = [tagged(each, given) for each in servers]
    with in_turn():
        planned = addition.plan(own_file(options), servers, [] if name is None else [name])
        filled = _filled(options, planned)
        planned = planned.with_secrets(filled)
        secrets += filled.values()
        planned.show(options.screen)
        planned.write(options, secrets)
    planned.tell(options, given)
    if not options.dry_run:
        stored_secrets.tell(secrets, options.screen)
    path, added = planned.file.path, planned.enabled
    if not added or options.dry_run:
        return FINE
    if options.no_start:
        options.screen.note(f"Next: {' '.join([command_to_check(options, path), *map(for_shell, added)])}")
        return FINE
    for each in added:
        if "url" in (entry := planned.entries[each]):
            from search_mcp.cli.files import server_card  # with the HTTP client

            server_card.show(each, entry, options.screen)
    if warming.start(path, options.screen, added):
        tell_of_restarts(planned.file.path, planned.changed, added, options.screen)
    return FINE


def _asked(name: str | None, command: list[str], screen: Terminal) -> tuple[str | None, list[str]]:
    """Ask a person at a terminal for the name and the command or URL that the command line lacks."""
    if not screen.is_interactive or (name is not None and native.is_address(name)):
        return name, command
    name = name or screen.ask("Name of the server") or None
    if name is not None and not command:
        command = words(screen.ask("Its command, or its URL"))
    return name, command


def _filled(options: Options, planned: Addition) -> dict[tuple[str, ...], Secret]:
    """Ask a person at a terminal for the values that an example left open; return those that are given."""
    if not options.screen.is_interactive or options.dry_run:
        return {}
    return {
        (ROOT, server, part, key): secret
        for server, entry in planned.entries.items()
        for part, key in blanks(entry)
        if (secret := stored_secrets.offered(server, key, entry[part][key], options.screen)) is not None
    }


def words(line: str) -> list[str]:
    """Split a command line that a person typed.

    Raises:
        Misuse: a quote has no end.
    """
    try:
        return shlex.split(line, posix=sys.platform != "win32")
    except ValueError as exc:
        raise Misuse("the command has a quote without its end", "close it") from exc


def _tag(text: str) -> str:
    tag = text.strip().removeprefix(TAG)
    if not tag or "," in tag:
        raise Misuse(f"{text!r} is not a tag", "a tag has no comma; repeat --tag for each")
    return tag


def typed(
    name: str | None,
    command: Sequence[str],
    env: Sequence[str] = (),
    cwd: str | None = None,
    headers: Sequence[str] = (),
    transport: str | None = None,
) -> Server:
    """Return the server of a command line.

    Raises:
        Misuse: it is no command and no URL, or has options of the other.
    """
    usage = "write search-mcp add NAME -- COMMAND ARGS..., search-mcp add NAME URL, or --json"
    if name is None or not command:
        raise Misuse("a server needs a name and a command or a URL", usage)
    if native.is_address(command[0]):
        if env or cwd is not None:
            raise Misuse("--env and --cwd are for programs only", "write --header NAME:VALUE for a remote server")
        return _remote(name, command, headers, transport)
    if headers or transport:
        raise Misuse("--header and --transport are for remote servers only", "give a URL instead of a command")
    if re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?/\S*", command[0]) and not Path(command[0]).exists():
        raise Misuse(f"{command[0]} is no program", f"for a remote server, write https://{command[0]}")
    entry: dict[str, object] = {"command": command[0]}
    if command[1:]:
        entry["args"] = list(command[1:])
    variables = dict(_variable(pair) for pair in env)
    if variables:
        entry["env"] = variables
    if cwd is not None:
        # A relative path in the file is relative to the file.
        entry["cwd"] = cwd if cwd.startswith(("~", "$")) else str(Path(cwd).absolute())
    return found.typed(name, entry)


def _remote(name: str, command: Sequence[str], headers: Sequence[str], transport: str | None) -> Server:
    address, *rest = command
    if rest:
        raise Misuse(f"{address} is the URL of a remote server, which takes no arguments", "write --header NAME:VALUE")
    if transport not in (None, "http", "sse"):
        raise Misuse(f"unknown transport {transport!r}", "use http or sse")
    entry: dict[str, object] = {"url": address}
    if transport is not None:
        entry["type"] = transport
    if headers:
        entry["headers"] = dict(_header(pair) for pair in headers)
    return found.written(name, entry)


def _asked_for(options: Options, server: Server, names: Sequence[str]) -> list[Secret]:
    """Ask for the secrets of a server that can be added."""
    addition.refuse_taken_names([server], storage.load(location.places(options.config, os.environ)[-1], "jsonc"))
    present: Mapping[str, object] = server.raw.get("headers" if "url" in server.raw else "env") or {}
    for name in names:
        if not name or "=" in name or ":" in name:
            raise Misuse("--secret must be the name of a variable or a header", "its value is asked for")
        if name in present or names.count(name) > 1:
            raise Misuse(f"{name} is given twice", "give it once")
    return stored_secrets.read(server.name, names, options.screen, is_dry_run=options.dry_run)


def _with_secrets(server: Server, secrets: Sequence[Secret]) -> Server:
    """Add the placeholders of secrets to the entry of a server."""
    if "url" in server.raw:
        headers = {**server.raw.get("headers", {}), **{each.name: each.header for each in secrets}}
        return found.written(server.name, {**server.raw, "headers": headers})
    env = {**server.raw.get("env", {}), **{each.name: each.placeholder for each in secrets}}
    return found.typed(server.name, {**server.raw, "env": env})


def _header(pair: str) -> tuple[str, str]:
    name, sign, value = pair.partition(":")
    if not name.strip() or not sign:
        raise Misuse(
            "--header must be NAME:VALUE",
            "--header 'Authorization: Bearer ${TOKEN}' reads the value from the environment",
        )
    return name.strip(), value.strip()


def _variable(pair: str) -> tuple[str, str]:
    key, sign, value = pair.partition("=")
    if not key or not sign:
        raise Misuse("--env must be KEY=VALUE", "--env KEY='${KEY}' reads the value from the environment")
    return key, value
