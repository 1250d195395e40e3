"""`remove`, `enable`, `disable`: edits of servers and single tools in the configuration file.

Decides which keys change. A running search-mcp notices the edit by itself.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.cli import completion, consent
from search_mcp.cli.files import stored_secrets, tool_filters
from search_mcp.cli.files.own_file import bridged, in_turn, own_file, save, tell_of_bridges, tell_of_restarts
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Misuse, Problem, did_you_mean
from search_mcp.cli.session import read_cache
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import merging
from search_mcp.clients.document import Document
from search_mcp.clients.merging import ROOT
from search_mcp.config import location
from search_mcp.config.schema import Config
from search_mcp.model.errors import ConfigError
from search_mcp.model.names import Kind
from search_mcp.model.similar import closest

_Names = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...", help="Names of servers in the config file.", autocompletion=completion.server_names
    ),
]
_NamesOrTools = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...", help="Names of servers, or of tools as SERVER.TOOL.", autocompletion=completion.server_names
    ),
]


@takes("config", "dry_run", "debug")
def remove(options: Options, names: _Names) -> int:
    """Remove servers from the config file."""
    return remove_from(options, names)


@takes("config", "dry_run", "debug")
def enable(options: Options, names: _NamesOrTools) -> int:
    """Enable servers, or single tools."""
    return enable_in(options, names)


@takes("config", "dry_run", "debug")
def disable(options: Options, names: _NamesOrTools) -> int:
    """Disable servers, or single tools; they stay in the config file."""
    return disable_in(options, names)


def remove_from(options: Options, names: Sequence[str], look: Callable[[object], object] = lambda _entry: None) -> int:
    """Remove servers from the config file of the options, and the secrets that `add` stored for them.

    `look` is given each entry while no other command edits, and may raise what keeps it there.
    """

    def change(own: Document, name: str) -> Document:
        entry = own.members((ROOT,)).get(name)
        if entry is None:
            raise unknown_server(own, name)
        look(entry)
        return own.drop((ROOT, name))

    return _edit(options, names, change, "remove")


def enable_in(options: Options, names: Sequence[str]) -> int:
    """Enable servers, or single tools, in the config file of the options."""
    return _edit(options, names, partial(_switched, of_server=merging.switch_on, of_tool=tool_filters.shown), "enable")


def disable_in(options: Options, names: Sequence[str]) -> int:
    """Disable servers, or single tools, in the config file of the options."""
    return _edit(options, names, partial(_switched, of_server=_disabled, of_tool=tool_filters.hidden), "disable")


def switch_tool(options: Options, server: str, tool: str, *, is_on: bool) -> int:
    """Enable or disable one tool of a server, by the server's own name for it.

    Raises:
        Problem: there is no such server, or a pattern in the file hides the tool.
    """

    def change(own: Document, _name: str) -> Document:
        if server not in own.members((ROOT,)):
            raise Problem(f"there is no server {server!r} in {own.source} any more")
        return (tool_filters.shown if is_on else tool_filters.hidden)(own, server, tool)

    return _edit(options, [f"{server}.{tool}"], change, "enable" if is_on else "disable")


@in_turn()
def _edit(options: Options, names: Sequence[str], change: Callable[[Document, str], Document], verb: str) -> int:
    screen, file = options.screen, own_file(options)
    listed, place = ", ".join(dict.fromkeys(names)), f"{'from' if verb == 'remove' else 'in'} {file.path}"
    present = file.document.members((ROOT,))
    changed = file.document
    for name in dict.fromkeys(names):
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
        edited = [name for name, entry in present.items() if entry != left.get(name)]
        tell_of_restarts(file.path, file.document, edited, screen)
        _warn_of_problems(file.path, names, screen)
    return FINE


def _switched(
    own: Document,
    name: str,
    of_server: Callable[[Document, str], Document],
    of_tool: Callable[[Document, str, str], Document],
) -> Document:
    """Switch a server, or a tool whose name begins with that of its server and a dot."""
    present = own.members((ROOT,))
    if name in present:
        return of_server(own, name)
    server = max((each for each in present if name.startswith(f"{each}.")), key=len, default=None)
    config = consent.usable(own.data, Path(own.source))
    if server is None:
        tools = [f"{each}.{tool}" for each, known in _cached_tools(config).items() for tool in known]
        if (dot := name.rfind(".")) > 0:  # the tool may be right, and the server misspelled
            tools += [each + name[dot:] for each in present]
        raise unknown_server(own, name, tools)
    return of_tool(own, server, _own_name(config, server, name.removeprefix(f"{server}.")))


def unknown_server(own: Document, name: str, tools: Sequence[str] = ()) -> Misuse:
    """Build the error about a server that is not in the file; the name may also mean one of the `tools`."""
    present = own.members((ROOT,))
    meant = [f"{each}.{name.removeprefix(f'{each}__')}" for each in present if name.startswith(f"{each}__")]
    if meant := meant[:1] or [each for each in tools if each.endswith(f".{name}")]:
        return Misuse(f"there is no server {name!r}", f"write the tool as {' or '.join(meant)}")
    otherwise = f"the servers are {', '.join(present)}" if present else f"there are none in {own.source}"
    return Misuse(f"there is no server {name!r}", did_you_mean(_near(name, [*present, *tools]), otherwise))


def _near(name: str, names: Sequence[str]) -> list[str]:
    """Return the name that was most likely meant, or none: a wrong guess may switch off something else."""
    near = closest(name, names)
    return [] if near is None else [near]


def _cached_tools(config: Config) -> Mapping[str, Sequence[str]]:
    """Return the tools of each server that has a cached list, by the server's own names."""
    return read_cache(
        config,
        None,
        lambda session: {
            each.name: [entry.key for entry, _ in session.catalog.entries(each.name, Kind.TOOLS)]
            for each in config.servers
        },
    )


def _own_name(config: Config, server: str, tool: str) -> str:
    """Return a server's own name for a tool, which the file may rename. Without a cached list, any name is accepted.

    Raises:
        Misuse: the server has no such tool.
    """
    known = _cached_tools(config).get(server)
    renamed = next((each.rename for each in config.servers if each.name == server), {})
    own = next((old for old, new in renamed.items() if new == tool), tool)
    if known and own not in known:
        otherwise = f"`search-mcp list {server}` shows its tools"
        near = [f"{server}.{each}" for each in _near(tool, known)]
        raise Misuse(f"{server} has no tool {tool!r}", did_you_mean(near, otherwise))
    return own


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
