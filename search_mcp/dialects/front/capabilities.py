"""The capabilities of both sides: those shown to the client, and those that the client has to declare."""

from search_mcp import __version__
from search_mcp.dialects import MergedCapabilities, names
from search_mcp.model.names import Ask, Kind
from search_mcp.wire import payload
from search_mcp.wire.errors import WireError, method_not_found
from search_mcp.wire.structs import Fields

DEEPEST_CAPABILITY = 4
"""Levels of nesting that are read of a capability, as in `tasks.requests.tools.call`."""
SERVER_INFO = {"name": "search-mcp", "title": "search-mcp", "version": __version__}


def capabilities(offered: MergedCapabilities) -> dict[str, object]:
    """Write the capabilities of all backends together as those of one server."""
    body: dict[str, object] = {"tools": {"listChanged": True}}
    if Kind.PROMPTS in offered.kinds:
        body["prompts"] = {"listChanged": True}
    if Kind.RESOURCES in offered.kinds:
        body["resources"] = {"subscribe": offered.subscribe, "listChanged": True}
    if offered.completions:
        body["completions"] = {}
    if offered.logging:
        body["logging"] = {}
    if offered.tasks:
        body["tasks"] = _united([payload.value(each) for each in offered.tasks])
    extensions = {name: offered.extensions[name] for name in names.OFFERED_EXTENSIONS if name in offered.extensions}
    if extensions:
        body["extensions"] = extensions
    return body


def _united(capabilities: list[object], depth: int = DEEPEST_CAPABILITY) -> dict[str, object]:
    """Merge nested objects: the result has every key of any of them."""
    objects = [each for each in capabilities if isinstance(each, dict)] if depth else []
    return {key: _united([each[key] for each in objects if key in each], depth - 1) for each in objects for key in each}


def refuse_question(caller_capabilities: Fields, ask: Ask) -> WireError | None:
    """Return the error for a question that needs a capability which the client did not declare; `None` if it did."""
    capability = names.ASK_CAPABILITY[ask]
    if capability in caller_capabilities:
        return None
    return method_not_found(f"{names.ASK_METHOD[ask]} (the client did not declare the {capability} capability)")
