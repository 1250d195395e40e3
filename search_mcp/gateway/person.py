"""The person at a terminal, as the client that the servers of a command have.

A client without capabilities: questions of a server are refused, and the lists that one command caches are good for the
next.
"""

from dataclasses import dataclass, field
from typing import Final

from search_mcp.dialects import names
from search_mcp.model.calls import Call, Question, Viewer
from search_mcp.model.names import Era
from search_mcp.model.servers import Opening
from search_mcp.wire import payload
from search_mcp.wire.errors import method_not_found
from search_mcp.wire.structs import Fields, Raw

_UNKNOWN_VIEWER = Viewer(None, object_output_only=False)
OPENING: Final = Opening(Era.MODERN, names.MODERN[0], {}, payload.encode(names.CLIENT_INFO))


@dataclass(frozen=True)
class Person:
    """The person at the terminal, as the `Caller` of every call of a command."""

    viewer: Viewer = _UNKNOWN_VIEWER
    capabilities: Fields = field(default_factory=dict)
    info: Raw | None = None
    era: Era = Era.MODERN
    log_level: str | None = None
    session: object = None

    def ask(self, question: Question, call: Call | None) -> None:
        question.answer(method_not_found(f"{question.ask.value} (a command at a terminal cannot answer questions)"))
