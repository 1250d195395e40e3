"""What a command cannot do, in a sentence a person can act on, and the exit code for scripts.

Decides the exit codes: 1 is something that is wrong, 2 is a wrong command line or configuration.
"""

import difflib
import re
from collections.abc import Iterable, Sequence

from search_mcp.catalog.signature import signature
from search_mcp.catalog.suggest import nearest
from search_mcp.config.schema import ServerConfig
from search_mcp.model.errors import BackendToolError, Lost, NotFound, NotRunning, for_shell
from search_mcp.model.names import State
from search_mcp.wire.errors import SearchMcpError, WireError

FINE, WRONG, MISUSED = 0, 1, 2
LONGEST_REASON = 200
"""Characters of a server's last words that go into a sentence."""


_LONGEST_LINE = 70
"""Characters of a server's stderr that are quoted where several servers are reported."""
_STACK_FRAME = re.compile(r"at .*[:(]|File \".*line \d|[\^~]+$|[})\]]+,?$")
_ERROR = re.compile(r"\b\w*(error|exception):", re.IGNORECASE)
_TELLING = re.compile(
    r"error|exception|cannot|can't|fail|denied|refused|invalid|missing|not found|unable|no such", re.IGNORECASE
)
"""Found in the line of a server's stderr that says what is wrong."""


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


def short_reason(reason: str) -> str:
    """Put a failure's reason on one line: what happened, and the most telling line the server wrote."""
    what, _, written = reason.partition("; its last words: ")
    lines = [" ".join(line.split()) for line in written.splitlines() if line.strip()]
    lines = [line for line in lines if not _STACK_FRAME.match(line)]
    telling = (
        [line for line in lines if _ERROR.search(line)] or [line for line in lines if _TELLING.search(line)] or lines
    )
    if not telling:
        return what.removeprefix("it ")
    line = telling[-1].removeprefix("[cause]: ").rstrip(" {")
    quoted = line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 3].rstrip()}..."
    return f"{what.removeprefix('it ')}: {quoted}"


def cut(text: str) -> str:
    """Put a reason on one line of a sensible length; `check` has the whole of it."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1].rstrip() + "…"


def disabled(server: ServerConfig) -> Problem:
    """Say that a server is switched off, and what else keeps it from being started."""
    what = f"MCP server {server.name!r} is disabled"
    if server.problem is not None:
        return Problem(f"{what}, and cannot be started: {server.problem}")
    return Problem(what, f"search-mcp enable {for_shell(server.name)} switches it on")


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
    if error.state is State.DISABLED:
        return disabled(server)
    if error.state is State.HELD:
        return Problem(f"{error.what}: {error.reason}")
    if server.problem is not None:
        return Problem(f"MCP server {server.name!r} cannot be started: {server.problem}")
    return Problem(f"{error.what}: {cut(error.reason or error.state)}", "search-mcp check tells more")
