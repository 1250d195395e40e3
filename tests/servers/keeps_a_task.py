"""Makes a task of each call, the same one, which is never done."""

import json
import sys
from collections.abc import Iterator
from uuid import uuid4

import well_behaved
from well_behaved import Json

TASK: Json = {"taskId": uuid4().hex, "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60_000}
CAPABILITY: Json = {"cancel": {}, "requests": {"tools": {"call": {}}}}


def lines() -> Iterator[bytes]:
    """Yield what a server without tasks answers, and answer the rest."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, params = message.get("method", ""), message.get("params", {})
        answer: Json
        if method == "initialize":
            opened = well_behaved.opened(params)
            answer = {"result": {**opened, "capabilities": {**opened["capabilities"], "tasks": CAPABILITY}}}
        elif method == "tools/call":
            answer = {"result": {"task": TASK}}
        elif method.startswith("tasks/"):
            is_known = params["taskId"] == TASK["taskId"]
            answer = {"result": TASK} if is_known else {"error": {"code": -32602, "message": "Task not found"}}
        else:
            yield line
            continue
        well_behaved.say({"id": message["id"], **answer})


if __name__ == "__main__":
    well_behaved.serve(lines=lines())
