"""Bytes to JSON-RPC messages and back.

Decides what is a line, what is a message, and what is neither. It reads the envelope only: `params`,
`result` and `error` stay `Raw`, a view of the bytes as they came, so that a payload is relayed and
never rebuilt. It must not know a method name, an id's meaning, or a stream. The only file that knows
the JSON library.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
import msgspec.structs
from msgspec import NODEFAULT as NODEFAULT
from msgspec import UNSET as UNSET
from msgspec import Meta as Meta  # bounds of a value, in an annotation that `convert` reads
from msgspec import Raw as Raw
from msgspec import Struct as Struct  # what a dataclass is, but defined in a tenth of the time
from msgspec import UnsetType as UnsetType
from msgspec import field as field

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

RequestId: TypeAlias = int | str
Fields: TypeAlias = dict[str, Raw]
"""A JSON object one level deep: its keys in order, its values untouched."""
Params: TypeAlias = Mapping[str, object] | Raw | None
"""What a message of ours says, for the encoder; `None` where it says nothing."""

T = TypeVar("T")

altered = msgspec.structs.replace
"""Copy a `Struct` with some of its fields changed."""
Declared: TypeAlias = msgspec.structs.FieldInfo
declared = msgspec.structs.fields
"""Give the fields of a `Struct`: their names, types and defaults."""
EMPTY = Raw(b"{}")
CONTENT_LENGTH = b"content-length:"
_NEWLINES_TO_SPACES = bytes.maketrans(b"\r\n", b"  ")
_CHECK_CHUNK = 1 << 16  # bytes; UTF-8 is checked in pieces so that a large line is never copied whole
BATCH_MESSAGES = 16_384
"""How many messages a batch may hold; nobody is owed more answers than that."""
_SMALL_PIECE = 4096  # bytes; a line that comes in crumbs is kept in pieces of this size, not of theirs
_GLIMPSE = 512  # bytes kept of each end of a refused line: where JSON libraries write the id
_SMALL_ARRAY = 1 << 18
"""Bytes of an array that is opened at once: whatever is in it takes a few milliseconds."""
_FEW_COMMAS = 100_000
"""Of a larger array that is opened at once: it has no more elements than that."""
_TOKENS_A_PAUSE = 20_000


class Message(msgspec.Struct, frozen=True, gc=False):
    """One request, notification or response; an absent member is `UNSET`."""

    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """The `error` member of a response."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET


class Invalid(Struct, frozen=True):
    """A line, or an element of a batch, that is not a message: what to answer, and to whom."""

    code: int
    message: str
    id: RequestId | None = None
    is_answer: bool = False
    """Whether it was meant as a response: JSON with an id and no method."""


class Oversize(Struct, frozen=True):
    """A line over the limit: its bytes are gone, its length and its two ends are not."""

    size: int
    head: bytes
    tail: bytes


Line: TypeAlias = bytes | Oversize
Decoded: TypeAlias = Message | Invalid | list[Message | Invalid]

_UNREADABLE = (msgspec.DecodeError, RecursionError)
_message = msgspec.json.Decoder(Message)
_fields = msgspec.json.Decoder(dict[str, Raw])
_items = msgspec.json.Decoder(list[Raw])
_error = msgspec.json.Decoder(ErrorObject)
_string = msgspec.json.Decoder(str)
_id = msgspec.json.Decoder(int | str)
_anything = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()
_sorting_encoder = msgspec.json.Encoder(order="sorted")


class LineDecoder:
    """Cut a byte stream into lines, and into `Content-Length` bodies where a client frames like LSP.

    The limit is in bytes of one line; a longer one is discarded as it comes and reported as `Oversize`.
    Without a `header` only lines are taken.
    """

    def __init__(self, limit: int, header: bytes | None = CONTENT_LENGTH) -> None:
        self._header = header
        self.speaks_headers = False  # true once a body came behind headers: answers are framed alike
        self._limit = limit
        self._pending: list[bytes] = []
        self._size = 0
        self._head = self._tail = b""  # the ends of a line that is over the limit
        self._body: int | None = None  # bytes of a body still to come; None between bodies
        self._expected = 0  # what the headers being read announced
        self._at_start = True  # nothing was taken in as a line yet, so a BOM may lead it

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """Yield every line that `chunk` completes, without its line ending; blank lines are dropped."""
        start = 0
        while start < len(chunk):
            if self._body is not None:
                end = min(start + self._body, len(chunk))
                self._body -= end - start
                piece, start = chunk[start:end], end
                if self._body:
                    self._keep(piece)
                else:
                    self._body = None
                    # A body may be pretty-printed; a line may not. Newlines are not in JSON strings.
                    body = self._complete(piece)
                    if body is not None:
                        yield body.translate(_NEWLINES_TO_SPACES) if isinstance(body, bytes) else body
                continue
            end = chunk.find(b"\n", start)
            if end < 0:
                self._keep(chunk[start:] if start else chunk)
                return
            line = self._complete(chunk[start:end])
            start = end + 1
            if line is not None:
                yield line

    def flush(self) -> Iterator[Line]:
        """Yield the last line of a stream that ended without a line ending."""
        line = self._complete(b"") if self._size else None
        if line is not None:
            yield line

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._pending and len(self._pending[-1]) < _SMALL_PIECE:
            self._pending[-1] += piece
        else:
            self._pending.append(piece)
        if self._size > self._limit:
            for kept in self._pending:
                self._head += kept[: _GLIMPSE - len(self._head)]
                self._tail = (self._tail + kept[-_GLIMPSE:])[-_GLIMPSE:]
            self._pending = []

    def _complete(self, line: bytes) -> Line | None:
        """Take what is pending, and this end of it, for a line; none if it was blank or a header."""
        if self._size or len(line) > self._limit:
            self._keep(line)
            size, pending, self._pending, self._size = self._size, self._pending, [], 0
            if size > self._limit:
                oversize = Oversize(size, self._head, self._tail)
                self._head = self._tail = b""
                return oversize
            line = b"".join(pending)
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(codecs.BOM_UTF8)
        if line[:1] in (b"{", b"["):
            self._expected = 0  # after a header, but with no blank line: whatever wrote that does not frame by it
            return line.removesuffix(b"\r")
        if self._header is not None and line[: len(self._header)].lower() == self._header:
            digits = line[len(self._header) :].strip()
            self._expected = int(digits) if digits.isdigit() and len(digits) < 19 else 0
            return None
        if self._expected:
            if not line.strip():  # the blank line behind the headers
                self.speaks_headers = True
                self._body, self._expected = self._expected, 0
            return None  # another header, such as Content-Type
        line = line.removesuffix(b"\r")
        return line if line and not line.isspace() else None


def decode(line: bytes) -> Decoded:
    """Read one line; never raises. A JSON array is a batch: a list with one element a message."""
    first = line.lstrip()[:1]
    if first != b"[":
        return _decode_one(line)
    try:
        elements = _items.decode(_repaired(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        return Invalid(PARSE_ERROR, f"Parse error: {exc}")
    if not elements:
        return Invalid(INVALID_REQUEST, "Invalid Request: an empty batch")
    if len(elements) > BATCH_MESSAGES:
        return Invalid(INVALID_REQUEST, f"Invalid Request: a batch of {len(elements):,}; {BATCH_MESSAGES:,} are taken")
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
        # It may well be JSON, so whoever sent it waits under its id.
        return altered(glimpsed(line), message="Parse error: nested too deeply")
    if message.method is UNSET:
        if message.result is UNSET and message.error is UNSET:
            return _invalid("Invalid Request: no method, result or error", line)
    elif message.id is None:
        # "Unlike base JSON-RPC, the ID MUST NOT be null."
        return Invalid(INVALID_REQUEST, "Invalid Request: id must be a string or an integer, not null")
    return message


def _check_utf8(line: bytes) -> None:
    check = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(line), _CHECK_CHUNK):
        check.decode(line[start : start + _CHECK_CHUNK])
    check.decode(b"", final=True)


REPAIRS = 10_000
"""How many half characters of one line are replaced: a program that cuts strings inside a character leaves a few."""
_HIGH, _LOW, _HEX = rb"\\u[dD][89abAB]", rb"\\u[dD][c-fC-F]", rb"[0-9a-fA-F]{2}"
_HALF_CHARACTER = rb"%b%b(?!%b%b)|(?<!%b%b)%b%b" % (_HIGH, _HEX, _LOW, _HEX, _HIGH, _HEX, _LOW, _HEX)


def _repaired(line: bytes) -> bytes:
    r"""Replace `\uD800` to `\uDFFF` escapes that have no partner by U+FFFD; of very many, the first.

    JavaScript writes them for strings cut inside a character; no strict reader, the client's included,
    takes the line with them in it.
    """
    if b"\\u" not in line or b"\0" in line:  # no JSON has a NUL in it
        return line
    # An escaped backslash does not begin an escape; two NULs stand for it meanwhile.
    text = line.replace(rb"\\", b"\0\0")
    return re.sub(_HALF_CHARACTER, rb"\\ufffd", text, count=REPAIRS).replace(b"\0\0", rb"\\")


def _invalid(message: str, line: bytes) -> Invalid:
    """Describe JSON that is no message, with what can be told of it all the same."""
    try:
        members = _fields.decode(line)
    except _UNREADABLE:
        return Invalid(INVALID_REQUEST, message)
    return Invalid(INVALID_REQUEST, message, request_id(members.get("id")), "method" not in members)


_ID_AT_AN_END = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")\s*[,}]'
_FIRST_MEMBER = rb'"(result|error|method|params)"\s*:'


def glimpsed(line: Line) -> Invalid:
    """Tell what a line that could not be read may have been: look for an id near its ends."""
    head, tail = (line.head, line.tail) if isinstance(line, Oversize) else (line[:_GLIMPSE], line[-_GLIMPSE:])
    first = re.search(_FIRST_MEMBER, head)
    is_answer = first is None or first[1] in (b"result", b"error")
    found = re.search(_ID_AT_AN_END, head)
    if found is None:
        *_, found = [None, *re.finditer(_ID_AT_AN_END, tail)]
    return Invalid(PARSE_ERROR, "Parse error", request_id(Raw(found[1])) if found else None, is_answer)


def fields(raw: Raw | UnsetType) -> Fields:
    """Open a JSON object one level; absent reads as empty.

    Raises:
        ValueError: it is not an object.
    """
    if raw is UNSET:
        return {}
    try:
        return _fields.decode(raw)
    except _UNREADABLE as exc:
        raise ValueError(str(exc)) from exc


def object_or_empty(raw: Raw | None) -> Fields:
    """Open a JSON object one level; anything else, absence included, reads as empty."""
    try:
        return _fields.decode(raw) if raw is not None else {}
    except _UNREADABLE:
        return {}


def items(raw: Raw) -> list[Raw]:
    """Open a JSON array one level.

    Raises:
        ValueError: it is not an array.
    """
    try:
        return _items.decode(raw)
    except _UNREADABLE as exc:
        raise ValueError(str(exc)) from exc


def elements(raw: Raw, most_bytes: int) -> Iterator[Raw | None]:
    """Open a JSON array one level, one element at a time; `None` stands for a pause in a long search for the next.

    Unlike `items`, whoever takes only the first elements of a long array pays only for those; of an array that is
    longer than `most_bytes` no more than that is looked at.

    Raises:
        ValueError: it is not an array.
    """
    length = len(memoryview(raw))
    text = bytes(memoryview(raw)[:most_bytes]) if length > _SMALL_ARRAY else b""
    if length <= most_bytes and text.count(b",") <= _FEW_COMMAS:
        yield from items(raw)
        return
    if not text.startswith(b"["):
        raise ValueError("Expected `array`")
    start, depth = 1, 0
    for number, token in enumerate(_token_pattern().finditer(text, start)):
        if not number % _TOKENS_A_PAUSE:
            yield None
        first = text[token.start()]
        if first in b"[{":
            depth += 1
        elif first in b"]}":
            depth -= 1
        if depth < 0 or (depth == 0 and first == ord(",")):
            element, start = text[start : token.start()].strip(), token.end()
            if element:
                yield Raw(element)
        if depth < 0:
            return


@cache
def _token_pattern() -> re.Pattern[bytes]:
    return re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},]', re.DOTALL)


def picked(raw: Raw | None, *keys: str) -> Fields:
    """Read some members of a JSON object and skip the others, however many there are; anything else reads as empty."""
    try:
        found = _picker(keys).decode(raw) if raw is not None else None
    except _UNREADABLE:
        return {}
    members = msgspec.structs.astuple(found) if found is not None else ()
    return {key: member for key, member in zip(keys, members, strict=False) if isinstance(member, Raw)}


@cache
def _picker(keys: tuple[str, ...]) -> "msgspec.json.Decoder[Any]":
    # Made when it is first needed: not every start needs it.
    members = [
        (f"member_{place}", Raw | UnsetType, msgspec.field(default=UNSET, name=key)) for place, key in enumerate(keys)
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Picked", members))


def value(raw: Raw | bytes) -> Any:
    """Decode a payload wholly; `None` where it cannot be (too deep)."""
    try:
        return _anything.decode(raw)
    except _UNREADABLE:
        return None


def string(raw: Raw | None) -> str | None:
    """Decode a JSON string; `None` for anything else, absence included."""
    try:
        return _string.decode(raw) if raw is not None else None
    except _UNREADABLE:
        return None


def request_id(raw: Raw | None) -> RequestId | None:
    """Decode a JSON string or integer; `None` for anything else."""
    try:
        return _id.decode(raw) if raw is not None else None
    except msgspec.DecodeError:
        return None


def error_object(raw: Raw) -> ErrorObject:
    """Read a response's `error`; one that breaks the rules becomes an internal error that shows it."""
    try:
        return _error.decode(raw)
    except _UNREADABLE:
        return ErrorObject(INTERNAL_ERROR, "malformed error object", raw)


def encode(payload: object) -> Raw:
    """Encode anything, `Raw` included, compactly and in the order given."""
    return Raw(encode_bytes(payload))


def _without_surrogates(payload: object) -> object:
    """Replace unpaired surrogates, which file names and environments may hold, by U+FFFD."""
    if isinstance(payload, str):
        return payload.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(payload, Mapping):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in payload.items()}
    if isinstance(payload, list | tuple):
        return [_without_surrogates(item) for item in payload]
    if isinstance(payload, ErrorObject):
        return ErrorObject(payload.code, str(_without_surrogates(payload.message)), payload.data)
    return payload


def encode_bytes(payload: object) -> bytes:
    """Encode anything, as plain bytes."""
    try:
        return _encoder.encode(payload)
    except UnicodeEncodeError:
        return _encoder.encode(_without_surrogates(payload))


def typed(data: bytes | Raw, kind: type[T]) -> T:
    """Read JSON as a typed value, such as a `Struct`; nothing is taken for what it is not, and `Raw` stays as it is.

    Raises:
        ValueError: it does not fit, or is not JSON.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except _UNREADABLE as exc:
        raise ValueError(str(exc)) from exc


def fits(raw: Raw | None, kind: type[T]) -> bool:
    """Whether a payload is there and can be read as such a value."""
    if raw is None:
        return False
    try:
        typed(raw, kind)
    except ValueError:
        return False
    return True


def convert(decoded: object, kind: type[T]) -> T:
    """Read JSON that is decoded already as a typed value, as strictly as `typed` does.

    Raises:
        ValueError: it does not fit.
    """
    return msgspec.convert(decoded, kind)


def canonical(raw: Raw) -> bytes:
    """Write a payload as all that mean the same are written: keys in order, no spaces; as it is if too deep."""
    decoded = value(raw)
    return bytes(raw) if decoded is None else _sorting_encoder.encode(decoded)


def _params_member(params: Params) -> tuple[bytes, ...]:
    """What stands behind a method, to the end of the line."""
    return (b'","params":', encode_bytes(params), b"}\n") if params is not None else (b'"}\n',)


def request(message_id: RequestId, method: str, params: Params) -> bytes:
    """Write a request as one line."""
    head = b'{"jsonrpc":"2.0","id":', _encoder.encode(message_id), b',"method":"', method.encode()
    return b"".join((*head, *_params_member(params)))


def notification(method: str, params: Params) -> bytes:
    """Write a notification as one line."""
    return b"".join((b'{"jsonrpc":"2.0","method":"', method.encode(), *_params_member(params)))


def result(message_id: RequestId, payload: Raw) -> bytes:
    """Write a successful response as one line."""
    return b"".join((b'{"jsonrpc":"2.0","id":', _encoder.encode(message_id), b',"result":', payload, b"}\n"))


def failure(message_id: RequestId | None, error: ErrorObject) -> bytes:
    """Write an error response as one line; the id is null where none could be read."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (encode(message_id), encode(error))


def framed(line: bytes) -> bytes:
    """Put `Content-Length` headers before a message, for a client that frames like LSP."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(line) - 1, line[:-1])


def without(payload: Mapping[str, Raw], *keys: str) -> Fields:
    """Copy a shallow object without some of its keys."""
    rest = dict(payload)
    for key in keys:
        rest.pop(key, None)
    return rest
