"""From a call to the backend that owns its target, and from backends' news to what a client is told.

Decides who carries out what, what waits for a list that is not there yet, and when a client's lists
did change. It knows the `Backend` protocol, not what is behind it, and no era: methods, `_meta` and
versions are the dialects'.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from search_mcp.catalog import arguments, profiles
from search_mcp.catalog.about import about
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import Item
from search_mcp.catalog.profiles import PARTIAL_SECONDS, Audience, CallTool, Patience, Profile, first_list_patience
from search_mcp.catalog.shown_names import ShownNames, Spellings
from search_mcp.catalog.uris import ResourceMap
from search_mcp.config.schema import ServerConfig, Settings, command_line
from search_mcp.dialects import CatalogChanged, Listing, MergedCapabilities
from search_mcp.dialects.asking import elicitation_id, renamed
from search_mcp.gateway import own_tool_definitions, own_tools
from search_mcp.gateway.listings import LINE_LENGTH, Presentation, instructions
from search_mcp.gateway.outcome_steps import Forwarded, OutcomeSteps, Step
from search_mcp.gateway.own_tool_definitions import CALL, CALL_READ_ONLY, CALLING, LIST_SERVERS, NAMES, SEARCH
from search_mcp.gateway.tasks import IdMap, TaskLists, TaskMap
from search_mcp.gateway.waiting import AwaitedLists, SlicedWork, WaitingCall, guarded
from search_mcp.model.calls import Call, Later, Result, Viewer
from search_mcp.model.errors import (
    HiddenByReadOnly,
    NotReadOnly,
    NotRunning,
    PromptNotFound,
    ResourceNotFound,
    SwitchedOff,
    TaskNotFound,
    ToolNotFound,
)
from search_mcp.model.names import Action, Kind, State
from search_mcp.model.servers import (
    Backend,
    ElicitationComplete,
    Freshness,
    ListChanged,
    News,
    Opening,
    ResourceUpdated,
    ServerCapabilities,
    ServerFacts,
    StateChanged,
    Status,
)
from search_mcp.model.similar import nearest
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import InternalError, WireError, invalid_params, method_not_found
from search_mcp.wire.inflight import NOTHING, Cancel
from search_mcp.wire.structs import EMPTY, Fields, Raw

log = logging.getLogger(__name__)

COALESCE_SECONDS = 0.05
"""How long changes are gathered before a client is told: a server that starts changes several lists."""
MOST_LOGGED = 20
"""How many problems of one server's lists are logged at a time; of the others only the number is."""
ENDED_STATES = frozenset({State.BACKING_OFF, State.FAILED, State.DISABLED, State.HELD})
"""States in which a backend has no list to wait for."""


class Router:
    """The middle of everything: the `Gateway` of the front dialects, and the ear of the backends."""

    def __init__(
        self,
        servers: Sequence[ServerConfig],
        settings: Settings,
        profile: Profile | None,
        later: Later,
        tell_front: Callable[[News | CatalogChanged], None],
    ) -> None:
        self._later = later
        self._tell_front = tell_front
        self._catalog = Catalog(())
        self._spellings = Spellings(self._catalog)
        self._presentation = Presentation(self._spellings, settings, profile)
        self._resources = ResourceMap(self._catalog)
        self._opening: Opening | None = None
        self._lists = AwaitedLists(self._may_come, self._has_entries, later)
        self._coalescing = False
        self._tasks = TaskMap()
        self._elicitations = IdMap()
        self._steps = OutcomeSteps(self._resources, self._tasks, self._elicitations)
        self._subscribed: dict[str, str] = {}  # the server that the client subscribed to each URI at
        self._problems: dict[tuple[str, str], None] = {}
        # The catalogue's version when its problems were last looked for, and the servers with changed instructions
        self._examined: tuple[int, Collection[str]] = -1, ()
        self._own = own_tools.OwnTools(self._spellings, {}, self.statuses, settings.description_length)
        self._backends: Mapping[str, Backend] = {}
        self._log_level: str | None = None
        self.configure(servers, settings, {})

    def configure(self, servers: Sequence[ServerConfig], settings: Settings, backends: Mapping[str, Backend]) -> None:
        """Go over to a configuration, with one backend for every server of it that may run."""
        self._configs = {config.name: config for config in servers}
        self._enabled = [config.name for config in servers if config.may_run]
        self._settings = settings
        self._presentation.configure(settings)
        replaced = {name for name, backend in self._backends.items() if backends.get(name) is not backend}
        if self._log_level is not None:
            for name in replaced | (backends.keys() - self._backends.keys()):
                if name in backends:
                    backends[name].set_log_level(self._log_level)
        self._backends = backends
        enabled, switched_off = ([config for config in servers if config.may_run is on] for on in (True, False))
        self._catalog.configure(enabled, replaced, switched_off)
        facts = {
            config.name: ServerFacts(config.description or "", config.tags, config.read_only) for config in servers
        }
        self._own.configure(facts, settings.description_length)
        self._on_change()

    def note_broken_edit(self, error: str | None) -> None:
        """Let a model know why an edit of the configuration has no effect; `None` once it has."""
        self._own.configuration_error = error

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    @property
    def opening(self) -> Opening | None:
        """How the client opened, once it did."""
        return self._opening

    def statuses(self) -> list[Status]:
        """Every configured server's state, disabled ones included, in the order of the configuration."""
        return [self._status(name) for name in self._configs]

    def _status(self, server: str) -> Status:
        backend = self._backends.get(server)
        if backend is None:
            config = self._configs[server]
            if config.enabled and config.held is not None:
                return Status(server, State.HELD, config.held, command=command_line(config))
            return Status(server, State.DISABLED, "it is disabled in the configuration")
        return backend.status

    # What front dialects ask

    def recall(self, opening: Opening) -> None:
        """Know what was known of the backends when such a client was last here; start nothing."""
        if self._opening is not None:
            return  # they are known as they are now
        for backend in self._backends.values():
            backend.recall(opening)

    def open(self, opening: Opening) -> None:
        """Start the backends for this client; a second opening changes nothing."""
        if self._opening is not None:
            return
        self._opening = opening
        for backend in self._backends.values():
            backend.open(opening)
            if backend.status.failed_lately:
                self._lists.expect_nothing(backend.name)

    def audience(self, viewer: Viewer) -> Audience:
        """For whom a list is made that somebody looks at."""
        return self._presentation.audience(viewer)

    def capabilities(self) -> MergedCapabilities:
        """What the backends can do; while one of them is still unknown, everything."""
        statuses = [backend.status for backend in self._backends.values()]
        found = [status.capabilities for status in statuses]
        known = [each for each in found if each is not None]
        hopeful = any(status.capabilities is None and status.state not in ENDED_STATES for status in statuses)
        return MergedCapabilities(
            kinds=frozenset(Kind) if hopeful else frozenset({Kind.TOOLS}.union(*(each.kinds for each in known))),
            logging=hopeful or any(each.logging for each in known),
            completions=hopeful or any(each.completions for each in known),
            subscribe=hopeful or any(each.subscribe for each in known),
            extensions={name: raw for each in known for name, raw in each.extensions.items()},
            tasks=tuple(each.tasks for each in known if isinstance(each.tasks, Raw)),
        )

    def instructions(self, viewer: Viewer) -> str:
        """Say how tools are named and found, and what each server says of itself, or the user of it."""
        return instructions({server: self._about(server) for server in self._enabled}, self.audience(viewer).profile)

    def _about(self, server: str) -> str:
        return about(self._configs[server], self._status(server).capabilities, self._tools_of(server), LINE_LENGTH)

    def _tools_of(self, server: str) -> Iterator[Item]:
        # A generator, so that nothing is merged for the first answer unless a line needs it.
        yield from (item for item in self._catalog.tools() if item.server == server and item.is_for_models)

    def merged_list(
        self, kind: Kind, viewer: Viewer, reply: Callable[[Listing | WireError], None], *, hears_news: bool = False
    ) -> Cancel:
        """Give a merged list, as soon as it is whole or the client should wait no longer.

        `hears_news`: the client has asked to be told when this list changes.
        """

        def give() -> None:
            try:
                listing: Listing | WireError = self._listing(kind, viewer)
            except Exception:  # a bug must cost its own request only
                log.exception("! bug while listing %s", kind.value)
                listing = InternalError()
            reply(listing)
            for backend in self._backends.values():
                backend.look_again(kind)

        profile = self.audience(viewer).profile
        patience = first_list_patience(profile, self._settings.first_list_seconds, hears_news=hears_news)
        sliced = SlicedWork(partial(self._presentation.advance, kind, viewer), give, self._later)
        return sliced.cancel_with(self._lists.when_settled(frozenset({kind}), self._enabled, sliced.run, patience))

    def set_log_level(self, level: str) -> None:
        self._log_level = level
        for backend in self._backends.values():
            backend.set_log_level(level)

    def roots_changed(self) -> None:
        for backend in self._backends.values():
            backend.roots_changed()

    def later(self, seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        return self._later(seconds, act)

    def submit(self, call: Call) -> Cancel:
        """Carry out a call at the backend that owns its target; answer at once if none does."""
        try:
            return self._routes[call.action](self, call)
        except WireError as error:
            call.reply(error)
            return NOTHING

    # Calls

    def _call_tool(self, call: Call) -> Cancel:
        call = self._unprefixed(Kind.TOOLS, call)
        params = arguments.with_object(call)
        if params is not call.params:
            call = structs.altered(call, params=params)
        if call.target in NAMES:
            return self._call_own(call)
        item = self._find(Kind.TOOLS, call)
        # "`model`: Tool is visible to and callable by the agent"
        if item is None or (call.by_name and not item.is_for_models):
            return self._call_unlisted(call, Kind.TOOLS, ToolNotFound)
        return self._call_found(call, item)

    def _call_found(self, call: Call, item: Item) -> Cancel:
        if call.unless_read_only is not None and not item.is_read_only:
            raise call.unless_read_only
        return self._call_listed(call, item)

    def _call_listed(self, call: Call, item: Item) -> Cancel:
        """Give a tool call to its server."""
        added = self._presentation.audience(call.caller.viewer).profile.added_arguments
        params = arguments.without_added(added, call, item) if added else call.params
        is_task = "task" in params
        forwarded = Forwarded(
            server=item.server,
            steps=self._steps.of_tool_call_as_task if is_task else self._steps.of_tool_call,
            reply=call.reply,
            secrets=self._configs[item.server].secrets,
            name=call.target,
            params=params,
            item=item,
        )
        report = self._tasks.translated_report(item.server, call.report) if is_task else call.report
        call = structs.altered(call, params=params, reply=forwarded.settle, report=report)
        return self._backends[item.server].submit(call, item.key)

    def _submit_to(self, server: str, call: Call, target: str, steps: Sequence[Step] | None = None) -> Cancel:
        """Give a call to a server whose results pass as they are."""
        forwarded = Forwarded(server, steps or self._steps.of_call, call.reply, self._configs[server].secrets)
        return self._backends[server].submit(structs.altered(call, reply=forwarded.settle), target)

    def _call_own(self, call: Call) -> Cancel:
        if call.target in (CALL, CALL_READ_ONLY):
            return self._call_by_name(call)
        given = payload.value(call.params.get("arguments", EMPTY))
        if not isinstance(given, dict):
            raise invalid_params("Invalid params: arguments must be an object")

        def run() -> None:
            call.reply(Result(self._own.run(call.target, given, self.audience(call.caller.viewer))))

        if call.target == LIST_SERVERS:
            run()
            return NOTHING
        patience = self._call_patience()
        if call.target != SEARCH:
            return self._lists.when_settled(frozenset({Kind.TOOLS}), self._enabled, guarded(call, run), patience)
        return self._search_when_settled(call, guarded(call, run), patience)

    def _call_patience(self) -> Patience:
        """How long a call waits for the lists of several servers."""
        setting = self._settings.first_list_seconds
        seconds = PARTIAL_SECONDS if setting == "auto" else setting
        return Patience(seconds, seconds)

    def _search_when_settled(self, call: Call, run: Callable[[], None], patience: Patience) -> Cancel:
        """Search when every tool is known, and indexed in slices between other calls.

        The index is not made before: a client whose model never searches is spared it, and it is as large as all lists.
        The first slice loads the search, so messages that came together with this call are handled before it.
        """
        sliced = SlicedWork(self._own.advance, run, self._later)
        search = guarded(call, sliced.run_later)
        return sliced.cancel_with(self._lists.when_settled(frozenset({Kind.TOOLS}), self._enabled, search, patience))

    def _call_by_name(self, call: Call) -> Cancel:
        """Carry out `call_tool`, or `call_read_only_tool`."""
        allowed = self._call_tool_setting(call)
        if call.target not in CALLING[allowed]:
            raise _switched_off(call.target, allowed)
        wrapped = payload.fields(call.params.get("arguments", EMPTY))
        name = payload.string(wrapped.get("name"))
        if not name or not {name, profiles.without_registration(name)}.isdisjoint((CALL, CALL_READ_ONLY)):
            raise invalid_params(f"Invalid params: {call.target} needs arguments.name, the name of a tool")
        params = payload.without(call.params, "arguments")
        if "arguments" in wrapped:
            params["arguments"] = wrapped["arguments"]
        refusal = (
            NotReadOnly(name, own_tool_definitions.how_to_call(allowed)) if call.target == CALL_READ_ONLY else None
        )
        return self._call_tool(
            structs.altered(call, target=name, params=params, by_name=True, unless_read_only=refusal)
        )

    def _call_tool_setting(self, call: Call) -> CallTool:
        return self._presentation.audience(call.caller.viewer).profile.call_tool

    def _use_prompt(self, call: Call) -> Cancel:
        call = self._unprefixed(Kind.PROMPTS, call)
        item = self._find(Kind.PROMPTS, call)
        if item is None:
            return self._call_unlisted(call, Kind.PROMPTS, PromptNotFound)
        return self._submit_to(item.server, call, item.key)

    def _find(self, kind: Kind, call: Call) -> Item | None:
        item = self._names(kind, call).spelled(call.target)
        return self._catalog.tools().for_apps.get(call.target) if item is None and kind is Kind.TOOLS else item

    def _names(self, kind: Kind, call: Call) -> ShownNames:
        return self._spellings.of(kind, self._presentation.audience(call.caller.viewer).profile)

    def _unprefixed(self, kind: Kind, call: Call) -> Call:
        """Take a client's own prefix for us off a name that means nothing with it."""
        rest = profiles.without_registration(call.target)
        if rest is None or self._find(kind, call) is not None:
            return call
        if any(own != call.target for _, own in self._prefixed(call.target, kind)):  # a server may be called so
            return call
        return structs.altered(call, target=rest)

    def _call_unlisted(self, call: Call, kind: Kind, not_found: Callable[[str, Sequence[str]], WireError]) -> Cancel:
        """Decide about a name that no list holds: its server may be starting, unlistable, or not running."""
        owners = list(self._prefixed(call.target, kind))
        for server, own in owners:
            status = self._status(server)
            if status.state in ENDED_STATES and status.state is not State.FAILED:
                raise NotRunning(server, status.state, status.reason, status.retry_after_seconds)
            if own in self._catalog.withheld(server, kind):
                raise self._catalog.why_withheld(server, kind, own, call.target)
            if kind is Kind.TOOLS and not self._catalog.is_admitted(server, own):
                continue
            if kind is Kind.TOOLS and self._catalog.is_hidden_by_read_only(server, own):
                raise HiddenByReadOnly(call.target, server)
            is_known = self._catalog.is_known(server, kind)
            if self._catalog.is_unlistable(server, kind) or (status.state is State.FAILED and not is_known):
                # Its list cannot be had, or only by starting it again: it is asked, and answers for itself.
                if kind is Kind.TOOLS:
                    return self._call_listed(call, Item(server, own, server, own, {}))
                return self._submit_to(server, call, own)
            if not is_known:
                return self._submit_when_settled(call, frozenset({kind}), [server])
            # Its list is known and does not hold this name; that of a server whose name begins alike may.
        if not owners and not self._lists.are_settled(frozenset({kind}), self._enabled):
            return self._submit_when_settled(call, frozenset({kind}), self._enabled)
        names = self._names(kind, call)
        item = names.bare(call.target)  # every list is known by now
        # What a page says goes through the same door, and it may call the tools of its own server only.
        if item is not None and not owners and not self._catalog.tools().servers_with_apps:
            return self._call_found(call, item) if kind is Kind.TOOLS else self._submit_to(item.server, call, item.key)
        hiding = [server for server in self._enabled if self._catalog.is_hidden_by_read_only(server, call.target)]
        if kind is Kind.TOOLS and len(hiding) == 1 and not owners:
            raise HiddenByReadOnly(call.target, hiding[0])
        ours = own_tool_definitions.existing(self._call_tool_setting(call)) if kind is Kind.TOOLS else ()
        raise not_found(call.target, names.near(call.target, ours))

    def _prefixed(self, name: str, kind: Kind) -> Iterable[tuple[str, str]]:
        """The servers whose prefix a name carries, the longest there is, with what comes behind it.

        A name without a prefix may be any server's that has none, of which it is not known what it has.
        """
        prefixes = self._catalog.prefixes
        owners, own = prefixes.split(name)
        if owners:
            yield from ((server, own) for server in self._configs if server in owners)
            return
        for server, config in self._configs.items():
            if (
                not config.effective_prefix
                and self._catalog.is_unlistable(server, kind)
                and prefixes.admits(server, name)
            ):
                yield server, name

    def _submit_when_settled(self, call: Call, kinds: frozenset[Kind], servers: Sequence[str]) -> Cancel:
        """Wait for lists of some servers, then submit the call again."""
        is_one = len(servers) == 1

        def too_late() -> WireError:
            status = self._status(servers[0])
            return NotRunning(status.server, status.state, status.reason or "it did not list what it has in time")

        def when_settled(act: Callable[[], None]) -> Cancel:
            return self._lists.when_settled(kinds, servers, act, None if is_one else self._call_patience())

        limit = self._limit_seconds(servers[0]) if is_one else None
        return WaitingCall(call, self.submit, too_late).wait(when_settled, self._later, limit)

    def _limit_seconds(self, server: str) -> float | None:
        """How long a call to a server may wait before it is there."""
        config = self._configs[server]
        limits = [each for each in (config.call_timeout_seconds, config.max_call_seconds) if each is not None]
        return min(limits, default=None)

    def _use_resource(self, call: Call) -> Cancel:
        kinds = frozenset({Kind.RESOURCES, Kind.TEMPLATES})
        server = self._resources.owner(call.target)
        if call.action is Action.UNSUBSCRIBE:
            server = self._subscribed.pop(call.target, server)
        if server not in self._backends:
            if not self._lists.are_settled(kinds, self._enabled):
                return self._submit_when_settled(call, kinds, self._enabled)
            completing = call.action is Action.COMPLETE_RESOURCE
            # Lists of resources need not be complete.
            server = self._only_server(lambda able: able.completions if completing else Kind.RESOURCES in able.kinds)
        if server is None:
            raise ResourceNotFound(call.target, nearest(call.target, self._resources.known()))
        if call.action in (Action.SUBSCRIBE, Action.UNSUBSCRIBE):
            capabilities = self._status(server).capabilities
            if capabilities is not None and not capabilities.subscribe:
                raise method_not_found(f"server {server!r} has no subscriptions")
        if call.action is Action.SUBSCRIBE:
            self._subscribed[call.target] = server
        return self._submit_to(server, call, call.target)

    def can_subscribe(self, uri: str) -> bool:
        """Whether a resource is, or may turn out to be, that of a server which tells of updates."""
        server = self._resources.owner(uri)
        if server is None:
            return self.capabilities().subscribe
        capabilities = self._status(server).capabilities
        return capabilities is None or capabilities.subscribe

    def _only_server(self, can: Callable[[ServerCapabilities], bool]) -> str | None:
        """The only server that can do something; as long as another is not known yet, there is none."""
        found = {name: self._status(name).capabilities for name in self._enabled}
        able = [name for name, each in found.items() if each is None or can(each)]
        return able[0] if len(able) == 1 and found[able[0]] is not None else None

    def _use_task(self, call: Call) -> Cancel:
        server, task = self._tasks.find(call.target) or (
            self._only_server(lambda able: able.has_tasks),
            call.target,
        )
        if server is None:  # a task outlives us, but several servers may have this one
            raise TaskNotFound(call.target)
        if server not in self._backends:
            status = self._status(server)
            raise NotRunning(server, status.state, status.reason)
        call = structs.altered(call, report=self._tasks.translated_report(server, call.report))
        return self._submit_to(server, call, task, self._steps.of_task_call)

    def task_id_for_client(self, server: str, task: str) -> str:
        return self._tasks.id_for_client(server, task)

    def elicitation_id_for_client(self, server: str, elicitation: str) -> str:
        return self._elicitations.id_for_client(server, elicitation)

    def _list_tasks(self, call: Call) -> Cancel:
        found = {name: self._status(name).capabilities for name in self._backends}
        having = [self._backends[name] for name, each in found.items() if each is not None and each.lists_tasks]
        return TaskLists(call, having, self._tasks.translate).gather()

    _routes: Mapping[Action, Callable[["Router", Call], Cancel]] = {
        Action.CALL_TOOL: _call_tool,
        Action.GET_PROMPT: _use_prompt,
        Action.COMPLETE_PROMPT: _use_prompt,
        Action.READ_RESOURCE: _use_resource,
        Action.COMPLETE_RESOURCE: _use_resource,
        Action.SUBSCRIBE: _use_resource,
        Action.UNSUBSCRIBE: _use_resource,
        Action.GET_TASK: _use_task,
        Action.GET_TASK_RESULT: _use_task,
        Action.UPDATE_TASK: _use_task,
        Action.CANCEL_TASK: _use_task,
        Action.LIST_TASKS: _list_tasks,
        Action.FOLLOW_TASK: _use_task,
        Action.UNFOLLOW_TASK: _use_task,
    }

    # Lists

    def _listing(self, kind: Kind, viewer: Viewer) -> Listing:
        """Make the list a client is shown now."""
        if kind is Kind.TOOLS and any(self._is_without_tools(server) for server in self._enabled):
            self._presentation.note_partial()
        items = self._presentation.show(kind, viewer)
        filling = any(
            not self._catalog.is_known(server, kind)
            and self._status(server).state not in (State.FAILED, State.DISABLED)
            for server in self._enabled
        )
        return Listing(items, Freshness() if filling else self._catalog.freshness(kind))

    def _is_without_tools(self, server: str) -> bool:
        """Whether a server that runs, or may yet, has no list of tools here."""
        is_listed = self._catalog.is_known(server, Kind.TOOLS) and not self._catalog.is_unlistable(server, Kind.TOOLS)
        return not is_listed and self._status(server).state is not State.FAILED

    def _may_come(self, server: str, kind: Kind) -> bool:
        """Whether a list is not known and may still be."""
        return not self._catalog.is_known(server, kind) and self._status(server).state not in ENDED_STATES

    def _has_entries(self, kinds: frozenset[Kind]) -> bool:
        """Whether any server's list of these kinds has something in it."""
        return any(self._catalog.has_entries(kind) for kind in kinds)

    # What backends tell

    def tell(self, news: News) -> None:
        """Take note of a backend's news, and pass on what concerns the client."""
        match news:
            case ListChanged(server, kind, page):
                self._lists.came(server, kind)
                self._catalog.put(server, kind, page)
                self._on_change()
            case StateChanged():
                self._on_change()
            case ResourceUpdated(server, uri) if not self._may_tell_of(server, uri):
                log.debug("! %s: an update of %s, which is not its own, is not passed on", server, uri)
            case ElicitationComplete(server, params) if not self._has_asked(server, params):
                log.debug("! %s: the end of an elicitation that it did not begin is not passed on", server)
            case ElicitationComplete(server, params):
                known = renamed(params, partial(self.elicitation_id_for_client, server))
                self._tell_front(structs.altered(news, params=self._tasks.translate(server, known)))
            case _:
                params = self._tasks.translate(news.server, news.params)
                self._tell_front(news if params is news.params else structs.altered(news, params=params))

    def _may_tell_of(self, server: str, uri: str) -> bool:
        """Whether a resource is a server's own, or what the client subscribed to there, or a part of that."""
        if self._subscribed.get(uri) == server:
            return True
        # Templates are not matched: a server may tell of any URI as often as it likes, and list thousands of them.
        owner = self._catalog.owner(uri) or self._only_server(lambda able: Kind.RESOURCES in able.kinds)
        # "This might be a sub-resource of the one that the client actually subscribed to."
        return owner == server or (
            owner is None
            and any(at == server and uri.startswith(f"{whole.rstrip('/')}/") for whole, at in self._subscribed.items())
        )

    def _has_asked(self, server: str, completed: Fields) -> bool:
        """Whether a server gave the client the elicitation that it says is complete."""
        given = elicitation_id(completed)
        return given is not None and self._elicitations.known(server, given) is not None

    def _on_change(self) -> None:
        self._lists.look()
        if not self._coalescing:
            self._coalescing = True
            self._later(COALESCE_SECONDS, self._tell_of_changes)

    def _tell_of_changes(self) -> None:
        """Tell the client of the lists that would look different now from how it was last shown them."""
        self._coalescing = False
        if self._catalog.merge_long(Kind.TOOLS) or self._presentation.advance_shown():
            self._coalescing = True
            self._later(0, self._tell_of_changes)
            return
        self._log_problems()
        changed = self._presentation.changed()
        if changed:
            self._tell_front(CatalogChanged(changed))

    def changes(self) -> Iterable[tuple[str, str]]:
        """Give what of the servers is not as it was when first seen, by server."""
        return self._catalog.changes(self._changed_about())

    def _changed_about(self) -> Collection[str]:
        return [name for name in self._backends if self._status(name).is_about_changed]

    def _log_problems(self) -> None:
        """Say once of each definition that was repaired or left out, and why."""
        changed = self._changed_about()
        if self._examined == (self._catalog.version, changed):
            return
        self._examined = self._catalog.version, changed
        found = (*self._catalog.problems(), *self._catalog.changes(changed))
        before, self._problems = self._problems, dict.fromkeys(found)
        told: Counter[str] = Counter()
        for server, problem in self._problems:
            if (server, problem) not in before:
                told[server] += 1
                if told[server] <= MOST_LOGGED:
                    log.warning("! %s: %s", server, problem)
        for server, count in told.items():
            if count > MOST_LOGGED:
                log.warning(
                    "! %s: %d more of its definitions are repaired or left out: run `%s`",
                    server,
                    count - MOST_LOGGED,
                    self._configs[server].check(),
                )


def _switched_off(name: str, allowed: CallTool) -> SwitchedOff:
    remedy = f"{CALL_READ_ONLY} calls read-only tools" if allowed == "read-only" else "call the tool by its name"
    return SwitchedOff(name, f'"callTool": "{allowed}"', remedy)
