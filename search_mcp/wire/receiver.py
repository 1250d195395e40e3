"""The owner of one end of a connection, and how its requests can fail."""

from typing import Protocol

from search_mcp.wire.framing import Line
from search_mcp.wire.inflight import Request, RequestFailure
from search_mcp.wire.messages import Invalid
from search_mcp.wire.structs import ErrorObject, Raw, UnsetType


class Receiver(Protocol):
    """The owner of a connection, which handles the messages that arrive."""

    def on_request(self, request: Request) -> None: ...
    def on_notification(self, method: str, params: Raw | UnsetType) -> None: ...
    def on_invalid(self, invalid: Invalid, line: Line) -> ErrorObject | None:
        """Return the error to answer a line that is not a message with, or `None` for no answer."""
        ...


class ConnectionEndedError(Exception):
    """The connection ended before the response arrived."""


class RequestFailedError(Exception):
    """A request got no answer, on a connection that may go on; the text is the reason."""

    def __init__(self, failure: RequestFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure
