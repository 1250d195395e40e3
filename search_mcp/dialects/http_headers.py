"""The HTTP headers that a message needs, and what the transport has to know of it.

Source: docs/specification/2026-07-28/basic/transports/streamable-http.mdx, and docs/specification/2025-11-25/basic/
transports.mdx for the legacy era.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping

import anyio

from search_mcp.catalog import list_limits
from search_mcp.dialects import names
from search_mcp.model.names import Action
from search_mcp.model.sentences import cut
from search_mcp.model.servers import ServerList
from search_mcp.wire import messages, payload
from search_mcp.wire.messages import Message
from search_mcp.wire.payload import SMALL_BYTES
from search_mcp.wire.structs import UNSET, Fields, Raw, Struct, replace

METHOD, NAME, PARAMETER, VERSION = "Mcp-Method", "Mcp-Name", "Mcp-Param-", "MCP-Protocol-Version"
SESSION = "Mcp-Session-Id"
ANNOTATION = "x-mcp-header"
_NAMED = {names.METHOD[action] for action in (Action.CALL_TOOL, Action.GET_PROMPT, Action.READ_RESOURCE)}
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, section 5.6.2
_INTEGER = re.compile(rb"-?[0-9]+")
_PRIMITIVE = frozenset({"string", "integer", "boolean"})
MOST_ANNOTATIONS = 64
"""Most annotated parameters of a tool: each is a header, and servers accept about a hundred headers."""
_MODERN_ERRORS = frozenset({names.HEADER_MISMATCH, names.MISSING_CAPABILITY, names.UNSUPPORTED_VERSION})


class Envelope(Struct, frozen=True):
    """What a transport has to know of one message that it sends."""

    headers: dict[str, str]
    request_id: int | None = None
    """The id of a request; `None` for a notification and a response."""
    cancels: int | None = None
    """The request that a notification cancels."""
    is_modern: bool = False
    opens: bool = False
    """Whether it is the request that opens a session."""
    confirms: bool = False
    """Whether it is the notification that a session is open."""
    probes: bool = False
    """Whether it is the request that finds out the era of a server."""
    follows_schema: bool = False
    """Whether its headers depend on a schema that the server listed."""
    stays_open: bool = False
    """Whether its answer is a stream that may stay open for ever."""


class HttpHeaders:
    """The headers for the messages of one connection; `schema` returns the input schema of a tool, if it is known."""

    def __init__(self, schema: Callable[[str], Raw | None]) -> None:
        self._schema = schema
        self._revision: str | None = None
        self._is_modern = False

    def envelope(self, line: bytes) -> Envelope:
        """Read a message that is about to be sent."""
        message = messages.decode(line)
        assert isinstance(message, Message), "it was encoded here"
        method = message.method
        if method is UNSET:
            return Envelope(self.common())
        params = message.params if isinstance(message.params, Raw) else None
        members = payload.members(params, names.META, "name", "uri", "arguments", "requestId")
        meta = payload.members(members.get(names.META), names.VERSION_KEY)
        version = payload.string(meta.get(names.VERSION_KEY))
        request_id = message.id if isinstance(message.id, int) else None
        if version is not None:
            self._revision, self._is_modern = version, True
        elif method == names.INITIALIZE:
            self._revision, self._is_modern = None, False
        headers = self.common()
        if self._is_modern:
            headers |= self._of_request(method, members)
        cancelled = payload.request_id(members.get("requestId")) if method == names.CANCELLED else None
        return Envelope(
            headers,
            request_id,
            cancelled if isinstance(cancelled, int) else None,
            self._is_modern,
            opens=method == names.INITIALIZE,
            confirms=method == names.INITIALIZED,
            probes=method == names.DISCOVER,
            follows_schema=self._is_modern and method == names.TOOLS_CALL,
            stays_open=method == names.LISTEN,
        )

    def common(self) -> dict[str, str]:
        """Return the headers of every message."""
        # "the client MUST include the `MCP-Protocol-Version: <protocol-version>` HTTP header on all subsequent
        # requests"
        return {VERSION: self._revision} if self._revision is not None else {}

    def on_opened(self, line: bytes) -> None:
        """Read the answer to the request that opens a session: the negotiated revision goes into the headers."""
        message = messages.decode(line)
        if isinstance(message, Message) and isinstance(message.result, Raw):
            version = payload.string(payload.members(message.result, "protocolVersion").get("protocolVersion"))
            if version is not None and _PLAIN.fullmatch(version):
                self._revision = version

    def _of_request(self, method: str, members: Fields) -> dict[str, str]:
        # "`Mcp-Method`: `method`, all requests; `Mcp-Name`: `params.name` or `params.uri`, `tools/call`,
        # `resources/read`, `prompts/get` requests"
        headers = {METHOD: method}
        if method not in _NAMED:
            return headers
        name = payload.string(members.get("uri" if method == names.METHOD[Action.READ_RESOURCE] else "name"))
        if name is None:
            return headers
        headers[NAME] = encoded(name)
        schema = self._schema(name) if method == names.TOOLS_CALL else None
        if schema is not None and ANNOTATION.encode() in bytes(schema):
            try:
                annotated = parameter_headers(schema)
            except ValueError:
                return headers  # the tool is not shown to clients
            headers |= _of_arguments(annotated, members.get("arguments"))
        return headers


def is_modern_error(code: int, status: int) -> bool:
    """Return whether an error in an HTTP response shows that the server is modern."""
    # "modern servers also use `400` for `UnsupportedProtocolVersionError`, `MissingRequiredClientCapabilityError`,
    # and header-validation failures"; "If the server does not implement the requested RPC method, it MUST respond with
    # `404 Not Found` and a JSON-RPC error with code `-32601`"
    return code in _MODERN_ERRORS or (status == 404 and code == messages.METHOD_NOT_FOUND)


def is_outdated(code: int, envelope: Envelope) -> bool:
    """Return whether a server rejects a call because the schema of its tool is not the one that it listed."""
    # "If the server rejects a request with a `HeaderMismatch` error because required `Mcp-Param-*` headers are missing
    # or do not match the body, the client SHOULD call `tools/list` to check for changes to the tool's `inputSchema`,
    # then retry the original request with the appropriate headers."
    return code == names.HEADER_MISMATCH and envelope.follows_schema


def is_revision_rejected(code: int, envelope: Envelope) -> bool:
    """Return whether a server does not speak the revision of its connection any more."""
    return code == names.UNSUPPORTED_VERSION and envelope.is_modern and not envelope.probes


async def without_invalid(tools: ServerList) -> ServerList:
    """Leave the tools out whose annotations break the rules, with a remark for each; others run between the tools."""
    # "Clients using the Streamable HTTP transport MUST reject tool definitions where any `x-mcp-header` value violates
    # these constraints. [...] the client MUST exclude the invalid tool from the result of `tools/list`."
    kept, remarks = [], []
    for entry in tools.entries:
        schema = entry.fields.get("inputSchema")
        if schema is not None and ANNOTATION.encode() in bytes(schema):
            await anyio.lowlevel.checkpoint()
            try:
                parameter_headers(schema)
            except ValueError as exc:
                remarks.append(f"{cut(entry.key)!r}: {exc}")
                continue
        kept.append(entry)
    if not remarks:
        return tools
    return replace(tools, entries=tuple(kept), rejected=(*tools.rejected, *remarks)[: list_limits.MOST_REMARKS])


def encoded(value: str) -> str:
    """Encode a value for a header."""
    is_sentinel = value.startswith("=?base64?") and value.endswith("?=")
    # "contains non-ASCII characters, control characters, or has leading/trailing whitespace [...] clients MUST use
    # Base64 encoding"; "clients MUST also Base64-encode any plain-ASCII value that matches the sentinel pattern"
    if not value or (_PLAIN.fullmatch(value) and not is_sentinel):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="


def parameter_headers(schema: Raw) -> dict[str, tuple[str, ...]]:
    """Return the annotated parameters of a tool: by name of the header, the path of the property.

    Raises:
        ValueError: an annotation breaks the rules, so that the tool must not be listed.
    """
    if len(schema) > SMALL_BYTES:
        raise ValueError(f"its inputSchema with {ANNOTATION} has more than {SMALL_BYTES:,} bytes")
    found: dict[str, tuple[str, ...]] = {}
    lower_names: set[str] = set()
    for name, path, kind in _annotated(payload.value(schema), (), is_reachable=True):
        if not path:
            raise ValueError(f"{ANNOTATION} is at a place that is not reachable through properties only")
        place = repr(cut(".".join(path)))
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{ANNOTATION} of {place} is not the name of a header")
        if kind not in _PRIMITIVE:
            raise ValueError(f"{ANNOTATION} of {place}, whose type is not string, integer or boolean")
        # "MUST be case-insensitively unique"
        if name.lower() in lower_names:
            raise ValueError(f"{ANNOTATION} {cut(name)!r} is there twice")
        if len(found) == MOST_ANNOTATIONS:
            raise ValueError(f"more than {MOST_ANNOTATIONS} parameters have {ANNOTATION}")
        lower_names.add(name.lower())
        found[name] = path
    return found


def _annotated(
    schema: object, path: tuple[str, ...], *, is_reachable: bool
) -> Iterator[tuple[object, tuple[str, ...], object]]:
    """Yield the annotations of a schema: header, path (empty if not reachable) and type."""
    if isinstance(schema, list):
        for each in schema:
            yield from _annotated(each, (), is_reachable=False)
    if not isinstance(schema, dict):
        return
    if ANNOTATION in schema:
        yield schema[ANNOTATION], path if is_reachable else (), schema.get("type")
    for key, inner in schema.items():
        if key == "properties" and isinstance(inner, dict):
            for name, each in inner.items():
                yield from _annotated(each, (*path, name), is_reachable=is_reachable)
        elif key not in _DATA:
            yield from _annotated(inner, (), is_reachable=False)


_DATA = frozenset({ANNOTATION, "default", "const", "enum", "examples"})
"""Keys of a schema whose values are data and not schemas."""


def _of_arguments(annotated: Mapping[str, tuple[str, ...]], arguments: Raw | None) -> dict[str, str]:
    """Return the headers for the arguments of a call."""
    headers = {}
    for name, path in annotated.items():
        value = arguments
        for key in path:
            value = payload.members(value, key).get(key)
        text = _text(value)
        if text is not None:
            headers[PARAMETER + name] = encoded(text)
    return headers


def _text(value: Raw | None) -> str | None:
    """Write an argument as text; `None` if no header is sent for it."""
    # "Parameter value is `null`: Client MUST omit the header"
    if value is None:
        return None
    text = bytes(value)
    if text in (b"true", b"false") or _INTEGER.fullmatch(text):
        return text.decode()
    if text.startswith(b'"'):
        return payload.string(value)
    decoded = payload.value(value)
    # "`integer`: Convert to decimal string representation"; JSON may also write one as 42.0 or 4.2e1.
    return str(int(decoded)) if isinstance(decoded, float) and decoded.is_integer() else None
