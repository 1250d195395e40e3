"""The backends of one aggregator: where they come from, and the task that runs each."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.supervisor import Supervisor
from search_mcp.catalog.in_common import InCommon
from search_mcp.config.schema import ServerConfig
from search_mcp.model.calls import CallLater
from search_mcp.model.servers import Backend, News

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Open
    from search_mcp.gateway.session import Session


class AggregatedBackend(Backend, Protocol):
    """A backend as an aggregator uses it: it follows edits of its entry, and has a task."""

    def is_started_like(self, config: ServerConfig) -> bool:
        """Return whether an edited entry is served by the same process or connection."""
        ...

    def adopt(self, config: ServerConfig) -> None:
        """Use an edited entry that needs no new start."""
        ...

    def retire(self) -> None:
        """Record that it is stopped because its entry was edited."""
        ...

    def opened(self) -> "list[Open]":
        """Return every difference between the accepted definitions and its lists; may block.

        Raises:
            OSError: the record cannot be read.
        """
        ...

    async def look_at_trust(self) -> None:
        """Compare the lists again if the user accepted something meanwhile."""
        ...

    async def compare_recalled_now(self) -> None:
        """Compare cached lists with the accepted definitions."""
        ...

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def terminate(self) -> None:
        """Ask it to end now; it is not started again."""
        ...

    def abort(self) -> None:
        """End it by force; it is not started again."""
        ...

    async def run(self) -> None:
        """Keep it running while it is wanted; cancelled, stop it and return."""
        ...


class BackendSource(Protocol):
    """The origin of an aggregator's backends."""

    @property
    def in_common(self) -> InCommon:
        """What the clients with backends of this origin have in common."""
        ...

    def make(
        self, config: ServerConfig, publish: Callable[[News], None], client: "Callable[[], Session | None]"
    ) -> AggregatedBackend:
        """Make the backend of an entry; `client` gives the aggregator's client, `None` once it has left."""
        ...

    def succeed(self, backend: AggregatedBackend, predecessor: AggregatedBackend) -> None:
        """Give a backend the client's log level, subscriptions and waiting calls of the one that it replaces."""
        ...

    def release(self, backend: AggregatedBackend) -> None:
        """Give up a backend at the end of its aggregator; its task may not have begun."""
        ...

    def other_sessions(self, backend: AggregatedBackend) -> "Iterable[Session]":
        """Give the other clients that use the same server."""
        ...

    def was_shared(self, backend: AggregatedBackend) -> bool:
        """Return whether the server has, or had, other clients."""
        ...


class OwnBackends:
    """The source of an aggregator whose client shares no server with another one."""

    def __init__(self, later: CallLater, dependencies: Dependencies) -> None:
        self._later, self._dependencies = later, dependencies
        self.in_common = InCommon()

    def make(
        self, config: ServerConfig, publish: Callable[[News], None], _client: "Callable[[], Session | None]"
    ) -> AggregatedBackend:
        return Supervisor(config, publish, self._later, self._dependencies)

    def succeed(self, backend: AggregatedBackend, predecessor: AggregatedBackend) -> None:
        assert isinstance(backend, Supervisor)
        assert isinstance(predecessor, Supervisor)
        backend.succeed(predecessor)

    def release(self, _backend: AggregatedBackend) -> None:
        """Do nothing: only its task starts a server."""

    def other_sessions(self, _backend: AggregatedBackend) -> "Iterable[Session]":
        return ()

    def was_shared(self, _backend: AggregatedBackend) -> bool:
        return False


class Running:
    """A backend and the task that runs it."""

    def __init__(self, backend: AggregatedBackend) -> None:
        self.backend = backend
        self._scope: anyio.CancelScope | None = None
        self.is_stopped = False
        self._predecessor: Running | None = None
        self.done = asyncio.Event()

    async def run(self, predecessor: "Running | None") -> None:
        self._predecessor = predecessor
        if predecessor is not None:
            await predecessor.done.wait()
            self._predecessor = None
        with anyio.CancelScope() as self._scope:
            if self.is_stopped:  # before its task began: run it, so that it answers the calls that wait
                self._scope.cancel()
            await self.backend.run()
        self.done.set()

    def terminate(self) -> None:
        """Ask the server to end now, and the one that this backend waits for."""
        if self._predecessor is not None:
            self._predecessor.terminate()
        self.backend.terminate()

    def abort(self) -> None:
        """End the same servers by force."""
        if self._predecessor is not None:
            self._predecessor.abort()
        self.backend.abort()

    def stop(self) -> None:
        self.is_stopped = True
        if self._scope is not None:
            self._scope.cancel()
