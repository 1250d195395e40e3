"""`add`, `remove`, `enable`, `disable`: our own configuration, edited as carefully as a client's.

Decides what is done to the file and what is said of it; a running search-mcp sees the edit by itself.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from search_mcp import files
from search_mcp.cli import completion, consent
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Misuse, Problem, closest, did_you_mean
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import bridge, difference, entries, found, merging, storage
from search_mcp.clients.document import Document
from search_mcp.clients.found import Server
from search_mcp.clients.merging import ROOT, Merged
from search_mcp.clients.storage import File
from search_mcp.config import location
from search_mcp.folders import state_folder
from search_mcp.model.errors import ConfigError, for_shell

PATIENCE_SECONDS = 10.0
"""How long another command may be at its edit, which takes milliseconds: it was stopped in the midst of it."""

_Names = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...", help="Names of servers in the config file.", autocompletion=completion.server_names
    ),
]


@contextlib.contextmanager
def in_turn() -> Iterator[None]:
    """Edit when no other command does: of two that read the same, one edit would be lost.

    Raises:
        Problem: another goes on and on.
    """
    with contextlib.ExitStack() as turn:
        try:
            turn.enter_context(files.locked(state_folder() / "edits.lock", PATIENCE_SECONDS))
        except TimeoutError as exc:
            raise Problem("another search-mcp is in the midst of an edit", "wait until it is done, or end it") from exc
        yield


def own_file(options: Options) -> File:
    """Read the configuration for editing: the one that is named, else the user's own, which may not be there yet.

    Skips a file in the current folder, with a note: it may be shared, and edits may hold secrets.

    Raises:
        ConfigError: it cannot be read, or it is no JSON.
    """
    path = location.places(options.config, os.environ)[-1]
    if (other := location.unused(options.config, os.environ, path)) is not None:
        options.screen.note(f"{other} is not changed; --config names it if it is meant.")
    return storage.load(path, "jsonc")


def command_to_check(options: Options, path: Path) -> str:
    """Write the command that checks the edited file, with `--config` where commands would read another file."""
    read = next((place for place in location.places(options.config, os.environ) if place.is_file()), path)
    if read == path and options.config is None:
        return "search-mcp check"
    return f"search-mcp check --config {for_shell(str(path))}"


def save(file: File, changed: Document, options: Options) -> None:
    """Write an edited file, or show what would be written.

    Raises:
        ConfigError: it is not as it was read any more, or it cannot be written.
    """
    if changed == file.document:
        return
    if options.dry_run:
        options.screen.text(difference.unified(file.document, changed))
        return
    consent.accept_written(file, changed, options)
    file.save(changed)


@takes("config", "dry_run", "debug")
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
            "--json", metavar="JSON", help="""Paste a server's JSON, e.g. '{"mcpServers": {...}}'; - = stdin."""
        ),
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME:VALUE", help="Header for a remote server.")
    ] = None,
    transport: Annotated[
        str | None, typer.Option("--transport", metavar="http|sse", help="Transport of a remote server.")
    ] = None,
) -> int:
    """Add a server to the config file: the command that starts it, or the address of a remote one."""
    if json_entry is not None:
        if command or env or cwd or header or transport:
            raise Misuse("--json says all there is to say", "leave the command and the other options out")
        servers = found.pasted(sys.stdin.read() if json_entry == "-" else json_entry, name)
    else:
        servers = [_typed(name, command or [], env or [], cwd, header or [], transport)]
    return _add(options, servers, [] if name is None else [name])


@in_turn()
def _add(options: Options, servers: Sequence[Server], chosen: Sequence[str]) -> int:
    screen, file = options.screen, own_file(options)
    _refuse_taken_names(servers, file)
    changed, merged = merging.merge(file.document, servers, chosen)
    for each in merged:
        if each.result == "skipped":
            raise Misuse(f"{each.server.name or 'that'} is no server: {each.notes[0]}")
    if not merged:
        raise Misuse("that holds no server but search-mcp itself", "add the servers it is to run")
    for each in merged:
        if each.result == "added":
            consent.show(each.name, changed.members((ROOT, each.name)), screen)
    save(file, changed, options)
    for each in merged:
        if each.result == "present":
            screen.text(f"{each.server.name} is already there{_under_another_name(each)}.")
        elif each.result == "added":
            added = "Would add" if options.dry_run else "Added"
            screen.text(f"{added} {each.name}{', disabled,' if each.is_disabled else ''} to {file.path}.")
        for note in each.notes:
            screen.warning(f"{each.server.name}: {note}")
    tell_of_bridges(bridged(file.document, changed), screen)
    return FINE


def _under_another_name(merged: Merged) -> str:
    return f", as {merged.name}" if merged.name != merged.server.name else ""


def bridged(before: Document, after: Document) -> list[str]:
    """Name the servers that an edit lets run through mcp-remote."""
    present = before.members((ROOT,))
    return [
        name
        for name, entry in after.members((ROOT,)).items()
        if entries.is_bridge(entry) and not entries.is_bridge(present.get(name))
    ]


def tell_of_bridges(names: Sequence[str], screen: Terminal) -> None:
    if names:
        runs = "runs" if len(names) == 1 else "run"
        screen.note(f"{', '.join(names)}: {runs} through {bridge.ABOUT}.")


def _typed(
    name: str | None,
    command: Sequence[str],
    env: Sequence[str],
    cwd: str | None,
    headers: Sequence[str],
    transport: str | None,
) -> Server:
    usage = "write search-mcp add NAME -- COMMAND ARGS..., search-mcp add NAME URL, or --json"
    if name is None or not command:
        raise Misuse("a server needs a name and a command or an address", usage)
    entry: dict[str, object]
    if bridge.is_address(command[0]):
        entry = _remote(command, headers, transport)
    elif headers or transport:
        raise Misuse("--header and --transport are for a remote server", "write its address for the command")
    else:
        entry = {"command": command[0]}
        if command[1:]:
            entry["args"] = list(command[1:])
    variables = dict(_variable(pair) for pair in env)
    if variables:
        entry["env"] = variables
    if cwd is not None:
        # In the file, what is relative is relative to the file.
        entry["cwd"] = cwd if cwd.startswith(("~", "$")) else str(Path(cwd).absolute())
    return found.typed(name, entry)


def _remote(command: Sequence[str], headers: Sequence[str], transport: str | None) -> dict[str, object]:
    address, *rest = command
    if rest:
        raise Misuse(
            f"{address} is the address of a remote server, which takes no arguments", "write --header NAME:VALUE"
        )
    if transport not in (None, "http", "sse"):
        raise Misuse(f"there is no transport {transport!r}", "it is http or sse")
    return {"url": address, "type": transport, "headers": dict(_header(pair) for pair in headers)}


def _header(pair: str) -> tuple[str, str]:
    name, sign, value = pair.partition(":")
    if not name.strip() or not sign:
        raise Misuse(
            "--header wants NAME:VALUE", "--header 'Authorization: Bearer ${TOKEN}' takes it from the environment"
        )
    return name.strip(), value.strip()


def _variable(pair: str) -> tuple[str, str]:
    key, sign, value = pair.partition("=")
    if not key or not sign:
        raise Misuse("--env wants KEY=VALUE", "--env KEY='${KEY}' takes it from the environment")
    return key, value


def _refuse_taken_names(servers: Sequence[Server], file: File) -> None:
    present = file.document.members((ROOT,))
    for each in servers:
        if not each.name:
            raise Misuse("that server has no name", "write search-mcp add NAME --json ...")
        if each.name in present and not merging.is_same(each, present[each.name]):
            raise Misuse(f"there is a server {each.name} already", "remove it first, or call this one something else")


@takes("config", "dry_run", "debug")
def remove(options: Options, names: _Names) -> int:
    """Remove servers from the config file."""
    return _edit(options, names, _removed, "remove")


@takes("config", "dry_run", "debug")
def enable(options: Options, names: _Names) -> int:
    """Enable servers."""
    return _edit(options, names, _enabled, "enable")


@takes("config", "dry_run", "debug")
def disable(options: Options, names: _Names) -> int:
    """Disable servers; they stay in the config file."""
    return _edit(options, names, _disabled, "disable")


_Entry = Mapping[str, object]
_Change = Callable[[Document, str, _Entry, _Entry], Document]
"""Changes a server, given its entry and what that was before the last edit."""


@in_turn()
def _edit(options: Options, names: Sequence[str], change: _Change, verb: str) -> int:
    screen, file = options.screen, own_file(options)
    listed = ", ".join(dict.fromkeys(names))
    present, before = file.document.members((ROOT,)), _entries(file.previous())
    changed = file.document
    for name in dict.fromkeys(names):
        if name not in present:
            otherwise = f"there are {', '.join(present)}" if present else f"there are none in {file.path}"
            raise Misuse(f"there is no server {name!r}", did_you_mean(closest(name, present), otherwise))
        changed = change(changed, name, _object(present[name]), _object(before.get(name)))
    consent.show_added(file.document, changed, screen, with_switched_on=False)
    save(file, changed, options)
    if changed == file.document:
        screen.text(f"{listed} {'is' if len({*names}) == 1 else 'are'} already {verb}d.")
    elif options.dry_run:
        screen.text(f"Would {verb} {listed} in {file.path}.")
    else:
        screen.text(f"{verb.capitalize()}d {listed} in {file.path}.")
        tell_of_bridges(bridged(file.document, changed), screen)
        _warn_of_problems(file.path, names, screen)
    return FINE


def _entries(document: Document | None) -> Mapping[str, Any]:
    return _object(document.value.get(ROOT)) if document is not None else {}


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _removed(own: Document, name: str, _entry: _Entry, _before: _Entry) -> Document:
    return own.drop((ROOT, name))


def _enabled(own: Document, name: str, entry: _Entry, before: _Entry) -> Document:
    return merging.switch_on(_as_before(own, name, entry, before) or own, name)


def _as_before(own: Document, name: str, entry: _Entry, before: _Entry) -> Document | None:
    """Take out a switch that `disable` put in, if nothing else goes with it."""
    if {**before, "enabled": False} != entry or "enabled" in before:
        return None
    without = own.drop((ROOT, name, "enabled"))
    return without if without.put((ROOT, name, "enabled"), False) == own else None


def _disabled(own: Document, name: str, entry: _Entry, _before: _Entry) -> Document:
    switch, value = ("disabled", True) if "disabled" in entry and "enabled" not in entry else ("enabled", False)
    return own.put((ROOT, name, switch), value)


def _warn_of_problems(path: Path, names: Sequence[str], screen: Terminal) -> None:
    """Say what keeps the edit from having the effect it should have."""
    try:
        config = location.read(path, os.environ)
    except ConfigError as exc:
        screen.warning(str(exc))
        return
    for each in config.servers:
        if each.name in names and each.enabled and each.problem is not None:
            screen.warning(f"{each.name}: {each.problem}")
