"""The servers of all engines in a process: each engine has a lease of each of its servers, and leases may share one.

Decides which leases get the same server: at the opening, by what is known of it, and again when it has answered. A
server that turns out to keep state stays with one of its clients, and each other client gets its own before any of its
calls was sent. News go to every lease, whose sessions choose; a question goes to the client of its call alone.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio

from search_mcp.backends import sharing
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.equal_lists import EqualLists
from search_mcp.backends.server_calls import Subscriptions
from search_mcp.backends.sharing import NOT_ASKED, Verdict
from search_mcp.backends.supervisor import Supervisor
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import asking
from search_mcp.dialects.params import most_verbose
from search_mcp.gateway.running import Running
from search_mcp.model.calls import Call, Caller, CallLater, Question, Viewer
from search_mcp.model.names import Action, Ask, Kind, State
from search_mcp.model.servers import ListChanged, LogMessage, News, Opening, StateChanged, TaskChanged
from search_mcp.wire.errors import invalid_request
from search_mcp.wire.inflight import Cancel, cancel_nothing
from search_mcp.wire.structs import Fields, Raw, replace

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from search_mcp.gateway.session import Session

log = logging.getLogger(__name__)

LINGER_SECONDS = 300.0
"""Time that a shared server goes on running without a client: as long as a lazy one may be idle."""


class Tenant(Protocol):
    """The use of a server by one engine; `lease.Lease` is the only implementation."""

    server: "PooledServer"
    opening: Opening | None
    """The opening of its client; `None` before it."""
    log_level: str | None
    config: ServerConfig
    dependencies: Dependencies
    sessions: "Callable[[], Iterable[Session]]"
    """Gives the clients of the engine."""

    @property
    def has_calls(self) -> bool:
        """Whether calls of its client are with the server."""
        ...

    @property
    def is_paused(self) -> bool:
        """Whether its client does not read."""
        ...

    def hear(self, news: News) -> None:
        """Pass news of the server on, or keep them while the client does not read."""
        ...

    def move(self, server: "PooledServer") -> None:
        """Use another server from now on."""
        ...

    def separate(self) -> None:
        """Use a server of its own from now on; calls that wait go there, calls in progress go on."""
        ...


class Pool:
    """All servers of a process, and the task group that runs them."""

    def __init__(self, later: CallLater, linger_seconds: float = LINGER_SECONDS) -> None:
        self.later, self.linger_seconds = later, linger_seconds
        self.lists = EqualLists()
        self._by_key: dict[bytes, PooledServer] = {}  # those that more clients may get
        self._running: dict[PooledServer, None] = {}
        self._tasks: TaskGroup | None = None
        self._secret = os.urandom(sharing.KEY_BYTES)

    @property
    def servers(self) -> "list[PooledServer]":
        """The servers whose tasks run, in the order of their start."""
        return list(self._running)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the servers' tasks; at the end stop all servers at the same time."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for server in self._running:
                server.is_started = True
                tasks.start_soon(server.run)
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    def terminate(self) -> None:
        """Ask all servers to end now; none is started again."""
        for server in self._running:
            server.running.terminate()

    def kill(self) -> None:
        """End all servers by force."""
        for server in self._running:
            server.running.kill()

    # From the leases

    def place(self, lease: Tenant, opening: Opening) -> None:
        """Give a lease a running server for such a client: one that others use, or its own, which is started."""
        own = lease.server
        wanted = own.opening_for(opening)
        key: bytes | None = None
        if lease.config.share is not False:
            key = sharing.launch_key(lease.config, lease.dependencies, wanted, self._secret)
        if key is not None and (found := self._by_key.get(key)) is not None:
            lease.move(found)
            return
        own.supervisor.recall(wanted)
        own.judge()
        if key is not None and own.sharing.verdict is not Verdict.PRIVATE:
            self._by_key[key], own.key = own, key
        own.supervisor.open(wanted)
        self.start(own)

    def start(self, server: "PooledServer") -> None:
        """Start the task of a server, after the answer to the client that needs it was written."""
        self._running[server] = None
        if self._tasks is not None:
            server.is_started = True
            self.later(0, partial(self._launch, server))

    def _launch(self, server: "PooledServer") -> None:
        if self._tasks is not None:
            self._tasks.start_soon(server.run)
        else:  # the pool ended first
            server.forget()

    def close_to_others(self, server: "PooledServer") -> None:
        """Give the server to no more clients."""
        if server.key is not None and self._by_key.get(server.key) is server:
            del self._by_key[server.key]
        server.key = None

    def forget(self, server: "PooledServer") -> None:
        """Forget a server that ended."""
        self.close_to_others(server)
        self._running.pop(server, None)


class PooledServer:
    """One server and the leases of the clients that use it."""

    def __init__(self, pool: Pool, config: ServerConfig, dependencies: Dependencies) -> None:
        self.config, self._pool = config, pool
        self.supervisor = Supervisor(config, self._publish, pool.later, dependencies)
        self.running = Running(self.supervisor)
        self.leases: dict[Tenant, None] = {}
        self.key: bytes | None = None
        """The digest by which other clients find it; `None` if they get a server of their own."""
        self.sharing = NOT_ASKED
        self.was_shared = False
        """Whether it has, or had, more than one client."""
        self.predecessors: list[PooledServer] = []
        """Servers of the entry before an edit, which end before this one starts."""
        self._lists: dict[Kind, ListChanged] = {}  # as they were published last
        self.is_started = False
        """Whether its task was started."""
        self._over = asyncio.Event()
        self._had_lease = self._is_paused = False
        self._stop_timer: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return f"<PooledServer {self.sharing.verdict.value} leases={len(self.leases)} {self.supervisor!r}>"

    async def run(self) -> None:
        """Run the server until its last client has left, after the servers that it replaces."""
        try:
            for each in self.predecessors:
                if not each.leases:
                    await each.ended()
            self.predecessors.clear()
            await self.running.run(None)
        except Exception:  # a bug here must not take the other servers down
            log.exception("! %s: bug", self.config.name)
        finally:
            self.forget()

    def forget(self) -> None:
        """Record that it has ended."""
        self._pool.forget(self)
        self._over.set()

    @property
    def may_be_shared(self) -> bool:
        """Return whether it has several clients, or may get more."""
        return self.key is not None or self.was_shared

    @property
    def is_ending(self) -> bool:
        """Return whether it is being stopped."""
        return self.running.is_stopped

    async def ended(self) -> None:
        """Wait until the server has ended, if it was started."""
        if self.is_started:
            await self._over.wait()

    def judge(self) -> None:
        """Decide by what is known now whether clients may share it."""
        self.sharing = sharing.judge(self.config, self.supervisor.era, self.supervisor.sharing)

    def describe_sharing(self) -> str | None:
        """Say whether clients share it, and why; `None` while that is unknown."""
        match self.sharing.verdict:
            case Verdict.SHARED:
                clients = len(self.leases)
                is_shared = f"shared by {clients} clients" if clients > 1 else "can be shared"
                return f"{is_shared}: {self.sharing.why}"
            case Verdict.PRIVATE:
                return f"{sharing.NOT_SHARED}{self.sharing.why}"
            case Verdict.UNKNOWN:
                return None

    # Leases

    def begin_with(self, lease: Tenant) -> None:
        """Add the first client."""
        self._had_lease = True
        self.leases[lease] = None

    def admit(self, lease: Tenant) -> None:
        """Add a client; tell it what the others know."""
        self._stop_timer()
        self.was_shared = self.was_shared or self._had_lease
        self.begin_with(lease)
        for news in self._lists.values():
            lease.hear(news)
        lease.hear(StateChanged(self.config.name, self.supervisor.status))
        self.apply_pause()
        self.supervisor.welcome()
        if lease.log_level is not None:
            self.apply_log_level()

    def dismiss(self, lease: Tenant) -> None:
        """Remove a client; a server without clients ends, at once or after a while."""
        del self.leases[lease]
        self.apply_pause()
        if self.leases:
            if lease.log_level is not None:
                self.apply_log_level()
        elif self.key is not None and self.sharing.verdict is Verdict.SHARED and self.supervisor.is_ready:
            self._stop_timer = self._pool.later(self._pool.linger_seconds, self.end)
        else:
            self.end()

    def end(self) -> None:
        """Stop the server."""
        self._stop_timer()
        self._pool.close_to_others(self)
        self.running.stop()

    def apply_log_level(self) -> None:
        """Set the server to the most verbose level that a client wants."""
        if (level := self._log_level) is not None:
            self.supervisor.set_log_level(level)

    @property
    def _log_level(self) -> str | None:
        levels = [level for each in self.leases if (level := each.log_level) is not None]
        return most_verbose(levels) if levels else None

    def is_of_no_client(self, call: Call) -> bool:
        """Return whether a call is of a client that is gone."""
        return all(call.caller.session is not session for lease in self.leases for session in lease.sessions())

    def end_subscriptions(self, left: Subscriptions) -> None:
        """End the subscriptions of a client that left, except those that other clients have, too."""
        sessions = [session for lease in self.leases for session in lease.sessions()]
        for key, call in left.items():
            action, uri = key
            callers = (session.state.subscriptions.caller(self.config.name, uri) for session in sessions)
            caller = next(filter(None, callers), None) if action is Action.SUBSCRIBE else None
            if caller is not None:
                self.supervisor.calls.keep({key: replace(call, caller=caller)})
            else:
                self.supervisor.calls.undo({key: call})

    def apply_pause(self) -> None:
        """Read from the server, unless none of its clients reads."""
        is_paused = bool(self.leases) and all(each.is_paused for each in self.leases)
        if is_paused is self._is_paused:
            return
        self._is_paused = is_paused
        if is_paused:
            self.supervisor.pause_reading()
        else:
            self.supervisor.resume_reading()

    # Questions

    def opening_for(self, opening: Opening) -> Opening:
        """Return the opening of the server for a client like this; a shared one is given no client's roots."""
        is_shared = self.config.share is True
        return replace(
            opening,
            capabilities=asking.without_roots(opening.capabilities) if is_shared else opening.capabilities,
            caller=_SoleClient(self) if opening.caller is not None else None,
            admit_question=self._admit_question,
        )

    def sole_caller(self) -> Caller | None:
        """Return the client that the server may ask outside of a call: the only one it has."""
        callers = [each.opening.caller for each in self.leases if each.opening is not None]
        return callers[0] if len(callers) == 1 else None

    def _admit_question(self, ask: Ask, call: Call | None) -> None:
        """Learn from a question whether clients may share the server.

        Raises:
            ProtocolError: the server is shared, and asks for the roots of one of its clients.
        """
        if self.sharing.verdict is Verdict.PRIVATE or (call is not None and ask is not Ask.ROOTS):
            return
        why = "it asks for roots" if ask is Ask.ROOTS else "it asks questions that belong to no call"
        self.supervisor.note_private(why)
        if self.config.share is not True:
            self._pool.close_to_others(self)
            self.judge()
        if ask is Ask.ROOTS and (self.config.share is True or self.was_shared):
            raise invalid_request("Invalid Request: several clients share this server, and it gets no roots of one")

    # News

    def _publish(self, news: News) -> None:
        if isinstance(news, ListChanged):
            self._lists[news.kind] = replace(news, is_announced=False)
        elif isinstance(news, StateChanged):
            self._on_state(news.status.state)
        for lease in self._meant_by(news):
            try:
                lease.hear(news)
            except Exception:  # a bug must cost its own client only
                log.exception("! %s: bug while passing on its news", self.config.name)

    def _meant_by(self, news: News) -> list[Tenant]:
        """Return the leases whose clients news may be for.

        A log message does not say which call it belongs to: it is for the only client that has calls in progress. If
        several have, it is for none of them, because it may contain words of another client's call.
        """
        leases = list(self.leases)
        if len(leases) < 2:
            return leases
        if isinstance(news, LogMessage) and news.call is not None:
            calling = [lease for lease in leases if lease.has_calls]
            return calling if len(calling) == 1 else []
        if isinstance(news, TaskChanged):
            return [lease for lease in leases if _has_task(lease, news)] or leases
        return leases

    def _on_state(self, state: State) -> None:
        if state is State.READY:
            self.supervisor.note_session()
            self.judge()
            if self.sharing.verdict is Verdict.PRIVATE:
                self._separate()
        elif state in (State.BACKING_OFF, State.FAILED, State.NEEDS_LOGIN) and not self.leases:
            self.end()

    def _separate(self) -> None:
        """Keep one client, and give every other client a server of its own."""
        self._pool.close_to_others(self)
        self.was_shared = False
        others = list(self.leases)[1:]
        if not others:
            return
        for lease in others:
            lease.separate()
        self.supervisor.prepare_log_level(self._log_level)  # a connection that has just been opened gets it next
        self.apply_pause()


def _has_task(lease: Tenant, news: TaskChanged) -> bool:
    return any(session.state.tasks.knows_named(news.server, news.params) for session in lease.sessions())


class _SoleClient:
    """The client that a server asks outside of any call: its only one; with several, the question is refused."""

    info: Raw | None = None
    log_level: str | None = None
    viewer = Viewer(None, object_output_only=False)

    def __init__(self, server: PooledServer) -> None:
        self.capabilities: Fields = {}
        self._server = server
        self.session: object = server

    def ask(self, question: Question, call: Call | None) -> Cancel:
        caller = self._server.sole_caller()
        if caller is not None:
            return caller.ask(question, call)
        question.answer(invalid_request("Invalid Request: several clients share this server, outside a call"))
        return cancel_nothing
