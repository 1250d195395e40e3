"""The questions of an intermediate result of a modern backend, each put to the client on its own."""

from collections.abc import Callable
from functools import partial

from search_mcp.dialects import asking, names
from search_mcp.dialects.params import read_params
from search_mcp.model.calls import InputRequired, Inputs, Question, Result
from search_mcp.model.errors import MisbehavedError
from search_mcp.wire import payload
from search_mcp.wire.errors import ProtocolError, WireError
from search_mcp.wire.inflight import Reason
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import EMPTY, Fields, Raw, Struct, field

MAX_ROUNDS = 16
"""Most times that one call may ask for input; a person answers a few."""


class Round(Struct, eq=False):
    """The questions of one intermediate result.

    When all are answered, the call is made again with the answers; the first error ends the call.
    """

    needed: InputRequired
    put: Callable[[Question], None]
    """Puts a question to the client."""
    call_again: Callable[[Inputs], None]
    fail: Callable[[WireError], None]
    responses: Fields = field(default_factory=dict)
    unanswered: dict[str, Pending[Result | WireError]] = field(default_factory=dict)

    def begin(self, capabilities: Fields) -> None:
        """Put the questions to a client with these capabilities."""
        requests = self.needed.requests or {}
        try:
            questions = {key: self._question(key, raw, capabilities) for key, raw in requests.items()}
        except MisbehavedError as error:
            self.fail(error)
            return
        self.responses = dict(requests)  # in the server's order; replaced by the answers
        self.unanswered = {key: question.answer for key, question in questions.items()}
        if not questions:
            self._finish()
        for question in questions.values():
            if not question.answer.is_over:  # as after an error in answer to an earlier one
                self.put(question)

    def cancel(self, reason: Reason) -> None:
        """Withdraw the questions that are not answered."""
        while self.unanswered:
            self.unanswered.popitem()[1].cancel(reason)

    def _question(self, key: str, raw: Raw, capabilities: Fields) -> Question:
        """Read a question.

        Raises:
            MisbehavedError: it is malformed, or the client did not declare that it answers such questions.
        """
        try:
            request = payload.fields(raw)
            ask = names.ASKS[payload.string(request.get("method")) or ""]
            params, meta = read_params(request.get("params", EMPTY))
        except (KeyError, ValueError, ProtocolError):
            raise MisbehavedError(f"its request for the input {key!r} is malformed") from None
        capability = names.ASK_CAPABILITY[ask]
        if capability not in capabilities:
            raise MisbehavedError(f"it asks for {capability}, which the client did not declare")
        return Question(self.needed.server, ask, asking.with_id(params), meta, Pending(partial(self._on_answer, key)))

    def _on_answer(self, key: str, answer: Result | WireError) -> None:
        del self.unanswered[key]
        if isinstance(answer, WireError):
            self.cancel(None)
            self.fail(answer)
            return
        self.responses[key] = answer.raw()
        if not self.unanswered:
            self._finish()

    def _finish(self) -> None:
        answers = payload.encode(self.responses) if self.needed.requests is not None else None
        self.call_again(Inputs(answers, self.needed.request_state))
