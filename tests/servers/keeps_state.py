"""Keeps state in its process, like servers of browsers, shells, editors and files.

It has a current page, project and folder. It asks for the roots of its client once it is opened, and then serves these.
After a call with `asks` it asks the client's model about the page, outside of any call. With the argument `modern` it
speaks 2026-07-28, and asks for the roots in the first call that needs them.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from well_behaved import say, text

Json = dict[str, Any]

kept: Json = {"page": "none", "project": "none", "roots": None}


def answer(identifier: object, result: Json) -> None:
    say({"id": identifier, "result": {"resultType": "complete", **result} if is_modern else result})


def listed(result: Json) -> Json:
    return {**result, "ttlMs": 0, "cacheScope": "private"} if is_modern else result


def call(identifier: object, params: Json) -> None:
    arguments = params.get("arguments", {})
    match params["name"]:
        case "set":
            asks = arguments.pop("asks", False)
            kept.update(arguments)
            answer(identifier, text("done"))
            if asks:
                words = {"type": "text", "text": f"What is on {kept['page']}?"}
                asked = {"messages": [{"role": "user", "content": words}], "maxTokens": 10}
                say({"id": "s", "method": "sampling/createMessage", "params": asked})
        case "enter":
            os.chdir(arguments["folder"])
            answer(identifier, text("done"))
        case "state":
            answer(identifier, text(json.dumps({**kept, "folder": str(Path.cwd())})))
        case "roots" if is_modern and kept["roots"] is None and "inputResponses" not in params:
            questions = {"r": {"method": "roots/list", "params": {}}}
            say({"id": identifier, "result": {"resultType": "input_required", "inputRequests": questions}})
        case "roots":
            if kept["roots"] is None:
                kept["roots"] = params["inputResponses"]["r"]["roots"]
            answer(identifier, text(json.dumps(kept["roots"])))


is_modern = "modern" in sys.argv
for line in sys.stdin.buffer:
    message = json.loads(line)
    method, identifier = message.get("method"), message.get("id")
    if identifier == "roots" and "result" in message:
        kept["roots"] = message["result"]["roots"]
    elif method == "notifications/initialized":
        say({"id": "roots", "method": "roots/list"})
    elif method == "initialize" and not is_modern:
        opened = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        answer(identifier, {**opened, "serverInfo": {"name": "keeps-state", "version": "1"}})
    elif method == "server/discover" and is_modern:
        answer(identifier, listed({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}))
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("set", "enter", "state", "roots")]
        answer(identifier, listed({"tools": tools}))
    elif method == "tools/call":
        call(identifier, message["params"])
    elif method is not None and identifier is not None:
        say({"id": identifier, "error": {"code": -32601, "message": f"Method not found: {method}"}})
