"""The servers of an engine process that it lends to a command: their news go to it, and its calls to them.

A command is a client of its own. It uses a server that other clients use if it may; each other server that it needs is
started for it, and ends with it.
"""

import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio

from search_mcp.backends.command_cache import FreshLists
from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.schema import ServerConfig
from search_mcp.fronts import loan_lines
from search_mcp.fronts.loan_lines import (
    Cancellation,
    Compared,
    Comparison,
    FromCommand,
    FromEngine,
    Listed,
    Progress,
    Standing,
)
from search_mcp.fronts.serve import Client
from search_mcp.gateway.aggregator import Aggregator
from search_mcp.gateway.lease import Lease, PooledBackends
from search_mcp.gateway.person import OPENING, Person
from search_mcp.gateway.pool import Pool
from search_mcp.gateway.running import AggregatedBackend
from search_mcp.model.calls import Call, Outcome
from search_mcp.model.servers import ListChanged, News, StateChanged
from search_mcp.wire import payload
from search_mcp.wire.inflight import Cancel
from search_mcp.wire.structs import Fields, Raw

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from search_mcp.gateway.session import Session

log = logging.getLogger(__name__)


class Writer(Protocol):
    """The connection to a command."""

    def write(self, data: bytes) -> None: ...
    def abort(self) -> None: ...


class LentBackends(PooledBackends):
    """The backends of a command, whose news are also passed on to it."""

    def __init__(
        self, pool: Pool, dependencies: Dependencies, folder: str, tell: Callable[[AggregatedBackend, News], None]
    ) -> None:
        super().__init__(pool, dependencies, folder)
        self._tell = tell
        self._wants_fresh = isinstance(dependencies.cache, FreshLists)

    def make(
        self, config: ServerConfig, publish: Callable[[News], None], client: "Callable[[], Session | None]"
    ) -> AggregatedBackend:
        def publish_to_both(news: News) -> None:
            publish(news)
            self._tell(backend, news)

        backend = super().make(config, publish_to_both, client)
        assert isinstance(backend, Lease)
        backend.is_of_command, backend.wants_fresh = True, self._wants_fresh
        return backend


class Borrower(Client):
    """A command that uses servers of this process."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(None)
        self._writer, self._lines = writer, loan_lines.Lines()
        self._backends: dict[str, AggregatedBackend] = {}
        self._person = Person()
        self._calls: dict[int, Cancel] = {}
        self._tasks: TaskGroup | None = None

    async def attend(self, aggregator: Aggregator) -> None:
        """Run the servers until the command has ended the connection; those that it alone has end with it."""
        self._aggregator = aggregator
        session = aggregator.open_session()
        self._person = Person(session=session)
        async with aggregator.running(), anyio.create_task_group() as self._tasks:
            session.open(OPENING)
            self._backends = {each.name: each for each in aggregator.backends}
            for backend in self._backends.values():
                self._write(Standing(backend.status))
            await self.ended.wait()
            for cancel in list(self._calls.values()):
                cancel(payload.encode("interrupted"))
            self._calls.clear()
            session.close()
            self._tasks.cancel_scope.cancel()

    def tell(self, backend: AggregatedBackend, news: News) -> None:
        """Pass on news of a server, as far as a command uses them."""
        if isinstance(news, StateChanged):
            self._write(Standing(backend.status))
        elif isinstance(news, ListChanged):
            self._write(Listed(news))

    def on_bytes(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk):
            try:
                self._carry_out(payload.typed(line, FromCommand))  # type: ignore[arg-type]  # a union of structs
            except (ValueError, KeyError) as exc:
                log.warning("! a command cannot be understood: %s", exc)
                self._writer.abort()
                return

    def on_eof(self) -> None:
        self.end()

    def _carry_out(self, line: FromCommand) -> None:
        if isinstance(line, Cancellation):
            if (cancel := self._calls.pop(line.number, None)) is not None:
                cancel(line.reason if isinstance(line.reason, Raw) else None)
            return
        if isinstance(line, Comparison):
            if self._tasks is not None:
                self._tasks.start_soon(self._compare)
            return
        call = Call(
            line.action,
            line.target,
            line.params,
            line.meta,
            self._person,
            partial(self._answer, line.number),
            partial(self._report, line.number) if line.reports else None,
            unless_read_only=loan_lines.error_of(line.unless_read_only) if line.unless_read_only is not None else None,
        )
        self._calls[line.number] = lambda _reason: None  # it may be answered before `submit` returns
        cancel = self._backends[line.server].submit(call, line.target)
        if line.number in self._calls:
            self._calls[line.number] = cancel

    async def _compare(self) -> None:
        found = {}
        for name, backend in self._backends.items():
            with contextlib.suppress(OSError):  # a record that cannot be read is reported among the changes
                found[name] = await anyio.to_thread.run_sync(backend.opened)
        self._write(Compared(found))

    def _answer(self, number: int, outcome: Outcome) -> None:
        if self._calls.pop(number, None) is not None:
            self._write(loan_lines.answer_of(number, outcome))

    def _report(self, number: int, fields: Fields) -> None:
        if number in self._calls:
            self._write(Progress(number, fields))

    def _write(self, line: FromEngine) -> None:
        self._writer.write(loan_lines.encode(line))
