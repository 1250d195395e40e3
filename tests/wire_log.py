"""Check that the messages of a server are allowed by the protocol after those before.

A WireLog is fed both directions of one stdio conversation, line by line and in order, and raises an
AssertionError that shows the message at the first thing the server must not say. Shapes are judged by the
official types (`mcp_types.methods`); this file adds what a type cannot know: which request a result answers,
which progress token is active, who declared what, and which keys belong to the other era. It does not know
any particular server. The client is not judged: tests send nonsense on purpose.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from mcp_types import (
    MissingRequiredClientCapabilityErrorData,
    Resource,
    UnsupportedProtocolVersionErrorData,
    methods,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

Message = dict[str, Any]

RESERVED = "io.modelcontextprotocol/"
VERSION, CAPABILITIES = f"{RESERVED}protocolVersion", f"{RESERVED}clientCapabilities"
SKILLS = f"{RESERVED}skills"
LOG_LEVEL, SUBSCRIPTION = f"{RESERVED}logLevel", f"{RESERVED}subscriptionId"

# Keys of 2026-07-28 that a legacy client must never see. The keys of 2025-11-25's tasks only look like them.
MODERN_RESULT_KEYS = {"resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"}
LEGACY_META_KEYS = {f"{RESERVED}related-task", f"{RESERVED}model-immediate-response"}

# "1.0.0" is no revision of the protocol; this product echoes it and then speaks the newest legacy one.
SPOKEN_AS = {revision: revision for revision in HANDSHAKE_PROTOCOL_VERSIONS} | {"1.0.0": LATEST_HANDSHAKE_VERSION}

CLIENT_CAPABILITY = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
SERVER_CAPABILITY = {
    "notifications/message": ("logging",),
    "notifications/prompts/list_changed": ("prompts", "listChanged"),
    "notifications/resources/list_changed": ("resources", "listChanged"),
    "notifications/tools/list_changed": ("tools", "listChanged"),
}
SUBSCRIPTION_FILTER = {
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
    "notifications/tasks": "taskIds",
    "notifications/tools/list_changed": "toolsListChanged",
}
SKILL_METHODS = {"skills/list", "skills/get", "resources/directory/read"}
"""The extension for skills, which the official types leave out."""
TASKS = {("notifications/tasks/status", "2025-11-25"), ("notifications/tasks", "2026-07-28")}
"""What is said of tasks unasked, which the official types leave out."""


@dataclass
class _Request:
    """One request of the client that is not answered yet."""

    key: str
    method: str
    params: Message
    batch: object | None
    acknowledged: Message | None = field(default=None)  # the filter of a `subscriptions/listen`, once accepted

    @property
    def meta(self) -> Message:
        return _object(self.params.get("_meta"))

    @property
    def claim(self) -> object:
        """The modern revision this request says it speaks; `initialize` is legacy whatever it says."""
        return None if self.method == "initialize" else self.meta.get(VERSION)


class WireLog:
    """Both directions of one stdio conversation.

    `revision` is the one the test expects: a legacy one must be what `initialize` settles on, and also judges
    a log that starts after the handshake; without it the log follows what the conversation negotiates. A
    request with the modern `_meta` is always judged by the revision it names, so a dual-era process needs one
    log only.
    """

    def __init__(self, revision: str | None = None) -> None:
        self._expected = revision if revision in SPOKEN_AS else None
        self._legacy = self._expected and SPOKEN_AS[self._expected]
        self._waiting: dict[str, list[_Request]] = {}
        self._tasks: list[_Request] = []  # what may become a task: "valid throughout the task lifetime" is its token
        self._over: dict[str, str] = {}  # id -> why it may not be answered any more
        self._nonsense: list[str] = []  # ids ("null" if unreadable) of what may only be answered by an error
        self._asked: dict[str, str] = {}  # the server's requests the client has not answered: id -> method
        self._client_capabilities: Message | None = None
        self._server_capabilities: Message | None = None

    def sent(self, line: bytes) -> None:
        """Note one line from the client to the server."""
        if not line.strip():
            return
        try:
            message = _decode(line)
        except ValueError:
            message = None
        batch = object()
        if isinstance(message, list) and message:
            for element in message:
                self._note(element, batch)
        else:
            self._note(message, None)

    def received(self, line: bytes) -> None:
        """Judge one line from the server to the client.

        Raises:
            AssertionError: the server must not say this, or not now.
        """
        try:
            self._judge_line(line)
        except (AssertionError, ValidationError, ValueError) as exc:
            raise AssertionError(f"{exc}\n< {line.decode(errors='replace').rstrip()}") from exc

    def waiting(self) -> list[str]:
        """Name the requests that wait for an answer, as `id method`."""
        return [
            f"{r.key} {r.method}" for rs in self._waiting.values() for r in rs if r.method != "subscriptions/listen"
        ]

    # The client's side: noted, not judged.

    def _note(self, message: object, batch: object | None) -> None:
        body = _object(message)
        identifier, method = body.get("id"), body.get("method")
        key = json.dumps(identifier) if _is_id(identifier) else "null"
        if isinstance(method, str) and "id" not in body:
            self._note_notification(method, _object(body.get("params")))
        elif isinstance(method, str) and key != "null" and body.get("jsonrpc") == "2.0":
            request = _Request(key, method, _object(body.get("params")), batch)
            self._waiting.setdefault(key, []).append(request)
            if "task" in request.params:
                self._tasks.append(request)
            if method == "initialize":
                self._client_capabilities = _object(request.params.get("capabilities"))
        elif "method" not in body and ("result" in body or "error" in body):
            self._asked.pop(key, None)
        else:
            self._nonsense.append(key)

    def _note_notification(self, method: str, params: Message) -> None:
        if method == "notifications/cancelled":
            key = json.dumps(params.get("requestId"))
            # "The initialize request MUST NOT be cancelled by clients": a server answers it all the same.
            if key in self._waiting and self._waiting[key][0].method != "initialize":
                self._retire(self._waiting[key][0], "was cancelled by the client")

    # The server's side: judged.

    def _judge_line(self, line: bytes) -> None:
        if b"\n" in line.removesuffix(b"\n") or b"\r" in line:
            _refuse("a message is one line that ends with a bare newline")
        message = _decode(line)
        if isinstance(message, list):
            self._judge_batch(message)
        else:
            request = self._judge(message)
            if request is not None and request.batch is not None:
                _refuse(f"id {request.key} was sent in a batch and is answered outside of one")

    def _judge_batch(self, messages: list[object]) -> None:
        if not messages:
            _refuse("an empty batch")
        answered = [self._judge(message) for message in messages]
        if any("method" in _object(message) for message in messages) and self._legacy != "2025-03-26":
            _refuse("requests and notifications come in batches in 2025-03-26 only")
        batches = {request.batch for request in answered if request is not None}
        if None in batches or len(batches) > 1:
            _refuse("a batch of responses answers exactly one batch of requests")
        missing = [r.key for rs in self._waiting.values() for r in rs if r.batch in batches]
        if missing:
            _refuse(f"the batch leaves out the responses to {', '.join(missing)}")

    def _judge(self, message: object) -> _Request | None:
        """Judge one message; the request it answers, if it answers one."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            _refuse('not an object with "jsonrpc": "2.0"')
        kind = sorted(message.keys() - {"jsonrpc", "id", "params"})
        if kind == ["method"]:
            if not isinstance(message["method"], str):
                _refuse("the method is not a string")
            self._judge_request(message) if "id" in message else self._judge_notification(message)
            return None
        if kind not in (["error"], ["result"]) or "id" not in message or "params" in message:
            _refuse("neither a request, nor a notification, nor a result, nor an error")
        return self._judge_error(message) if kind == ["error"] else self._judge_result(message)

    def _judge_error(self, message: Message) -> _Request | None:
        error, key = message["error"], json.dumps(message["id"])
        if not isinstance(error, dict) or error.keys() - {"data"} != {"code", "message"}:
            _refuse("an error has a code, a message and perhaps data")
        if type(error["code"]) is not int or not isinstance(error["message"], str):
            _refuse("an error's code is an integer, its message a string")
        if self._was_nonsense(key):
            return None
        request = self._answered(key)
        if isinstance(request.claim, str) and error["code"] == -32022:
            UnsupportedProtocolVersionErrorData.model_validate(error.get("data"))
        if isinstance(request.claim, str) and error["code"] == -32021:
            MissingRequiredClientCapabilityErrorData.model_validate(error.get("data"))
        return request

    def _was_nonsense(self, key: str) -> bool:
        """Whether the error answers what was no message; its id may or may not have been readable."""
        if key == "null" and self._nonsense:
            self._nonsense.remove("null" if "null" in self._nonsense else self._nonsense[0])
            return True
        if key in self._nonsense and key not in self._waiting:
            self._nonsense.remove(key)
            return True
        return False

    def _judge_result(self, message: Message) -> _Request:
        result, request = message["result"], self._answered(json.dumps(message["id"]))
        if not isinstance(result, dict):
            _refuse("a result is an object")
        if request.method == "initialize":
            self._agree(request, result)
        revision = self._revision_of(request)
        is_task = ("task" in request.params and "task" in result) or result.get("resultType") == "task"
        if request.method.startswith("tasks/") or is_task:
            # The official types leave tasks out: experimental in 2025-11-25, an extension from 2026-07-28 on.
            if revision not in ("2025-11-25", *MODERN_PROTOCOL_VERSIONS):
                _refuse(f"{revision} has no tasks")
        elif request.method in SKILL_METHODS:
            self._judge_skills(request, result)
        elif (request.method, revision) not in methods.SERVER_RESULTS:
            _refuse(f"{revision} has no {request.method}, yet it got a result")
        else:
            methods.validate_server_result(request.method, revision, result)
        if request.method in ("initialize", "server/discover"):
            _judge_skills_capability(_object(result.get("capabilities")))
        if revision in MODERN_PROTOCOL_VERSIONS:
            _judge_modern_result(request, result)
        else:
            _refuse_modern_keys(result)
        return request

    def _judge_skills(self, request: _Request, result: Message) -> None:
        settings = _object(_object(self._server_capabilities).get("extensions")).get(SKILLS)
        if request.claim is None and self._server_capabilities is not None and settings is None:
            _refuse(f"{request.method} got a result, but the server did not declare {SKILLS}")
        if request.method == "resources/directory/read":
            for resource in result["resources"]:
                Resource.model_validate(resource)
            return
        entries = result["skills"] if request.method == "skills/list" else [result["skill"]]
        if request.method == "skills/get" and result["skill"].get("uri") != request.params.get("uri"):
            _refuse("the skill is another than was asked for")
        if not isinstance(entries, list) or not all(map(_is_skill, entries)):
            _refuse("a skill has a uri, a frontmatter with name and description, and resources")
        uris = [entry["uri"] for entry in entries]
        if len(set(uris)) < len(uris):
            _refuse("a skill is listed twice")
        if request.claim is not None and not (
            type(result.get("ttlMs")) is int and result.get("cacheScope") in ("public", "private")
        ):
            _refuse("`ttlMs` and `cacheScope` are REQUIRED")

    def _agree(self, request: _Request, result: Message) -> None:
        version = result.get("protocolVersion")
        if version not in SPOKEN_AS or (version == "1.0.0" != request.params.get("protocolVersion")):
            _refuse(f"initialize agrees on {version!r}, which is no legacy revision")
        if self._expected not in (None, version):
            _refuse(f"initialize agrees on {version}, expected {self._expected}")
        self._legacy, self._server_capabilities = SPOKEN_AS[version], _object(result.get("capabilities"))

    def _judge_request(self, message: Message) -> None:
        method, key = message["method"], json.dumps(message["id"])
        if not _is_id(message["id"]):
            _refuse("an id is a string or an integer")
        if key in self._asked:
            _refuse(f"the server's request {key} is still unanswered; its id may not be used again")
        if self._legacy is None:
            _refuse("a server sends requests to a client that sent `initialize` only")
        capability = CLIENT_CAPABILITY.get(method)
        if capability and self._client_capabilities is not None and capability not in self._client_capabilities:
            _refuse(f"the client did not declare {capability}")
        params = _params(message)
        if not (method.startswith("tasks/") and self._legacy == "2025-11-25"):  # which the official types leave out
            if (method, self._legacy) not in methods.SERVER_REQUESTS:
                _refuse(f"{self._legacy} has no request {method} from a server")
            methods.parse_server_request(method, self._legacy, params)
        _refuse_modern_keys(_object(params))
        self._asked[key] = method

    def _judge_notification(self, message: Message) -> None:
        method, params = message["method"], _params(message)
        revision = self._revision_of_notification(method, _object(params))
        if (method, revision) in TASKS:
            return
        if (method, revision) not in methods.SERVER_NOTIFICATIONS:
            _refuse(f"{revision} has no notification {method} from a server")
        methods.parse_server_notification(method, revision, params)
        if revision not in MODERN_PROTOCOL_VERSIONS:
            _refuse_modern_keys(_object(params))
            self._refuse_undeclared(method)

    def _revision_of_notification(self, method: str, params: Message) -> str:
        """Find what the notification belongs to, which tells its era."""
        meta = _object(params.get("_meta"))
        if method == "notifications/progress":
            return self._revision_of(self._holder_of(params.get("progressToken")))
        if method == "notifications/cancelled":
            return self._cancelled(json.dumps(params.get("requestId")))
        if SUBSCRIPTION in meta or method == "notifications/subscriptions/acknowledged":
            return self._revision_of(self._subscription(method, params, json.dumps(meta.get(SUBSCRIPTION))))
        if method == "notifications/message":
            opted_in = [r for rs in self._waiting.values() for r in rs if r.claim and LOG_LEVEL in r.meta]
            if opted_in:
                return self._revision_of(opted_in[0])
        if self._legacy is None:
            _refuse(f"{method} belongs to nothing the client asked for")
        return self._legacy

    def _holder_of(self, token: object) -> _Request:
        wanted = json.dumps(token)
        requests = [*self._tasks, *(request for requests in self._waiting.values() for request in requests)]
        holders = [r for r in requests if "progressToken" in r.meta and json.dumps(r.meta["progressToken"]) == wanted]
        if not holders:
            _refuse(f"progress for the token {wanted}, which no request in flight carries")
        return holders[0]

    def _cancelled(self, key: str) -> str:
        if key in self._asked:
            return self._legacy or LATEST_HANDSHAKE_VERSION
        # "Servers MUST NOT send notifications/cancelled for any other purpose" than to end a subscription.
        listening = [r for r in self._waiting.get(key, []) if r.method == "subscriptions/listen"]
        if not listening:
            _refuse(f"the server cancels {key}, which is neither its own request nor a subscription")
        return self._revision_of(listening[0])

    def _subscription(self, method: str, params: Message, key: str) -> _Request:
        listening = [r for r in self._waiting.get(key, []) if r.method == "subscriptions/listen"]
        if not listening:
            _refuse(f"{method} for the subscription {key}, which is not open")
        request = listening[0]
        wanted = _object(request.params.get("notifications"))
        if method == "notifications/subscriptions/acknowledged":
            if request.acknowledged is not None:
                _refuse(f"the subscription {key} is acknowledged twice")
            request.acknowledged = _object(params.get("notifications"))
            surplus = sorted(name for name, value in request.acknowledged.items() if value and not wanted.get(name))
            if surplus:
                _refuse(f"the client did not ask for {', '.join(surplus)}")
        elif request.acknowledged is None:
            _refuse(f"the subscription {key} is not acknowledged yet")
        else:
            agreed = request.acknowledged.get(SUBSCRIPTION_FILTER.get(method, ""))
            about = params.get("uri", params.get("taskId"))
            if not agreed or (isinstance(agreed, list) and not any(_covers(each, str(about)) for each in agreed)):
                _refuse(f"the subscription {key} does not cover {method} {about or ''}")
        return request

    def _revision_of(self, request: _Request) -> str:
        """The revision a successful answer must have; refuses where there may be none."""
        if request.claim is not None:
            if request.claim not in MODERN_PROTOCOL_VERSIONS:
                _refuse(f"the request names the revision {request.claim!r}: only an error may answer it")
            return str(request.claim)
        if self._legacy is None and request.method != "ping":
            _refuse(f"{request.method} without `initialize` or modern _meta: only an error may answer it")
        return self._legacy or LATEST_HANDSHAKE_VERSION

    def _refuse_undeclared(self, method: str) -> None:
        declared: object = self._server_capabilities
        for name in SERVER_CAPABILITY.get(method, ()):
            if isinstance(declared, dict):
                declared = declared.get(name)
                if declared is None or declared is False:
                    _refuse(f"{method}, but the server did not declare {'.'.join(SERVER_CAPABILITY[method])}")

    def _answered(self, key: str) -> _Request:
        if key not in self._waiting:
            _refuse(f"a response to id {key}, which {self._over.get(key, 'no request has')}")
        request = self._waiting[key][0]
        self._retire(request, "is answered already")
        return request

    def _retire(self, request: _Request, why: str) -> None:
        self._waiting[request.key].remove(request)
        if not self._waiting[request.key]:
            del self._waiting[request.key]
        self._over[request.key] = why


class Unjudged:
    """What stands in the place of a WireLog where nonsense is meant to arrive."""

    def sent(self, line: bytes) -> None: ...
    def received(self, line: bytes) -> None: ...
    def waiting(self) -> list[object]:
        return []


def judge_skill_request(method: str, params: Message | None, *, is_modern: bool) -> None:
    """Judge a request of the extension for skills.

    Raises:
        AssertionError: a client must not say this.
    """
    given = params or {}
    allowed = {"uri"} if method == "skills/get" else {"cursor"} if method == "skills/list" else {"uri", "cursor"}
    if given.keys() - allowed - {"_meta"}:
        _refuse(f"{method} takes {', '.join(sorted(allowed))} only")
    if method != "skills/list" and not isinstance(given.get("uri"), str):
        _refuse(f"{method} needs a uri")
    if is_modern is not (VERSION in _object(given.get("_meta"))):
        _refuse("a modern request, and no other, says its revision")


def _is_skill(entry: object) -> bool:
    fields = _object(entry)
    frontmatter, resources = _object(fields.get("frontmatter")), fields.get("resources")
    texts = fields.get("uri"), frontmatter.get("name"), frontmatter.get("description")
    is_whole = resources == "dynamic" or (
        isinstance(resources, list) and all(each.keys() >= {"uri", "digest", "size"} for each in resources)
    )
    return is_whole and all(isinstance(text, str) for text in texts)


def _judge_skills_capability(capabilities: Message) -> None:
    settings = _object(capabilities.get("extensions")).get(SKILLS)
    if settings is None:
        return
    if settings not in ({}, {"directoryRead": True}):
        _refuse(f"{SKILLS} has no settings but directoryRead")
    if "resources" not in capabilities:
        _refuse(f"a server that declares {SKILLS} declares resources, too")


def _judge_modern_result(request: _Request, result: Message) -> None:
    capabilities = _object(request.meta.get(CAPABILITIES))
    named = _object(result.get("_meta")).get(SUBSCRIPTION)
    if request.method == "subscriptions/listen" and json.dumps(named) != request.key:
        _refuse(f"the end of subscription {request.key} does not name it")
    if result["resultType"] == "input_required":
        if request.method not in methods.INPUT_REQUIRED_METHODS:
            _refuse(f"{request.method} cannot require input")
        for name, asked in _object(result.get("inputRequests")).items():
            capability = CLIENT_CAPABILITY[asked["method"]]
            if capability not in capabilities:
                _refuse(f"input request {name}: the client did not declare {capability}")
    elif result["resultType"] != "complete" and not capabilities.get("extensions"):
        _refuse(f"resultType {result['resultType']!r} belongs to an extension the client did not declare")


def _refuse_modern_keys(body: Message) -> None:
    """Refuse the other era's keys in a legacy result or in legacy params."""
    meta = _object(body.get("_meta"))
    found = MODERN_RESULT_KEYS & body.keys() | {key for key in meta if key.startswith(RESERVED)} - LEGACY_META_KEYS
    if found:
        _refuse(f"{', '.join(sorted(found))}: modern keys towards a legacy client")


def _params(message: Message) -> Mapping[str, Any] | None:
    params = message.get("params")
    if "params" in message and not isinstance(params, dict):
        _refuse("params is an object")
    return params


def _object(value: object) -> Message:
    """Narrow what should be an object; anything else counts as an empty one."""
    return value if isinstance(value, dict) else {}


def _is_id(value: object) -> bool:
    return isinstance(value, str) or type(value) is int


def _decode(line: bytes) -> Any:
    return json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse(why: str) -> NoReturn:
    raise AssertionError(why)


def _covers(wanted: str, about: str) -> bool:
    """Whether somebody who subscribed to a resource hears of another: "This might be a sub-resource" of it."""
    return about == wanted or about.startswith(f"{wanted.rstrip('/')}/")
