"""JSON-RPC messages: decode a line into requests, notifications and responses, and encode them.

Only the envelope is decoded: `params`, `result` and `error` stay `Raw`.
"""

import codecs
import re
from typing import Literal, TypeAlias

import msgspec
import msgspec.structs

from search_mcp.wire.framing import END_BYTES, Line, Oversize
from search_mcp.wire.payload import SMALL_BYTES, encode, encode_bytes, first_items, members, request_id
from search_mcp.wire.structs import UNREADABLE, UNSET, ErrorObject, Params, Raw, RequestId, Struct, UnsetType, replace

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
BATCH_MESSAGES = 256
"""Most messages of a batch, which are handled in one step and answered together; a longer one is refused as a whole."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """One request, notification or response; an absent member is `UNSET`."""

    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class Invalid(Struct, frozen=True):
    """A line, or an element of a batch, that is not a message: the error to answer, and the id to answer it under."""

    code: int
    message: str
    id: RequestId | None = None
    is_answer: bool = False
    """Whether it was probably a response: JSON with an id and without a method."""


Decoded: TypeAlias = Message | Invalid | list[Message | Invalid]
_message = msgspec.json.Decoder(Message)
_error = msgspec.json.Decoder(ErrorObject)
_encode_id = msgspec.json.Encoder().encode


def decode(line: bytes) -> Decoded:
    """Decode one line; never raises. A batch becomes a list with an element for each message."""
    first = line.lstrip()[:1]
    if first != b"[":
        return _decode_one(line)
    try:
        try:
            elements = first_items(Raw(line), BATCH_MESSAGES + 1)
        except ValueError:
            elements = first_items(Raw(_repaired(line)), BATCH_MESSAGES + 1)
    except ValueError as exc:
        return Invalid(PARSE_ERROR, f"Parse error: {exc}")
    if not elements:
        return Invalid(INVALID_REQUEST, "Invalid Request: an empty batch")
    if len(elements) > BATCH_MESSAGES:
        return Invalid(INVALID_REQUEST, f"Invalid Request: a batch of more than {BATCH_MESSAGES:,} messages")
    return [_decode_one(bytes(element)) for element in elements]


def _decode_one(line: bytes) -> Message | Invalid:
    try:
        if not line.isascii():
            _check_utf8(line)
        try:
            message = _message.decode(line)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            message = _message.decode(_repaired(line))
    except msgspec.ValidationError as exc:
        return _invalid(f"Invalid Request: {exc}", line)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        return Invalid(PARSE_ERROR, f"Parse error: {exc}")
    except RecursionError:
        # It may be valid JSON, so its sender waits for an answer under its id.
        return replace(describe_unreadable(line), message="Parse error: nested too deeply")
    if message.method is UNSET:
        if message.result is UNSET and message.error is UNSET:
            return _invalid("Invalid Request: no method, result or error", line)
    elif message.id is None:
        # "Unlike base JSON-RPC, the ID MUST NOT be null."
        return Invalid(INVALID_REQUEST, "Invalid Request: id must be a string or an integer, not null")
    return message


def _check_utf8(line: bytes) -> None:
    # In pieces, so that a large line is not copied as a whole.
    check = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(line), SMALL_BYTES):
        check.decode(line[start : start + SMALL_BYTES])
    check.decode(b"", final=True)


REPAIRS = 10_000
"""Most unpaired surrogates that are replaced in one line; a program that cuts strings writes a few of them."""
_HIGH, _LOW = rb"[89abAB][0-9a-fA-F]{2}", rb"[c-fC-F][0-9a-fA-F]{2}"
# Both kinds begin with the same text, for which a search is 10 times faster than for each of them at each place.
_HALF_CHARACTER = rb"\\u[dD](?:%b(?!\\u[dD]%b)|%b(?<!\\u[dD]%b\\u[dD]%b))" % (_HIGH, _LOW, _LOW, _HIGH, _LOW)


def _repaired(line: bytes) -> bytes:
    r"""Replace unpaired surrogate escapes (`\uD800` to `\uDFFF`) by U+FFFD, up to `REPAIRS` of them.

    JavaScript writes them for strings that were cut inside a character, and strict JSON parsers, those of clients
    included, refuse them.
    """
    if b"\\u" not in line or b"\0" in line:  # JSON contains no NUL
        return line
    # An escaped backslash begins no escape; two NULs replace it meanwhile.
    text = line.replace(rb"\\", b"\0\0")
    return re.sub(_HALF_CHARACTER, rb"\\ufffd", text, count=REPAIRS).replace(b"\0\0", rb"\\")


def _invalid(message: str, line: bytes) -> Invalid:
    """Describe JSON that is not a message, with its id if that can be read."""
    found = members(Raw(line), "id", "method")
    return Invalid(INVALID_REQUEST, message, request_id(found.get("id")), "method" not in found)


_ID_AT_AN_END = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")\s*[,}]'
_FIRST_MEMBER = rb'"(result|error|method|params)"\s*:'


def describe_unreadable(line: Line) -> Invalid:
    """Describe a line that could not be decoded, with the id that is found near one of its ends."""
    head, tail = (line.head, line.tail) if isinstance(line, Oversize) else (line[:END_BYTES], line[-END_BYTES:])
    first = re.search(_FIRST_MEMBER, head)
    is_answer = first is None or first[1] in (b"result", b"error")
    found = re.search(_ID_AT_AN_END, head)
    if found is None:
        *_, found = [None, *re.finditer(_ID_AT_AN_END, tail)]
    return Invalid(PARSE_ERROR, "Parse error", request_id(Raw(found[1])) if found else None, is_answer)


def error_object(raw: Raw) -> ErrorObject:
    """Decode the `error` of a response; a malformed one becomes an internal error with the original as its data."""
    try:
        return _error.decode(raw)
    except UNREADABLE:
        return ErrorObject(INTERNAL_ERROR, "malformed error object", raw)


def request(message_id: RequestId, method: str, params: Params) -> bytes:
    """Encode a request as one line."""
    head = b'{"jsonrpc":"2.0","id":%b,"method":"%b"' % (_encode_id(message_id), method.encode())
    return b"".join((head, b',"params":', encode_bytes(params), b"}\n")) if params is not None else head + b"}\n"


def notification(method: str, params: Params) -> bytes:
    """Encode a notification as one line."""
    head = b'{"jsonrpc":"2.0","method":"%b"' % method.encode()
    return b"".join((head, b',"params":', encode_bytes(params), b"}\n")) if params is not None else head + b"}\n"


def result(message_id: RequestId, payload: Raw) -> bytes:
    """Encode a successful response as one line."""
    return b"".join((b'{"jsonrpc":"2.0","id":', _encode_id(message_id), b',"result":', payload, b"}\n"))


def failure(message_id: RequestId | None, error: ErrorObject) -> bytes:
    """Encode an error response as one line; `None` for an id that could not be read."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (encode(message_id), encode(error))


LONGEST_SHOWN = 2000
"""Most bytes of a message that the log shows."""


def shown(line: bytes) -> str:
    """Return the beginning of a message as one line; escaping it further would hide secrets from the redaction."""
    text = " ".join(line[:LONGEST_SHOWN].decode(errors="replace").splitlines())
    if len(line) <= LONGEST_SHOWN:
        return text
    whole_words = max(text.rfind('"'), text.rfind(" ")) + 1  # half a secret would not be redacted
    return f"{text[:whole_words]}..."
