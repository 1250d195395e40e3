"""The servers of a running engine, as the backends of a command.

Decides when a command uses them: if the configuration asks for a shared engine, and one is running and lends its
servers. In any other case, the command starts its servers itself. It never starts an engine.
"""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from search_mcp.backends.command_cache import CommandCache
from search_mcp.config import location
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.fronts import loan_lines
from search_mcp.fronts.joining import Connected, join_running
from search_mcp.fronts.loan_lines import (
    Cancellation,
    Compared,
    Comparison,
    FromCommand,
    FromEngine,
    Listed,
    Progress,
    Request,
    Standing,
)
from search_mcp.fronts.meeting import is_supported, meeting, own_folder
from search_mcp.gateway.in_common import InCommon
from search_mcp.gateway.running import AggregatedBackend
from search_mcp.model.calls import Call
from search_mcp.model.errors import Lost
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import ListChanged, News, Opening, StateChanged, Status
from search_mcp.wire import payload
from search_mcp.wire.inflight import Cancel, Reason
from search_mcp.wire.structs import UNSET, replace

if TYPE_CHECKING:
    from search_mcp.backends.pin_records import Open
    from search_mcp.gateway.session import Session

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.0
"""Time for an engine to answer; without an answer, the command starts its servers itself."""
ENDING_SECONDS = 10.0
"""Time for an engine to end the servers that only this command had."""
_LOST = "was lost with the shared engine"


def borrow(explicit: str | None, config: Config, cache: type[CommandCache]) -> "Loan | None":
    """Ask the running engine for the enabled servers; `None` if there is none, or in any doubt.

    `explicit` is the value of `--config`, `cache` how much of the cached lists the command uses.
    """
    names = [each.name for each in config.servers if each.may_run]
    if config.settings.engine != "shared" or not names or not is_supported(sys.platform):
        return None
    first = {
        "wants": "servers",
        "config": explicit,
        "parent_pid": os.getpid(),
        "folder": str(Path.cwd()),
        "variables": dict(os.environ),
        "servers": names,
        "cache": cache.__name__,
    }
    try:
        if not Path(own_folder(os.environ)).exists():
            return None
        joined = join_running(meeting(str(location.locate(explicit, os.environ)), os.environ), first, PATIENCE_SECONDS)
    except Exception as exc:  # whatever is wrong with sharing, the command starts its servers
        log.debug("= the shared engine is not used: %r", exc)
        return None
    if joined is None:
        return None
    log.debug("= the servers are those of the shared engine with pid %s", joined.answer["pid"])
    return Loan(joined)


class Loan:
    """The connection to an engine that lends its servers, and the source of the backends of a command."""

    def __init__(self, joined: Connected) -> None:
        self.pid: int = joined.answer["pid"]
        """The process of the engine."""
        self.in_common = InCommon()
        self._joined = joined
        self._backends: dict[str, BorrowedServer] = {}
        self._calls: dict[int, tuple[str, Call]] = {}  # with the server of each
        self._numbers = count(1)
        self._writer: asyncio.StreamWriter | None = None
        self._ended = asyncio.Event()
        self._compared: dict[str, list[Open]] = {}
        self._is_compared = asyncio.Event()

    # The source of the backends

    def make(
        self, config: ServerConfig, publish: Callable[[News], None], _client: "Callable[[], Session | None]"
    ) -> AggregatedBackend:
        backend = self._backends[config.name] = BorrowedServer(config, publish, self)
        return backend

    def succeed(self, backend: AggregatedBackend, predecessor: AggregatedBackend) -> None:
        """Do nothing: a command follows no edits."""

    def release(self, backend: AggregatedBackend) -> None:
        """Do nothing: the end of the connection releases all servers."""

    def other_sessions(self, _backend: AggregatedBackend) -> "Iterable[Session]":
        return ()

    def was_shared(self, _backend: AggregatedBackend) -> bool:
        return False

    # The connection

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read what the engine tells; at the end, wait until it has ended the servers that only this command had."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._joined.connection)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, reader)
            try:
                yield
            finally:
                with anyio.move_on_after(ENDING_SECONDS, shield=True), suppress(OSError):
                    self._writer.write_eof()
                    await self._ended.wait()
                tasks.cancel_scope.cancel()
                self._writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        lines, chunk = loan_lines.Lines(), self._joined.early
        try:
            while True:
                for line in lines.feed(chunk):
                    self._hear(payload.typed(line, FromEngine))  # type: ignore[arg-type]  # a union of structs
                chunk = await reader.read(1 << 16)
                if not chunk:
                    break
        except OSError as exc:
            log.debug("= the shared engine was lost: %s", exc)
        finally:
            self._end()

    def _end(self) -> None:
        self._ended.set()
        self._is_compared.set()
        for backend in self._backends.values():
            backend.lose()
        calls, self._calls = self._calls, {}
        for server, call in calls.values():
            call.reply(Lost(server, _LOST))

    def _hear(self, line: FromEngine) -> None:
        match line:
            case Standing(status):
                self._backends[status.server].hear(StateChanged(status.server, status))
            case Listed(news):
                self._backends[news.server].hear(news)
            case Compared(found):
                self._compared = found
                self._is_compared.set()
            case Progress(number, fields):
                if (asked := self._calls.get(number)) is not None and (report := asked[1].report) is not None:
                    report(fields)
            case _:
                if (asked := self._calls.pop(line.number, None)) is not None:
                    asked[1].reply(loan_lines.outcome_of(line))

    def submit(self, server: str, call: Call, target: str) -> Cancel:
        """Send a call."""
        number = next(self._numbers)
        if self._ended.is_set():
            call.reply(Lost(server, _LOST))
            return lambda _reason: None
        self._calls[number] = server, call
        refusal = loan_lines.refusal_of(call.unless_read_only) if call.unless_read_only is not None else None
        reports = call.report is not None
        self._send(Request(number, server, call.action, target, call.params, call.meta, reports, refusal))

        def cancel(reason: Reason) -> None:
            if self._calls.pop(number, None) is not None:
                self._send(Cancellation(number, reason if reason is not None else UNSET))

        return cancel

    async def differences(self) -> "dict[str, list[Open]]":
        """Return the differences between the accepted and the listed definitions, by server."""
        self._send(Comparison())
        await self._is_compared.wait()
        return self._compared

    def _send(self, line: FromCommand) -> None:
        if self._writer is not None and not self._ended.is_set():
            self._writer.write(loan_lines.encode(line))

    def abort(self) -> None:
        """End the connection at once."""
        self._ended.set()
        if self._writer is not None:
            self._writer.transport.abort()


class BorrowedServer:
    """A server of the engine."""

    def __init__(self, config: ServerConfig, publish: Callable[[News], None], loan: Loan) -> None:
        self.config, self._publish, self._loan = config, publish, loan
        self.status = Status(config.name, State.STOPPED)

    @property
    def name(self) -> str:
        return self.config.name

    def hear(self, news: StateChanged | ListChanged) -> None:
        """Record news of the engine."""
        if isinstance(news, StateChanged):
            self.status = news.status
        self._publish(news)

    def lose(self) -> None:
        """Record that the engine has ended."""
        self.hear(StateChanged(self.name, replace(self.status, state=State.FAILED, reason=f"it {_LOST}")))

    def submit(self, call: Call, target: str) -> Cancel:
        return self._loan.submit(self.name, call, target)

    def abort(self) -> None:
        """End the connection: the engine ends the servers that only this command has."""
        self._loan.abort()

    async def run(self) -> None:
        """Wait for the end: the engine runs the server."""
        await anyio.sleep_forever()

    # Done by the engine, when the connection opens

    def recall(self, opening: Opening) -> None: ...
    def open(self, opening: Opening) -> None: ...
    async def compare_recalled(self) -> None: ...
    async def compare_recalled_now(self) -> None: ...

    # Not needed by commands

    def look_again(self, kind: Kind) -> None: ...
    def due_change(self, kind: Kind) -> Callable[[], bool] | None:
        return None

    def restart(self) -> Callable[[], bool]:
        return lambda: False

    def set_log_level(self, level: str) -> None: ...
    def roots_changed(self) -> None: ...
    def is_started_like(self, config: ServerConfig) -> bool:
        return config == self.config

    def adopt(self, config: ServerConfig) -> None: ...
    def retire(self) -> None: ...
    async def look_at_trust(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def terminate(self) -> None: ...

    def opened(self) -> "list[Open]":
        raise NotImplementedError  # the engine compares
