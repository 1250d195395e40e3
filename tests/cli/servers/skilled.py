"""A well-behaved server of the newest legacy revision that has a tool, and a skill of the same name."""

import json
import sys
from typing import Any

EXTENSION = "io.modelcontextprotocol/skills"
TOOL = {"name": "refund", "description": "Refund a payment.", "inputSchema": {"type": "object"}}
URI = "skill://billing/refunds/SKILL.md"
SKILL = {
    "uri": URI,
    "frontmatter": {"name": "refunds", "description": "Handle refund requests of customers. At length."},
    "resources": "dynamic",
}
ANSWERS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "resources": {}, "extensions": {EXTENSION: {}}},
        "serverInfo": {"name": "skilled", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
    "resources/list": {"resources": [{"uri": URI, "name": "refunds"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "skills/list": {"skills": [SKILL]},
}

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        answer = ANSWERS.get(request["method"])
        body = {"result": answer} if answer else {"error": {"code": -32601, "message": "it will not"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}), flush=True)
