"""The configured servers of one client: their entries, leases, merged lists and URIs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from search_mcp.catalog import remarks
from search_mcp.catalog.about import about
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.in_common import InCommon
from search_mcp.catalog.items import Item
from search_mcp.catalog.shown_names import Spellings
from search_mcp.catalog.uris import ResourceMap
from search_mcp.config.held_command import held_command
from search_mcp.config.schema import Config, ServerConfig, Settings
from search_mcp.dialects import MergedCapabilities
from search_mcp.model.errors import NotRunning, NotStarting
from search_mcp.model.names import GIVEN_UP, Kind, State
from search_mcp.model.servers import Freshness, ServerCapabilities, ServerFacts, Status
from search_mcp.own_tools.finding import Finders
from search_mcp.pool.lease import Lease
from search_mcp.wire.structs import Raw

if TYPE_CHECKING:
    from search_mcp.semantic.meanings import Meanings

LINE_LENGTH = 160
"""Characters of the instructions that go to one server."""
ENDED_STATES = GIVEN_UP | {State.BACKING_OFF, State.DISABLED, State.HELD}
"""States in which a backend has no list to wait for."""


class Servers:
    """The servers of one configuration."""

    def __init__(
        self,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        in_common: InCommon,
        meanings: "Callable[[], Meanings | None]" = lambda: None,
    ) -> None:
        self._clock, self.wall_clock = clock, wall_clock
        self.catalog = Catalog((), in_common.named_once)
        self.spellings = Spellings(self.catalog)
        self.resources = ResourceMap(self.catalog)
        self.backends: Mapping[str, Lease] = {}
        """The backends of all servers that may run, by name."""
        self.configs: Mapping[str, ServerConfig] = {}
        """All entries by name, in the order of the configuration."""
        self.enabled: Sequence[str] = ()
        self.unlimited: frozenset[str] = frozenset()
        """The servers whose results may have any length."""
        self.settings = Settings()
        self.facts: Mapping[str, ServerFacts] = {}
        self.configuration_error: str | None = None
        """The reason why the last edit of the configuration is not in effect; `None` if it is."""
        self.notice = ""
        """A sentence for the model about the selection of the servers; empty if there is nothing to say."""
        self.finders = Finders(self.catalog, lambda: self.facts, self.statuses, in_common, meanings)

    def configure(self, config: Config, backends: Mapping[str, Lease]) -> None:
        """Apply a configuration, with one backend for every server that may run."""
        servers, self.settings, self.notice = config.servers, config.settings, config.notice
        replaced = {name for name, backend in self.backends.items() if backends.get(name) is not backend}
        self.configs = {each.name: each for each in servers}
        self.enabled = [each.name for each in servers if each.may_run]
        self.unlimited = frozenset(each.name for each in servers if each.max_result_characters is None)
        self.backends = backends
        enabled, switched_off = ([each for each in servers if each.may_run is on] for on in (True, False))
        self.catalog.configure(enabled, replaced, [*switched_off, *config.outside])
        self.facts = {
            each.name: ServerFacts(each.description or "", each.tags, each.read_only, each.noun) for each in servers
        }

    # States

    def statuses(self) -> list[Status]:
        """Every configured server's state, disabled ones included, in the order of the configuration."""
        return [self.status(name) for name in self.configs]

    def status(self, server: str) -> Status:
        backend = self.backends.get(server)
        if backend is not None:
            return backend.status
        config = self.configs[server]
        if config.enabled and config.held is not None:
            held = config.held
            return Status(server, State.HELD, held.reason, command=held_command(config), remedy=held.remedy)
        remedy = config.command_for("enable")
        return Status(server, State.DISABLED, "it is disabled in the configuration", remedy=remedy)

    def not_running(self, status: Status) -> NotRunning:
        """Return the error for using a server that does not run."""
        return (NotStarting if self.configs[status.server].watch else NotRunning)(status)

    def limit_seconds(self, server: str) -> float | None:
        """Return the time that a call may wait until its server is ready, in seconds."""
        config = self.configs[server]
        limits = [each for each in (config.call_timeout_seconds, config.max_call_seconds) if each is not None]
        return min(limits, default=None)

    def was_alone(self, server: str) -> bool:
        """Return whether a server has, and had, no other client."""
        return server not in self.backends or self.backends[server].was_alone

    # Capabilities

    def capabilities(self) -> MergedCapabilities:
        """Merge the backends' capabilities; while one of them is unknown, every capability is offered."""
        statuses = [backend.status for backend in self.backends.values()]
        known = [status.capabilities for status in statuses if status.capabilities is not None]
        awaited = [status.capabilities for status in statuses if status.state not in ENDED_STATES]
        hopeful = None in awaited
        extensions: dict[str, Raw] = {}
        for each in known:
            extensions = (each.extensions or {}) | extensions  # the first server that declares one decides its settings
        own = {Kind.TOOLS, Kind.RESOURCES} if self.catalog.limits_results else {Kind.TOOLS}  # shortened results
        return MergedCapabilities(
            kinds=frozenset(Kind) if hopeful else frozenset(own.union(*map(self._declared, statuses))),
            logging=hopeful or any(each.logging for each in known),
            completions=hopeful or any(each.completions for each in known),
            subscribe=hopeful or any(each.subscribe for each in known),
            extensions=extensions,
            may_have_more_extensions=any(each is None or each.extensions is None for each in awaited),
            tasks=tuple(each.tasks for each in known if isinstance(each.tasks, Raw)),
            # Not hopefully: "Clients MUST NOT call `resources/directory/read` against a server that has not declared"
            reads_directories=any(each.reads_directories for each in known),
        )

    def _declared(self, status: Status) -> frozenset[Kind]:
        """Return the kinds of lists for which a server makes search-mcp declare a capability.

        Hidden resources are among them, because a result may refer to one, which the client then reads.
        """
        kinds = status.capabilities.kinds if status.capabilities is not None else frozenset[Kind]()
        return kinds - ({Kind.PROMPTS} & self.configs[status.server].switched_off)

    def only_server(self, can: Callable[[ServerCapabilities], bool]) -> str | None:
        """Find the only server with a capability; `None` while another server's capabilities are unknown."""
        found = {name: self.status(name).capabilities for name in self.enabled}
        able = [name for name, each in found.items() if each is None or can(each)]
        return able[0] if len(able) == 1 and found[able[0]] is not None else None

    def with_skills(self) -> list[Lease]:
        """Give the backends that are known to have skills, in the order of the configuration."""
        found = ((backend, backend.status.capabilities) for backend in self.backends.values())
        return [backend for backend, each in found if each is not None and Kind.SKILLS in each.kinds]

    def can_subscribe(self, uri: str) -> bool:
        """Return whether a resource belongs, or may belong, to a server that has subscriptions."""
        server = self.resources.owner(uri)
        if server is None:
            return self.capabilities().subscribe
        capabilities = self.status(server).capabilities
        return capabilities is None or capabilities.subscribe

    def listing_tasks(self) -> list[Lease]:
        """Give the backends that can be asked for a list of their tasks."""
        found = ((backend, backend.status.capabilities) for backend in self.backends.values())
        return [backend for backend, each in found if each is not None and each.lists_tasks]

    # Lists

    def about(self) -> Sequence[str]:
        """Write one line about each enabled server: its number of tools, whether it runs, and its purpose."""
        return [self._about(server) for server in self.enabled]

    def _about(self, server: str) -> str:
        status, count = self.status(server), self.catalog.count(server)
        said = [] if count is None else ["1 tool" if count == 1 else f"{count} tools"]
        if status.state in ENDED_STATES or status.failed_lately:
            said.append("not running")
        name = f"{server} ({', '.join(said)})" if said else server
        purpose = about(self.configs[server], status.capabilities, self._tools_of(server), LINE_LENGTH)
        return f"{name}: {purpose}" if purpose else name

    def _tools_of(self, server: str) -> Iterator[Item]:
        # A generator, so that nothing is merged for the first answer unless a line needs it.
        yield from (item for item in self.catalog.tools() if item.server == server and item.is_for_models)

    def may_come(self, server: str, kind: Kind) -> bool:
        """Return whether a list is unknown and may still be read."""
        return not self.catalog.is_known(server, kind) and self.status(server).state not in ENDED_STATES

    def due_change(self, server: str, kind: Kind) -> Callable[[], bool] | None:
        """Return a function that is true until the announced change is read; `None` if no change was announced."""
        return self.backends[server].due_change(kind) if server in self.backends else None

    def has_entries(self, kinds: frozenset[Kind]) -> bool:
        """Return whether any server's list of these kinds has an entry."""
        return any(self.catalog.has_entries(kind) for kind in kinds)

    def is_filling(self, kind: Kind) -> bool:
        """Return whether a server's list of this kind is not known and the server may still start."""
        return any(
            not self.catalog.is_known(server, kind) and self.status(server).state not in GIVEN_UP | {State.DISABLED}
            for server in self.enabled
        )

    def freshness(self, kind: Kind) -> Freshness:
        """Return how long the merged list of this kind may be cached from now on."""
        return Freshness() if self.is_filling(kind) else self.catalog.freshness(kind, self._clock())

    def is_without_tools(self) -> bool:
        """Return whether a server that runs, or may start, has no list of tools here."""
        return any(
            self.status(server).state not in GIVEN_UP
            for server in self.enabled
            if not self.catalog.is_known(server, Kind.TOOLS) or self.catalog.is_unlistable(server, Kind.TOOLS)
        )

    def changed_about(self) -> Collection[str]:
        """Name the servers whose title or instructions are not what was first seen or accepted."""
        return [name for name in self.backends if self.status(name).is_about_changed]

    def changes(self) -> Iterable[tuple[str, str]]:
        """Give by server what is not as it was when first seen."""
        return remarks.changes(self.catalog, self.changed_about())
