"""A server for AI clients, with one tool for each kind of answer: `acquaintance.py [GATE]`

With a GATE it answers nothing until that file exists: a server that is slow to start. `endless` never answers: it
connects to a port, keeps the connection until its process exits, and writes to it when it is called and cancelled.
"""

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def tool(name: str, description: str, required: Json, **more: Any) -> Json:
    schema = {"type": "object", "properties": required | more.pop("optional", {}), "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema, **more}


TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
SUM = {"type": "object", "properties": {"sum": INTEGER}}
TOOLS = (
    tool("echo", "Repeat the words.", {"words": TEXT}),
    tool("structured", "Answer with data.", {}, outputSchema=SUM),
    tool("insist", "Take an amount.", {"amount": INTEGER}, optional={"unit": TEXT}),
    tool("refuse", "Refuse an amount.", {"amount": INTEGER}, optional={"unit": TEXT}),
    tool("create", "Create a file.", {"path": TEXT}),
    tool("endless", "Never answer.", {"port": INTEGER}),
)
watchers: list[socket.socket] = []


def answer(method: str, params: Json) -> Json:
    arguments, name = params.get("arguments", {}), params.get("name")
    if method == "initialize":
        info = {"name": "acquaintance", "version": "1"}
        opened = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        return {"result": opened}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": f"Method not found: {method}"}}
    if name == "refuse":
        return {"error": {"code": -32001, "message": "the vault is closed", "data": {"opens": "at noon"}}}
    if name == "create":
        Path(arguments["path"]).touch()
    wrong = name == "insist" and not isinstance(arguments.get("amount"), int)
    text = "that is no amount" if wrong else str(arguments.get("words", "done: 42"))
    data = {"structuredContent": {"sum": 42}} if name == "structured" else {}
    return {"result": {"content": [{"type": "text", "text": text}], "isError": wrong, **data}}


while sys.argv[1:] and not Path(sys.argv[1]).exists():
    time.sleep(0.05)
for message in map(json.loads, sys.stdin.buffer):
    if message.get("params", {}).get("name") == "endless":
        watchers.append(socket.create_connection(("127.0.0.1", message["params"]["arguments"]["port"])))
        watchers[-1].sendall(b"called ")
    elif message.get("method") == "notifications/cancelled":
        for watcher in watchers:
            watcher.sendall(b"cancelled")
    elif "id" in message:
        said = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
