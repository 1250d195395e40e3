"""One call on its way to a backend, from the request it is sent as to the answer or the cancellation."""

from collections.abc import Mapping
from typing import Protocol

from search_mcp.dialects import OnUnanswered, asking, names
from search_mcp.dialects.params import cancellation, send_request
from search_mcp.model.calls import Call, Outcome, Result
from search_mcp.model.names import Action
from search_mcp.wire import messages, payload
from search_mcp.wire.errors import PeerError
from search_mcp.wire.inflight import Answer, Reason, RequestFailure
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import ErrorObject, Raw, Struct


class Forwarder(Protocol):
    """The back dialect that forwards a call."""

    @property
    def unanswered(self) -> OnUnanswered: ...
    def read_answer(self, forwarded: "ForwardedCall", answer: Raw | ErrorObject) -> Outcome: ...
    def forget(self, call: Call) -> None:
        """Stop counting a call as in flight: it was answered or cancelled."""
        ...


class ForwardedCall(Struct, eq=False):
    """One call and the request that it is sent to the backend as."""

    call: Call
    target: str
    """The backend's own name for the target of the call."""
    peer: Peer
    forwarder: Forwarder
    message_id: int = 0
    """The id of the request, which is also its progress token; 0 if it was never sent."""

    def send(self, params: Mapping[str, object], meta: Mapping[str, object] | None) -> None:
        """Send the request."""
        self.call.reply.cancel_work = self.cancel
        method = names.METHOD[self.call.action]
        self.message_id = send_request(self.peer, method, params, meta, self.settle, self.call.report)

    def settle(self, answer: Answer) -> None:
        """Reply to the call with what the backend answered."""
        self.forwarder.forget(self.call)
        if answer is None or isinstance(answer, RequestFailure):
            self.forwarder.unanswered(self.call, self.target, answer)
        else:
            self.call.reply(self.forwarder.read_answer(self, answer))

    def cancel(self, reason: Reason) -> None:
        """Cancel the request at the backend, unless it is answered already."""
        if self.peer.abandon(self.message_id, names.CANCELLED, cancellation(self.message_id, reason)):
            self.forwarder.forget(self.call)


def params_with_target(call: Call, target: str) -> dict[str, object]:
    """Return the parameters of a call with the backend's own name for the target."""
    if call.action in names.TARGET_KEY:
        return {**call.params, names.TARGET_KEY[call.action]: target}
    if call.action is Action.LIST_TASKS:
        return {**call.params}
    key = "name" if call.action is Action.COMPLETE_PROMPT else "uri"
    reference = {**payload.fields(call.params["ref"]), key: target}
    return {**call.params, "ref": reference}


def outcome(server: str, answer: Raw | ErrorObject) -> Outcome:
    """Read an answer, as far as both eras have the same rules."""
    if isinstance(answer, ErrorObject):
        error = asking.admitted_error(server, answer)
        return PeerError(error) if isinstance(error, ErrorObject) else error
    if memoryview(answer)[0] != ord("{"):
        # "The `result` MAY follow any JSON object structure": clients drop anything else, and wait.
        return PeerError(ErrorObject(messages.INTERNAL_ERROR, "its result is not an object"))
    return Result(answer)
