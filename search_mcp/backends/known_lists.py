"""The era, capabilities and lists of one backend: from the cache, then from its connection.

Decides when a list is published: after its comparison with the accepted definitions (`comparison`), cut to the limits
for all lists together. Each kind has one task that reads and compares it (`read_list`), so an older list never
follows a newer one.
"""

import asyncio
import logging
from collections.abc import Callable, Collection

import anyio

from search_mcp.backends.cache import Record
from search_mcp.backends.comparison import Comparison
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.pin_records import COMPARED, Listed, Verdict
from search_mcp.backends.read_list import ReadList
from search_mcp.backends.remembered import Remembered
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.catalog import list_limits
from search_mcp.catalog.repair import declares_read_only
from search_mcp.dialects import BackDialect
from search_mcp.dialects.params import extensions
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import ListChanged, News, Opening, ServerCapabilities, ServerList
from search_mcp.wire.inflight import Fate
from search_mcp.wire.receiver import ConnectionEndedError, RequestFailedError
from search_mcp.wire.structs import Raw, replace

log = logging.getLogger(__name__)


class KnownLists:
    """The lists of one backend; publishes changes."""

    def __init__(self, entry: ServerEntry, publish: Callable[[News], None], dependencies: Dependencies) -> None:
        self._entry, self._publish, self._dependencies = entry, publish, dependencies
        self.remembered = Remembered(entry, dependencies)
        self.comparison = Comparison(entry, dependencies)
        self.recalled = asyncio.Event()
        """Set when cached lists are to be compared."""
        self.on_compared: Callable[[], None] = lambda: None
        self.on_failed: Callable[[Kind, str], None] = lambda _kind, _reason: None
        self.lists = {kind: ReadList(kind, entry, dependencies.clock) for kind in Kind}
        # Announcements that are not relayed yet: for each of its lists, the reading that includes the change.
        self._announced: dict[frozenset[Kind], dict[Kind, int]] = {}
        self._needs_headers = False  # arguments of calls are sent in headers on this connection

    @property
    def is_complete(self) -> bool:
        """Return whether all lists were read or are cached."""
        return not any(each.is_missing for each in self.lists.values())

    @property
    def has_failed_lately(self) -> bool:
        """Return whether its last start failed minutes ago and no list is cached; then no client waits for it."""
        return self.remembered.has_failed_lately and not self._known()

    def _known(self) -> dict[Kind, ServerList]:
        return {kind: each.known for kind, each in self.lists.items() if each.known is not None}

    @property
    def compared(self) -> dict[Kind, ServerList | None]:
        """The lists that are compared with accepted definitions."""
        return {kind: self.lists[kind].known for kind in COMPARED}

    def input_schema(self, tool: str) -> Raw | None:
        """Return the input schema of a tool by its own name, as the server lists it."""
        entry = self.lists[Kind.TOOLS].entry(tool)
        return entry.fields.get("inputSchema") if entry is not None else None

    def is_read_only(self, tool: str) -> bool:
        """Return whether the server declares a tool, by its own name, to be read-only."""
        entry = self.lists[Kind.TOOLS].entry(tool)
        return entry is not None and declares_read_only(entry.fields)

    # From an earlier process

    def recall(self, opening: Opening) -> None:
        """Publish the cached lists of its program or address: those for such a client, else those for any other.

        Lists for another kind of client are used until the backend has answered; they do not count as complete, so
        it is started.

        Raises:
            CannotOpenChannelError: the program does not exist.
        """
        self.comparison.label = " ".join([opening.era.value, *sorted(extensions(opening.capabilities))])
        record = self.remembered.recall(opening)
        if record is None:
            return
        self.comparison.recall(record.capabilities)
        if not record.pages:
            return  # no list was available then; one may be now
        pages = list_limits.cut(record.pages)
        for kind, each in self.lists.items():
            each.is_missing = not self.remembered.spares_start
            each.known = self._kept_once(kind, pages.get(kind))
            if each.known is not None and kind in COMPARED and self.comparison.is_possible:
                each.known = replace(each.known, is_pending=True)
        self.recalled.set()
        for kind, each in self.lists.items():
            if each.known is None or kind not in COMPARED or not self.comparison.is_pinned:
                self._publish(ListChanged(self._entry.config.name, kind, each.known))

    def _kept_once(self, kind: Kind, server_list: ServerList | None) -> ServerList | None:
        """Return a list with the entries of an equal one that was read before, or that another backend has."""
        name, lists = self._entry.config.name, self._dependencies.lists
        return None if server_list is None else lists.kept_once(name, kind, server_list)

    async def compare_recalled(self) -> None:
        """Compare cached lists with the accepted definitions, and publish those that were not published yet."""
        self.recalled.clear()
        await self._compare_again(is_first=True)

    # From this process

    def meet(self, server_capabilities: ServerCapabilities, *, is_http: bool = False) -> None:
        """Record the capabilities of a new connection."""
        self.remembered.era = server_capabilities.era
        self._needs_headers = is_http and server_capabilities.era is Era.MODERN
        self.comparison.meet(server_capabilities)
        for kind, each in self.lists.items():
            each.meet(is_offered=kind in server_capabilities.kinds)
        self.remembered.clear_failure()

    async def keep(self, dialect: BackDialect, on_unauthorized: Callable[[str], None]) -> None:
        """Read every list, and again whenever the backend announces a change, until the connection ends.

        `on_unauthorized` ends the connection, because the server lists no tools before the user has logged in.
        """
        async with anyio.create_task_group() as tasks:
            for each in self.lists.values():
                each.is_missing = each.is_missing and each.is_offered
                if each.is_offered:
                    tasks.start_soon(self._keep_list, dialect, each, on_unauthorized)
                else:
                    tasks.start_soon(self._note_none, each)

    async def _note_none(self, none: ReadList) -> None:
        """Record that the server has no list of this kind."""
        none.begin()
        await self._note(none, ServerList(()))
        self.on_compared()

    async def _keep_list(self, dialect: BackDialect, each: ReadList, on_unauthorized: Callable[[str], None]) -> None:
        while True:
            each.begin()
            try:
                server_list = await each.read(dialect)
                if server_list is not None and self._needs_headers and each.kind is Kind.TOOLS:
                    from search_mcp.dialects.http_headers import without_invalid  # of remote servers only

                    server_list = await without_invalid(server_list)
                await self._note(each, server_list)
            except ConnectionEndedError:
                return  # it is read on the next connection
            except RequestFailedError as failed:
                fate, reason = failed.failure.fate, self._entry.config.redactor.shortened(failed.failure.reason)
                if fate is Fate.UNAUTHORIZED and each.kind is Kind.TOOLS:
                    on_unauthorized(reason)
                    return
                if fate is Fate.REJECTED:
                    return  # it is read on the next connection
                await self._note_failure(each, reason)
                await each.until_retry()
            else:
                each.note_read()
                each.is_missing = False
                if self.is_complete:
                    self.remembered.record(Record(dialect.capabilities, list_limits.cut(self._known())))
                self.on_compared()
                await each.until_stale()

    async def _note_failure(self, failed: ReadList, reason: str) -> None:
        """Publish that a list is unavailable, unless one is known: that stays in use."""
        log.warning("! %s: %s could not be read: %s", self._entry.config.name, failed.kind.value, reason)
        failed.note_failure()
        if failed.known is None:
            await self._note(failed, None)  # clients wait for it
            failed.is_missing = False
            self.on_compared()
        else:
            self._put(failed, failed.known)  # no call waits for a change that cannot be read now
            self.on_failed(failed.kind, reason)

    def mark_stale(self, kinds: Collection[Kind], *, is_announced: bool) -> None:
        """Have lists read again; an announcement is relayed once all lists that it names were read."""
        # The server may not have all the lists of an announcement.
        stale = [each for kind, each in self.lists.items() if kind in kinds and each.is_offered]
        for each in stale:
            each.stale.set()
        if is_announced and stale:
            due = {each.kind: each.due_reading() for each in stale}
            self._announced.setdefault(frozenset(due), due)

    def look_again(self, dialect: BackDialect, kind: Kind) -> None:
        """Read a list again after a client listed, if its TTL expired or the backend does not announce its changes."""
        if self.lists[kind].is_outdated(is_announced=kind in dialect.capabilities.notifies):
            self.mark_stale({kind}, is_announced=False)

    def due_change(self, kind: Kind) -> Callable[[], bool] | None:
        """Return a function that is true until the announced change is read, or its reading failed.

        Return `None` if no change was announced.
        """
        if not any(kind in kinds for kinds in self._announced):
            return None
        read = self.lists[kind]
        due = read.due_reading()  # not a later one: the server may announce a change at every reading
        return lambda: not read.is_settled(due)

    async def _note(self, read: ReadList, server_list: ServerList | None) -> None:
        """Compare and publish a list that was read; `None` if it is unavailable."""
        kind, server_list = read.kind, self._kept_once(read.kind, server_list)
        lists = {kind: server_list}
        if not self.lists[Kind.PROMPTS].is_offered:
            lists[Kind.PROMPTS] = ServerList(())  # compared with the tools
        is_compared = kind is Kind.TOOLS or (kind in COMPARED and read.is_offered)
        if not is_compared or not self.comparison.is_possible:
            read.note_compared()
            self._put(read, server_list)
            return
        listed = self.comparison.listed(lists)
        verdict = await self.comparison.compare_read(listed)
        read.note_compared()
        self._put_judged(read, server_list, listed, verdict)
        if verdict.is_news and not self.comparison.is_pinned:  # no call depends on it
            recorded = await self.comparison.record(listed)
            if recorded is not None and recorded.trouble:
                self._put_judged(read, server_list, listed, recorded)

    def _put_judged(self, read: ReadList, server_list: ServerList | None, listed: Listed, verdict: Verdict) -> None:
        self.comparison.show(listed, verdict)
        self._put(read, None if server_list is None else verdict.marked(server_list, read.kind))

    def _put(self, changed: ReadList, server_list: ServerList | None) -> None:
        """Publish a list within the limits, and every other list that the limits now cut differently."""
        changed.known = server_list
        if server_list is None:
            self._publish(ListChanged(self._entry.config.name, changed.kind, None, self._take_announced(changed.kind)))
        for kind, page in list_limits.cut(self._known()).items():
            each, count = self.lists[kind], len(page.entries)
            before, each.published = each.published, count
            if each is changed or before not in (None, count):
                self._publish(ListChanged(self._entry.config.name, kind, page, self._take_announced(kind)))

    def _take_announced(self, kind: Kind) -> bool:
        """Return whether an announcement is relayed with this list: all lists that it names have been read."""
        for kinds, due in self._announced.items():
            if kind in kinds and all(self.lists[each].is_compared(due[each]) for each in kinds):
                del self._announced[kinds]
                if any(self.lists[each].stale.is_set() for each in kinds):  # perhaps announced again meanwhile
                    self.mark_stale(kinds, is_announced=True)
                return True
        return False

    # Trust

    async def look_at_trust(self) -> None:
        """Compare the lists again if the user accepted something meanwhile."""
        if await self.comparison.is_outdated():
            await self._compare_again(is_first=False)

    async def _compare_again(self, *, is_first: bool) -> None:
        lists = self.compared
        if not self.comparison.is_possible or not self._known():
            return
        listed = self.comparison.listed(lists)
        verdict = await self.comparison.compare_known(listed)
        is_newest = self.lists[Kind.TOOLS].known is lists[Kind.TOOLS]
        is_other_about = is_newest and self.comparison.show(listed, verdict)
        for kind, server_list in lists.items():
            if server_list is None or self.lists[kind].known is not server_list:
                continue  # it was read meanwhile, and compared then
            marked = verdict.marked(server_list, kind)
            if is_first or marked is not server_list or (is_other_about and kind is Kind.TOOLS):
                self._put(self.lists[kind], marked)
