"""What a backend's supervisor needs of the world around it; tests pass their own."""

import asyncio
import contextlib
import math
import os
import random
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from search_mcp.backends.cache import CatalogCache
from search_mcp.backends.last_uses import LastUses
from search_mcp.backends.lifecycle import Backoff
from search_mcp.backends.pins import TrustStore
from search_mcp.backends.process.launching import Spawn, Spawner
from search_mcp.background import at_once
from search_mcp.wire.structs import Struct, field

PROBE_SECONDS = 3.0
"""How long `server/discover` may go unanswered before `initialize` is tried: a legacy server may ignore what
comes before `initialize` (the specification asks for "a reasonable timeout"; Claude Code waits 3 s, the SDKs 10 s)."""


_Answer = TypeVar("_Answer")


class Aside(Protocol):
    """Does what may block where it does not hold up the event loop."""

    def __call__(self, act: Callable[[], _Answer], /) -> Awaitable[_Answer]: ...


async def in_thread(act: Callable[[], _Answer], /) -> _Answer:
    """Run a function in a daemon thread and wait for its result; cancelled, leave it to its end.

    Unlike the worker threads of anyio, a daemon thread does not hold up the end of the process if a file never answers.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_Answer] = loop.create_future()

    def settle(how: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lambda: None if answer.done() else how())

    def run() -> None:
        try:
            found = act()
        except Exception as exc:  # the waiter gets it
            settle(partial(answer.set_exception, exc))
        else:
            settle(partial(answer.set_result, found))

    threading.Thread(target=run, name="aside", daemon=True).start()
    return await answer


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
    aside: Aside = in_thread
    last_uses: LastUses | None = None
    """`None`: nothing is known of earlier uses, and `startup: "auto"` starts every server."""
    log_folder: Path | None = None
    file_queue: Callable[[Callable[[], None]], None] = at_once
    """Does what touches files: at once, or in a thread where an event loop must not wait for it."""
    wall_clock: Callable[[], float] = time.time
    variables: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    home: str = field(default_factory=lambda: os.path.expanduser("~"))  # noqa: PTH111  # a string is what is wanted

    def __repr__(self) -> str:
        return "<Dependencies>"  # variables may be secrets
