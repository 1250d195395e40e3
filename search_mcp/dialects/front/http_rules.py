"""The rules for a message that a client posts over HTTP: which era it is of, and whether its headers fit its body.

Source: docs/specification/2026-07-28/basic/transports/streamable-http.mdx, and docs/specification/2025-11-25/basic/
transports.mdx for the legacy era. Pure.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping

from search_mcp.dialects import names
from search_mcp.dialects.http_headers import SESSION, VERSION, HttpHeaders
from search_mcp.wire import messages, payload
from search_mcp.wire.messages import Invalid, Message
from search_mcp.wire.structs import UNSET, ErrorObject, Raw, RequestId, Struct

SESSION_HEADER, VERSION_HEADER = SESSION.lower(), VERSION.lower()
_BATCHED = "2025-03-26"
"""The only revision over HTTP with batches; a session without a version header may be of it."""
_NUMBER = re.compile(r"-?[0-9]{1,17}(\.0{1,17})?")
_STATUS = {
    messages.METHOD_NOT_FOUND: 404,
    **dict.fromkeys((messages.PARSE_ERROR, messages.INVALID_REQUEST, messages.INVALID_PARAMS), 400),
    **dict.fromkeys((names.HEADER_MISMATCH, names.MISSING_CAPABILITY, names.UNSUPPORTED_VERSION), 400),
}
"""Statuses of the errors of modern requests; those of others are 200, as those of legacy requests are."""


class Refused(Exception):
    """A message that is refused before anything of it is carried out."""

    def __init__(self, status: int, code: int, message: str, message_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.status, self.error, self.message_id = status, ErrorObject(code, message), message_id

    def body(self) -> bytes:
        """Return the error as a JSON-RPC response."""
        return messages.failure(self.message_id, self.error)


class Post(Struct, frozen=True):
    """A posted message, as far as the transport has to know it."""

    is_modern: bool = False
    is_request: bool = False
    opens: bool = False
    """Whether it opens a session."""
    further: int = 0
    """The requests of a batch beyond the first."""


def read_post(headers: Mapping[str, str], body: bytes, schema: Callable[[str], Raw | None]) -> Post:
    """Check a posted message; `headers` have names in lower case, `schema` returns the input schema of a tool.

    Raises:
        Refused: it breaks a rule.
    """
    message = messages.decode(body)
    if isinstance(message, list):
        return _batch(headers, message)
    if isinstance(message, Invalid):
        raise Refused(400, message.code, message.message, message.id)
    version = headers.get(VERSION_HEADER)
    params = message.params if isinstance(message.params, Raw) else None
    meta = payload.members(payload.members(params, names.META).get(names.META), names.VERSION_KEY)
    is_request = message.method is not UNSET and message.id is not UNSET
    if version in names.MODERN and message.method == names.INITIALIZE:
        raise Refused(404, messages.METHOD_NOT_FOUND, f"Method not found: {message.method}", _id(message))
    if version in names.MODERN or names.VERSION_KEY in meta:
        return _modern(headers, body, message, payload.string(meta.get(names.VERSION_KEY)), schema)
    # "If the server receives a request with an invalid or unsupported `MCP-Protocol-Version`, it MUST respond with
    # `400 Bad Request`."
    if version is not None and version not in names.LEGACY:
        text = f"Unsupported protocol version {version!r}; supported are {', '.join((*names.MODERN, *names.LEGACY))}"
        raise Refused(400, names.UNSUPPORTED_VERSION, text, _id(message))
    return Post(is_request=is_request, opens=message.method == names.INITIALIZE)


def _batch(headers: Mapping[str, str], elements: list[Message | Invalid]) -> Post:
    # "The body of the POST request MUST be a single JSON-RPC request, notification, or response" from 2025-06-18 on.
    if headers.get(VERSION_HEADER, _BATCHED) != _BATCHED:
        raise Refused(400, messages.INVALID_REQUEST, "Invalid Request: this revision has no batches")
    whole = [each for each in elements if isinstance(each, Message)]
    if any(each.method == names.INITIALIZE for each in whole):  # "MUST NOT be part of a JSON-RPC batch"
        raise Refused(400, messages.INVALID_REQUEST, "Invalid Request: initialize in a batch")
    requests = sum(each.method is not UNSET and each.id is not UNSET for each in whole)
    return Post(is_request=requests > 0 or len(whole) < len(elements), further=max(requests - 1, 0))


def _modern(
    headers: Mapping[str, str],
    body: bytes,
    message: Message,
    version: str | None,
    schema: Callable[[str], Raw | None],
) -> Post:
    if message.method is UNSET:  # "The client MUST NOT send JSON-RPC responses"
        raise Refused(400, messages.INVALID_REQUEST, "Invalid Request: a response, which this revision has not")
    if message.id is UNSET:
        return Post(is_modern=True)
    given = headers.get(VERSION_HEADER)
    # "The header value MUST match the `io.modelcontextprotocol/protocolVersion` field carried in the request body's
    # `_meta`."
    if given is None or (version is not None and given != version):
        raise _mismatch(message, VERSION, given, version)
    if version is not None and version in names.MODERN:
        wanted = HttpHeaders(schema).envelope(body).headers
        for name, value in wanted.items():
            _compare(headers, message, name, value)
    return Post(is_modern=True, is_request=True)


def _compare(headers: Mapping[str, str], message: Message, name: str, value: str) -> None:
    given = headers.get(name.lower())
    if given is None or not _is_same(_decoded(given), _decoded(value)):
        raise _mismatch(message, name, given, value)


def _mismatch(message: Message, name: str, given: str | None, wanted: str | None) -> Refused:
    found = "is missing" if given is None else f"value {given!r} does not match body value {wanted!r}"
    return Refused(400, names.HEADER_MISMATCH, f"Header mismatch: {name} header {found}", _id(message))


def _is_same(given: str | None, wanted: str | None) -> bool:
    # "servers SHOULD compare the header value and the body value numerically": `42.0` is `42`
    if given is None or wanted is None or not _NUMBER.fullmatch(wanted):
        return given == wanted
    return _NUMBER.fullmatch(given) is not None and float(given) == float(wanted)


def _decoded(value: str) -> str | None:
    """Decode the value of a header; `None` if it is malformed."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _id(message: Message) -> RequestId | None:
    return None if message.id is UNSET else message.id


def status_of(post: Post, line: bytes) -> int:
    """Return the status of the response to a request that is answered with one line."""
    if not post.is_modern or b'"error":' not in line[:1024]:
        return 200
    message = messages.decode(line)
    if not isinstance(message, Message) or not isinstance(message.error, Raw):
        return 200
    return _STATUS.get(messages.error_object(message.error).code, 200)


def sends_primer(version: str | None) -> bool:
    """Return whether a client of this revision knows events without data, which older ones cannot parse."""
    return version == names.LEGACY[0]
