"""One client, scripted servers, and the real search-mcp between them, with a clock that the test controls.

    def test_a_backend_asks_during_a_call(pair):            # pair: legacy/modern x legacy/modern
        pair.front.opens(elicitation={})
        pair.front.calls("alpha.greet")
        pair.alpha.asks(who=elicit("Your name?"))
        pair.front.is_asked(elicit("Your name?")).answers(accept(name="Ada"))
        pair.alpha.gets(who=accept(name="Ada"))
        pair.alpha.returns(text("hello Ada"))
        pair.front.gets(text("hello Ada"))

Every message must be expected: a message that is unread at the end fails the test.
"""

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

import anyio

from conversations.back import Back, FakeChannel
from conversations.front import Front
from conversations.neighbour import Neighbour
from conversations.stillness import StillLoop
from conversations.transcript import Transcript
from conversations.vault import Vault
from conversations.words import text
from search_mcp.backends.cache import CatalogCache
from search_mcp.backends.dependencies import Dependencies, LastCall
from search_mcp.backends.last_uses import LastUses
from search_mcp.backends.pins import TrustStore
from search_mcp.backends.process.launching import Command
from search_mcp.background import Apart, RunBlocking, at_once, run_in_place
from search_mcp.catalog.profiles import Profile
from search_mcp.config.schema import Config, ServerConfig, Settings
from search_mcp.config.subset import parse
from search_mcp.fronts.connection import Front as Face
from search_mcp.fronts.serve import LAST_ANSWERS_SECONDS
from search_mcp.gateway.gateway import Gateway
from search_mcp.pool.known_servers import KnownServer
from search_mcp.pool.pool import Pool
from search_mcp.results.kept_results import KeptFiles, KeptResults
from search_mcp.results.process_results import ProcessResults
from search_mcp.results.result_search import search
from search_mcp.wire.structs import replace

Answer = TypeVar("Answer")

POOLED = "SEARCH_MCP_POOLED" in os.environ
"""Whether the servers of every test are those of a pool; by default, only in tests that say so."""
CONFIGURATION_FOLDER = "/home/test/config"


KEEPS_NOTHING = KnownServer("pypi:alpha", "1", "it is modern", folder=True)


class KnowingPool(Pool):
    """A pool of several clients in which modern servers are known to keep nothing between calls."""

    def __init__(self, backs: Mapping[str, Back]) -> None:
        super().__init__(is_shared=True)
        self._backs = backs

    def _known(self, config: ServerConfig) -> KnownServer | None:
        back = self._backs.get(config.name)
        return KEEPS_NOTHING if back is not None and back.is_modern else None


class Pair:
    """The client, the servers and search-mcp of a scenario."""

    def __init__(self, front: str, back: str, *, is_beside_a_busy_client: bool = False) -> None:
        self.loop = StillLoop()
        self.transcript = Transcript()
        self.settings: dict[str, Any] = {}
        self.profile: Profile | None = None
        """Client profile from search-mcp's command line."""
        self.front = Front(self, front)
        self.others: list[Front] = []
        """Clients that share search-mcp with `front`."""
        self.is_pooled = POOLED or is_beside_a_busy_client
        """Whether the servers are those of a pool, which other clients can join."""
        self.subset: str | None = None
        """The option `--servers` of the client that comes next."""
        self._subsets: WeakKeyDictionary[Gateway, str | None] = WeakKeyDictionary()
        self.pool: Pool | None = None
        self.commands: list[Command] = []
        """Commands of all processes that were started."""
        self._faces: dict[Front, Face] = {}
        # Of the clients that joined a pool.
        self._gateways: dict[Front | Neighbour, tuple[Gateway, anyio.Event, asyncio.Task[None]]] = {}
        self.neighbour = Neighbour(self) if is_beside_a_busy_client else None
        """A busy client on the same pool."""
        self.backs: dict[str, Back] = {}
        self.alpha = self.with_server("alpha", back)
        self.gateway: Gateway | None = None
        self._face: Face | None = None
        self._cache: CatalogCache | None = None
        self._last_uses: LastUses | None = None
        self._usage_file: Path | None = None
        self.trust: TrustStore | None = None
        self.run_blocking: RunBlocking = run_in_place
        self.watched: dict[Any, Any] = {}
        """Watched files of servers under development."""
        self.vault = Vault()
        self._kept_results: KeptResults | None = None
        self._ended = anyio.Event()
        self._over = False

    @property
    def eras(self) -> tuple[str, str]:
        """Eras of the client and of alpha."""
        front, alpha = ("modern" if each.is_modern else "legacy" for each in (self.front, self.alpha))
        return front, alpha

    def with_server(self, name: str, revision: str | None = None, **config: Any) -> Back:
        """Add a server to the configuration; call it before the client sends a message."""
        self.backs[name] = back = Back(self, name, revision or self.alpha.revision)
        back.config = config
        return back

    def remembers_in(self, folder: Path) -> None:
        """Use a cache; without one, no list outlives a process of search-mcp."""
        self._cache = CatalogCache(folder)

    def knows_last_uses_in(self, folder: Path) -> None:
        """Record when tools were last called: `startup: "auto"` starts only servers called recently."""
        self._last_uses = LastUses(folder, self._wall_clock)

    def records_in(self, file: Path) -> None:
        """Record tool calls in a file, at once when they are due."""
        self._usage_file = file

    def keeps_results_in(self, folder: Path, write: Apart = at_once) -> None:
        """Shorten long results; searches in them are carried out here."""
        self._kept_results = KeptResults(KeptFiles(folder), write, at_once, search)

    def _load_kept_results(self) -> KeptResults:
        assert self._kept_results is not None, "results are limited: say where they are kept"
        return self._kept_results

    def was_here_before(self, folder: Path) -> None:
        """Use a cache, filled by an earlier session of the client."""
        self.remembers_in(folder)
        self.front.opens()
        self.comes_back()

    def distrusts_in(self, folder: Path) -> None:
        """Record the first definitions of tools."""
        self.trust = TrustStore(folder)

    def accepts(self, name: str, *tools: str) -> None:
        """Accept the current definitions of these tools of a server, as the user."""
        assert self.trust is not None
        assert self.gateway is not None
        backend = next(each for each in self.gateway.leases if each.name == name)
        config = next(each for each in self._config().servers if each.name == name)
        shown = [each for each in backend.opened() if not tools or each.name in tools]
        assert {each.name for each in shown} >= set(tools), f"not changed, of {tools}: {shown}"
        self.trust.accept(config, shown)
        self.looks_at_trust()

    def looks_at_trust(self) -> None:
        """Let the running search-mcp notice that definitions were accepted."""
        assert self.gateway is not None
        task = self.loop.create_task(self.gateway.leases.look_at_trust())
        self.settle()
        while not task.done():  # in some tests a comparison takes time
            self.after(0.1)
        task.result()

    # Events

    def feed(self, data: bytes, front: Front | None = None) -> None:
        """Feed bytes from a client to search-mcp."""
        if self._face is None:
            self._face = self._start()
        face = self._face if front is None else self._faces.get(front, self._face)
        self.loop.call_soon(face.peer.feed, data)
        self.settle()
        self.lets_neighbour_act()

    def lets_neighbour_act(self) -> None:
        """Let the busy client do something, once the first client has opened."""
        if self.neighbour is None or self.gateway is None or self.loop.is_running() or self._over:
            return
        if self.gateway.opening is not None and not self.neighbour.is_open:
            self._opens_neighbour(self.neighbour)
        if self.neighbour.is_open:
            self.neighbour.acts()

    def _opens_neighbour(self, neighbour: Neighbour) -> None:
        gateway = self._join_pool(neighbour, self._world_of(neighbour), self.profile)
        face = Face(gateway, neighbour.hear, 1 << 20)

        def feed(data: bytes) -> None:
            self.loop.call_soon(face.peer.feed, data)
            self.settle()

        neighbour.opens(feed)

    def _world_of(self, neighbour: Neighbour) -> dict[str, Any]:
        """Return the dependencies of a busy client that differ from the client's."""
        return {"spawn": neighbour.spawn}

    def joined_by(self, revision: str, profile: Profile | None = None, **world: Any) -> Front:
        """Connect another client to the pool of the first one, which has sent a message.

        `world` replaces dependencies of its gateway.
        """
        front = Front(self, revision, f"front {len(self.others) + 2}")
        face = Face(self._join_pool(front, world, profile), front.hear, 1 << 20)
        self._faces[front] = face
        self.others.append(front)
        return front

    def left_by(self, front: Front, seconds: float = 0) -> None:
        """Close the connection of a client that joined; its gateway may take some time to end."""
        self.loop.call_soon(self._faces.pop(front).close)
        self.settle()
        _, ended, task = self._gateways.pop(front)
        ended.set()
        self.settle()
        self.after(seconds)
        assert task.done(), "the gateway of a client that left does not end"
        task.result()

    def cut_off(self, front: Front) -> None:
        """End the gateway of a client of a pool, without closing its session first."""
        self._faces.pop(front)
        _, ended, task = self._gateways.pop(front)
        ended.set()
        self.settle()
        assert task.done(), "the gateway of a client that left does not end"
        task.result()

    def each_calls(self, *fronts: Front) -> list[int]:
        """Let each client call alpha and get its result; return the process that served each."""
        pids = []
        for front in fronts:
            call = front.calls("alpha.echo")
            served = self.alpha.is_called("echo")
            pids.append(self.alpha.channel.pid)
            served.returns(text(front.name))
            call.gets(text(front.name))
        return pids

    def settle(self) -> None:
        """Run until nothing is left to do at this time, and raise the first fault."""
        if not self.loop.is_running():
            self.loop.settle()
            self._raise_fault()

    def after(self, seconds: float) -> None:
        """Let time pass."""
        if self.neighbour is not None and not self.loop.is_running():
            self.neighbour.waits()
        self.loop.let_pass(seconds)
        self._raise_fault()

    def ends(self) -> None:
        """Close our stdin, as the client does; search-mcp starts its exit."""
        self._over = True
        self._ended.set()
        self.settle()

    def comes_back(self) -> None:
        """End the client and search-mcp, and start both anew."""
        self.nothing_is_left()
        self._end()
        self._face, self._ended = None, anyio.Event()
        self._gateways.clear()
        if self.neighbour is not None:
            self.neighbour = Neighbour(self)
        self.front.starts_anew()
        for back in self.backs.values():
            back.heard, back.channels = [], []

    def client_stops_reading(self) -> None:
        """Stop reading as a client; then no server may be read either."""
        assert self.gateway is not None
        self.gateway.leases.pause_reading()

    def client_reads_on(self) -> None:
        self.reads_on(self.front)

    def stops_reading(self, front: Front) -> None:
        """Stop reading as one client of a pool."""
        self.gateway_of(front).leases.pause_reading()

    def reads_on(self, front: Front) -> None:
        self.loop.call_soon(self.gateway_of(front).leases.resume_reading)
        self.settle()

    def gateway_of(self, front: Front) -> Gateway:
        gateway = self._gateways[front][0] if front in self._gateways else self.gateway
        assert gateway is not None
        return gateway

    def edit(self) -> None:
        """Write the configuration with the current `backs`."""
        assert self.gateway is not None
        for gateway in (self.gateway, *(gateway for gateway, _, _ in self._gateways.values())):
            self.loop.call_soon(gateway.reconfigure, self._config(self._subsets.get(gateway)))
        self.settle()

    def terminates(self) -> None:
        """Send a signal to search-mcp."""
        assert self.pool is not None
        self.loop.call_soon(self.pool.terminate)
        self.settle()

    def edit_of(self, front: Front) -> None:
        """Apply the current `backs` to the gateway of one client of a pool."""
        gateway = self.gateway_of(front)
        self.loop.call_soon(gateway.reconfigure, self._config(self._subsets.get(gateway)))
        self.settle()

    @contextlib.contextmanager
    def judging(self) -> Iterator[None]:
        """Keep faults until the next verb of the test: here search-mcp is running and would catch an exception."""
        try:
            yield
        except AssertionError as exc:
            self.transcript.faults.append(str(exc))

    def _raise_fault(self) -> None:
        if self.transcript.faults:
            raise AssertionError(self.transcript.faults.pop(0))

    # Internals

    def _wall_clock(self) -> float:
        return time.time() + self.loop.time()

    def _config(self, subset: str | None = None) -> Config:
        servers = tuple(self._server(name, back) for name, back in self.backs.items())
        config = Config(servers, Settings(**self.settings), ())
        return config if subset is None else parse(subset).of(config)

    def _gateway(self, dependencies: Dependencies, profile: Profile | None) -> Gateway:
        """Make the gateway of the client that comes next."""
        assert self.pool is not None
        made = Gateway(
            self._config(self.subset),
            dependencies,
            self.pool,
            profile,
            results=ProcessResults(self._load_kept_results),
            shared_folder=CONFIGURATION_FOLDER if self.is_pooled else None,
            is_on_page=self.is_pooled,  # as in an engine
        )
        self._subsets[made] = self.subset
        return made

    def _server(self, name: str, back: Back) -> ServerConfig:
        # A modern server is known to keep nothing after its first start only.
        share = {"share": True} if self.neighbour is not None and back.is_modern else {}
        return ServerConfig(name=name, command=sys.executable, args=(name,), **{**share, **back.config})

    def _dependencies(self) -> Dependencies:
        return Dependencies(
            spawn=self._spawn,
            clock=self.loop.time,
            last_call=LastCall(self.loop.time),
            jitter=lambda: 1.0,
            wall_clock=self._wall_clock,
            cache=self._cache,
            last_uses=self._last_uses,
            usage_file=self._usage_file,
            trust=self.trust,
            run_blocking=self.run_blocking,
            watched=self.watched,
            run_command=self.vault.run,
            variables={},
            home="/home/test",
        )

    def _start(self) -> Face:
        self._world = world = self._dependencies()
        faces: list[Face] = []

        def start() -> None:  # inside a running loop, as in production
            self.pool = KnowingPool(self.backs) if self.is_pooled else Pool()
            self.gateway = self._gateway(world, self.profile)
            face = Face(self.gateway, self.front.hear, 1 << 20)
            faces.append(face)

        self.loop.set_exception_handler(lambda _loop, context: self.transcript.faults.append(str(context)))
        self.loop.call_soon(start)
        self.settle()
        self._task = self.loop.create_task(self._live(faces[0]))
        self.settle()
        return faces[0]

    async def _live(self, face: Face) -> None:
        """Run the session as `server.serve` does."""
        assert self.gateway is not None
        assert self.pool is not None
        async with self.pool.running(), self.gateway.running():
            await self._ended.wait()
            for _, ended, task in self._gateways.values():
                ended.set()
                await task
            face.peer.half_close()
            face.end_subscriptions()
            with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                await face.peer.answered()
            face.close()

    def _join_pool(self, front: Front | Neighbour, world: dict[str, Any], profile: Profile | None) -> Gateway:
        gateways: list[Gateway] = []

        def start() -> None:
            gateways.append(self._gateway(replace(self._world, **world), profile))

        self.loop.call_soon(start)
        self.settle()
        ended = anyio.Event()

        async def live() -> None:
            async with gateways[0].running():
                await ended.wait()

        self._gateways[front] = gateways[0], ended, self.loop.create_task(live())
        self.settle()
        return gateways[0]

    async def _spawn(
        self, command: Command, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> FakeChannel:
        self.commands.append(command)
        return await self.backs[command.args[0]].spawn(on_stdout, on_end)

    def _end(self) -> None:
        self._ended.set()
        self.loop.let_pass(60)
        assert self._task.done(), "search-mcp does not end"
        self._task.result()

    def __enter__(self) -> Self:
        log = logging.getLogger("search_mcp")
        log.addHandler(self.transcript)
        log.setLevel(logging.INFO)
        return self

    def nothing_is_left(self) -> None:
        """Raise if there is a message that the test did not expect."""
        self._raise_fault()
        if self._over:
            return
        for front in (self.front, *self.others):
            front.hears_nothing()
        for back in self.backs.values():
            back.hears_nothing()

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if self._face is not None:
            self._end()
        logging.getLogger("search_mcp").removeHandler(self.transcript)
        self.loop.close()
