"""The channel to one server: bytes in both directions, and its end.

A supervisor and a connection know these protocols only: no process, address or signal number.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from search_mcp.files import identity
from search_mcp.wire.errors import SearchMcpError
from search_mcp.wire.inflight import RequestFailure
from search_mcp.wire.structs import Raw, Struct


class MissingFile(Struct, frozen=True):
    """A file of the user without which a server cannot be started."""

    path: Path
    found: tuple[int, int] | None
    """The `identity` of the file that could not be used; `None` if there was none."""
    remedy: str
    """The command that writes the file."""

    def is_replaced(self) -> bool:
        """Return whether another file is there; may block."""
        return identity(self.path) != self.found


class CannotOpenChannelError(SearchMcpError):
    """The server cannot be started or reached; the text is the reason and, without `missing`, the remedy."""

    def __init__(self, reason: str, missing: MissingFile | None = None) -> None:
        super().__init__(reason)
        self.missing = missing


class Listener(Protocol):
    """The owner of a channel, which is told what arrives on it."""

    def on_bytes(self, chunk: bytes, answers: int | None = None) -> None:
        """Handle output; `answers` is the only request that it may answer, 0 if there is none, `None` if any."""
        ...

    def on_failed(self, request_id: int, failure: RequestFailure) -> None:
        """End one request that will not be answered, unless it is answered already."""
        ...

    def on_rejecting(self) -> None:
        """Take no more calls: the server rejects what it would take on the next connection."""
        ...

    def input_schema(self, tool: str) -> Raw | None:
        """Return the input schema of a tool as the server lists it, if that is known."""
        ...

    def is_waiting(self, request_id: int) -> bool:
        """Return whether a request is unanswered."""
        ...

    def on_end(self) -> None: ...


class Channel(Protocol):
    """An open channel to a server."""

    def write(self, data: bytes) -> None: ...

    def is_congested(self) -> bool:
        """Return whether the server leaves so much unread that it must not be given more calls."""
        ...

    def defer_reading(self) -> None:
        """Pause reading for a moment if the server floods, so that other servers are read first."""
        ...

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def has_ended(self) -> bool:
        """Return whether the server ended, closed its output or reads its input no more."""
        ...

    def how_it_ended(self) -> str:
        """Return how the server ended, as a clause for an error message."""
        ...

    def stderr_tail(self) -> str:
        """Return the end of the server's stderr, secrets included; empty if there is none."""
        ...

    def has_session(self) -> bool:
        """Return whether the server keeps state of this connection: every process does."""
        ...

    @property
    def pid(self) -> int | None:
        """The process of the server; `None` if it runs elsewhere."""
        ...

    def describe(self) -> str:
        """Return what identifies the channel in a log line, such as a process number."""
        ...

    def terminate(self) -> None:
        """Ask the server to end now."""
        ...

    def kill(self) -> None:
        """End the server by force."""
        ...

    async def stop(self) -> None:
        """Stop the server in order, in bounded time."""
        ...


class Transport(Protocol):
    """The way to one server: how its channel is opened."""

    @property
    def is_http(self) -> bool:
        """Whether every message is an HTTP request, which is answered or fails, with headers of its own."""
        ...

    def program(self) -> str:
        """Return what stands for the server in the cache: the file that is run, or the address.

        Raises:
            CannotOpenChannelError: the file does not exist.
        """
        ...

    def start(self, counts: Callable[[str], bool]) -> Sequence[object]:
        """Return everything that the server is given at its start, as values for JSON; they hold secrets.

        `counts` returns whether an inherited variable is one of these, by its name.

        Raises:
            CannotOpenChannelError: the file does not exist.
        """
        ...

    async def open(self, listener: Listener) -> Channel:
        """Open a channel; the listener receives the server's output as it arrives, and the end once.

        Raises:
            CannotOpenChannelError: the server cannot be started or reached.
        """
        ...
