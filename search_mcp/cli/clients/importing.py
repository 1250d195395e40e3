"""`import`: copies of the servers of AI clients in our configuration.

Decides which files are read, and what is reported about each server. The clients' files are not changed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from search_mcp.cli import consent
from search_mcp.cli.clients.selection import beginning, noting, report, unknown
from search_mcp.cli.files import warming
from search_mcp.cli.files.own_file import bridged, command_to_check, in_turn, own_file, tell_of_bridges
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import Misuse
from search_mcp.clients import difference, found, merging, storage
from search_mcp.clients.found import Server
from search_mcp.clients.known import BY_NAME, CLIENTS, Client, Machine
from search_mcp.clients.merging import Merged
from search_mcp.clients.registered import this_machine
from search_mcp.model.errors import ConfigError


@takes("config", "no_start", "dry_run", "as_json", "debug")
def import_(
    options: Options,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CLIENT|PATH]...",
            help="Clients or files to copy from (default: every client found).",
            autocompletion=beginning,
        ),
    ] = None,
) -> int:
    """Copy the servers of Claude, Cursor, VS Code, ... to search-mcp."""
    code, path, names, is_changed = _import(options, sources or [])
    # A named file may be a stranger's: its servers are started by `check`, after the user has seen their commands.
    is_from_clients = all(source in BY_NAME for source in sources or ())
    if names and is_from_clients and not options.dry_run and not options.no_start:
        warming.warm(path, options.screen, names)
    if is_changed and not options.dry_run and not options.as_json:
        options.screen.note(f"Next: {command_to_check(options, path)}")
    return code


@in_turn()
def _import(options: Options, sources: Sequence[str]) -> tuple[int, Path, Sequence[str], bool]:
    """Copy the servers; returns exit code, path of the file, names of the servers in it, and whether it changed."""
    screen, own = options.screen, own_file(options)
    servers: list[Server] = []
    troubles: list[ConfigError] = []
    machine = this_machine()
    for path, client in _files(sources, own.path, machine):
        with noting(troubles):
            document = storage.load(path, found.format_of(path, client)).document
            project = found.project_of(path, client, machine)
            servers += found.servers(document, found.reader(document, client), project)
    changed, merged = merging.merge(own.document, servers)
    if not options.as_json:
        consent.show_added(own.document, changed, screen)
    if changed != own.document and not options.dry_run:
        consent.accept_written(own, changed, options)
        own.save(changed)
    names = [each.name for each in merged if each.result != "skipped"]
    if options.as_json:
        screen.json(_import_as_json(own.path, merged, troubles, difference.unified(own.document, changed)))
    else:
        _tell(merged, troubles, options)
        tell_of_bridges(bridged(own.document, changed), screen)
        if changed != own.document and not options.dry_run:
            screen.note(f"Saved in {own.path}.")
    return report(troubles, options), own.path, names, changed != own.document


def _tell(merged: Sequence[Merged], troubles: Sequence[ConfigError], options: Options) -> None:
    """Show the result for each server."""
    screen = options.screen
    if merged:
        rows = [(each.server.name, _where(each.server), _result(each, options.dry_run)) for each in merged]
        screen.table(("Server", "From", "Result"), rows)
    elif not troubles:
        screen.note("No servers to import: no AI client on this machine has any.")
    for each in merged:
        for note in each.notes if each.result in ("added", "present") else ():
            screen.warning(f"{each.name}: {note}")


def _files(sources: Sequence[str], own: Path, machine: Machine) -> Iterator[tuple[Path, Client]]:
    """Find the files to import from, without our own."""
    for source in sources or [client.name for client in CLIENTS]:
        if source in BY_NAME:
            files = found.files(BY_NAME[source], machine)
            if sources and not files:
                usual = found.usual_file(BY_NAME[source], machine)
                raise Misuse(
                    f"{source} has no servers: there is no {usual}", "give the path of its file if it is elsewhere"
                )
            yield from ((path, BY_NAME[source]) for path in files)
        elif (path := Path(source).expanduser().absolute()).is_file():
            if path.resolve() == own.resolve():
                raise Misuse(f"{source} is the file that servers are imported into", "name another file")
            yield path, found.owner(path, machine)
        else:
            raise unknown(f"no client and no file {source!r}", source)


def _where(server: Server) -> str:
    return server.client.title if server.client.name else server.source


def _result(merged: Merged, dry_run: bool) -> str:
    name = f" as {merged.name}" if merged.name != merged.server.name else ""
    match merged.result:
        case "added":
            return f"{'would add' if dry_run else 'added'}{name}{', disabled' if merged.is_disabled else ''}"
        case "enabled":
            return f"{'would enable' if dry_run else 'enabled'}{name}"
        case "present":
            return f"already there{name}"
        case "skipped":
            return f"skipped: {merged.notes[0]}"


def _import_as_json(
    path: Path, merged: Sequence[Merged], troubles: Sequence[ConfigError], changes: str
) -> dict[str, Any]:
    return {
        "config": str(path),
        "servers": [
            {
                "name": each.server.name,
                "client": each.server.client.name or None,
                "file": each.server.source,
                "result": each.result,
                "as": each.name or None,
                "notes": each.notes,
            }
            for each in merged
        ],
        "difference": changes,
        "errors": [str(trouble) for trouble in troubles],
    }
