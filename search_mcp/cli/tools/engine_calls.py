"""A call through the shared engine, of which the command is an MCP client like any other.

Decides when there is one to use: if the configuration asks for it, and it is running. It is never started here. The
engine starts the server of the tool only, and ends it with the command unless other clients use it.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

import anyio

from search_mcp.cli.session import outcome as outcome_of
from search_mcp.config import location
from search_mcp.config.schema import Config
from search_mcp.dialects import BackDialect, CannotOpenError
from search_mcp.dialects.back.opening import back_dialect, negotiate
from search_mcp.engine.hello import introduction
from search_mcp.engine.joining import Piped, join_running
from search_mcp.engine.meeting import is_supported, meeting, own_folder
from search_mcp.gateway.person import OPENING, Person
from search_mcp.model.calls import Call, Outcome
from search_mcp.model.errors import Lost
from search_mcp.model.names import Action, Era
from search_mcp.wire import payload
from search_mcp.wire.errors import SERVER_ERROR, PeerError
from search_mcp.wire.framing import Line
from search_mcp.wire.inflight import Request, RequestFailure
from search_mcp.wire.messages import Invalid
from search_mcp.wire.peer import Peer
from search_mcp.wire.receiver import ConnectionEndedError
from search_mcp.wire.structs import UNSET, ErrorObject, Fields, Raw, UnsetType

log = logging.getLogger(__name__)

CHUNK = 1 << 16
"""Bytes read at once."""
_LOST = "was lost with the shared engine"


def join(explicit: str | None, config: Config, server: str) -> Piped | None:
    """Connect to the running engine as a client with one server; `None` if there is none, or in any doubt.

    `explicit` is the value of `--config`.
    """
    if config.settings.engine != "shared" or not is_supported(sys.platform):
        return None
    try:
        if not Path(own_folder(os.environ)).exists():
            return None
        place = meeting(str(location.locate(explicit, os.environ)), os.environ)
        joined = join_running(place, introduction({"--config": explicit, "--servers": server}))
    except Exception as exc:  # whatever is wrong with sharing, the command starts its server
        log.debug("= the shared engine is not used: %r", exc)
        return None
    if joined is not None:
        log.debug("= the shared engine with pid %s carries out the call", joined.answer["pid"])
    return joined


class Client:
    """A client of the engine, which calls a tool; the `Receiver` of its peer."""

    def __init__(self, joined: Piped, server: str, max_message_bytes: int) -> None:
        self._joined, self._server = joined, server
        self._peer = Peer("engine", self._write, self, max_message_bytes, header=None)
        self._writer: asyncio.WriteTransport
        self._dialect: BackDialect | None = None  # once it is open

    def _write(self, line: bytes) -> None:
        self._writer.write(line)

    async def call(self, name: str, arguments: Fields, report: Callable[[Fields], None]) -> Outcome:
        """Call a tool by its canonical name, and end the connection."""
        outcome: Outcome = Lost(self._server, _LOST)
        loop, incoming = asyncio.get_running_loop(), asyncio.StreamReader()
        reader, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(incoming), self._joined.incoming)
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._joined.outgoing)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, incoming)
            try:
                capabilities = await negotiate(
                    self._peer, OPENING, pinned=OPENING.revision, first=Era.MODERN, probe_seconds=None
                )
                self._dialect = dialect = back_dialect(
                    self._server, self._peer, capabilities, OPENING, _ignore, _ignore, self._lose
                )
                params = {"arguments": payload.encode(arguments)}
                outcome = await outcome_of(
                    lambda reply: dialect.submit(
                        Call(Action.CALL_TOOL, name, params, None, Person(), reply, report), name
                    )
                )
            except (ConnectionEndedError, CannotOpenError) as exc:
                log.debug("= the shared engine ended the call: %r", exc)
            finally:
                self._writer.close()
                reader.close()
                tasks.cancel_scope.cancel()
        return outcome

    async def _read(self, incoming: asyncio.StreamReader) -> None:
        while chunk := await incoming.read(CHUNK):
            self._peer.feed(chunk)
        self._peer.end()

    def _lose(self, call: Call, target: str, failure: RequestFailure | None) -> None:
        call.reply(Lost(self._server, _LOST))

    # From the engine

    def on_request(self, request: Request) -> None:
        if self._dialect is not None:
            self._dialect.on_request(request)

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        if self._dialect is not None:
            self._dialect.on_notification(method, params)

    def on_invalid(self, invalid: Invalid, line: Line) -> ErrorObject | None:
        return None


def did_not_run(outcome: Outcome) -> bool:
    """Return whether the engine refused a call because the server does not run there, so that the tool did not run."""
    if not isinstance(outcome, PeerError) or outcome.code != SERVER_ERROR or outcome.error.data is UNSET:
        return False
    return not {"state", "remedy"}.isdisjoint(payload.object_or_empty(outcome.error.data))


def _ignore(*_: object, **__: object) -> None:
    """Ignore news: one tool is called, and the command ends."""
