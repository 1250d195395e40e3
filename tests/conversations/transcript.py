"""Record of a conversation between all sides, in order, with its faults.

Every message is printed, so that pytest shows it when a test fails. Faults are collected, because they are found
while search-mcp runs, which would catch an exception; the next verb of the test raises them.
"""

import json
import logging
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from mcp_types import methods
from pydantic import ValidationError
from wire_log import SKILL_METHODS, judge_skill_request

from conversations.words import HOP_KEYS, LEGACY, MODERN, SERVER_INFO, Json, encode

_Members = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class Said:
    """One message, as bytes and decoded."""

    line: bytes

    def __repr__(self) -> str:
        return self.line.decode(errors="replace").rstrip()

    @cached_property
    def body(self) -> Any:
        return json.loads(self.line)

    @property
    def id(self) -> int | str | None:
        identifier: int | str | None = self.body.get("id")
        return identifier

    @property
    def method(self) -> str | None:
        method: str | None = self.body.get("method")
        return method

    @property
    def params(self) -> Json:
        params: Json = self.body.get("params", {})
        return params

    @property
    def meta(self) -> Json:
        meta: Json = self.params.get("_meta", {})
        return meta

    @cached_property
    def result(self) -> bytes | None:
        raw = _Members.decode(self.line).get("result")
        return None if raw is None else bytes(raw)


def members(result: bytes) -> list[tuple[str, object]]:
    """Return the members of a result in order, byte for byte, except those that each hop sets itself."""
    kept: list[tuple[str, object]] = []
    for key, raw in _Members.decode(result).items():
        if key == "_meta":
            meta = [(name, bytes(value)) for name, value in _Members.decode(raw).items() if name != SERVER_INFO]
            kept += [(key, meta)] if meta else []
        elif key not in HOP_KEYS:
            kept.append((key, bytes(raw)))
    return kept


class Transcript(logging.Handler):
    """Record of one conversation; as a log handler it also collects the bugs that search-mcp logs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.faults: list[str] = []
        self.warnings: list[str] = []

    def say(self, who: str, sign: str, line: bytes) -> None:
        indent = "" if who == "front" else "        "
        print(f"{indent}{who} {sign} {line.decode(errors='replace').rstrip():.3000}")

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self.faults.append(logging.Formatter().format(record))
        elif record.levelno >= logging.WARNING:
            self.warnings.append(record.getMessage())
            print(f"        = {record.getMessage()}")


class BackendLog:
    """Judge of search-mcp's messages to one process of a backend, by the official types of its revision."""

    def __init__(self, revision: str) -> None:
        self._revision = revision
        self._in_flight: dict[int | str, str] = {}
        self._asked: dict[int | str, str] = {}

    @property
    def revision(self) -> str:
        """The revision that is judged by."""
        return self._revision

    def agrees_on(self, revision: str) -> None:
        """Judge by the negotiated revision from now on."""
        self._revision = revision

    def heard(self, said: Said) -> None:
        """Judge a message of search-mcp.

        Raises:
            AssertionError: no client may send it to a server of this revision, or not now.
        """
        try:
            self._judge(said)
        except (KeyError, ValueError, ValidationError) as exc:
            raise AssertionError(f"towards a {self._revision} backend: {exc!r}\n{said!r}") from exc

    def sent(self, body: Any) -> None:
        """Record a message of the scripted backend."""
        if "method" not in body:
            self._in_flight.pop(body["id"], None)
        elif "id" in body:
            self._asked[body["id"]] = body["method"]
        elif body["method"] == "notifications/cancelled":
            self._asked.pop(body["params"]["requestId"], None)

    def _judge(self, said: Said) -> None:
        body = said.body
        assert body["jsonrpc"] == "2.0"
        if "method" not in body:
            asked = self._asked.pop(body["id"], None)
            assert asked is not None, f"an answer to no request: {said!r}"
            assert self._revision in LEGACY, f"a modern client writes no responses: {said!r}"
            if "result" in body and not asked.startswith("tasks/") and "task" not in body["result"]:
                methods.validate_client_result(asked, self._revision, body["result"])
            return
        method, params = body["method"], body.get("params")
        if "id" in body:
            assert body["id"] not in self._in_flight, f"the id is in use: {said!r}"
            self._in_flight[body["id"]] = method
            if method in SKILL_METHODS:
                judge_skill_request(method, params, is_modern=self._revision == MODERN)
            elif not method.startswith("tasks/"):  # the official types leave tasks out
                methods.validate_client_request(method, self._spoken(method, params), params)
            return
        if method != "notifications/tasks/status":  # likewise
            methods.validate_client_notification(method, self._revision, params)
        if method == "notifications/cancelled":
            gone = self._in_flight.pop(params["requestId"], None)
            # "Cancellation notifications MUST only reference requests that [...] are believed to still be in-progress"
            assert gone is not None, f"a cancellation of no open request: {said!r}"
        if method == "notifications/progress":
            assert self._asked, f"progress on no request: {said!r}"

    def _spoken(self, method: str, params: Json) -> str:
        if method == "initialize":
            version = params["protocolVersion"]
            assert version in LEGACY, f"initialize with {version!r}"
            return str(version)
        return MODERN if method == "server/discover" else self._revision


__all__ = ["BackendLog", "Said", "Transcript", "encode", "members"]
