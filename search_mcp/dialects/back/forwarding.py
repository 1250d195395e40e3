"""One call on its way to a backend, from the request it is sent as to the answer or the cancellation."""

from collections.abc import Mapping
from typing import Protocol

from search_mcp.dialects import names
from search_mcp.dialects.params import cancellation, send_request
from search_mcp.model.calls import Call, Outcome
from search_mcp.wire.inflight import Answer, Reason
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import Struct


class Forwarder(Protocol):
    """The back dialect that forwards a call."""

    def read_answer(self, forwarded: "ForwardedCall", answer: Answer) -> Outcome: ...
    def forget(self, call: Call) -> None:
        """Stop counting a call as in flight: it was answered or cancelled."""
        ...


class ForwardedCall(Struct, eq=False):
    """One call and the request that it is sent to the backend as."""

    call: Call
    peer: Peer
    forwarder: Forwarder
    message_id: int = 0
    """The id of the request, which is also its progress token; 0 if it was never sent."""

    def send(self, params: Mapping[str, object], meta: Mapping[str, object]) -> None:
        """Send the request."""
        method = names.METHOD[self.call.action]
        self.message_id = send_request(self.peer, method, params, meta, self.settle, self.call.report)

    def settle(self, answer: Answer) -> None:
        """Reply to the call with what the backend answered."""
        self.forwarder.forget(self.call)
        self.call.reply(self.forwarder.read_answer(self, answer))

    def cancel(self, reason: Reason) -> None:
        """Cancel the request at the backend, unless it is answered already."""
        if self.peer.abandon(self.message_id, names.CANCELLED, cancellation(self.message_id, reason)):
            self.forwarder.forget(self.call)
