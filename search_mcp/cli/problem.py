"""What a command cannot do, in a sentence a person can act on, and the exit code for scripts.

Decides the exit codes: 1 is something that is wrong, 2 is a wrong command line or configuration.
"""

import difflib
from collections.abc import Iterable, Sequence

from search_mcp.config import ServerConfig
from search_mcp.errors import BackendToolError, Lost, NotFound, NotRunning, SearchMcpError, WireError
from search_mcp.suggest import nearest
from search_mcp.views import signature

FINE, WRONG, MISUSED = 0, 1, 2
LONGEST_REASON = 200
"""Characters of a server's last words that go into a sentence."""


class Problem(SearchMcpError):
    """Something is wrong: what, and what to do about it."""

    code = WRONG

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}" if self.remedy else self.what


class Misuse(Problem):
    """The command line asks for something that cannot be."""

    code = MISUSED


class InterruptionError(Exception):
    """A signal came; everything has been stopped."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def did_you_mean(suggestions: Sequence[str], otherwise: str) -> str:
    """Write the remedy for a name that does not exist."""
    if not suggestions:
        return otherwise
    *rest, last = suggestions
    return f"did you mean {', '.join(rest)} or {last}?" if rest else f"did you mean {last}?"


def closest(name: str, names: Iterable[str]) -> list[str]:
    """Give the name that was most likely meant, or else those that are similar."""
    known = list(names)
    return difflib.get_close_matches(name, known, n=1, cutoff=0.7) or nearest(name, known)


def cut(text: str) -> str:
    """Put a reason on one line of a sensible length; `check` has the whole of it."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1].rstrip() + "…"


def disabled(server: ServerConfig) -> Problem:
    """Say that a server is switched off, and what else keeps it from being started."""
    what = f"MCP server {server.name!r} is disabled"
    if server.problem is not None:
        return Problem(f"{what}, and cannot be started: {server.problem}")
    return Problem(what, f"search-mcp enable {server.name} switches it on")


def of_call(error: WireError, name: str, servers: Sequence[ServerConfig]) -> Problem:
    """Say to a person what went wrong with a call."""
    match error:
        case NotFound():
            return Problem(error.what, did_you_mean(error.suggestions, "search-mcp list shows what there is"))
        case NotRunning():
            return _of_not_running(error, next(server for server in servers if server.name == error.server))
        case Lost():
            reason = f": {cut(error.reason)}" if error.reason else ""
            return Problem(f"{error.what}{reason}", "it may have run nevertheless")
        case BackendToolError(input_schema=dict(schema)):
            return Problem(error.what, f"it takes {signature(name, schema)}")
    return Problem(str(error))


def _of_not_running(error: NotRunning, server: ServerConfig) -> Problem:
    if error.state == "disabled":
        return disabled(server)
    if server.problem is not None:
        return Problem(f"MCP server {server.name!r} cannot be started: {server.problem}")
    return Problem(f"{error.what}: {cut(error.reason or error.state)}", "search-mcp check tells more")
