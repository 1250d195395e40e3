"""The lines of a conversation, as an adapter passes them on: whole if they are short, else in pieces.

A short line is passed on only when it is complete, so that a lost connection breaks no short line. Of a long line only
the outermost members are kept, to find its id. Standard library only, because adapters load nothing else.
"""

import codecs
import json
import re
from typing import Any, NamedTuple

HELD_BYTES = 1 << 20
"""Bytes of an incomplete line that are held back; longer lines are passed on in pieces."""
PARSED_BYTES = 1 << 16
"""Bytes of a line that is parsed; of longer lines only the outermost members are."""
OUTLINE_BYTES = 1 << 16
"""Bytes of the outermost members; a line that has more is not understood."""
FRAMED = b"content-length:"
_IGNORED = codecs.BOM_UTF8 + b" \t\r\n"  # bytes that may come before the first message

Json = dict[str, Any]

_OUTSIDE = re.compile(rb'["{}\[\]]')
_INSIDE = re.compile(rb'["\\]')
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d{1,18}|"[^"\\]*"),"(?:result|error)":')
"""The beginning of a response of the engine, which writes its members in this order."""
_QUOTE = ord('"')
_UNREADABLE: tuple[tuple[Json, ...], bool] = (), False


def is_one_line(data: bytes) -> bool:
    """Return whether these bytes are exactly one line with its end; they must not be empty."""
    return data.find(b"\n") + 1 == len(data)


class Piece(NamedTuple):
    """A part of a stream."""

    data: bytes
    line: bytes
    """The line that ends here, or its outermost members; empty if none ends, or if it is passed on unread."""
    begins: bool
    """Whether a line begins with it."""
    ends: bool

    def read(self) -> tuple[tuple[Json, ...], bool]:
        """Return the messages of the line, none if it cannot be read, and whether they are a batch.

        Long members may be missing. It is a step of its own, so that data is passed on first.
        """
        line = self.line
        if answer := _ANSWER.match(line):
            identifier = answer[1]
            if identifier[0] == _QUOTE:
                return _messages(b'{"id":%b}' % identifier) or _UNREADABLE
            return ({"id": int(identifier)},), False
        if len(line) <= PARSED_BYTES and (found := _messages(line)) is not None:
            return found
        outline = Outline()  # of a long line, or of one with a member that Python refuses, such as a huge number
        outline.feed(line)
        return _messages(outline.text()) or _UNREADABLE


class Outline:
    """Keeps the outermost members of a JSON object, or of the objects in an array; what is in them becomes `null`."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._depth = 0
        self._keeps = 1  # the innermost depth that is kept
        self._is_string = False
        self._is_escaped = False
        self._is_known = False  # whether the first bracket was seen

    def feed(self, data: bytes) -> None:
        """Read on."""
        position, size = 0, len(data)
        while position < size:
            position = self._in_string(data, position) if self._is_string else self._outside(data, position)

    def _in_string(self, data: bytes, position: int) -> int:
        if self._is_escaped:
            self._is_escaped = False
            self._keep(data[position : position + 1])
            return position + 1
        found = _INSIDE.search(data, position)
        end = found.end() if found else len(data)
        self._keep(data[position:end])
        if found:
            self._is_escaped = found[0] == b"\\"
            self._is_string = self._is_escaped
        return end

    def _outside(self, data: bytes, position: int) -> int:
        found = _OUTSIDE.search(data, position)
        if found is None:
            self._keep(data[position:])
            return len(data)
        self._keep(data[position : found.start()])
        bracket = found[0]
        if bracket == b'"':
            self._keep(bracket)
            self._is_string = True
        elif bracket in b"{[":
            if not self._is_known:
                self._is_known, self._keeps = True, 2 if bracket == b"[" else 1
            self._depth += 1
            self._keep(bracket)
        else:
            self._keep(bracket)
            self._depth -= 1
            if self._depth == self._keeps:
                self._keep(b"null")
        return found.end()

    def _keep(self, data: bytes) -> None:
        if self._depth <= self._keeps and len(self._kept) <= OUTLINE_BYTES:
            self._kept += data[: OUTLINE_BYTES + 1]

    def text(self) -> bytes:
        """Return the outline; of an incomplete line that of its beginning."""
        return bytes(self._kept)


class _Answer:
    """The outline of a response of the engine: its id, which is known from its beginning."""

    def __init__(self, identifier: bytes) -> None:
        self._text = b'{"id":%b}' % identifier

    def feed(self, data: bytes) -> None:
        """Ignore the rest."""

    def text(self) -> bytes:
        return self._text


class Lines:
    """Splits a stream into pieces."""

    def __init__(self) -> None:
        self.is_framed = False
        """Whether the messages come behind `Content-Length` headers; then all of them are passed on unread."""
        self._held = bytearray()
        self._outline: Outline | _Answer | None = None  # of a line that is passed on in pieces
        self._is_first = True

    @property
    def is_inside_line(self) -> bool:
        """Whether a part of a line was passed on, and its end was not."""
        return self._outline is not None

    @property
    def passes_lines_unread(self) -> bool:
        """Whether a whole line that comes next can be passed on before it is parsed."""
        return not (self._held or self._outline is not None or self._is_first)

    def feed(self, chunk: bytes) -> list[Piece]:
        """Return the pieces that can be passed on."""
        if self._is_first:
            chunk = self._look_for_header(chunk)
        if self.is_framed:
            return [Piece(chunk, b"", True, True)]
        pieces = []
        start = 0
        while (end := chunk.find(b"\n", start) + 1) > 0:
            pieces.append(self._end(chunk[start:end]))
            start = end
        if start < len(chunk):
            pieces += self._hold(chunk[start:])
        return pieces

    def _look_for_header(self, chunk: bytes) -> bytes:
        """Decide from the first bytes how messages are separated; return those that are not read yet."""
        start = bytes(self._held) + chunk
        begun = start.lstrip(_IGNORED)[: len(FRAMED)].lower()
        self._is_first = FRAMED.startswith(begun) and begun != FRAMED  # not known yet
        self.is_framed = begun == FRAMED
        if not self.is_framed:
            return chunk
        self._held.clear()
        return start

    def flush(self) -> list[Piece]:
        """Return the last line of a stream that ended without a line ending."""
        return [self._end(b"")] if self._held or self._outline is not None else []

    def _hold(self, data: bytes) -> list[Piece]:
        """Keep the beginning of a line, or return it if it is long."""
        if self._outline is not None:
            self._outline.feed(data)
            return [Piece(data, b"", False, False)]
        self._held += data
        if len(self._held) <= HELD_BYTES:
            return []
        held = bytes(self._held)
        self._held.clear()
        found = _ANSWER.match(held)
        self._outline = _Answer(found[1]) if found else Outline()
        self._outline.feed(held)
        return [Piece(held, b"", True, False)]

    def _end(self, data: bytes) -> Piece:
        if self._outline is not None:
            outline, self._outline = self._outline, None
            outline.feed(data)
            return Piece(data, outline.text(), False, True)
        if self._held:
            data = bytes(self._held) + data
            self._held.clear()
        return Piece(data, data, True, True)


def _messages(text: bytes) -> tuple[tuple[Json, ...], bool] | None:
    """Return the objects of a line, and whether they are a batch; `None` if it cannot be read."""
    try:
        value = json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        return None
    found = value if isinstance(value, list) else [value]
    return tuple(each for each in found if isinstance(each, dict)), isinstance(value, list)
