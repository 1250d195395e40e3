"""JSON payloads: decode one as far as needed, and encode new ones.

A payload is a `Raw`: a view of the bytes as they arrived, which is relayed and not rebuilt.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
import msgspec.structs

from search_mcp.wire.decoders import decoder
from search_mcp.wire.structs import UNREADABLE, UNSET, ErrorObject, Fields, Raw, RequestId, T, UnsetType

SMALL_BYTES = 1 << 16
"""Bytes of JSON that may be searched or decoded wholly wherever it arrives: a fraction of a millisecond. A limit for
what is usually much smaller."""
LARGE_BYTES = 1 << 20
"""Bytes of one definition, message or error beyond which nobody reads it."""
_FEW_COMMAS = 100_000
"""Commas of an array that is decoded wholly: a bound on its elements, about five milliseconds."""
MOST_LEVELS = 200
"""Levels of nesting of a value that is decoded wholly. Functions that walk through it take up to two frames a level,
and Python allows 1,000 frames. msgspec alone reads 9,000 levels with Python 3.13, but fewer than 1,000 with 3.11."""
_CONTAINERS = frozenset({dict, list})
_fields = msgspec.json.Decoder(dict[str, Raw])
_items = msgspec.json.Decoder(list[Raw])
_string = msgspec.json.Decoder(str)
_id = msgspec.json.Decoder(int | str)
_anything = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()
_sorting_encoder = msgspec.json.Encoder(order="sorted")


def fields(raw: Raw | UnsetType) -> Fields:
    """Decode a JSON object by one level; an absent one is empty.

    Raises:
        ValueError: it is not an object.
    """
    if raw is UNSET:
        return {}
    try:
        return _fields.decode(raw)
    except UNREADABLE as exc:
        raise ValueError(str(exc)) from exc


def object_or_empty(raw: Raw | None) -> Fields:
    """Decode a JSON object by one level; anything else, absence included, is empty."""
    try:
        return _fields.decode(raw) if raw is not None else {}
    except UNREADABLE:
        return {}


def items(raw: Raw) -> list[Raw]:
    """Decode a JSON array by one level.

    Raises:
        ValueError: it is not an array.
    """
    try:
        return _items.decode(raw)
    except UNREADABLE as exc:
        raise ValueError(str(exc)) from exc


def first_items(raw: Raw, most: int) -> list[Raw]:
    """Decode the first elements of a JSON array by one level; the rest is skipped, however long it is.

    Raises:
        ValueError: it is not an array.
    """
    if bytes(raw).count(b",") <= _FEW_COMMAS:
        return items(raw)[:most]
    try:
        found = msgspec.structs.astuple(_items_decoder(most).decode(raw))
    except UNREADABLE as exc:
        raise ValueError(str(exc)) from exc
    return [each for each in found if isinstance(each, Raw)]


@cache
def _items_decoder(most: int) -> "msgspec.json.Decoder[Any]":
    # A struct that is an array: decoding a list with a maximum length decodes all elements before it refuses them.
    fields_of_struct = [(f"item_{place}", Raw | UnsetType, UNSET) for place in range(most)]
    return msgspec.json.Decoder(msgspec.defstruct("FirstItems", fields_of_struct, array_like=True))


def members(raw: Raw | None, *keys: str) -> Fields:
    """Decode some members of a JSON object and skip all others; anything else is empty."""
    try:
        found = _members_decoder(keys).decode(raw) if raw is not None else None
    except UNREADABLE:
        return {}
    values = msgspec.structs.astuple(found) if found is not None else ()
    return {key: value for key, value in zip(keys, values, strict=False) if isinstance(value, Raw)}


@cache
def _members_decoder(keys: tuple[str, ...]) -> "msgspec.json.Decoder[Any]":
    # Made on first use: not every process needs every decoder.
    fields_of_struct = [
        (f"member_{place}", Raw | UnsetType, msgspec.field(default=UNSET, name=key)) for place, key in enumerate(keys)
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Members", fields_of_struct))


def value(raw: Raw | bytes) -> Any:
    """Decode a whole payload; `None` if it is no JSON or has more than `MOST_LEVELS`."""
    try:
        decoded = _anything.decode(raw)
    except UNREADABLE:
        return None
    text = bytes(raw)
    may_be_deep = text.count(b"{") + text.count(b"[") > MOST_LEVELS
    return None if may_be_deep and _has_more_levels(decoded, MOST_LEVELS) else decoded


def _has_more_levels(decoded: object, most: int) -> bool:
    level = [decoded] if type(decoded) in _CONTAINERS else []
    for _ in range(most):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)  # type: ignore[attr-defined]
            if type(inner) in _CONTAINERS
        ]
    return bool(level)


def string(raw: Raw | None) -> str | None:
    """Decode a JSON string; `None` for anything else, absence included."""
    try:
        return _string.decode(raw) if raw is not None else None
    except UNREADABLE:
        return None


def request_id(raw: Raw | None) -> RequestId | None:
    """Decode a JSON string or integer; `None` for anything else."""
    try:
        return _id.decode(raw) if raw is not None else None
    except msgspec.DecodeError:
        return None


def encode(payload: object) -> Raw:
    """Encode a value, which may contain `Raw`, compactly and in the given order."""
    return Raw(encode_bytes(payload))


def indented(raw: Raw) -> bytes:
    """Indent JSON for a person, without a change of any number or string.

    It stays as it is if it is nested too deeply, or has a half of a surrogate pair.
    """
    try:
        return msgspec.json.format(bytes(raw), indent=2)
    except UNREADABLE:
        return bytes(raw)


def _without_surrogates(payload: object) -> object:
    """Replace unpaired surrogates, which file names and environment variables may contain, by U+FFFD."""
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
    """Encode a value as `encode` does, as plain bytes."""
    try:
        return _encoder.encode(payload)
    except UnicodeEncodeError:
        return _encoder.encode(_without_surrogates(payload))


def encode_text(payload: object) -> str:
    """Encode a value as `encode` does, as text; the value may be too large for the memory.

    Raises:
        MemoryError: it is too large. `Encoder.encode` of msgspec 0.22 crashes the process then.
    """
    encoded = bytearray()
    try:
        _encoder.encode_into(payload, encoded)
    except UnicodeEncodeError:
        _encoder.encode_into(_without_surrogates(payload), encoded)
    return encoded.decode()


def typed(data: bytes | Raw, kind: type[T]) -> T:
    """Decode JSON as a typed value, such as a `Struct`, without converting between types; `Raw` fields stay encoded.

    Raises:
        ValueError: it does not fit, or is not JSON.
    """
    try:
        return decoder(kind).decode(data)
    except UNREADABLE as exc:
        raise ValueError(str(exc)) from exc


def fits(raw: Raw | None, kind: type[T]) -> bool:
    """Return whether a payload is present and can be decoded as a value of this type."""
    if raw is None:
        return False
    try:
        typed(raw, kind)
    except ValueError:
        return False
    return True


def convert(decoded: object, kind: type[T]) -> T:
    """Convert decoded JSON to a typed value, as strictly as `typed` does.

    Raises:
        ValueError: it does not fit.
    """
    decoder(kind)  # describes the type for `msgspec.convert`
    return msgspec.convert(decoded, kind)


def canonical(raw: Raw) -> bytes:
    """Encode a payload in canonical form, with sorted keys and no spaces; unchanged if it is nested too deeply."""
    decoded = value(raw)
    return bytes(raw) if decoded is None else _sorting_encoder.encode(decoded)


def without(payload: Mapping[str, Raw], *keys: str) -> Fields:
    """Copy an object without some of its keys."""
    rest = dict(payload)
    for key in keys:
        rest.pop(key, None)
    return rest
