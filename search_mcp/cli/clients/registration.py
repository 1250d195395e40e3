"""`install`, `uninstall`: search-mcp in the files of AI clients.

Decides the order of writing, so that nothing is lost if it is interrupted: our configuration first, then the record of
moved servers, the client's file last.
"""

import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.cli import completion, consent
from search_mcp.cli.clients import client_servers
from search_mcp.cli.clients.client_servers import Choice
from search_mcp.cli.clients.report import Done, show
from search_mcp.cli.clients.selection import beginning, noting, report, this_machine, unknown
from search_mcp.cli.counting import enumerated
from search_mcp.cli.files import warming
from search_mcp.cli.files.own_file import bridged, in_turn, own_file, tell_of_bridges
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import Misuse
from search_mcp.clients import command, difference, found, installation, merging, storage
from search_mcp.clients.document import Document
from search_mcp.clients.found import Server
from search_mcp.clients.known import BY_NAME, CLIENTS, Client
from search_mcp.clients.merging import ROOT
from search_mcp.clients.moved import Moved, MovedServers, digest
from search_mcp.clients.storage import File
from search_mcp.config import subset
from search_mcp.config.subset import Subset
from search_mcp.folders import state_folder
from search_mcp.model.errors import ConfigError

_Clients = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CLIENT]...", help=f"Clients: {', '.join(BY_NAME)}.", autocompletion=beginning),
]
_AllFound = Annotated[bool, typer.Option("--all-found", help="All clients found on this machine.")]


@takes("config", "no_start", "dry_run", "as_json", "debug")
def install(
    options: Options,
    clients: _Clients = None,
    all_found: _AllFound = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Move the client's other servers into search-mcp's config file; uninstall restores them."
        ),
    ] = False,
    servers: Annotated[
        str | None,
        typer.Option(
            subset.OPTION,
            metavar="LIST",
            autocompletion=completion.server_selectors,
            help="The servers for these clients: names, patterns, tag:NAME, with commas; - before one excludes it, '*' "
            "means all. Without this option, a client keeps those that it has.",
        ),
    ] = None,
) -> int:
    """Register search-mcp in AI clients."""
    chosen = subset.parse(servers) if servers is not None else None
    code, path, used = _register(options, clients or [], chosen, all_found=all_found, replace=replace)
    if path is not None and not options.dry_run and not options.no_start:
        warming.warm(path, options.screen, used=used)
    return code


@in_turn()
def _register(
    options: Options, clients: Sequence[str], chosen: Subset | None, *, all_found: bool, replace: bool
) -> tuple[int, Path | None, Collection[str] | None]:
    """Write search-mcp into the clients' files.

    Returns the exit code, the configuration's path if it is in use, and the names of the servers that the clients use,
    None for all.

    Raises:
        ConfigError: there are no servers as chosen.
    """
    words = _own_command()
    own = own_file(options)
    behind = own.document.put((ROOT,), own.document.members((ROOT,)))
    plans: list[_Plan] = []
    troubles: list[ConfigError] = []
    for client, path, is_there in _targets(clients, all_found):
        if not is_there:
            creating = "would create it" if options.dry_run else "creating it"
            options.screen.warning(f"{client.title} was not found on this machine (no {path}); {creating}")
        with noting(troubles):
            plan = _Plan(client, storage.load(path, client.format))
            if replace:
                plan, behind = _with_moves(plan, behind)
            elif twice := _started_twice(plan, behind, chosen):
                options.screen.warning(
                    f"{client.title} still starts {enumerated(twice)} itself, so their tools are listed twice; "
                    "--replace moves them to search-mcp"
                )
            plans.append(plan)
    servers = installation.tags(behind)
    for fault in chosen.faults(servers) if chosen is not None and plans else ():
        raise fault
    if plans and not options.as_json:
        consent.show_added(own.document, behind, options.screen)
    if plans and behind != own.document and not options.dry_run:
        consent.accept_written(own, behind, options)
        own.save(behind)
    config, variables = str(own.path.absolute()), installation.variables(behind)
    done: list[Done] = []
    for plan in plans:
        with noting(troubles):
            choice = client_servers.choose(plan.file.document, plan.client, chosen, servers)
            done.append(_install(plan, choice, words, config, variables, options.dry_run))
    show(done, troubles, difference.unified(own.document, behind) if plans else "", options)
    if not options.as_json:
        tell_of_bridges(bridged(own.document, behind), options.screen)
    used = client_servers.in_use([each.choice for each in done])
    return report(troubles, options), own.path if done else None, used


@dataclass(frozen=True)
class _Plan:
    """A client's file, and the servers to move out of it."""

    client: Client
    file: File
    moved: tuple[Server, ...] = ()
    moved_as: tuple[str, ...] = ()
    """Their names in our configuration."""
    warnings: tuple[str, ...] = ()


def _started_twice(plan: _Plan, own: Document, chosen: Subset | None) -> list[str]:
    """List the client's servers that search-mcp starts for it as well."""
    movable, _ = installation.other_servers(plan.file.document, plan.client)
    _, merged = merging.merge(own, movable)
    choice = client_servers.choose(plan.file.document, plan.client, chosen, installation.tags(own))
    return [
        each.server.name
        for each in merged
        if each.result == "present" and (choice is None or each.name in choice.names)
    ]


def _own_command() -> Sequence[str]:
    program, *args = command.own_command(sys.argv[0], sys.executable, shutil.which)
    program = str(Path(program).absolute())
    if command.is_temporary(program):
        raise Misuse(
            f"{program} is a temporary installation",
            "install search-mcp permanently first: pipx install PATH, where PATH is its checkout",
        )
    return program, *args


def _with_moves(plan: _Plan, own: Document) -> tuple[_Plan, Document]:
    """Plan to move servers into our configuration; those that would need changes stay where they are."""
    movable, others = installation.other_servers(plan.file.document, plan.client)
    own, merged = merging.merge(own, movable)
    moved, names = [], []
    for each in merged:
        if each.result != "skipped":
            moved.append(each.server)
            names.append(each.name)
    reasons = {each.server.name: each.notes[0] for each in merged if each.result == "skipped"}
    reasons |= {server.name: server.translation.notes[0] for server in others if server.translation is not None}
    warnings = [f"{name} stays in {plan.client.title}: {reason}" for name, reason in reasons.items()]
    warnings += [
        f"{each.server.name}: {note}" for each in merged if each.result in ("enabled", "present") for note in each.notes
    ]
    return _Plan(plan.client, plan.file, (*moved,), (*names,), (*warnings,)), own


def _install(
    plan: _Plan, choice: Choice | None, words: Sequence[str], config: str, variables: Sequence[str], dry_run: bool
) -> Done:
    file = plan.file
    changed, texts = installation.without(file.document, plan.moved)
    expression = choice.expression if choice is not None else None
    changed, result = installation.add(changed, plan.client, words, config, variables, expression)
    if result == "present" and plan.moved:
        result = "updated"
    backup = None
    if changed != file.document and not dry_run:
        _remember(file, plan.moved, texts, changed)
        backup = file.save(changed)
    names = tuple(server.name for server in plan.moved)
    return Done(plan.client, file, changed, result, backup, names, _warnings(plan, choice), choice)


def _warnings(plan: _Plan, choice: Choice | None) -> tuple[str, ...]:
    if choice is None:
        return plan.warnings
    lost = choice.about_moved(plan.moved_as)
    return (*plan.warnings, *(f"{plan.client.title}: {each}" for each in (*choice.warnings, lost) if each))


def _remember(file: File, moved: Sequence[Server], texts: Mapping[str, str], changed: Document) -> None:
    record = MovedServers(state_folder())
    earlier = record.find(file.path)
    if not moved and earlier is None:
        return
    servers = {server.name: server.raw for server in moved}
    if earlier is not None:
        servers, texts = {**earlier.servers, **servers}, {**earlier.texts, **texts}
    is_untouched = earlier is not None and earlier.matches(file.document)
    before = earlier.before if earlier is not None and is_untouched else file.document.text
    record.keep(file.path, Moved(servers, before, digest(changed), texts))


@takes("dry_run", "as_json", "debug")
@in_turn()
def uninstall(options: Options, clients: _Clients = None, all_found: _AllFound = False) -> int:
    """Remove search-mcp from AI clients and restore the servers it replaced."""
    machine = this_machine()
    done: list[Done] = []
    troubles: list[ConfigError] = []
    for client in _named(clients or [], all_found):
        for path in found.files(client, machine):
            with noting(troubles):
                done.append(_uninstall(client, storage.load(path, client.format), options.dry_run))
    show(done, troubles, "", options)
    return report(troubles, options)


def _uninstall(client: Client, file: File, dry_run: bool) -> Done:
    record = MovedServers(state_folder())
    moved = record.find(file.path)
    changed, result, kept_out = installation.remove(file.document, client, moved)
    backup = None
    if not dry_run:
        backup = file.save(changed) if changed != file.document else None
        record.forget(file.path)
        # Without the backups, there would be no copy of servers that are not restored.
        if not kept_out and storage.forget_backups(file.path):
            backup = None
    names = tuple(name for name in (moved.servers if moved is not None else ()) if name not in kept_out)
    warnings = tuple(f"{name} is not restored: another server is called {name} now" for name in kept_out)
    return Done(client, file, changed, result, backup, names, warnings)


def _named(names: Sequence[str], all_found: bool) -> list[Client]:
    if bool(names) == all_found:
        raise Misuse("either name clients or use --all-found", f"the clients are {', '.join(BY_NAME)}")
    for name in names:
        if name not in BY_NAME:
            raise unknown(f"no client {name!r}", name)
    return [BY_NAME[name] for name in dict.fromkeys(names)] or [*CLIENTS]


def _targets(names: Sequence[str], all_found: bool) -> Iterator[tuple[Client, Path, bool]]:
    """Yield client, file, and whether the client seems to be installed; a named client need not be."""
    machine = this_machine()
    for client in _named(names, all_found):
        paths = found.targets(client, machine)
        yield from ((client, path, True) for path in paths)
        if not paths and not all_found:
            yield client, found.usual_file(client, machine), False
