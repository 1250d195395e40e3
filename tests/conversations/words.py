"""Vocabulary of the conversations: tools, results, questions and answers, and their forms in both eras."""

import json
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST_LEGACY = LEGACY[-1]
MODERN = "2026-07-28"

RESERVED = "io.modelcontextprotocol/"
VERSION, CAPABILITIES = f"{RESERVED}protocolVersion", f"{RESERVED}clientCapabilities"
CLIENT_INFO, SERVER_INFO = f"{RESERVED}clientInfo", f"{RESERVED}serverInfo"
LOG_LEVEL, SUBSCRIPTION = f"{RESERVED}logLevel", f"{RESERVED}subscriptionId"

SKILLS = f"{RESERVED}skills"

HOP_KEYS = ("resultType", "ttlMs", "cacheScope")
"""Members of a modern result that each hop sets itself."""

OWN_TOOLS = ["search_tools", "describe_tools", "list_servers"]
CALL_TOOLS = ["call_tool", "call_read_only_tool"]
WITH_CALL_TOOL = ["search_tools", "describe_tools", *CALL_TOOLS, "list_servers"]
"""Our own tools in a list that lacks the tools of a server."""


def encode(value: object) -> bytes:
    """Write JSON as search-mcp does: compact, unescaped, in the given order."""
    return value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def tool(name: str, description: str = "Does it.", *required: str, **more: Any) -> Json:
    schema: Json = {"type": "object", "properties": {each: {"type": "string"} for each in required}}
    if required:
        schema["required"] = list(required)
    return {"name": name, "description": description, "inputSchema": schema, **more}


GREET = tool("greet", "Greet somebody. Politely, and in their own language.", "name")
ECHO = tool("echo", "Say it again.")


def text(words: str, **more: Any) -> Json:
    return {"content": [{"type": "text", "text": words}], **more}


def elicit(message: str) -> Json:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def labelled(question: Json, server: str) -> Json:
    """Return a question as the client receives it: with the server's name before an elicitation's message."""
    if question["method"] != "elicitation/create":
        return question
    params = question["params"]
    return {**question, "params": {**params, "message": f"[{server}] {params['message']}"}}


def sample(words: str) -> Json:
    message = {"role": "user", "content": {"type": "text", "text": words}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


ROOTS: Json = {"method": "roots/list", "params": {}}


def accept(**content: Any) -> Json:
    return {"action": "accept", "content": content}


def sampled(words: str) -> Json:
    return {"role": "assistant", "content": {"type": "text", "text": words}, "model": "a-model"}


def roots(*uris: str) -> Json:
    return {"roots": [{"uri": uri} for uri in uris]}


def names(definitions: Iterable[Json]) -> list[str]:
    return [definition["name"] for definition in definitions]
