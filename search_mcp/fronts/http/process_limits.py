"""Limits on the server processes of clients over HTTP: for each principal, and for all together.

At a limit, no further server is started, and its calls are answered with the reason.
"""

from collections.abc import Callable
from functools import partial

from search_mcp.backends.channel import Channel
from search_mcp.backends.process.launching import Command, Spawn

MOST_PER_PRINCIPAL = 64
"""Processes of the servers of one principal."""
MOST_IN_ALL = 256
"""Processes of the servers of all principals; a small one takes some 50 MB."""


class ProcessLimits:
    """The processes that run, by principal."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._running: dict[object, str] = {}

    def of(self, principal: str) -> Spawn:
        """Return what starts the processes of a principal."""
        return partial(self._start, principal)

    async def _start(
        self, principal: str, command: Command, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> Channel:
        """Start a process.

        Raises:
            OSError: too many run, or it cannot be started.
        """
        running = list(self._running.values())
        if running.count(principal) >= MOST_PER_PRINCIPAL:
            raise OSError(f"{MOST_PER_PRINCIPAL} servers of this token run already, in all its sessions")
        if len(running) >= MOST_IN_ALL:
            raise OSError(f"{MOST_IN_ALL} servers of all tokens run already")
        key = object()
        self._running[key] = principal

        def end() -> None:
            self._running.pop(key, None)
            on_end()

        try:
            return await self._spawn(command, on_stdout, end)
        except BaseException:
            self._running.pop(key, None)
            raise
