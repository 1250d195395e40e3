"""Sizes and kinds of payloads for the usage record, found without decoding more than is necessary.

A size is in Unicode characters. Of more than `WHOLLY_READ` bytes, it may be an estimate from the first of them, and
nothing is decoded: a large result must not cost the event loop more than its relay. Pure.
"""

import re

from search_mcp.model.calls import Result
from search_mcp.wire import payload
from search_mcp.wire.structs import EMPTY, Fields, Raw

WHOLLY_READ = 1 << 20
"""Bytes of a payload that are read wholly: about a millisecond."""
LEAST_OF_INTEREST = 8_000
"""Characters of a result up to which its text is not measured: every client gives so much to its model."""
_CHUNK = 1 << 16
_EDGE = 4096
"""Bytes at each end of a large result in which the members beside its content, or its only block, are looked for."""
_CONTINUATION = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""
_IS_ERROR = re.compile(rb'"isError"\s*:\s*true')
_IS_MEDIA = re.compile(rb'"type"\s*:\s*"(?:image|audio)"')
_NO_ITEMS = Raw(b"[]")


def characters(raw: Raw | None) -> int:
    """Return the number of characters of a payload."""
    if raw is None:
        return 0
    size = len(raw)
    if size <= _CHUNK:
        return _counted(bytes(raw))
    view, read = memoryview(raw), min(size, WHOLLY_READ)
    found = sum(_counted(bytes(view[start : min(start + _CHUNK, read)])) for start in range(0, read, _CHUNK))
    return found if read == size else round(found * (size / read))


def _counted(data: bytes) -> int:
    return len(data) if data.isascii() else len(data.translate(None, _CONTINUATION))


def measured(result: Result) -> tuple[int, int | None, bool]:
    """Return the characters of a result, those of its text, as `text_of` does, and whether a tool says that it failed.

    This runs for every call: a short result, as most are, is looked at once.
    """
    body = result.body
    if isinstance(body, dict):
        size = sum(len(key) + characters(each) for key, each in body.items())
        return size, text_of(result, size), _is_true(body.get("isError"))
    if len(body) > LEAST_OF_INTEREST:
        size = characters(body)
        return size, text_of(result, size), _is_large_error(body, memoryview(body))
    data = bytes(body)
    # The first word is rare, and looking for it takes a tenth of the time of the expression.
    has_failed = b"true" in data and _IS_ERROR.search(data) is not None and _says_error(body)
    return len(data) if data.isascii() else _counted(data), None, has_failed


def _is_large_error(body: Raw, view: memoryview) -> bool:
    ends = (view,) if len(view) <= _CHUNK else (view[:_EDGE], view[-_EDGE:])
    return any(_IS_ERROR.search(each) for each in ends) and _says_error(body)


def _says_error(body: Raw) -> bool:
    """Return whether a result says that the tool failed: the words for it may be part of the content, too."""
    return _is_true(payload.members(body, "isError").get("isError"))


def _is_true(raw: Raw | None) -> bool:
    return raw is not None and bytes(raw) == b"true"


def text_of(result: Result, size: int) -> int | None:
    """Return the number of characters that a client may give to its model; `None` if they are few or unknown.

    Clients give it either `structuredContent` or the texts, and images in another way. `size` is that of the result.
    """
    if size <= LEAST_OF_INTEREST:
        return None
    body = result.body
    if size > WHOLLY_READ:
        return None if not isinstance(body, dict) and _is_of_media(body) else size
    members = body if isinstance(body, dict) else payload.members(body, "content", "structuredContent")
    if "structuredContent" in members:
        return characters(members["structuredContent"])
    return _of_texts(members)


def _is_of_media(body: Raw) -> bool:
    view = memoryview(body)
    return any(_IS_MEDIA.search(each) for each in (view[:_EDGE], view[-_EDGE:]))


def _of_texts(members: Fields) -> int:
    try:
        blocks = payload.items(members.get("content", _NO_ITEMS))
    except ValueError:
        return 0
    return sum(_of_text(payload.members(block, "text", "resource")) for block in blocks)


def _of_text(block: Fields) -> int:
    text = block.get("text") or payload.members(block.get("resource", EMPTY), "text").get("text")
    return len(payload.string(text) or "")
