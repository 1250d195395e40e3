"""One connection to a backend, from its start to its end.

Decides which messages are accepted before it is open, and how its end is described.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

import anyio

from search_mcp.backends.channel import Channel
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.transports import transport_to
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import BackDialect
from search_mcp.model.reasons import STDERR_TAIL_MARK
from search_mcp.wire.errors import SERVER_ERROR, ProtocolError
from search_mcp.wire.framing import Line
from search_mcp.wire.inflight import Fate, Request, RequestFailure
from search_mcp.wire.messages import Invalid
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import ErrorObject, Raw, UnsetType

log = logging.getLogger(__name__)

LOGGED_NOISE = 5
"""Lines that are no messages and are logged for one connection; the rest is counted."""
NOISE_BYTES = 1 << 18
"""Bytes of such a line that are read for the log: more than a secret has, which must be replaced as a whole."""
NOISE_LENGTH = 200
"""Characters of such a line in the log."""
QUOTED_NOISE = 60
"""Characters of the first such line in the reason why a server was not opened."""
STDERR_TAIL = 1000
"""Characters of a backend's stderr that an error message quotes."""
LAST_ANSWERS_SECONDS = 1.0
"""Time that requests in flight may still be answered after the server rejected another one."""
RESTART_SECONDS = 2.0
"""Time that calls in flight may take to end before the server is restarted."""
EARLY_MESSAGES = 100
EARLY_BYTES = 1 << 20
"""Messages and bytes that a backend may send before it is open; later ones are dropped."""


class Connection:
    """A channel and the peer on it; the `Listener` of the channel and the `Receiver` of the peer."""

    channel: Channel
    is_http: bool

    def __init__(
        self, config: ServerConfig, dependencies: Dependencies, input_schema: Callable[[str], Raw | None]
    ) -> None:
        self.input_schema = input_schema
        self.peer = Peer(config.name, self._write, self, dependencies.max_message_bytes, header=None)
        self.dialect: BackDialect | None = None
        """The dialect of the server while the connection takes calls."""
        self.over = asyncio.Event()  # it ended, or is to be stopped
        self._config, self._last_call = config, dependencies.last_call
        self._redact = config.redactor
        self._early: list[Callable[[], None]] = []  # messages before it was open
        self._early_bytes = 0
        self.is_rejecting = False
        """Whether the server rejects requests that it would take on the next connection."""
        self.unauthorized: str | None = None
        """The reason why the server lists nothing before the user has logged in, if so; may be empty."""
        self._all_settled = asyncio.Event()  # while it is rejecting or is to be restarted
        self._last_dialect: BackDialect | None = None  # of the calls in flight before a restart
        self._noise = 0  # lines that were no messages
        self._first_noise = ""  # the first of them, without secrets

    @classmethod
    async def begin(
        cls, config: ServerConfig, dependencies: Dependencies, input_schema: Callable[[str], Raw | None]
    ) -> "Connection":
        """Open the channel to a server.

        Raises:
            CannotOpenChannelError: it cannot be started or reached.
        """
        connection = cls(config, dependencies, input_schema)
        transport = transport_to(config, dependencies)
        connection.is_http = transport.is_http
        connection.channel = await transport.open(connection)
        event = "connecting to" if connection.is_http else "started,"  # an address may turn out not to answer
        log.info("= %s: %s %s", config.name, event, connection.channel.describe())
        return connection

    def hear_early(self) -> None:
        """Handle the messages that arrived before it was open."""
        early, self._early = self._early, []
        for replay in early:
            replay()

    def retire(self) -> None:
        """Take no calls from here on; they wait for the next connection."""
        self.dialect = None
        self.over.set()

    def restart(self) -> None:
        """Take no calls from here on, and end once those in flight have ended."""
        self._last_dialect = self.dialect
        self.retire()
        self._note_settled()

    async def stop(self) -> None:
        """Stop the server."""
        try:
            if self._last_dialect is not None:
                with anyio.move_on_after(RESTART_SECONDS):
                    await self._all_settled.wait()
            if self.is_rejecting and self.peer.unanswered:
                with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                    await self._all_settled.wait()  # others may still be answered
        finally:
            await self._stop()

    async def _stop(self) -> None:
        self.on_end()
        if self._noise > LOGGED_NOISE:
            log.warning("! %s: %d lines on its stdout were not JSON-RPC", self._config.name, self._noise)
        await self.channel.stop()

    def why_not_opened(self, how: str) -> str:
        """Add the text that it wrote to stdout instead of MCP, and the end of its stderr, to what happened."""
        noise = f", and wrote text that is not MCP to stdout: {self._first_noise[:QUOTED_NOISE]!r}"
        return self.with_stderr_tail(f"{how}{noise if self._first_noise else ''}")

    def how_it_ended(self) -> str:
        """Return how the server ended, with the end of its stderr."""
        return self.with_stderr_tail(self.channel.how_it_ended())

    def with_stderr_tail(self, how: str) -> str:
        """Append the end of its stderr, without secrets, to a description."""
        words = self._redact(self.channel.stderr_tail())
        if len(words) > STDERR_TAIL:
            _, _, whole_lines = words[-STDERR_TAIL:].partition("\n")
            words = whole_lines or words[-STDERR_TAIL:]
        return f"{how}{STDERR_TAIL_MARK}{words}" if words else how

    def _write(self, line: bytes) -> None:
        self.channel.write(line)

    def on_bytes(self, chunk: bytes, answers: int | None = None) -> None:
        """Handle its output; a server that floods without answering is read after those that answer."""
        received = self.peer.answers_received
        self.peer.feed(chunk, answers)
        self._note_settled()
        if self.peer.answers_received == received and self.dialect is not None and self._last_call.is_recent():
            self.channel.defer_reading()

    def on_failed(self, request_id: int, failure: RequestFailure) -> None:
        """End one request; if it was rejected, so would be the others, and they wait for the next connection."""
        if failure.fate is Fate.REJECTED:
            self.on_rejecting()
        self.peer.fail(request_id, failure)
        self._note_settled()

    def on_rejecting(self) -> None:
        self.is_rejecting = True
        self.retire()

    def on_unauthorized(self, reason: str) -> None:
        """End, because the server lists nothing before the user has logged in."""
        self.unauthorized = reason
        self.on_rejecting()

    def _note_settled(self) -> None:
        if self._last_dialect is not None:
            is_settled = not self._last_dialect.has_calls()
        else:
            is_settled = self.is_rejecting and not self.peer.unanswered
        if is_settled:
            self._all_settled.set()

    def is_waiting(self, request_id: int) -> bool:
        return self.peer.is_waiting(request_id)

    def on_end(self) -> None:
        self.retire()
        self.peer.end()
        self._note_settled()

    # From the backend

    def on_request(self, request: Request) -> None:
        dialect = self.dialect or self._last_dialect
        if dialect is not None:
            dialect.on_request(request)
        elif not self._hear_later(partial(self.peer.serve, request), request.params):
            raise ProtocolError(SERVER_ERROR, "Too much was asked before the server was open")

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        dialect = self.dialect or self._last_dialect
        if dialect is not None:
            dialect.on_notification(method, params)
        else:
            kept = params.copy() if isinstance(params, Raw) else params  # a view would keep all of its line
            self._hear_later(partial(self.peer.hear, method, kept), params)

    def _hear_later(self, replay: Callable[[], None], params: Raw | UnsetType) -> bool:
        """Keep a message until the connection is open; return whether there was room."""
        self._early_bytes += len(params) if isinstance(params, Raw) else 0
        if len(self._early) >= EARLY_MESSAGES or self._early_bytes > EARLY_BYTES:
            return False
        self._early.append(replay)
        return True

    def on_invalid(self, invalid: Invalid, line: Line) -> ErrorObject | None:
        """Count a line that is no message, and log the first of them; the server gets no answer."""
        self._noise += 1
        if self._noise <= LOGGED_NOISE:
            # Redacted before it is cut, so that no part of a secret is left; a line over the size limit is not shown.
            whole = self._redact(line[:NOISE_BYTES].decode(errors="replace")) if isinstance(line, bytes) else ""
            shown = whole[:NOISE_LENGTH]
            self._first_noise = self._first_noise or shown.strip()
            log.warning("! %s: not JSON-RPC on its stdout: %r (%s)", self._config.name, shown, invalid.message)
        return None
