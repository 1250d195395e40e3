"""The back dialect of revision 2026-07-28: version and capabilities on every request, no requests of the backend.

Source: docs/specification/2026-07-28/.
"""

import logging
from collections.abc import Callable

import anyio

from search_mcp.dialects import OnStaleList, OnUnanswered, asking, detect, names
from search_mcp.dialects.back.capabilities import read_server_capabilities
from search_mcp.dialects.back.forwarding import ForwardedCall, outcome, params_with_target
from search_mcp.dialects.back.lists import read_pages
from search_mcp.dialects.back.notifications import likely_call, publish_task_change, read_notification
from search_mcp.dialects.params import cancellation, with_meta, without_own_keys
from search_mcp.model.calls import Call, InputRequired, Outcome, Result
from search_mcp.model.names import Action, Ask, Era, Kind
from search_mcp.model.servers import LogMessage, News, Opening, ResourceUpdated, ServerCapabilities, ServerList
from search_mcp.wire import payload
from search_mcp.wire.errors import PeerError
from search_mcp.wire.inflight import Answer, Request, RequestFailure
from search_mcp.wire.peer import Peer
from search_mcp.wire.receiver import RequestFailedError
from search_mcp.wire.structs import ErrorObject, Fields, Raw, UnsetType

log = logging.getLogger(__name__)

SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Bounds of the delay before an ended subscription is opened again, in seconds; less than reading a list may take."""


_BEGINS = frozenset({Action.SUBSCRIBE, Action.FOLLOW_TASK})
_OF_URIS, _OF_TASKS = {Action.SUBSCRIBE, Action.UNSUBSCRIBE}, {Action.FOLLOW_TASK, Action.UNFOLLOW_TASK}
_LISTENING = frozenset(_OF_URIS | _OF_TASKS)
"""Actions that change the subscription instead of being sent."""


async def discover(peer: Peer, opening: Opening) -> ServerCapabilities | None:
    """Probe a backend with `server/discover`; `None` if the answer is not that of a modern server.

    Raises:
        RequestFailedError: it will not be answered.
        ConnectionEndedError: the connection ended.
        ValueError: it is a modern server with unknown revisions only.
    """
    try:
        result = await _probe(peer, opening)
    except PeerError as refused:
        # "The fallback MUST NOT be keyed to one specific error code"
        log.debug("= server/discover refused: %s", refused)
        return None
    except RequestFailedError as failed:
        # "If the body is empty or is not a recognized modern JSON-RPC error, fall back to `initialize`"; anything but
        # such an answer to the request, such as a missing login or a network error, is no evidence.
        if not failed.failure.is_unknown_request:
            raise
        log.debug("= server/discover refused: %s", failed)
        return None
    revisions = detect.modern_revisions(result)
    return read_server_capabilities(payload.fields(result), revisions[0], Era.MODERN) if revisions else None


async def _probe(peer: Peer, opening: Opening) -> Raw:
    """Ask `server/discover`, once more with a revision that the server asks for."""
    try:
        return await peer.ask(names.DISCOVER, _probe_params(names.MODERN[0], opening))
    except PeerError as refused:
        # "the server is modern but does not support the requested version. Use one of the versions in its
        # advertised `supported` list. Do not fall back to `initialize`."
        revisions = _supported(refused) if refused.code == names.UNSUPPORTED_VERSION else []
        if not revisions:
            raise
        log.debug("= server/discover refused: %s", refused)
        return await peer.ask(names.DISCOVER, _probe_params(revisions[0], opening))


def _probe_params(revision: str, opening: Opening) -> dict[str, object]:
    return {names.META: _meta(revision, opening.capabilities, opening.info)}


def _supported(refused: PeerError) -> list[str]:
    """Return the modern revisions that a server asks for and that are supported here.

    Raises:
        ValueError: it supports only revisions that are unknown here.
    """
    data = refused.error.data
    supported = payload.value(
        payload.object_or_empty(data if isinstance(data, Raw) else None).get("supported", Raw(b"0"))
    )
    if not isinstance(supported, list):
        return []
    if not set(map(str, supported)) & {*names.LEGACY, *names.MODERN}:
        raise ValueError(f"it supports only unknown revisions: {', '.join(map(str, supported))}")
    return [revision for revision in names.MODERN if revision in supported]


class BackModern:
    """One open modern backend."""

    def __init__(
        self,
        server: str,
        peer: Peer,
        server_capabilities: ServerCapabilities,
        opening: Opening,
        tell: Callable[[News], None],
        stale: OnStaleList,
        unanswered: OnUnanswered,
    ) -> None:
        self.capabilities = server_capabilities
        self._server, self._peer, self._tell, self._stale = server, peer, tell, stale
        self.unanswered = unanswered
        self._opening = opening
        self._calls: dict[Call, None] = {}  # in flight, oldest first
        self._listening: int | None = None  # the id of the open subscriptions/listen request
        self._acknowledged = False  # whether that stream was acknowledged
        self._ended = False  # whether the backend ended the stream and still runs
        self._pause = SHORTEST_PAUSE
        self._uris: set[str] = set()
        self._tasks: set[str] = set()
        if server_capabilities.notifies:
            self._listen()

    # To the backend

    def submit(self, call: Call, target: str) -> None:
        if call.action in _LISTENING:
            self._subscribe(call, target)
            call.reply(Result({}))
            return
        self._calls[call] = None
        params = params_with_target(call, target)
        if call.inputs is not None:
            if call.inputs.responses is not None:
                params[names.INPUT_RESPONSES] = call.inputs.responses
            if call.inputs.request_state is not None:
                params[names.REQUEST_STATE] = call.inputs.request_state
        ForwardedCall(call, target, self._peer, self).send(params, self._stamped(call))

    def forget(self, call: Call) -> None:
        """Stop counting a call as in flight."""
        self._calls.pop(call, None)

    def _stamped(self, call: Call) -> dict[str, object]:
        meta = _meta(self.capabilities.revision, call.caller.capabilities, call.caller.info)
        level = call.caller.log_level
        if level is None and call.caller.era is Era.LEGACY:
            # "If no logging/setLevel request has been sent from the client, the server MAY decide which messages
            # to send automatically": without a level it may send none, with the lowest it decides.
            level = names.LOG_LEVELS[0]
        if level is not None:  # also to servers that log without declaring it: many do
            meta[names.LOG_LEVEL_KEY] = level
        return {**(call.meta or {}), **meta}

    def read_answer(self, forwarded: ForwardedCall, answer: Raw | ErrorObject) -> Outcome:
        """Read the answer to a call."""
        read = outcome(self._server, answer)
        if not isinstance(read, Result):
            return read
        try:
            result = self._read_result(answer)
        except ValueError as exc:
            log.warning("! %s: its question to the user is refused: %s", self._server, exc)
            return asking.refused(exc)
        if isinstance(result, InputRequired) and asking.asks_for_roots(result.requests):
            self._opening.admit_question(Ask.ROOTS, forwarded.call)
        return result

    def _read_result(self, answer: Raw | ErrorObject) -> Outcome:
        """Read a result of this era.

        Raises:
            ValueError: it contains a question that may not be asked.
        """
        body = payload.object_or_empty(answer) if isinstance(answer, Raw) else {}
        # "clients MUST treat an absent `resultType` as `"complete"`"
        result_type = payload.string(body.pop(names.RESULT_TYPE, None)) or names.COMPLETE_TYPE
        body = _relayed(body, names.SERVER_INFO_KEY)
        if result_type != names.INPUT_REQUIRED:
            return Result(asking.admitted_in(self._server, body), result_type)
        raw = body.pop(names.INPUT_REQUESTS, None)
        state = body.pop(names.REQUEST_STATE, None)
        requests = None if raw is None else asking.admitted_requests(self._server, raw)
        return InputRequired(requests, state, body, self._server)

    async def read_list(self, kind: Kind) -> ServerList:
        """Read a complete list.

        Raises:
            PeerError, RequestFailedError, ConnectionEndedError, ValueError: it could not be read.
        """
        await self._hear_again()
        meta = _meta(self.capabilities.revision, self._opening.capabilities, self._opening.info)

        async def ask(method: str, params: Fields) -> Raw:
            return await self._peer.ask(method, {**params, names.META: meta})

        return await read_pages(kind, ask)

    def has_calls(self) -> bool:
        return bool(self._calls)

    def is_idle(self) -> bool:
        return not self._calls and not self._uris and not self._tasks

    def set_log_level(self, level: str) -> None:
        """Do nothing: in this era, every request has its own level."""

    def roots_changed(self) -> None:
        """Do nothing: in this era, a server asks for the roots when it needs them."""

    # Subscriptions

    def _subscribe(self, call: Call, target: str) -> None:
        listened_to = self._tasks if call.action in _OF_TASKS else self._uris
        is_wanted = call.action in _BEGINS
        if is_wanted is (target in listened_to):
            return
        if is_wanted:
            listened_to.add(target)
        else:
            listened_to.remove(target)
        self._listen()

    def _listen(self) -> None:
        """Open one stream for all subscriptions; the previous stream is cancelled after that."""
        wanted: dict[str, object] = {names.LISTEN_KEY[kind]: True for kind in self.capabilities.notifies}
        if uris := sorted(self._uris):
            wanted[names.LISTEN_URIS] = uris
        if tasks := sorted(self._tasks):
            wanted[names.LISTEN_TASKS] = tasks
        meta = _meta(self.capabilities.revision, self._opening.capabilities, self._opening.info)
        params = {"notifications": wanted, names.META: meta}
        previous = self._listening
        self._acknowledged = self._ended = False
        self._listening = self._peer.request(names.LISTEN, params, self._on_end) if wanted else None
        if previous is not None:
            self._peer.abandon(previous, names.CANCELLED, cancellation(previous, None))

    def _on_end(self, answer: Answer) -> None:
        """Handle the end of the stream; notifications are lost until it is opened again."""
        self._listening = None
        if answer is None:
            return  # the connection ended
        if not self._acknowledged:
            why = answer.message if isinstance(answer, ErrorObject) else "it was answered at once"
            why = answer.reason if isinstance(answer, RequestFailure) else why
            log.warning("! %s: subscriptions/listen refused: %s", self._server, why)
            return
        log.info("= %s: the server ended the subscription; opening it again in %g s", self._server, self._pause)
        self._ended = True
        # Reading a list opens the stream again first.
        self._stale(self.capabilities.notifies or self.capabilities.kinds, is_announced=False)

    async def _hear_again(self) -> None:
        """Open the stream again if the backend ended it, after a delay that doubles each time."""
        if not self._ended:
            return
        await anyio.sleep(self._pause)
        if self._ended:  # another list may have opened it meanwhile
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            self._listen()

    # From the backend

    def on_request(self, request: Request) -> None:
        # "The server MUST NOT write JSON-RPC requests to stdout", and "the client MUST NOT write JSON-RPC
        # responses": nothing may be sent in return.
        log.warning("! %s sent the request %s, which its revision does not allow", self._server, request.method)
        self._peer.drop(request)

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        fields = read_notification(self._server, method, params)
        if fields is None:
            return
        fields = _relayed(fields, names.SUBSCRIPTION_KEY)
        match method:
            case names.PROGRESS:
                self._peer.report(payload.request_id(fields.get(names.PROGRESS_TOKEN)), fields)
            case names.MESSAGE:
                self._tell(LogMessage(self._server, fields, likely_call(self._calls, fields)))
            case names.ACKNOWLEDGED:
                self._acknowledged = True
            case names.TASK_CHANGED:
                publish_task_change(self._server, fields, self._tell, self._tasks)
            case names.UPDATED:
                self._tell(ResourceUpdated(self._server, payload.string(fields.get("uri")) or "", fields))
            case _ if method in names.LIST_CHANGED:
                self._stale(names.LIST_CHANGED[method], is_announced=True)
            case _:
                log.debug("= %s: notification %s ignored", self._server, method)


def _relayed(body: Fields, own: str) -> Fields:
    """Remove a key that the server sets for itself from the `_meta` of a message."""
    meta = payload.object_or_empty(body.get(names.META))
    return with_meta(body, without_own_keys(meta, own)) if own in meta else body


def _meta(revision: str, capabilities: Fields, info: Raw | None) -> dict[str, object]:
    return {
        names.VERSION_KEY: revision,
        names.CLIENT_INFO_KEY: info if info is not None else names.CLIENT_INFO,
        names.CAPABILITIES_KEY: capabilities,
    }
