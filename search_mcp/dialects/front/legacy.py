"""The front dialect of the legacy revisions (2024-11-05 to 2025-11-25), which start with `initialize`.

Both sides send requests: a backend's question is sent to the client with a new id. For an `input_required` of a modern
backend, the client is asked and the call is made again. Source: docs/specification/2025-11-25/.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from search_mcp.dialects import CatalogChanged, Gateway, Listing, asking, names
from search_mcp.dialects.asking import OpenQuestions
from search_mcp.dialects.front.capabilities import SERVER_INFO, capabilities, refuse_or_keep
from search_mcp.dialects.front.progress import ProgressReport, TaskProgressReport
from search_mcp.dialects.front.requests import read_target, refuse_cursor, refuse_undeclared_skills
from search_mcp.dialects.params import (
    cancellation,
    extensions,
    on_cancelled,
    progress_token,
    read_params,
    send_request,
    without_own_keys,
)
from search_mcp.dialects.rounds import MAX_ROUNDS, Round
from search_mcp.dialects.task_ids import REMEMBERED_TASKS, task_made, translate_question
from search_mcp.model.calls import BoundedDict, Call, InputRequired, Inputs, Outcome, Question, Reply, Result, Viewer
from search_mcp.model.errors import MisbehavedError, ResourceNotFound
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import ElicitationComplete, LogMessage, News, Opening, ResourceUpdated, TaskChanged
from search_mcp.wire import messages, payload
from search_mcp.wire.errors import PeerError, ProtocolError, WireError, invalid_params, invalid_request
from search_mcp.wire.inflight import Answer, Reason, Request, RequestFailure, Write
from search_mcp.wire.peer import Peer
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import EMPTY, ErrorObject, Fields, Raw, UnsetType, replace

log = logging.getLogger(__name__)

_MODERN_KEYS = (names.RESULT_TYPE, names.TTL, names.CACHE_SCOPE)


class FrontLegacy:
    """The legacy session of a client, which is also the `Caller` of its calls."""

    era: Final = Era.LEGACY

    def __init__(self, peer: Peer, gateway: Gateway) -> None:
        self._peer = peer
        self._gateway = gateway
        self.session: object = gateway
        self.viewer = Viewer(None, object_output_only=True)
        self.opened = False  # `initialize` was answered
        self._declared: frozenset[Kind] = frozenset()  # lists whose capability `initialize` declared
        self.log_level: str | None = None  # for all calls; `None` until the client sets one
        # By task of the client: the function that tells the server of a change.
        self._tasks: BoundedDict[str, Callable[[Fields], None]] = BoundedDict(REMEMBERED_TASKS)
        self._open_questions = OpenQuestions()
        self._streams: dict[Reply, Write] = {}  # of the open calls whose requests have streams of their own
        self.capabilities: Fields = {}
        self.info: Raw | None = None
        self._requests: dict[str, Callable[[Request, Fields], None]] = {
            names.INITIALIZE: self._initialize,
            names.PING: lambda request, _params: self._peer.answer(request, EMPTY),
            names.SET_LEVEL: self._set_level,
        }

    # From the client

    def on_request(self, request: Request, params: Fields, meta: Fields | None) -> None:
        if request.method in names.LISTS:
            self._list(request, names.LISTS[request.method], params)
        elif request.method in self._requests:
            self._requests[request.method](request, params)
        else:
            self._call(request, params, meta)

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        if method == names.CANCELLED:
            on_cancelled(self._peer, params)
        elif method == names.PROGRESS:
            try:
                progress = payload.fields(params)
            except ValueError:
                return
            self._peer.report(payload.request_id(progress.get(names.PROGRESS_TOKEN)), progress)
        elif method == names.ROOTS_CHANGED:
            self._gateway.roots_changed()
        elif method == names.TASK_STATUS:
            change = payload.object_or_empty(params if isinstance(params, Raw) else None)
            follow = self._tasks.get(payload.string(change.get("taskId")) or "")
            if follow is not None:
                follow(change)
        # `notifications/initialized` needs no handling: requests are served once `initialize` is answered.

    def _initialize(self, request: Request, params: Fields) -> None:
        requested = payload.string(params.get("protocolVersion"))
        if requested is None:
            raise invalid_params("Invalid params: protocolVersion is missing or not a string")
        # "If the server supports the requested protocol version, it MUST respond with the same version.
        # Otherwise, the server MUST respond with another protocol version it supports. This SHOULD be
        # the latest version supported by the server."
        revision = requested if requested in (*names.LEGACY, names.NOTES) else names.LEGACY[0]
        try:
            self.capabilities = payload.fields(params.get("capabilities", EMPTY))
        except ValueError:
            raise invalid_params("Invalid params: capabilities must be an object") from None
        self.info = params.get("clientInfo")
        client_name = payload.string(payload.object_or_empty(self.info).get("name"))
        shows_apps = names.APPS_EXTENSION in extensions(self.capabilities)
        self.opened = True
        speaks = names.LEGACY[0] if revision == names.NOTES else revision
        reads_links = speaks not in names.WITHOUT_LINKS
        self.viewer = Viewer(client_name, object_output_only=True, shows_apps=shows_apps, reads_links=reads_links)
        self._gateway.open(Opening(Era.LEGACY, speaks, self.capabilities, self.info, self))
        offered = self._gateway.capabilities()
        self._declared = offered.kinds
        answer = {
            "protocolVersion": revision,
            "capabilities": capabilities(offered, self.capabilities),
            "serverInfo": SERVER_INFO,
            "instructions": self._gateway.instructions(self.viewer),
        }
        self._peer.answer(request, payload.encode(answer))

    def _set_level(self, request: Request, params: Fields) -> None:
        level = payload.string(params.get("level"))
        if level not in names.LOG_LEVELS:
            raise invalid_params(f"Invalid params: level must be one of {', '.join(names.LOG_LEVELS)}")
        if not self._gateway.capabilities().logging:
            raise ProtocolError(messages.METHOD_NOT_FOUND, f"Method not found: {names.SET_LEVEL} (no server logs)")
        self.log_level = level
        self._gateway.set_log_level(level)
        self._peer.answer(request, EMPTY)

    def _list(self, request: Request, kind: Kind, params: Fields) -> None:
        if kind is Kind.SKILLS:
            refuse_undeclared_skills(self._gateway.capabilities())
        refuse_cursor(params)

        def answer(listing: Listing | WireError) -> None:
            if isinstance(listing, WireError):
                self._peer.refuse(request, listing)
            else:
                self._peer.answer(request, payload.encode({names.ITEMS_KEY[kind]: listing.items}))

        reply = Pending(answer)
        request.cancel = reply.cancel
        self._gateway.merged_list(kind, self.viewer, reply)

    def _call(
        self,
        request: Request,
        params: Fields,
        meta: Fields | None,
        inputs: Inputs | None = None,
        rounds: int = MAX_ROUNDS,
        report: ProgressReport | None = None,
    ) -> None:
        action, target = read_target(request.method, params)
        token = progress_token(meta) if meta is not None else None
        if report is None and token is not None:
            report = (TaskProgressReport if "task" in params else ProgressReport)(self._peer, request, token)
        reply = Reply(partial(self._on_outcome, request, rounds, report))
        request.cancel = reply.cancel
        if request.way is not None and request.way.stream is not None:
            self._streams[reply] = request.way.stream
            reply.ends.append(lambda _outcome: self._forget_stream(reply))
        self._gateway.submit(
            Call(
                action=action,
                target=target,
                params=params,
                meta=meta and without_own_keys(meta, *names.REQUEST_KEYS),
                caller=self,
                reply=reply,
                report=report,
                inputs=inputs,
            )
        )

    def _forget_stream(self, reply: Reply) -> None:
        del self._streams[reply]

    def _on_outcome(self, request: Request, rounds: int, report: ProgressReport | None, outcome: Outcome) -> None:
        if isinstance(outcome, Result):
            body = outcome.body
            self._peer.answer(request, body if isinstance(body, Raw) else _legacy_body(request.method, body))
        elif isinstance(outcome, WireError):
            self._peer.refuse(request, _legacy_error(outcome))
        elif rounds == 0:
            self._peer.refuse(request, MisbehavedError(f"it asked for input more than {MAX_ROUNDS} times"))
        elif self._peer.is_open(request):
            self._resolve(request, rounds, report, outcome)

    def _resolve(self, request: Request, rounds: int, report: ProgressReport | None, needed: InputRequired) -> None:
        """Ask the client for the input that a modern backend needs, then make the call again."""

        def call_again(inputs: Inputs) -> None:
            if report is not None:
                report.begin_again()
            self._call(request, *read_params(request.params), inputs, rounds - 1, report)

        asked = Round(needed, partial(self.put, stream=request.stream), call_again, partial(self._peer.refuse, request))
        request.cancel = asked.cancel
        asked.begin(self.capabilities)

    # To the client

    def ask(self, question: Question, call: Call | None) -> None:
        """Put a server's question to the client, or refuse it if the client cannot answer."""
        refusal = refuse_or_keep(self._gateway, self.capabilities, question)
        if refusal is not None:
            question.answer(refusal)
            return
        rename = partial(self._gateway.elicitation_id_for_client, question.server)
        question = replace(question, params=asking.renamed(question.params, rename))
        translated = translate_question(question, partial(self._gateway.task_id_for_client, question.server))
        self.put(translated, stream=self._streams.get(call.reply) if call is not None else None)

    def put(self, question: Question, stream: Write | None = None) -> None:
        """Send a question to the client, unless too many of its server wait for the user."""
        self._open_questions.put(question, partial(self._send, stream))

    def _send(self, stream: Write | None, question: Question) -> None:
        """Send a question to the client, with an id of our own."""
        method, settle = names.ASK_METHOD[question.ask], partial(self._on_answer, question)
        message_id = send_request(self._peer, method, question.params, question.meta, settle, question.report, stream)
        question.answer.cancel_work = partial(self._withdraw, message_id)

    def _withdraw(self, message_id: int, reason: Reason) -> None:
        self._peer.abandon(message_id, names.CANCELLED, cancellation(message_id, reason))

    def _on_answer(self, question: Question, answer: Answer) -> None:
        """Answer a question as the client did."""
        if answer is None or isinstance(answer, RequestFailure):
            question.answer(invalid_request("Invalid Request: the client is gone"))
        elif isinstance(answer, ErrorObject):
            question.answer(PeerError(answer))
        else:
            if question.follow is not None and (task := task_made(payload.object_or_empty(answer))) is not None:
                self._tasks[task] = question.follow
            question.answer(Result(answer))

    def tell(self, news: News | CatalogChanged) -> None:
        """Send a notification of a backend, or a change of the lists, to the client."""
        if not self.opened:
            return
        match news:
            case CatalogChanged(kinds):
                # "When the list [...] changes, servers that declared the `listChanged` capability SHOULD send a
                # notification": without the capability, none is sent. A server may have lists that were not cached
                # when the capabilities were declared.
                for method in sorted({names.LIST_CHANGED_METHOD[kind] for kind in kinds & self._declared}):
                    self._peer.notify(method, None)
            case LogMessage(params=params, call=call):
                self._peer.notify(names.MESSAGE, params, self._streams.get(call.reply) if call is not None else None)
            case ResourceUpdated(params=params):
                self._peer.notify(names.UPDATED, params)
            case ElicitationComplete(params=params):
                self._peer.notify(names.ELICITATION_COMPLETE, params)
            case TaskChanged(params=params):
                self._peer.notify(names.TASK_STATUS, params)
            case _:
                pass  # clients see the lists of a backend, not its state


def _legacy_body(method: str, body: Fields) -> Raw:
    body = payload.without(body, *_MODERN_KEYS)
    structured = body.get(names.STRUCTURED) if method == names.TOOLS_CALL else None
    if structured is not None and memoryview(structured)[0] != ord("{"):
        body = _without_structured(body, structured)
    return payload.encode(body)


def _without_structured(body: Fields, structured: Raw) -> Fields:
    """Remove structured content that is no object from a tool's result; it becomes text if there is no text.

    "structuredContent?: { [key: string]: unknown }" before 2026-07-28: a client that checks results refuses any other.
    "a tool that returns structured content SHOULD also return the serialized JSON in a TextContent block".
    """
    body = payload.without(body, names.STRUCTURED)
    try:
        content = payload.items(body.get("content", Raw(b"[]")))
    except ValueError:
        return body
    if not any(payload.string(payload.members(block, "type").get("type")) == "text" for block in content):
        text = payload.encode({"type": "text", "text": bytes(structured).decode("utf-8", "replace")})
        body["content"] = payload.encode([*content, text])
    return body


def _legacy_error(error: WireError) -> WireError:
    if isinstance(error, ResourceNotFound):
        return ProtocolError(names.RESOURCE_NOT_FOUND, str(error), error.data())
    return error
