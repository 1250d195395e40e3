"""Who waits for what, on one connection.

The only record of what is in flight: the requests we sent, by the ids we minted, and the requests we
received, by the ids the other side chose. Each is registered before anything is written and retired
exactly once. It knows no method and writes nothing.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from search_mcp.wire.structs import ErrorObject, Fields, Raw, RequestId, Struct, UnsetType, field

Reason: TypeAlias = Raw | None
"""Why somebody gave up, as a JSON string; `None` where nothing was said."""
Cancel: TypeAlias = Callable[[Reason], None]
"""Give up on something under way. Late calls do nothing."""


def cancel_nothing(_reason: Reason) -> None:
    """Do nothing: there is nothing to cancel."""


RECEIVED_REQUESTS = 65_536
"""How many requests of the other side may be open at once: an open call costs some 3 kB."""
RECEIVED_BYTES = 256 << 20
"""How long all of them may be; the last of them may exceed it."""
SENT_REQUESTS = 16_384
"""How many requests of ours may be unanswered at once: one server that never answers leaves room for others."""

Answer: TypeAlias = Raw | ErrorObject | None
"""What ended a request of ours: its result, its error, or `None` where the connection ended first."""


class Sent(Struct, eq=False):
    """A request of ours. `settle` gets the answer, `report` any progress before it."""

    settle: Callable[[Answer], None]
    report: Callable[[Fields], None] | None = None


class Request(Struct, eq=False):
    """A request of the other side, until it is answered or cancelled."""

    id: RequestId
    method: str
    params: Raw | UnsetType
    write: Callable[[bytes], None]
    """Takes the one line that answers it: the connection's own writer, or a batch's."""
    size: int
    """Bytes of the line it came in, or its share of them, which are kept with its parameters."""
    cancel: Cancel | None = None
    """What stops the work; set by whoever does it."""


class Inflight(Struct):
    """Both directions of one connection."""

    _sent: dict[int, Sent] = field(default_factory=dict)
    _received: dict[RequestId, Request] = field(default_factory=dict)  # 1 and "1" differ
    _received_bytes: int = 0  # of those
    _next_id: int = 1

    def __len__(self) -> int:
        return len(self._sent)

    def send(self, sent: Sent) -> int:
        """Register a request of ours; return its id, which is also its progress token."""
        message_id = self._next_id
        self._sent[message_id] = sent
        self._next_id = message_id + 1
        return message_id

    def waiting(self, message_id: object) -> Sent | None:
        """The request of ours with this id or progress token, if it still waits."""
        return self._sent.get(message_id) if type(message_id) is int else None

    def settle(self, message_id: object) -> Sent | None:
        """Retire a request of ours; `None` if nobody waits (cancelled, answered twice, never sent)."""
        return self._sent.pop(message_id, None) if type(message_id) is int else None

    def receive(self, request: Request) -> bool:
        """Register a request of theirs; false if its id is already in use."""
        if self._received.setdefault(request.id, request) is not request:
            return False
        self._received_bytes += request.size
        return True

    def is_full(self) -> bool:
        """Whether so many requests of theirs are open that no more can be kept."""
        return len(self._received) >= RECEIVED_REQUESTS or self._received_bytes >= RECEIVED_BYTES

    def is_waiting_for_many(self) -> bool:
        """Whether so many requests of ours are unanswered that there is no use in sending more."""
        return len(self._sent) >= SENT_REQUESTS

    def received(self, message_id: RequestId | None) -> Request | None:
        """The unanswered request of theirs with this id."""
        return self._received.get(message_id) if message_id is not None else None

    def is_open(self, request: Request) -> bool:
        """Whether this request still wants its answer."""
        return self._received.get(request.id) is request

    def owes(self) -> bool:
        """Whether any request of theirs is open."""
        return bool(self._received)

    def open_requests(self) -> list[Request]:
        """Every request of theirs that is not answered."""
        return list(self._received.values())

    def retire(self, request: Request) -> bool:
        """Close a request of theirs: it is answered now, or never. False if it was closed before."""
        if self._received.get(request.id) is not request:
            return False
        del self._received[request.id]
        self._received_bytes -= request.size
        return True

    def drain_sent(self) -> Iterator[Sent]:
        """Retire every request of ours, for a connection that ended."""
        while self._sent:  # one that ends may bring new ones, and retire others
            for message_id in list(self._sent):
                sent = self._sent.pop(message_id, None)
                if sent is not None:
                    yield sent

    def drain_received(self) -> Iterator[Request]:
        """Retire every request of theirs, for a connection that ended."""
        while self._received:
            for request in self.open_requests():
                if self.retire(request):
                    yield request
