"""Reading of a server's lists, page by page.

A definition that cannot be read is left out of a list here; `catalog/` decides what a client is shown.
"""

from collections.abc import Awaitable, Callable

import anyio

from search_mcp.catalog import list_limits
from search_mcp.catalog.repair import repaired
from search_mcp.dialects import names
from search_mcp.model.names import Kind
from search_mcp.model.sentences import cut
from search_mcp.model.servers import Entry, Freshness, ServerList
from search_mcp.wire import payload
from search_mcp.wire.payload import SMALL_BYTES
from search_mcp.wire.structs import EMPTY, Fields, Raw

MAX_PAGES = 1000
"""Most pages of one list that are read; some servers never stop giving cursors."""
MOST_READ = 4 * list_limits.MOST_BYTES
"""Bytes of one list after which no further page is read; a quarter of them can be kept at most."""
SLICE_BYTES = 1 << 19
"""Bytes of definitions that are read in one turn of the event loop: a few milliseconds."""
ENTRY_COST_BYTES = 1 << 11
"""Fixed cost of one definition, in bytes."""


async def read_pages(kind: Kind, ask: Callable[[str, Fields], Awaitable[Raw]]) -> ServerList:
    """Read all pages of one list; entries that cannot be read are left out, with a remark for each.

    Reading stops when the list reaches the limit for a server's lists.

    Raises:
        ValueError: a page is not a list result.
    """
    reading = _Reading(kind)
    cursor: Raw | None = None
    seen: set[int] = set()  # hashes: a thousand cursors may be large
    for _ in range(MAX_PAGES):
        cursor = await reading.take(await ask(names.LIST_METHOD[kind], {} if cursor is None else {"cursor": cursor}))
        if reading.is_full or cursor is None:
            break
        if len(cursor) > SMALL_BYTES:
            fault = f"has a cursor of more than {SMALL_BYTES:,} bytes"
        elif hash(bytes(cursor)) in seen:
            fault = "repeats a cursor"
        elif reading.bytes_read > MOST_READ:
            fault = f"has pages of more than {MOST_READ >> 20} MiB together"
        else:
            seen.add(hash(bytes(cursor)))
            continue
        reading.rejected.append(f"the list {fault}; the rest of it is left out")
        break
    else:
        reading.rejected.append(f"the list has more than {MAX_PAGES:,} pages; the rest of it is left out")
    return reading.finished()


class _Reading:
    """One list of a server while it is being read."""

    def __init__(self, kind: Kind) -> None:
        self.entries: dict[str, Entry] = {}
        self.rejected: list[str] = []
        self.is_full = False
        """Whether the list has more entries than are kept."""
        self.bytes_read = 0
        self._freshness: list[Freshness] = []  # of each page
        self._kind = kind
        self._size = self._unmentioned = 0

    async def take(self, page: Raw) -> Raw | None:
        """Read one page; return the cursor of the next one.

        Nothing that is kept refers to the page, which may have megabytes of other things.

        Raises:
            ValueError: it is not a list result.
        """
        await anyio.lowlevel.checkpoint()  # lets other tasks run between the steps of reading a large page
        self.bytes_read += len(page)
        if memoryview(page)[0] != ord("{"):
            raise ValueError("its result is not an object")
        result = payload.members(page, names.ITEMS_KEY[self._kind], "nextCursor", names.TTL, names.CACHE_SCOPE)
        await anyio.lowlevel.checkpoint()
        await self._take_definitions(result.get(names.ITEMS_KEY[self._kind], EMPTY))
        self._freshness.append(_freshness(result))
        cursor = result.get("nextCursor")
        # "Don't make any determination based on cursor value other than whether a non-null value was provided"
        return None if cursor is None or bytes(cursor) == b"null" else cursor.copy()

    async def _take_definitions(self, raw: Raw) -> None:
        """Read the definitions of one page, in slices, as far as they are kept."""
        slice_bytes = 0
        most = list_limits.MOST_ENTRIES
        definitions = payload.first_items(raw, most + 1)
        for position, item in enumerate(definitions[:most]):
            slice_bytes += ENTRY_COST_BYTES + len(item)
            if slice_bytes >= SLICE_BYTES:
                slice_bytes = 0
                await anyio.lowlevel.checkpoint()
            self._take_one(position, item)
            if self.is_full:
                return
        self.is_full = len(definitions) > most

    def _take_one(self, position: int, item: Raw) -> None:
        place, key_name = f"{self._kind.value}[{position}]", names.ENTRY_KEY[self._kind]
        size = len(item)
        if size > list_limits.LARGEST_ENTRY:
            self._reject(f"{place} has {size:,} bytes; up to {list_limits.LARGEST_ENTRY:,} are taken")
            return
        try:
            definition = payload.fields(item.copy())
        except ValueError:
            self._reject(f"{place} is not an object")
            return
        key, longest = payload.string(definition.get(key_name)), list_limits.LONGEST_KEY[self._kind]
        if len(definition) > list_limits.MOST_MEMBERS:
            self._reject(f"{place} has {len(definition):,} members; up to {list_limits.MOST_MEMBERS:,} are taken")
        elif not key:
            self._reject(f"{place} has no {key_name}")
        elif len(key) > longest:
            shown = cut(key)
            self._reject(f"{place}: its {key_name} {shown!r} has {len(key):,} characters; up to {longest:,} are taken")
        elif key in self.entries:
            self._reject(f"{place} repeats the {key_name} {cut(key)!r}")
        else:
            self._keep(Entry(key, definition))

    def _keep(self, entry: Entry) -> None:
        size = self._size + list_limits.cost(entry)
        if len(self.entries) >= list_limits.MOST_ENTRIES or size > list_limits.MOST_BYTES:
            self.is_full = True
            return
        self._size = size
        self.entries[entry.key] = entry
        repaired(self._kind, entry)  # done here in slices, so that it is not done when a client asks for the list

    def _reject(self, remark: str) -> None:
        if len(self.rejected) < list_limits.MOST_REMARKS:
            self.rejected.append(remark)
        else:
            self._unmentioned += 1

    def finished(self) -> ServerList:
        """Return the list, with remarks on what was left out."""
        shortest = Freshness(min(each.ttl_ms for each in self._freshness), all(each.public for each in self._freshness))
        remarks = list(self.rejected)
        if self._unmentioned:
            remarks.append(f"{self._kind.value}: {self._unmentioned:,} more definitions cannot be read")
        if self.is_full:
            remarks.append(list_limits.cut_remark(self._kind, len(self.entries)))
        return ServerList(tuple(self.entries.values()), shortest, tuple(remarks))


def _freshness(result: Fields) -> Freshness:
    ttl = payload.value(result.get(names.TTL, Raw(b"0")))
    public = payload.string(result.get(names.CACHE_SCOPE)) == "public"
    # "If `ttlMs` is negative, clients SHOULD ignore it and treat it as `0`."
    return Freshness(max(0, ttl) if isinstance(ttl, int) else 0, public)
