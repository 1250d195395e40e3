"""A correct server; each of the others adds one misbehaviour to it."""

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Tool = Callable[[Json], str]


def say(message: Json) -> None:
    """Write one message; all output on stdout goes through this function."""
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def opened(params: Json) -> Json:
    info = {"name": "a-server", "version": "1"}
    return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}


def text(words: str) -> Json:
    return {"content": [{"type": "text", "text": words}]}


TOOLS: dict[str, Tool] = {
    "echo": lambda arguments: str(arguments.get("words", "")),
    "environment": lambda _arguments: json.dumps(dict(os.environ)),
    "folder": lambda _arguments: str(Path.cwd()),
    "big": lambda arguments: "0123456789abcdef" * (arguments["size"] // 16),
}


def serve(
    tools: dict[str, Tool] = TOOLS, say: Callable[[Json], None] = say, lines: Iterable[bytes] = sys.stdin.buffer
) -> None:
    """Answer requests until EOF on stdin."""
    for line in lines:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if "id" not in message or method is None:
            continue
        if method == "initialize":
            say({"id": message["id"], "result": opened(params)})
        elif method == "tools/list":
            listed = [{"name": name, "inputSchema": {"type": "object"}} for name in tools]
            say({"id": message["id"], "result": {"tools": listed}})
        elif method == "tools/call" and params["name"] in tools:
            say({"id": message["id"], "result": text(tools[params["name"]](params.get("arguments", {})))})
        else:
            say({"id": message["id"], "error": {"code": -32601, "message": f"Method not found: {method}"}})


if __name__ == "__main__":
    serve()
