"""Capabilities of a server, as far as conversations do not test them."""

import json
import tracemalloc

from search_mcp.dialects.back.capabilities import read_server_capabilities
from search_mcp.model.names import Era
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw

MB = 1 << 20


def test_capabilities_keep_nothing_else_of_their_message() -> None:
    tracemalloc.start()
    declared = {"capabilities": {"tools": {}, "extensions": {"a/b": {}}, "tasks": {}}, "padding": "x" * MB}
    message = Raw(json.dumps(declared).encode())
    capabilities = read_server_capabilities(payload.fields(message), "2025-11-25", Era.LEGACY)
    del declared, message
    assert capabilities.extensions == {"a/b": Raw(b"{}")}
    assert tracemalloc.get_traced_memory()[0] < MB // 2
    tracemalloc.stop()
