"""One aggregator's use of a server of the pool, and the source of the backends of such an aggregator.

A lease stays the same while its server changes: its own that was never started, one that it shares, or again its own.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.held_calls import HeldCall
from search_mcp.backends.server_calls import Subscriptions
from search_mcp.catalog.in_common import InCommon
from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import asking
from search_mcp.model.calls import Call, InputRequired, Outcome
from search_mcp.model.errors import NotRunning
from search_mcp.model.names import Action, Era, Kind, State
from search_mcp.model.servers import News, Opening, StateChanged, Status
from search_mcp.pool.pool import Pool
from search_mcp.pool.pooled_server import PooledServer
from search_mcp.pool.running import AggregatedBackend
from search_mcp.pool.turns import KeptNews, Turn, Turns
from search_mcp.wire.pending import unheard
from search_mcp.wire.structs import replace

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Open
    from search_mcp.gateway.session import Session


class Lease:
    """One aggregator's use of a server: the backend of an aggregator that shares its process with others."""

    def __init__(
        self,
        pool: Pool,
        config: ServerConfig,
        publish: Callable[[News], None],
        client: "Callable[[], Session | None]",
        dependencies: Dependencies,
    ) -> None:
        self.config, self.publish, self.client, self.dependencies = config, publish, client, dependencies
        self.opening: Opening | None = None
        """The opening of its client; `None` before it."""
        self.log_level: str | None = None
        self._pool = pool
        self._predecessor: Lease | None = None
        self._is_over = False
        self._turns = Turns(config.name, pool.later, self._pass_on, self._is_alone, self._is_moved)
        self._kept = KeptNews()
        self._left: tuple[Subscriptions, list[HeldCall]] = {}, []  # when its client left a server that goes on
        self.server = PooledServer(pool, config, dependencies)  # started with the opening, unless another one serves
        self.server.begin_with(self)

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def status(self) -> Status:
        return replace(self.server.supervisor.status, sharing=self.server.describe_sharing())

    # For the pool

    def hear(self, news: News) -> None:
        """Pass news of the server on, or keep them while the client does not read."""
        if self._turns.is_paused and (self.server.was_shared or self._kept):  # else the server is not read, either
            self._kept.keep(news)
        else:
            self.publish(news)

    def move(self, server: PooledServer) -> None:
        """Use another server from now on."""
        self.server.leases.pop(self, None)
        self.server = server
        server.admit(self)

    def join(self, server: PooledServer) -> None:
        """Use another server from now on; calls that wait go there."""
        before = self.server
        self.move(server)
        before.supervisor.calls.give_to(server.supervisor.calls, self.is_of)
        if self.has_calls:
            server.note_caller(self)

    def separate(self) -> Subscriptions:
        """Use a server of its own from now on; calls that wait go there, calls in progress go on.

        Return the subscriptions that no client of the server before has any more.
        """
        assert self.opening is not None
        before, own = self.server, PooledServer(self._pool, self.config, self.dependencies)
        own.sharing = before.sharing
        self.move(own)
        own.supervisor.open(own.opening_for(self.opening))
        mine = self._subscriptions()
        own.supervisor.calls.renew(mine)
        before.supervisor.calls.give_to(own.supervisor.calls, self.is_of)
        self._pool.start(own)
        return before.keep_subscriptions(mine)

    def _subscriptions(self) -> Subscriptions:
        """Return the subscriptions of its client; a server remembers only who subscribed to a resource last."""
        session = self.client()
        subscriptions = () if session is None else session.state.subscriptions.at(self.name)
        return {
            (Action.SUBSCRIBE, each.uri): Call(Action.SUBSCRIBE, each.uri, {}, None, each.caller, unheard())
            for each in subscriptions
        }

    def is_of(self, call: Call) -> bool:
        """Return whether a call is of its client."""
        session = self.client()
        return session is not None and call.caller.session is session

    def leave(self) -> PooledServer:
        """End the use; return the server, which goes on if it has other clients."""
        if not self._is_over:
            self._is_over = True
            self.server.dismiss(self)
            if not self.server.is_ending:  # else they end with the server
                self._left = self.server.supervisor.calls.hand_over_of(self.server.is_of_no_client)
                self.server.end_subscriptions(self._left[0])
        return self.server

    def _refuse_left(self) -> None:
        """Refuse the calls that wait, because no server will take them."""
        subscriptions, held = self._left
        self._left = subscriptions, []
        for call in [turn.call for turn in self.take_turns()] + [each.call for each in held]:
            call.reply(NotRunning(self.name, State.STOPPED, "the configuration changed"))

    def _take_over(self, before: "Lease") -> None:
        """Take over the subscriptions and waiting calls of the lease of the entry before an edit."""
        supervisor, previous = self.server.supervisor, before.server.supervisor
        if before.server.leases or self.server.was_shared:
            supervisor.calls.renew(self._subscriptions())
            previous.calls.give_to(supervisor.calls, self.is_of)
        else:
            supervisor.succeed(previous)
        supervisor.calls.take_over(*before.hand_over())
        for turn in before.take_turns():
            self.submit(turn.call, turn.target)

    def hand_over(self) -> tuple[Subscriptions, list[HeldCall]]:
        """Give up the subscriptions and waiting calls that its clients had when they left the server."""
        left, self._left = self._left, ({}, [])
        return left

    def take_turns(self) -> list[Turn]:
        """Give up the calls that wait for their turn."""
        return self._turns.take()

    # For the aggregator

    def is_started_like(self, config: ServerConfig) -> bool:
        """Return whether an edited entry is served by the same process or connection, shared as before."""
        return config.share is self.config.share and identity.is_started_alike(self.config, config)

    def adopt(self, config: ServerConfig) -> None:
        """Use an edited entry that needs no new start."""
        self.config = self.server.config = config
        self.server.supervisor.adopt(config)

    def succeed(self, predecessor: "Lease") -> None:
        """Take over its client's subscriptions and waiting calls when it is opened."""
        self._predecessor = predecessor

    def retire(self) -> None:
        """End the use, because the entry was edited."""
        if self._is_alone():
            self.server.supervisor.retire()
            self._pool.close_to_others(self.server)  # so it ends at once
        self.leave()

    def recall(self, opening: Opening) -> None:
        """Publish what is cached of it for such a client, without starting it."""
        self.server.supervisor.recall(self.server.opening_for(opening))

    def open(self, opening: Opening) -> None:
        """Get a server for this client: a running one, or its own, which starts unless it is lazy."""
        self.opening = opening
        before, self._predecessor = self._predecessor, None
        if before is not None:
            self.server.predecessors.append(before.server)
        self._pool.place(self, opening)
        if before is not None:
            self._take_over(before)

    def submit(self, call: Call, target: str) -> None:
        if self.server.may_be_shared:
            return self._turns.submit(call, target)
        return self.server.supervisor.submit(call, target)

    def _is_alone(self) -> bool:
        return all(each is self for each in self.server.leases)

    def _pass_on(self, call: Call, target: str) -> None:
        self.server.note_caller(self)
        self.server.supervisor.submit(call, target)

    def _is_moved(self, call: Call, outcome: Outcome) -> bool:
        """Return whether the answer moved the client to another server, where the call is to be sent again."""
        if not isinstance(outcome, InputRequired) or call.inputs is not None:  # a later round belongs to its process
            return False
        return asking.asks_for_roots(outcome.requests) and self.server.moves_asker(self)

    def look_again(self, kind: Kind) -> None:
        self.server.supervisor.look_again(kind)

    def due_change(self, kind: Kind) -> Callable[[], bool] | None:
        return self.server.supervisor.due_change(kind)

    def restart(self) -> Callable[[], bool]:
        """Restart the server, for all its clients."""
        is_awaited = self.server.supervisor.restart()
        return lambda: not self._is_over and is_awaited()

    def set_log_level(self, level: str) -> None:
        """Set the level that this client wants; the server gets the most verbose one."""
        self.log_level = level
        self.server.apply_log_level()

    def roots_changed(self) -> None:
        """Announce that the client's roots changed, unless the server may have other clients."""
        if self.server.gets_roots:
            self.server.supervisor.roots_changed()

    @property
    def has_calls(self) -> bool:
        """Whether calls of its client are with the server."""
        return self._turns.has_calls

    @property
    def awaits_log_messages(self) -> bool:
        """Whether calls are with the server that it may send log messages for; those of a legacy client want all."""
        is_modern = self.opening is not None and self.opening.era is Era.MODERN
        return self._turns.has_calls_with_log_level if is_modern else self._turns.has_calls

    @property
    def is_paused(self) -> bool:
        """Whether its client does not read."""
        return self._turns.is_paused

    def pause_reading(self) -> None:
        """Keep news back: the client does not read. The server is read as long as another client of it reads."""
        self._turns.is_paused = True
        self.server.apply_pause()

    def resume_reading(self) -> None:
        self._turns.resume()
        self.server.apply_pause()
        for news in self._kept.take():
            self.publish(news)

    def opened(self) -> "list[Open]":
        return self.server.supervisor.opened()

    async def look_at_trust(self) -> None:
        await self.server.supervisor.look_at_trust()

    async def compare_recalled(self) -> None:
        """Do nothing: the task of the server compares."""

    async def compare_recalled_now(self) -> None:
        await self.server.supervisor.compare_recalled_now()

    def terminate(self) -> None:
        """Ask the server to end now, unless it has other clients."""
        if self._is_alone():
            self.server.running.terminate()

    def abort(self) -> None:
        """End the server by force, unless it has other clients."""
        if self._is_alone():
            self.server.running.abort()

    async def run(self) -> None:
        """Use the server until this is cancelled; wait for its end if it has no other client."""
        try:
            await anyio.sleep_forever()
        finally:
            server = self.leave()
            self._refuse_left()
            if server.is_ending:
                with anyio.CancelScope(shield=True):
                    await server.ended()
            self.publish(StateChanged(self.name, self.status))  # which the server no longer does


class PooledBackends:
    """The source of an aggregator that shares servers: all its backends are leases."""

    def __init__(self, pool: Pool, dependencies: Dependencies, configuration_folder: str | None = None) -> None:
        """`dependencies` are those of the client; entries with `"share": true` start in `configuration_folder`."""
        self._pool, self._dependencies = pool, replace(dependencies, lists=pool.lists)
        self._of_shared = replace(self._dependencies, folder=configuration_folder)

    @property
    def in_common(self) -> InCommon:
        return self._pool.in_common

    def make(
        self, config: ServerConfig, publish: Callable[[News], None], client: "Callable[[], Session | None]"
    ) -> AggregatedBackend:
        dependencies = self._of_shared if config.share else self._dependencies
        return Lease(self._pool, config, publish, client, dependencies)

    def succeed(self, backend: AggregatedBackend, predecessor: AggregatedBackend) -> None:
        assert isinstance(backend, Lease)
        assert isinstance(predecessor, Lease)
        backend.succeed(predecessor)

    def release(self, backend: AggregatedBackend) -> None:
        assert isinstance(backend, Lease)
        backend.leave()

    def other_sessions(self, backend: AggregatedBackend) -> "Iterator[Session]":
        assert isinstance(backend, Lease)
        yield from (session for session in backend.server.sessions() if session is not backend.client())

    def was_shared(self, backend: AggregatedBackend) -> bool:
        assert isinstance(backend, Lease)
        return backend.server.was_shared
