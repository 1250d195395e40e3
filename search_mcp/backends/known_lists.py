"""The capabilities, era and lists of one backend: from the cache, then from its connection.

Decides when a list is read, when it is compared with the accepted definitions, and what is cached. A list is published
after the comparison. Each kind has one task that reads and compares it, so that no older list follows a newer one.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from search_mcp.backends.cache import (
    FAILURE_SECONDS,
    RENEWAL_SECONDS,
    VERDICT_SECONDS,
    Failure,
    Key,
    Record,
    SharingRecord,
    failure,
    fingerprint,
)
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.pins import TrustStore
from search_mcp.catalog import list_limits
from search_mcp.catalog.repair import declares_read_only
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import BackDialect
from search_mcp.dialects.params import extensions
from search_mcp.model.errors import NotCompared, PromptNotFound, PromptWithheld, ToolNotFound, ToolWithheld
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import ListChanged, News, Opening, ServerCapabilities, ServerList
from search_mcp.wire.errors import PeerError, WireError
from search_mcp.wire.inflight import Fate, RequestFailure
from search_mcp.wire.peer import ConnectionEndedError, RequestFailedError
from search_mcp.wire.structs import UNSET, Raw, replace

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Listed, Open, Verdict

log = logging.getLogger(__name__)

LIST_SECONDS = 60.0
"""Time limit for reading a list; after that it counts as unavailable."""
CHANGES_IN_A_ROW = 5
"""Most changes in quick succession after which a list is read immediately; after that, there is a pause each time."""
CHANGE_SECONDS = 0.5
"""Length of this pause. Changes that are no further apart are in quick succession."""
CHANGE_SECONDS_PER_ENTRY = 0.002
"""Pause for each entry of the list, if that is longer: every entry is compared and indexed again."""
LONGEST_RETRY_SECONDS = 60.0
"""Longest pause after a reading that got no answer; the first pause is one second."""
FRESH_SECONDS = 1.0
"""Age up to which a list is not read again when a client lists."""
COMPARED: Final = (Kind.TOOLS, Kind.PROMPTS)
"""The lists that are compared with accepted definitions; resources normally change."""
RECORD_SECONDS = 1.0
"""Longest delay of the end of a connection until its lists are recorded."""


class KnownLists:
    """Cached capabilities and lists of one backend; publishes changes."""

    def __init__(self, config: ServerConfig, publish: Callable[[News], None], dependencies: Dependencies) -> None:
        self.capabilities: ServerCapabilities | None = None
        """The server's capabilities; of a pinned server with the accepted title and instructions."""
        self.is_about_changed = False
        """Whether its title or instructions are not the accepted ones."""
        self.era: Era | None = None
        """The era that it was last opened in; `None` while unknown."""
        self._config, self._publish, self._dependencies = config, publish, dependencies
        self._lists: dict[Kind, ServerList] = {}
        self._taken: dict[Kind, int] = {}  # number of published entries of each list
        self._troubles: dict[Kind, str] = {}  # the reason why a list could not be read last
        self._missing = set(Kind)  # the lists that were neither read nor cached
        self.failure: Failure | None = None
        """The failure of its last start, in this process or an earlier one."""
        self.sharing = SharingRecord()
        """What this process or an earlier one saw about sharing it between clients."""
        self._key: Key | None = None
        self._label = ""  # the kind of client that it lists for
        self._said: ServerCapabilities | None = None  # capabilities as the server declared them
        self._heard: dict[Kind, ServerList] = {}  # lists that were read and are still to be compared
        self._offered: frozenset[Kind] = frozenset(Kind)
        self._accepted_about: tuple[str, str] | None = None
        self._keyed: dict[Kind, tuple[ServerList, frozenset[str]]] = {}  # each list with its keys
        self._looked_at: set[object] = set()  # states of the accepted definitions that lists were compared with
        self._looks = 0
        self.recalled = asyncio.Event()
        """Set when cached lists are to be compared."""
        self._readings = dict.fromkeys(Kind, 0)  # number of readings begun
        self._first_readings = dict.fromkeys(Kind, 1)  # number of the first reading on this connection
        self._failures = dict.fromkeys(Kind, 0)  # consecutive readings that got no answer
        self._failed = dict.fromkeys(Kind, 0)  # number of the last reading that failed on its way
        self._compared = dict.fromkeys(Kind, 0)  # number of the last reading that is compared
        self.on_compared: Callable[[], None] = lambda: None
        self.on_failed: Callable[[Kind, str], None] = lambda _kind, _reason: None
        self.on_unauthorized: Callable[[str], None] = lambda _reason: None
        self._stale = {kind: asyncio.Event() for kind in Kind}
        # Announcements that are not relayed yet: for each of its lists, the reading that includes the change.
        self._announced: dict[frozenset[Kind], dict[Kind, int]] = {}
        self._read_only: frozenset[str] = frozenset()
        self._read_only_of: ServerList | None = None  # the list that it was made of
        self._schemas: dict[str, Raw | None] = {}
        self._schemas_of: ServerList | None = None
        self._is_http = False  # of this connection
        self._read_at: dict[Kind, float] = {}  # on this connection

    @property
    def is_complete(self) -> bool:
        """Return whether all lists were read or are cached."""
        return not self._missing

    def input_schema(self, tool: str) -> Raw | None:
        """Return the input schema of a tool by its own name, as the server lists it."""
        server_list = self._lists.get(Kind.TOOLS)
        if server_list is not self._schemas_of:
            entries = server_list.entries if server_list is not None else ()
            self._schemas = {entry.key: entry.fields.get("inputSchema") for entry in entries}
            self._schemas_of = server_list
        return self._schemas.get(tool)

    def is_read_only(self, tool: str) -> bool:
        """Return whether the server declares a tool, by its own name, to be read-only."""
        server_list = self._lists.get(Kind.TOOLS)
        if server_list is not self._read_only_of:
            entries = server_list.entries if server_list is not None else ()
            self._read_only = frozenset(entry.key for entry in entries if declares_read_only(entry.fields))
            self._read_only_of = server_list
        return tool in self._read_only

    # From an earlier process

    def recall(self, opening: Opening, program: str, *, is_file: bool) -> None:
        """Publish the lists that this program, or address, last gave such a client, or else any other client.

        Lists for another kind of client serve until the backend has answered; they do not make it complete, so it is
        started.
        """
        self._label = " ".join([opening.era.value, *sorted(extensions(opening.capabilities))])
        cache = self._dependencies.cache
        if cache is None:
            return
        if is_file:
            try:
                program = with_state(program)
            except OSError:
                return
        key = fingerprint(self._config, program, opening)
        if key == self._key:
            return
        self._key = key
        self.failure = cache.load_failure(key, self._config)
        self.sharing = cache.load_sharing(key)
        age_seconds = cache.age_seconds(key, self._dependencies.wall_clock())
        record = cache.load(key)
        is_own = record is not None
        if record is None and (similar := cache.load_similar(key)) is not None:
            record = replace(similar, capabilities=_for_another_client(similar.capabilities))
        if record is None:
            return
        self._said = record.capabilities
        if self._is_pinned and self._dependencies.trust is not None:
            self._accepted_about = self._dependencies.trust.accepted_about(self._config)
        self.capabilities = self._shown_at_first(self._said)
        if record.capabilities.era is opening.era or (is_own and age_seconds < VERDICT_SECONDS):
            self.era = record.capabilities.era
        if not record.pages:
            return  # no list was available then; one may be now
        if is_own and age_seconds < RENEWAL_SECONDS:
            self._missing.clear()
        is_pending = self._dependencies.trust is not None
        self._lists = {
            kind: replace(server_list, is_pending=True) if is_pending and kind in COMPARED else server_list
            for kind, server_list in self._cut_and_kept_once(record.pages)
        }
        self.recalled.set()
        for kind in Kind:
            if not self._is_pinned or kind not in self._lists or kind not in COMPARED:
                self._publish(ListChanged(self._config.name, kind, self._lists.get(kind)))

    def _cut_and_kept_once(self, pages: Mapping[Kind, ServerList]) -> Iterator[tuple[Kind, ServerList]]:
        for kind, server_list in list_limits.cut(pages).items():
            yield kind, self._kept_once(kind, server_list)

    def _kept_once(self, kind: Kind, server_list: ServerList) -> ServerList:
        """Return a list with the entries of an equal one that another backend has."""
        lists = self._dependencies.lists
        return server_list if lists is None else lists.kept_once(self._config.name, kind, server_list)

    @property
    def failed_lately(self) -> bool:
        """Return whether its last start failed minutes ago and no list is cached, so that no client waits for it."""
        if self.failure is None or self._lists or self.failure.needs_login:
            return False
        return self._dependencies.wall_clock() - self.failure.at < FAILURE_SECONDS

    async def compare_recalled(self) -> None:
        """Compare cached lists with the accepted definitions, and publish those that were not published yet."""
        self.recalled.clear()
        await self._compare_again(is_first=True)

    def _remember(self, server_capabilities: ServerCapabilities) -> None:
        if self._dependencies.cache is not None and self._key is not None:
            record = Record(server_capabilities, list_limits.cut(self._lists))
            self._dependencies.file_queue(partial(self._dependencies.cache.store, self._key, record))

    def record_failure(self, reason: str, remedy: str = "") -> None:
        """Record for the next start that this one failed."""
        self.failure = failure(self._config, reason, self._dependencies.wall_clock(), remedy)
        if self._dependencies.cache is not None and self._key is not None:
            self._dependencies.file_queue(partial(self._dependencies.cache.store_failure, self._key, self.failure))

    def record_sharing(self, record: SharingRecord) -> None:
        """Record for later processes, too, what was seen about sharing it."""
        if record == self.sharing:
            return
        self.sharing = record
        if self._dependencies.cache is not None and self._key is not None:
            self._dependencies.file_queue(partial(self._dependencies.cache.store_sharing, self._key, record))

    # From this process

    def meet(self, server_capabilities: ServerCapabilities, *, is_http: bool = False) -> None:
        """Record the capabilities of a new connection."""
        self._is_http = is_http
        self.era, self._said = server_capabilities.era, server_capabilities
        self._offered = server_capabilities.kinds
        self.capabilities = self._shown_at_first(self._said)
        self._read_at.clear()
        self._first_readings = {kind: readings + 1 for kind, readings in self._readings.items()}
        self._announced = {kinds: {kind: self._first_readings[kind] for kind in kinds} for kinds in self._announced}
        self.failure = None
        if self._dependencies.cache is not None and self._key is not None:
            self._dependencies.file_queue(partial(self._dependencies.cache.clear_failure, self._key))

    async def keep(self, dialect: BackDialect) -> None:
        """Read every list, and again whenever the backend announces a change, until the connection ends."""
        self._missing &= self._offered
        async with anyio.create_task_group() as tasks:
            for kind in Kind:
                if kind in self._offered:
                    tasks.start_soon(self._keep_list, dialect, kind)
                else:
                    tasks.start_soon(self._note_none, kind)

    async def _note_none(self, kind: Kind) -> None:
        """Record that it has no list of a kind."""
        self._readings[kind] += 1
        if kind is Kind.TOOLS:
            await self._note(kind, ServerList(()))
        else:
            self._compared[kind] = self._readings[kind]
            self._put(kind, ServerList(()))  # prompts are compared together with the tools
        self.on_compared()

    async def _keep_list(self, dialect: BackDialect, kind: Kind) -> None:
        in_a_row = 0
        while True:
            self._stale[kind] = stale = asyncio.Event()
            self._readings[kind] += 1
            try:
                await self._read_list(dialect, kind)
            except ConnectionEndedError:
                return  # it is read on the next connection
            except RequestFailedError as failed:
                if not await self._outlast(kind, failed.failure, stale):
                    return
                continue
            self._failures[kind] = 0
            self._missing.discard(kind)
            self._read_at[kind] = self._dependencies.clock()
            if self.is_complete:
                self._remember(dialect.capabilities)
            self.on_compared()
            await stale.wait()
            pause = self._pause_between_changes(kind)
            is_soon = self._dependencies.clock() - self._read_at[kind] < pause
            in_a_row = in_a_row + 1 if is_soon else 0
            if in_a_row > CHANGES_IN_A_ROW:  # a server may announce a change at every reading
                await anyio.sleep(pause)

    def _pause_between_changes(self, kind: Kind) -> float:
        server_list = self._lists.get(kind)
        entries = 0 if server_list is None else len(server_list.entries)
        return max(CHANGE_SECONDS, CHANGE_SECONDS_PER_ENTRY * entries)

    async def _outlast(self, kind: Kind, failure: RequestFailure, stale: asyncio.Event) -> bool:
        """Wait after a reading that got no answer; return false if only the next connection can read the list.

        The known list stays in use.
        """
        if failure.fate is Fate.REJECTED:
            return False
        if failure.fate is Fate.UNAUTHORIZED and kind is Kind.TOOLS:
            self.on_unauthorized(self._config.redactor.shortened(failure.reason))
            return False
        reason = self._config.redactor.shortened(failure.reason)
        log.warning("! %s: %s could not be read: %s", self._config.name, kind.value, reason)
        self._failures[kind] += 1
        self._failed[kind] = self._readings[kind]
        if kind not in self._lists:
            await self._note(kind, None)  # clients wait for it
            self._missing.discard(kind)
            self.on_compared()
        else:
            self._put(kind, self._lists[kind])  # no call waits for a change that cannot be read now
            self.on_failed(kind, reason)
        await anyio.sleep(CHANGE_SECONDS)  # a server may announce changes endlessly
        pause = min(2.0 ** (self._failures[kind] - 1), LONGEST_RETRY_SECONDS)
        with anyio.move_on_after(pause - CHANGE_SECONDS):
            await stale.wait()
        return True

    async def _read_list(self, dialect: BackDialect, kind: Kind) -> None:
        """Read, compare and publish a list, or that it is unavailable.

        Raises:
            RequestFailedError: the request got no answer; the list may still be readable.
            ConnectionEndedError: the connection ended; the next one may read the list.
        """
        try:
            with anyio.fail_after(LIST_SECONDS):
                await dialect.read_list(kind)
        except (PeerError, ValueError, TimeoutError) as exc:
            why = self._config.redactor.shortened(str(exc)) or f"it took more than {LIST_SECONDS:g} s"
            level = logging.DEBUG if self._troubles.get(kind) == why else logging.WARNING  # it may be read often
            log.log(level, "! %s: its list of %s could not be read: %s", self._config.name, kind.value, why)
            self._troubles[kind] = why
            await self._note(kind, None)
        else:
            self._troubles.pop(kind, None)
            heard = self._heard.pop(kind)
            if self._is_http and self.era is Era.MODERN and kind is Kind.TOOLS:
                from search_mcp.dialects.http_headers import without_invalid

                heard = await without_invalid(heard)
            await self._note(kind, replace(heard, read_at=self._dependencies.clock()))

    def mark_stale(self, kinds: Collection[Kind], *, is_announced: bool) -> None:
        """Have lists read again; an announcement of the server is relayed when all of its lists were read."""
        offered = self._offered.intersection(kinds)  # the server may not have all the lists of an announcement
        for kind in offered:
            self._stale[kind].set()
        if is_announced and offered:
            self._announced.setdefault(offered, {kind: self.due_reading(kind) for kind in offered})

    def look_again(self, dialect: BackDialect, kind: Kind) -> None:
        """Read a list again after a client listed, if its TTL expired or the backend does not announce its changes."""
        if kind not in self._read_at:
            return
        age_seconds = self._dependencies.clock() - self._read_at[kind]
        if kind in dialect.capabilities.notifies and not self._has_expired(kind, age_seconds):
            return
        if age_seconds > FRESH_SECONDS:
            self.mark_stale({kind}, is_announced=False)

    def _has_expired(self, kind: Kind, age_seconds: float) -> bool:
        """Return whether the TTL that the server gave for a list has expired; false without a TTL."""
        # "Once the TTL expires, the response is stale and the client SHOULD re-fetch on next access."
        server_list = self._lists.get(kind)
        return server_list is not None and 0 < server_list.freshness.ttl_ms < age_seconds * 1000

    def hear(self, news: News) -> None:
        """Publish news of the dialect; a list is kept until it is compared with the accepted definitions."""
        if isinstance(news, ListChanged):
            assert news.page is not None, "reading an unavailable list raises"
            self._heard[news.kind] = news.page
        else:
            self._publish(news)

    async def _note(self, kind: Kind, server_list: ServerList | None) -> None:
        """Compare and publish a list that was read; `None` is an unavailable one."""
        known = self._lists.get(kind)
        if server_list is not None and known is not None and server_list.entries == known.entries:
            server_list = replace(server_list, entries=known.entries)  # mostly as it was cached: kept once
        elif server_list is not None:
            server_list = self._kept_once(kind, server_list)
        trust = self._dependencies.trust
        if trust is None or kind not in COMPARED:
            self._compared[kind] = self._readings[kind]
            self._put(kind, server_list)
            return
        looks = -1
        while looks != self._looks:  # something was accepted meanwhile
            looks, pinned = self._looks, self._is_pinned
            listed = self._listed(kind, server_list)
            verdict = await self._dependencies.run_blocking(partial(self._judged, trust, listed, keeps=pinned))
        self._compared[kind] = self._readings[kind]
        self._put_judged(kind, server_list, listed, verdict)
        if verdict.is_news and not pinned:  # no call depends on it
            await self._record(trust, kind, server_list, listed)

    async def _record(self, trust: TrustStore, kind: Kind, server_list: ServerList | None, listed: "Listed") -> None:
        """Record new definitions even if the connection ends now: a command reads a list and ends."""
        with anyio.move_on_after(RECORD_SECONDS, shield=True) as scope:
            recorded = await self._dependencies.run_blocking(partial(trust.record, self._config, self._label, listed))
            if recorded.trouble:
                self._put_judged(kind, server_list, listed, recorded)
        if scope.cancelled_caught:
            log.warning("! %s: its definitions are not recorded yet: %s is in use", self._config.name, trust.folder)

    def _judged(self, trust: TrustStore, listed: "Listed", *, keeps: bool) -> "Verdict":
        """Compare a list; record a baseline before it is published if the list counts only then."""
        self._looked_at.add(trust.state(self._config))
        verdict = trust.compare(self._config, self._label, listed)
        is_due = verdict.is_news and (keeps or (verdict.begins and self._is_pinned))
        return trust.record(self._config, self._label, listed) if is_due else verdict

    def _listed(self, kind: Kind, server_list: ServerList | None) -> "Listed":
        """Return what is compared together: title and instructions, and missing prompts, go with the tools."""
        from search_mcp.backends import pin_records  # with the first list, not at the start

        listed: Listed
        if kind is Kind.PROMPTS:
            listed = pin_records.Listed(prompts=server_list)
        else:
            no_prompts = ServerList(()) if Kind.PROMPTS not in self._offered else None
            listed = pin_records.Listed(server_list, no_prompts, self._said)
        return listed

    def _put_judged(self, kind: Kind, server_list: ServerList | None, listed: "Listed", verdict: "Verdict") -> None:
        from search_mcp.backends import pin_records  # with the first list, not at the start

        self._show_about(listed, verdict)
        self._put(kind, None if server_list is None else pin_records.marked(server_list, kind, verdict))

    def _put(self, kind: Kind, server_list: ServerList | None) -> None:
        """Publish a list within the limits, and every other list that the limits now cut differently."""
        if server_list is None:
            self._lists.pop(kind, None)
            self._publish(ListChanged(self._config.name, kind, None, self._take_announced(kind)))
        else:
            self._lists[kind] = server_list
        for each, taken in list_limits.cut(self._lists).items():
            before, self._taken[each] = self._taken.get(each), len(taken.entries)
            if each is kind or before not in (None, len(taken.entries)):
                self._publish(ListChanged(self._config.name, each, taken, self._take_announced(each)))

    def _take_announced(self, kind: Kind) -> bool:
        """Return whether an announcement is relayed with this list, because all of its lists were read now."""
        for kinds, due in self._announced.items():
            if kind in kinds and all(self._compared[each] >= due[each] for each in kinds):
                del self._announced[kinds]
                if any(self._stale[each].is_set() for each in kinds):  # perhaps announced again meanwhile
                    self.mark_stale(kinds, is_announced=True)
                return True
        return False

    # Trust

    @property
    def _is_pinned(self) -> bool:
        return self._config.pin_tools and self._dependencies.trust is not None

    def adopt(self, config: ServerConfig) -> None:
        """Use an edited entry; the withheld definitions follow from it."""
        was_pinned, self._config = self._is_pinned, config
        if was_pinned != self._is_pinned and self._said is not None:
            self.capabilities = self._shown_at_first(self._said)
            self._looked_at.clear()
            self.recalled.set()

    async def look_at_trust(self) -> None:
        """Compare the lists again if the user accepted something meanwhile."""
        self._looks += 1
        trust = self._dependencies.trust
        if trust is None:
            return
        if self._looked_at != {await self._dependencies.run_blocking(partial(trust.state, self._config))}:
            self._looked_at.clear()
            await self._compare_again(is_first=False)

    async def _compare_again(self, *, is_first: bool) -> None:
        from search_mcp.backends import pin_records  # with the first list, not at the start

        trust = self._dependencies.trust
        if trust is None or not self._lists:
            return
        server_lists = {kind: self._lists.get(kind) for kind in COMPARED}
        listed: Listed = pin_records.Listed(server_lists[Kind.TOOLS], server_lists[Kind.PROMPTS], self._said)
        verdict = await self._dependencies.run_blocking(partial(self._judged, trust, listed, keeps=False))
        before = self.capabilities, self.is_about_changed
        if self._lists.get(Kind.TOOLS) is server_lists[Kind.TOOLS]:
            self._show_about(listed, verdict)
        is_other_about = (self.capabilities, self.is_about_changed) != before
        for kind, server_list in server_lists.items():
            if server_list is None or self._lists.get(kind) is not server_list:
                continue  # it was read meanwhile, and compared then
            marked = pin_records.marked(server_list, kind, verdict)
            if is_first or marked is not server_list or (is_other_about and kind is Kind.TOOLS):
                self._put(kind, marked)

    def _show_about(self, listed: "Listed", verdict: "Verdict") -> None:
        """Set the shown title and instructions by the comparison, unless a newer connection declared others."""
        from search_mcp.backends import pin_records  # with the first list, not at the start

        if listed.capabilities is None or listed.capabilities is not self._said:
            return
        section, self._accepted_about = pin_records.ABOUT, verdict.about
        self.is_about_changed = section in verdict.changed.get(section, ()) or section in verdict.new.get(section, ())
        if self._is_pinned and (self.is_about_changed or verdict.trouble):
            title, instructions = verdict.about or ("", "")
            self.capabilities = replace(listed.capabilities, title=title, instructions=instructions)
        else:
            self.capabilities = listed.capabilities

    def _shown_at_first(self, said: ServerCapabilities) -> ServerCapabilities:
        """Return the capabilities to show until they are compared; a pinned server shows the accepted texts."""
        if not self._is_pinned:
            return said
        title, instructions = self._accepted_about or ("", "")
        return replace(said, title=title, instructions=instructions)

    def opened(self) -> "list[Open]":
        """Return every difference between the accepted definitions and the lists; may block.

        Raises:
            OSError: the record cannot be read.
        """
        from search_mcp.backends import pin_records  # with the first list, not at the start

        if self._dependencies.trust is None:
            return []
        listed = pin_records.Listed(self._lists.get(Kind.TOOLS), self._lists.get(Kind.PROMPTS), self._said)
        return list(self._dependencies.trust.opened(self._config, self._label, listed))

    def is_compared(self, kind: Kind, reading: int) -> bool:
        """Return whether this reading of a list, or a later one, is compared, and one of this connection is."""
        return self._compared[kind] >= max(self._first_readings[kind], reading)

    def due_reading(self, kind: Kind) -> int:
        """Return the number of the reading that includes every change announced until now."""
        return self._readings[kind] + self._stale[kind].is_set()

    def due_change(self, kind: Kind) -> Callable[[], bool] | None:
        """Return a function that is true until the announced change is read, or its reading failed.

        Return `None` if no change was announced.
        """
        if not any(kind in kinds for kinds in self._announced):
            return None
        due = self.due_reading(kind)  # not a later one: the server may announce a change at every reading
        return lambda: max(self._compared[kind], self._failed[kind]) < due

    def refusal(self, kind: Kind, key: str, name: str) -> WireError | None:
        """Return why a pinned server is not given a call; `None` if the definition is accepted."""
        server_list = self._lists.get(kind)
        if server_list is None:
            return NotCompared(self._config.name, kind.value, self._config.check())
        if server_list.trouble or key in server_list.changed or key in server_list.new:
            withheld = ToolWithheld if kind is Kind.TOOLS else PromptWithheld
            return withheld(name, self._config.name, self._config.check("--accept"), is_new=key in server_list.new)
        if server_list is not self._keyed.get(kind, (None, ()))[0]:
            self._keyed[kind] = server_list, frozenset(entry.key for entry in server_list.entries)
        if key not in self._keyed[kind][1]:
            return (ToolNotFound if kind is Kind.TOOLS else PromptNotFound)(name, ())
        return None


def with_state(file: str) -> str:
    """Return a file's path with its date and size: another version of a program lists other tools.

    Raises:
        OSError: there is no such file.
    """
    state = os.stat(file)  # noqa: PTH116  # a string is what there is
    return f"{file} {state.st_mtime_ns} {state.st_size}"


def _for_another_client(server_capabilities: ServerCapabilities) -> ServerCapabilities:
    """Leave out of cached capabilities those that a server may give one client and not another."""
    return replace(server_capabilities, extensions=None, tasks=UNSET, has_tasks=False)
