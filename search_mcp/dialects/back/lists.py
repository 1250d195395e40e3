"""Reading of a server's lists, page by page.

A definition that cannot be read is left out of a list here; `catalog/` decides what a client is shown.
"""

from collections.abc import Awaitable, Callable

import anyio

from search_mcp.catalog import list_limits
from search_mcp.catalog.repair import repaired
from search_mcp.dialects import names
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, Freshness, ServerList
from search_mcp.wire import payload
from search_mcp.wire.structs import EMPTY, Fields, Raw

MAX_PAGES = 1000
"""Most pages of one list that are read; some servers never stop giving cursors."""
SLICE_BYTES = 1 << 19
"""Bytes of definitions that are read in one turn of the event loop: a few milliseconds."""
ENTRY_COST_BYTES = 1 << 11
"""Fixed cost of one definition, in bytes."""
LARGEST_PAGE = list_limits.MOST_BYTES + (1 << 20)
"""Most bytes of one page that are read; more than the limit for all lists of a server."""
MOST_IN_PAGE = 100_000
"""Most definitions of one page that are read, including those that are left out."""


async def read_pages(kind: Kind, ask: Callable[[str, Fields], Awaitable[Raw]]) -> ServerList:
    """Read all pages of one list; entries that cannot be read are left out, with a remark for each.

    Reading stops when the list reaches the limit for a server's lists.

    Raises:
        ValueError: a page is not a list result.
    """
    reading = _Reading(kind)
    freshness: list[Freshness] = []
    cursor: Raw | None = None
    seen: set[bytes] = set()
    for _ in range(MAX_PAGES):
        answer = await ask(names.LIST_METHOD[kind], {} if cursor is None else {"cursor": cursor})
        await anyio.lowlevel.checkpoint()  # lets other tasks run between the steps of reading a large page
        if memoryview(answer)[0] != ord("{"):
            raise ValueError("its result is not an object")
        result = payload.members(answer, names.ITEMS_KEY[kind], "nextCursor", names.TTL, names.CACHE_SCOPE)
        await anyio.lowlevel.checkpoint()
        await reading.take(result.get(names.ITEMS_KEY[kind], EMPTY))
        freshness.append(_freshness(result))
        cursor = result.get("nextCursor")
        # "Don't make any determination based on cursor value other than whether a non-null value was provided"
        if reading.is_full or cursor is None or bytes(cursor) == b"null":
            break
        if bytes(cursor) in seen:
            reading.rejected.append("the list repeats a cursor; the rest of it is left out")
            break
        seen.add(bytes(cursor))
    else:
        reading.rejected.append(f"the list has more than {MAX_PAGES:,} pages; the rest of it is left out")
    shortest = Freshness(min(fresh.ttl_ms for fresh in freshness), all(fresh.public for fresh in freshness))
    return ServerList(tuple(reading.entries.values()), shortest, reading.remarks(has_more=cursor is not None))


class _Reading:
    """One list of a server while it is being read."""

    def __init__(self, kind: Kind) -> None:
        self.entries: dict[str, Entry] = {}
        self.rejected: list[str] = []
        self.is_full = False
        """Whether the list has more entries than are kept."""
        self._kind = kind
        self._size = self._unmentioned = self._left_out = 0
        self._is_unread = False  # whether a part of a page was not read

    async def take(self, raw: Raw) -> None:
        """Read the definitions of one page, in slices.

        Raises:
            ValueError: it is not a list.
        """
        position, slice_bytes = 0, 0
        for item in payload.elements(raw, LARGEST_PAGE):
            slice_bytes += SLICE_BYTES if item is None else ENTRY_COST_BYTES + len(memoryview(item))
            if slice_bytes >= SLICE_BYTES:
                slice_bytes = 0
                await anyio.lowlevel.checkpoint()
            if item is None:
                continue
            if self.is_full:
                self._left_out += 1
            else:
                self._take_one(position, item)
            position += 1
            if position >= MOST_IN_PAGE:
                break
        if position >= MOST_IN_PAGE or (len(memoryview(raw)) > LARGEST_PAGE and not self.is_full):
            self.is_full = self._is_unread = True

    def _take_one(self, position: int, item: Raw) -> None:
        place, key_name = f"{self._kind.value}[{position}]", names.ENTRY_KEY[self._kind]
        size = len(memoryview(item))
        if size > list_limits.LARGEST_ENTRY:
            self._reject(f"{place} has {size:,} bytes; up to {list_limits.LARGEST_ENTRY:,} are taken")
            return
        try:
            definition = payload.fields(item)
        except ValueError:
            self._reject(f"{place} is not an object")
            return
        key, longest = payload.string(definition.get(key_name)), list_limits.LONGEST_KEY[self._kind]
        if not key:
            self._reject(f"{place} has no {key_name}")
        elif len(key) > longest:
            shown = list_limits.shown(key)
            self._reject(f"{place}: its {key_name} {shown} has {len(key):,} characters; up to {longest:,} are taken")
        elif key in self.entries:
            self._reject(f"{place} repeats the {key_name} {list_limits.shown(key)}")
        elif len(self.entries) >= list_limits.MOST_ENTRIES or self._size + size > list_limits.MOST_BYTES:
            self.is_full, self._left_out = True, 1
        else:
            self._size += size
            self.entries[key] = entry = Entry(key, definition)
            repaired(self._kind, entry)  # done here in slices, so that it is not done when a client asks for the list

    def _reject(self, remark: str) -> None:
        if len(self.rejected) < list_limits.MOST_REMARKS:
            self.rejected.append(remark)
        else:
            self._unmentioned += 1

    def remarks(self, *, has_more: bool) -> tuple[str, ...]:
        """Return remarks on what was left out; `has_more`: there are pages that were not read."""
        remarks = list(self.rejected)
        if self._unmentioned:
            remarks.append(f"{self._kind.value}: {self._unmentioned:,} more definitions cannot be read")
        if self.is_full:
            left_out = f"{self._left_out:,} or more are" if has_more else f"the other {self._left_out:,} are"
            if self._is_unread:
                left_out = "all behind them are"
            remarks.append(list_limits.cut_remark(self._kind, len(self.entries), left_out))
        return tuple(remarks)


def _freshness(result: Fields) -> Freshness:
    ttl = payload.value(result.get(names.TTL, Raw(b"0")))
    public = payload.string(result.get(names.CACHE_SCOPE)) == "public"
    # "If `ttlMs` is negative, clients SHOULD ignore it and treat it as `0`."
    return Freshness(max(0, ttl) if isinstance(ttl, int) else 0, public)
