"""Requests in flight on one connection, in both directions.

Sent requests are kept by the ids that were made here, received ones by the ids that the other side chose. Each is
registered before anything is written and retired exactly once. Methods are opaque; nothing is written here.
"""

import enum
from collections.abc import Callable, Iterator
from typing import TypeAlias

from search_mcp.wire.batch import BatchSlot
from search_mcp.wire.structs import ErrorObject, Fields, Raw, RequestId, Struct, UnsetType, field

Reason: TypeAlias = Raw | None
"""The reason of a cancellation, as a JSON string; `None` if none was given."""
Write: TypeAlias = Callable[[bytes], None]
Cancel: TypeAlias = Callable[[Reason], None]
"""Cancels work in progress; does nothing once the work is done."""


RECEIVED_REQUESTS = 65_536
"""Most requests of the other side that may be open at once; an open call takes about 3 kB."""
RECEIVED_BYTES = 256 << 20
"""Most bytes that these may have together; the last of them may exceed it."""
SENT_REQUESTS = 16_384
"""Most sent requests that may be unanswered at once, so that one silent server does not take all memory."""


class Fate(enum.Enum):
    """The end of a request that got no answer."""

    LOST = "lost"  # it may have run
    REFUSED = "refused"  # it was not run, and would be refused again
    REJECTED = "rejected"  # it was not run, and may be sent once more on the next connection
    OUTDATED = "outdated"  # it was not run, and may be sent once more after the lists of the server were read again
    UNAUTHORIZED = "unauthorized"  # it was not run, and may be sent once more after the user has logged in


class RequestFailure(Struct, frozen=True):
    """The end of one sent request without an answer, on a connection that may go on.

    There are such only where each request travels on its own, as over HTTP.
    """

    reason: str
    """A clause about the server for an error message, such as "it answered with HTTP status 502"."""
    fate: Fate = Fate.LOST
    is_unknown_request: bool = False
    """Whether the server knows no such requests at its address: evidence about its era and its transport."""
    error: ErrorObject | None = None
    """The server's own error, if the request is outdated."""
    retry_after_seconds: float = 0.0
    """Time that the server wants to be left alone."""


Answer: TypeAlias = Raw | ErrorObject | RequestFailure | None
"""The end of a sent request: its result, its error, its failure, or `None` if the connection ended first."""


class Sent(Struct, eq=False):
    """A sent request. `settle` is called with the answer, `report` with progress before it."""

    settle: Callable[[Answer], None]
    report: Callable[[Fields], None] | None = None


class Way(Struct, frozen=True, eq=False):
    """The way of the answer to a message that came on its own, as over HTTP."""

    write: Write
    """Takes the response."""
    stream: Write | None = None
    """Takes the messages that belong to the request before that."""
    dropped: Callable[[], None] = lambda: None
    """Called if there is no response."""
    is_apart: bool = False
    """Whether other requests may have the same id, so that no message names it by the id."""


class Request(Struct, eq=False):
    """A received request, until it is answered or cancelled."""

    id: RequestId
    method: str
    params: Raw | UnsetType
    write: Write
    """Writes the line with the response, to the connection or into a batch."""
    size: int
    """Bytes of its line, or its share of a batch's line, which stay in memory with `params`."""
    way: Way | None = None
    """The way of its answer, if it came on its own."""
    key: object = None
    """The key under which it is in flight: its id, or itself."""
    cancel: Cancel | None = None
    """Cancels the work; set by the code that does it."""

    def skip(self) -> None:
        """Leave it without a response."""
        if isinstance(self.write, BatchSlot):
            self.write.skip()
        elif self.way is not None:
            self.way.dropped()

    @property
    def stream(self) -> Write | None:
        """Writes messages that belong to it before its response; `None` if these go where all others go."""
        return self.way.stream if self.way is not None else None


class Inflight(Struct):
    """The requests in flight of one connection."""

    _sent: dict[int, Sent] = field(default_factory=dict)
    _received: dict[object, Request] = field(default_factory=dict)  # 1 and "1" are different ids
    _received_bytes: int = 0  # sum of their sizes
    _next_id: int = 1

    def __len__(self) -> int:
        return len(self._sent)

    def send(self, sent: Sent) -> int:
        """Register a request to be sent; return its id, which is also its progress token.

        Return 0 if too many are unanswered.
        """
        if len(self._sent) >= SENT_REQUESTS:
            return 0
        message_id = self._next_id
        self._sent[message_id] = sent
        self._next_id = message_id + 1
        return message_id

    def waiting(self, message_id: object) -> Sent | None:
        """Return the unanswered sent request with this id or progress token."""
        return self._sent.get(message_id) if type(message_id) is int else None

    def settle(self, message_id: object) -> Sent | None:
        """Retire a sent request; return `None` if there is none (cancelled, answered before, never sent)."""
        return self._sent.pop(message_id, None) if type(message_id) is int else None

    def receive(self, request: Request) -> bool:
        """Register a received request; return false if its id is in use."""
        request.key = request if request.way is not None and request.way.is_apart else request.id
        if self._received.setdefault(request.key, request) is not request:
            return False
        self._received_bytes += request.size
        return True

    def is_full(self) -> bool:
        """Return whether no more requests can be received until some are answered."""
        return len(self._received) >= RECEIVED_REQUESTS or self._received_bytes >= RECEIVED_BYTES

    def received(self, message_id: RequestId | None) -> Request | None:
        """Return the unanswered received request with this id."""
        return self._received.get(message_id) if message_id is not None else None

    def is_open(self, request: Request) -> bool:
        """Return whether a received request is still unanswered."""
        return self._received.get(request.key) is request

    def has_received(self) -> bool:
        """Return whether any received request is unanswered."""
        return bool(self._received)

    def open_requests(self) -> list[Request]:
        """Return the received requests that are unanswered."""
        return list(self._received.values())

    def retire(self, request: Request) -> bool:
        """Retire a received request; return false if it was retired before."""
        if self._received.get(request.key) is not request:
            return False
        del self._received[request.key]
        self._received_bytes -= request.size
        return True

    def drain_sent(self) -> Iterator[Sent]:
        """Retire all sent requests, because the connection ended."""
        while self._sent:  # settling a request may send new ones and retire others
            for message_id in list(self._sent):
                sent = self._sent.pop(message_id, None)
                if sent is not None:
                    yield sent

    def drain_received(self) -> Iterator[Request]:
        """Retire all received requests, because the connection ended."""
        while self._received:
            for request in self.open_requests():
                if self.retire(request):
                    yield request
