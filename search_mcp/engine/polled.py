"""The streams of an adapter: those of the client, and the pipes to an engine. `poll` waits for all of them at once.

Decides how bytes are moved, not which. Standard library only, because adapters load nothing else.
"""

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from typing import NamedTuple

from search_mcp.engine.client_lines import is_one_line
from search_mcp.fronts.standard_streams import is_pollable

CHUNK = 1 << 16
"""Bytes read at once."""


class Wanted(NamedTuple):
    """What an adapter waits for: bytes from a side, and room for bytes to a side."""

    from_client: bool
    from_engine: bool
    to_client: bool
    to_engine: bool


NOTHING_WAITS = Wanted(from_client=True, from_engine=True, to_client=False, to_engine=False)
"""Bytes of either side; nothing is to be written."""

Taker = Callable[[bytes, int], None]
"""Takes bytes that were read, and how many of them are written already."""


class Ready(NamedTuple):
    """What an adapter does not have to wait for any longer."""

    from_client: bool
    from_engine: bool
    is_client_gone: bool


class Engine:
    """The pipes to an engine. No method waits for long, except `rest`."""

    def __init__(self, incoming: FileIO, outgoing: FileIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self.incoming, self.outgoing = incoming.fileno(), outgoing.fileno()
        os.set_blocking(self.incoming, False)
        os.set_blocking(self.outgoing, False)

    def read(self) -> bytes:
        """Return bytes of the engine; empty at the end.

        Raises:
            BlockingIOError: there are none yet.
            OSError: the engine is lost.
        """
        return os.read(self.incoming, CHUNK)

    def rest(self) -> Iterator[bytes]:
        """Yield what a lost engine wrote before its end."""
        with contextlib.suppress(OSError):
            while chunk := os.read(self.incoming, CHUNK):
                yield chunk

    def write(self, data: memoryview | bytes) -> int:
        """Write some of the bytes; return how many.

        Raises:
            BlockingIOError: there is no room for any.
            OSError: the engine is lost.
        """
        return os.write(self.outgoing, data)

    def end(self) -> None:
        """Tell the engine that nothing more will be written; may be called again."""
        self._outgoing.close()

    def close(self) -> None:
        self._incoming.close()
        self._outgoing.close()


class Polled:
    """The client's streams, and the wait for them and for those of the engine."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._poller: select.poll
        self._wanted: Wanted | None = None  # what `_poller` waits for
        self._engine: Engine | None = None
        pollable = [each for each in (stdin, stdout) if is_pollable(sys.platform, os.fstat(each).st_mode)]
        self._may_relay = len(pollable) == 2
        for descriptor in pollable:
            os.set_blocking(descriptor, False)

    def wait(self, wanted: Wanted, engine: Engine | None, seconds: float | None) -> Ready | None:
        """Wait for something that is wanted; `None` if nothing came in time."""
        self._register(wanted, engine)
        found = dict(self._poller.poll(None if seconds is None else 1000 * seconds))
        if not found:
            return None
        incoming = -1 if engine is None else engine.incoming
        return Ready(
            from_client=self._stdin in found,
            from_engine=bool(found.get(incoming, 0) & (select.POLLIN | select.POLLHUP | select.POLLERR)),
            is_client_gone=bool(found.get(self._stdout, 0) & (select.POLLERR | select.POLLHUP | select.POLLNVAL)),
        )

    def _register(self, wanted: Wanted, engine: Engine | None) -> None:
        """Make the poller for what is wanted; the engine is registered first, so its events come first."""
        if wanted == self._wanted and engine is self._engine:
            return
        self._wanted, self._engine, self._poller = wanted, engine, select.poll()
        if engine is not None:
            self._poller.register(engine.incoming, select.POLLIN if wanted.from_engine else 0)
            if wanted.to_engine:
                self._poller.register(engine.outgoing, select.POLLOUT)
        self._poller.register(self._stdout, select.POLLOUT if wanted.to_client else 0)
        if wanted.from_client:
            self._poller.register(self._stdin, select.POLLIN)

    def relay(self, engine: Engine, take_from_client: Taker, take_from_engine: Taker) -> None:
        """Pass on single lines until something is left to write, an end or an error.

        A line that is read alone is written to the other side, then given to its taker with the number of bytes that
        were written; anything else is given to it unwritten. Each side must be between two lines, with nothing left to
        write. This runs for each request and each answer, so its steps are few.
        """
        if not self._may_relay:
            return  # the end is read here and then again by the adapter; a terminal has it once, and a file never waits
        self._register(NOTHING_WAITS, engine)
        poll, read, write, bytes_came = self._poller.poll, os.read, os.write, select.POLLIN
        routes = {engine.incoming: (self._stdout, take_from_engine), self._stdin: (engine.outgoing, take_from_client)}
        while True:
            for descriptor, events in poll():
                if events != bytes_came:
                    return
                target, take = routes[descriptor]
                try:
                    data = read(descriptor, CHUNK)
                except OSError:
                    return  # the adapter reads again, and handles it
                if not data:
                    return  # the adapter reads the end again
                written = 0
                if is_one_line(data):
                    try:  # noqa: SIM105  # a context manager for each message
                        written = write(target, data)
                    except OSError:
                        pass  # the adapter writes again, and handles it
                take(data, written)
                if written < len(data):
                    return

    def read(self) -> bytes:
        """Return bytes of the client; as `Engine.read`."""
        return os.read(self._stdin, CHUNK)

    def write(self, data: memoryview | bytes) -> int:
        """Write some bytes for the client; as `Engine.write`."""
        return os.write(self._stdout, data[:CHUNK])
