"""Error responses that any JSON-RPC peer may send, and the exceptions that stand for them."""

from collections.abc import Mapping
from typing import Any

from search_mcp.wire.messages import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from search_mcp.wire.payload import encode
from search_mcp.wire.structs import UNSET, ErrorObject

SERVER_ERROR = -32000
"""The request is valid and cannot be served now, because a backend failed, for example. The modern specification
discourages new codes here ("new implementations SHOULD NOT use codes from this sub-range"); this one is the product's
contract with its users."""


class SearchMcpError(Exception):
    """Everything raised on purpose here."""


class WireError(SearchMcpError):
    """An error response: what `code`, message and `data` the client gets."""

    code: int = INTERNAL_ERROR

    @property
    def what(self) -> str:
        """What went wrong, without the reasons and remedies that a message adds for a model."""
        return str(self)

    def data(self) -> Mapping[str, Any] | None:
        """What a program needs to act on the error; clients show a model the message alone."""
        return None

    def error_object(self) -> ErrorObject:
        """The error as it goes on the wire."""
        data = self.data()
        return ErrorObject(self.code, str(self), UNSET if data is None else encode(data))


# The peer broke the rules.


class ProtocolError(WireError):
    """A message that breaks the protocol, with the code the protocol has for it."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self._message, self._data = message, data

    def __str__(self) -> str:
        return self._message

    def data(self) -> Mapping[str, Any] | None:
        return self._data


def invalid_params(message: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, message)


def invalid_request(message: str) -> ProtocolError:
    return ProtocolError(INVALID_REQUEST, message)


def method_not_found(method: str) -> ProtocolError:
    return ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method}")


class PeerError(WireError):
    """The error response of the other side to a request of ours, as it was sent."""

    def __init__(self, error: ErrorObject) -> None:
        super().__init__(error)
        self.error = error
        self.code = error.code

    def __str__(self) -> str:
        return self.error.message

    def error_object(self) -> ErrorObject:
        return self.error


class InternalError(WireError):
    """A bug here. The traceback went to stderr; the client learns only that it was not its fault."""

    def __str__(self) -> str:
        return "Internal error"
