"""The client side of revision 2026-07-28: every request stands alone.

Decides what a modern client is answered. Nothing is asked of it but through `input_required`: a modern
backend's passes through, and a legacy backend's question parks the call until the client's retry
brings the answer. Source: docs/specification/2026-07-28/.
"""

import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from search_mcp import jsonrpc
from search_mcp.dialects import CatalogChanged, Gateway, Listing, detect, names
from search_mcp.dialects.front import (
    SERVER_INFO,
    ProgressReport,
    capabilities,
    progress_token,
    read_target,
    refuse_cursor,
    refuse_question,
)
from search_mcp.dialects.params import on_cancelled, with_meta
from search_mcp.errors import (
    BackendAnswered,
    ProtocolError,
    WireError,
    invalid_params,
    invalid_request,
    method_not_found,
)
from search_mcp.inflight import Request
from search_mcp.jsonrpc import ErrorObject, Fields, Raw, UnsetType
from search_mcp.model import (
    Action,
    Call,
    Cancel,
    Freshness,
    InputRequired,
    Inputs,
    Kind,
    LogMessage,
    News,
    Opening,
    Outcome,
    Question,
    ResourceUpdated,
    Result,
    Viewer,
)
from search_mcp.peer import Peer

PARKED_SECONDS = 600.0
"""How long a parked call waits for the client's retry: a person is being asked something meanwhile."""
PARKED_CALLS = 256
"""How many calls may be parked at once; the oldest goes first."""
DISCOVER_TTL_MS = 0
"""What we offer depends on backends that may come and go, so nobody should keep it."""

_SERVER_INFO = jsonrpc.encode(SERVER_INFO)


@dataclass(slots=True, eq=False)
class Sender:
    """Who sent one modern request: the `Caller` of its call."""

    capabilities: Fields
    info: Raw | None
    log_level: str | None
    viewer: Viewer
    park: Callable[[Question], Cancel]

    def ask(self, question: Question, call: Call | None) -> Cancel:
        """Put a legacy backend's question to this client, if it can be asked at all."""
        refusal = refuse_question(self.capabilities, question.ask)
        if refusal is None and call is not None:
            return self.park(question)
        question.answer(refusal or invalid_request("Invalid Request: the client can only be asked during a call"))
        return lambda _reason: None


class FrontModern:
    """All modern requests of one connection; between them it remembers parked calls and subscriptions."""

    def __init__(self, peer: Peer, gateway: Gateway) -> None:
        self._peer = peer
        self._gateway = gateway
        # "Implementations SHOULD NOT use [clientInfo] to change the behavior of the client or server"
        self._viewer = Viewer(None, object_output_only=False)
        self._parked: dict[str, _Exchange] = {}
        self._subscriptions: dict[Request, _Subscription] = {}
        self._uris: Counter[str] = Counter()  # how many subscriptions want each resource's updates

    # From the client

    def on_request(self, request: Request, params: Fields, meta: Fields) -> None:
        envelope = detect.read_envelope(meta)
        opening = Opening(True, envelope.revision, envelope.capabilities, envelope.info)
        if request.method == names.DISCOVER:
            # Some clients start a throw-away copy of us only to ask this: nothing is started for it.
            self._gateway.recall(opening)
            self._discover(request)
            return
        self._gateway.open(opening)
        if request.method in names.LISTS:
            self._list(request, names.LISTS[request.method], params)
        elif request.method == names.LISTEN:
            self._listen(request, params, envelope)
        elif request.method in names.LEGACY_ONLY:
            raise method_not_found(request.method)
        else:
            self._call(request, params, meta, envelope)

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        if method == names.CANCELLED:
            on_cancelled(self._peer, params)

    def _discover(self, request: Request) -> None:
        body: dict[str, object] = {
            "supportedVersions": names.MODERN,
            "capabilities": capabilities(self._gateway.offered()),
            "instructions": self._gateway.instructions(),
        }
        fields = {key: jsonrpc.encode(value) for key, value in body.items()}
        self._answer(request, fields, Freshness(DISCOVER_TTL_MS))

    def _list(self, request: Request, kind: Kind, params: Fields) -> None:
        refuse_cursor(params)

        def reply(listing: Listing) -> None:
            self._answer(request, {names.ITEMS_KEY[kind]: listing.items}, listing.freshness)

        request.cancel = self._gateway.merged_list(kind, self._viewer, reply)

    def _call(self, request: Request, params: Fields, meta: Fields, envelope: detect.Envelope) -> None:
        action, target = read_target(request.method, params)
        state = params.pop(names.REQUEST_STATE, None)
        responses = params.pop(names.INPUT_RESPONSES, None)
        exchange = self._parked.pop(jsonrpc.string(state) or "", None)
        if exchange is not None:
            exchange.resume(request, (action, target, _values(params)), progress_token(meta), responses)
            return
        exchange = _Exchange(self, request, progress_token(meta))
        sender = Sender(envelope.capabilities, envelope.info, envelope.log_level, self._viewer, exchange.park)
        call = Call(
            action=action,
            target=target,
            params=params,
            meta=jsonrpc.without(meta, *names.REQUEST_KEYS),
            caller=sender,
            reply=lambda outcome: exchange.settle(_admitted(outcome, envelope.capabilities)),
            report=exchange.report if exchange.wants_progress else None,
            inputs=Inputs(responses, state) if responses is not None or state is not None else None,
        )
        exchange.start(call, self._gateway)

    # To the client

    def answer_call(self, request: Request, action: Action, outcome: Outcome) -> None:
        """Write a call's outcome as a modern response."""
        if isinstance(outcome, WireError):
            self._peer.refuse(request, _modern_error(outcome))
        elif isinstance(outcome, InputRequired):
            body = dict(outcome.rest)
            if outcome.requests is not None:
                body[names.INPUT_REQUESTS] = jsonrpc.encode(outcome.requests)
            if outcome.request_state is not None:
                body[names.REQUEST_STATE] = outcome.request_state
            self._answer(request, body, None, names.INPUT_REQUIRED)
        else:
            freshness = Freshness() if action is Action.READ_RESOURCE else None
            body = outcome.body if isinstance(outcome.body, dict) else jsonrpc.object_or_empty(outcome.body)
            self._answer(request, body, freshness, outcome.type)

    def _answer(
        self,
        request: Request,
        body: Fields,
        freshness: Freshness | None,
        result_type: str = names.COMPLETE_TYPE,
    ) -> None:
        """Stamp what every modern result carries, and what a cacheable one must, on a result."""
        stamped: Fields = {
            names.RESULT_TYPE: jsonrpc.encode(result_type),
            **jsonrpc.without(body, names.RESULT_TYPE),
        }
        if freshness is not None:
            stamped.setdefault(names.TTL, jsonrpc.encode(freshness.ttl_ms))
            stamped.setdefault(names.CACHE_SCOPE, jsonrpc.encode("public" if freshness.public else "private"))
        # "Servers SHOULD include [serverInfo] in every result's `_meta`"
        meta = jsonrpc.object_or_empty(body.get(names.META))
        self._peer.answer(request, jsonrpc.encode(with_meta(stamped, {**meta, names.SERVER_INFO_KEY: _SERVER_INFO})))

    def tell(self, news: News | CatalogChanged) -> None:
        """Pass on what a backend says unasked, to the subscriptions and calls that asked for it."""
        match news:
            case CatalogChanged(kinds):
                for subscription in self._subscriptions.values():
                    subscription.on_changed(kinds)
            case ResourceUpdated(uri=uri, params=params):
                for subscription in self._subscriptions.values():
                    subscription.on_updated(uri, params)
            case LogMessage(params=params, call=call):
                if call is not None and isinstance(call.caller, Sender) and _is_wanted(params, call.caller.log_level):
                    self._peer.notify(names.MESSAGE, jsonrpc.encode(params))
            case _:
                pass  # a modern client learns the rest by asking again

    def close(self) -> None:
        """End every subscription gracefully and give up every parked call."""
        self.end_subscriptions()
        for exchange in list(self._parked.values()):
            exchange.cancel(None)

    def end_subscriptions(self) -> None:
        """End every subscription gracefully."""
        for request in list(self._subscriptions):
            # "the server SHOULD send a successful subscriptions/listen response to signal a graceful end"
            self._unlisten(request)
            meta = {names.SUBSCRIPTION_KEY: jsonrpc.encode(request.id)}
            self._answer(request, {names.META: jsonrpc.encode(meta)}, None)

    # Parked calls

    def park(self, exchange: "_Exchange") -> str:
        """Keep a call until its retry, under a handle nobody can guess and that works once."""
        if len(self._parked) >= PARKED_CALLS:
            next(iter(self._parked.values())).cancel(None)
        handle = secrets.token_urlsafe(32)
        self._parked[handle] = exchange
        exchange.on_parked(handle, self._gateway.later(PARKED_SECONDS, lambda: exchange.cancel(None)))
        return handle

    def unpark(self, handle: str) -> None:
        self._parked.pop(handle, None)

    def progress(self, request: Request, token: jsonrpc.RequestId) -> ProgressReport:
        return ProgressReport(self._peer, request, token)

    def refuse(self, request: Request, error: WireError) -> None:
        self._peer.refuse(request, error)

    # Subscriptions

    def _listen(self, request: Request, params: Fields, envelope: detect.Envelope) -> None:
        try:
            wanted = jsonrpc.fields(params["notifications"])
        except (KeyError, ValueError):
            raise invalid_params("Invalid params: notifications must be an object") from None
        uris = jsonrpc.value(wanted.get("resourceSubscriptions", Raw(b"[]")))
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise invalid_params("Invalid params: resourceSubscriptions must be a list of strings")
        offered = self._gateway.offered()
        kinds = frozenset(
            kind for kind, key in names.LISTEN_KEY.items() if kind in offered.kinds and wanted.get(key) == Raw(b"true")
        )
        sender = Sender(
            envelope.capabilities, envelope.info, None, self._viewer, lambda _question: lambda _reason: None
        )
        subscription = _Subscription(self._peer, request, kinds, uris if offered.subscribe else [], sender)
        self._subscriptions[request] = subscription
        request.cancel = lambda _reason: self._unlisten(request)
        subscription.acknowledge("resourceSubscriptions" in wanted and offered.subscribe)
        for kind in kinds:
            # What it would be shown now is what a change is measured by: it may have its list from elsewhere.
            self._gateway.merged_list(kind, self._viewer, lambda _listing: None)
        for uri in subscription.uris:
            self._uris[uri] += 1
            if self._uris[uri] == 1:
                self._submit(Action.SUBSCRIBE, uri, sender)

    def _unlisten(self, request: Request) -> None:
        subscription = self._subscriptions.pop(request)
        for uri in subscription.uris:
            self._uris[uri] -= 1
            if self._uris[uri] == 0:
                self._submit(Action.UNSUBSCRIBE, uri, subscription.sender)

    def _submit(self, action: Action, uri: str, sender: Sender) -> None:
        # The client waits for no answer to these: it was told what is honoured, and hears of updates.
        params = {"uri": jsonrpc.encode(uri)}
        self._gateway.submit(Call(action, uri, params, {}, sender, reply=lambda _outcome: None))


@dataclass(slots=True, eq=False)
class _Exchange:
    """One call and the requests it is spread over: the first, and a retry for every time it was parked."""

    front: FrontModern
    request: Request | None
    """The request that waits for an answer now; `None` while the call is parked."""
    token: jsonrpc.RequestId | None
    _action: Action = Action.CALL_TOOL
    _about: tuple[Action, str, object] | None = None
    """What the call is about, as its first request said it; a retry has to say the same."""
    _cancel_call: Cancel | None = None
    _questions: dict[str, Question] = field(default_factory=dict)
    _asked: frozenset[str] = frozenset()
    _count: int = 0
    _outcome: Outcome | None = None
    _handle: str = ""
    _keep: Callable[[], None] = lambda: None

    @property
    def wants_progress(self) -> bool:
        return self.token is not None

    def start(self, call: Call, gateway: Gateway) -> None:
        self._action = call.action
        self._about = (call.action, call.target, _values(call.params))
        if self.request is not None:
            self.request.cancel = self.cancel
        self._cancel_call = gateway.submit(call)

    def report(self, params: Fields) -> None:
        if self.request is not None and self.token is not None:
            self.front.progress(self.request, self.token)(params)

    def settle(self, outcome: Outcome) -> None:
        """Take the call's own outcome; while parked it waits for the retry."""
        self._outcome = outcome
        self._cancel_call = None
        if self.request is not None:
            self._answer(outcome)

    def cancel(self, reason: Raw | None) -> None:
        """Give up: the client cancelled, or never came back."""
        self.front.unpark(self._handle)
        self._keep()
        self.request = None
        if self._cancel_call is not None:
            self._cancel_call(reason)
        for question in self._questions.values():
            question.answer(invalid_request("Invalid Request: the call this question belongs to is over"))
        self._questions.clear()

    def park(self, question: Question) -> Cancel:
        """Show a legacy backend's question to the client."""
        self._count += 1
        key = f"{question.ask.value}-{self._count}"
        self._questions[key] = question
        if self.request is not None:
            self._ask()

        def withdraw(_reason: Raw | None) -> None:
            self._questions.pop(key, None)

        return withdraw

    def on_parked(self, handle: str, keep: Callable[[], None]) -> None:
        self._handle, self._keep = handle, keep

    def _ask(self) -> None:
        self._asked = frozenset(self._questions)
        requests = {
            key: jsonrpc.encode(
                {
                    "method": names.ASK_METHOD[question.ask],
                    "params": with_meta(question.params, question.meta),
                }
            )
            for key, question in self._questions.items()
        }
        handle = self.front.park(self)
        self._answer(InputRequired(requests, jsonrpc.encode(handle)))

    def _answer(self, outcome: Outcome) -> None:
        request, self.request = self.request, None
        if request is not None:
            self.front.answer_call(request, self._action, outcome)

    def resume(
        self,
        request: Request,
        about: tuple[Action, str, object],
        token: jsonrpc.RequestId | None,
        responses: Raw | None,
    ) -> None:
        """Go on with a parked call: its retry is here. Answers not given are asked for again."""
        self._keep()
        if about != self._about:
            # "rejecting state presented on a request that does not match"
            self.cancel(None)
            self.front.refuse(request, invalid_params("Invalid params: requestState belongs to another request"))
            return
        self.request, self.token = request, token
        request.cancel = self.cancel
        given = jsonrpc.object_or_empty(responses)
        for key in [key for key in self._questions if key in self._asked and key in given]:
            self._questions.pop(key).answer(Result(given[key]))
        if self._outcome is not None:
            self._answer(self._outcome)
        elif self._questions and self.request is not None:
            # "the server SHOULD respond with a new InputRequiredResult requesting the missing information again"
            self._ask()


@dataclass(slots=True, eq=False)
class _Subscription:
    """One `subscriptions/listen`: what it asked for, and under whose id it is told."""

    peer: Peer
    request: Request
    kinds: frozenset[Kind]
    uris: list[str]
    sender: Sender

    def acknowledge(self, resources: bool) -> None:
        """Say what is honoured; MUST be the first message of the subscription."""
        honoured: dict[str, object] = {
            names.LISTEN_KEY[kind]: True for kind in sorted(self.kinds, key=list(Kind).index)
        }
        if resources:
            honoured["resourceSubscriptions"] = self.uris
        self._notify(names.ACKNOWLEDGED, {"notifications": jsonrpc.encode(honoured)})

    def on_changed(self, kinds: frozenset[Kind]) -> None:
        for method in sorted({names.LIST_CHANGED_METHOD[kind] for kind in kinds & self.kinds}):
            self._notify(method, {})

    def on_updated(self, uri: str, params: Fields) -> None:
        if uri in self.uris:
            self._notify(names.UPDATED, params)

    def _notify(self, method: str, params: Fields) -> None:
        # "the server MUST include io.modelcontextprotocol/subscriptionId in `_meta`"
        meta = jsonrpc.object_or_empty(params.get(names.META))
        meta[names.SUBSCRIPTION_KEY] = jsonrpc.encode(self.request.id)
        self.peer.notify(method, jsonrpc.encode(with_meta(params, meta)))


def _values(params: Fields) -> object:
    return {key: jsonrpc.value(raw) for key, raw in params.items()}


def _admitted(outcome: Outcome, capabilities: Fields) -> Outcome:
    return (_undeclared(outcome, capabilities) or outcome) if isinstance(outcome, InputRequired) else outcome


def _modern_error(error: WireError) -> WireError:
    # "Implementations of this protocol version MUST NOT emit these codes: -32002 [...] replaced by -32602"
    if isinstance(error, BackendAnswered) and error.code == names.RESOURCE_NOT_FOUND:
        return BackendAnswered(ErrorObject(jsonrpc.INVALID_PARAMS, error.error.message, error.error.data))
    return error


def _undeclared(needed: InputRequired, capabilities: Fields) -> WireError | None:
    """The error for a server that asks what the client did not say it can answer.

    "Servers MUST NOT send an `inputRequests` that the client has not declared support for"; it "MUST return
    a MissingRequiredClientCapabilityError (-32021) whose `data.requiredCapabilities` lists the missing".
    """
    asked = [jsonrpc.object_or_empty(raw).get("method") for raw in (needed.requests or {}).values()]
    asks = [names.ASKS.get(jsonrpc.string(method) or "") for method in asked]
    missing: dict[str, object] = {ask.value: {} for ask in asks if ask is not None and ask.value not in capabilities}
    if not missing:
        return None
    message = f"The server needs of the client what it did not declare: {', '.join(missing)}"
    return ProtocolError(names.MISSING_CAPABILITY, message, {"requiredCapabilities": missing})


def _is_wanted(params: Fields, least: str | None) -> bool:
    level = jsonrpc.string(params.get("level"))
    if least is None or level not in names.LOG_LEVELS:
        return False
    return names.LOG_LEVELS.index(level) >= names.LOG_LEVELS.index(least)
