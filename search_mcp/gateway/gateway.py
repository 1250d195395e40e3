"""One client: its configuration, its use of servers, its lists, calls and notifications.

It exists as long as the client's connection. Other clients may use the same servers.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.catalog.profiles import Audience, Profile, first_list_patience
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.config.schema import Config
from search_mcp.dialects import CatalogChanged, Listing, MergedCapabilities
from search_mcp.dialects.asking import ON_THE_PAGE, renamed
from search_mcp.folders import results_folder
from search_mcp.gateway.client_meanings import ClientMeanings
from search_mcp.gateway.client_news import Notification, is_for_client
from search_mcp.gateway.client_state import ClientState
from search_mcp.gateway.leases import Leases
from search_mcp.gateway.listings import COALESCE_SECONDS, instructions
from search_mcp.gateway.problems import ProblemLog, log_contested
from search_mcp.gateway.servers import Servers
from search_mcp.gateway.waiting import in_slices
from search_mcp.model.calls import Call, Link, Viewer
from search_mcp.model.names import Action, Kind
from search_mcp.model.sentences import enumerated
from search_mcp.model.servers import ElicitationComplete, ListChanged, News, Opening, StateChanged, TaskChanged
from search_mcp.pool.pool import Pool
from search_mcp.results.process_results import ProcessResults
from search_mcp.wire import structs
from search_mcp.wire.errors import WireError
from search_mcp.wire.pending import Pending

if TYPE_CHECKING:
    from search_mcp.gateway.router import Router
    from search_mcp.usage.client_usage import ClientUsage

log = logging.getLogger(__name__)

_RECORDED = frozenset({Action.CALL_TOOL, Action.GET_TASK, Action.GET_TASK_RESULT, Action.CANCEL_TASK})
"""Tool calls, and calls that may get the outcome of a tool call that became a task."""


class Gateway:
    """The state and the calls of one client, between its front and its servers."""

    def __init__(
        self,
        config: Config,
        dependencies: Dependencies,
        pool: Pool,
        profile: Profile | None = None,
        *,
        results: ProcessResults | None = None,
        shared_folder: str | None = None,
        is_on_page: bool = False,
        principal: str = "",
    ) -> None:
        """`profile` is the one that the client was started with, if any.

        Without `results`, no result is shortened. Servers whose folder does not matter start in `shared_folder`. The
        addresses that the client cannot show are shown on the page if it `is_on_page`. Its tool calls are recorded as
        those of a `principal`, if it has one.
        """
        self.page_remedy, self._principal = ON_THE_PAGE if is_on_page else "", principal
        self._dependencies, self.later = dependencies, pool.later
        self.file_queue = dependencies.file_queue
        self.opening: Opening | None = None
        """The opening of the client; `None` before the client has opened."""
        self._opened_at: float | None = None  # until the first list of tools was given
        self.meanings = ClientMeanings(config, pool, dependencies)
        self.servers = Servers(dependencies.clock, dependencies.wall_clock, pool.in_common, self.meanings.current)
        self.state = ClientState(self.servers, profile, pool.later, results)
        self.leases = Leases(pool, dependencies, self, self._on_news, shared_folder)
        self._problems = ProblemLog(self.servers, pool.later)
        self._tell_front: Callable[[News | CatalogChanged], None] = lambda _news: None
        # Functions that wait until a server lists a resource, each with the URI, by a key for its cancellation.
        self._unlisted: dict[object, tuple[str, Callable[[], None]]] = {}
        self._announced: set[Kind] = set()  # lists that a server announced as changed, until the client is notified
        self._is_change_due = False
        self.usage: ClientUsage | None = None
        """The record of the tool calls, since the first one."""
        self.reconfigure(config)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve the client; at the end, leave its servers."""
        async with anyio.create_task_group() as tasks:
            self.meanings.tasks = tasks
            try:
                yield
            finally:
                self.meanings.tasks = None
                self.leases.leave()
                tasks.cancel_scope.cancel()
                self.meanings.end()
                self.state.forget_results()
        self._finish_usage()

    # The configuration

    def reconfigure(self, config: Config) -> None:
        """Apply a configuration; calls of servers that it does not change go on."""
        self.leases.configure(config)
        self.servers.configure(config, self.leases.by_name)
        self.state.presentation.configure(config.settings)
        self.meanings.configure(config)
        self.leases.open_new()
        self._on_change()

    def note_broken_edit(self, error: str | None) -> None:
        """Show in `list_servers` why an edit of the configuration has no effect; `None` after a valid edit."""
        self.servers.configuration_error = error

    async def look_at_trust(self) -> None:
        """Compare the lists again if the user has accepted definitions."""
        await self.leases.look_at_trust()

    def tidy(self) -> None:
        """Delete cached lists that were not used for months, and results that killed processes left.

        May be called in any thread.
        """
        if self._dependencies.cache is not None:
            self._dependencies.cache.prune(self._dependencies.wall_clock())
        if (folder := results_folder()).is_dir():
            from search_mcp.results.kept_results import KeptFiles

            KeptFiles(folder).sweep()

    # From the front

    def attach(self, tell_front: Callable[[News | CatalogChanged], None]) -> None:
        """Pass notifications and changes of lists to the front from now on."""
        self._tell_front = tell_front

    def recall(self, opening: Opening) -> None:
        """Publish the cached lists of the servers for such a client; start nothing."""
        self.leases.recall(opening)

    def open(self, opening: Opening) -> None:
        """Open the servers for this client; a second opening changes nothing."""
        if self.opening is not None:
            return
        self.opening, self._opened_at = opening, self._dependencies.clock()
        self.leases.open(opening)
        for lease in self.leases:
            if lease.status.failed_lately:
                self.state.lists.expect_nothing(lease.name)

    def audience(self, viewer: Viewer) -> Audience:
        """Choose the profile and the limits of a list that this viewer is shown."""
        return self.state.audience(viewer)

    def shown_names(self, kind: Kind, viewer: Viewer) -> ShownNames:
        """Give the names of the tools or prompts as this viewer is shown them."""
        return self.servers.spellings.of(kind, self.audience(viewer).profile)

    def capabilities(self) -> MergedCapabilities:
        return self.servers.capabilities()

    def instructions(self, viewer: Viewer) -> str:
        """Write the instructions: how tools are named and found, and one line about each server."""
        return instructions(self.servers.about(), self.audience(viewer).profile, self.servers.notice)

    def can_subscribe(self, uri: str) -> bool:
        return self.servers.can_subscribe(uri)

    def when_listed(self, uri: str, act: Callable[[], None]) -> Callable[[], None]:
        """Call a function once a server lists this resource; the returned function cancels that."""
        key = object()
        self._unlisted[key] = uri, act

        def cancel() -> None:
            self._unlisted.pop(key, None)

        return cancel

    def task_id_for_client(self, server: str, task: str) -> str:
        return self.state.tasks.id_for_client(server, task)

    def elicitation_id_for_client(self, server: str, elicitation: str) -> str:
        return self.state.elicitations.id_for_client(server, elicitation)

    def note_links(self, links: Iterable[Link]) -> None:
        self.state.links.note(links)

    def set_log_level(self, level: str) -> None:
        self.state.log_level = level
        self.leases.set_log_level(level)

    def roots_changed(self) -> None:
        self.leases.roots_changed()

    # Calls

    @cached_property
    def _router(self) -> "Router":
        from search_mcp.gateway.router import Router

        return Router(self.servers, self.state, self.later, self.submit)

    def submit(self, call: Call) -> None:
        """Carry out a call at the server that owns its target; if no server owns it, answer at once."""
        is_recorded = call.action in _RECORDED and self.servers.settings.usage
        usage = (self.usage or self._load_usage()) if is_recorded else None
        (usage or self._router).submit(call)

    def _load_usage(self) -> "ClientUsage | None":
        """Load the record of tool calls with the first of them; return `None` if none are recorded."""
        there, path = self._dependencies, self._dependencies.usage_file
        if path is not None:
            from search_mcp.usage.client_usage import ClientUsage
            from search_mcp.usage.queue import UsageQueue

            clocks = there.clock, there.wall_clock
            queue = UsageQueue(path, there.file_queue, self.later, *clocks, self._principal)
            self.usage = ClientUsage(queue, self._router.submit)
        return self.usage

    def _finish_usage(self) -> None:
        """Record the last tool calls, and those that became tasks whose outcome was never read."""
        if self.usage is not None and self.servers.settings.usage:
            self.usage.close()
        if self.usage is not None:
            self.usage.queue.flush()

    def merged_list(
        self, kind: Kind, viewer: Viewer, reply: Pending[Listing | WireError], *, hears_news: bool = False
    ) -> None:
        """Answer with a merged list, as soon as it is complete or the client has waited long enough.

        `hears_news`: the client has asked for notifications when this list changes.
        """

        def give() -> None:
            reply(self._listing(kind, viewer))
            if kind is Kind.TOOLS and self._opened_at is not None:
                self._log_first_list(self._opened_at)
            for lease in self.leases:
                lease.look_again(kind)

        profile = self.audience(viewer).profile
        patience = first_list_patience(profile, self.servers.settings.first_list_seconds, hears_news=hears_news)

        def prepare() -> None:
            in_slices(lambda: self.state.presentation.advance(kind, viewer), give, reply, self.later)

        self.state.lists.when_settled(frozenset({kind}), self.servers.enabled, prepare, reply, patience)

    def _log_first_list(self, opened_at: float) -> None:
        """Log how long the first list of tools took, and the start of each server in it."""
        self._opened_at = None
        known = [each for each in self.leases if self.servers.catalog.is_known(each.name, Kind.TOOLS)]
        starts = [f"{each.name} {each.status.start_seconds:.2f} s" for each in known if each.status.start_seconds]
        late = [each.name for each in self.leases if each not in known]
        parts = [f"; starts: {enumerated(starts)}" if starts else "", f"; without {enumerated(late)}" if late else ""]
        log.info("= first list of tools after %.2f s%s", self._dependencies.clock() - opened_at, "".join(parts))

    def _listing(self, kind: Kind, viewer: Viewer) -> Listing:
        """Make the list that the client is shown now."""
        if kind is Kind.TOOLS:
            self.state.listed_unlimited = self.servers.unlimited
            if self.servers.is_without_tools():
                self.state.presentation.note_partial()
        items = self.state.presentation.show(kind, viewer)
        return Listing(items, self.servers.freshness(kind))

    # From the servers

    def has_task(self, server: str, task: str) -> bool:
        """Return whether a task of a server, by the server's own id, is this client's."""
        return self.state.tasks.known(server, task) is not None

    def _on_news(self, news: News) -> None:
        if isinstance(news, ListChanged):
            self.state.lists.on_news(news.server, news.kind)
            if news.is_announced and not self.servers.catalog.is_switched_off(news.server, news.kind):
                self._announced.add(news.kind)
            self.servers.catalog.put(news.server, news.kind, news.page)
        if isinstance(news, ListChanged | StateChanged):
            self._on_change()
        else:
            self._on_notification(news)

    def _on_notification(self, news: Notification) -> None:
        """Pass a server's notification on, if it is meant for this client."""
        # "The notification includes the full task object", with its result. In a notification of a task that no client
        # follows, a server could mention URIs without having been called.
        resources = self.servers.resources
        if isinstance(news, TaskChanged) and news.is_followed and resources.note_task(news.server, news.params):
            log_contested(resources, news.server)
        if not is_for_client(news, self.servers, self.state, self):
            return
        server, params = news.server, news.params
        if isinstance(news, ElicitationComplete):
            params = renamed(params, partial(self.elicitation_id_for_client, server))
        params = self.state.tasks.translate(server, params)
        if isinstance(news, TaskChanged) and self.usage is not None:
            self.usage.on_task_news(params)
        self._tell_front(news if params is news.params else structs.replace(news, params=params))

    def _on_change(self) -> None:
        """Release the calls that waited for lists; notify the client of changed lists soon, and log problems."""
        self.state.lists.release_settled()
        if not self._is_change_due:
            self._is_change_due = True
            self.later(COALESCE_SECONDS, self._tell_of_changes)
        self._problems.on_change()

    def _tell_of_changes(self) -> None:
        """Notify the client of lists that a server announced as changed, or that differ from those shown last."""
        self._is_change_due = False
        if self.servers.catalog.merge_long(Kind.TOOLS) or self.state.presentation.advance_shown():
            self._is_change_due = True
            self.later(0, self._tell_of_changes)
            return
        changed = self.state.presentation.changed() | self._announced
        self._announced.clear()
        if changed:
            self._tell_front(CatalogChanged(changed))
        # Templates are not matched: a server may list thousands of them, and change them as often as it likes.
        for key, (uri, act) in list(self._unlisted.items()):
            if self.servers.catalog.owner(uri) is not None:
                del self._unlisted[key]
                act()
