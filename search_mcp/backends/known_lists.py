"""What is known of a backend: its offer, its era, its lists; from its last life, then from this one.

Decides when a list is read, when it is compared with what was accepted, and what is remembered of it. What a list is
used for is the catalogue's business, how it is asked for the dialects'. A list is told once it is compared, and each
kind has one task that reads and compares it, so that no older list follows a newer one.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import anyio

from search_mcp.backends.cache import (
    FAILURE_SECONDS,
    RENEWAL_SECONDS,
    VERDICT_SECONDS,
    Failure,
    Key,
    Record,
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
from search_mcp.wire.peer import ConnectionEndedError
from search_mcp.wire.structs import UNSET, replace

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Listed, Open, Verdict

log = logging.getLogger(__name__)

LIST_SECONDS = 60.0
"""How long a list may take to be read; then it is one that cannot be had."""
CHANGES_IN_A_ROW = 5
CHANGE_SECONDS = 0.5
"""How many changes that fast after each other are read at once; then one is, in as many seconds."""
FRESH_SECONDS = 1.0
"""How long a list that was read is not read again for somebody who looks at it."""
COMPARED: Final = (Kind.TOOLS, Kind.PROMPTS)
"""The lists that are compared with what was accepted. Resources change by nature."""
RECORD_SECONDS = 1.0
"""How long the end of a life waits for what it listed to be recorded."""


class KnownLists:
    """Cached capabilities and lists of one backend; publishes changes."""

    def __init__(self, config: ServerConfig, tell: Callable[[News], None], dependencies: Dependencies) -> None:
        self.capabilities: ServerCapabilities | None = None
        """What it said of itself; if it is pinned, with the accepted title and instructions."""
        self.is_about_changed = False
        """Whether its title or instructions are not the accepted ones."""
        self.era: Era | None = None
        """The era it was last opened in; `None` while nothing is proven."""
        self._config, self._tell, self._world = config, tell, dependencies
        self._pages: dict[Kind, ServerList] = {}
        self._taken: dict[Kind, int] = {}  # how many entries of each list were told
        self._missing = set(Kind)  # the lists that were never read, nor remembered
        self.failure: Failure | None = None
        """How its last start failed, in this process or an earlier one."""
        self._key: Key | None = None
        self._label = ""  # the kind of client that it lists things for
        self._said: ServerCapabilities | None = None  # what it said of itself
        self._heard: dict[Kind, ServerList] = {}  # lists that were read and are not compared yet
        self._offered: frozenset[Kind] = frozenset(Kind)
        self._accepted_about: tuple[str, str] | None = None
        self._keyed: dict[Kind, tuple[ServerList, frozenset[str]]] = {}  # the names in a list
        self._looked_at: set[object] = set()  # the states of the record of definitions that lists were compared with
        self._looks = 0
        self.recalled = asyncio.Event()
        """Set when remembered lists are there to be compared."""
        self._readings = dict.fromkeys(Kind, 0)  # how many were begun in this life
        self._compared = dict.fromkeys(Kind, 0)  # the last of them that is compared
        self.on_compared: Callable[[], None] = lambda: None
        self._stale = {kind: asyncio.Event() for kind in Kind}
        self._read_only: frozenset[str] = frozenset()
        self._read_only_of: ServerList | None = None  # the list it was made of
        self._read_at: dict[Kind, float] = {}  # in this life

    @property
    def is_complete(self) -> bool:
        """Whether all its lists were read, or are remembered."""
        return not self._missing

    def is_read_only(self, tool: str) -> bool:
        """Whether it declares a tool, by its own name, to be read-only."""
        page = self._pages.get(Kind.TOOLS)
        if page is not self._read_only_of:
            entries = page.entries if page is not None else ()
            self._read_only = frozenset(entry.key for entry in entries if declares_read_only(entry.fields))
            self._read_only_of = page
        return tool in self._read_only

    # From an earlier process

    def recall(self, opening: Opening, program: str) -> None:
        """Tell what this very program last offered such a client, or else any other client.

        Lists that another kind of client was given serve until the backend has answered: they do not make it
        complete, so it is started.
        """
        self._label = " ".join([opening.era.value, *sorted(extensions(opening.capabilities))])
        cache = self._world.cache
        if cache is None:
            return
        try:
            state = os.stat(program)  # noqa: PTH116  # a string is what there is
        except OSError:
            return
        key = fingerprint(self._config, f"{program} {state.st_mtime_ns} {state.st_size}", opening)
        if key == self._key:
            return
        self._key = key
        self.failure = cache.load_failure(key, self._config)
        age_seconds = cache.age_seconds(key, self._world.wall_clock())
        record = cache.load(key)
        is_own = record is not None
        if record is None and (similar := cache.load_similar(key)) is not None:
            record = replace(similar, capabilities=_for_another_client(similar.capabilities))
        if record is None:
            return
        self._said = record.capabilities
        if self._is_pinned and self._world.trust is not None:
            self._accepted_about = self._world.trust.accepted_about(self._config)
        self.capabilities = self._shown_at_first(self._said)
        if record.capabilities.era is opening.era or (is_own and age_seconds < VERDICT_SECONDS):
            self.era = record.capabilities.era
        if not record.pages:
            return  # none could be had then, and one may now
        if is_own and age_seconds < RENEWAL_SECONDS:
            self._missing.clear()
        is_pending = self._world.trust is not None
        self._pages = {
            kind: replace(page, is_pending=True) if is_pending and kind in COMPARED else page
            for kind, page in list_limits.cut(record.pages).items()
        }
        self.recalled.set()
        for kind in Kind:
            if not self._is_pinned or kind not in self._pages or kind not in COMPARED:
                self._tell(ListChanged(self._config.name, kind, self._pages.get(kind)))

    @property
    def failed_lately(self) -> bool:
        """Whether it is not worth waiting for: its last start failed minutes ago, and no list of it is remembered."""
        if self.failure is None or self._pages:
            return False
        return self._world.wall_clock() - self.failure.at < FAILURE_SECONDS

    async def compare_recalled(self) -> None:
        """Compare what is remembered with what was accepted, and tell of it; of a pinned server it was not told yet."""
        self.recalled.clear()
        await self._compare_again(is_first=True)

    def _remember(self, server_capabilities: ServerCapabilities) -> None:
        if self._world.cache is not None and self._key is not None:
            record = Record(server_capabilities, list_limits.cut(self._pages))
            self._world.file_queue(partial(self._world.cache.store, self._key, record))

    def note_failure(self, reason: str) -> None:
        """Remember for the next start that this one failed."""
        self.failure = failure(self._config, reason, self._world.wall_clock())
        if self._world.cache is not None and self._key is not None:
            self._world.file_queue(partial(self._world.cache.store_failure, self._key, self.failure))

    # From this one

    def meet(self, server_capabilities: ServerCapabilities) -> None:
        """Take note of what it says of itself."""
        self.era, self._said = server_capabilities.era, server_capabilities
        self.capabilities = self._shown_at_first(self._said)
        self._read_at.clear()
        self._readings, self._compared = dict.fromkeys(Kind, 0), dict.fromkeys(Kind, 0)
        self.failure = None
        if self._world.cache is not None and self._key is not None:
            self._world.file_queue(partial(self._world.cache.clear_failure, self._key))

    async def keep(self, dialect: BackDialect) -> None:
        """Read every list, and again whenever the backend says that it changed, until it ends."""
        self._offered = offered = dialect.capabilities.kinds
        self._missing &= offered
        async with anyio.create_task_group() as tasks:
            for kind in Kind:
                if kind in offered:
                    tasks.start_soon(self._keep_list, dialect, kind)
                else:
                    tasks.start_soon(self._note_none, kind)

    async def _note_none(self, kind: Kind) -> None:
        """Take note of a list that it does not have."""
        self._readings[kind] += 1
        if kind is Kind.TOOLS:
            await self._note(kind, ServerList(()))
        else:
            self._put(kind, ServerList(()))  # prompts are compared together with the tools
        self._compared[kind] = self._readings[kind]
        self.on_compared()

    async def _keep_list(self, dialect: BackDialect, kind: Kind) -> None:
        in_a_row = 0
        while True:
            self._stale[kind] = stale = asyncio.Event()
            self._readings[kind] += 1
            try:
                await self._read_list(dialect, kind)
            except ConnectionEndedError:
                return  # the next life reads it
            self._compared[kind] = self._readings[kind]
            self._missing.discard(kind)
            self._read_at[kind] = self._world.clock()
            if self.is_complete:
                self._remember(dialect.capabilities)
            self.on_compared()
            await stale.wait()
            is_soon = self._world.clock() - self._read_at[kind] < CHANGE_SECONDS
            in_a_row = in_a_row + 1 if is_soon else 0
            if in_a_row > CHANGES_IN_A_ROW:  # one that tells of a change whenever it is read
                await anyio.sleep(CHANGE_SECONDS)

    async def _read_list(self, dialect: BackDialect, kind: Kind) -> None:
        """Tell of a list, or that it cannot be had.

        Raises:
            ConnectionEndedError: the backend ended, which says nothing of its list.
        """
        try:
            with anyio.fail_after(LIST_SECONDS):
                await dialect.read_list(kind)
        except (PeerError, ValueError, TimeoutError) as exc:
            why = self._config.redactor(str(exc)) or f"it took more than {LIST_SECONDS:g} s"
            log.warning("! %s: its list of %s cannot be had: %s", self._config.name, kind.value, why)
            await self._note(kind, None)
        else:
            await self._note(kind, self._heard.pop(kind))

    def mark_stale(self, kind: Kind) -> None:
        """Take note that a list changed."""
        self._stale[kind].set()

    def look_again(self, dialect: BackDialect, kind: Kind) -> None:
        """Read a list that somebody looks at, if the backend does not say when it changes."""
        if kind not in self._read_at or kind in dialect.capabilities.notifies:
            return
        if self._world.clock() - self._read_at[kind] > FRESH_SECONDS:
            self.mark_stale(kind)

    def hear(self, news: News) -> None:
        """Take note of what a dialect tells, and pass it on; a list once it is compared with what was accepted."""
        if isinstance(news, ListChanged):
            assert news.page is not None, "a list that cannot be had raises"
            self._heard[news.kind] = news.page
        else:
            self._tell(news)

    async def _note(self, kind: Kind, page: ServerList | None) -> None:
        """Take note of a list that was read, compare it and tell of it."""
        known = self._pages.get(kind)
        if page is not None and known is not None and page.entries == known.entries:
            page = replace(page, entries=known.entries)  # as it was remembered, most often: kept once
        trust = self._world.trust
        if trust is None or kind not in COMPARED:
            self._put(kind, page)
            return
        looks = -1
        while looks != self._looks:  # something was accepted meanwhile
            looks, pinned = self._looks, self._is_pinned
            listed = self._listed(kind, page)
            verdict = await self._world.run_blocking(partial(self._judged, trust, listed, keeps=pinned))
        self._put_judged(kind, page, listed, verdict)
        if verdict.is_news and not pinned:  # no call depends on it
            await self._record(trust, kind, page, listed)

    async def _record(self, trust: TrustStore, kind: Kind, page: ServerList | None, listed: "Listed") -> None:
        """Keep what is first seen and what is open, even if this life ends now: a command asks for a list and ends."""
        with anyio.move_on_after(RECORD_SECONDS, shield=True) as scope:
            recorded = await self._world.run_blocking(partial(trust.record, self._config, self._label, listed))
            if recorded.trouble:
                self._put_judged(kind, page, listed, recorded)
        if scope.cancelled_caught:
            log.warning("! %s: its definitions are not recorded yet: %s is in use", self._config.name, trust.folder)

    def _judged(self, trust: TrustStore, listed: "Listed", *, keeps: bool) -> "Verdict":
        """Compare; keep what is first seen before it is told, if that is what makes it known."""
        self._looked_at.add(trust.state(self._config))
        verdict = trust.compare(self._config, self._label, listed)
        is_due = verdict.is_news and (keeps or (verdict.begins and self._is_pinned))
        return trust.record(self._config, self._label, listed) if is_due else verdict

    def _listed(self, kind: Kind, page: ServerList | None) -> "Listed":
        """What is compared together: with the tools, what the server says of itself, and that it has no prompts."""
        listed: Listed
        if kind is Kind.PROMPTS:
            listed = rules().Listed(prompts=page)
        else:
            no_prompts = ServerList(()) if Kind.PROMPTS not in self._offered else None
            listed = rules().Listed(page, no_prompts, self._said)
        return listed

    def _put_judged(self, kind: Kind, page: ServerList | None, listed: "Listed", verdict: "Verdict") -> None:
        self._show_about(listed, verdict)
        self._put(kind, None if page is None else rules().marked(page, kind, verdict))

    def _put(self, kind: Kind, page: ServerList | None) -> None:
        """Tell of a list as far as it is taken, and of each other list of which more or less is taken now."""
        if page is None:
            self._pages.pop(kind, None)
            self._tell(ListChanged(self._config.name, kind, None))
        else:
            self._pages[kind] = page
        for each, taken in list_limits.cut(self._pages).items():
            before, self._taken[each] = self._taken.get(each), len(taken.entries)
            if each is kind or before not in (None, len(taken.entries)):
                self._tell(ListChanged(self._config.name, each, taken))

    # Trust

    @property
    def _is_pinned(self) -> bool:
        return self._config.pin_tools and self._world.trust is not None

    def adopt(self, config: ServerConfig) -> None:
        """Go over to an entry that is started alike; what is withheld follows from it."""
        was_pinned, self._config = self._is_pinned, config
        if was_pinned != self._is_pinned and self._said is not None:
            self.capabilities = self._shown_at_first(self._said)
            self._looked_at.clear()
            self.recalled.set()

    async def look_at_trust(self) -> None:
        """Take note of what the user accepted meanwhile."""
        self._looks += 1
        trust = self._world.trust
        if trust is None:
            return
        if self._looked_at != {await self._world.run_blocking(partial(trust.state, self._config))}:
            self._looked_at.clear()
            await self._compare_again(is_first=False)

    async def _compare_again(self, *, is_first: bool) -> None:
        trust = self._world.trust
        if trust is None or not self._pages:
            return
        pages = {kind: self._pages.get(kind) for kind in COMPARED}
        listed: Listed = rules().Listed(pages[Kind.TOOLS], pages[Kind.PROMPTS], self._said)
        verdict = await self._world.run_blocking(partial(self._judged, trust, listed, keeps=False))
        before = self.capabilities, self.is_about_changed
        if self._pages.get(Kind.TOOLS) is pages[Kind.TOOLS]:
            self._show_about(listed, verdict)
        is_other_about = (self.capabilities, self.is_about_changed) != before
        for kind, page in pages.items():
            if page is None or self._pages.get(kind) is not page:
                continue  # it was read meanwhile, and compared then
            marked = rules().marked(page, kind, verdict)
            if is_first or marked is not page or (is_other_about and kind is Kind.TOOLS):
                self._put(kind, marked)

    def _show_about(self, listed: "Listed", verdict: "Verdict") -> None:
        """Show what a server says of itself as it was compared, unless it has said something else meanwhile."""
        if listed.capabilities is None or listed.capabilities is not self._said:
            return
        section, self._accepted_about = rules().ABOUT, verdict.about
        self.is_about_changed = section in verdict.changed.get(section, ()) or section in verdict.new.get(section, ())
        if self._is_pinned and (self.is_about_changed or verdict.trouble):
            title, instructions = verdict.about or ("", "")
            self.capabilities = replace(listed.capabilities, title=title, instructions=instructions)
        else:
            self.capabilities = listed.capabilities

    def _shown_at_first(self, said: ServerCapabilities) -> ServerCapabilities:
        """What is shown of a server's own words until they are compared: of a pinned one, what was accepted."""
        if not self._is_pinned:
            return said
        title, instructions = self._accepted_about or ("", "")
        return replace(said, title=title, instructions=instructions)

    def opened(self) -> "list[Open]":
        """Give every difference between what was accepted and what is listed now; may block.

        Raises:
            OSError: the record cannot be read.
        """
        if self._world.trust is None:
            return []
        listed = rules().Listed(self._pages.get(Kind.TOOLS), self._pages.get(Kind.PROMPTS), self._said)
        return list(self._world.trust.opened(self._config, self._label, listed))

    def is_compared(self, kind: Kind) -> bool:
        """Whether a call may be judged by this list: it is of this life, and no change of it was announced since."""
        due = self._readings[kind] + self._stale[kind].is_set()
        return self._compared[kind] >= max(1, due)

    def refusal(self, kind: Kind, key: str, name: str) -> WireError | None:
        """Say why a pinned server is not given a call: what it is for is not known to be accepted."""
        page = self._pages.get(kind)
        if page is None:
            return NotCompared(self._config.name, kind.value, self._config.check())
        if page.trouble or key in page.changed or key in page.new:
            withheld = ToolWithheld if kind is Kind.TOOLS else PromptWithheld
            return withheld(name, self._config.name, *self._config.remedies, is_new=key in page.new)
        if page is not self._keyed.get(kind, (None, ()))[0]:
            self._keyed[kind] = page, frozenset(entry.key for entry in page.entries)
        if key not in self._keyed[kind][1]:
            return (ToolNotFound if kind is Kind.TOOLS else PromptNotFound)(name, ())
        return None


def rules() -> Any:
    """Load what counts as a change: with the first list, not at the start."""
    return import_module("search_mcp.backends.pin_records")


def _for_another_client(server_capabilities: ServerCapabilities) -> ServerCapabilities:
    """Leave out of remembered capabilities what a server may offer one client and not another."""
    return replace(server_capabilities, extensions={}, tasks=UNSET, has_tasks=False)
