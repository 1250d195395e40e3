"""Errors of commands: a sentence with a remedy, and an exit code for scripts.

Decides the exit codes: 1 for a problem, 2 for a wrong command line or configuration.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from search_mcp.catalog.signature import signature
from search_mcp.config.schema import ServerConfig
from search_mcp.model.errors import (
    BackendToolError,
    Lost,
    NeedsUser,
    NotFound,
    NotRunning,
    ToolNotUnique,
    for_shell,
)
from search_mcp.model.names import State
from search_mcp.model.sentences import shortened
from search_mcp.model.similar import closest, nearest
from search_mcp.wire.errors import SearchMcpError, WireError

FINE, WRONG, MISUSED = 0, 1, 2


class Problem(SearchMcpError):
    """A problem, with a remedy, and the command that the remedy announces."""

    code = WRONG

    def __init__(self, what: str, remedy: str = "", command: str = "") -> None:
        super().__init__(what, remedy, command)
        self.what, self.remedy, self.command = what, remedy, command

    @property
    def sentence(self) -> str:
        """The problem and the remedy, without the command."""
        return f"{self.what}; {self.remedy}" if self.remedy else self.what

    def __str__(self) -> str:
        return f"{self.sentence}: {self.command}" if self.command else self.sentence


class Misuse(Problem):
    """A wrong command line."""

    code = MISUSED


class InterruptionError(Exception):
    """A signal ended the command, and every server is stopped."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def did_you_mean(suggestions: Sequence[str], otherwise: str) -> str:
    """Write the remedy for a name that does not exist."""
    if not suggestions:
        return otherwise
    *rest, last = suggestions
    return f"did you mean {', '.join(rest)} or {last}?" if rest else f"did you mean {last}?"


def similar_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the name that was most likely meant, else similar ones."""
    known = list(names)
    meant = closest(name, known)
    return nearest(name, known) if meant is None else [meant]


def command(servers: Iterable[ServerConfig], *words: str) -> str:
    """Write a search-mcp command about these servers of one file, for a person to copy."""
    file = next((each.file for each in servers if each.file), None)
    named = ["--config", for_shell(file)] if file is not None else []
    return " ".join(["search-mcp", *map(for_shell, words), *named])


def disabled(server: ServerConfig) -> Problem:
    """Build the error about a disabled server, with any other problem that prevents its start."""
    what = f"MCP server {server.name!r} is disabled"
    if server.problem is not None:
        return Problem(f"{what}, and cannot be started: {server.problem}")
    return Problem(what, f"`{server.command_for('enable')}` enables it")


def of_call(error: WireError, name: str, servers: Sequence[ServerConfig]) -> Problem:
    """Build the error about a failed call."""
    match error:
        case NeedsUser():
            return Problem(error.sentence, f"run `{error.remedy}`")
        case NotFound() if not isinstance(error, ToolNotUnique):
            return _of_not_found(error, name, servers)
        case NotRunning():
            return _of_not_running(error, next(server for server in servers if server.name == error.server))
        case Lost():
            reason = f": {shortened(error.reason)}" if error.reason else ""
            return Problem(f"{error.what}{reason}", "the tool may have run nevertheless")
        case BackendToolError(input_schema=dict(schema)):
            return Problem(error.what, f"it takes {signature(name, schema)}")
    return Problem(str(error))


def _of_not_found(error: NotFound, name: str, servers: Sequence[ServerConfig]) -> Problem:
    for each in servers:
        tool = name.removeprefix(f"{each.name}.")
        if tool != name and any(fnmatchcase(tool, glob) for glob in each.deny):
            remedy = f"`{each.command_for('enable', tool=name)}` switches it on"
            return Problem(f"{name} is switched off in the config file", remedy)
    return Problem(error.what, did_you_mean(error.suggestions, "`search-mcp list` shows all tools"))


def _of_not_running(error: NotRunning, server: ServerConfig) -> Problem:
    if error.status.state is State.DISABLED:
        return disabled(server)
    if server.problem is not None:
        return Problem(f"MCP server {server.name!r} cannot be started: {server.problem}")
    what = ": ".join(filter(None, (error.what, error.standing.reason)))
    return Problem(
        what, f"run `{error.standing.remedy}`" if error.standing.remedy else f"`{server.check()}` shows more"
    )
