"""The streams of changes to browsers: the parts of a view that are different from those sent before.

Nothing is looked at while no browser is connected.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import anyio
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from search_mcp.wire.payload import encode_text

T = TypeVar("T")

TICK_SECONDS = 0.2
"""Time between two looks at what a view shows."""
BEAT_SECONDS = 1.0
"""Longest time without an event: a browser that gets none for three seconds shows that nothing is known."""
END_SECONDS = 1.0
"""Time for the end of a stream to be sent."""
MOST_STREAMS = 20
"""Streams at a time; a further one ends the oldest."""
MOST_OF_A_BROWSER = 4
"""Streams of one browser at a time: it opens six connections to a host, and needs one for requests."""
_END = b"event: end\ndata:\n\n"
"""Tells a page not to come again by itself."""


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


class Kept:
    """Values that take long to make, by name: made again when the key of one is different."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[object, Any]] = {}

    async def get(self, name: str, key: object, make: Callable[[], Awaitable[T]]) -> T:
        known, made = self._made.get(name, (None, None))
        if known != key:
            made = await make()
            self._made[name] = key, made
        return cast("T", made)


Parts = Callable[[], Awaitable[Mapping[str, Part]]]
"""Returns the parts of a view, as they are now."""


class Streams:
    """All streams of one page."""

    def __init__(self, tick_seconds: float = TICK_SECONDS, beat_seconds: float = BEAT_SECONDS) -> None:
        self._tick_seconds, self._beat_seconds = tick_seconds, beat_seconds
        self._running: list[tuple[object, anyio.CancelScope]] = []

    def response(self, parts: Parts, browser: object) -> Response:
        """Return a response that sends the changes of a view to a browser."""
        return _Stream(self, self._events(parts), browser)

    @contextmanager
    def running(self, browser: object, scope: anyio.CancelScope) -> Iterator[None]:
        """Count a stream during the block, and end the oldest if there are too many."""
        entry = browser, scope
        self._running.append(entry)
        of_browser = [each for of, each in self._running if of is browser]
        for oldest in (*of_browser[:-MOST_OF_A_BROWSER], *(each for _, each in self._running[:-MOST_STREAMS])):
            oldest.cancel()
        try:
            yield
        finally:
            self._running.remove(entry)

    async def _events(self, parts: Parts) -> AsyncGenerator[bytes, None]:
        """Yield server-sent events: one with all parts, then the parts that change, and the time each second."""
        sent: dict[str, object] = {}
        sent_at = -self._beat_seconds
        while True:
            now = await parts()
            changed = {name: part.write() for name, part in now.items() if sent.get(name) != part.key}
            sent = {name: part.key for name, part in now.items()}
            if changed or time.monotonic() - sent_at >= self._beat_seconds:
                sent_at = time.monotonic()
                data = encode_text({"at": time.strftime("%H:%M:%S"), "parts": changed})
                yield f"data: {data}\n\n".encode()
            await anyio.sleep(self._tick_seconds)


class _Stream(StreamingResponse):
    """Sends events to one browser until it is gone, or until too many others have come."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, events: AsyncGenerator[bytes, None], browser: object) -> None:
        super().__init__(events)
        self._streams, self._events, self._browser = streams, events, browser

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events), anyio.create_task_group() as tasks:
            with self._streams.running(self._browser, tasks.cancel_scope):
                tasks.start_soon(until_gone, receive, tasks.cancel_scope)
                await self.stream_response(send)
        with anyio.move_on_after(END_SECONDS):  # a browser that reads nothing does not read the end
            await send({"type": "http.response.body", "body": _END})


async def until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel a scope when the browser closes its request, goes to another view, or is closed."""
    while (await receive())["type"] != "http.disconnect":
        """What a browser sends with its request means nothing."""
    scope.cancel()
