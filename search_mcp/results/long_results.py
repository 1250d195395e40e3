"""Results of tools that are longer than a user's limit: the text in them, and the shortened form.

All texts of a result, in order, are one document: it is kept, and offsets are positions in it. A shortened result has
the head and the tail of the document, in the blocks where they were, then a link to the whole and a note for the model.
Images, audio and all other blocks stay. Pure.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from search_mcp.catalog.items import READ_RESULT, app_uris
from search_mcp.dialects import names
from search_mcp.results import RESULT_URI, TRUNCATED
from search_mcp.results.characters import boundary_after, boundary_before
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields, Raw, Struct

HEAD = 2, 3
"""The part of the room that the head gets: what a text is about stands at its beginning."""
LINE_PART = 10
"""The head and the tail end with whole lines, if that costs at most one in so many characters."""
MARKER_ROOM = 64
"""Most characters of the mark between head and tail."""
COMPARED_BYTES = 1 << 20
"""Most bytes of JSON that is decoded to see whether it says the same as a text: a few milliseconds."""

_CONTENT, _TEXT = "content", "text"
_NO_ITEMS = Raw(b"[]")
_WHITESPACE = b" \t\r\n"


class Part(Struct, frozen=True):
    """One text of a result."""

    place: int
    """The position of its block; that of structured content is behind all blocks."""
    start: int
    end: int
    """Where it is in the document."""
    block: Fields | None = None
    """Its block, if that is a text; `None` for an embedded resource and for structured content."""


class LongResult(Struct, frozen=True):
    """The text of a result that is longer than its limit."""

    fields: Fields
    blocks: Sequence[Raw]
    parts: Sequence[Part]
    text: str
    """The document."""
    spans: Sequence[tuple[int, int]]
    """Where JSON may be in it: the structured content, else each text."""
    is_json: bool
    """Whether its text seems to be JSON."""


class Kept(Struct, frozen=True):
    """How a kept document is named in the shortened result."""

    handle: str
    size: int
    """In bytes."""
    has_link: bool
    """Whether the client's revision has links to resources."""


def is_marked(fields: Fields) -> bool:
    """Return whether a result was shortened before, by another search-mcp."""
    return TRUNCATED in payload.members(fields.get(names.META), TRUNCATED)


def read_long(fields: Fields, limit: int, *, keeps_structured: bool = False) -> LongResult | None:
    """Read the text of a result; `None` if it is within the limit, or must not be shortened.

    `keeps_structured`: the client knows an output schema of the tool, which structured content must fit.
    """
    structured = fields.get(names.STRUCTURED)
    if payload.value(fields.get("isError", Raw(b"false"))) is True or is_marked(fields) or app_uris(fields):
        return None
    if structured is not None and keeps_structured:
        return None
    try:
        blocks = payload.items(fields.get(_CONTENT, _NO_ITEMS))
    except ValueError:
        return None
    texts = [(place, text, block) for place, raw in enumerate(blocks) for text, block in _texts(raw)]
    length = sum(len(text) for _, text, _ in texts)
    as_json = bytes(structured).decode("utf-8", "replace") if structured is not None else ""
    # A client shows its model one of both, so each is measured on its own.
    if max(length, len(as_json)) <= limit:
        return None
    if structured is None or says_the_same(structured, [text for _, text, _ in texts]):
        return _joined(fields, blocks, texts) if length > limit else None
    return _joined(fields, blocks, [*texts, (len(blocks), as_json, None)], is_structured=True)


def _joined(
    fields: Fields,
    blocks: Sequence[Raw],
    texts: Sequence[tuple[int, str, Fields | None]],
    *,
    is_structured: bool = False,
) -> LongResult:
    parts: list[Part] = []
    start = 0
    for place, text, block in texts:
        parts.append(Part(place, start, start + len(text), block))
        start += len(text) + 1
    document = "\n".join(text for _, text, _ in texts)
    spans = [(part.start, part.end) for part in (parts[-1:] if is_structured else parts)]
    return LongResult(fields, blocks, parts, document, spans, is_structured or _seems_json(document))


def _texts(raw: Raw) -> Iterator[tuple[str, Fields | None]]:
    """Yield the text of a block, if it has one; that of an embedded resource begins with its URI."""
    block = payload.members(raw, "type", _TEXT, "resource")
    kind = payload.string(block.get("type"))
    if kind == _TEXT and (text := payload.string(block.get(_TEXT))) is not None:
        yield text, payload.object_or_empty(raw)
    elif kind == "resource":
        resource = payload.members(block.get("resource"), "uri", _TEXT)
        uri, text = payload.string(resource.get("uri")), payload.string(resource.get(_TEXT))
        if text is not None:
            yield f"{uri or 'resource'}:\n{text}", None


def texts_of(fields: Fields) -> list[str]:
    """Return the texts of a result's content; none if it is no list."""
    try:
        blocks = payload.items(fields.get(_CONTENT, _NO_ITEMS))
    except ValueError:
        return []
    return [text for raw in blocks for text, _ in _texts(raw)]


def _seems_json(document: str) -> bool:
    return document[:100].lstrip()[:1] in ("{", "[") and document[-100:].rstrip()[-1:] in ("}", "]")


# Structured content is often the same as the text


def says_the_same(structured: Raw, texts: Sequence[str]) -> bool:
    """Return whether the text of a result is its structured content.

    "a tool that returns structured content SHOULD also return the serialized JSON in a TextContent block". The official
    Python SDK puts what is no object into one with the key `result`, and writes each item of a list as a text.
    """
    candidates = [structured]
    members = payload.object_or_empty(structured)
    if len(members) == 1:
        candidates.extend(members.values())
    return any(_is_written(each, texts) for each in candidates)


def _is_written(value: Raw, texts: Sequence[str]) -> bool:
    if len(texts) == 1 and _is_same(value, texts[0]):
        return True
    try:
        items = payload.items(value)
    except ValueError:
        return False
    return len(items) == len(texts) and all(map(_is_same, items, texts))


def _is_same(value: Raw, text: str) -> bool:
    """Return whether a text is a JSON string, or the text of a JSON value whatever its white space."""
    if memoryview(value)[0] == ord('"'):
        return payload.string(value) == text
    written = text.encode("utf-8", "replace")
    if bytes(value).translate(None, _WHITESPACE) == written.translate(None, _WHITESPACE):
        return True
    if max(len(value), len(written)) > COMPARED_BYTES:
        return False
    decoded = payload.value(written)
    return decoded is not None and bool(decoded == payload.value(value))


# The shortened form


def shortened(long: LongResult, limit: int, kept: Kept) -> Fields:
    """Return a result with the head and the tail of its text: together with the note, at most `limit` characters."""
    total = len(long.text)
    # The note is as long as with the largest numbers that it may have.
    room = limit - len(_note(long, kept, total, total)) - MARKER_ROOM
    head_end, tail_start = _gap(long.text, room)
    blocks = list(_shown(long, head_end, tail_start))
    if kept.has_link:
        blocks.append(payload.encode(_link(long, kept)))
    blocks.append(payload.encode({"type": _TEXT, _TEXT: _note(long, kept, head_end, total - tail_start)}))
    meta = payload.object_or_empty(long.fields.get(names.META))
    mark = payload.encode({"total": total, "handle": kept.handle})
    return {
        **payload.without(long.fields, names.STRUCTURED),
        _CONTENT: payload.encode(blocks),
        names.META: payload.encode({**meta, TRUNCATED: mark}),
    }


def _gap(text: str, room: int) -> tuple[int, int]:
    """Return where the head of a text ends and its tail begins, both at ends of lines where they are near."""
    head = room * HEAD[0] // HEAD[1]
    tail = room - head
    head_end = boundary_before(text, head)
    if (line_end := text.rfind("\n", head_end - head // LINE_PART, head_end)) != -1:
        head_end = line_end + 1
    tail_start = boundary_after(text, len(text) - tail)
    if (line_end := text.find("\n", tail_start, tail_start + tail // LINE_PART)) != -1:
        tail_start = line_end + 1
    return head_end, tail_start


def _shown(long: LongResult, head_end: int, tail_start: int) -> Iterator[Raw]:
    """Yield the blocks with what is left of them."""
    marker = f"[… {tail_start - head_end:,} characters left out …]"
    parts = {part.place: part for part in long.parts}
    for place in range(len(long.blocks) + 1):
        part = parts.get(place)
        if part is None:
            yield from long.blocks[place : place + 1]
            continue
        is_whole = part.end <= head_end or part.start >= tail_start
        if is_whole and place < len(long.blocks):
            yield long.blocks[place]
            continue
        head = long.text[part.start : min(part.end, head_end)]
        tail = long.text[max(part.start, tail_start) : part.end]
        if is_whole:
            shown = long.text[part.start : part.end]
        else:
            shown = "\n\n".join(filter(None, (head.rstrip("\n"), marker, tail)))
            marker = ""
        if shown:
            yield payload.encode({**(part.block or {"type": _TEXT}), _TEXT: shown})


def _note(long: LongResult, kept: Kept, head: int, tail: int) -> str:
    """Write how a model reads the rest."""
    path = ', or path="…" (JMESPath or JSON Pointer: this is JSON)' if long.is_json else ""
    return (
        f"[search-mcp shortened this result: {len(long.text):,} characters in all, of which the first {head:,} and the "
        f'last {tail:,} are shown. Read on with {READ_RESULT}: handle="{kept.handle}" and offset={head}, '
        f'or pattern="…" (regular expression: finds lines){path}. It is kept for up to an hour.]'
    )


def _link(long: LongResult, kept: Kept) -> dict[str, Any]:
    return {
        "type": "resource_link",
        "uri": RESULT_URI + kept.handle,
        "name": "whole result",
        "mimeType": mime_type(is_json=long.is_json),
        "size": kept.size,
    }


def mime_type(*, is_json: bool) -> str:
    return "application/json" if is_json else "text/plain"
