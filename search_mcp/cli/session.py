"""The backends of a configuration, run inside a command: remembered or started, asked, stopped.

Decides which of them a command needs, how long to wait for them, and what a signal does. A person in
front of a terminal is a client without capabilities: whatever a server asks is refused, and what is
remembered for one command is good for the next.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
from anyio.abc import TaskStatus

from search_mcp.backends.dependencies import Dependencies, in_thread
from search_mcp.backends.pins import TrustStore
from search_mcp.backends.process.launching import without_threads
from search_mcp.catalog import profiles
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import Item, fold
from search_mcp.catalog.named_items import NamedItems
from search_mcp.catalog.profiles import Profile
from search_mcp.catalog.shown_names import ShownNames, Spellings
from search_mcp.cli.memory import Memory, Remembered
from search_mcp.cli.problem import InterruptionError
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.dialects import names
from search_mcp.folders import cache_folder, trust_folder
from search_mcp.gateway.engine import Aggregate
from search_mcp.gateway.own_tools import OwnTools
from search_mcp.model.calls import Call, Outcome, Question, Viewer
from search_mcp.model.names import Action, Era, Kind
from search_mcp.model.servers import Opening, ServerFacts, Status
from search_mcp.wire import payload
from search_mcp.wire.errors import method_not_found
from search_mcp.wire.inflight import Cancel, Reason
from search_mcp.wire.structs import Fields, Raw, altered

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Open

LISTING_SECONDS = 15.0
"""How long a server may take to list what it has, once it is open."""
ENDING_SIGNALS: Final = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]
KILL: Final[int] = getattr(signal, "SIGKILL", signal.SIGTERM)

_Answer = TypeVar("_Answer")
_NOBODY_KNOWN = Viewer(None, object_output_only=False)


@dataclass(frozen=True)
class Person:
    """The `Caller` of every call of a command."""

    viewer: Viewer = _NOBODY_KNOWN
    capabilities: Fields = field(default_factory=dict)
    info: Raw | None = None
    log_level: str | None = None

    def ask(self, question: Question, call: Call | None) -> Cancel:
        question.answer(method_not_found(f"{question.ask.value} (a command in a terminal answers no questions)"))
        return _nothing


_PERSON = Person()
_OPENING = Opening(Era.MODERN, names.MODERN[0], {}, payload.encode(names.CLIENT_INFO))


class Session:
    """Remembered and running backends, as a command uses them.

    `left_alone` has the standing of servers that the command has nothing to do with.
    """

    def __init__(
        self, config: Config, aggregate: Aggregate, memory: Memory, left_alone: Mapping[str, Status], *, runs: bool
    ) -> None:
        self.config = config
        self._left_alone, self._runs = left_alone, runs
        self._aggregate, self._router = aggregate, aggregate.router
        self._memory = memory
        self.audience = aggregate.router.audience(_PERSON.viewer)
        facts = {
            server.name: ServerFacts(server.description or "", server.tags, server.read_only)
            for server in config.servers
        }
        length = config.settings.description_length
        self._spellings = Spellings(self.catalog)
        self.own_tools = OwnTools(self._spellings, facts, self._router.statuses, length)

    @property
    def catalog(self) -> Catalog:
        return self._router.catalog

    def changes(self) -> Iterable[tuple[str, str]]:
        """Give what of the servers is not as it was when first seen, by server."""
        return self._router.changes()

    def differences(self) -> "dict[str, list[Open]]":
        """Give by server every difference between what was accepted and what it lists now.

        Raises:
            OSError: what was accepted cannot be read.
        """
        return {backend.name: backend.opened() for backend in self._aggregate.backends}

    @property
    def tools(self) -> NamedItems:
        return self.catalog.tools()

    @property
    def age_seconds(self) -> float | None:
        """How old the oldest part of the catalogue is, if any was remembered."""
        return self._memory.age_seconds_used

    def shown_names(self) -> ShownNames:
        return self._spellings.of(Kind.TOOLS, self.audience.profile)

    def find(self, name: str) -> Item | None:
        """Find a tool by any of its names."""
        return self.shown_names().find(name)

    def instructions(self) -> str:
        """What a client is told of the servers."""
        return self._router.instructions(_PERSON.viewer)

    def statuses(self) -> list[Status]:
        """Every server's standing, in order.

        `ready`, `remembered`, `failed`, `disabled`, `held`, still `starting`, or `unknown` where nothing is started. A
        server that waits for its next attempt has failed, as far as a command is concerned.
        """
        return [self._left_alone.get(each.server) or self._verdict(each) for each in self._router.statuses()]

    def _verdict(self, status: Status) -> Status:
        if status.state in ("ready", "disabled", "held"):
            return status
        if status.state == "stopped" and self.has_listed(status.server):
            return altered(status, state="remembered")
        if status.reason is not None:
            return altered(status, state="failed")
        return altered(status, state="starting" if self._runs else "unknown")

    def needed_for(self, tool: str) -> list[Status]:
        """The standing of the servers whose prefix a name carries."""
        prefixed = {server.name for server in self.config.servers if has_prefix(server, tool)}
        return [status for status in self.statuses() if status.server in prefixed]

    def failures(self) -> list[Status]:
        """The enabled servers whose tools are missing."""
        return [status for status in self.statuses() if status.state in ("failed", "held", "starting", "unknown")]

    def awaited(self) -> str:
        """Say what is still being waited for."""
        missing = [
            status.server
            for status in self.statuses()
            if status.state == "starting" or (status.state == "ready" and not self.has_listed(status.server))
        ]
        return f"starting {', '.join(missing)}" if missing else "starting"

    def has_listed(self, server: str) -> bool:
        """Whether all lists of a server are known, or known not to be had."""
        return all(self.catalog.is_known(server, kind) for kind in Kind)

    async def settle(self, kinds: Iterable[Kind]) -> None:
        """Wait until every server has listed these kinds, or is known not to."""
        for kind in kinds:
            await _answer(partial(self._router.merged_list, kind, _PERSON.viewer))

    async def call(self, name: str, arguments: Fields, report: Callable[[Fields], None]) -> Outcome:
        """Call a tool by any of its names."""

        def submit(reply: Callable[[Outcome], None]) -> Cancel:
            params = {"arguments": payload.encode(arguments)}
            return self._router.submit(
                Call(Action.CALL_TOOL, name, params, {}, _PERSON, reply, report),
            )

        return await _answer(submit)


async def _answer(ask: Callable[[Callable[[_Answer], None]], Cancel]) -> _Answer:
    """Wait for what is given by a callback; cancelled, cancel it."""
    answers: list[_Answer] = []
    answered = anyio.Event()

    def reply(answer: _Answer) -> None:
        answers.append(answer)
        answered.set()

    cancel = ask(reply)
    try:
        await answered.wait()
    finally:
        if not answers:
            cancel(payload.encode("interrupted"))
    return answers[0]


def run(
    config: Config,
    profile: Profile | None,
    believe: Callable[[Path], Memory],
    work: Callable[[Session], Awaitable[_Answer]],
    left_alone: Mapping[str, Status] = MappingProxyType({}),
) -> _Answer:
    """Do something with the backends of a configuration; when this returns or raises, they are gone.

    Which of them are started follows from what is believed of the catalogue cache.

    Raises:
        InterruptionError: a signal came.
        Problem: whatever `work` raised.
    """

    async def main() -> _Answer:
        without_threads()
        session, aggregate = _assemble(config, profile, believe, left_alone)

        async def with_backends() -> _Answer:
            async with aggregate.running():
                aggregate.router.open(_OPENING)
                return await work(session)

        return await interruptible(with_backends, aggregate.signal)

    return alone(lambda: anyio.run(main))


def run_alone(work: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Do something without any backends.

    Raises:
        InterruptionError: a signal came.
        Problem: whatever `work` raised.
    """
    return alone(lambda: anyio.run(interruptible, work, lambda _signal: None))


def alone(act: Callable[[], _Answer]) -> _Answer:
    """Take a single exception out of the groups that task groups wrap around it."""
    try:
        return act()
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
            inner = inner.exceptions[0]
        raise inner from inner.__cause__


def recall(config: Config, profile: Profile | None, look: Callable[[Session], _Answer]) -> _Answer:
    """Look at what is remembered of the backends; none is started."""

    async def main() -> _Answer:
        session, aggregate = _assemble(config, profile, Remembered, {}, runs=False)
        aggregate.router.recall(_OPENING)
        await aggregate.compare_recalled()
        return look(session)

    return asyncio.run(main())  # anyio's own runner would be loaded for nothing


def _assemble(
    config: Config,
    profile: Profile | None,
    believe: Callable[[Path], Memory],
    left_alone: Mapping[str, Status],
    *,
    runs: bool = True,
) -> tuple[Session, Aggregate]:
    memory = believe(cache_folder())
    adapted = altered(
        config,
        settings=altered(config.settings, first_list_seconds=_patience(config)),
        servers=tuple(altered(server, startup=memory.startup) for server in config.servers),
    )
    patient = altered(profile or profiles.CANONICAL, patience_seconds=float("inf"))
    dependencies = Dependencies(
        max_message_bytes=config.settings.max_message_bytes,
        cache=memory,
        trust=TrustStore(trust_folder()),
        aside=in_thread if runs else _at_once,
    )
    aggregate = Aggregate(adapted, patient, dependencies)
    return Session(config, aggregate, memory, left_alone, runs=runs), aggregate


async def _at_once(act: Callable[[], _Answer], /) -> _Answer:
    """Do what may block here: nothing else runs while a command looks at what is remembered."""
    return act()


def _patience(config: Config) -> float:
    return max([server.start_timeout_seconds for server in config.servers], default=0.0) + LISTING_SECONDS


# Signals


async def interruptible(work: Callable[[], Awaitable[_Answer]], send_signal: Callable[[int], None]) -> _Answer:
    """Do something; on a signal doom the children at once, on the second kill them.

    Raises:
        InterruptionError: a signal came, and `work` has cleaned up.
    """
    received: list[int] = []
    answers: list[_Answer] = []
    scope = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        await tasks.start(_listen, received, scope, send_signal)
        with scope:
            answers.append(await work())
        tasks.cancel_scope.cancel()
    if received:
        raise InterruptionError(received[0])
    return answers[0]


async def _listen(
    received: list[int],
    scope: anyio.CancelScope,
    send_signal: Callable[[int], None],
    *,
    task_status: TaskStatus[None],
) -> None:
    try:
        with anyio.open_signal_receiver(*ENDING_SIGNALS) as signals:
            task_status.started()
            async for number in signals:
                received.append(number)
                send_signal(signal.SIGTERM if len(received) == 1 else KILL)
                scope.cancel()
    except NotImplementedError:  # Windows: Python raises KeyboardInterrupt by itself
        task_status.started()


# Which backends a command needs


def only(config: Config, servers: Collection[str]) -> Config:
    """Leave all other servers alone."""
    narrowed = [server if server.name in servers else altered(server, enabled=False) for server in config.servers]
    return altered(config, servers=tuple(narrowed))


def needed(config: Config, tools: Sequence[str]) -> Config:
    """Leave those servers alone that cannot have tools of these names, however the names are spelled.

    A server without a prefix may have any name; a name that fits no prefix is looked for everywhere.
    """
    wanted = {server.name for server in config.servers if server.prefix == ""}
    for tool in tools:
        prefixed = {server.name for server in config.servers if has_prefix(server, tool)}
        if not prefixed:
            return config
        wanted |= prefixed
    return only(config, wanted)


def owners(config: Config, profile: Profile | None, tools: Sequence[str]) -> Config:
    """Leave those servers alone that do not have these tools: as is remembered, or else as their names tell."""
    within = needed(config, tools)
    found = recall(within, profile, lambda session: [session.find(tool) for tool in tools])
    owning = {item.server for item in found if item is not None}
    return only(config, owning) if all(found) else within


def has_prefix(server: ServerConfig, tool: str) -> bool:
    """Whether a name may be one of a server's, going by its beginning."""
    prefix = server.name if server.prefix is None else server.prefix
    rest = profiles.without_registration(tool) or tool
    return prefix != "" and any(fold(name).startswith(fold(prefix) + "_") for name in (tool, rest))


def _nothing(_reason: Reason) -> None:
    """Nothing is under way, so there is nothing to cancel."""
