"""`uninstall`: search-mcp out of the files of AI clients, and the servers back that it replaced."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from search_mcp.cli.clients.report import Done, show
from search_mcp.cli.clients.selection import AllFound, ClientNames, named, noting, report
from search_mcp.cli.files.own_file import in_turn
from search_mcp.cli.options import Options, takes
from search_mcp.clients import found, installation, storage
from search_mcp.clients.known import Client
from search_mcp.clients.moved import MovedServers
from search_mcp.clients.registered import this_machine
from search_mcp.clients.storage import File
from search_mcp.folders import state_folder
from search_mcp.model.errors import ConfigError


@dataclass(frozen=True)
class Removal:
    """The edits of the clients' files, as they are planned or done."""

    done: tuple[Done, ...]
    troubles: tuple[ConfigError, ...]
    """The errors of files that cannot be edited."""


@takes("dry_run", "as_json", "debug")
def uninstall(options: Options, clients: ClientNames = None, all_found: AllFound = False) -> int:
    """Remove search-mcp from AI clients, and restore what it replaced."""
    chosen = named(clients or [], all_found)
    with in_turn():
        removal = plan(chosen) if options.dry_run else carry_out(plan(chosen))
    show(removal.done, removal.troubles, "", options)
    return report(removal.troubles, options)


def plan(clients: Sequence[Client]) -> Removal:
    """Plan the edits; nothing is written."""
    machine = this_machine()
    done: list[Done] = []
    troubles: list[ConfigError] = []
    for client in clients:
        for path in found.files(client, machine):
            with noting(troubles):
                done.append(_planned(client, storage.load(path, client.format)))
    return Removal((*done,), (*troubles,))


def _planned(client: Client, file: File) -> Done:
    moved = MovedServers(state_folder()).find(file.path)
    changed, result, kept_out = installation.remove(file.document, client, moved)
    names = tuple(name for name in (moved.servers if moved is not None else ()) if name not in kept_out)
    warnings = tuple(f"{name} is not restored: another server is called {name} now" for name in kept_out)
    return Done(client, file, changed, result, None, names, warnings)


def carry_out(planned: Removal) -> Removal:
    """Write the planned edits; a file that changed meanwhile is among the troubles."""
    done: list[Done] = []
    troubles = [*planned.troubles]
    for each in planned.done:
        with noting(troubles):
            done.append(_written(each))
    return Removal((*done,), (*troubles,))


def _written(planned: Done) -> Done:
    file, changed = planned.file, planned.changed
    backup = file.save(changed) if changed != file.document else None
    MovedServers(state_folder()).forget(file.path)
    # Each warning is about a server that is not restored: without the backups, there would be no copy of it.
    if not planned.warnings and storage.forget_backups(file.path):
        backup = None
    return replace(planned, backup=backup)
