"""The user's consent to the commands of servers, which are shown in full before.

Decides which commands count as accepted: those that the user accepts by name, and those that a command of search-mcp
writes into a file.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from search_mcp.cli import command_lines
from search_mcp.cli.command_lines import INDENT, URLS
from search_mcp.cli.options import Options
from search_mcp.cli.problem import Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import entries
from search_mcp.clients.document import Document
from search_mcp.clients.merging import ROOT
from search_mcp.clients.storage import File
from search_mcp.config import location
from search_mcp.config.gate import Origin
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import EMPTY_CONFIG, Config, Held, ServerConfig
from search_mcp.model.errors import ConfigError
from search_mcp.model.visible import escaped
from search_mcp.wire.structs import replace

_PROGRAM = ("command", "args", "env", "cwd", *URLS, "headers", "oauth", "caFile", "inheritEnv")


def show(name: str, entry: Mapping[str, Any], screen: Terminal, say: Callable[[str], None] | None = None) -> None:
    """Show a server's name and its full command."""
    # "Show the exact command that will be executed, without truncation (include arguments and parameters)":
    # security best practices of the specification, "Local MCP Server Compromise".
    say = say or screen.text
    say(escaped(name))
    for line in command_lines.full(entry, screen.width - 2 * len(INDENT)):
        say(f"{INDENT}{line}")


def show_added(before: Document, after: Document, screen: Terminal, *, with_switched_on: bool = True) -> None:
    """Show every command that an edit adds, changes or enables, and an empty line after them."""
    present = before.members((ROOT,))
    shown = {
        name: entry
        for name, entry in after.members((ROOT,)).items()
        if _is_new_program(present.get(name), entry)
        or (with_switched_on and entries.is_disabled(present.get(name)) and not entries.is_disabled(entry))
    }
    for name, entry in shown.items():
        show(name, entry, screen)
    if shown:
        screen.text("")


def _is_new_program(before: object, entry: object) -> bool:
    if not isinstance(entry, Mapping):
        return False
    return not isinstance(before, Mapping) or any(before.get(key) != entry.get(key) for key in _PROGRAM)


def accept(
    names: Sequence[str], config: Config, path: Path, options: Options, *, is_sure: bool
) -> tuple[Config, list[str]]:
    """Accept the commands of those of these servers that are held; returns the other names as well.

    A person is asked. A server whose command is refused is held, and nothing else of it is accepted.

    Raises:
        Problem: there is nobody to ask, or the decision cannot be recorded.
    """
    chosen = [each for each in config.servers if each.name in names]
    record = location.approvals().read(path)  # another process may hold a server that this one does not
    doubtful = [each for each in chosen if each.held is not None or record.holds(each)]
    if not doubtful:
        return config, [*names]
    say = options.screen.note if options.as_json else options.screen.text
    for each in doubtful:
        show(each.name, command_lines.entry_of(each), options.screen, say)
    if not options.screen.agrees(_question(doubtful), is_sure=is_sure):
        options.screen.note("Nothing was accepted.")
        refused = {each.name for each in doubtful}
        return _refused(config, refused), [name for name in names if name not in refused]
    with remembering(path):
        location.approvals().accept(path, doubtful)
    for each in doubtful:
        options.screen.note(f"{escaped(each.name)}: its {each.noun} is accepted.")
    freed = {each.name for each in doubtful if each.held is not None}
    servers = tuple(replace(each, held=None) if each.name in freed else each for each in config.servers)
    return replace(config, servers=servers), [name for name in names if name not in freed]


def _refused(config: Config, names: Collection[str]) -> Config:
    """Return the configuration with these servers held."""
    held = [
        replace(each, held=each.held or Held(f"you did not accept its {each.noun}", each.check("--accept")))
        if each.name in names
        else each
        for each in config.servers
    ]
    return replace(config, servers=tuple(held))


def _question(servers: Sequence[ServerConfig]) -> str:
    names = ", ".join(escaped(each.name) for each in servers)
    nouns = {each.noun for each in servers}
    what = nouns.pop() if len(servers) == 1 else "addresses" if nouns == {"address"} else "commands"
    return f"Accept the {what} of {names}?"


def accept_written(file: File, changed: Document, options: Options) -> None:
    """Accept the commands that an edit writes, so that they are not held: the user has asked for the edit."""
    after = usable(changed.data, file.path)
    origin = location.origin(file.path, options.config, os.environ)
    confirms = after.settings.confirm_commands is True or location.approvals().read(file.path).confirms
    if origin is Origin.OWN and not confirms:
        return
    before = {each.name: each.program for each in usable(file.before or b"{}", file.path).servers}
    written = [each for each in after.servers if before.get(each.name) != each.program]
    if not written:
        return
    try:
        with remembering(file.path):
            location.approvals().accept(file.path, written)
    except Problem as problem:
        options.screen.warning(f"{problem.what}; a running search-mcp may hold the new servers")


def usable(text: bytes, path: Path) -> Config:
    """Return the part of a configuration file that is valid."""
    try:
        return location.interpret(text, path, os.environ)
    except FaultyFile as exc:
        return exc.rest
    except ConfigError:
        return EMPTY_CONFIG


@contextlib.contextmanager
def remembering(path: Path) -> Iterator[None]:
    """Report an error of the block, which records the commands accepted in a file.

    Raises:
        Problem: the record cannot be written.
    """
    try:
        yield
    except OSError as exc:
        what = f"the decision on {path} cannot be recorded in {location.approvals().folder} ({exc.strerror})"
        raise Problem(what, "check that you may write there") from exc
