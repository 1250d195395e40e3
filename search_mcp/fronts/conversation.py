"""A client's conversation, as far as it must go on when the engine process is lost: open requests and what was set.

Decides what the client is answered at the loss, and what the next engine is sent first. No call is sent twice. The
words of the protocol are repeated here, because an adapter loads no dialect. Standard library only; no I/O.
"""

import json
from typing import Any, NamedTuple

from search_mcp.fronts.client_lines import Json, Piece

REMEMBERED = 1000
"""Most resources whose subscription is made again."""
LOST = -32000

INITIALIZE = "initialize"
INITIALIZED = "notifications/initialized"
SET_LEVEL = "logging/setLevel"
SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
LISTEN = "subscriptions/listen"
CANCELLED = "notifications/cancelled"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

AGAIN = "search-mcp/again/"
"""The beginning of the ids of requests that are sent again."""

Id = str | int


class _Open(NamedTuple):
    """A request of the client without an answer."""

    method: str
    batch: int | None
    """The number of its batch, whose responses go into one array."""


class Conversation:
    """What an adapter knows of the messages of one client."""

    def __init__(self) -> None:
        self._open: dict[Id, _Open] = {}
        self._asked: dict[Id, None] = {}  # requests of the engine that the client has not answered
        self._settings: dict[tuple[str, str], tuple[Id, Json]] = {}  # by method and subject
        self._initialized = b""
        self._repeated: set[Id] = set()  # ids of requests that were sent again, whose answers the client already has
        self._repetitions = 0
        self._batches = 0

    def __repr__(self) -> str:
        return f"<Conversation open={len(self._open)} settings={len(self._settings)}>"

    @property
    def is_opening(self) -> bool:
        """Whether the client waits for the answer to `initialize`."""
        return any(each.method == INITIALIZE for each in self._open.values())

    def from_client(self, piece: Piece) -> None:
        """Record the end of a line of the client."""
        batch = None
        if piece.is_batch:
            batch = self._batches = self._batches + 1
        for message in piece.messages:
            method, identifier = message.get("method"), _id(message)
            if not isinstance(method, str):
                if identifier is not None:
                    self._asked.pop(identifier, None)
            elif identifier is not None:
                self._open[identifier] = _Open(method, batch)
                if piece.begins and not piece.is_batch:
                    self._record_setting(method, identifier, piece.data)
            elif method == CANCELLED:
                cancelled = _member(message, "requestId")
                if isinstance(cancelled, str | int):
                    self._open.pop(cancelled, None)
            elif method == INITIALIZED and piece.begins and not piece.is_batch:
                self._initialized = piece.data

    def _record_setting(self, method: str, identifier: Id, line: bytes) -> None:
        if method not in (INITIALIZE, SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE):
            return
        message = json.loads(line)  # the whole of it: long members are missing in the messages of a piece
        if method in (INITIALIZE, SET_LEVEL):
            self._settings[method, ""] = identifier, message
        elif isinstance(uri := _member(message, "uri"), str):
            self._settings.pop((SUBSCRIBE, uri), None)
            if method == SUBSCRIBE and len(self._settings) < REMEMBERED:
                self._settings[SUBSCRIBE, uri] = identifier, message

    def from_engine(self, piece: Piece) -> bool:
        """Record the end of a line of the engine; return whether the client gets it."""
        is_for_client = True
        for message in piece.messages:
            method, identifier = message.get("method"), _id(message)
            if identifier is None:
                continue
            if isinstance(method, str):
                self._asked[identifier] = None
            elif identifier in self._repeated:
                self._repeated.discard(identifier)
                is_for_client = False
            else:
                self._open.pop(identifier, None)
        return is_for_client

    def lose(self, reason: str) -> bytes:
        """Return the lines that the client gets, because the engine was lost. `initialize` stays open."""
        lines = [_line({"method": CANCELLED, "params": {"requestId": each, "reason": reason}}) for each in self._asked]
        self._asked.clear()
        batches: dict[int, list[bytes]] = {}
        for identifier, request in list(self._open.items()):
            if request.method == INITIALIZE:
                continue
            del self._open[identifier]
            line = _end_of_stream(identifier) if request.method == LISTEN else _failure(identifier, reason)
            if request.batch is None:
                lines.append(line)
            else:
                batches.setdefault(request.batch, []).append(line[:-1])
        lines += [b"[%b]\n" % b",".join(each) for each in batches.values()]
        self._repeated.clear()
        return b"".join(lines)

    def refuse(self, messages: tuple[Json, ...], reason: str) -> bytes:
        """Return the answers to requests that no engine has got."""
        lines = []
        for message in messages:
            identifier = _id(message)
            if identifier is not None and isinstance(message.get("method"), str):
                self._open.pop(identifier, None)
                lines.append(_failure(identifier, reason, may_have_run=False))
        return b"".join(lines)

    def refuse_opening(self, reason: str) -> bytes:
        """Return the answer to an `initialize` that no engine will answer."""
        refused = [each for each, request in self._open.items() if request.method == INITIALIZE]
        self._settings.clear()
        for identifier in refused:
            del self._open[identifier]
        return b"".join(_failure(each, reason, may_have_run=False) for each in refused)

    def opening(self) -> bytes:
        """Return the lines that bring a new engine to the state of the lost one; their answers are not passed on."""
        if (INITIALIZE, "") not in self._settings:
            return b""
        settings = sorted(self._settings.items(), key=lambda each: each[0][0] != INITIALIZE)
        first, *rest = (self._again(identifier, message) for _, (identifier, message) in settings)
        return b"".join((first, self._initialized, *rest))

    def _again(self, identifier: Id, message: Json) -> bytes:
        """Return a request under a new id, so that no request of the client can have the same."""
        if identifier in self._open:  # an `initialize` whose answer goes to the client
            return _line(message)
        self._repetitions += 1
        repeated = f"{AGAIN}{self._repetitions}"
        self._repeated.add(repeated)
        return _line({**message, "id": repeated})


def _id(message: Json) -> Id | None:
    identifier = message.get("id")
    return identifier if isinstance(identifier, str | int) and not isinstance(identifier, bool) else None


def _member(message: Json, key: str) -> Any:
    params = message.get("params")
    return params.get(key) if isinstance(params, dict) else None


def _line(message: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def _failure(identifier: Id, reason: str, *, may_have_run: bool = True) -> bytes:
    return _line({"id": identifier, "error": {"code": LOST, "message": reason, "data": {"mayHaveRun": may_have_run}}})


def _end_of_stream(identifier: Id) -> bytes:
    """Answer a subscription as a server that ends it gracefully, so that the client subscribes again."""
    meta = {SUBSCRIPTION_KEY: identifier}
    return _line({"id": identifier, "result": {"resultType": "complete", "_meta": meta}})
