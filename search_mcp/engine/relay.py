"""`search-mcp serve` as a relay: it joins the engine process of the user, and moves bytes in both directions.

Each side is read only while the other side accepts data. If the engine is lost, open requests are answered with
an error, and the next message joins or starts another engine. Standard library only: a relay has a fraction of the
memory of an engine.
"""

import contextlib
import os
import select
import sys
from collections import deque
from collections.abc import Callable, Mapping

from search_mcp.engine import joining
from search_mcp.engine.hello import introduction
from search_mcp.engine.joining import MisconfiguredError, NoEngineError, Piped, join
from search_mcp.engine.lines import Lines, Piece
from search_mcp.engine.meeting import is_supported, meeting
from search_mcp.engine.open_requests import OpenRequests, changes, refusal
from search_mcp.engine.setting import says_own
from search_mcp.fronts.standard_streams import is_pollable

CHUNK = 1 << 16
"""Bytes read at once."""
SERVES_ALONE = "search-mcp: no shared engine ({}); this client has its own\n"
"""The message on stderr if this process serves alone."""
ENGINE_LOST = (
    "The search-mcp engine process ended before it answered this request, which may have been carried out: "
    "check its effects before you send it again"
)
NO_ENGINE = (
    "The search-mcp engine process ended, and this request was not carried out, because no other engine could be "
    "started: {}"
)
LAST_BYTES_SECONDS = 1.0
"""Time for a client to read the last bytes, as without a relay."""
LAST_ANSWERS_SECONDS = 8.0
"""Time for an engine to end the connection after the client's last message; it allows itself six."""


def run(options: Mapping[str, str], file: str, greeting: str = "") -> int | None:
    """Serve the client through an engine; return `None` if this process has to serve it alone.

    `options` are those of `serve`, `file` is the configuration file, and `greeting` a text for stderr once an engine
    is joined.
    """
    if not is_supported(sys.platform) or os.getpid() == 1:  # the end of a container's first process ends all others
        return None
    try:
        place = meeting(file, os.environ)
        first = introduction(options)
        joined = join(place, first, joining.PATIENCE_SECONDS)
    except MisconfiguredError:
        return None
    except Exception as exc:  # whatever is wrong with sharing, the client is served
        say(SERVES_ALONE.format(str(exc) or type(exc).__name__))
        return None
    say(greeting + "".join(f"{notice}\n" for notice in joined.answer.get("notices", ())))

    def again() -> Piped:
        try:
            if not says_own(file):  # it may say so since
                return join(place, first, joining.PATIENCE_SECONDS)
        except MisconfiguredError:  # this client's own process would keep the faulty configuration
            raise
        except (NoEngineError, OSError) as exc:
            say(SERVES_ALONE.format(exc))
        from search_mcp.engine.starting import start_own

        incoming, outgoing = start_own([word for option in options.items() for word in option])
        return Piped(incoming, outgoing, {})

    return Relay(joined, again, 0, 1).run()


def say(text: str) -> None:
    """Write to stderr, which the client may have closed."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def reopen(joined: Piped, opening: bytes) -> bytes:
    """Open an engine as the client has opened the lost one; return its answer, which the client does not need again.

    Raises:
        NoEngineError: this engine is lost, too.
    """
    with contextlib.suppress(OSError):
        joined.outgoing.write(opening)
        if answer := joined.incoming.readline():
            return answer
    joined.close()
    raise NoEngineError("it ended as well")


def read(descriptor: int) -> bytes | None:
    """Return bytes, or no bytes at the end of the stream; `None` if there are none yet."""
    try:
        return os.read(descriptor, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


class Relay:
    """The connection between one client and an engine; after an engine is lost, the next message joins another one."""

    def __init__(self, joined: Piped, again: Callable[[], Piped], stdin: int, stdout: int) -> None:
        self._again, self._stdin, self._stdout = again, stdin, stdout
        self._open_requests = OpenRequests()
        self._from_client, self._from_engine = Lines(), Lines()
        self._unsent: deque[Piece] = deque()  # from the client; no engine is joined, or its pipe is full
        self._unread = bytearray()  # for the client, whose pipe is full
        self._is_inside_line = False  # the engine has a part of a line of the client
        self._refusal = ""  # the reason why the rest of this line of the client is dropped and refused
        self._is_client_done = False  # it sends no more
        self._is_client_gone = False  # it reads no more
        self._engine: Piped | None = None
        self._poller: select.poll
        self._wanted: object = None  # what `_poller` waits for
        for descriptor in (stdin, stdout):
            if is_pollable(sys.platform, os.fstat(descriptor).st_mode):
                os.set_blocking(descriptor, False)
        self._attach(joined)

    def run(self) -> int:
        """Move bytes until the client has gone."""
        while not self._is_over():
            ready = self._wait()
            if not ready:  # after the end of stdin: the client does not read, or the engine is suspended
                break
            # The engine first: a message that came after its end goes to the next engine.
            if self._engine is not None and self._engine.incoming.fileno() in ready:
                self._read_engine(self._engine)
            if self._stdin in ready and not self._is_client_done:
                self._read_client()
            if ready.get(self._stdout, 0) & ~select.POLLOUT:  # not only writable: the other end is closed
                self._is_client_gone = True
            self._send()
            self._write_out()
        if self._engine is not None:
            self._engine.close()
        return 0

    def _is_over(self) -> bool:
        if self._is_client_gone:
            return True
        return self._is_client_done and self._engine is None and not self._unread and not self._unsent

    def _wait(self) -> dict[int, int]:
        """Wait until something can be read or written; return the descriptors, none if the time for it is over."""
        wanted = self._engine, bool(self._unsent), bool(self._unread), self._is_client_done
        if wanted != self._wanted:
            self._wanted, self._poller = wanted, select.poll()
            self._register()
        seconds = LAST_BYTES_SECONDS if self._engine is None else LAST_ANSWERS_SECONDS
        return dict(self._poller.poll(1000 * seconds if self._is_client_done else None))

    def _register(self) -> None:
        if self._engine is not None:
            self._poller.register(self._engine.incoming, 0 if self._unread else select.POLLIN)
            if self._unsent:
                self._poller.register(self._engine.outgoing, select.POLLOUT)
        self._poller.register(self._stdout, select.POLLOUT if self._unread else 0)
        if not self._unsent and not self._is_client_done:
            self._poller.register(self._stdin, select.POLLIN)

    # From the client

    def _read_client(self) -> None:
        chunk = read(self._stdin)
        if chunk is not None:
            self._is_client_done = not chunk
            self._unsent.extend(self._from_client.feed(chunk) if chunk else self._from_client.flush())

    def _send(self) -> None:
        """Write the client's pieces to an engine until its pipe is full."""
        while self._unsent:
            if self._refusal:
                self._refuse(self._unsent.popleft())
            elif self._engine is None:
                self._join()
            elif not self._write_to(self._engine, self._unsent[0]):
                return
        if self._is_client_done and self._engine is not None:
            self._engine.outgoing.close()

    def _write_to(self, engine: Piped, piece: Piece) -> bool:
        """Write the first unsent piece, or a part of it; return false if there is no room for all of it."""
        try:
            written = os.write(engine.outgoing.fileno(), piece.data)
        except BlockingIOError:
            return False
        except OSError:
            self._lose(engine)
            return True
        is_whole = written == len(piece.data)
        self._is_inside_line = not (is_whole and piece.line)
        if not is_whole:
            self._unsent[0] = piece._replace(data=memoryview(piece.data)[written:])
            return False
        self._unsent.popleft()
        if piece.line:
            self._open_requests.asked(piece.line)
        return True

    def _refuse(self, piece: Piece) -> None:
        """Drop a piece of a line that is refused; at its end, answer it."""
        if piece.line:
            self._tell(refusal(piece.line, self._refusal, may_have_run=self._refusal == ENGINE_LOST))
            self._refusal = ""

    # The engine

    def _join(self) -> None:
        """Join another engine; if that fails, refuse the line that waits."""
        self._write_out()  # joining takes time
        try:
            joined = self._again()
            if opening := self._open_requests.opening():
                self._tell(changes(reopen(joined, opening)))
        except Exception as exc:  # also if our own files were removed: the client is told
            self._refusal = NO_ENGINE.format(exc)
        else:
            self._attach(joined)

    def _attach(self, joined: Piped) -> None:
        for each in (joined.incoming, joined.outgoing):
            os.set_blocking(each.fileno(), False)
        self._engine, self._from_engine = joined, Lines()

    def _read_engine(self, engine: Piped) -> None:
        chunk = read(engine.incoming.fileno())
        if chunk:
            self._pass_on(chunk)
        elif chunk is not None:
            self._lose(engine)

    def _pass_on(self, chunk: bytes) -> None:
        """Write bytes of the engine for the client before they are parsed."""
        pieces = self._from_engine.feed(chunk)
        self._tell(pieces[0].data if len(pieces) == 1 else b"".join(piece.data for piece in pieces))
        for piece in pieces:
            if piece.line:
                self._open_requests.answered(piece.line)

    def _lose(self, engine: Piped) -> None:
        """Pass on the last output of a lost engine, and answer the requests that it left open."""
        while chunk := read(engine.incoming.fileno()):
            self._pass_on(chunk)
        engine.close()
        self._engine = None
        if self._from_client.is_framed:
            self._unsent.clear()
            self._is_client_done = True  # its open requests are not known: the client has to start search-mcp again
            return
        if self._from_engine.is_inside_line:
            self._tell(b"\n")
        if self._is_inside_line:
            self._is_inside_line, self._refusal = False, ENGINE_LOST
        else:  # before what the client has said since
            self._unsent.extendleft(Piece(line, line) for line in reversed(self._open_requests.repeat()))
        self._tell(self._open_requests.lose(ENGINE_LOST))

    # To the client

    def _tell(self, data: bytes | memoryview) -> None:
        """Write to the client until its pipe is full; the rest waits."""
        written = 0 if self._unread or not data else self._write(data)
        self._unread += data[written:]

    def _write_out(self) -> None:
        while self._unread and (written := self._write(self._unread[:CHUNK])):
            del self._unread[:written]

    def _write(self, data: bytes | bytearray | memoryview) -> int:
        """Return how many bytes were written; if stdout is closed, all of them count as written."""
        try:
            return os.write(self._stdout, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._is_client_gone = True
            return len(data)
