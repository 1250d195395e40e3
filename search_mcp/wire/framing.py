"""Framing: split a byte stream into lines, or into bodies behind `Content-Length` headers."""

import codecs
from typing import TypeAlias

from search_mcp.wire.structs import Struct

CONTENT_LENGTH = b"content-length:"
_NEWLINES_TO_SPACES = bytes.maketrans(b"\r\n", b"  ")
END_BYTES = 512  # bytes kept of both ends of an oversize line: JSON libraries write the id near one of them


class Oversize(Struct, frozen=True):
    """A line over the limit, of which only the length and both ends are kept."""

    size: int
    head: bytes
    tail: bytes


Line: TypeAlias = bytes | Oversize


class LineDecoder:
    """Splits a byte stream into lines, or into bodies behind `Content-Length` headers, the framing of LSP.

    A line of more than `limit` bytes is discarded while it arrives and reported as `Oversize`.
    Without a `header`, every line is a message.
    """

    def __init__(self, limit: int, header: bytes | None = CONTENT_LENGTH) -> None:
        self._header = header
        self.speaks_headers = False  # true once a body came behind headers: responses are framed in the same way
        self._limit = limit
        self._pending = bytearray()
        self._size = 0
        self._head = self._tail = b""  # the ends of a line that is over the limit
        self._body: int | None = None  # bytes of a body still to come; None between bodies
        self._expected = 0  # length of the body that the headers announced
        self._at_start = True  # no line was completed yet, so a BOM may be first

    def feed(self, chunk: bytes) -> list[Line]:
        """Return every line that `chunk` completes, without its line ending; blank lines are dropped."""
        lines: list[Line] = []
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
                    # A body may be pretty-printed. JSON strings contain no newline, so spaces can replace all of them.
                    body = self._complete(piece)
                    if body is not None:
                        lines.append(body.translate(_NEWLINES_TO_SPACES) if isinstance(body, bytes) else body)
                continue
            end = chunk.find(b"\n", start)
            if end < 0:
                self._keep(chunk[start:] if start else chunk)
                break
            line = self._complete(chunk[start:end])
            start = end + 1
            if line is not None:
                lines.append(line)
        return lines

    def flush(self) -> list[Line]:
        """Return the last line of a stream that ended without a line ending, if there is one."""
        line = self._complete(b"") if self._size else None
        return [] if line is None else [line]

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        self._pending += piece  # a list of pieces fragments the heap: memory as large as the line stays in use
        if self._size > self._limit:
            self._head += self._pending[: END_BYTES - len(self._head)]
            self._tail = (self._tail + self._pending[-END_BYTES:])[-END_BYTES:]
            self._pending = bytearray()

    def _complete(self, line: bytes) -> Line | None:
        """Return the pending bytes and `line` as one line; `None` for a blank line or a header."""
        if self._size or len(line) > self._limit:
            self._keep(line)
            size, pending, self._pending, self._size = self._size, self._pending, bytearray(), 0
            if size > self._limit:
                oversize = Oversize(size, self._head, self._tail)
                self._head = self._tail = b""
                return oversize
            line = bytes(pending)
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(codecs.BOM_UTF8)
        if line[:1] in (b"{", b"["):
            self._expected = 0  # a message right behind a header, without the blank line: this is not framing
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


def framed(line: bytes) -> bytes:
    """Put a `Content-Length` header before a message, for a peer that frames like LSP."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(line) - 1, line[:-1])
