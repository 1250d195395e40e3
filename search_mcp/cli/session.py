"""The servers of a configuration inside a command: read from the cache, or started, called and stopped.

Decides how long a command waits for them. A person at a terminal counts as a client without capabilities: questions of
a server are refused, and the lists that one command caches are good for the next.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import anyio
import anyio.lowlevel

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.pins import TrustStore
from search_mcp.backends.process.launching import without_threads
from search_mcp.background import run_in_place, run_in_thread
from search_mcp.catalog import profiles
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import Item
from search_mcp.catalog.named_items import NamedItems
from search_mcp.catalog.profiles import Profile
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.cli.command_cache import CachedLists, CommandCache
from search_mcp.cli.interruption import interruptible, unwrapped
from search_mcp.cli.needed_servers import has_prefix, needed, only
from search_mcp.config.schema import Config
from search_mcp.engine.meeting import is_supported
from search_mcp.folders import cache_folder, trust_folder
from search_mcp.gateway.gateway import Gateway
from search_mcp.gateway.person import OPENING, Person
from search_mcp.model.calls import Call, Outcome, Reply
from search_mcp.model.errors import ToolNotUnique
from search_mcp.model.names import GIVEN_UP, Action, Kind, State
from search_mcp.model.servers import Status
from search_mcp.own_tools.own_tools import OwnTools
from search_mcp.own_tools.wanted import Wanted
from search_mcp.pool.pool import Pool
from search_mcp.wire import payload
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import Fields, replace

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Open
    from search_mcp.search import Meaning

MEANING_SECONDS = 5.0
"""Time limit for the meaning of a query: about as long as 250 vectors take."""
MEANING_PAUSE_SECONDS = 0.1
LISTING_SECONDS = 15.0
"""Time limit for the lists of a server after its start."""
_Answer = TypeVar("_Answer")
_PERSON = Person()


class Session:
    """The servers of a configuration, cached or running, as a command uses them.

    `left_alone` holds the status of servers that the command does not use, `person` makes the calls.
    """

    def __init__(
        self,
        config: Config,
        gateway: Gateway,
        cache: CommandCache | None = None,
        left_alone: Mapping[str, Status] = MappingProxyType({}),
        person: Person = _PERSON,
        *,
        runs: bool = False,
    ) -> None:
        self.config = config
        self._left_alone, self._runs = left_alone, runs
        self._is_settled = False
        self._gateway, self._person = gateway, person
        self._cache = cache
        self.audience = gateway.audience(person.viewer)

    def read_cache(self) -> None:
        """Read the cached lists; start no server."""
        self._gateway.recall(OPENING)

    def start(self) -> None:
        """Start the servers that the command needs."""
        self._gateway.open(OPENING)

    @property
    def own_tools(self) -> OwnTools:
        return self._gateway.state.own_tools

    @property
    def catalog(self) -> Catalog:
        return self._gateway.servers.catalog

    def changes(self) -> Iterable[tuple[str, str]]:
        """Return server and text of each change since the definitions were first seen or accepted."""
        return self._gateway.servers.changes()

    def differences(self) -> "dict[str, list[Open]]":
        """Return the differences between the accepted and the listed definitions, by server.

        Raises:
            OSError: the record of accepted definitions cannot be read.
        """
        return {backend.name: backend.opened() for backend in self._gateway.leases}

    @property
    def tools(self) -> NamedItems:
        return self.catalog.tools()

    @property
    def age_seconds(self) -> float | None:
        """Age of the oldest cached list in use; None if none is."""
        return self._cache.age_seconds_used if self._cache is not None else None

    def shown_names(self) -> ShownNames:
        return self._gateway.shown_names(Kind.TOOLS, self._person.viewer)

    def find(self, name: str) -> Item | None:
        """Return the tool of a name, in any spelling."""
        return self.shown_names().find(name)

    def ambiguity(self, name: str) -> ToolNotUnique | None:
        """Return the error about a bare name that tools of several servers have; `None` if it is no such name."""
        return self.shown_names().ambiguity(name)

    def instructions(self) -> str:
        """Return the instructions for a client."""
        return self._gateway.instructions(self._person.viewer)

    def statuses(self) -> list[Status]:
        """Return the status of each server, in order of the configuration.

        The states are `ready`, `known` (cached), `failed`, `needs a login`, `disabled`, `held`, `starting`, and
        `unknown` if the server is neither cached nor started. A server that waits for its next start, or did not
        answer in time, counts as failed.
        """
        return [
            self._left_alone.get(each.server) or self._of_command(each) for each in self._gateway.servers.statuses()
        ]

    def _of_command(self, status: Status) -> Status:
        if status.state in (State.READY, State.DISABLED, State.HELD, State.NEEDS_LOGIN):
            return status
        if status.lacked_login:
            return replace(status, state=State.NEEDS_LOGIN)
        if status.reason is not None:
            return replace(status, state=State.FAILED)
        if status.state is State.STOPPED and self.has_listed(status.server):
            return replace(status, state=State.KNOWN)
        if self._is_settled:
            return replace(
                status, state=State.FAILED, reason='it did not answer in time; raise its "startTimeoutSeconds"'
            )
        return replace(status, state=State.STARTING if self._runs else State.UNKNOWN)

    def needed_for(self, tool: str) -> list[Status]:
        """Return the status of the servers whose prefix a name begins with."""
        prefixed = {server.name for server in self.config.servers if has_prefix(server, tool)}
        return [status for status in self.statuses() if status.server in prefixed]

    def failures(self) -> list[Status]:
        """Return the status of the enabled servers whose tools are missing."""
        return [status for status in self.statuses() if status.state in GIVEN_UP | {State.HELD, State.UNKNOWN}]

    def awaited(self) -> str:
        """Return a line about the servers that are awaited."""
        missing = [
            status.server
            for status in self.statuses()
            if status.state is State.STARTING or (status.state is State.READY and not self.has_listed(status.server))
        ]
        return f"starting {', '.join(missing)}" if missing else "starting"

    def has_listed(self, server: str) -> bool:
        """Return whether every list of a server is known, or has failed."""
        return all(self.catalog.is_known(server, kind) for kind in Kind)

    async def settle(self, kinds: Iterable[Kind]) -> None:
        """Wait until every server has listed these kinds, or has failed to."""
        for kind in kinds:
            await answer(partial(self._gateway.merged_list, kind, self._person.viewer))
        self._is_settled = True

    async def call(self, name: str, arguments: Fields, report: Callable[[Fields], None]) -> Outcome:
        """Call a tool, by any spelling of its name."""
        params, person = {"arguments": payload.encode(arguments)}, self._person
        return await outcome(
            lambda reply: self._gateway.submit(Call(Action.CALL_TOOL, name, params, None, person, reply, report))
        )

    @property
    def meaning_problem(self) -> str:
        """The reason why queries have no meaning now; empty if there is none, or none is known."""
        return self._gateway.meanings.problem

    async def meaning_of(self, wanted: Wanted) -> "Meaning | None":
        """Return the meaning of a query, if it can be known in some seconds; vectors are made meanwhile."""
        await self._gateway.meanings.prepare()
        finder, ends = self.own_tools.finders[wanted.search_kind], time.monotonic() + MEANING_SECONDS
        while finder.advance():
            await anyio.lowlevel.checkpoint()  # the page is shown by a process that does other work, too
        query = wanted.query
        while finder.wants_meaning(query) and not self.meaning_problem and (left := ends - time.monotonic()) > 0:
            meaning: Meaning | None = await answer(partial(finder.ask, query, patience_seconds=left))
            if meaning is not None:
                return meaning
            await anyio.sleep(MEANING_PAUSE_SECONDS)  # time to make vectors
        return None


async def answer(ask: Callable[[Pending[_Answer]], None]) -> _Answer:
    """Wait for the answer to a request; a cancelled wait cancels the request."""
    return cast(_Answer, await _answer(ask, Pending))


async def outcome(ask: Callable[[Reply], None]) -> Outcome:
    """Wait for the outcome of a call; a cancelled wait cancels the call."""
    return cast(Outcome, await _answer(ask, Reply))


async def _answer(ask: Callable[[Any], None], make: type[Pending[Any]]) -> object:
    answers: list[object] = []
    answered = anyio.Event()

    def take(answer: object) -> None:
        answers.append(answer)
        answered.set()

    reply = make(take)
    ask(reply)
    try:
        await answered.wait()
    finally:
        reply.cancel(payload.encode("interrupted"))
    return answers[0]


def run(
    config: Config,
    profile: Profile | None,
    open_cache: Callable[[Path], CommandCache],
    work: Callable[[Session], Awaitable[_Answer]],
    left_alone: Mapping[str, Status] = MappingProxyType({}),
) -> _Answer:
    """Run a function with the servers of a configuration, and stop them afterwards.

    `open_cache` opens the cache; which servers are started follows from it.

    Raises:
        InterruptionError: a signal stopped the command.
        Problem: raised by `work`.
    """

    async def main() -> _Answer:
        without_threads()
        # With an engine, servers say whether its clients share them.
        pool = Pool(is_shared=config.settings.engine == "shared" and is_supported(sys.platform))
        session, gateway = _assemble(config, profile, open_cache, left_alone, pool)

        async def with_backends() -> _Answer:
            async with pool.running(), gateway.running():
                session.start()
                return await work(session)

        return await interruptible(with_backends, pool.terminate, pool.abort)

    return unwrapped(lambda: anyio.run(main))


def run_alone(work: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Run a function without any servers.

    Raises:
        InterruptionError: a signal stopped the command.
        Problem: raised by `work`.
    """
    return unwrapped(lambda: anyio.run(interruptible, work))


def read_cache(
    config: Config,
    profile: Profile | None,
    look: Callable[[Session], _Answer],
    prepare: Callable[[Session], Awaitable[None]] | None = None,
) -> _Answer:
    """Run a function with the cached servers, after another one that may wait; none is started."""

    async def main() -> _Answer:
        session, gateway = _assemble(config, profile, CachedLists, {}, Pool(), runs=False)
        session.read_cache()
        await gateway.leases.compare_recalled()
        if prepare is not None:
            await prepare(session)
        gateway.meanings.end()
        return look(session)

    return asyncio.run(main())  # loads less than anyio.run


def _assemble(
    config: Config,
    profile: Profile | None,
    open_cache: Callable[[Path], CommandCache],
    left_alone: Mapping[str, Status],
    pool: Pool,
    *,
    runs: bool = True,
) -> tuple[Session, Gateway]:
    dependencies = Dependencies(
        max_message_bytes=config.settings.max_message_bytes,
        trust=TrustStore(trust_folder()),
        run_blocking=run_in_thread if runs else run_in_place,
    )
    cache = open_cache(cache_folder())
    gateway = patient_gateway(config, replace(dependencies, cache=cache), pool, profile, startup=cache.startup)
    return Session(config, gateway, cache, left_alone, runs=runs), gateway


def patient_gateway(
    config: Config,
    dependencies: Dependencies,
    pool: Pool,
    profile: Profile | None = None,
    *,
    startup: Literal["eager", "lazy"],
    shared_folder: str | None = None,
) -> Gateway:
    """Return a gateway whose lists wait as long as its servers may take."""
    adapted = replace(
        config,
        settings=replace(config.settings, first_list_seconds=_patience(config)),
        # Commands restart nothing, so they have no `restart_server` either.
        servers=tuple(replace(server, startup=startup, watch=()) for server in config.servers),
    )
    patient = replace(profile or profiles.CANONICAL, patience_seconds=float("inf"))
    return Gateway(adapted, dependencies, pool, patient, shared_folder=shared_folder)


def _patience(config: Config) -> float:
    return max([server.start_timeout_seconds for server in config.servers], default=0.0) + LISTING_SECONDS


def owners(config: Config, profile: Profile | None, tools: Sequence[str]) -> Config:
    """Disable the servers that do not have these tools, going by the cache, else by the tools' names."""
    within = needed(config, tools)
    found = read_cache(within, profile, lambda session: [session.find(tool) for tool in tools])
    owning = {item.server for item in found if item is not None}
    return only(config, owning) if all(found) else within
