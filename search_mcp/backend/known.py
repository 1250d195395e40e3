"""What is known of a backend: its offer, its era, its lists; from its last life, then from this one.

Decides when a list is read and what is remembered of it. What a list is used for is the catalogue's
business, how it is asked for the dialects'.
"""

import asyncio
import logging
import os
from collections.abc import Callable

import anyio

from search_mcp.backend.surroundings import Surroundings
from search_mcp.cache import (
    FAILURE_SECONDS,
    RENEWAL_SECONDS,
    VERDICT_SECONDS,
    Failure,
    Key,
    Record,
    failure,
    fingerprint,
)
from search_mcp.config import ServerConfig, redact
from search_mcp.definitions import declares_read_only
from search_mcp.dialects import BackDialect
from search_mcp.errors import BackendAnswered
from search_mcp.jsonrpc import UNSET, altered
from search_mcp.model import Era, Kind, ListChanged, News, Offer, Opening, Page
from search_mcp.peer import ConnectionEndedError

log = logging.getLogger(__name__)

LIST_SECONDS = 60.0
"""How long a list may take to be read; then it is one that cannot be had."""
CHANGES_IN_A_ROW = 5
CHANGE_SECONDS = 0.5
"""How many changes that fast after each other are read at once; then one is, in as many seconds."""
FRESH_SECONDS = 1.0
"""How long a list that was read is not read again for somebody who looks at it."""


class Known:
    """One backend as it is known; whatever is new is told."""

    def __init__(self, config: ServerConfig, tell: Callable[[News], None], surroundings: Surroundings) -> None:
        self.offer: Offer | None = None
        self.era: Era | None = None
        """The era it was last opened in; `None` while nothing is proven."""
        self._config, self._tell, self._world = config, tell, surroundings
        self._pages: dict[Kind, Page] = {}
        self._missing = set(Kind)  # the lists that were never read, nor remembered
        self.failure: Failure | None = None
        """How its last start failed, in this process or an earlier one."""
        self._key: Key | None = None
        self._variant = ""  # of its tool definitions, in this life
        self._stale = {kind: asyncio.Event() for kind in Kind}
        self._read_only: frozenset[str] = frozenset()
        self._read_only_of: Page | None = None  # the list it was made of
        self._read_at: dict[Kind, float] = {}  # in this life
        self.has_listed_tools = False
        """Whether its tools were listed, or could not be, in this life."""

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
            record = altered(similar, offer=_for_another_client(similar.offer))
        if record is None:
            return
        self.offer = record.offer
        if record.offer.era is opening.era or (is_own and age_seconds < VERDICT_SECONDS):
            self.era = record.offer.era
        if not record.pages:
            return  # none could be had then, and one may now
        if is_own and age_seconds < RENEWAL_SECONDS:
            self._missing.clear()
        self._pages = dict(record.pages)
        self._mark_changed_tools()
        for kind in Kind:
            self._tell(ListChanged(self._config.name, kind, self._pages.get(kind)))

    @property
    def failed_lately(self) -> bool:
        """Whether it is not worth waiting for: its last start failed minutes ago, and no list of it is remembered."""
        if self.failure is None or self._pages:
            return False
        return self._world.wall_clock() - self.failure.at < FAILURE_SECONDS

    def _remember(self, offer: Offer) -> None:
        if self._world.cache is not None and self._key is not None:
            self._world.cache.store(self._key, Record(offer, dict(self._pages)))

    def note_failure(self, reason: str) -> None:
        """Remember for the next start that this one failed."""
        self.failure = failure(self._config, reason, self._world.wall_clock())
        if self._world.cache is not None and self._key is not None:
            self._world.cache.store_failure(self._key, self.failure)

    # From this one

    def meet(self, offer: Offer) -> None:
        """Take note of what it says of itself."""
        self.era, self.offer = offer.era, offer
        self._read_at.clear()
        self.has_listed_tools = False
        self.failure = None
        if self._world.cache is not None and self._key is not None:
            self._world.cache.clear_failure(self._key)

    async def keep(self, dialect: BackDialect) -> None:
        """Read every list, and again whenever the backend says that it changed, until it ends."""
        self._variant, offered = dialect.variant, dialect.offer.kinds
        self._missing &= offered
        async with anyio.create_task_group() as tasks:
            for kind in Kind:
                if kind in offered:
                    tasks.start_soon(self._keep_list, dialect, kind)
                else:
                    self.hear(ListChanged(self._config.name, kind, Page(())))

    async def _keep_list(self, dialect: BackDialect, kind: Kind) -> None:
        in_a_row = 0
        while True:
            self._stale[kind] = stale = asyncio.Event()
            try:
                await self._read_list(dialect, kind)
            except ConnectionEndedError:
                return  # the next life reads it
            self._missing.discard(kind)
            self._read_at[kind] = self._world.clock()
            if self.is_complete:
                self._remember(dialect.offer)
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
        except (BackendAnswered, ValueError, TimeoutError) as exc:
            why = redact(str(exc) or f"it took more than {LIST_SECONDS:g} s", self._config.secrets)
            log.warning("! %s: its list of %s cannot be had: %s", self._config.name, kind.value, why)
            self.hear(ListChanged(self._config.name, kind, None))

    def mark_stale(self, kind: Kind) -> None:
        """Take note that a list changed."""
        self._stale[kind].set()

    def look_again(self, dialect: BackDialect, kind: Kind) -> None:
        """Read a list that somebody looks at, if the backend does not say when it changes."""
        if kind not in self._read_at or kind in dialect.offer.notifies:
            return
        if self._world.clock() - self._read_at[kind] > FRESH_SECONDS:
            self.mark_stale(kind)

    def hear(self, news: News) -> None:
        """Take note of what a dialect tells, and pass it on."""
        if isinstance(news, ListChanged):
            page, trust = news.page, self._world.trust
            known = self._pages.get(news.kind)
            if page is not None and known is not None and page.entries == known.entries:
                page = altered(page, entries=known.entries)  # as it was remembered, most often: kept once
            if page is not None and news.kind is Kind.TOOLS and trust is not None:
                page = _marked(page, trust.examine(self._config, self._variant, page))
            news = altered(news, page=page)
            self.has_listed_tools |= news.kind is Kind.TOOLS
            if page is None:
                self._pages.pop(news.kind, None)
            else:
                self._pages[news.kind] = page
        self._tell(news)

    # Trust

    def look_at_trust(self) -> None:
        """Take note of what the user accepted meanwhile."""
        if self._mark_changed_tools():
            self._tell(ListChanged(self._config.name, Kind.TOOLS, self._pages[Kind.TOOLS]))

    def _mark_changed_tools(self) -> bool:
        page = self._pages.get(Kind.TOOLS)
        if page is None or self._world.trust is None:
            return False
        self._pages[Kind.TOOLS] = marked = _marked(page, self._world.trust.changed(self._config))
        return marked.changed != page.changed


def _marked(page: Page, changed: frozenset[str]) -> Page:
    """Mark the tools of a page that are not what they were."""
    if changed:
        changed &= {entry.key for entry in page.entries}
    return page if changed == page.changed else altered(page, changed=changed)


def _for_another_client(offer: Offer) -> Offer:
    """Leave out of remembered capabilities what a server may offer one client and not another."""
    return altered(offer, extensions={}, tasks=UNSET, has_tasks=False)
