"""What is recorded of an ended tool call, and how it is measured.

Arguments and results are measured, and never written. That is done in the thread that writes the record: on the path of
a call, there is only a reference to each of them.
"""

from functools import lru_cache
from typing import Final, Literal, TypeAlias

from search_mcp.model.calls import Caller, Outcome, Result
from search_mcp.model.errors import Lost
from search_mcp.model.sentences import cut
from search_mcp.model.visible import one_line
from search_mcp.usage.result_sizes import characters, measured
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw, Struct

LONGEST_CLIENT = 64
"""Characters of a client's name that are recorded."""
LONGEST_NAME = 200
"""Characters of a server's or a tool's name that are recorded."""
UNKNOWN_CLIENT = "unknown"
_OF_PRINCIPAL: Final = " / "
"""Stands between a principal over HTTP, whose name has no space, and the name of its client."""
DEMO: Final = "search-mcp-demo"
"""The client of `search-mcp demo`, whose calls are not recorded, because no client of the user makes them."""

Ending: TypeAlias = Literal["ok", "tool error", "error", "cancelled", "lost", "unread task"]
"""The end of a call. Plain texts: the database takes much longer to store enumerations."""
OK: Final = "ok"
TOOL_ERROR: Final = "tool error"
"""The tool answered that it failed."""
REFUSED: Final = "error"
"""The answer was an error of the protocol: of the server, or of search-mcp."""
CANCELLED: Final = "cancelled"
LOST: Final = "lost"
"""The server ended or gave no answer."""
UNREAD: Final = "unread task"
"""It became a task, of which the client did not read the outcome."""

Row: TypeAlias = tuple[float, str, str, str, float, str, int, int, int | None]
"""The end of a call in seconds since the epoch, client, server, tool, seconds, ending, characters in and out, text."""


class EndedCall(Struct, frozen=True, gc=False):
    """A tool call that has ended, not yet measured."""

    caller: Caller
    tool: tuple[str, str]
    """The server, and its own name of the tool; both empty if the client named no tool that exists."""
    arguments: Raw | int | None
    """The arguments, or the number of their characters."""
    started: float
    ended: float
    """In seconds of a clock that is never set."""
    outcome: Outcome | Ending

    def held(self) -> int:
        """Return the number of bytes of messages that it keeps in memory."""
        size = len(self.arguments) if isinstance(self.arguments, Raw) else 0
        if isinstance(self.outcome, Result):
            body = self.outcome.body
            size += len(body) if isinstance(body, Raw) else sum(map(len, body.values()))
        return size

    def row(self, epoch: float, principal: str = "") -> Row | None:
        """Return the row to record; `None` for a call of the demo.

        `epoch`: the time, in seconds since the epoch, at which the clock of the call was zero.
        """
        server, tool = self.tool
        if (client := _client(self.caller)) == DEMO:
            return None
        if not tool:
            server = getattr(self.outcome, "server", "")  # it is not running, and has listed nothing
        given = self.arguments if isinstance(self.arguments, int) else characters(self.arguments)
        seconds = self.ended - self.started
        how, size, text = _ending(self.outcome)
        client = f"{principal}{_OF_PRINCIPAL}{client}" if principal else client
        names = safe(client, LONGEST_CLIENT), safe(server, LONGEST_NAME), safe(tool, LONGEST_NAME)
        return (epoch + self.ended, *names, seconds, how, given, size, text)


def _client(caller: Caller) -> str:
    """Return the name that a client gives itself."""
    name = caller.viewer.client_name
    if name is None and caller.info is not None:
        name = payload.string(payload.object_or_empty(caller.info).get("name"))
    return (name or UNKNOWN_CLIENT)[: 2 * LONGEST_CLIENT]


def principal_and_name(client: str) -> tuple[str, str]:
    """Return the principal of a recorded client, which is empty for the user's own, and the name it gives itself."""
    principal, mark, name = client.partition(_OF_PRINCIPAL)
    return (principal, name) if mark else ("", client)


@lru_cache(1024)
def safe(name: str, longest: int) -> str:
    """Make a name safe to print, on one line and not too long."""
    if name.isascii() and name.isprintable() and len(name) <= longest:
        return name
    return cut(one_line(name[: longest * 2]), longest - 1)


def _ending(outcome: Outcome | Ending) -> tuple[str, int, int | None]:
    """Return how a call ended, the size of its answer, and that of the text in it."""
    if isinstance(outcome, Result):
        size, text, has_failed = measured(outcome)
        return TOOL_ERROR if has_failed else OK, size, text
    if isinstance(outcome, str):
        return outcome, 0, None
    return LOST if isinstance(outcome, Lost) else REFUSED, len(str(outcome)), None
