"""The result of a tool as parts for a person. Pure.

Decides how each kind of content is described, and when structured content is shown.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search_mcp.cli.cleaning import one_line
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields, Raw

NO_MESSAGE = "the tool failed without a message"
NO_CONTENT = "The tool returned no content."


@dataclass(frozen=True)
class Content:
    """One part of a result: a text, or binary data with its kind and size as the text."""

    text: str
    data: bytes | None = None
    kind: str = ""
    """Of data: `image`, `audio`, or `resource` with its URI."""
    mime_type: str = ""


@dataclass(frozen=True)
class ToolResult:
    """A result of a tool, decoded."""

    parts: Sequence[Content]
    structured: Raw | None
    is_error: bool

    @property
    def pieces(self) -> list[bytes]:
        """The binary data."""
        return [part.data for part in self.parts if part.data is not None]

    @property
    def shown_structured(self) -> Raw | None:
        """The structured content, where it is not repeated by a text."""
        return self.structured if len(self.pieces) == len(self.parts) and not self.is_error else None


def read_result(body: Raw) -> ToolResult:
    """Read the body of a result."""
    fields = payload.object_or_empty(body)
    is_error = payload.value(fields.get("isError", Raw(b"false"))) is True
    return ToolResult(_contents(fields), fields.get("structuredContent"), is_error)


def _contents(result: Fields) -> list[Content]:
    blocks = payload.value(result.get("content", Raw(b"[]")))
    return [_content(block) for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []


def _content(block: Mapping[str, Any]) -> Content:
    match block:
        case {"type": "text", "text": str(text)}:
            return Content(text)
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            return _binary(kind, block.get("mimeType"), data)
        case {"type": "resource", "resource": {"text": str(text)}}:
            return Content(text)
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            return _binary(f"resource {resource.get('uri', '')}", resource.get("mimeType"), data)
        case {"type": "resource_link", "uri": uri}:
            return Content(f"[resource {uri}{_in_brackets(block.get('title') or block.get('name'))}]")
    return Content(payload.encode_text(block))


def _binary(what: str, mime_type: object, data: str) -> Content:
    try:
        decoded = base64.b64decode(data)
    except (binascii.Error, ValueError):
        return Content(f"[{what}: its data is not base64]")
    about = one_line(f"{what}{_in_brackets(mime_type)}")
    return Content(f"{about}, {size_of(decoded)}", decoded, one_line(what), one_line(str(mime_type or "")))


def _in_brackets(detail: object) -> str:
    return f" ({detail})" if detail else ""


def size_of(data: bytes) -> str:
    """Write the size of data with its unit."""
    count = len(data)
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
