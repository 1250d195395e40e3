"""Parser of server-sent events: bytes in, events out; the bytes may arrive in any pieces.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

import codecs
from collections.abc import Iterator

from search_mcp.wire.structs import Struct

MESSAGE = "message"
"""The name of an event without a name of its own."""
LONGEST_FIELD = 1024
"""Most bytes of an event's id or name; a longer one is ignored. The id is sent back in a header."""


class Event(Struct, frozen=True):
    """One event. Its `data` is empty if it was over the limit."""

    data: bytes
    name: str = MESSAGE
    is_oversize: bool = False


class EventParser:
    """Splits a byte stream into events; `limit` is in bytes of one event."""

    def __init__(self, limit: int) -> None:
        self.last_id: str | None = None
        """The id of the last event that had one, even if this event had no data."""
        self.retry_ms: int | None = None
        """The delay before a new connection that the server asked for, in milliseconds."""
        self._limit = limit
        self._line = bytearray()  # a line whose end has not arrived
        self._data = bytearray()  # values of the event's `data` fields, each with a newline behind it
        self._line_size = 0  # bytes of that line so far
        self._is_dropped = False  # that line made the event too large, and is not kept
        self._size = 0  # bytes of the `data` fields
        self._is_oversize = False
        self._name = ""
        self._after_cr = False  # a newline that follows belongs to the end of the last line
        self._at_start = True  # a BOM may be first

    def restart(self) -> None:
        """Prepare for the bytes of another connection; an unfinished event is dropped, id and delay are kept."""
        # "Once the end of the file is reached, any pending data must be discarded."
        self._line.clear()
        self._data.clear()
        self._line_size = self._size = 0
        self._is_dropped = self._is_oversize = self._after_cr = False
        self._name, self._at_start = "", True

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield every event that `chunk` completes."""
        # "Lines must be separated by either a U+000D CARRIAGE RETURN U+000A LINE FEED (CRLF) character pair, a single
        # U+000A LINE FEED (LF) character, or a single U+000D CARRIAGE RETURN (CR) character": as `bytes.splitlines`.
        for piece in chunk.splitlines(keepends=True):
            if self._after_cr:
                self._after_cr = False
                if piece == b"\n":
                    continue
            line = piece.rstrip(b"\r\n")
            self._line_size += len(line)
            if self._size + self._line_size > self._limit:
                self._is_oversize, self._is_dropped, self._size = True, True, 0
                self._line.clear()
                self._data.clear()
            elif not self._is_dropped:
                self._line += line
            if len(line) == len(piece):
                return
            self._after_cr = piece.endswith(b"\r")
            line = bytes(self._line)
            self._line.clear()
            is_dropped, self._is_dropped, self._line_size = self._is_dropped, False, 0
            if self._at_start:
                self._at_start = False
                line = line.removeprefix(codecs.BOM_UTF8)
            if line:
                self._on_field(line)
            elif not is_dropped and (event := self._completed()) is not None:
                yield event

    def _on_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")  # a comment has no name
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                if not self._is_oversize:
                    self._data += value
                    self._data += b"\n"
                    self._size += len(line)
            case b"event":
                self._name = value[:LONGEST_FIELD].decode(errors="replace")
            case b"id":
                # "If the field value does not contain U+0000 NULL, then set the last event ID buffer"
                if b"\0" not in value and len(value) <= LONGEST_FIELD:
                    self.last_id = value.decode(errors="replace")
            case b"retry":
                # "If the field value consists of only ASCII digits, then interpret the field value as an integer"
                if value.isdigit() and len(value) < 10:
                    self.retry_ms = int(value)

    def _completed(self) -> Event | None:
        """Return the event that a blank line ends; `None` if it has no data."""
        # "If the data buffer's last character is a U+000A LINE FEED (LF) character, then remove the last character"
        del self._data[-1:]
        data, name, is_oversize = bytes(self._data), self._name, self._is_oversize
        self._data.clear()
        self._name, self._size, self._is_oversize = "", 0, False
        if is_oversize:
            return Event(b"", name or MESSAGE, is_oversize=True)
        # "If the data buffer is an empty string, set the data buffer and the event type buffer to the empty string and
        # return": an event that only carries an id.
        return Event(data, name or MESSAGE) if data else None
