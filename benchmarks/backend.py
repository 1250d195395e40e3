"""Minimal MCP server of the legacy era, the backend of every measured subject.

    python -I -S backend.py [--tools N | --tools FILE] [--delay SECONDS] [--silent]

It has `echo(text)`, `sleep(seconds)`, `bulk(size)` and `flood(message)`, and as many other tools as `--tools` says;
FILE is a JSON array of definitions to list instead. It answers nothing during the delay, and never if it is silent.
"""

import json
import os
import sys
import threading
import time

OWN = {
    "echo": ("text", "string"),
    "sleep": ("seconds", "number"),
    "bulk": ("size", "integer"),
    "flood": ("message", "object"),
}
"""Name and type of each tool's only parameter."""
_writing = threading.Lock()


def write(data: bytes) -> None:
    with _writing:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]


def answer(message_id: object, result: bytes) -> None:
    write(b'{"jsonrpc":"2.0","id":%s,"result":%s}\n' % (json.dumps(message_id).encode(), result))


def answer_text(message_id: object, text: str) -> None:
    answer(message_id, b'{"content":[{"type":"text","text":%s}]}' % json.dumps(text).encode())


def definitions(tools: str) -> bytes:
    """Return the list of tools as JSON: read from a file, or generated with a schema of ordinary size."""
    if not tools.isdigit():
        with open(tools, "rb") as file:  # noqa: PTH123  # pathlib would be an import more
            return file.read()
    schemas = {
        name: {"type": "object", "properties": {parameter: {"type": its_type}}, "required": [parameter]}
        for name, (parameter, its_type) in OWN.items()
    }
    made_up = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file or folder to work on, absolute or relative."},
            "pattern": {"type": "string", "description": "What to look for, as a glob."},
            "limit": {"type": "integer", "minimum": 1, "default": 100},
        },
    }
    schemas.update((f"tool_{number}", made_up) for number in range(int(tools) - len(OWN)))
    about = "Find entries below a folder by name and return them, newest first. Hidden entries are left out."
    return json.dumps(
        [{"name": name, "description": f"{name}: {about}", "inputSchema": schema} for name, schema in schemas.items()]
    ).encode()


def flood(message: object) -> None:
    noise = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    while True:
        write(noise * 32)


def call(message_id: object, name: str, arguments: dict) -> None:
    if name == "echo":
        answer_text(message_id, arguments["text"])
    elif name == "bulk":
        answer_text(message_id, "x" * arguments["size"])
    elif name == "sleep":
        timer = threading.Timer(arguments["seconds"], answer_text, (message_id, "slept"))
        timer.daemon = True
        timer.start()
    else:
        answer_text(message_id, "flooding")
        threading.Thread(target=flood, args=(arguments["message"],), daemon=True).start()


def main() -> None:
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=False))
    tools = definitions(options.get("--tools", str(len(OWN))))
    started, delay = time.monotonic(), float(options.get("--delay", 0))
    silent = "--silent" in sys.argv
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, message_id = message.get("method"), message.get("id")
        if silent or message_id is None:
            continue
        time.sleep(max(0, started + delay - time.monotonic()) if delay else 0)
        params = message.get("params", {})
        if method == "tools/call":
            call(message_id, params["name"], params.get("arguments", {}))
        elif method == "tools/list":
            answer(message_id, b'{"tools":%s}' % tools)
        elif method == "initialize":
            result = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": {"name": "backend", "version": "1"},
            }
            answer(message_id, json.dumps(result).encode())
        elif method == "ping":
            answer(message_id, b"{}")
        else:
            error = b'{"code":-32601,"message":"Method not found"}'
            write(b'{"jsonrpc":"2.0","id":%s,"error":%s}\n' % (json.dumps(message_id).encode(), error))


if __name__ == "__main__":
    main()
