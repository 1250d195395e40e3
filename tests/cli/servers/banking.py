"""Two tools with names that definitions of other servers may mention."""

import json
import sys

SCHEMA = {"type": "object", "properties": {"due_date": {"type": "string", "title": "Due Date"}}}
TOOLS = [{"name": name, "inputSchema": SCHEMA} for name in ("pay", "search_invoices")]
for line in sys.stdin:
    request = json.loads(line)
    answer: dict[str, object] = {}
    if request["method"] == "initialize":
        info = {"name": "banking", "version": "1"}
        answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif request["method"] == "tools/list":
        answer = {"tools": TOOLS}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer}), flush=True)
