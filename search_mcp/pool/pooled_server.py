"""One server of a pool and the clients that use it.

Whether clients share it is decided before its start, and holds until it ends. A later sign that it keeps
state, such as a request for roots, is recorded for its later starts; from then on, no new client gets it.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.supervisor import Supervisor
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects.params import most_verbose
from search_mcp.model.calls import Call, CallLater
from search_mcp.model.names import Ask, Era, Kind, State
from search_mcp.model.servers import ListChanged, News, Opening, StateChanged
from search_mcp.pool import sharing
from search_mcp.pool.recipients import Callers, recipients
from search_mcp.pool.sharing import Sharing
from search_mcp.pool.tenant import Tenant
from search_mcp.wire.errors import invalid_request
from search_mcp.wire.structs import replace

if TYPE_CHECKING:
    from search_mcp.pool.known_servers import KnownServer

log = logging.getLogger(__name__)

LINGER_SECONDS = 300.0
"""Time that a shared server runs on without a client; a lazy server may be idle as long."""


class PooledServer:
    """One server and its clients."""

    def __init__(
        self, config: ServerConfig, known: "KnownServer | None", dependencies: Dependencies, later: CallLater
    ) -> None:
        """`known`: its row in `known_servers`, if it has one."""
        self.config, self.known, self.dependencies = config, known, dependencies
        self.supervisor = Supervisor(config, self._publish, later, dependencies)
        self.tenants: dict[Tenant, None] = {}
        self.decided: Sharing | None = None
        """Whether clients share it, as decided before its start; `None` before, and in a pool with one client."""
        self.key: bytes | None = None
        """The digest by which new clients find it; `None` if no new client may get it."""
        self.opening: Opening | None = None
        """The opening that it was started with; `None` before."""
        self.was_shared = False
        """Whether it has, or had, more than one client."""
        self.predecessors: list[PooledServer] = []
        """Servers of the entry before an edit, which end before this one starts."""
        self.is_ending = False
        """Whether it is being stopped."""
        self._later = later
        self._lists: dict[Kind, ListChanged] = {}  # as they were published last
        self._callers = Callers()
        self._is_paused = False
        self._scope: anyio.CancelScope | None = None
        self._over = asyncio.Event()
        self._stop_timer: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return f"<PooledServer {'shared' if self.is_shared else 'own'} clients={self.clients} {self.supervisor!r}>"

    @property
    def is_shared(self) -> bool:
        """Whether clients share it, as decided before its start."""
        return self.decided is not None and self.decided.is_shared

    @property
    def lists(self) -> Collection[ListChanged]:
        """Its lists, as they were published last."""
        return self._lists.values()

    @property
    def clients(self) -> int:
        """The number of its clients."""
        return len(self.tenants)

    # Start and end

    def judge(self) -> Sharing:
        """Return whether clients may share it, as far as is known now."""
        return sharing.judge(self.config, self.known, self.supervisor.era, self.supervisor.sharing)

    def adapted(self, opening: Opening) -> Opening:
        """Return how it is opened for such a client in a pool of several, as far as is known before its start."""
        if self.config.share is False:
            return opening
        for_any = sharing.for_any_client(self.config, self.known)
        self.supervisor.recall(for_any)
        return for_any if self.judge().is_shared else opening

    def decide(self, key: bytes | None) -> None:
        """Decide, before its start, whether other clients may use it; they find it by the key."""
        self.decided = self.judge()
        self.key = key if self.is_shared else None

    def open(self, opening: Opening) -> None:
        """Prepare its start, with this opening."""
        self.opening = opening
        self.supervisor.open(self._observed(opening))

    def _observed(self, opening: Opening) -> Opening:
        return replace(opening, admit_question=self._admit_question)

    async def run(self) -> None:
        """Run it until its last client has left, after the servers that it replaces."""
        try:
            with anyio.CancelScope() as self._scope:
                if self.is_ending:  # before its task began: run it, so that it answers the calls that wait
                    self._scope.cancel()
                for each in self.predecessors:
                    if not each.tenants:
                        await each.ended()
                self.predecessors.clear()
                await self.supervisor.run()
        except Exception:  # a bug here must not take the other servers down
            log.exception("! %s: bug", self.config.name)
        finally:
            self.is_ending = True
            self._over.set()

    async def ended(self) -> None:
        """Wait until it has ended, if it was started."""
        if self.opening is not None:
            await self._over.wait()

    def end(self) -> None:
        """Stop it."""
        self._stop_timer()
        self.key, self.is_ending = None, True
        if self._scope is not None:
            self._scope.cancel()

    # Clients

    def admit(self, tenant: Tenant) -> None:
        """Add a client; if the server was opened before, publish its lists and state to the client."""
        self.tenants[tenant] = None
        if self.opening is None:
            return
        self._stop_timer()
        self.was_shared = True
        for news in self._lists.values():
            tenant.hear(news)
        tenant.hear(StateChanged(self.config.name, self.supervisor.status))
        self.apply_pause()
        self.supervisor.welcome()
        if tenant.log_level is not None:
            self.apply_log_level()

    def dismiss(self, tenant: Tenant) -> None:
        """Remove a client; a server without clients ends, at once or after a while."""
        self.tenants.pop(tenant, None)
        self._callers.forget(tenant)
        self.apply_pause()
        if self.tenants:
            if tenant.log_level is not None:
                self.apply_log_level()
        elif self.key is not None and self.supervisor.is_ready:
            self._stop_timer = self._later(LINGER_SECONDS, self.end)
        else:
            self.end()

    def note_caller(self, tenant: Tenant) -> None:
        """Record that a client calls."""
        self._callers.add(tenant)

    def apply_log_level(self) -> None:
        """Set the server to the most verbose level that a client wants."""
        levels = [level for each in self.tenants if (level := each.log_level) is not None]
        if levels:
            self.supervisor.set_log_level(most_verbose(levels))

    def apply_pause(self) -> None:
        """Read from the server, unless none of its clients reads."""
        is_paused = bool(self.tenants) and all(each.turns.is_paused for each in self.tenants)
        if is_paused is self._is_paused:
            return
        self._is_paused = is_paused
        if is_paused:
            self.supervisor.pause_reading()
        else:
            self.supervisor.resume_reading()

    # From the server

    def _admit_question(self, ask: Ask, call: Call | None) -> None:
        """Record a question that shows that clients must not share the server.

        Raises:
            ProtocolError: a legacy server asks for roots, and clients share it.
        """
        if ask is not Ask.ROOTS and call is not None:
            return
        why = "it asks for roots" if ask is Ask.ROOTS else "it asks questions that belong to no call"
        self.supervisor.note_private(why)
        self._close_if_private()
        # A modern server is given the roots of the client of the call, with the call.
        if ask is Ask.ROOTS and self.is_shared and self.supervisor.era is not Era.MODERN:
            raise invalid_request("Invalid Request: several clients share this server, so it gets no roots")

    def _close_if_private(self) -> None:
        """Give the server to no new client if it must not be shared, as far as is known now."""
        if self.key is not None and not self.judge().is_shared:
            self.key = None

    def _publish(self, news: News) -> None:
        if isinstance(news, ListChanged):
            self._lists[news.kind] = replace(news, is_announced=False)
        elif isinstance(news, StateChanged):
            self._on_state(news.status.state)
        meant = list(self.tenants)
        if self.was_shared:
            meant = recipients(news, meant, self._callers, self.supervisor.era)
        for tenant in meant:
            try:
                tenant.hear(news)
            except Exception:  # a bug must cost its own client only
                log.exception("! %s: bug while passing on its news", self.config.name)

    def _on_state(self, state: State) -> None:
        if state is State.READY:
            self._callers = Callers()
            for tenant in self.tenants:
                if tenant.turns.has_calls:  # they are sent on this connection
                    self._callers.add(tenant)
            self.supervisor.note_session()
            self._close_if_private()
        elif state in (State.BACKING_OFF, State.FAILED, State.NEEDS_LOGIN) and not self.tenants:
            self.end()
