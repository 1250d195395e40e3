"""The back dialect of the legacy revisions (2024-11-05 to 2025-11-25), which start with `initialize`.

A request of a legacy backend does not say which call it belongs to; that is guessed here.
Source: docs/specification/2025-11-25/.
"""

import logging
from collections import Counter
from collections.abc import Callable

from search_mcp.dialects import OnStaleList, OnUnanswered, asking, names
from search_mcp.dialects.back.capabilities import read_server_capabilities
from search_mcp.dialects.back.forwarding import ForwardedCall, outcome, params_with_target
from search_mcp.dialects.back.lists import read_pages
from search_mcp.dialects.back.notifications import likely_call, publish_task_change, read_notification
from search_mcp.dialects.params import on_cancelled, progress_token, read_params, without_own_keys
from search_mcp.dialects.task_ids import REMEMBERED_TASKS, task_made
from search_mcp.model.calls import BoundedDict, Call, Caller, Outcome, Question, Result
from search_mcp.model.names import Action, Ask, Era, Kind
from search_mcp.model.sentences import cut
from search_mcp.model.servers import (
    ElicitationComplete,
    LogMessage,
    News,
    Opening,
    ResourceUpdated,
    ServerCapabilities,
    ServerList,
)
from search_mcp.wire import payload
from search_mcp.wire.errors import ProtocolError, WireError, invalid_params, invalid_request, method_not_found
from search_mcp.wire.inflight import Request
from search_mcp.wire.peer import Peer
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import EMPTY, ErrorObject, Fields, Raw, RequestId, Struct, UnsetType, replace

log = logging.getLogger(__name__)


class UnknownRevisionError(ValueError):
    """The server answered `initialize` with a revision that is not supported here."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self.revision = revision

    def __str__(self) -> str:
        return (
            f"it answered initialize with the protocol revision {cut(self.revision)!r}, which search-mcp does not know "
            f"(it knows {', '.join(names.LEGACY)}); update the server, or search-mcp"
        )


async def initialize(peer: Peer, opening: Opening, revision: str) -> ServerCapabilities:
    """Open a backend with the client's capabilities and, if known, its name.

    Raises:
        PeerError: the backend refused.
        ConnectionEndedError: the connection ended.
        UnknownRevisionError: it answered with a revision that is not supported here.
        ValueError: its answer is no `initialize` result.
    """
    params = {
        "protocolVersion": revision,
        "capabilities": _mirrored(opening),
        "clientInfo": opening.info if opening.info is not None else names.CLIENT_INFO,
    }
    result = payload.fields(await peer.ask(names.INITIALIZE, params))
    agreed = payload.string(result.get("protocolVersion"))
    if agreed is None:
        raise ValueError("its answer to initialize has no protocolVersion")
    if agreed not in (*names.LEGACY, names.FIRST):
        # "If the client does not support the version in the server's response, it SHOULD disconnect."
        raise UnknownRevisionError(agreed)
    peer.notify(names.INITIALIZED, None)
    return read_server_capabilities(result, agreed, Era.LEGACY)


def _mirrored(opening: Opening) -> Fields:
    """Return the client's capabilities, as far as a legacy backend can use them."""
    tasks = opening.capabilities.get("tasks")
    if tasks is None:
        return opening.capabilities
    if opening.revision in names.MODERN:
        return payload.without(opening.capabilities, "tasks")  # in that era there are no requests to a client
    # The client's list of tasks would show a server those of other servers.
    own = payload.without(payload.object_or_empty(tasks), "list")
    return {**opening.capabilities, "tasks": payload.encode(own)}


class BackLegacy:
    """One open legacy backend."""

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
        self._caller: Caller | None = opening.caller
        self._admit_question = opening.admit_question
        self._calls: dict[Call, None] = {}  # in flight, oldest first
        # By task that a client made of a question of this backend: the client.
        self._tasks: BoundedDict[str, Caller] = BoundedDict(REMEMBERED_TASKS)
        # By task of the backend: the progress token of the call that made it, and where its progress is reported.
        self._reported: BoundedDict[str, tuple[int, Callable[[Fields], None]]] = BoundedDict(REMEMBERED_TASKS)
        self._level: str | None = None  # the log level it was last set to
        self._asking: Counter[Call | None] = Counter()  # how many questions are open in each

    # To the backend

    def submit(self, call: Call, target: str) -> None:
        if call.action not in names.METHOD:
            call.reply(method_not_found(call.action.value))  # experimental tasks send their changes without a request
            return
        if call.inputs is not None and call.inputs.request_state is not None:
            # Only handles of parked calls are valid for a legacy backend, and the front dialect handles those.
            call.reply(invalid_params("Invalid params: requestState is unknown, was used before, or has expired"))
            return
        self._calls[call] = None
        if self.capabilities.logging:
            self._set_level_for(call.caller.log_level)
        ForwardedCall(call, target, self._peer, self).send(params_with_target(call, target), call.meta)

    def read_answer(self, forwarded: ForwardedCall, answer: Raw | ErrorObject) -> Outcome:
        """Read the answer to a call; if it made a task, report progress of the task, too."""
        call = forwarded.call
        if "task" in call.params and call.report is not None and isinstance(answer, Raw):
            self._report_on(task_made(payload.object_or_empty(answer)), forwarded.message_id, call.report)
        read = outcome(self._server, answer)
        if call.action is not Action.GET_TASK or not isinstance(read, Result):
            return read
        try:  # the state of a task of the extension may contain questions
            return replace(read, body=asking.admitted_in(self._server, read.fields()))
        except ValueError as exc:
            return asking.refused(exc)

    def forget(self, call: Call) -> None:
        """Stop counting a call as in flight, and its questions as open."""
        self._calls.pop(call, None)
        self._asking.pop(call, None)

    def _report_on(self, task: str | None, token: int, report: Callable[[Fields], None]) -> None:
        """Continue to report progress on a call that became a task."""
        # "The `progressToken` provided in the initial request remains valid throughout the task lifetime."
        if task is not None:
            self._reported[task] = token, report

    def _report(self, progress: Fields) -> None:
        token = payload.request_id(progress.get(names.PROGRESS_TOKEN))
        for known, report in self._reported.values():
            if known == token:
                report(progress)
                return
        self._peer.report(token, progress)

    def _start_asking(self, call: Call | None) -> None:
        """Count a question as open in the call, if it belongs to one."""
        self._asking[call] += 1
        if call is not None and call.asks is not None:
            call.asks(True)

    def _stop_asking(self, call: Call | None) -> None:
        """Count a question of the call as no longer open."""
        if self._asking[call] > 1:
            self._asking[call] -= 1
        elif self._asking.pop(call, 0) and call is not None and call.asks is not None:
            call.asks(False)

    async def read_list(self, kind: Kind) -> ServerList:
        """Read a complete list.

        Raises:
            PeerError, RequestFailedError, ConnectionEndedError, ValueError: it could not be read.
        """

        async def ask(method: str, params: Fields) -> Raw:
            return await self._peer.ask(method, params or None)

        return await read_pages(kind, ask)

    def has_calls(self) -> bool:
        return bool(self._calls)

    def is_idle(self) -> bool:
        return not self._calls

    def _set_level_for(self, level: str | None) -> None:
        """Lower the backend's log level to that of a call; a modern client is sent only what it asked for."""
        if level is None:
            return
        if self._level is None or names.LOG_LEVELS.index(level) < names.LOG_LEVELS.index(self._level):
            self.set_log_level(level)

    def set_log_level(self, level: str) -> None:
        if self.capabilities.logging:
            self._level = level
            self._peer.request(names.SET_LEVEL, {"level": level}, lambda _answer: None)

    def roots_changed(self) -> None:
        self._peer.notify(names.ROOTS_CHANGED, None)

    # From the backend

    def on_request(self, request: Request) -> None:
        if request.method == names.PING:
            self._peer.answer(request, EMPTY)
            return
        asks_of_task = request.method in names.ASKS_OF_TASKS
        ask = (names.ASKS_OF_TASKS if asks_of_task else names.ASKS).get(request.method)
        if ask is None:
            raise method_not_found(request.method)
        try:
            asking.require_few_members(request.params)
        except ValueError as exc:
            raise invalid_params(f"Invalid params: {exc}") from exc
        params, meta = read_params(request.params)
        token = progress_token(meta)
        maker = self._tasks.get(payload.string(params.get("taskId")) or "")
        if asks_of_task and maker is None:
            raise invalid_params("Invalid params: no such task was made for this server")
        params = self._admitted(ask, params)
        call = None if asks_of_task else self._asking_call(ask)
        caller = maker if asks_of_task else call.caller if call is not None else self._caller
        if caller is None:
            raise method_not_found(f"{request.method} (there is no client to ask outside a call)")
        relayed = _RelayedQuestion(self, self._peer, request, params, token, caller)
        question = relayed.question(self._server, ask, without_own_keys(meta, names.PROGRESS_TOKEN))
        question.answer.ends.append(lambda _answer: self._stop_asking(call))
        request.cancel = question.answer.cancel
        self._start_asking(call)
        caller.ask(question, call)

    def _admitted(self, ask: Ask, params: Fields) -> Fields:
        """Return a question as it may be asked.

        Raises:
            ProtocolError: it may not be asked.
        """
        try:
            return asking.admitted(self._server, ask, params)
        except ValueError as exc:
            log.warning("! %s: its question to the user is refused: %s", self._server, exc)
            raise invalid_params(f"Invalid params: {exc}") from exc

    def note_task(self, answer: Result, caller: Caller) -> None:
        """Remember the task that a client made of a question, if it made one."""
        task = task_made(answer.fields())
        if task is not None:
            self._tasks[task] = caller

    def _asking_call(self, ask: Ask) -> Call | None:
        """Return the call that a question belongs to; `None` if it belongs to none.

        Raises:
            WireError: the question must not be asked.
        """
        try:
            call = self._likely_call()
        except ProtocolError:
            self._admit_question(ask, None)
            raise
        self._admit_question(ask, call)
        return call

    def _likely_call(self) -> Call | None:
        """Return the call that a question of this backend most likely belongs to.

        This is the only one in flight, else the newest without an open question, else the newest.

        Raises:
            ProtocolError: calls of several clients are in flight: a question must not reach the wrong client.
        """
        if not self._calls:
            return None
        newest = next(reversed(self._calls))
        if any(call.caller.session is not newest.caller.session for call in self._calls):
            raise invalid_request("Invalid Request: several clients have calls in flight here")
        return next((call for call in reversed(self._calls) if not self._asking[call]), newest)

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        if method in names.LIST_CHANGED:
            self._stale(names.LIST_CHANGED[method], is_announced=True)
            return
        fields = read_notification(self._server, method, params)
        if fields is None:
            return
        match method:
            case names.CANCELLED:
                on_cancelled(self._peer, params)
            case names.PROGRESS:
                self._report(fields)
            case names.MESSAGE:
                self._tell(LogMessage(self._server, fields, likely_call(self._calls, fields)))
            case names.UPDATED:
                self._tell(ResourceUpdated(self._server, payload.string(fields.get("uri")) or "", fields))
            case names.TASK_STATUS:
                if payload.string(fields.get("status")) in names.ENDED_TASKS:
                    self._reported.pop(payload.string(fields.get("taskId")) or "", None)
                publish_task_change(self._server, fields, self._tell)
            case names.ELICITATION_COMPLETE:
                self._tell(ElicitationComplete(self._server, fields))
            case _:
                log.debug("= %s: notification %s ignored", self._server, method)


class _RelayedQuestion(Struct, eq=False):
    """A request of the backend to the client."""

    dialect: BackLegacy
    peer: Peer
    request: Request
    params: Fields
    token: RequestId | None
    """The progress token that the backend gave its request."""
    caller: Caller
    """The client that is asked."""

    def question(self, server: str, ask: Ask, meta: Fields | None) -> Question:
        """Write the request as a question to the client."""
        report = self.report if self.token is not None else None
        follow = self.follow if "task" in self.params else None
        return Question(server, ask, self.params, meta, Pending(self.answer), report, follow)

    def answer(self, answer: Result | WireError) -> None:
        """Answer the backend as the client did."""
        if isinstance(answer, WireError):
            self.peer.refuse(self.request, answer)
            return
        if "task" in self.params:
            self.dialect.note_task(answer, self.caller)
        self.peer.answer(self.request, answer.raw())

    def report(self, progress: Fields) -> None:
        """Pass the client's progress on, under the backend's token."""
        if self.peer.is_open(self.request):
            self.peer.notify(names.PROGRESS, {**progress, names.PROGRESS_TOKEN: self.token})

    def follow(self, change: Fields) -> None:
        """Pass a change of the client's task on."""
        self.peer.notify(names.TASK_STATUS, change)
