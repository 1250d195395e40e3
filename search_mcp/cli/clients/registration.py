"""`install`: search-mcp in the files of AI clients.

Decides the order of writing, so that nothing is lost if it is interrupted: our configuration first, then the record of
moved servers, the client's file last.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from search_mcp.cli import completion, consent
from search_mcp.cli.clients import client_servers
from search_mcp.cli.clients.client_servers import Choice
from search_mcp.cli.clients.program import lasting, own_program
from search_mcp.cli.clients.report import Done, show
from search_mcp.cli.clients.selection import AllFound, ClientNames, named, noting, report
from search_mcp.cli.files import warming
from search_mcp.cli.files.own_file import bridged, in_turn, own_file, tell_of_bridges
from search_mcp.cli.options import Options, takes
from search_mcp.clients import difference, found, installation, merging, storage
from search_mcp.clients.document import Document
from search_mcp.clients.found import Server
from search_mcp.clients.known import Client, Machine
from search_mcp.clients.merging import ROOT
from search_mcp.clients.moved import Moved, MovedServers, digest
from search_mcp.clients.registered import this_machine
from search_mcp.clients.storage import File
from search_mcp.config import subset
from search_mcp.config.subset import Subset
from search_mcp.folders import state_folder
from search_mcp.model.errors import ConfigError


@takes("config", "no_start", "dry_run", "as_json", "debug")
def install(
    options: Options,
    clients: ClientNames = None,
    all_found: AllFound = False,
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
            help="The servers for these clients: names, patterns or tag:NAME, with commas between; -NAME excludes one, "
            "'*' means all. Without this option, a client keeps its servers.",
        ),
    ] = None,
) -> int:
    """Register search-mcp in AI clients."""
    chosen = subset.parse(servers) if servers is not None else None
    screen, program = options.screen, lasting(own_program())
    with in_turn():
        planned = plan(options, program, targets(clients or [], all_found), chosen, moves=replace)
        if not options.as_json:
            planned.show_commands(options)
        done = planned if options.dry_run else carry_out(planned, options)
    done.tell(options)
    if done.edits and not options.dry_run and not options.no_start:
        warming.warm(done.own.path, screen, used=client_servers.in_use([each.choice for each in done.done]))
    return report(done.troubles, options)


@dataclass(frozen=True)
class Edit:
    """The edit of one client's file."""

    done: Done
    """How it is reported."""
    moved: tuple[Server, ...]
    texts: Mapping[str, str]
    """The text of each moved server's entry in the file."""


@dataclass(frozen=True)
class Registration:
    """The edits of our own file and of the clients' files, as they are planned or done."""

    own: File
    behind: Document
    """Our own file afterwards."""
    edits: tuple[Edit, ...]
    troubles: tuple[ConfigError, ...]
    """The errors of files that cannot be edited."""

    @property
    def done(self) -> list[Done]:
        return [each.done for each in self.edits]

    @property
    def own_difference(self) -> str:
        """The edit of our own file, with secrets starred."""
        return difference.unified(self.own.document, self.behind) if self.edits else ""

    def show_commands(self, options: Options) -> None:
        """Show the commands that our file gets from the clients."""
        if self.edits:
            consent.show_added(self.own.document, self.behind, options.screen)

    def tell(self, options: Options) -> None:
        """Report what is done, or what would be."""
        show(self.done, self.troubles, self.own_difference, options)
        if not options.as_json:
            tell_of_bridges(bridged(self.own.document, self.behind), options.screen)


def plan(
    options: Options,
    program: Sequence[str],
    places: Sequence["Target"],
    chosen: Subset | None,
    *,
    moves: bool,
) -> Registration:
    """Plan the edits that register `program` in clients' files; nothing is written.

    With `moves`, the clients' other servers are moved into our configuration.

    Raises:
        ConfigError: there are no servers as chosen, or our own file cannot be read.
    """
    own = own_file(options)
    behind = own.document.put((ROOT,), own.document.members((ROOT,)))
    plans: list[_Plan] = []
    troubles: list[ConfigError] = []
    for client, path, is_there in places:
        if not is_there:
            creating = "would create it" if options.dry_run else "creating it"
            options.screen.warning(f"{client.title} was not found on this machine (no {path}); {creating}")
        with noting(troubles):
            planned = _Plan(client, storage.load(path, client.format))
            if moves:
                planned, behind = _with_moves(planned, behind)
            plans.append(planned)
    servers = installation.tags(behind)
    for fault in chosen.faults(servers) if chosen is not None and plans else ():
        raise fault
    config, variables = str(own.path.absolute()), installation.variables(behind)
    edits: list[Edit] = []
    for each in plans:
        with noting(troubles):
            choice = client_servers.choose(each.file.document, each.client, chosen, servers)
            edits.append(_edit(each, choice, program, config, variables))
    return Registration(own, behind, (*edits,), (*troubles,))


def carry_out(planned: Registration, options: Options) -> Registration:
    """Write the planned edits; a client's file that changed meanwhile is among the troubles.

    Raises:
        ConfigError: our own file changed meanwhile, or cannot be written.
    """
    if planned.edits and planned.behind != planned.own.document:
        consent.accept_written(planned.own, planned.behind, options)
        planned.own.save(planned.behind)
    edits: list[Edit] = []
    troubles = [*planned.troubles]
    for each in planned.edits:
        with noting(troubles):
            edits.append(_written(each))
    return replace(planned, edits=(*edits,), troubles=(*troubles,))


@dataclass(frozen=True)
class _Plan:
    """A client's file, and the servers to move out of it."""

    client: Client
    file: File
    moved: tuple[Server, ...] = ()
    moved_as: tuple[str, ...] = ()
    """Their names in our configuration."""
    warnings: tuple[str, ...] = ()


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


def _edit(plan: _Plan, choice: Choice | None, program: Sequence[str], config: str, variables: Sequence[str]) -> Edit:
    changed, texts = installation.without(plan.file.document, plan.moved)
    expression = choice.expression if choice is not None else None
    changed, result = installation.add(changed, plan.client, program, config, variables, expression)
    if result == "present" and plan.moved:
        result = "updated"
    names = tuple(server.name for server in plan.moved)
    done = Done(plan.client, plan.file, changed, result, None, names, _warnings(plan, choice), choice)
    return Edit(done, plan.moved, texts)


def _warnings(plan: _Plan, choice: Choice | None) -> tuple[str, ...]:
    if choice is None:
        return plan.warnings
    lost = choice.about_moved(plan.moved_as)
    return (*plan.warnings, *(f"{plan.client.title}: {each}" for each in (*choice.warnings, lost) if each))


def _written(planned: Edit) -> Edit:
    file, changed = planned.done.file, planned.done.changed
    if changed == file.document:
        return planned
    _remember(file, planned.moved, planned.texts, changed)
    return replace(planned, done=replace(planned.done, backup=file.save(changed)))


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


Target: TypeAlias = tuple[Client, Path, bool]
"""A client, its file, and whether the client seems to be installed."""


def targets(names: Sequence[str], all_found: bool) -> list[Target]:
    """Return the files to write into; a client that is named need not be installed.

    Raises:
        Misuse: a name is unknown.
    """
    machine = this_machine()
    return [each for client in named(names, all_found) for each in _of_client(client, machine, all_found)]


def _of_client(client: Client, machine: Machine, all_found: bool) -> Iterator[Target]:
    paths = found.targets(client, machine)
    yield from ((client, path, True) for path in paths)
    if not paths and not all_found:
        yield client, found.usual_file(client, machine), False
