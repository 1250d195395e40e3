"""A well-behaved legacy server; `work` reports progress, then waits until a pipe is opened."""

import json
import sys
from pathlib import Path
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
NUMBERS = {"a": {"type": "integer"}, "b": {"anyOf": [{"type": "number"}, {"type": "null"}]}, "up": {"type": "boolean"}}
WORDS = {"text": {"type": "string", "description": "What to say"}, "tags": {"type": "array"}}
TOOLS: dict[str, Any] = {"echo": WORDS, "add": NUMBERS, "measure": {}, "draw": {}, "fail": {}, "refuse": {}, "work": {}}
RESULTS = {
    "measure": '{"content": [], "structuredContent": {"celsius": 21.50}}',
    "draw": json.dumps({"content": [{"type": "image", "mimeType": "image/png", "data": PIXEL}]}),
    "fail": json.dumps({"content": [{"type": "text", "text": "the disk is full"}], "isError": True}),
}


def call(name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> str:
    if name == "work":
        report = {"progressToken": meta["progressToken"], "progress": 1, "total": 2, "message": "sawing"}
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": report}), flush=True)
        Path(arguments["until"]).read_text()
    return RESULTS.get(name) or json.dumps({"content": [{"type": "text", "text": json.dumps(arguments)}]})


for line in sys.stdin:
    request = json.loads(line)
    method, params, answer = request["method"], request.get("params", {}), ""
    if method == "initialize":
        answer = '{"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "toolbox"}}'
    elif method == "tools/list":
        schemas = {name: {"type": "object", "properties": properties} for name, properties in TOOLS.items()}
        tools = [{"name": n, "description": f"Can {n}. And more.", "inputSchema": s} for n, s in schemas.items()]
        answer = json.dumps({"tools": tools})
    elif method == "tools/call" and params["name"] != "refuse":
        answer = call(params["name"], params["arguments"], params.get("_meta", {}))
    body = f'"result":{answer}' if answer else '"error":{"code":-32601,"message":"it will not"}'
    if "id" in request:
        print(f'{{"jsonrpc":"2.0","id":{request["id"]},{body}}}', flush=True)
