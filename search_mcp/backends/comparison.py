"""The comparison of one server's lists with the definitions that the user accepted.

Decides when definitions are compared and recorded, and which title and instructions are shown. `pin_records` defines
a change.
"""

import logging
from collections.abc import Iterable, Mapping
from functools import partial

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.pin_records import Listed, Open, Verdict
from search_mcp.backends.read_list import ReadList
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.model.errors import NotCompared, PromptNotFound, PromptWithheld, ToolNotFound, ToolWithheld
from search_mcp.model.names import Kind
from search_mcp.model.servers import ServerCapabilities, ServerList
from search_mcp.wire.errors import WireError
from search_mcp.wire.structs import replace

log = logging.getLogger(__name__)

RECORD_SECONDS = 1.0
"""Longest delay at the end of a connection for recording its lists."""


class Comparison:
    """The capabilities and lists of one server against the accepted definitions."""

    def __init__(self, entry: ServerEntry, dependencies: Dependencies) -> None:
        self._entry, self._run_blocking, self._store = entry, dependencies.run_blocking, dependencies.trust
        self.capabilities: ServerCapabilities | None = None
        """The server's capabilities; of a pinned server with the accepted title and instructions."""
        self.is_about_changed = False
        """Whether its title or instructions are not the accepted ones."""
        self.label = ""
        """The kind of client that the lists are for."""
        self._declared: ServerCapabilities | None = None  # as the server declared them
        self._accepted_about: tuple[str, str] | None = None
        self._compared_with: set[object] = set()  # states of the accepted definitions
        self._looks = 0

    @property
    def is_possible(self) -> bool:
        """Return whether there are accepted definitions to compare with."""
        return self._store is not None

    @property
    def is_pinned(self) -> bool:
        """Return whether a definition that is not accepted is withheld."""
        return self._entry.config.pin_tools and self._store is not None

    def recall(self, capabilities: ServerCapabilities) -> None:
        """Show cached capabilities."""
        if self.is_pinned and self._store is not None:
            self._accepted_about = self._store.accepted_about(self._entry.config)
        self.meet(capabilities)

    def meet(self, capabilities: ServerCapabilities) -> None:
        """Show the capabilities of a connection until they are compared; a pinned server shows the accepted texts."""
        self._declared = self.capabilities = capabilities
        if self.is_pinned:
            self.capabilities = self._with_accepted_about(capabilities)

    def begin_anew(self) -> None:
        """Forget every comparison: an edit of the entry has pinned or unpinned the server."""
        self._compared_with.clear()
        if self._declared is not None:
            self.meet(self._declared)

    def listed(self, lists: Mapping[Kind, ServerList | None]) -> Listed:
        """Return the parts that are compared together: title and instructions go with the tools."""
        return Listed(lists.get(Kind.TOOLS), lists.get(Kind.PROMPTS), self._declared if Kind.TOOLS in lists else None)

    async def compare_read(self, listed: Listed) -> Verdict:
        """Compare lists that were just read; news of a pinned server are recorded before they are published."""
        compared_at = None
        while compared_at != (now := (self._looks, self.is_pinned)):  # again if something was accepted meanwhile
            compared_at = now
            verdict = await self._run_blocking(partial(self._judged, listed, keeps=self.is_pinned))
        return verdict

    async def compare_known(self, listed: Listed) -> Verdict:
        """Compare lists that were published, or cached."""
        return await self._run_blocking(partial(self._judged, listed, keeps=False))

    def show(self, listed: Listed, verdict: Verdict) -> bool:
        """Show the title and instructions that a comparison allows; return whether that changes anything.

        It changes nothing if a newer connection has declared others.
        """
        before = self.capabilities, self.is_about_changed
        if listed.capabilities is not None and listed.capabilities is self._declared:
            self._accepted_about, self.is_about_changed = verdict.about, verdict.is_about_changed
            is_withheld = self.is_pinned and (self.is_about_changed or verdict.trouble)
            self.capabilities = self._with_accepted_about(self._declared) if is_withheld else self._declared
        return before != (self.capabilities, self.is_about_changed)

    def _with_accepted_about(self, capabilities: ServerCapabilities) -> ServerCapabilities:
        title, instructions = self._accepted_about or ("", "")
        return replace(capabilities, title=title, instructions=instructions)

    async def record(self, listed: Listed) -> Verdict | None:
        """Record new definitions even if the connection ends now: a command may end right after it has read a list."""
        assert self._store is not None
        config, folder = self._entry.config, self._store.folder
        with anyio.move_on_after(RECORD_SECONDS, shield=True):
            return await self._run_blocking(partial(self._store.record, config, self.label, listed))
        log.warning("! %s: its definitions are not recorded yet: %s is in use", config.name, folder)
        return None

    def refusal(self, read: ReadList, key: str, name: str) -> WireError | None:
        """Return why a pinned server is not given a call; `None` if the definition is accepted."""
        kind, config = read.kind, self._entry.config
        if (server_list := read.known) is None:
            return NotCompared(config.name, kind.value, config.check())
        if server_list.trouble or key in server_list.changed or key in server_list.new:
            withheld = ToolWithheld if kind is Kind.TOOLS else PromptWithheld
            return withheld(name, config.name, config.check("--accept"), is_new=key in server_list.new)
        if read.entry(key) is None:
            return (ToolNotFound if kind is Kind.TOOLS else PromptNotFound)(name, ())
        return None

    def opened(self, lists: Mapping[Kind, ServerList | None]) -> Iterable[Open]:
        """Return every difference between the accepted definitions and the lists; may block.

        Raises:
            OSError: the record cannot be read.
        """
        return () if self._store is None else self._store.opened(self._entry.config, self.label, self.listed(lists))

    async def is_outdated(self) -> bool:
        """Return whether something was accepted since the comparisons."""
        self._looks += 1
        if self._store is None:
            return False
        now = await self._run_blocking(partial(self._store.state, self._entry.config))
        is_outdated = self._compared_with != {now}
        if is_outdated:
            self._compared_with.clear()
        return is_outdated

    def _judged(self, listed: Listed, *, keeps: bool) -> Verdict:
        """Compare lists; record news at once if `keeps`, or if they are the first definitions of a pinned server."""
        assert self._store is not None
        config = self._entry.config
        self._compared_with.add(self._store.state(config))
        verdict = self._store.compare(config, self.label, listed)
        is_due = verdict.is_news and (keeps or (verdict.begins and self.is_pinned))
        return self._store.record(config, self.label, listed) if is_due else verdict
