"""A well-behaved legacy server that lists its arguments as resources, and those with an expression as templates."""

import json
import sys
from typing import Any

ANSWERS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"resources": {}},
        "serverInfo": {"name": "listing", "version": "1"},
    },
    "resources/list": {"resources": [{"uri": uri, "name": uri} for uri in sys.argv[1:] if "{" not in uri]},
    "resources/templates/list": {
        "resourceTemplates": [{"uriTemplate": uri, "name": uri} for uri in sys.argv[1:] if "{" in uri]
    },
}

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        answer = ANSWERS.get(request["method"])
        body = {"result": answer} if answer else {"error": {"code": -32601, "message": "it will not"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}), flush=True)
