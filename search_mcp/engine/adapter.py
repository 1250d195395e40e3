"""`search-mcp serve` as an adapter: it joins the engine process of the user, and moves bytes in both directions.

Memory is bounded in both directions: each side is read only while the other one takes what was read. If the engine is
lost, open requests are answered with an error, and the next message joins or starts another engine. Standard library
only: an adapter has a fraction of the memory of an engine.
"""

import contextlib
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from search_mcp.engine import joining
from search_mcp.engine.client_lines import Lines, Piece
from search_mcp.engine.conversation import Conversation
from search_mcp.engine.hello import Json
from search_mcp.engine.joining import MisconfiguredError, NoEngineError, Piped, join
from search_mcp.engine.meeting import is_supported, meeting
from search_mcp.engine.polled import Engine, Polled, Ready, Wanted
from search_mcp.engine.setting import OPTIONS

UNREAD_BYTES = 1 << 20
"""Bytes that may wait for the client before the engine is no longer read."""
SERVES_ALONE = "search-mcp: no shared engine ({}); this client has its own\n"
"""The message on stderr if this process serves alone."""
ENGINE_LOST = (
    "The search-mcp engine process ended before it answered this request, which may have been carried out: "
    "check its effects before you send it again"
)
LINE_LOST = (
    "The search-mcp engine process ended before it received all of this request, which was not carried out: "
    "send it again"
)
NO_ENGINE = (
    "The search-mcp engine process ended, and this request was not carried out, because no other engine could be "
    "started: {}"
)
LAST_BYTES_SECONDS = 1.0
"""Time for a client to read the last bytes, as without an adapter."""
LAST_ANSWERS_SECONDS = 8.0
"""Time for an engine to end the connection after the client's last message; it allows itself six."""
_IDS_OF_ENGINE = 1_000_000_000
"""Request ids for each connection to an engine, so that they differ from those of the next one."""


class Options(NamedTuple):
    """The options of `serve`, as they were given, in the order of `setting.OPTIONS`."""

    config: str | None
    client: str | None
    log_level: str | None
    servers: str | None

    def words(self) -> list[str]:
        """Return them as arguments."""
        return [word for name, value in zip(OPTIONS, self, strict=True) if value is not None for word in (name, value)]


def run(options: Options, file: str, greeting: str = "") -> int | None:
    """Serve the client through an engine; `None` if this process has to.

    `file` is its configuration, `greeting` a text for stderr once there is an engine.
    """
    if not is_supported(sys.platform):
        say(SERVES_ALONE.format("not supported on this system"))
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

    def again(engines: int) -> Piped:
        try:
            return join(place, {**first, "first_id": 1 + engines * _IDS_OF_ENGINE}, joining.PATIENCE_SECONDS)
        except MisconfiguredError:  # an own engine would refuse all messages, also after a repair
            raise
        except (NoEngineError, OSError) as exc:
            say(SERVES_ALONE.format(exc))
            return joining.own(options.words())

    return Adapter(joined, again, Polled(0, 1)).run()


def say(text: str) -> None:
    """Write to stderr, which the client may have closed."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def introduction(options: Options) -> Json:
    """Return the first line for an engine.

    It has the whole environment: an edit of the configuration may refer to any variable, and `inheritEnv` may pass on
    all of them.
    """
    return {
        "wants": "serve",
        "config": options.config,
        "client": options.client,
        "log_level": options.log_level,
        "subset": options.servers,
        "folder": os.getcwd(),  # noqa: PTH109
        "variables": dict(os.environ),
        "first_id": 1,
        "parent": parent_name(),
        "parent_pid": os.getppid(),
    }


def parent_name() -> str:
    """Return the name of the program that started us, for the log and the status; empty if it is unknown."""
    try:
        with open(f"/proc/{os.getppid()}/comm", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return ""


class Outlet:
    """Pieces that wait to be written to a descriptor."""

    def __init__(self) -> None:
        self._pieces: deque[memoryview | bytes] = deque()
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def put(self, data: bytes) -> None:
        if data:
            self._pieces.append(data)
            self.size += len(data)

    def write(self, write: Callable[[memoryview | bytes], int]) -> None:
        """Write what can be written now."""
        while self._pieces:
            piece = self._pieces[0]
            try:
                written = write(piece)
            except BlockingIOError:
                return
            self.size -= written
            if written < len(piece):
                self._pieces[0] = memoryview(piece)[written:]
                return
            self._pieces.popleft()

    def clear(self) -> None:
        self._pieces.clear()
        self.size = 0


class Adapter:
    """The connection between one client and the engine.

    After the loss of an engine there is none until the client's next message, unless a request is to be repeated.
    """

    def __init__(self, joined: Piped, again: Callable[[int], Piped], streams: Polled) -> None:
        self._again, self._streams = again, streams
        self._conversation = Conversation()
        self._from_client, self._from_engine = Lines(), Lines()
        self._to_client, self._to_engine = Outlet(), Outlet()
        self._unsent: deque[Piece] = deque()  # of the client, for which there is no engine yet, or no room
        self._refusal = ""  # the reason why the rest of this line of the client is dropped and refused
        self._is_inside_line = False  # the engine has a part of a line of the client
        self._engine: Engine | None = None
        self._is_client_done = False  # it sends no more
        self._is_client_gone = False  # it reads no more
        self._engines = 0  # that were joined
        self._attach(joined)

    def run(self) -> int:
        """Move bytes until the client has gone."""
        while not self._is_over():
            if self._engine is not None and self._may_relay():
                self._streams.relay(self._engine, self._take_from_client, self._take_from_engine)
            ready = self._wait()
            if ready is None:  # a client that has ended its messages, and reads no more, or an engine that is suspended
                break
            # The engine first: a message that came after its end is for the next one.
            if ready.from_engine and self._engine is not None:
                self._read_engine(self._engine)
            if ready.is_client_gone:
                self._is_client_gone = True
            if ready.from_client and not self._is_client_done:
                self._read_client()
            self._send()
            self._write_out()
        if self._engine is not None:
            self._engine.close()
        return 0

    def _is_over(self) -> bool:
        if self._is_client_gone:
            return True
        return self._is_client_done and self._engine is None and not self._to_client and not self._unsent

    def _may_relay(self) -> bool:
        """Return whether nothing waits, so that a line that comes next may be written at once."""
        return (
            not (self._unsent or self._to_engine or self._to_client or self._is_client_done)
            and not self._conversation.is_repeating
            and self._from_client.passes_lines_unread
            and self._from_engine.passes_lines_unread
        )

    def _wait(self) -> Ready | None:
        wanted = Wanted(
            from_client=not self._is_client_done and not self._unsent and not self._to_engine,
            from_engine=self._to_client.size < UNREAD_BYTES,
            to_client=bool(self._to_client),
            to_engine=bool(self._to_engine or self._unsent),
        )
        seconds = LAST_BYTES_SECONDS if self._engine is None else LAST_ANSWERS_SECONDS
        return self._streams.wait(wanted, self._engine, seconds if self._is_client_done else None)

    # From the client

    def _read_client(self) -> None:
        try:
            chunk = self._streams.read()
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._take_from_client(chunk)

    def _take_from_client(self, chunk: bytes, written: int = 0) -> None:
        """Take bytes that the client wrote; the first `written` of them were already written to the engine.

        With `written`, the bytes are one line, which is recorded, and its rest is sent first. Without it, they wait in
        `_unsent`.
        """
        self._is_client_done = not chunk
        pieces = self._from_client.feed(chunk) if chunk else self._from_client.flush()
        if written:
            self._to_engine.put(chunk[written:])
            self._record(pieces[0])
        else:
            self._unsent.extend(pieces)

    def _record(self, piece: Piece) -> None:
        """Record a piece that was written to the engine, at least in part."""
        self._is_inside_line = not piece.ends
        if piece.ends:
            self._conversation.from_client(piece)

    def _send(self) -> None:
        """Pass on the pieces of the client, each once everything before it was written."""
        while self._unsent or self._to_engine:
            if self._refusal and self._unsent:
                self._refuse(self._unsent.popleft())
            elif self._engine is None:
                self._join()
            elif not self._write_to(self._engine):
                return
        if self._is_client_done and self._engine is not None:
            self._engine.end()

    def _write_to(self, engine: Engine) -> bool:
        """Write the rest of the piece before, or the beginning of the next one; return false if there is no room.

        A line of which nothing was written goes to the next engine.
        """
        try:
            if self._to_engine:
                self._to_engine.write(engine.write)
                return not self._to_engine
            piece = self._unsent[0]
            written = engine.write(piece.data) if piece.data else 0
        except BlockingIOError:
            return False
        except OSError:
            self._read_rest(engine)
            return True
        self._unsent.popleft()
        self._to_engine.put(piece.data[written:])
        self._record(piece)
        return True

    def _refuse(self, piece: Piece) -> None:
        if piece.ends:
            self._to_client.put(self._conversation.refuse(piece, self._refusal))
            self._refusal = ""

    # The engine

    def _join(self) -> None:
        """Join another engine; without one, refuse what waits for it."""
        self._write_out()  # joining takes time
        try:
            self._attach(self._again(self._engines))
        except (NoEngineError, OSError) as exc:
            reason = NO_ENGINE.format(exc)
            self._to_client.put(self._conversation.refuse_open(reason))
            self._refusal = self._refusal or (reason if self._unsent else "")

    def _attach(self, joined: Piped) -> None:
        self._engine = Engine(joined.incoming, joined.outgoing)
        self._from_engine = Lines()
        self._engines += 1
        self._to_engine.put(self._conversation.opening())

    def _read_engine(self, engine: Engine) -> None:
        try:
            chunk = engine.read()
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self._take_from_engine(chunk)
        else:
            self._lose(engine)

    def _read_rest(self, engine: Engine) -> None:
        """Read what an engine wrote before it was lost."""
        for chunk in engine.rest():
            self._take_from_engine(chunk)
        self._lose(engine)

    def _take_from_engine(self, chunk: bytes, written: int = 0) -> None:
        """Take bytes that the engine wrote; the first `written` of them were already written to the client.

        With `written`, the bytes are one line. What is not written is passed on before it is recorded, except while
        requests are repeated, because the answers to those are not for the client.
        """
        pieces = self._from_engine.feed(chunk)
        if self._conversation.is_repeating:
            for piece in pieces:
                if not piece.ends or self._conversation.from_engine(piece):
                    self._to_client.put(piece.data)
            return
        if written < len(chunk):
            self._to_client.put(chunk[written:] if written else b"".join(piece.data for piece in pieces))
            self._write_out()
        for piece in pieces:
            if piece.ends:
                self._conversation.from_engine(piece)

    def _lose(self, engine: Engine) -> None:
        """Answer what the lost engine has not answered, and join another one if it can."""
        engine.close()
        self._engine = None
        self._to_engine.clear()
        if self._from_client.is_framed:
            self._unsent.clear()
            self._is_client_done = True  # nothing is known of its messages: it has to start search-mcp again
            return
        if self._from_engine.is_inside_line:
            self._to_client.put(b"\n")
        if self._is_inside_line:
            self._is_inside_line, self._refusal = False, LINE_LOST
        self._to_client.put(self._conversation.lose(ENGINE_LOST))
        if self._conversation.is_waiting:
            self._join()

    # To the client

    def _write_out(self) -> None:
        try:
            self._to_client.write(self._streams.write)
        except OSError:
            self._is_client_gone = True
