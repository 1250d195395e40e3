"""Exceptions that become JSON-RPC error responses, and the error responses that any peer may send."""

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
    """Base class of all exceptions of search-mcp."""


class WireError(SearchMcpError):
    """An error response: its `code`, its message (the text of the exception) and its `data`."""

    code: int = INTERNAL_ERROR

    def data(self) -> Mapping[str, Any] | None:
        """Return the fields that a program needs to act on the error; clients show a model only the message."""
        return None

    def error_object(self) -> ErrorObject:
        """Return the `error` member of the response."""
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
    """A bug in search-mcp. The traceback is logged; the client gets only this message."""

    def __str__(self) -> str:
        return "Internal error"
