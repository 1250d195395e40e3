"""Our own tools: what a model uses to find, read and reach all the others.

Decides their definitions and their answers: text for the model, and the same as `structuredContent`.
They have no dot in their names, so no backend's tool can be mistaken for one. `call_tool` is only
defined here; carrying it out is the router's.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from search_mcp import jsonrpc
from search_mcp.catalog import OWN_NAMES, Catalog, Item
from search_mcp.jsonrpc import Fields, Raw
from search_mcp.model import Audience, Status
from search_mcp.search import Document, Index
from search_mcp.suggest import nearest
from search_mcp.views import ShownNames, brief, full_definition, signature

SEARCH, DESCRIBE, CALL, LIST_SERVERS = OWN_NAMES
NAMES = frozenset(OWN_NAMES)

DEFAULT_LIMIT = 5
MOST_RESULTS = 50
ANSWER_LENGTH = 20_000
"""Characters an answer may have; what does not fit is left out and said to be."""
MOST_DESCRIBED = 20
_DETAILS = ("signature", "full", "name")

_READS = {"readOnlyHint": True, "openWorldHint": False}


def _definition(name: str, description: str, properties: Mapping[str, Any], required: Sequence[str] = ()) -> Fields:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    body: dict[str, Any] = {"name": name, "description": description, "inputSchema": schema}
    if name != CALL:
        body["annotations"] = _READS
    return {key: jsonrpc.encode(value) for key, value in body.items()}


DEFINITIONS: Mapping[str, Fields] = {
    SEARCH: _definition(
        SEARCH,
        "Find tools of all connected servers by what they do. Gives names, descriptions and parameters, best first.",
        {
            "query": {"type": "string", "description": "What the tool should do, in a few words"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": DEFAULT_LIMIT},
            "server": {"type": "string", "description": "Only tools of this server"},
            "detail": {
                "type": "string",
                "enum": _DETAILS,
                "default": "signature",
                "description": "full: schemas",
            },
        },
        ("query",),
    ),
    DESCRIBE: _definition(
        DESCRIBE,
        "Give the full definitions of tools: parameters with descriptions, output schema, annotations.",
        {"names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_DESCRIBED}},
        ("names",),
    ),
    CALL: _definition(
        CALL,
        "Call any tool by its name, listed or not.",
        {"name": {"type": "string"}, "arguments": {"type": "object", "properties": {}, "additionalProperties": True}},
        ("name",),
    ),
    LIST_SERVERS: _definition(LIST_SERVERS, "Show the connected servers: state, number of tools, last error.", {}),
}


def definitions(listing: Literal["light", "full", "search"]) -> list[Fields]:
    """Our tools as a list holds them; `call_tool` is shown where nothing else can be called by name."""
    return [fields for name, fields in DEFINITIONS.items() if name != CALL or listing == "search"]


class ArgumentError(Exception):
    """A model gave one of our tools arguments it does not take; the text says what to give instead."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the configuration says of a server, for search."""

    description: str
    tags: tuple[str, ...]


class OwnTools:
    """Our tools over one catalogue."""

    def __init__(
        self,
        catalog: Catalog,
        facts: Mapping[str, ServerFacts],
        statuses: Callable[[], Iterable[Status]],
        description_length: int,
    ) -> None:
        self._catalog, self._facts, self._statuses = catalog, facts, statuses
        self._description_length = description_length
        self._index = Index()
        self._indexed_version = -1
        self._indexed: dict[str, list[Item]] = {}
        self._tools: Mapping[str, Callable[[Mapping[str, Any], ShownNames, Audience], dict[str, Any]]] = {
            SEARCH: self._search,
            DESCRIBE: self._describe,
            LIST_SERVERS: self._list_servers,
        }

    def run(self, name: str, arguments: Mapping[str, Any], audience: Audience) -> Raw:
        """Carry out one of our tools but `call_tool`; wrong arguments are a result a model can act on."""
        shown = ShownNames(self._catalog.tools(), audience.profile)
        try:
            structured = self._tools[name](arguments, shown, audience)
        except ArgumentError as exc:
            return jsonrpc.encode({"content": [{"type": "text", "text": str(exc)}], "isError": True})
        text = structured.pop("text")
        return jsonrpc.encode({"content": [{"type": "text", "text": text}], "structuredContent": structured})

    # search_tools

    def _search(self, arguments: Mapping[str, Any], shown: ShownNames, audience: Audience) -> dict[str, Any]:
        query = _argument(arguments, "query", str, "")
        limit = max(1, min(_argument(arguments, "limit", int, DEFAULT_LIMIT), MOST_RESULTS))
        detail = _argument(arguments, "detail", str, "signature")
        if detail not in _DETAILS:
            raise ArgumentError(f"detail must be one of {', '.join(_DETAILS)}")
        server = _argument(arguments, "server", str, "") or None
        servers = [status.server for status in self._statuses()]
        if server is not None and server not in servers:
            raise ArgumentError(f"There is no server {server!r}. Servers: {', '.join(servers) or 'none'}")
        found = self.found(query, limit, server)
        if not found:
            return self._nothing_found(query, server, servers, shown)
        results = [self._result(item, shown, detail, audience) for item in found]
        kept = _within(results)
        text = "\n".join(_result_text(position, result) for position, result in enumerate(kept, 1))
        body: dict[str, Any] = {"results": kept}
        if len(kept) < len(results):
            body["leftOut"] = len(results) - len(kept)
            text += f"\n{body['leftOut']} more left out: too long. Narrow the query, or use {DESCRIBE}."
        return {**body, "text": text}

    def found(self, query: str, limit: int, server: str | None) -> list[Item]:
        """Rank tools for a query; an empty one lists them in order."""
        items = self._catalog.tools()
        if not query.strip():
            return [item for item in items if server in (None, item.server)][:limit]
        self._refresh_index()
        by_name = {item.name: item for item in items}
        return [by_name[hit.name] for hit in self._index.search(query, limit, server=server)]

    def _refresh_index(self) -> None:
        if self._indexed_version == self._catalog.version:
            return
        self._indexed_version = self._catalog.version
        by_server: dict[str, list[Item]] = {}
        for item in self._catalog.tools():
            by_server.setdefault(item.server, []).append(item)
        for server in self._indexed.keys() - by_server.keys():
            self._index.remove(server)
        titles = {status.server: status.offer.title for status in self._statuses() if status.offer is not None}
        for server, items in by_server.items():
            if self._indexed.get(server) != items:
                self._index.add(server, [self._document(item, titles.get(server, "")) for item in items])
        self._indexed = by_server

    def _document(self, item: Item, title: str) -> Document:
        facts = self._facts[item.server]
        return Document(
            name=item.name,
            server=item.server,
            tool=item.own,
            description=item.description,
            input_schema=item.input_schema,
            server_title=title,
            server_description=facts.description,
            tags=facts.tags,
        )

    def _result(self, item: Item, shown: ShownNames, detail: str, audience: Audience) -> dict[str, Any]:
        name = shown[item]
        if detail == "name":
            return {"name": name}
        result: dict[str, Any] = {"name": name, "description": brief(item.description, self._description_length)}
        schema = item.fields["inputSchema"]
        if detail == "full" and len(memoryview(schema)) <= ANSWER_LENGTH:
            return {**result, "inputSchema": schema}
        return {**result, "signature": signature(name, item.input_schema)}

    def _nothing_found(
        self, query: str, server: str | None, servers: Sequence[str], shown: ShownNames
    ) -> dict[str, Any]:
        names = [shown[item] for item in self._catalog.tools() if server in (None, item.server)]
        close = nearest(query, names)
        text = f"No tool matches {query[:200]!r}." if query.strip() else "There are no tools."
        if close:
            text += f" Nearest names: {', '.join(close)}."
        text += f" Servers: {', '.join(servers) or 'none'}."
        return {"results": [], "nearest": close, "servers": servers, "text": text}

    # describe_tools

    def _describe(self, arguments: Mapping[str, Any], shown: ShownNames, audience: Audience) -> dict[str, Any]:
        names = arguments.get("names")
        if isinstance(names, str):
            names = [names]
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise ArgumentError("names must be a list of tool names")
        described: list[Fields] = []
        unknown: list[dict[str, Any]] = []
        items = self._catalog.tools()
        for name in names[:MOST_DESCRIBED]:
            item = shown.find(name) or items.find(name)
            if item is not None:
                described.append(full_definition(item, shown[item], audience))
            elif name in DEFINITIONS:
                described.append(DEFINITIONS[name])
            else:
                unknown.append({"name": name, "suggestions": nearest(name, items.names())})
        body: dict[str, Any] = {"tools": described, "unknown": unknown}
        if len(names) > MOST_DESCRIBED:
            body["leftOut"] = names[MOST_DESCRIBED:]
        return {**body, "text": bytes(jsonrpc.encode(body)).decode()}

    # list_servers

    def _list_servers(self, _arguments: Mapping[str, Any], _shown: ShownNames, _audience: Audience) -> dict[str, Any]:
        servers: list[dict[str, Any]] = []
        tools = [item.server for item in self._catalog.tools()]
        for status in self._statuses():
            server: dict[str, Any] = {"name": status.server, "state": status.state, "tools": tools.count(status.server)}
            if self._facts[status.server].description:
                server["description"] = self._facts[status.server].description
            if status.reason is not None:
                server["lastError"] = status.reason
            servers.append(server)
        lines = [
            f"{server['name']}: {server['state']}, {server['tools']} tools"
            + (f" ({server['lastError']})" if "lastError" in server else "")
            for server in servers
        ]
        return {"servers": servers, "text": "\n".join(lines) or "No servers are configured."}


def _argument(arguments: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = arguments.get(name)
    if value is None:
        return default
    if kind is int and isinstance(value, float | str):
        # Models write 5.0 and "5"; both mean 5.
        try:
            return int(float(value))
        except (ValueError, OverflowError):
            raise ArgumentError(f"{name} must be a whole number") from None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ArgumentError(f"{name} must be a {'whole number' if kind is int else 'string'}")
    return value


def _within(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep as many results as an answer may hold, at least one."""
    kept: list[dict[str, Any]] = []
    size = 0
    for result in results:
        size += len(jsonrpc.encode_bytes(result))
        if kept and size > ANSWER_LENGTH:
            break
        kept.append(result)
    return kept


def _result_text(position: int, result: Mapping[str, Any]) -> str:
    lines = [f"{position}. {result.get('signature', result['name'])}"]
    if result.get("description"):
        lines.append(f"   {result['description']}")
    if "inputSchema" in result:
        lines.append(f"   inputSchema: {bytes(result['inputSchema']).decode()}")
    return "\n".join(lines)
