"""One client's use of one server of a pool: the backend that the client's calls go to.

Before the client opens, it has a server of its own that is not started; the pool then starts that one, or replaces it
by one of other clients. It keeps that server until the client leaves, or an edit of the entry ends the lease.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.server_calls import Left
from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.model.calls import Call
from search_mcp.model.errors import NotRunning
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import News, Opening, Status
from search_mcp.pool.pool import Pool
from search_mcp.pool.tenant import Client, Tenant
from search_mcp.pool.turns import Turn, Turns
from search_mcp.wire.structs import replace

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Open


class Lease:
    """One client's use of one server."""

    def __init__(
        self,
        pool: Pool,
        config: ServerConfig,
        dependencies: Dependencies,
        client: Client,
        publish: Callable[[News], None],
    ) -> None:
        self.config, self._pool = config, pool
        self._turns = Turns(config.name, pool.later, self._pass_on, self._is_alone)
        self._tenant = Tenant(client, publish, self._turns)
        self.is_open = self._is_over = False
        self._left = Left()  # for a successor, once this lease has ended
        self.server = pool.make(config, dependencies)
        self.server.admit(self._tenant)

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def status(self) -> Status:
        status, sharing = self.server.supervisor.status, self._pool.describe_sharing(self.server)
        return status if sharing is None else replace(status, sharing=sharing)

    # The client

    def recall(self, opening: Opening) -> None:
        """Publish what is cached of the server for such a client, without starting it."""
        self.server.supervisor.recall(self._pool.adapted(self.server, opening))

    def open(self, opening: Opening, predecessor: "Lease | None" = None) -> None:
        """Get a server for this client; take over the waiting calls of the lease before an edit."""
        self.is_open, self._tenant.era = True, opening.era
        if predecessor is not None:
            self.server.predecessors.append(predecessor.server)
        placed = self._pool.place(self.server, opening)
        if placed is not self.server:
            self.server = placed
            placed.admit(self._tenant)
        if predecessor is not None:
            self._take_over(predecessor)

    def _take_over(self, before: "Lease") -> None:
        self.server.supervisor.calls.take_over(before.server.supervisor.calls, before.take_left())
        for turn in before.take_turns():
            self.submit(turn.call, turn.target)

    def take_left(self) -> Left:
        """Hand over the subscriptions and waiting calls that the client had at the server when it left."""
        left, self._left = self._left, Left()
        return left

    def take_turns(self) -> list[Turn]:
        """Hand over the calls that wait for their turn."""
        return self._turns.take()

    def submit(self, call: Call, target: str) -> None:
        """Carry out a call under the server's own name for the target, at once or after the start."""
        (self._turns if self.server.is_shared else self.server.supervisor.calls).submit(call, target)

    def _pass_on(self, call: Call, target: str) -> None:
        self.server.note_caller(self._tenant)
        self.server.supervisor.calls.submit(call, target)

    def _is_alone(self) -> bool:
        return all(each is self._tenant for each in self.server.tenants)

    @property
    def was_alone(self) -> bool:
        """Whether the server never had another client."""
        return not self.server.was_shared

    def is_task_of_another(self, task: str) -> bool:
        """Return whether another client of the server has a task, by the server's own id."""
        others = (each.client for each in self.server.tenants if each is not self._tenant)
        return any(client.has_task(self.name, task) for client in others)

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
        self._tenant.log_level = level
        self.server.apply_log_level()

    def roots_changed(self) -> None:
        """Announce that the client's roots changed, unless clients share the server."""
        if not self.server.is_shared:
            self.server.supervisor.roots_changed()

    def pause_reading(self) -> None:
        """Hold notifications back: the client does not read. The server is read while another client of it reads."""
        self._turns.is_paused = True
        self.server.apply_pause()

    def resume_reading(self) -> None:
        self._turns.resume()
        self.server.apply_pause()
        self._tenant.resume()

    # The accepted definitions

    def opened(self) -> "list[Open]":
        """Return every difference between the accepted definitions and its lists; may block.

        Raises:
            OSError: the record cannot be read.
        """
        return self.server.supervisor.opened()

    async def look_at_trust(self) -> None:
        await self.server.supervisor.look_at_trust()

    async def compare_recalled(self) -> None:
        await self.server.supervisor.compare_recalled_now()

    # The configuration

    def is_started_like(self, config: ServerConfig) -> bool:
        """Return whether an edited entry is served by the same process or connection, shared as before."""
        is_shared_alike = config.share is self.config.share or not self._pool.is_shared
        return is_shared_alike and identity.is_started_alike(self.config, config)

    def adopt(self, config: ServerConfig) -> None:
        """Use an edited entry that needs no new start."""
        self.config = self.server.config = config
        self.server.supervisor.adopt(config)

    def retire(self) -> None:
        """End the use, because the entry was edited; its waiting calls go to another lease, or are refused."""
        if self._is_alone():
            self.server.supervisor.retire()
            self.server.key = None  # so it ends at once, without lingering
        self.leave()

    def refuse_waiting(self) -> None:
        """Refuse the calls that wait, because the entry is gone."""
        left, self._left = self._left, Left(self._left.subscriptions)
        for call in [turn.call for turn in self.take_turns()] + [each.call for each in left.held]:
            call.reply(NotRunning(Status(self.name, State.STOPPED, "the configuration changed")))

    def leave(self) -> None:
        """End the use; the server goes on if it has other clients."""
        if self._is_over:
            return
        self._is_over = True
        self.server.dismiss(self._tenant)
        calls = self.server.supervisor.calls
        self._left = calls.hand_over(self._tenant.client)
        if not self.server.is_ending:
            calls.end(self._left.subscriptions)
