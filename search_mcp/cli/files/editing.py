"""`remove`, `enable`, `disable`: edits of servers in the configuration file.

Decides which keys change. A running search-mcp notices the edit by itself.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.cli import completion, consent
from search_mcp.cli.files import stored_secrets
from search_mcp.cli.files.own_file import bridged, in_turn, own_file, save, tell_of_bridges
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Misuse, did_you_mean, similar_names
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import merging
from search_mcp.clients.document import Document
from search_mcp.clients.merging import ROOT
from search_mcp.config import location
from search_mcp.model.errors import ConfigError

_Names = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...", help="Names of servers in the config file.", autocompletion=completion.server_names
    ),
]


@takes("config", "dry_run", "debug")
def remove(options: Options, names: _Names) -> int:
    """Remove servers from the config file."""
    return remove_from(options, names)


@takes("config", "dry_run", "debug")
def enable(options: Options, names: _Names) -> int:
    """Enable servers."""
    return enable_in(options, names)


@takes("config", "dry_run", "debug")
def disable(options: Options, names: _Names) -> int:
    """Disable servers; they stay in the config file."""
    return disable_in(options, names)


def remove_from(options: Options, names: Sequence[str], look: Callable[[object], object] = lambda _entry: None) -> int:
    """Remove servers from the config file of the options, and the secrets that `add` stored for them.

    `look` is given each entry while no other command edits, and may raise what keeps it there.
    """

    def change(own: Document, name: str) -> Document:
        look(own.members((ROOT,))[name])
        return own.drop((ROOT, name))

    return _edit(options, names, change, "remove")


def enable_in(options: Options, names: Sequence[str]) -> int:
    """Enable servers in the config file of the options."""
    return _edit(options, names, merging.switch_on, "enable")


def disable_in(options: Options, names: Sequence[str]) -> int:
    """Disable servers in the config file of the options."""
    return _edit(options, names, _disabled, "disable")


@in_turn()
def _edit(options: Options, names: Sequence[str], change: Callable[[Document, str], Document], verb: str) -> int:
    screen, file = options.screen, own_file(options)
    listed, place = ", ".join(dict.fromkeys(names)), f"{'from' if verb == 'remove' else 'in'} {file.path}"
    present = file.document.members((ROOT,))
    changed = file.document
    for name in dict.fromkeys(names):
        if name not in present:
            otherwise = f"the servers are {', '.join(present)}" if present else f"there are none in {file.path}"
            raise Misuse(f"there is no server {name!r}", did_you_mean(similar_names(name, present), otherwise))
        changed = change(changed, name)
    consent.show_added(file.document, changed, screen, with_switched_on=False)
    save(file, changed, options)
    if changed == file.document:
        screen.text(f"{listed} {'is' if len({*names}) == 1 else 'are'} already {verb}d.")
    elif options.dry_run:
        screen.text(f"Would {verb} {listed} {place}.")
    else:
        screen.text(f"{verb.capitalize()}d {listed} {place}.")
        tell_of_bridges(bridged(file.document, changed), screen)
        left = changed.members((ROOT,))
        removed = {name: entry for name, entry in present.items() if name not in left}
        if removed:
            stored_secrets.delete_unused(removed, left, screen)
        _warn_of_problems(file.path, names, screen)
    return FINE


def _disabled(own: Document, name: str) -> Document:
    entry = own.value[ROOT][name]
    by_other_key = isinstance(entry, dict) and "disabled" in entry and "enabled" not in entry
    return own.put((ROOT, name, "disabled"), True) if by_other_key else own.put((ROOT, name, "enabled"), False)


def _warn_of_problems(path: Path, names: Sequence[str], screen: Terminal) -> None:
    """Warn about problems that prevent edited servers from starting."""
    try:
        config = location.read(path, os.environ)
    except ConfigError as exc:
        screen.warning(str(exc))
        return
    for each in config.servers:
        if each.name in names and each.enabled and each.problem is not None:
            screen.warning(f"{each.name}: {each.problem}")
