"""The client of an aggregator: the `Gateway` of its front dialects, and the filter for the servers' notifications.

Several clients may share a server. A session gets the notifications that belong to its own calls, subscriptions, tasks
and elicitations. A client that is alone gets everything that a server sends, as if it were connected to the server.
"""

import logging
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

from search_mcp.catalog.profiles import Audience, Profile, first_list_patience
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.dialects import CatalogChanged, Listing, MergedCapabilities
from search_mcp.dialects.asking import elicitation_id, renamed
from search_mcp.dialects.params import is_wanted
from search_mcp.gateway.client_state import ClientState
from search_mcp.gateway.listings import COALESCE_SECONDS, Presentation, instructions
from search_mcp.gateway.servers import Servers
from search_mcp.gateway.waiting import AwaitedLists, in_slices
from search_mcp.model.calls import Call, CallLater, Viewer
from search_mcp.model.names import Action, Kind
from search_mcp.model.servers import (
    ElicitationComplete,
    ListChanged,
    LogMessage,
    News,
    Opening,
    ResourceUpdated,
    StateChanged,
    TaskChanged,
)
from search_mcp.wire import structs
from search_mcp.wire.errors import WireError
from search_mcp.wire.pending import Pending, unheard

if TYPE_CHECKING:
    from search_mcp.gateway.router import Router
    from search_mcp.own_tools.own_tools import OwnTools
    from search_mcp.results.client_results import ClientResults
    from search_mcp.results.kept_results import KeptResults
    from search_mcp.usage.client_usage import ClientUsage
    from search_mcp.usage.queue import UsageQueue

log = logging.getLogger(__name__)

_RECORDED = frozenset({Action.CALL_TOOL, Action.GET_TASK, Action.GET_TASK_RESULT, Action.CANCEL_TASK})
"""Calls of tools, and those that may get the outcome of one that became a task."""
DEFAULT_LOG_LEVEL = "info"
"""The least severe log messages for a client that set no level, once it shares the servers with others."""


class ClientAggregator(Protocol):
    """The parts of the aggregator that a session uses."""

    @property
    def servers(self) -> Servers: ...
    @property
    def usage_queue(self) -> "UsageQueue | None": ...
    @property
    def kept_results(self) -> "KeptResults | None":
        """The files of shortened results; `None` if results are not shortened, as in commands."""
        ...

    def is_task_of_another(self, server: str, task: str) -> bool:
        """Return whether another client of a server has a task, by the server's own id."""
        ...

    def is_alone(self, server: str) -> bool:
        """Return whether a server has, and had, no other client."""
        ...

    def recall(self, opening: Opening) -> None:
        """Publish the cached lists of the backends, unless they were opened already."""
        ...

    def open(self, opening: Opening) -> None:
        """Open the backends for the client."""
        ...

    def set_log_level(self, level: str) -> None: ...
    def roots_changed(self) -> None:
        """Tell the backends that the client's roots changed."""
        ...


class Session:
    """One client."""

    def __init__(
        self,
        aggregator: ClientAggregator,
        profile: Profile | None,
        later: CallLater,
    ) -> None:
        self.tell_front: Callable[[News | CatalogChanged], None] = lambda _news: None
        self.opening: Opening | None = None
        """The opening of the client; `None` before it."""
        self._aggregator, self._servers, self.later = aggregator, aggregator.servers, later
        self.state = ClientState(
            Presentation(self._servers.spellings, self._servers.settings, profile),
            AwaitedLists(self._servers.may_come, self._servers.has_entries, later),
            self._load_own_tools,
            aggregator.is_task_of_another,
            aggregator.is_alone,
            self._load_results,
        )
        # Functions that wait until a server lists a resource, each with the URI, by a key for its cancellation.
        self._unlisted: dict[object, tuple[str, Callable[[], None]]] = {}
        self._announced: set[Kind] = set()  # lists that a server announced as changed, until the client is notified
        self._is_change_due = self._is_closed = False
        self._usage: ClientUsage | None = None  # since the first tool call

    def _load_own_tools(self) -> "OwnTools":
        servers = self._servers
        from search_mcp.own_tools.own_tools import OwnTools

        return OwnTools(
            servers.spellings,
            lambda: servers.facts,
            servers.statuses,
            lambda: servers.settings.description_length,
            lambda: servers.configuration_error,
            servers.finders,
            lambda: servers.notice,
        )

    def _load_results(self) -> "ClientResults | None":
        kept = self._aggregator.kept_results
        if kept is None:
            return None
        from search_mcp.results.client_results import ClientResults

        return ClientResults(kept, self.later)

    @property
    def own_tools(self) -> "OwnTools":
        return self.state.own_tools

    def configure(self) -> None:
        """Apply the configuration that the servers have now."""
        self.state.presentation.configure(self._servers.settings)

    def has_task(self, server: str, task: str) -> bool:
        """Return whether a task of a server, by the server's own id, is this client's."""
        return self.state.tasks.known(server, task) is not None

    # The `Gateway` of the front dialects

    def recall(self, opening: Opening) -> None:
        """Publish the cached lists of the backends for such a client; start nothing."""
        self._aggregator.recall(opening)

    def open(self, opening: Opening) -> None:
        """Open the backends for this client; a second opening changes nothing."""
        if self.opening is not None:
            return
        self.opening = opening
        self._aggregator.open(opening)
        for backend in self._servers.backends.values():
            if backend.status.failed_lately:
                self.state.lists.expect_nothing(backend.name)

    def audience(self, viewer: Viewer) -> Audience:
        """Choose the profile and the limits of a list that this viewer is shown."""
        return self.state.audience(viewer)

    def shown_names(self, kind: Kind, viewer: Viewer) -> ShownNames:
        """Give the names of the tools or prompts as this viewer is shown them."""
        return self._servers.spellings.of(kind, self.audience(viewer).profile)

    def capabilities(self) -> MergedCapabilities:
        return self._servers.capabilities()

    def instructions(self, viewer: Viewer) -> str:
        """Write how tools are named and found, and one line about each server."""
        return instructions(self._servers.about(), self.audience(viewer).profile, self._servers.notice)

    def can_subscribe(self, uri: str) -> bool:
        return self._servers.can_subscribe(uri)

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

    def set_log_level(self, level: str) -> None:
        self.state.log_level = level
        self._aggregator.set_log_level(level)

    def roots_changed(self) -> None:
        self._aggregator.roots_changed()

    @cached_property
    def _router(self) -> "Router":
        from search_mcp.gateway.router import Router

        return Router(self._servers, self.state, self.later)

    def submit(self, call: Call) -> None:
        """Carry out a call at the backend that owns its target; answer at once if none does."""
        is_recorded = call.action in _RECORDED and self._servers.settings.usage
        usage = (self._usage or self._load_usage()) if is_recorded else None
        (usage or self._router).submit(call)

    def _load_usage(self) -> "ClientUsage | None":
        usage_queue = self._aggregator.usage_queue
        if usage_queue is not None:
            from search_mcp.usage.client_usage import ClientUsage

            self._usage = ClientUsage(usage_queue, self._router.submit)
        return self._usage

    def finish_usage(self) -> None:
        """Record the calls that became tasks, if their outcome was not read."""
        if self._usage is not None and self._servers.settings.usage:
            self._usage.close()

    def merged_list(
        self, kind: Kind, viewer: Viewer, reply: Pending[Listing | WireError], *, hears_news: bool = False
    ) -> None:
        """Give a merged list, as soon as it is whole or the client should wait no longer.

        `hears_news`: the client has asked to be told when this list changes.
        """

        def give() -> None:
            reply(self._listing(kind, viewer))
            for backend in self._servers.backends.values():
                backend.look_again(kind)

        profile = self.audience(viewer).profile
        patience = first_list_patience(profile, self._servers.settings.first_list_seconds, hears_news=hears_news)

        def prepare() -> None:
            in_slices(lambda: self.state.presentation.advance(kind, viewer), give, reply, self.later)

        self.state.lists.when_settled(frozenset({kind}), self._servers.enabled, prepare, reply, patience)

    def _listing(self, kind: Kind, viewer: Viewer) -> Listing:
        """Make the list that the client is shown now."""
        if kind is Kind.TOOLS:
            self.state.listed_unlimited = self._servers.unlimited
            if self._servers.is_without_tools():
                self.state.presentation.note_partial()
        items = self.state.presentation.show(kind, viewer)
        return Listing(items, self._servers.freshness(kind))

    # Notifications of servers

    def on_list(self, news: ListChanged) -> None:
        """Record that a server's list is known, and whether the server announced it as changed."""
        self.state.lists.on_news(news.server, news.kind)
        if news.is_announced:
            self._announced.add(news.kind)

    def on_change(self) -> None:
        """Release the calls that waited for lists, and notify the client soon of changed lists."""
        self.state.lists.release_settled()
        if not self._is_change_due:
            self._is_change_due = True
            self.later(COALESCE_SECONDS, self._tell_of_changes)

    def _tell_of_changes(self) -> None:
        """Notify the client of lists that a server announced as changed, or that differ from those shown last."""
        self._is_change_due = False
        if self._is_closed:
            return
        if self._servers.catalog.merge_long(Kind.TOOLS) or self.state.presentation.advance_shown():
            self._is_change_due = True
            self.later(0, self._tell_of_changes)
            return
        changed = self.state.presentation.changed() | self._announced
        self._announced.clear()
        if changed:
            self.tell_front(CatalogChanged(changed))
        # Templates are not matched: a server may list thousands of them, and change them as often as it likes.
        for key, (uri, act) in list(self._unlisted.items()):
            if self._servers.catalog.owner(uri) is not None:
                del self._unlisted[key]
                act()

    def on_news(self, news: News) -> None:
        """Pass a server's notification on, if it is meant for this client."""
        if isinstance(news, ListChanged | StateChanged) or not self._is_for_client(news):
            return
        server, params = news.server, news.params
        if isinstance(news, ElicitationComplete):
            params = renamed(params, partial(self.elicitation_id_for_client, server))
        params = self.state.tasks.translate(server, params)
        if isinstance(news, TaskChanged) and self._usage is not None:
            self._usage.on_task_news(params)
        self.tell_front(news if params is news.params else structs.replace(news, params=params))

    def _is_for_client(self, news: ResourceUpdated | LogMessage | ElicitationComplete | TaskChanged) -> bool:
        is_alone = self.state.is_alone(news.server)
        match news:
            case ResourceUpdated(server, uri):
                is_for_client = self._is_update_wanted(server, uri)
            case ElicitationComplete(server, params):
                given = elicitation_id(params)
                is_for_client = given is not None and self.state.elicitations.known(server, given) is not None
            case LogMessage():
                is_for_client = is_alone or self._is_log_wanted(news)
            case TaskChanged(server, params):
                is_for_client = is_alone or self.state.tasks.knows_named(server, params)
        if is_alone and not is_for_client:
            why = "it is about a resource of another server, or an unknown elicitation"
            log.debug("! %s: %s is not passed on: %s", news.server, type(news).__name__, why)
        return is_for_client and not self.state.names_task_of_another(news.server, news.params)

    def _is_update_wanted(self, server: str, uri: str) -> bool:
        """Return whether the client gets an update of a resource from this server.

        It does if it subscribed to the resource at this server. If no other server owns the resource, it also does if
        it subscribed to a parent of it, or if this server owns the resource and the client is alone.
        """
        if self.state.subscriptions.has(server, uri):
            return True
        # Templates are not matched: a server may send any URI as often as it likes, and list thousands of them.
        owner = self._servers.catalog.owner(uri)
        owner = owner or self._servers.only_server(lambda able: Kind.RESOURCES in able.kinds)
        if owner == server and self.state.is_alone(server):
            return True
        return owner in (None, server) and self.state.subscriptions.cover(server, uri)

    def _is_log_wanted(self, message: LogMessage) -> bool:
        """Return whether a log message is of this client's call, or of no call, and as severe as it wants."""
        if message.call is None:
            return is_wanted(message.params, self.state.log_level or DEFAULT_LOG_LEVEL)
        caller = message.call.caller
        return caller.session is self and is_wanted(message.params, caller.log_level or DEFAULT_LOG_LEVEL)
