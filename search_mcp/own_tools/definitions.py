"""The definitions of our own tools, as `tools/list` shows them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from search_mcp.catalog.items import OWN_NAMES, READ_RESULT, RESTART, with_result_size
from search_mcp.catalog.profiles import CallTool, Listing
from search_mcp.own_tools.wanted import OTHER_KINDS
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields

SEARCH, DESCRIBE, CALL, CALL_READ_ONLY, LIST_SERVERS = OWN_NAMES
NAMES = frozenset(OWN_NAMES)
CALLING: Mapping[CallTool, Collection[str]] = {
    "all": (CALL, CALL_READ_ONLY),
    "read-only": (CALL_READ_ONLY,),
    "off": (),
}
"""The tools that call by name, for each value of `settings.callTool`."""

DEFAULT_LIMIT = 5
MOST_RESULTS = 50
MOST_PER_CALL = 20
"""Most tools in one call of `describe_tools`, and most entries of `calls`."""
SEARCH_DETAILS = ("signature", "full", "name")
DESCRIPTION_DETAILS = ("compact", "full")

_READS = {"readOnlyHint": True, "openWorldHint": False}
# These two may call a tool with any effect, so a client that gates on `openWorldHint` must gate on them, too.
_CALLS_READERS = {"readOnlyHint": True, "openWorldHint": True}
_CALLS_ANYTHING = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
_RESTARTS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


def _definition(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    required: Sequence[str] = (),
    annotations: Mapping[str, bool] = _READS,
) -> Fields:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    body = {"name": name, "description": description, "inputSchema": schema, "annotations": annotations}
    return {key: payload.encode(value) for key, value in body.items()}


_NAME_AND_ARGUMENTS = {
    "name": {"type": "string"},
    "arguments": {"type": "object", "properties": {}, "additionalProperties": True},
}

DEFINITIONS: Mapping[str, Fields] = {
    SEARCH: _definition(
        SEARCH,
        "Find tools and skills of all connected servers by what they do. "
        "Gives names, descriptions and parameters, best first.",
        {
            "query": {"type": "string", "description": "What the tool should do, in a few words"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": DEFAULT_LIMIT},
            "server": {"type": "string", "description": "Only of this server"},
            "kind": {"type": "string", "enum": OTHER_KINDS, "description": "Default: tools, skills"},
            "detail": {
                "type": "string",
                "enum": SEARCH_DETAILS,
                "default": "signature",
                "description": "full: schemas",
            },
        },
        ("query",),
    ),
    DESCRIBE: _definition(
        DESCRIBE,
        "Give the whole descriptions and input schemas of tools, and their annotations.",
        {
            "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_PER_CALL},
            "detail": {
                "type": "string",
                "enum": DESCRIPTION_DETAILS,
                "default": "compact",
                "description": "full: output schemas and all else",
            },
        },
        ("names",),
    ),
    CALL: _definition(
        CALL, "Call any tool by its name, listed or not.", _NAME_AND_ARGUMENTS, ("name",), _CALLS_ANYTHING
    ),
    CALL_READ_ONLY: _definition(
        CALL_READ_ONLY,
        "Call a read-only tool by its name, listed or not, or several at once; refuses any other.",
        {
            **_NAME_AND_ARGUMENTS,
            "calls": {
                "type": "array",
                "items": {"type": "object", "properties": _NAME_AND_ARGUMENTS, "required": ["name"]},
                "description": f"1 to {MOST_PER_CALL}, instead of name and arguments",
            },
        },
        annotations=_CALLS_READERS,
    ),
    LIST_SERVERS: _definition(
        LIST_SERVERS,
        "Show the connected servers: state, number of tools, last error, their own instructions.",
        {"server": {"type": "string", "description": "Only this one, with the names of its tools"}},
    ),
    RESTART: _definition(
        RESTART,
        "Restart a server under development. Tells what changed in its tools, or why it does not start.",
        {"server": {"type": "string"}},
        ("server",),
        _RESTARTS,
    ),
}


READING = _definition(
    READ_RESULT,
    "Read on in a result of a tool that search-mcp has shortened.",
    {
        "handle": {"type": "string", "description": "From the shortened result"},
        "offset": {"type": "integer", "default": 0, "description": "In characters; negative: from the end"},
        "length": {"type": "integer", "minimum": 1, "description": "In characters; default: as many as allowed"},
        "pattern": {"type": "string", "description": "Regular expression (Python): gives the matching lines"},
        "path": {
            "type": "string",
            "description": "For JSON: JMESPath, or a JSON Pointer if it begins with /. Gives the part it selects",
        },
    },
    ("handle",),
)
"""The tool that reads shortened results, where results are limited."""


def definitions(
    listing: Listing,
    *,
    is_whole: bool = True,
    call_tool: CallTool = "all",
    can_restart: bool = False,
    reads_results: bool = False,
    result_size: int | None = None,
) -> list[Fields]:
    """Return the definitions of our own tools for a list.

    Those that call by name are listed if the client may never see some tools listed: in `search` mode, or if the list
    is not whole. Many clients call only listed tools. They declare `result_size`, in characters, for the tools that
    they call.
    """
    by_name = call_tool if listing == "search" or not is_whole else "off"
    listed = existing(by_name, can_restart=can_restart, reads_results=reads_results)
    return [
        with_result_size(fields, result_size) if name in (CALL, CALL_READ_ONLY) else fields
        for name, fields in listed.items()
    ]


def existing(call_tool: CallTool, *, can_restart: bool = False, reads_results: bool = False) -> Mapping[str, Fields]:
    """Return the own tools that can be called, listed or not.

    `can_restart`: a server is under development; `reads_results`: results are limited.
    """
    missing = {CALL, CALL_READ_ONLY, RESTART} - {*CALLING[call_tool], *([RESTART] if can_restart else [])}
    found = {name: fields for name, fields in DEFINITIONS.items() if name not in missing}
    return {**found, READ_RESULT: READING} if reads_results else found


def how_to_call(call_tool: CallTool) -> str:
    """Write how to call a tool that `call_read_only_tool` refuses."""
    return f"use {CALL} for it" if call_tool == "all" else f"the user has switched {CALL} off"
