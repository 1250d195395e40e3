"""One server of a pool, and the leases of the clients that use it.

Decides what becomes of its clients when it turns out to keep state, and which of them its questions are for: the client
of the call, or the only one that it ever had.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.server_calls import Subscriptions
from search_mcp.backends.supervisor import Supervisor
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import asking
from search_mcp.dialects.params import most_verbose
from search_mcp.model.calls import Call, Caller, CallLater, Question, Viewer
from search_mcp.model.names import Action, Ask, Kind, State
from search_mcp.model.servers import ListChanged, News, Opening, StateChanged
from search_mcp.pool import sharing
from search_mcp.pool.recipients import Callers, Recipient, recipients
from search_mcp.pool.running import Running
from search_mcp.pool.sharing import NOT_ASKED, Verdict
from search_mcp.wire.errors import invalid_request
from search_mcp.wire.structs import Fields, Raw, replace

if TYPE_CHECKING:
    from search_mcp.gateway.session import Session

log = logging.getLogger(__name__)


ROOTS = "it asks for roots"
"""Why clients must not share a server."""


class Home(Protocol):
    """The pool of a server; `pool.Pool` is the only implementation."""

    later: CallLater
    linger_seconds: float

    def close_to_others(self, server: "PooledServer") -> None:
        """Give the server to no more clients."""
        ...

    def forget(self, server: "PooledServer") -> None:
        """Forget a server that ended."""
        ...

    def note_private(self, server: "PooledServer", why: str) -> None:
        """Give each client a process of this server of its own from now on."""
        ...

    def shared_processes_of(self, server: "PooledServer") -> list["PooledServer"]:
        """Return the processes of an entry that clients may share: those in use; if this one is not, the others."""
        ...

    def place_filled(self, server: "PooledServer", filled: ServerConfig) -> bool:
        """Place a server whose secrets are known now; return whether its clients use another one instead."""
        ...


class Tenant(Recipient, Protocol):
    """The use of a server by one aggregator; `lease.Lease` is the only implementation."""

    server: "PooledServer"
    opening: Opening | None
    """The opening of its client; `None` before it."""
    log_level: str | None
    config: ServerConfig
    dependencies: Dependencies

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

    def join(self, server: "PooledServer") -> None:
        """Use another server from now on; calls that wait go there."""
        ...

    def separate(self) -> Subscriptions:
        """Use a server of its own from now on; calls that wait go there, calls in progress go on.

        Return the subscriptions that no client of the server before has any more.
        """
        ...

    def is_of(self, call: Call) -> bool:
        """Return whether a call is of its client."""
        ...


class PooledServer:
    """One server and the leases of the clients that use it."""

    def __init__(self, pool: Home, config: ServerConfig, dependencies: Dependencies) -> None:
        self.config, self._pool = config, pool
        self.supervisor = Supervisor(config, self._publish, pool.later, dependencies)
        self.supervisor.on_filled = self._on_filled
        self.running = Running(self.supervisor)
        self.leases: dict[Tenant, None] = {}
        self.key: bytes | None = None
        """The digest by which other clients find it; `None` if they get a server of their own."""
        self.opening: Opening | None = None
        """The opening of the client that it was started for; `None` before."""
        self.is_placed_later = False
        """Whether other clients may find it once its secrets are known."""
        self.sharing = NOT_ASKED
        self.was_shared = False
        """Whether it has, or had, more than one client."""
        self.predecessors: list[PooledServer] = []
        """Servers of the entry before an edit, which end before this one starts."""
        self._lists: dict[Kind, ListChanged] = {}  # as they were published last
        self.is_started = False
        """Whether its task was started."""
        self._callers: Callers[Tenant] = Callers()
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
        return self.key is not None or self.was_shared or self.is_placed_later

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

    @property
    def clients(self) -> int:
        """The number of its clients."""
        return len(self.leases)

    def describe_sharing(self) -> str | None:
        """Say whether clients share it, and why; `None` while that is unknown."""
        match self.sharing.verdict:
            case Verdict.SHARED:
                used = self._pool.shared_processes_of(self)
                if len(used) > 1:
                    why = sharing.why_apart([each.opening for each in used if each.opening is not None])
                    return f"{sharing.NOT_SHARED} by all: {why}"
                is_shared = f"shared by {self.clients} clients" if self.clients > 1 else "can be shared"
                return f"{is_shared}: {self.sharing.why}"
            case Verdict.PRIVATE:
                return f"{sharing.NOT_SHARED}: {self.sharing.why}"
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
        self._callers.forget(lease)
        self.apply_pause()
        if self.leases:
            if lease.log_level is not None:
                self.apply_log_level()
        elif self.key is not None and self.sharing.verdict is Verdict.SHARED and self.supervisor.is_ready:
            self._stop_timer = self._pool.later(self._pool.linger_seconds, self.end)
        else:
            self.end()

    def _on_filled(self, filled: ServerConfig) -> bool:
        return self._pool.place_filled(self, filled)

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
        return all(call.caller.session is not session for session in self.sessions())

    def sessions(self) -> "list[Session]":
        """Return the sessions of its clients."""
        return [session for lease in self.leases if (session := lease.client()) is not None]

    def note_caller(self, lease: Tenant) -> None:
        """Record that a client calls."""
        self._callers.add(lease)

    def end_subscriptions(self, left: Subscriptions) -> None:
        """End the subscriptions of a client that left, except those that other clients have, too."""
        self.supervisor.calls.undo(self.keep_subscriptions(left))

    def keep_subscriptions(self, left: Subscriptions) -> Subscriptions:
        """Keep those subscriptions of a client that left that other clients have, too; return the others."""
        sessions = self.sessions()
        ended: Subscriptions = {}
        for key, call in left.items():
            action, uri = key
            callers = (session.state.subscriptions.caller(self.config.name, uri) for session in sessions)
            caller = next(filter(None, callers), None) if action is Action.SUBSCRIBE else None
            if caller is not None:
                self.supervisor.calls.keep({key: replace(call, caller=caller)})
            else:
                ended[key] = call
        return ended

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

    @property
    def gets_roots(self) -> bool:
        """Return whether it is told of its client's roots; one that clients share is not."""
        return self.config.share is not True and (self.sharing.verdict is not Verdict.SHARED or not self.was_shared)

    def sole_caller(self) -> Caller | None:
        """Return the client that the server may ask outside of a call: the only one that it ever had."""
        callers = [each.opening.caller for each in self.leases if each.opening is not None]
        return callers[0] if len(callers) == 1 and not self.was_shared else None

    def _admit_question(self, ask: Ask, call: Call | None) -> None:
        """Learn from a question whether clients may share the server.

        Raises:
            ProtocolError: the server asks for roots, and serves several clients.
        """
        if self.sharing.verdict is Verdict.PRIVATE or (call is not None and ask is not Ask.ROOTS):
            return
        asker = self._asker(call)
        serves_others = any(each.has_calls for each in self.leases if each is not asker)
        why = ROOTS if ask is Ask.ROOTS else "it asks questions that belong to no call"
        if self.config.share is True:
            self.supervisor.note_private(why)
        else:
            if asker is not None:  # the first one keeps the server
                self.leases = {asker: None, **self.leases}
            self._pool.note_private(self, why)
        if ask is Ask.ROOTS and (self.config.share is True or serves_others):
            raise invalid_request("Invalid Request: several clients share this server, and it gets no roots of one")

    def moves_asker(self, lease: Tenant) -> bool:
        """Learn that the answer to a call asks for roots; return whether the call is to be sent again.

        The server would keep the roots of one of its clients. That client gets a server of its own, where its call is
        sent again, as every call is whose answer asks for something.
        """
        if self.sharing.verdict is Verdict.PRIVATE or self.config.share is True:
            return False
        others = [each for each in self.leases if each is not lease]
        self.leases = dict.fromkeys([*others, lease])
        self._pool.note_private(self, ROOTS)
        return bool(others)

    def _asker(self, call: Call | None) -> Tenant | None:
        """Return the client that a question is for; `None` if that is unknown."""
        if call is None:
            return next(iter(self.leases)) if len(self.leases) == 1 else None
        return next((each for each in self.leases if each.is_of(call)), None)

    # News

    def _publish(self, news: News) -> None:
        if isinstance(news, ListChanged):
            self._lists[news.kind] = replace(news, is_announced=False)
        elif isinstance(news, StateChanged):
            self._on_state(news.status.state)
        meant = list(self.leases)
        if self.was_shared:
            meant = recipients(news, meant, self._callers, self.supervisor.era)
        for lease in meant:
            try:
                lease.hear(news)
            except Exception:  # a bug must cost its own client only
                log.exception("! %s: bug while passing on its news", self.config.name)

    def _on_state(self, state: State) -> None:
        if state is State.READY:
            self._callers = Callers()
            for lease in self.leases:
                if lease.has_calls:  # they are sent on this connection
                    self._callers.add(lease)
            self.supervisor.note_session()
            self.judge()
            if self.sharing.verdict is Verdict.PRIVATE:
                self._separate_new()
        elif state in (State.BACKING_OFF, State.FAILED, State.NEEDS_LOGIN) and not self.leases:
            self.end()

    def _separate_new(self) -> None:
        """Keep the first client on the connection that was just opened, and give every other one its own server."""
        self._pool.close_to_others(self)
        self.was_shared = False
        for lease in list(self.leases)[1:]:
            lease.separate()
            self.supervisor.prepare_log_level(self._log_level)  # the connection gets it next
        self.apply_pause()

    def become_private(self, why: str) -> None:
        """Keep the first client, and give every other one its own server, while calls are in progress."""
        self.supervisor.note_private(why)
        if self.config.share is not None:
            return
        self._pool.close_to_others(self)
        self.judge()
        for lease in list(self.leases)[1:]:
            self.supervisor.calls.undo(lease.separate())
            self.apply_log_level()
        self.apply_pause()


class _SoleClient:
    """The client that a server asks outside of any call: its only one; with several, the question is refused."""

    info: Raw | None = None
    log_level: str | None = None
    viewer = Viewer(None, object_output_only=False)

    def __init__(self, server: PooledServer) -> None:
        self.capabilities: Fields = {}
        self._server = server
        self.session: object = server

    def ask(self, question: Question, call: Call | None) -> None:
        caller = self._server.sole_caller()
        if caller is not None:
            caller.ask(question, call)
        else:
            question.answer(invalid_request("Invalid Request: several clients share this server, outside a call"))
