"""The open requests of a client, and its `initialize`: what a relay needs after the engine is lost.

Decides how open requests are answered then, and how the next engine is opened. Words of the protocol are repeated
here, because a relay loads no dialect. Standard library only; no I/O.
"""

import contextlib
import json
from typing import Any

from search_mcp.engine.lines import Json, messages

LOST = -32000
INITIALIZE = "initialize"
INITIALIZED = "notifications/initialized"
LISTEN = "subscriptions/listen"
CANCELLED = "notifications/cancelled"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
LISTS = ("tools", "prompts", "resources")
REPEATABLE = {INITIALIZE, "server/discover", "resources/templates/list", *(f"{each}/list" for each in LISTS)}
"""Requests that may be carried out twice. A client sends them once; without their answers, it has no tools."""
MOST_REPEATED = 3
"""Engines that may be lost in turn before such a request gets an error: the fault may be in the request."""


class OpenRequests:
    """The requests of a client that are not answered yet."""

    def __init__(self) -> None:
        self._methods: dict[object, str] = {}  # by id
        self._initialize = b""  # its line; empty while no engine has it
        self._repeatable: dict[object, bytes] = {}  # the lines of open requests that may be repeated, by id
        self._repeated = 0  # since the last answer

    def __repr__(self) -> str:
        return f"<OpenRequests {len(self._methods)}>"

    def asked(self, line: bytes) -> None:
        """Record a line of the client."""
        together = messages(line)
        for message in together:
            method, identifier = message.get("method"), _as_id(message.get("id"))
            if not isinstance(method, str):
                continue  # an answer to a question
            if identifier is not None:
                self._methods[identifier] = method
                if method in REPEATABLE and len(together) == 1:
                    self._repeatable[identifier] = line
                if method == INITIALIZE:
                    self._initialize = line
            elif method == CANCELLED and isinstance(params := message.get("params"), dict):
                self._close(_as_id(params.get("requestId")))

    def answered(self, line: bytes) -> None:
        """Record a line of the engine."""
        for message in messages(line):
            if "method" not in message:
                self._close(_as_id(message.get("id")))
                self._repeated = 0

    def _close(self, identifier: object) -> None:
        self._methods.pop(identifier, None)
        self._repeatable.pop(identifier, None)

    def repeat(self) -> list[bytes]:
        """Close the open requests that may be repeated, without an answer; return their lines, for the next engine."""
        if not self._repeatable or self._repeated == MOST_REPEATED:
            return []
        self._repeated += 1
        self._forget_opening()
        repeated, self._repeatable = self._repeatable, {}
        self._methods = {each: method for each, method in self._methods.items() if each not in repeated}
        return list(repeated.values())

    def _forget_opening(self) -> None:
        if INITIALIZE in self._methods.values():
            self._initialize = b""

    def lose(self, reason: str) -> bytes:
        """Close all open requests; return the answers to them."""
        self._forget_opening()
        lost, self._methods, self._repeatable = self._methods, {}, {}
        return b"".join(
            _end_of_stream(each) if method == LISTEN else _failure(each, reason, may_have_run=True)
            for each, method in lost.items()
        )

    def opening(self) -> bytes:
        """Return the lines that open another engine as the client has opened the lost one, if it has."""
        return self._initialize + _line({"method": INITIALIZED}) if self._initialize else b""


def refusal(line: bytes, reason: str, *, may_have_run: bool) -> bytes:
    """Return errors for the requests in a line that no engine has received, or none completely."""
    requests = [_as_id(message.get("id")) for message in messages(line) if "method" in message]
    return b"".join(_failure(each, reason, may_have_run=may_have_run) for each in requests if each is not None)


def changes(answer: bytes) -> bytes:
    """Return a notification for each list for which an answer to `initialize` declares `listChanged`."""
    capabilities: Json = {}
    with contextlib.suppress(ValueError, KeyError):  # it was refused
        capabilities = json.loads(answer)["result"]["capabilities"]
    declared = (each for each in LISTS if capabilities.get(each, {}).get("listChanged"))
    return b"".join(_line({"method": f"notifications/{each}/list_changed"}) for each in declared)


def _as_id(value: Any) -> str | int | None:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _line(message: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def _failure(identifier: object, reason: str, *, may_have_run: bool) -> bytes:
    return _line({"id": identifier, "error": {"code": LOST, "message": reason, "data": {"mayHaveRun": may_have_run}}})


def _end_of_stream(identifier: object) -> bytes:
    """End a subscription as a server does that stops gracefully, so that the client subscribes again."""
    meta = {SUBSCRIPTION_KEY: identifier}
    return _line({"id": identifier, "result": {"resultType": "complete", "_meta": meta}})
