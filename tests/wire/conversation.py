"""A peer whose other end is a script, and JSON-RPC messages as dictionaries."""

import json
from collections.abc import Callable
from typing import Any

from search_mcp.wire.framing import Line, LineDecoder
from search_mcp.wire.inflight import Answer, Request
from search_mcp.wire.messages import Invalid
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import ErrorObject, Raw, RequestId, UnsetType

LIMIT = 4096
OK = Raw(b'{"ok":true}')


class Owner:
    """A receiver that records the events of a peer and runs the callbacks of a test."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.cancelled: list[tuple[RequestId, Raw | None]] = []
        self.notified: list[tuple[str, Raw | UnsetType]] = []
        self.invalid: list[Invalid] = []
        self.act: Callable[[Request], None] = lambda request: None
        self.take_note: Callable[[str], None] = lambda method: None
        self.excuse: Callable[[Invalid], ErrorObject | None] = lambda invalid: ErrorObject(invalid.code, "?")

    def on_request(self, request: Request) -> None:
        self.requests.append(request)
        request.cancel = lambda reason: self.cancelled.append((request.id, reason))
        self.act(request)

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        self.notified.append((method, params))
        self.take_note(method)

    def on_invalid(self, invalid: Invalid, line: Line) -> ErrorObject | None:
        self.invalid.append(invalid)
        return self.excuse(invalid)


class Conversation:
    """A peer, the data it wrote, and its owner."""

    def __init__(self) -> None:
        self.owner = Owner()
        self.written = b""
        self.peer = Peer("them", self.write, self.owner, LIMIT)

    def write(self, line: bytes) -> None:
        self.written += line

    def hears(self, *messages: object) -> None:
        """Feed messages to the peer: bytes unchanged, other values as a line of JSON."""
        for message in messages:
            self.peer.feed(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    def said(self) -> list[Any]:
        """Return the messages written since the last call."""
        written, self.written = self.written, b""
        return [json.loads(line) for line in LineDecoder(LIMIT).feed(written) if isinstance(line, bytes)]

    def asks(self, method: str = "m") -> tuple[int, list[Answer]]:
        """Send a request; return its id and the list that will receive its answers."""
        answers: list[Answer] = []
        return self.peer.request(method, None, answers.append), answers


def call(message_id: object, method: str = "m", **members: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": message_id, "method": method, **members}


def news(method: str, **members: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, **members}


def result(message_id: object, body: object = "ok") -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": message_id, "result": {"ok": True} if body == "ok" else body}


def error(message_id: object, code: int, message: str, **members: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": message, **members}}
