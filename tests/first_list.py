"""The shortest visit of a client: it opens, asks for the tools and closes."""

import json


def requests(client: str) -> str:
    """Give what a client of this name writes."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    return "".join(f"{json.dumps(message)}\n" for message in messages)


def names(output: str) -> set[str]:
    """Give the names of the tools it was answered."""
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, output.splitlines()) if "id" in answer}
    return {tool["name"] for tool in answers[2]["tools"]}
