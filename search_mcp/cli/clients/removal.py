"""`uninstall`: search-mcp out of the files of AI clients, and the servers back that it replaced."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from search_mcp import installer
from search_mcp.cli.clients import leftovers
from search_mcp.cli.clients.report import Done, show
from search_mcp.cli.clients.selection import AllFound, ClientNames, named, noting, report
from search_mcp.cli.files.own_file import in_turn
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, WRONG, Misuse, Problem
from search_mcp.clients import found, installation, storage
from search_mcp.clients.known import CLIENTS, Client
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
def uninstall(
    options: Options,
    clients: ClientNames = None,
    all_found: AllFound = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--everything",
            help="All clients; then delete search-mcp's configuration, secrets, logins, logs, records and completion.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --everything: do not ask.")] = False,
) -> int:
    """Remove search-mcp from AI clients, and restore what it replaced."""
    if everything:
        if clients or options.as_json:
            raise Misuse("--everything takes no client and no --json", "leave them out")
        return _remove_everything(options, is_sure=yes)
    chosen = named(clients or [], all_found)
    with in_turn():
        removal = plan(chosen) if options.dry_run else carry_out(plan(chosen))
    show(removal.done, removal.troubles, "", options)
    return report(removal.troubles, options)


def _remove_everything(options: Options, *, is_sure: bool) -> int:
    """Show what is removed, ask, and remove it; search-mcp's own files stay if a client's file cannot be restored."""
    screen, planned, left = options.screen, plan(CLIENTS), leftovers.present()
    edits = [each for each in planned.done if each.result != "absent"]
    if edits or left:
        screen.text("To remove:")
    for each in edits:
        screen.paragraph(f"The entry of {each.client.title}, in {each.file.path}")
        for warning in each.warnings:
            screen.warning(warning)
    for path in left:
        screen.text(str(path))
    if options.dry_run or not (edits or left):
        screen.note("Nothing was removed." if edits or left else "There is nothing to remove.")
        return report(planned.troubles, options)
    if not screen.agrees("Remove all of this, with your list of servers, logins and stored secrets?", is_sure=is_sure):
        screen.note("Nothing was removed.")
        return WRONG
    with in_turn():
        removal = carry_out(plan(CLIENTS))
    if restored := [each for each in removal.done if each.result != "absent"]:
        show(restored, removal.troubles, "", options)
    if report(removal.troubles, options):
        raise Problem("search-mcp's own files stay, because a client could not be restored", "repair its file first")
    leftovers.remove(options)
    if edits:
        screen.note("Restart these clients now: until then, they may start search-mcp again.")
    screen.text("Everything is removed, except the program itself. This removes it:")
    screen.command_line(installer.removal())
    return FINE


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
    is_left_over = planned.result == "removed" and _is_left_over(planned)
    backup = file.save(changed) if changed != file.document else None
    MovedServers(state_folder()).forget(file.path)
    # Each warning is about a server that is not restored: without the backups, there would be no copy of it.
    if not planned.warnings and storage.forget_backups(file.path):
        backup = None
        if is_left_over:
            file.path.unlink()
    return replace(planned, backup=backup)


def _is_left_over(planned: Done) -> bool:
    """Return whether `install` made the file (its oldest backup, if any, has our entry) and nothing else is in it."""
    client, file = planned.client, planned.file
    earlier = (storage.load(each, client.format).document for each in storage.backups(file.path)[:1])
    is_made = all(installation.is_registered(each, client) for each in earlier) and not file.path.is_symlink()
    return is_made and re.sub(r'[\s{}":]', "", planned.changed.text) in ("", client.root)
