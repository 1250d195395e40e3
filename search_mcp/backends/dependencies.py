"""The dependencies of supervisors: spawning, clocks, randomness, folders, variables. Tests pass their own."""

import math
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from search_mcp.backends.cache import CatalogCache
from search_mcp.backends.equal_lists import EqualLists
from search_mcp.backends.last_uses import LastUses
from search_mcp.backends.lifecycle import Backoff
from search_mcp.backends.pins import TrustStore
from search_mcp.backends.process.commands import CommandRunner
from search_mcp.backends.process.launching import Spawn, Spawner
from search_mcp.background import QueueOperation, RunBlocking, run_in_thread, run_now
from search_mcp.config.schema import MAX_MESSAGE_BYTES, Remote
from search_mcp.folders import cache_folder, log_folder, state_folder, trust_folder, usage_file
from search_mcp.logs import Conceal, conceal
from search_mcp.wire.structs import Struct, field

if TYPE_CHECKING:
    import httpx2

    from search_mcp.backends.watched_files import Sight
    from search_mcp.config.scanning import Watched

PROBE_SECONDS = 3.0
"""Time that `server/discover` may go unanswered before `initialize` is tried: a legacy server may ignore what
comes before `initialize` (the specification asks for "a reasonable timeout"; Claude Code waits 3 s, the SDKs 10 s)."""


RECENT_SECONDS = 0.02
"""Time after a call in which the reading of floods is deferred; a busy client calls again within this time."""


class LastCall:
    """The time of the client's last call of any backend."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at = -math.inf

    def record(self) -> float:
        """Record a call now; return the time."""
        self._at = now = self._clock()
        return now

    def is_recent(self) -> bool:
        return self._clock() - self._at < RECENT_SECONDS


RunCommand: TypeAlias = Callable[[Sequence[str], Mapping[str, str], str, str | None, int], Awaitable[bytes]]
"""Runs a command whose output is a secret; see `process.commands.CommandRunner`."""


class Dependencies(Struct, frozen=True):
    """Everything that a supervisor uses of its environment."""

    spawn: Spawn = field(default_factory=Spawner)
    run_command: RunCommand = field(default_factory=CommandRunner)
    outputs: dict[object, Any] = field(default_factory=dict)
    """The outputs of commands for all servers of this process; see `secret_sources`."""
    new_http_client: "Callable[[Remote], httpx2.AsyncClient] | None" = None
    """Makes the HTTP client of each connection to a remote server; `None`: that of `remote/client.py`."""
    clock: Callable[[], float] = time.monotonic
    last_call: LastCall = field(default_factory=LastCall)
    jitter: Callable[[], float] = random.random
    backoff: Backoff = field(default_factory=Backoff)
    probe_seconds: float = PROBE_SECONDS
    max_message_bytes: int = MAX_MESSAGE_BYTES
    cache: CatalogCache | None = None
    trust: TrustStore | None = None
    run_blocking: RunBlocking = run_in_thread
    last_uses: LastUses | None = None
    """`None`: earlier calls are unknown, and `startup: "auto"` starts every server."""
    lists: EqualLists = field(default_factory=EqualLists)
    """The lists of all backends that share these dependencies."""
    watched: "dict[Watched, Sight] | None" = None
    """The watched files of all servers of this process; `None` where no server is restarted when its files change."""
    log_folder: Path | None = None
    usage_file: Path | None = None
    """The file that tool calls are recorded in; `None` to record none."""
    file_queue: QueueOperation = run_now
    """Carries out file operations: now, or in a thread if an event loop must not wait for them."""
    conceal: Conceal = conceal
    """Is told of the tokens of logins, which the log must not show."""
    wall_clock: Callable[[], float] = time.time
    variables: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    home: str = field(default_factory=lambda: os.path.expanduser("~"))  # noqa: PTH111  # a string is what is wanted

    folder: str | None = None
    """The folder of a server whose entry names none; `None` for the current folder of this process."""

    def __repr__(self) -> str:
        return "<Dependencies>"  # variables may be secrets


def dependencies_of_user(file_queue: QueueOperation) -> Dependencies:
    """Return the dependencies of the servers of a process that serves, with the files that its user has."""
    return Dependencies(
        spawn=Spawner(file_queue=file_queue),
        file_queue=file_queue,
        cache=CatalogCache(cache_folder()),
        trust=TrustStore(trust_folder()),
        last_uses=LastUses(state_folder() / "last-uses"),
        log_folder=log_folder(),
        watched={},
        usage_file=usage_file(),
    )
