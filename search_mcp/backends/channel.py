"""The channel to one server: bytes in both directions, and its end.

A supervisor and a connection know these protocols only: no process, address or signal number.
"""

from collections.abc import Callable
from typing import Protocol

from search_mcp.wire.errors import SearchMcpError


class CannotOpenChannelError(SearchMcpError):
    """The server cannot be started or reached; the text is the reason and the remedy."""


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

    def program(self) -> str:
        """Return the file that is run.

        Raises:
            CannotOpenChannelError: it does not exist.
        """
        ...

    async def open(self, on_bytes: Callable[[bytes], None], on_end: Callable[[], None]) -> Channel:
        """Open a channel; `on_bytes` receives the server's output as it arrives, then `on_end` is called once.

        Raises:
            CannotOpenChannelError: the server cannot be started or reached.
        """
        ...
