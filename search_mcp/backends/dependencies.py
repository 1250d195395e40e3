"""What a backend's supervisor needs of the world around it; tests pass their own."""

import math
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from search_mcp.backends.cache import CatalogCache
from search_mcp.backends.last_uses import LastUses
from search_mcp.backends.lifecycle import Backoff
from search_mcp.backends.pins import TrustStore
from search_mcp.backends.process.launching import Spawn, Spawner
from search_mcp.background import RunBlocking, run_in_thread, run_now
from search_mcp.wire.structs import Struct, field

PROBE_SECONDS = 3.0
"""How long `server/discover` may go unanswered before `initialize` is tried: a legacy server may ignore what
comes before `initialize` (the specification asks for "a reasonable timeout"; Claude Code waits 3 s, the SDKs 10 s)."""


RECENT_SECONDS = 0.02
"""How long after a call floods are read with rests: a client that calls again and again does so sooner."""


class LastCall:
    """When the client last called any of the backends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at = -math.inf

    def record(self) -> None:
        self._at = self._clock()

    def is_recent(self) -> bool:
        return self._clock() - self._at < RECENT_SECONDS


class Dependencies(Struct, frozen=True):
    """Processes, clocks, chance, folders and variables."""

    spawn: Spawn = field(default_factory=Spawner)
    clock: Callable[[], float] = time.monotonic
    last_call: LastCall = field(default_factory=LastCall)
    jitter: Callable[[], float] = random.random
    backoff: Backoff = field(default_factory=Backoff)
    probe_seconds: float = PROBE_SECONDS
    max_message_bytes: int = 64 << 20
    cache: CatalogCache | None = None
    trust: TrustStore | None = None
    run_blocking: RunBlocking = run_in_thread
    last_uses: LastUses | None = None
    """`None`: nothing is known of earlier uses, and `startup: "auto"` starts every server."""
    log_folder: Path | None = None
    file_queue: Callable[[Callable[[], None]], None] = run_now
    """Does what touches files: at once, or in a thread where an event loop must not wait for it."""
    wall_clock: Callable[[], float] = time.time
    variables: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    home: str = field(default_factory=lambda: os.path.expanduser("~"))  # noqa: PTH111  # a string is what is wanted

    def __repr__(self) -> str:
        return "<Dependencies>"  # variables may be secrets
