"""The results of several calls as one.

It has no `structuredContent`: every client shows its model the text where there is nothing else. Each heading has a
mark that no server can know, so that none can write the heading of another server's result.
"""

import secrets
from collections.abc import Sequence

from search_mcp.dialects import names
from search_mcp.model.calls import Outcome, Result
from search_mcp.model.errors import ACTED_ON_BY_CLIENTS
from search_mcp.results.long_results import says_the_same, texts_of
from search_mcp.wire import payload
from search_mcp.wire.errors import WireError
from search_mcp.wire.payload import LARGE_BYTES
from search_mcp.wire.structs import EMPTY, Fields, Raw

_ALONE = "call this tool alone"


class SeveralResults:
    """The results of several calls on their way into one.

    Each is written when it comes, because all of them at once would block the event loop.
    """

    def __init__(self, called: Sequence[str]) -> None:
        """`called`: what is called, in order."""
        self._called, self._mark, self._has_good = called, secrets.token_hex(3), False
        self._blocks: dict[int, Sequence[bytes]] = {}  # by place in `called`

    @property
    def is_whole(self) -> bool:
        return len(self._blocks) == len(self._called)

    def add(self, place: int, outcome: Outcome) -> None:
        """Write the outcome of one call under a heading."""
        heading = f"{place + 1}. {self._called[place]} [{self._mark}]"
        body = _body(outcome)
        if isinstance(body, str):
            self._blocks[place] = [_text(f"{heading} {body}")]
            return
        is_error = bytes(body.get("isError", EMPTY)) == b"true"
        self._has_good = self._has_good or not is_error
        blocks = [_text(f"{heading} failed:" if is_error else f"{heading}:"), _inner(body), _structured(body)]
        self._blocks[place] = [each for each in blocks if each]

    def result(self) -> Result:
        """Return all in order; an error only if none succeeded."""
        parts = [_text(f"Each heading below has the mark [{self._mark}].")]
        for place in range(len(self._called)):
            parts += self._blocks[place]
        body = {"content": Raw(b"[" + b",".join(parts) + b"]")}
        if not self._has_good:
            body["isError"] = Raw(b"true")
        return Result(body)


def _body(outcome: Outcome) -> Fields | str:
    """Return the body of a result to show, or why there is none."""
    if isinstance(outcome, WireError):
        alone = f"; {_ALONE}, so that the client can act on it" if outcome.code in ACTED_ON_BY_CLIENTS else ""
        return f"failed: {outcome}{alone}"
    if not isinstance(outcome, Result) or outcome.type != "complete":
        return f"failed: it became a task, which was cancelled; {_ALONE}"
    if outcome.size > LARGE_BYTES:
        return f"not shown: its result of {outcome.size:,} bytes is too large here; {_ALONE}"
    return outcome.fields()


def _structured(body: Fields) -> bytes:
    """Write the structured content of a result, if its text does not say the same."""
    structured = body.get(names.STRUCTURED)
    # "a tool that returns structured content SHOULD also return the serialized JSON in a TextContent block"
    if structured is None or says_the_same(structured, texts_of(body)):
        return b""
    return _text(bytes(structured).decode("utf-8", "replace"))


def _inner(body: Fields) -> bytes:
    """Return the elements of a result's content as they are written."""
    content = bytes(body.get("content", b"[]")).strip()
    return content[1:-1].strip() if content.startswith(b"[") else b""


def _text(text: str) -> bytes:
    return payload.encode_bytes({"type": "text", "text": text})
