"""Modern calls that wait for an answer to a server's question: parked until the client's retry.

A parked call has a handle, which is unguessable, valid once, and expires. The front dialect writes the responses.
"""

import secrets
from collections import defaultdict
from collections.abc import Callable

from search_mcp.dialects import Gateway, asking, names
from search_mcp.dialects.front.progress import ProgressReport
from search_mcp.dialects.params import with_meta
from search_mcp.model.calls import Call, CallLater, InputRequired, Outcome, Question, Reply, Result
from search_mcp.model.names import Action
from search_mcp.wire import payload
from search_mcp.wire.errors import WireError, invalid_params, invalid_request
from search_mcp.wire.inflight import Reason, Request
from search_mcp.wire.peer import Peer
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import Fields, Raw, RequestId, Struct, field

PARKED_SECONDS = 600.0
"""Seconds that a parked call waits for the client's retry, while a person is being asked."""
PARKED_CALLS = 256
"""Most calls that may be parked at once; the oldest is cancelled for a new one."""
MOST_QUESTIONS = 16
"""Most open questions of one server. A client may drop its call silently, so a new question ends the oldest."""


class ParkedCalls:
    """The parked calls of one connection, by handle."""

    def __init__(self, later: CallLater) -> None:
        self._later = later
        self._exchanges: dict[str, tuple[Exchange, Callable[[], None]]] = {}  # with a function that cancels expiry
        self._open: defaultdict[str, dict[Pending[Result | WireError], None]] = defaultdict(dict)  # by server, in order

    def put(self, exchange: "Exchange") -> str:
        """Park a call; return its handle."""
        if len(self._exchanges) >= PARKED_CALLS:
            oldest, _ = next(iter(self._exchanges.values()))
            oldest.cancel(None)
        handle = secrets.token_urlsafe(32)
        self._exchanges[handle] = exchange, self._later(PARKED_SECONDS, lambda: exchange.cancel(None))
        return handle

    def add_question(self, question: Question) -> None:
        """Add an open question; if its server has too many, end the oldest with an error."""
        answers = self._open[question.server]
        if len(answers) >= MOST_QUESTIONS:
            next(iter(answers))(asking.too_many(MOST_QUESTIONS))
        answers[question.answer] = None
        question.answer.ends.append(lambda _answer: answers.pop(question.answer, None))

    def take(self, handle: str | None) -> "Exchange | None":
        """Remove and return the call with this handle."""
        if handle is None or handle not in self._exchanges:
            return None
        exchange, stop_expiry = self._exchanges.pop(handle)
        stop_expiry()
        return exchange

    def close(self) -> None:
        """Cancel all parked calls."""
        for exchange, _ in list(self._exchanges.values()):
            exchange.cancel(None)


class Exchange(Struct, eq=False):
    """One call and its requests: the first, and a retry for each time that it was parked."""

    peer: Peer
    answer: Callable[[Request, Action, Outcome], None]
    """Writes a response."""
    parked: ParkedCalls
    request: Request | None
    """The request that is answered next; `None` while the call is parked."""
    token: RequestId | None
    """The progress token of that request."""
    action: Action
    target: str
    params: Fields
    """The parameters of the first request. (A reference to the `Call` would be a cycle.)"""
    _reply: Reply | None = None
    _questions: dict[str, Question] = field(default_factory=dict)
    _asked: frozenset[str] = frozenset()
    """The questions that the client was shown."""
    _count: int = 0
    _outcome: Outcome | None = None
    _handle: str | None = None

    def start(self, call: Call, gateway: Gateway) -> None:
        """Submit the call for its first request."""
        if self.request is not None:
            self.request.cancel = self.cancel
        self._reply = call.reply
        gateway.submit(call)

    def report(self, progress: Fields) -> None:
        """Report progress to the current request."""
        if self.request is not None and self.token is not None:
            ProgressReport(self.peer, self.request, self.token)(progress)

    def settle(self, outcome: Outcome) -> None:
        """Answer with the outcome of the call, now or, if it is parked, with the retry."""
        self._outcome = outcome
        self._answer(outcome)

    def cancel(self, reason: Reason) -> None:
        """Cancel the call: the client cancelled it, or sent no retry in time."""
        self.parked.take(self._handle)
        self.request = None
        if self._reply is not None:
            self._reply.cancel(reason)
        while self._questions:
            _, question = self._questions.popitem()
            question.answer(invalid_request("Invalid Request: the call this question belongs to is over"))

    def park(self, question: Question) -> None:
        """Answer the current request with a server's question, and park the call."""
        self._count += 1
        key = f"{question.ask.value}-{self._count}"
        self._questions[key] = question
        question.answer.ends.append(lambda _answer: self._withdraw(key))
        self.parked.add_question(question)
        self._ask()

    def _withdraw(self, key: str) -> None:
        self._questions.pop(key, None)

    def resume(self, request: Request, call: Call, token: RequestId | None, responses: Raw | None) -> None:
        """Continue the parked call with its retry; unanswered questions are asked again."""
        if not self._is_same(call):
            # "rejecting state presented on a request that does not match"
            self.cancel(None)
            self.peer.refuse(request, invalid_params("Invalid params: requestState belongs to another request"))
            return
        self.request, self.token = request, token
        request.cancel = self.cancel
        given = payload.object_or_empty(responses)
        for key in [key for key in self._questions if key in self._asked and key in given]:
            self._questions.pop(key).answer(Result(given[key]))
        if self._outcome is not None:
            self._answer(self._outcome)
        elif self._questions:
            # "the server SHOULD respond with a new InputRequiredResult requesting the missing information again"
            self._ask()

    def _is_same(self, call: Call) -> bool:
        same_target = (call.action, call.target) == (self.action, self.target)
        return same_target and _values(call.params) == _values(self.params)

    def _ask(self) -> None:
        if self.request is None:
            return  # already parked; the retry is answered with this question
        self._asked = frozenset(self._questions)
        requests: Fields = {}
        for key, question in self._questions.items():
            params = with_meta(asking.without_id(question.params), question.meta)
            requests[key] = payload.encode({"method": names.ASK_METHOD[question.ask], "params": params})
        self._handle = self.parked.put(self)
        self._answer(InputRequired(requests, payload.encode(self._handle)))

    def _answer(self, outcome: Outcome) -> None:
        request, self.request = self.request, None
        if request is not None:
            self.answer(request, self.action, outcome)


def _values(params: Fields) -> object:
    return {key: payload.value(raw) for key, raw in params.items()}
