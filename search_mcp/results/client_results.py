"""The shortened results of one client: results on their way to it, and those that it may read on in.

A result is shortened and written to a file off the event loop, and the client gets it afterwards. If that fails, or
takes too long, the client gets the whole result: nothing is lost. Handles belong to the client.
"""

import logging
import secrets
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from search_mcp.catalog.items import READ_RESULT
from search_mcp.dialects import names
from search_mcp.model.calls import BoundedDict, Call, CallLater, Outcome, Reply, Result
from search_mcp.model.errors import ResourceNotFound
from search_mcp.own_tools.arguments import ArgumentError, instead, read_argument
from search_mcp.results import RESULT_URI, TRUNCATED
from search_mcp.results.characters import MOST_JOINED, boundary_before
from search_mcp.results.kept_results import KEPT_SECONDS, KeptResults
from search_mcp.results.long_results import Kept, mime_type, read_long, shortened
from search_mcp.results.result_search import Found, Search
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw, Struct

log = logging.getLogger(__name__)

WRITE_SECONDS = 5.0
"""Time after which a result that is still not written is passed on whole."""
MOST_RESULTS = 1000
"""Results of one client that are kept; the oldest is deleted for a new one."""
MOST_EXPIRED = 1000
"""Expired results of one client of which the tool is remembered."""
ABOUT_ROOM = 300
"""Characters of an answer of `read_result` that are left for the sentence about it."""
CHUNK = 1 << 20
"""Characters that are skipped in one step."""


class Shortening(Struct, frozen=True):
    """How the result of a call is shortened."""

    limit: int
    """Most characters of its text."""
    tool: str
    """The tool as the client spelled it."""
    is_read_only: bool
    has_link: bool
    """Whether the client's revision has links to resources."""
    keeps_structured: bool
    """Whether the client knows an output schema of the tool."""


class Entry(Struct, frozen=True):
    """A kept result."""

    handle: str
    path: Path
    shortening: Shortening
    total: int
    """Characters of its text."""
    spans: tuple[tuple[int, int], ...]
    """Where JSON may be in it."""
    is_json: bool


class _Prepared(Struct, frozen=True):
    """A shortened result; `entry` is `None` if the result passes whole, because of `failure` or because it is short."""

    result: Result
    entry: Entry | None = None
    failure: str | None = None


class _Delivery(Struct, eq=False):
    """One result on its way."""

    result: Result
    reply: Reply
    stop_timer: Callable[[], None] | None = None
    """`None` once the result was passed on whole, because it was not written in time."""


class ClientResults:
    """The shortened results of one client."""

    def __init__(self, kept: KeptResults, later: CallLater) -> None:
        self._kept, self._later = kept, later
        self._entries: dict[str, tuple[Entry, Callable[[], None]]] = {}  # with a function that cancels expiry
        self._expired: BoundedDict[str, Shortening] = BoundedDict(MOST_EXPIRED)
        self._reads: deque[Callable[[], None]] = deque()  # the first of them is being carried out
        self._unanswered = 0  # results that were passed on whole before the file system answered
        self._is_closed = self._has_warned = False

    # Results on their way

    def shorten(self, shortening: Shortening, reply: Reply, outcome: Outcome | None) -> Outcome | None:
        """Have a result shortened first, if it is long: a step of a reply."""
        # A text has no more characters than its JSON has bytes.
        if not isinstance(outcome, Result) or outcome.type != "complete" or outcome.size <= shortening.limit:
            return outcome
        if self._unanswered:  # the file system does not answer
            return outcome
        delivery = _Delivery(outcome, reply)
        delivery.stop_timer = self._later(WRITE_SECONDS, partial(self._give_up, delivery))
        self._kept.write(partial(prepare, self._kept, outcome, shortening), partial(self._deliver, delivery))
        return None

    def _deliver(self, delivery: _Delivery, prepared: _Prepared) -> None:
        entry = prepared.entry
        if delivery.stop_timer is None:
            self._unanswered -= 1
        else:
            delivery.stop_timer()
        if delivery.stop_timer is None or self._is_closed:
            if entry is not None:
                self._kept.delete(entry.path)
            delivery.reply(delivery.result)
            return
        if prepared.failure is not None:
            self._warn(prepared.failure)
        if entry is not None:
            if len(self._entries) >= MOST_RESULTS:
                self._expire(next(iter(self._entries)))
            self._entries[entry.handle] = entry, self._later(KEPT_SECONDS, partial(self._expire, entry.handle))
        delivery.reply(prepared.result)

    def _give_up(self, delivery: _Delivery) -> None:
        delivery.stop_timer = None
        self._unanswered += 1
        self._warn(f"the file system has not answered for {WRITE_SECONDS:g} s")
        delivery.reply(delivery.result)

    def _warn(self, reason: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning("! long results are passed on whole, because they cannot be kept: %s", reason)

    def _expire(self, handle: str) -> None:
        entry, stop_timer = self._entries.pop(handle)
        stop_timer()
        self._expired[handle] = entry.shortening
        self._kept.delete(entry.path)

    def close(self) -> None:
        """Delete everything: the client has gone."""
        self._is_closed = True
        while self._entries:
            entry, stop_timer = self._entries.popitem()[1]
            stop_timer()
            self._kept.delete(entry.path)

    # Reading on

    def read(self, arguments: Mapping[str, Any], reply: Callable[[Outcome], None]) -> None:
        """Carry out `read_result`; wrong arguments are answered with a result that a model can act on."""
        try:
            entry, act = self._read(arguments)
        except ArgumentError as exc:
            reply(Result(_error(str(exc))))
            return
        self._in_turn(
            act, lambda found: reply(Result(_answer(entry, found) if found is not None else self._gone(entry)))
        )

    def read_whole(self, call: Call) -> None:
        """Read a result as a resource.

        Raises:
            ResourceNotFound: the client has no such result.
        """
        known = self._entries.get(call.target.removeprefix(RESULT_URI))
        if known is None:
            raise ResourceNotFound(call.target, ())
        entry = known[0]

        def give(found: Found | None) -> None:
            if found is None:
                call.reply(ResourceNotFound(call.target, ()))
                return
            contents = {"uri": call.target, "mimeType": mime_type(is_json=entry.is_json), "text": found.text}
            call.reply(Result(payload.encode({"contents": [contents]})))

        self._in_turn(partial(_slice, entry, 0, entry.total), give)

    def _read(self, arguments: Mapping[str, Any]) -> tuple[Entry, Callable[[], Found]]:
        handle = read_argument(arguments, "handle", str, "").strip()
        if not handle:
            raise ArgumentError(f"handle is missing{instead(arguments, 'handle')}")
        offset = read_argument(arguments, "offset", int, 0)
        length = read_argument(arguments, "length", int, None)
        pattern, path = (read_argument(arguments, name, str, None) or None for name in ("pattern", "path"))
        if pattern is not None and path is not None:
            raise ArgumentError("give pattern or path, not both")
        handle = handle.removeprefix(RESULT_URI)
        if handle not in self._entries:
            raise ArgumentError(self._unknown(handle))
        entry = self._entries[handle][0]
        room = entry.shortening.limit - ABOUT_ROOM
        room = room if length is None else max(1, min(length, room))
        if path is None and offset < 0:
            offset = max(0, entry.total + offset)
        if path is None and offset >= entry.total:
            raise ArgumentError(f"offset is beyond the end: the result has {entry.total:,} characters")
        if pattern is None and path is None:
            return entry, partial(_slice, entry, offset, room)
        wanted = Search(str(entry.path), entry.spans, room, max(0, offset), pattern, path)
        return entry, partial(self._kept.search, wanted)

    def _gone(self, entry: Entry) -> Raw:
        """Forget a result whose file was deleted to make room; return the answer."""
        if entry.handle in self._entries:
            self._expire(entry.handle)
        return _error(self._unknown(entry.handle))

    def _unknown(self, handle: str) -> str:
        shortening = self._expired.get(handle)
        again = (
            f" Call {shortening.tool} again to get it." if shortening is not None and shortening.is_read_only else ""
        )
        return (
            f"There is no result {handle[:64]!r}: a shortened result is deleted after an hour at the latest, and only "
            f"the client that got it can read it.{again}"
        )

    def _in_turn(self, act: Callable[[], Found], done: Callable[[Found | None], None]) -> None:
        """Carry out one reading after another, so that a client cannot occupy more than one thread or process.

        `done` is given `None` if there is no file any more.
        """

        def begin() -> None:
            self._kept.read(partial(_guarded, act), end)

        def end(found: Found | None) -> None:
            self._reads.popleft()
            if self._reads:
                self._reads[0]()
            done(found)

        self._reads.append(begin)
        if len(self._reads) == 1:
            begin()


# Off the event loop


def prepare(kept: KeptResults, result: Result, shortening: Shortening) -> _Prepared:
    """Shorten a result and write its text to a file; a result that cannot be kept, or is short, stays whole."""
    try:
        long = read_long(result.fields(), shortening.limit, keeps_structured=shortening.keeps_structured)
        if long is None:
            return _Prepared(result)
        data = long.text.encode("utf-8", "replace")
        path = kept.files.keep(data)
        handle = secrets.token_hex(12)
        fields = shortened(long, shortening.limit, Kept(handle, len(data), shortening.has_link))
    except OSError as exc:
        return _Prepared(result, failure=exc.strerror or str(exc))
    except Exception:  # a bug must not cost the result
        log.exception("! bug while shortening a result")
        return _Prepared(result)
    entry = Entry(handle, path, shortening, len(long.text), tuple(long.spans), long.is_json)
    return _Prepared(Result(fields), entry)


def _slice(entry: Entry, offset: int, length: int) -> Found:
    """Read a part of a kept text.

    Raises:
        OSError: there is no file.
    """
    with entry.path.open(encoding="utf-8", newline="") as file:
        left = offset
        while left > 0:
            left -= len(file.read(min(left, CHUNK))) or left
        text = file.read(length + MOST_JOINED)
    end = boundary_before(text, length) or length
    rest = offset + end
    more = f"next offset {rest}" if rest < entry.total else "this is the end"
    return Found(text[:end], f"characters {offset:,} to {min(rest, entry.total):,} of {entry.total:,}; {more}")


def _guarded(act: Callable[[], Found]) -> Found | None:
    try:
        return act()
    except OSError:
        return None
    except Exception:  # a bug must be answered, too
        log.exception("! bug in %s", READ_RESULT)
        return Found("", "search-mcp failed to read it; see its log", is_error=True)


# Answers


def _answer(entry: Entry, found: Found) -> Raw:
    if found.is_error:
        return _error(found.about)
    texts = [*([found.text] if found.text else []), f"[search-mcp: {found.about}]"]
    mark = {"total": entry.total, "handle": entry.handle}
    content = [{"type": "text", "text": text} for text in texts]
    return payload.encode({"content": content, names.META: {TRUNCATED: mark}})


def _error(text: str) -> Raw:
    return payload.encode({"content": [{"type": "text", "text": text}], "isError": True})
