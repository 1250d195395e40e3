"""The user's consent to programs: shown in full, and remembered.

Decides how a program is written for a person, and which programs count as accepted by a command: those that the user
accepts by name, and those that the command itself writes into a file.
"""

import contextlib
import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from search_mcp.cli.options import Options
from search_mcp.cli.problem import Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import entries
from search_mcp.clients.document import Document
from search_mcp.clients.merging import ROOT
from search_mcp.clients.storage import File
from search_mcp.config import location, secrets
from search_mcp.config.gate import Origin
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import NOTHING, Config, ServerConfig
from search_mcp.model.errors import ConfigError
from search_mcp.model.visible import escaped
from search_mcp.wire import payload
from search_mcp.wire.structs import altered

_URLS = ("url", "serverUrl", "httpUrl")
_PROGRAM = ("command", "args", "env", "cwd", *_URLS, "headers", "inheritEnv")
_INDENT = "  "


# Shown


def show(name: str, entry: Mapping[str, Any], screen: Terminal, say: Callable[[str], None] | None = None) -> None:
    """Write a server's name, its command and what else decides what is run."""
    # "Show the exact command that will be executed, without truncation (include arguments and parameters)":
    # security best practices of the specification, "Local MCP Server Compromise".
    say = say or screen.text
    say(escaped(name))
    for line in program_lines(entry, screen.width - 2 * len(_INDENT)):
        say(f"{_INDENT}{line}")


def show_added(before: Document, after: Document, screen: Terminal, *, with_switched_on: bool = True) -> None:
    """Write every program that an edit adds, changes or switches on, and an empty line behind them."""
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


def program_lines(entry: Mapping[str, Any], width: int) -> Iterator[str]:
    """Write what is run or reached, and what a model is told of it.

    Lines longer than `width` are broken between words, as a shell reads them.

    The command itself is never starred; of the rest only tokens are, in the places of secrets: nothing else that the
    file holds decides what is hidden.
    """
    args = entry.get("args") or ()
    if entry.get("command"):
        words = map(str, args if isinstance(args, list | tuple) else [args])
        shown = [str(entry["command"]), *secrets.shown_arguments(words)]
        yield from _broken([shlex.quote(escaped(word)) for word in shown], width)
    for key in _URLS:
        if entry.get(key):
            yield f"{key}: {escaped(secrets.shown_url(str(entry[key])))}"
    if entry.get("cwd"):
        yield f"cwd: {escaped(str(entry['cwd']))}"
    if isinstance(entry.get("env"), Mapping) and entry["env"]:
        variables = [_variable(str(name), str(value)) for name, value in entry["env"].items()]
        yield from _broken(["env:", *variables], width, mark="")
    if isinstance(entry.get("headers"), Mapping) and entry["headers"]:
        names = [shlex.quote(escaped(str(name))) for name in entry["headers"]]
        yield from _broken(["headers:", *names], width, mark="")
    if inherited := entry.get("inheritEnv"):
        names = ["all variables"] if inherited is True else [shlex.quote(escaped(str(name))) for name in inherited]
        yield from _broken(["inherits:", *names], width, mark="")
    if entry.get("description"):
        yield f"description: {escaped(str(entry['description']))}"
    for key in ("rename", "describe"):
        if isinstance(entry.get(key), Mapping):
            yield from (f"{key} {escaped(str(tool))}: {escaped(str(text))}" for tool, text in entry[key].items())


def _variable(name: str, value: str) -> str:
    """Write a variable as a shell reads it; of a secret its name only."""
    shown, written = secrets.shown_variable(name, value), shlex.quote(escaped(name))
    return written if shown is None else f"{written}={shlex.quote(escaped(shown))}"


def as_json(server_: ServerConfig) -> dict[str, Any]:
    """Write a program for scripts, without the values of secret variables and of headers."""
    entry = program_of(server_)
    lines = {"program": [*program_lines(entry, 1 << 30)]}
    return {"name": server_.name, "enabled": server_.enabled, **lines}


def program_of(server_: ServerConfig) -> Mapping[str, Any]:
    """Give a server's program as its entry has it, and the texts about it that a model reads."""
    texts = {"description": server_.description, "rename": server_.rename, "describe": server_.describe}
    return {**payload.value(server_.program), **texts}


def _broken(words: Sequence[str], width: int, mark: str = " \\") -> Iterator[str]:
    line = words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) + len(mark) > width:
            yield line + mark
            line = f"{_INDENT}{word}"
        else:
            line = f"{line} {word}"
    yield line


# Accepted


def accept(
    names: Sequence[str], config: Config, path: Path, options: Options, *, is_sure: bool
) -> tuple[Config, list[str]]:
    """Accept the programs of these servers, where there was a doubt; return the names that mean something else.

    A person at a terminal is asked; a server whose program is refused is held, and nothing else of it is accepted.

    Raises:
        Problem: it cannot be remembered.
    """
    chosen = [each for each in config.servers if each.name in names]
    record = location.approvals().read(path)  # another process may hold what this one does not
    doubtful = [each for each in chosen if each.held is not None or record.holds(each)]
    if not doubtful:
        return config, [*names]
    say = options.screen.note if options.as_json else options.screen.text
    for each in doubtful:
        show(each.name, program_of(each), options.screen, say)
    if not options.screen.agrees(_question(doubtful), is_sure=is_sure or options.as_json):
        options.screen.note("Nothing was accepted.")
        refused = {each.name for each in doubtful}
        return _refused(config, refused), [name for name in names if name not in refused]
    with remembering(path):
        location.approvals().accept(path, doubtful)
    for each in doubtful:
        options.screen.note(f"{escaped(each.name)}: its command is accepted.")
    freed = {each.name for each in doubtful if each.held is not None}
    servers = tuple(altered(each, held=None) if each.name in freed else each for each in config.servers)
    return altered(config, servers=servers), [name for name in names if name not in freed]


def _refused(config: Config, names: Collection[str]) -> Config:
    """Hold the servers of these names."""
    held = [
        altered(each, held=each.held or "you did not accept its command") if each.name in names else each
        for each in config.servers
    ]
    return altered(config, servers=tuple(held))


def _question(servers: Sequence[ServerConfig]) -> str:
    names = ", ".join(escaped(each.name) for each in servers)
    return f"Accept the {'command' if len(servers) == 1 else 'commands'} of {names}?"


def accept_written(file: File, changed: Document, options: Options) -> None:
    """Accept the programs that an edit by a command writes: the user has asked for it, so that nothing holds them."""
    after = _read(changed.data, file.path)
    origin = location.origin(file.path, options.config, os.environ)
    confirms = after.settings.confirm_commands is True or location.approvals().read(file.path).confirms
    if origin is Origin.OWN and not confirms:
        return
    before = {each.name: each.program for each in _read(file.before or b"{}", file.path).servers}
    written = [each for each in after.servers if before.get(each.name) != each.program]
    if not written:
        return
    try:
        with remembering(file.path):
            location.approvals().accept(file.path, written)
    except Problem as problem:
        options.screen.warning(f"{problem.what}; a search-mcp that runs may hold the new servers")


def _read(text: bytes, path: Path) -> Config:
    try:
        return location.interpret(text, path, os.environ)
    except FaultyFile as exc:
        return exc.rest
    except ConfigError:
        return NOTHING


@contextlib.contextmanager
def remembering(path: Path) -> Iterator[None]:
    """Say which folder cannot be written to, where what is accepted of a file cannot be remembered.

    Raises:
        Problem: it cannot.
    """
    try:
        yield
    except OSError as exc:
        what = f"what is accepted of {path} cannot be remembered in {location.approvals().folder} ({exc.strerror})"
        raise Problem(what, "check that you may write there") from exc
