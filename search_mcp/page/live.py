"""The streams of changes to browsers: the parts of a view that are different from those sent before.

Nothing is looked at while no browser is connected.
"""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

import anyio

from search_mcp.wire.payload import encode_text

log = logging.getLogger(__name__)

TICK_SECONDS = 0.2
"""Time between two looks at what a view shows."""
BEAT_SECONDS = 1.0
"""Longest time without an event: a browser that gets none for three seconds shows that nothing is known."""
MOST_STREAMS = 20
"""Streams at a time; a further one ends the oldest."""


@dataclass(frozen=True)
class Part:
    """A part of a view, with an id of its own in the document."""

    key: object
    """Is different whenever the part is."""
    write: Callable[[], str]


class Same:
    """Compares by identity, for values whose comparison takes long."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


Parts = Callable[[], Awaitable[Mapping[str, Part]]]
"""Returns the parts of a view, as they are now."""


class Streams:
    """All streams of one page."""

    def __init__(self) -> None:
        self._scopes: list[anyio.CancelScope] = []

    async def events(self, parts: Parts) -> AsyncIterator[bytes]:
        """Yield server-sent events: one with all parts, then the parts that change, and the time each second."""
        with anyio.CancelScope() as scope:
            self._scopes.append(scope)
            for oldest in self._scopes[:-MOST_STREAMS]:
                oldest.cancel()
            try:
                sent: dict[str, object] = {}
                sent_at = 0.0
                while True:
                    now = await parts()
                    changed = {name: part.write() for name, part in now.items() if sent.get(name) != part.key}
                    sent = {name: part.key for name, part in now.items()}
                    if changed or time.monotonic() - sent_at >= BEAT_SECONDS:
                        sent_at = time.monotonic()
                        data = encode_text({"at": time.strftime("%H:%M:%S"), "parts": changed})
                        yield f"data: {data}\n\n".encode()
                    await anyio.sleep(TICK_SECONDS)
            finally:
                self._scopes.remove(scope)
