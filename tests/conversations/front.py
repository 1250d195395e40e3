"""The client of a conversation, of either era."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from wire_log import Unjudged, WireLog

from conversations.transcript import Said, encode, members
from conversations.words import CAPABILITIES, CLIENT_INFO, MODERN, NEWEST_LEGACY, SERVER_INFO, VERSION, Json, labelled

if TYPE_CHECKING:
    from conversations.pair import Pair

ANY: Any = object()


class Front:
    """The client; every line it receives goes through a WireLog."""

    def __init__(self, pair: "Pair", revision: str, name: str = "front") -> None:
        self.pair, self.revision, self.name = pair, revision, name
        self.capabilities: Json = {}
        self.info: Json = {"name": "a client", "version": "1"}
        self.inbox: list[Said] = []
        self.opening: Json = {}
        self.tools: list[Json] = []
        self._log: WireLog | Unjudged = WireLog(revision if revision != MODERN else None)
        self._ids = 0
        self._open: list[Asked] = []

    @property
    def is_modern(self) -> bool:
        return self.revision == MODERN

    def starts_anew(self) -> None:
        """Start a new process of the same client."""
        self.inbox, self._open, self._ids = [], [], 0
        self._log = WireLog(self.revision if not self.is_modern else None)

    def becomes(self, revision: str, **capabilities: Json) -> None:
        """Become another client, of any era, after this one has left."""
        self.revision, self.capabilities = revision, capabilities
        self.starts_anew()

    def expects(self, version: str) -> None:
        """Set the revision that `initialize` must agree on, if it is not the client's own."""
        self._log = WireLog(version)

    # Messages that it sends

    def opens(self, **capabilities: Json) -> None:
        """Open as a client of this era does, and list the tools: then every backend is ready."""
        self.capabilities = capabilities
        if self.is_modern:
            self.opening = self.asks("server/discover").result()
        else:
            self.initializes()
            self.notifies("notifications/initialized")
        self.tools = self.asks("tools/list").result()["tools"]

    def opens_over(self, seconds: float) -> None:
        """Open, list the tools, and let enough time pass for every server to answer or fail."""
        if not self.is_modern:
            self.initializes()
        self.asks("tools/list")
        self.pair.after(seconds)
        self.inbox.clear()

    def initializes(self, version: str | None = None) -> None:
        params = {"protocolVersion": version or self.revision, "capabilities": self.capabilities}
        self.opening = self.asks("initialize", {**params, "clientInfo": self.info}, meta=None).result()

    def watches(self, uri: str) -> None:
        """Subscribe to a resource, at a server whose habit is to accept that."""
        if self.is_modern:
            self.asks("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
            self.hears("notifications/subscriptions/acknowledged")
        else:
            self.asks("resources/subscribe", {"uri": uri}).gets({})

    def hears_anything(self) -> None:
        """Accept illegal messages from now on: invalid messages of a server are relayed unchanged."""
        self._log = Unjudged()

    def calls(
        self, name: str, /, *, token: int | str | None = None, meta: Json | None = None, **arguments: Any
    ) -> "Asked":
        """Call a tool."""
        whole = {**(meta or {}), **({} if token is None else {"progressToken": token})}
        return self.asks("tools/call", {"name": name, "arguments": arguments}, meta=whole)

    def asks(
        self,
        method: str,
        params: Json | None = None,
        *,
        meta: Json | None = ANY,
        id: int | str | None = None,  # noqa: A002  # as it is called on the wire
    ) -> "Asked":
        """Send a request; with `meta=None`, without any `_meta`."""
        asked = Asked(self, method, params or {}, {} if meta is ANY else meta, self.mint() if id is None else id)
        self._open.append(asked)
        self.says(**asked.message())
        return asked

    def mint(self) -> int:
        self._ids += 1
        return self._ids

    def stamped(self, meta: Json) -> Json:
        """Return the `_meta` of a request; in the modern era it identifies the client."""
        if not self.is_modern:
            return meta
        return {VERSION: self.revision, CLIENT_INFO: self.info, CAPABILITIES: self.capabilities, **meta}

    def notifies(self, method: str, **params: Any) -> None:
        self.says(method=method, params=params) if params else self.says(method=method)

    def says(self, **message: Any) -> None:
        self.says_line(encode({"jsonrpc": "2.0", **message}))

    def says_line(self, line: bytes) -> None:
        """Send any line."""
        self.says_lines(line)

    def says_lines(self, *lines: bytes) -> None:
        """Send several lines at once."""
        for line in lines:
            self.pair.transcript.say(self.name, ">", line)
            try:
                self._log.sent(line)
            except RecursionError:  # nested too deeply for the log, on purpose: recorded as an invalid line
                self._log.sent(b"[")
        self.pair.feed(b"".join(line + b"\n" for line in lines), self)

    # Messages that it receives

    def hear(self, line: bytes) -> None:
        self.pair.transcript.say(self.name, "<", line)
        with self.pair.judging():
            self._log.received(line)
        self.inbox.append(Said(line))

    def next(self) -> Said:
        assert self.inbox, "front hears nothing"
        return self.inbox.pop(0)

    def hears(self, method: str, **params: Any) -> Said:
        """Expect a notification next; with params, exactly these, except a subscription's id."""
        said = self.next()
        assert said.method == method and "id" not in said.body, f"front expects {method}, hears {said!r}"
        given = {key: value for key, value in said.params.items() if key != "_meta"}
        assert not params or given == params, f"front expects {params}, hears {said!r}"
        return said

    def hears_nothing(self) -> None:
        assert not self.inbox, f"front hears {self.inbox}"

    def is_asked(self, *questions: Json, by: str = "alpha") -> "Asking":
        """Expect a server's questions to the client, during the only open call."""
        return self._only().is_asked(*questions, by=by)

    def gets(self, result: Any) -> None:
        self._only().gets(result)

    def fails(self, code: int, message: str | None = None, data: Any = ANY) -> Said:
        return self._only().fails(code, message, data)

    def _only(self) -> "Asked":
        assert len(self._open) == 1, f"front waits for {len(self._open)} answers: name the one that is meant"
        return self._open[0]


@dataclass(eq=False)
class Asked:
    """A request of the client, with several rounds if it is answered by questions."""

    front: Front
    method: str
    params: Json
    meta: Json | None
    id: int | str
    _state: Json = field(default_factory=dict)

    def message(self) -> Json:
        params = dict(self.params) | self._state
        if self.meta is not None and (meta := self.front.stamped(self.meta)):
            params["_meta"] = meta
        return {"id": self.id, "method": self.method, **({"params": params} if params else {})}

    def cancels(self, reason: str | None = None) -> None:
        self.front._open.remove(self)
        more = {} if reason is None else {"reason": reason}
        self.front.notifies("notifications/cancelled", requestId=self.id, **more)

    def is_over(self) -> None:
        """Record that no answer will come."""
        self.front._open.remove(self)

    def _response(self) -> Said:
        said = self.front.next()
        assert said.method is None and said.id == self.id and type(said.id) is type(self.id), (
            f"front expects the answer to {self.id!r}, hears {said!r}"
        )
        return said

    def result(self) -> Json:
        """Expect the result next, and return it decoded."""
        said = self._response()
        assert said.result is not None, f"front expects a result, hears {said!r}"
        self.front._open.remove(self)
        result: Json = said.body["result"]
        if self.front.is_modern and self.method != "initialize":
            assert result["_meta"][SERVER_INFO]["name"] == "search-mcp", (
                f"every modern result has our serverInfo: {said!r}"
            )
        return result

    def gets(self, result: Any) -> None:
        """Expect this result next: every member byte for byte, in this order."""
        said = self._response()
        assert said.result is not None, f"front expects a result, hears {said!r}"
        self.front._open.remove(self)
        assert members(said.result) == members(encode(result)), f"front expects {result!r}, hears {said!r}"

    def fails(self, code: int, message: str | None = None, data: Any = ANY) -> Said:
        """Expect this error next; `message` is its whole message, or its part before reasons, names and remedies."""
        said = self._response()
        self.front._open.remove(self)
        error = said.body.get("error")
        assert error is not None and error["code"] == code, f"front expects error {code}, hears {said!r}"
        heard, longer = error["message"], tuple(f"{message}{end}" for end in (": ", ". ", "\n"))
        assert message in (None, heard) or heard.startswith(longer), f"front expects {message!r}, hears {said!r}"
        assert data is ANY or error.get("data") == data, f"front expects data {data!r}, hears {said!r}"
        return said

    def is_asked(self, *questions: Json, by: str = "alpha") -> "Asking":
        """Expect these questions of a server; an elicitation's message begins with the server's name."""
        return self.is_parked(*questions, by=by) if self.front.is_modern else self.is_interrupted(*questions, by=by)

    def is_interrupted(self, *questions: Json, by: str = "alpha") -> "LegacyAsking":
        """Expect the questions like `is_asked`; the client must be a legacy one."""
        return LegacyAsking(self, [labelled(question, by) for question in questions])

    def is_parked(self, *questions: Json, by: str = "alpha") -> "ModernAsking":
        """Expect the questions like `is_asked`; the client must be a modern one."""
        return ModernAsking(self, [labelled(question, by) for question in questions])

    def again(self, state: Json) -> None:
        """Send the same request again, under another id, with the input that an unfinished answer asked for."""
        self.id, self._state = self.front.mint(), state
        self.front.says(**self.message())


class Asking(Protocol):
    """Questions to the client."""

    def answers(self, *responses: Any) -> None:
        """Answer all the questions, in order."""
        ...


class LegacyAsking:
    """Questions to a legacy client: each is a request."""

    def __init__(self, asked: Asked, questions: list[Json]) -> None:
        self.front = asked.front
        self.requests = [self._take(question) for question in questions]

    def _take(self, question: Json) -> Said:
        said = self.front.next()
        assert "id" in said.body, f"front expects a question, hears {said!r}"
        assert _is_question(said.body, question), f"front expects {question!r}, hears {said!r}"
        return said

    def answers(self, *responses: Any) -> None:
        for said, response in zip(self.requests, responses, strict=True):
            self.front.says_line(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(said.id), encode(response)))

    def refuses(self, code: int, message: str) -> None:
        for said in self.requests:
            self.front.says(id=said.id, error={"code": code, "message": message})


class ModernAsking:
    """Questions to a modern client: all are in one unfinished answer, and the client sends its request again."""

    def __init__(self, asked: Asked, questions: list[Json]) -> None:
        self.asked = asked
        said = asked._response()
        self.body: Json = said.body.get("result", {})
        assert self.body.get("resultType") == "input_required", f"front expects questions, hears {said!r}"
        self.requests: Json = self.body["inputRequests"]
        matched = len(self.requests) == len(questions) and all(map(_is_question, self.requests.values(), questions))
        assert matched, f"front expects {questions!r}, hears {said!r}"

    @property
    def state(self) -> str:
        state: str = self.body["requestState"]
        return state

    def answers(self, *responses: Any) -> None:
        self.retries(dict(zip(self.requests, responses, strict=True)))

    def retries(self, responses: Json | None) -> None:
        state = {"requestState": self.body["requestState"]} if "requestState" in self.body else {}
        self.asked.again({**({} if responses is None else {"inputResponses": responses}), **state})


def _is_question(request: Json, question: Json) -> bool:
    return bool(request["method"] == question["method"] and request.get("params", {}) == question["params"])


__all__ = ["ANY", "NEWEST_LEGACY", "Asked", "Asking", "Front", "LegacyAsking", "ModernAsking"]
