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
from search_mcp.wire.structs import EMPTY, Fields, Raw


def joined(called: Sequence[str], outcomes: Sequence[Outcome]) -> Result:
    """Join outcomes, each under a heading with the name of what was called; an error only if none succeeded."""
    mark = secrets.token_hex(3)
    parts = [_text(f"Each heading below has the mark [{mark}].")]
    for number, (name, outcome) in enumerate(zip(called, outcomes, strict=True), 1):
        parts += _blocks(f"{number}. {name} [{mark}]", outcome)
    body = {"content": Raw(b"[" + b",".join(parts) + b"]")}
    if not any(map(_is_good, outcomes)):
        body["isError"] = Raw(b"true")
    return Result(body)


def _blocks(heading: str, outcome: Outcome) -> Sequence[bytes]:
    """Write an outcome as content: a heading, then its own blocks, byte for byte."""
    if isinstance(outcome, WireError):
        alone = "; call this tool alone, so that the client can act on it"
        return [_text(f"{heading} failed: {outcome}{alone if outcome.code in ACTED_ON_BY_CLIENTS else ''}")]
    if not isinstance(outcome, Result) or outcome.type != "complete":
        return [_text(f"{heading} failed: it became a task, which was cancelled; call this tool alone")]
    body = outcome.fields()
    parts = [_text(f"{heading}:" if _is_good(outcome) else f"{heading} failed:"), _inner(body)]
    structured = body.get(names.STRUCTURED)
    # "a tool that returns structured content SHOULD also return the serialized JSON in a TextContent block"
    if structured is not None and not says_the_same(structured, texts_of(body)):
        parts.append(_text(bytes(structured).decode("utf-8", "replace")))
    return [each for each in parts if each]


def _is_good(outcome: Outcome) -> bool:
    if not isinstance(outcome, Result) or outcome.type != "complete":
        return False
    return bytes(outcome.fields().get("isError", EMPTY)) != b"true"


def _inner(body: Fields) -> bytes:
    """Return the elements of a result's content as they are written."""
    content = bytes(body.get("content", b"[]")).strip()
    return content[1:-1].strip() if content.startswith(b"[") else b""


def _text(text: str) -> bytes:
    return payload.encode_bytes({"type": "text", "text": text})
