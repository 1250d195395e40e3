"""The front dialect of revision 2026-07-28, in which every request is self-contained.

The client is asked through `input_required` results only: those of a modern backend pass through, and any other
question parks the call until the client's retry contains the answer. Source: docs/specification/2026-07-28/.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial

from search_mcp.dialects import CatalogChanged, Gateway, Listing, asking, detect, names
from search_mcp.dialects.front.capabilities import SERVER_INFO, capabilities, refuse_or_keep
from search_mcp.dialects.front.parked import Exchange, ParkedCalls
from search_mcp.dialects.front.requests import read_target, refuse_cursor, refuse_undeclared_skills
from search_mcp.dialects.front.subscription import Subscription, read_filter
from search_mcp.dialects.params import extensions, is_wanted, progress_token, with_meta, without_own_keys
from search_mcp.model.calls import Call, Caller, InputRequired, Inputs, Outcome, Question, Reply, Viewer, unheard
from search_mcp.model.errors import NotRunning, ResourceNotFound
from search_mcp.model.names import Action, Era, Kind
from search_mcp.model.servers import Freshness, LogMessage, News, Opening, ResourceUpdated, TaskChanged
from search_mcp.wire import messages, payload
from search_mcp.wire.errors import PeerError, ProtocolError, WireError, invalid_request, method_not_found
from search_mcp.wire.inflight import Request, Write
from search_mcp.wire.peer import Peer
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import ErrorObject, Fields, Raw, Struct

LEAST_PAUSE_SECONDS = 1.0
"""Shortest delay before a subscription is tried again at a server that does not run, in seconds."""
_CACHEABLE = frozenset({Action.READ_RESOURCE, Action.GET_SKILL})
"""The calls whose results must have `ttlMs` and `cacheScope`."""
_END = {Action.SUBSCRIBE: Action.UNSUBSCRIBE, Action.FOLLOW_TASK: Action.UNFOLLOW_TASK}
_REPLACED = {
    names.RESOURCE_NOT_FOUND: messages.INVALID_PARAMS,
    names.URL_ELICITATION_REQUIRED: messages.INTERNAL_ERROR,
}
# "Implementations SHOULD NOT use [clientInfo] to change the behavior of the client or server"
_VIEWER = Viewer(None, object_output_only=False)
_VIEWER_OF_APPS = Viewer(None, object_output_only=False, shows_apps=True)
_SERVER_INFO = payload.encode(SERVER_INFO)


class Sender(Struct, eq=False):
    """The client of one modern request, as the `Caller` of its call."""

    capabilities: Fields
    info: Raw | None
    log_level: str | None
    viewer: Viewer
    session: Gateway
    exchange: Exchange | None = None
    """The call with its requests; `None` for a subscription, in which no question can be asked."""

    @property
    def era(self) -> Era:
        return Era.MODERN

    @property
    def stream(self) -> Write | None:
        """The stream of the request that is answered next, where it has one of its own."""
        request = self.exchange.request if self.exchange is not None else None
        return request.stream if request is not None else None

    def ask(self, question: Question, call: Call | None) -> None:
        """Put a server's question to the client, or refuse it if the client cannot answer."""
        refusal = refuse_or_keep(self.session, self.capabilities, question)
        if refusal is None and call is not None and self.exchange is not None:
            self.exchange.park(question)
            return
        question.answer(refusal or invalid_request("Invalid Request: the client can only be asked during a call"))


class FrontModern:
    """The modern requests of one connection, with its parked calls and subscriptions."""

    def __init__(self, peer: Peer, gateway: Gateway) -> None:
        self._peer = peer
        self._gateway = gateway
        self._parked = ParkedCalls(gateway.later)
        self._subscriptions: dict[Request, Subscription] = {}
        self._followed: Counter[tuple[Action, str]] = Counter()  # number of subscriptions for each
        # By URI of a resource that no server lists yet: the function that ends the wait for such a server.
        self._unlisted: dict[str, Callable[[], None]] = {}

    # From the client

    def on_request(self, request: Request, params: Fields, meta: Fields | None) -> None:
        envelope = detect.read_envelope(meta or {})
        opening = Opening(Era.MODERN, envelope.revision, envelope.capabilities, envelope.info)
        if request.method == names.DISCOVER:
            # Some clients start a second process for this request only, so no backend is started for it.
            self._gateway.recall(opening)
            self._discover(request, envelope)
            return
        self._gateway.open(opening)
        if request.method in names.LISTS:
            self._list(request, names.LISTS[request.method], params, _viewer(envelope))
        elif request.method == names.LISTEN:
            self._listen(request, params, envelope)
        elif request.method in names.LEGACY_ONLY:
            raise method_not_found(request.method)
        else:
            self._call(request, params, meta, envelope)

    def _discover(self, request: Request, envelope: detect.Envelope) -> None:
        body: dict[str, object] = {
            "supportedVersions": names.MODERN,
            "capabilities": capabilities(self._gateway.capabilities(), envelope.capabilities),
            "instructions": self._gateway.instructions(_viewer(envelope)),
        }
        fields = {key: payload.encode(value) for key, value in body.items()}
        # Capabilities depend on servers that may start and stop, so clients should not cache them.
        self._answer(request, fields, Freshness())

    def _list(self, request: Request, kind: Kind, params: Fields, viewer: Viewer) -> None:
        if kind is Kind.SKILLS:
            refuse_undeclared_skills(self._gateway.capabilities())
        refuse_cursor(params)

        def answer(listing: Listing | WireError) -> None:
            if isinstance(listing, WireError):
                self._peer.refuse(request, listing)
            else:
                self._answer(request, {names.ITEMS_KEY[kind]: listing.items}, listing.freshness)

        hears_news = any(kind in each.filter.kinds for each in self._subscriptions.values())
        reply = Pending(answer)
        request.cancel = reply.cancel
        self._gateway.merged_list(kind, viewer, reply, hears_news=hears_news)

    def _call(self, request: Request, params: Fields, meta: Fields | None, envelope: detect.Envelope) -> None:
        action, target = read_target(request.method, params)
        state = params.pop(names.REQUEST_STATE, None)
        responses = params.pop(names.INPUT_RESPONSES, None)
        if payload.string(state) == asking.CONSENT:
            asking.require_consent(responses)
            state = responses = None  # the server asked in an error, and needs no answer but the repeated call
        token = progress_token(meta)
        parked = self._parked.take(payload.string(state))
        exchange = parked or Exchange(
            self._peer, self._answer_call, self._parked, request, token, action, target, params
        )
        call = Call(
            action=action,
            target=target,
            params=params,
            meta=without_own_keys(meta, *names.REQUEST_KEYS),
            caller=self._sender(envelope, exchange),
            reply=Reply(lambda outcome: exchange.settle(self._admitted(outcome, envelope.capabilities))),
            report=exchange.report if token is not None else None,
            inputs=Inputs(responses, state) if responses is not None or state is not None else None,
        )
        if parked is not None:
            parked.resume(request, call, token, responses)
        else:
            exchange.start(call, self._gateway)

    def _sender(self, envelope: detect.Envelope, exchange: Exchange | None = None) -> Sender:
        viewer = _viewer(envelope)
        return Sender(envelope.capabilities, envelope.info, envelope.log_level, viewer, self._gateway, exchange)

    # To the client

    def _admitted(self, outcome: Outcome, capabilities: Fields) -> Outcome:
        if isinstance(outcome, PeerError) and outcome.code == names.URL_ELICITATION_REQUIRED:
            outcome = asking.asked_in_error(outcome.error) or outcome
        if not isinstance(outcome, InputRequired):
            return outcome
        return _undeclared(outcome, capabilities, self._gateway.page_remedy) or outcome

    def _answer_call(self, request: Request, action: Action, outcome: Outcome) -> None:
        """Answer a call with its outcome, as a modern response."""
        if isinstance(outcome, WireError):
            self._peer.refuse(request, _modern_error(outcome))
        elif isinstance(outcome, InputRequired):
            body = dict(outcome.rest)
            if outcome.requests is not None:
                body[names.INPUT_REQUESTS] = payload.encode(outcome.requests)
            if outcome.request_state is not None:
                body[names.REQUEST_STATE] = outcome.request_state
            self._answer(request, body, None, names.INPUT_REQUIRED)
        else:
            freshness = Freshness() if action in _CACHEABLE else None
            self._answer(request, outcome.fields(), freshness, outcome.type)

    def _answer(
        self,
        request: Request,
        body: Fields,
        freshness: Freshness | None,
        result_type: str = names.COMPLETE_TYPE,
    ) -> None:
        """Answer a request with a result, adding the fields that modern, and cacheable, results must have."""
        stamped: Fields = {
            names.RESULT_TYPE: payload.encode(result_type),
            **payload.without(body, names.RESULT_TYPE),
        }
        if freshness is not None:
            stamped.setdefault(names.TTL, payload.encode(freshness.ttl_ms))
            stamped.setdefault(names.CACHE_SCOPE, payload.encode("public" if freshness.public else "private"))
        # "Servers SHOULD include [serverInfo] in every result's `_meta`"
        meta = payload.object_or_empty(body.get(names.META))
        self._peer.answer(request, payload.encode(with_meta(stamped, {**meta, names.SERVER_INFO_KEY: _SERVER_INFO})))

    def tell(self, news: News | CatalogChanged) -> None:
        """Send a notification, or a change of the lists, to the subscriptions and calls that asked for it."""
        match news:
            case CatalogChanged(kinds):
                for subscription in self._subscriptions.values():
                    subscription.on_changed(kinds)
            case ResourceUpdated(uri=uri, params=params):
                for subscription in self._subscriptions.values():
                    subscription.on_updated(uri, params)
            case TaskChanged(params=params):
                for subscription in self._subscriptions.values():
                    subscription.on_task_changed(params)
            case LogMessage(params=params, call=call):
                if call is not None and isinstance(call.caller, Sender) and is_wanted(params, call.caller.log_level):
                    self._peer.notify(names.MESSAGE, params, call.caller.stream)
            case _:
                pass  # the revision has no notification for the rest

    def close(self) -> None:
        """End all subscriptions gracefully and cancel all parked calls."""
        self.end_subscriptions()
        self._parked.close()

    # Subscriptions

    def _listen(self, request: Request, params: Fields, envelope: detect.Envelope) -> None:
        wanted = read_filter(params, self._gateway.capabilities(), self._gateway.can_subscribe, envelope.capabilities)
        sender = self._sender(envelope)
        subscription = Subscription(self._peer, request, sender, wanted)
        self._subscriptions[request] = subscription
        request.cancel = lambda _reason: self._unlisten(request)
        subscription.acknowledge()
        for kind in wanted.kinds:
            # Changes are compared with the list as it is now: the client may have its list from another process.
            self._gateway.merged_list(kind, sender.viewer, Pending(lambda _listing: None))
        for action, target in wanted.targets():
            self._followed[action, target] += 1
            if self._followed[action, target] == 1:
                self._follow(action, target, sender)

    def _unlisten(self, request: Request) -> None:
        subscription = self._subscriptions.pop(request)
        for action, target in subscription.filter.targets():
            self._followed[action, target] -= 1
            if self._followed[action, target] == 0:
                del self._followed[action, target]
                if action is Action.SUBSCRIBE and target in self._unlisted:
                    self._unlisted.pop(target)()
                    continue
                self._gateway.submit(Call(_END[action], target, {}, None, subscription.caller, unheard()))

    def _follow(self, action: Action, target: str, caller: Caller) -> None:
        """Subscribe at the server; the client has its acknowledgement already."""
        reply = Reply(partial(self._follow_later, action, target, caller))
        self._gateway.submit(Call(action, target, {}, None, caller, reply))

    def _follow_later(self, action: Action, target: str, caller: Caller, outcome: Outcome) -> None:
        """Subscribe again later if the server does not run, or none is known for the resource.

        The acknowledgement "reflects the subset the server agreed to honor": a resource in it may be added later.
        """
        again = partial(self._follow_if_wanted, action, target, caller)
        if isinstance(outcome, NotRunning) and outcome.status.retry_after_seconds is not None:
            self._gateway.later(max(outcome.status.retry_after_seconds, LEAST_PAUSE_SECONDS), again)
        elif isinstance(outcome, ResourceNotFound) and self._followed[action, target]:
            self._unlisted[target] = self._gateway.when_listed(target, again)

    def _follow_if_wanted(self, action: Action, target: str, caller: Caller) -> None:
        self._unlisted.pop(target, None)
        if self._followed[action, target]:
            self._follow(action, target, caller)

    def end_subscriptions(self) -> None:
        """End all subscriptions gracefully."""
        for request, subscription in list(self._subscriptions.items()):
            # "the server SHOULD send a successful subscriptions/listen response to signal a graceful end"
            self._unlisten(request)
            self._answer(request, {names.META: payload.encode(subscription.meta())}, None)


def _viewer(envelope: detect.Envelope) -> Viewer:
    return _VIEWER_OF_APPS if names.APPS_EXTENSION in extensions(envelope.capabilities) else _VIEWER


def _modern_error(error: WireError) -> WireError:
    # "Implementations of this protocol version MUST NOT emit these codes: -32002 [...] replaced by -32602", "-32042"
    code = _REPLACED.get(error.code)
    if isinstance(error, PeerError) and code is not None:
        return PeerError(ErrorObject(code, error.error.message, error.error.data))
    return error


def _undeclared(unfinished: InputRequired, capabilities: Fields, page_remedy: str) -> WireError | None:
    """Return the error for questions that need undeclared capabilities; `None` if there are none.

    "Servers MUST NOT send an `inputRequests` that the client has not declared support for"; it "MUST return
    a MissingRequiredClientCapabilityError (-32021) whose `data.requiredCapabilities` lists the missing".
    """
    asked = [payload.object_or_empty(raw).get("method") for raw in (unfinished.requests or {}).values()]
    asks = [names.ASKS.get(payload.string(method) or "") for method in asked]
    needed = [names.ASK_CAPABILITY[ask] for ask in asks if ask is not None]
    missing: dict[str, object] = {capability: {} for capability in needed if capability not in capabilities}
    if names.ELICITATION not in missing and asking.needs_more(unfinished, capabilities):
        missing[names.ELICITATION] = {"url": {}}
    if not missing:
        return None
    remedy = page_remedy if asking.needs_more(unfinished, capabilities) else ""
    message = f"The server needs of the client what it did not declare: {', '.join(missing)}{remedy}"
    return ProtocolError(names.MISSING_CAPABILITY, message, {"requiredCapabilities": missing})
