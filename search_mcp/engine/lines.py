"""The lines that a relay passes on: short lines whole, long ones in pieces; and the parts that it parses.

A short line is passed on only when it is complete, so a lost engine leaves no part of one. Only the outermost
members of a long line are kept, to find its id. Standard library only, because a relay loads nothing else.
"""

import json
import re
from typing import Any, NamedTuple

HELD_BYTES = 1 << 20
"""Bytes of an incomplete line that are held back; longer lines are passed on in pieces."""
OUTLINE_BYTES = 1 << 16
"""Most bytes of the outermost members of a line; a line with more is not parsed."""
HEADER = b"content-length:"

Json = dict[str, Any]

_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d{1,18}|"[^"\\]*"),"(?:result|error)":')
"""The beginning of a response of the engine, which writes its members in this order."""
_TOKEN = re.compile(rb'\\.|["{}\[\]\\]', re.DOTALL)
"""The marks where strings, objects and arrays begin and end; the byte after a backslash is part of its token."""


class Piece(NamedTuple):
    """A part of a stream."""

    data: bytes | memoryview
    line: bytes
    """The line that ends here, or the outermost members of a long one; empty if no line ends here or none is parsed."""


class Lines:
    """Splits a stream into pieces."""

    def __init__(self) -> None:
        self.is_framed = False
        """Whether messages follow `Content-Length` headers; then all bytes are passed on without parsing."""
        self._is_first = True
        self._held = bytearray()
        self._outline: Outline | None = None  # of a line that is passed on in pieces

    @property
    def is_inside_line(self) -> bool:
        """Whether a part of a line was passed on, but not yet its end."""
        return self._outline is not None

    def feed(self, chunk: bytes) -> list[Piece]:
        """Return the pieces that can be passed on."""
        if self._is_first:
            self._is_first, self.is_framed = False, chunk.lstrip()[: len(HEADER)].lower() == HEADER
        if self.is_framed:
            return [Piece(chunk, b"")]
        pieces = []
        start = 0
        while end := chunk.find(b"\n", start) + 1:
            pieces.append(self._end(chunk[start:end]))
            start = end
        if start < len(chunk):
            self._held += chunk[start:]
            if self._outline is not None or len(self._held) > HELD_BYTES:
                pieces.append(self._pass_on())
        return pieces

    def flush(self) -> list[Piece]:
        """Return the last line of a stream that ended without a line ending."""
        return [self._end(b"\n")] if self._held or self._outline is not None else []

    def _pass_on(self) -> Piece:
        held = bytes(self._held)
        self._held.clear()
        if self._outline is None:
            self._outline = Outline(held)
        else:
            self._outline.feed(held)
        return Piece(held, b"")

    def _end(self, data: bytes) -> Piece:
        if self._outline is not None:
            outline, self._outline = self._outline, None
            outline.feed(data)
            return Piece(data, outline.text())
        if self._held:
            data = bytes(self._held) + data
            self._held.clear()
        return Piece(data, data)


class Outline:
    """Keeps the outermost members of a JSON object, or of the objects in an array; nested values become `null`."""

    def __init__(self, beginning: bytes) -> None:
        self._kept = bytearray()
        self._depth = 0
        self._most = 2 if beginning.lstrip().startswith(b"[") else 1  # the innermost depth that is kept
        self._is_string = self._is_escaped = False
        self._answer = _ANSWER.match(beginning)  # its id is known, and the rest is not parsed
        self.feed(beginning)

    def feed(self, data: bytes) -> None:
        """Read on."""
        if self._answer is not None:
            return
        start = 0
        tokens = _TOKEN.finditer(data, 1 if self._is_escaped else 0)
        self._is_escaped = False
        for token in tokens:
            found = token[0]
            if found == b'"':
                self._is_string = not self._is_string
            elif self._is_string or found.startswith(b"\\"):
                self._is_escaped = found == b"\\"
            elif found in b"{[":
                if self._depth == self._most:
                    self._keep(data[start : token.start()] + b"null")
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == self._most:
                    start = token.end()
        if self._depth <= self._most:
            self._keep(data[start:])

    def _keep(self, data: bytes) -> None:
        if len(self._kept) <= OUTLINE_BYTES:
            self._kept += data[: OUTLINE_BYTES + 1]

    def text(self) -> bytes:
        """Return the outline of all that was fed."""
        return bytes(self._kept) if self._answer is None else self._answer[0] + b"null}"


def messages(line: bytes) -> list[Json]:
    """Return the messages of a line, but only the id of a response; none if the line cannot be parsed."""
    try:
        if answer := _ANSWER.match(line):
            return [{"id": json.loads(answer[1]) if answer[1].startswith(b'"') else int(answer[1])}]
        value = json.loads(line)
    except (ValueError, RecursionError):  # Python also refuses JSON, such as a huge number
        try:
            value = json.loads(Outline(line).text())
        except ValueError:
            return []
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]
