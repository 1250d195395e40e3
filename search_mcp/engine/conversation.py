"""A client's conversation, as far as it must go on when the engine process is lost: open requests and what was set.

Decides what the client is answered at the loss, and what the next engine is sent first. No call is sent twice. The
words of the protocol are repeated here, because an adapter loads no dialect. Standard library only; no I/O.
"""

import json
from typing import Any, NamedTuple

from search_mcp.engine.client_lines import Json, Piece

REMEMBERED = 1000
"""Most subscriptions, and most open requests, that are made again."""
REMEMBERED_BYTES = 1 << 13
"""The longest line that is kept to be sent again, except `initialize`."""
MOST_ENGINES = 4
"""Engines that may be lost with the same request; more means that the request ends them."""
LOST = -32000
LOST_REPEATEDLY = (
    f"The search-mcp engine process ended {MOST_ENGINES} times before it answered this request, which had no effect. "
    "Ask the user to run `search-mcp engine logs` in a terminal for the cause, then send it again"
)
ASKER_LOST = "The search-mcp engine process that asked this ended"
"""The reason for which a question to the client is cancelled."""

INITIALIZE = "initialize"
INITIALIZED = "notifications/initialized"
DISCOVER = "server/discover"
SET_LEVEL = "logging/setLevel"
SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
LISTEN = "subscriptions/listen"
CANCELLED = "notifications/cancelled"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
REPEATABLE = {
    *(INITIALIZE, DISCOVER, "ping", SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE),
    *("tools/list", "prompts/list", "resources/list", "resources/templates/list"),
}
"""Methods that may be sent to another engine, because they do the same however often they are sent."""

AGAIN = "search-mcp/again/"
"""The beginning of the ids of requests that are sent again although the client has their answers."""

Id = str | int


class _Open(NamedTuple):
    """A request of the client without an answer."""

    method: str
    batch: int | None
    """The number of its batch, whose responses go into one array."""
    line: bytes
    """The whole line, if it may be sent to another engine; else empty."""
    engines: int
    """The number of engines that got it."""


class Conversation:
    """What an adapter knows of the messages of one client."""

    def __init__(self) -> None:
        self._open: dict[Id, _Open] = {}
        self._asked: dict[Id, None] = {}  # requests of the engine that the client has not answered
        self._settings: dict[tuple[str, str], bytes] = {}  # lines, by method and subject
        self._initialized = b""
        self._repeated: set[Id] = set()  # ids of requests that were sent again, whose answers the client already has
        self._repetitions = 0
        self._batches = 0

    def __repr__(self) -> str:
        return f"<Conversation open={len(self._open)} settings={len(self._settings)}>"

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for an answer. After a loss: for one that the next engine can give."""
        return bool(self._open)

    @property
    def is_repeating(self) -> bool:
        """Whether some answers of the engine are not for the client, because it already has them."""
        return bool(self._repeated)

    def from_client(self, piece: Piece) -> None:
        """Record the end of a line of the client."""
        messages, is_batch = piece.read()
        batch, line = None, b""
        if is_batch:
            batch = self._batches = self._batches + 1
        elif piece.begins:
            line = piece.data if piece.data.endswith(b"\n") else piece.data + b"\n"
        for message in messages:
            method, identifier = message.get("method"), _id(message)
            if not isinstance(method, str):
                if identifier is not None:
                    self._asked.pop(identifier, None)
            elif identifier is not None:
                kept = line if len(line) <= REMEMBERED_BYTES or method == INITIALIZE else b""
                is_repeatable = method in REPEATABLE and len(self._open) < REMEMBERED
                self._open[identifier] = _Open(method, batch, kept if is_repeatable else b"", 1)
                if kept:
                    self._record_setting(method, message, kept)
            elif method == CANCELLED and (cancelled := _as_id(_member(message, "requestId"))) is not None:
                self._open.pop(cancelled, None)
            elif method == INITIALIZED:
                self._initialized = _line({"method": INITIALIZED})

    def _record_setting(self, method: str, message: Json, line: bytes) -> None:
        if method in (INITIALIZE, SET_LEVEL):
            self._settings[method, ""] = line
        elif method in (SUBSCRIBE, UNSUBSCRIBE) and isinstance(uri := _member(message, "uri"), str):
            self._settings.pop((SUBSCRIBE, uri), None)
            if method == SUBSCRIBE and len(self._settings) < REMEMBERED:
                self._settings[SUBSCRIBE, uri] = line

    def from_engine(self, piece: Piece) -> bool:
        """Record the end of a line of the engine; return whether the client gets it."""
        is_for_client = True
        messages, _ = piece.read()
        for message in messages:
            method, identifier = message.get("method"), _id(message)
            if isinstance(method, str):
                if identifier is not None:
                    self._asked[identifier] = None
                elif method == CANCELLED and (cancelled := _as_id(_member(message, "requestId"))) is not None:
                    self._asked.pop(cancelled, None)
            elif identifier in self._repeated:
                self._repeated.discard(identifier)
                is_for_client = False
            elif identifier is not None:
                self._open.pop(identifier, None)
        return is_for_client

    def lose(self, reason: str) -> bytes:
        """Return the lines that the client gets, because the engine was lost; `reason` is for open requests.

        Requests that may be repeated stay open.
        """
        lines = [
            _line({"method": CANCELLED, "params": {"requestId": each, "reason": ASKER_LOST}}) for each in self._asked
        ]
        self._asked.clear()
        self._repeated.clear()
        lost, self._open = self._open, {}
        batches: dict[int, list[bytes]] = {}
        for identifier, request in lost.items():
            if request.line and request.engines < MOST_ENGINES:
                self._open[identifier] = request._replace(engines=request.engines + 1)
            elif request.line:
                lines.append(_failure(identifier, LOST_REPEATEDLY, may_have_run=False))
                self._forget(request.line)
            elif request.method == LISTEN:
                lines.append(_end_of_stream(identifier))
            elif request.batch is None:
                lines.append(_failure(identifier, reason))
            else:
                batches.setdefault(request.batch, []).append(_failure(identifier, reason))
        return b"".join((*lines, *map(_array, batches.values())))

    def _forget(self, refused: bytes) -> None:
        """Forget what a request was to set."""
        self._settings = {key: line for key, line in self._settings.items() if line != refused}

    def refuse(self, piece: Piece, reason: str) -> bytes:
        """Return the answers to a line that no engine has got as a whole."""
        lines = []
        messages, is_batch = piece.read()
        for message in messages:
            identifier = _id(message)
            if identifier is not None and isinstance(message.get("method"), str):
                lines.append(_failure(identifier, reason, may_have_run=False))
        return _array(lines) if is_batch and lines else b"".join(lines)

    def refuse_open(self, reason: str) -> bytes:
        """Return the answers to the requests that were to be repeated, because there is no engine."""
        refused, self._open = self._open, {}
        for request in refused.values():
            self._forget(request.line)
        return b"".join(_failure(each, reason, may_have_run=False) for each in refused)

    def opening(self) -> bytes:
        """Return the lines that bring a new engine to the state of the lost one, and the requests that are repeated.

        The answers to the former are not passed on.
        """
        waiting = [request.line for request in self._open.values()]
        first = self._settings.get((INITIALIZE, ""))
        if first is None:
            return b"".join(waiting)
        lines = [
            first if first in waiting else self._again(first),
            self._initialized,
            *(self._again(line) for line in self._settings.values() if line != first and line not in waiting),
            *(line for line in waiting if line != first),
        ]
        return b"".join(lines)

    def _again(self, line: bytes) -> bytes:
        """Return a request under a new id, so that no request of the client can have the same."""
        self._repetitions += 1
        repeated = f"{AGAIN}{self._repetitions}"
        try:
            again = _line({**json.loads(line), "id": repeated})
        except (ValueError, RecursionError):  # the lost engine has refused it
            return b""
        self._repeated.add(repeated)
        return again


def _id(message: Json) -> Id | None:
    return _as_id(message.get("id"))


def _as_id(value: object) -> Id | None:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _member(message: Json, key: str) -> Any:
    params = message.get("params")
    return params.get(key) if isinstance(params, dict) else None


def _array(lines: list[bytes]) -> bytes:
    """Join the responses to a batch."""
    return b"[%b]\n" % b",".join(line[:-1] for line in lines)


def _line(message: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def _failure(identifier: Id, reason: str, *, may_have_run: bool = True) -> bytes:
    return _line({"id": identifier, "error": {"code": LOST, "message": reason, "data": {"mayHaveRun": may_have_run}}})


def _end_of_stream(identifier: Id) -> bytes:
    """Answer a subscription as a server that ends it gracefully, so that the client subscribes again."""
    meta = {SUBSCRIPTION_KEY: identifier}
    return _line({"id": identifier, "result": {"resultType": "complete", "_meta": meta}})
