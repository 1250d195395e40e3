"""One life of a backend: its process and the connection to it, from the spawn to its last words.

Decides what is heard before it is open, and what is said of its end. Whether there is to be another
life is the supervisor's business.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from search_mcp.backends.channel import Channel
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.transports import transport_to
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import BackDialect
from search_mcp.wire.errors import SERVER_ERROR, ProtocolError
from search_mcp.wire.framing import Line
from search_mcp.wire.inflight import Request
from search_mcp.wire.messages import Invalid
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import ErrorObject, Raw, UnsetType

log = logging.getLogger(__name__)

LOGGED_NOISE = 5
"""How many lines that are no messages are logged of one life; the rest is counted."""
NOISE_LENGTH = 200
"""Characters of such a line that are shown."""
LAST_WORDS = 1000
"""Characters of a backend's stderr that an error message quotes."""
EARLY_MESSAGES = 100
EARLY_BYTES = 1 << 20
"""What a backend may send before it is open and still be heard."""


class Connection:
    """A process that runs, or ran: the `Receiver` of its connection."""

    channel: Channel

    def __init__(self, config: ServerConfig, dependencies: Dependencies) -> None:
        self.peer = Peer(config.name, self._write, self, dependencies.max_message_bytes, header=None)
        self.dialect: BackDialect | None = None  # only while calls are for this life
        self.over = asyncio.Event()  # it ended, or is to end
        self._config, self._last_call = config, dependencies.last_call
        self._redact = config.redactor
        self._early: list[Callable[[], None]] = []  # what it said before it was open
        self._early_bytes = 0
        self._noise = 0  # lines on its stdout that were no messages

    @classmethod
    async def begin(cls, config: ServerConfig, dependencies: Dependencies) -> "Connection":
        """Open the channel to a server.

        Raises:
            CannotOpenChannelError: it cannot be started or reached.
        """
        connection = cls(config, dependencies)
        connection.channel = await transport_to(config, dependencies).open(connection._on_bytes, connection._on_end)
        log.info("= %s: started, %s", config.name, connection.channel.describe())
        return connection

    def open(self, dialect: BackDialect) -> None:
        """Take calls from here on."""
        self.dialect = dialect

    def hear_early(self) -> None:
        """Act on what it said before it was open."""
        early, self._early = self._early, []
        for replay in early:
            replay()

    def retire(self) -> None:
        """Take no calls from here on: they are for the next life."""
        self.dialect = None
        self.over.set()

    async def stop(self) -> None:
        """Stop the process and all it started."""
        self._on_end()
        if self._noise > LOGGED_NOISE:
            log.warning("! %s: %d lines on its stdout were not JSON-RPC", self._config.name, self._noise)
        await self.channel.stop()

    def how_it_ended(self) -> str:
        """Return how the server ended, with the end of its stderr."""
        return self.with_stderr_tail(self.channel.how_it_ended())

    def with_stderr_tail(self, how: str) -> str:
        """Add the end of its stderr, without secrets, to what is said of it."""
        words = self._redact(self.channel.stderr_tail())
        if len(words) > LAST_WORDS:
            _, _, whole_lines = words[-LAST_WORDS:].partition("\n")
            words = whole_lines or words[-LAST_WORDS:]
        return f"{how}; its last words: {words}" if words else how

    def _write(self, line: bytes) -> None:
        self.channel.write(line)

    def _on_bytes(self, chunk: bytes) -> None:
        """Take in what it wrote; one that goes on and on and answers nothing has to wait for those who answer."""
        unanswered = self.peer.unanswered
        self.peer.feed(chunk)
        if self.peer.unanswered == unanswered and self.dialect is not None and self._last_call.is_recent():
            self.channel.defer_reading()

    def _on_end(self) -> None:
        self.retire()
        self.peer.end()

    # From the backend

    def on_request(self, request: Request) -> None:
        if self.dialect is not None:
            self.dialect.on_request(request)
        elif not self._hear_later(partial(self.peer.serve, request), request.params):
            raise ProtocolError(SERVER_ERROR, "Too much was asked before the server was open")

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        if self.dialect is not None:
            self.dialect.on_notification(method, params)
        else:
            self._hear_later(partial(self.peer.hear, method, params), params)

    def _hear_later(self, replay: Callable[[], None], params: Raw | UnsetType) -> bool:
        """Keep what it says before it is open; false if that is too much."""
        self._early_bytes += len(memoryview(params)) if isinstance(params, Raw) else 0
        if len(self._early) >= EARLY_MESSAGES or self._early_bytes > EARLY_BYTES:
            return False
        self._early.append(replay)
        return True

    def on_invalid(self, invalid: Invalid, line: Line) -> ErrorObject | None:
        """Lines that are no messages are counted and skipped, the first of them logged; it is not told."""
        self._noise += 1
        if self._noise <= LOGGED_NOISE:
            # Redacted whole, so that no secret is cut; of a line over the limit too little is left for that.
            whole = self._redact(line.decode(errors="replace")) if isinstance(line, bytes) else ""
            shown = whole[:NOISE_LENGTH]
            log.warning("! %s: not JSON-RPC on its stdout: %r (%s)", self._config.name, shown, invalid.message)
        return None
