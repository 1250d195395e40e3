"""A client for the suite's client scenarios, with search-mcp between it and the suite: `python driver.py URL`.

The environment tells the scenario, the revision and the scenario's own data; `SERVE` is the command that serves a
configuration.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from real.conversation import Conversation, Era, Reply

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
SERVE = json.loads(os.environ.get("SERVE") or "[]")

SERVER = "conformance"
STUBS: dict[str, Any] = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}

Question = dict[str, Any]


class Client:
    """The client in front of search-mcp."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools of the suite's server, under its own names."""
        own = f"{SERVER}."
        listed = self._conversation.ask("tools/list").value["tools"]
        found = [each for each in listed if each["name"].startswith(own)]
        return [{**each, "name": each["name"].removeprefix(own)} for each in found]

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> Reply:
        return self.ask("tools/call", name=f"{SERVER}.{tool}", arguments=arguments or {})

    def ask(self, method: str, **params: Any) -> Reply:
        """Send a request, and answer the questions that come before its result."""
        answers: dict[str, Any] = {}
        while True:
            reply = self._answered(self._conversation.begin(method, **params, **answers))
            if reply.error is not None or reply.value.get("resultType") != "input_required":
                return reply
            asked = reply.value.get("inputRequests", {})
            given = {key: answered(each["method"], each.get("params", {})) for key, each in asked.items()}
            state = {key: value for key, value in reply.value.items() if key == "requestState"}
            answers = {"inputResponses": given, **state}

    def _answered(self, identifier: int) -> Reply:
        while True:
            reply = self._conversation.next()
            if reply.method is None:
                assert reply.id == identifier, reply
                return reply
            if reply.id is not None:
                self._conversation.write({"id": reply.id, "result": answered(reply.method, reply.params or {})})


def answered(method: str, params: Question) -> dict[str, Any]:
    """Answer a question as a user who agrees to everything, and changes no default."""
    if method == "roots/list":
        return {"roots": []}
    if method == "sampling/createMessage":
        return {"role": "assistant", "model": "stub", "content": {"type": "text", "text": ""}}
    properties = params["requestedSchema"]["properties"]
    content = {name: each["default"] for name, each in properties.items() if "default" in each}
    return {"action": "accept", "content": content or dict.fromkeys(properties, True)}


# Scenarios


def request_metadata(client: Client) -> None:
    client.tools()
    client.ask("resources/list")


def standard_headers(client: Client) -> None:
    for tool in client.tools():
        _ = client.call(tool["name"]).value
    for resource in client.ask("resources/list").value["resources"]:
        _ = client.ask("resources/read", uri=resource["uri"]).value
    for prompt in client.ask("prompts/list").value["prompts"]:
        _ = client.ask("prompts/get", name=prompt["name"]).value


def custom_headers(client: Client) -> None:
    client.tools()
    for call in CONTEXT["toolCalls"]:
        client.call(call["name"], call["arguments"])


def all_tools(client: Client) -> None:
    for tool in client.tools():
        schema = tool["inputSchema"]
        properties = schema.get("properties", {})
        client.call(
            tool["name"], {name: STUBS.get(properties[name].get("type"), "x") for name in schema.get("required", [])}
        )


def schema_preserved(client: Client) -> None:
    (schema,) = [each["inputSchema"] for each in client.tools() if each["name"] == "json_schema_2020_12_tool"]
    _ = client.call("json_schema_echo", {"schema": schema}).value


def request_state(client: Client) -> None:
    client.tools()
    for name in ("echo_state", "unrelated", "no_state", "no_result_type"):
        _ = client.call(f"test_mrtr_{name}").value


def listing(client: Client) -> None:
    assert client.tools()


def calling(tool: str, **arguments: Any) -> Callable[[Client], None]:
    def play(client: Client) -> None:
        client.tools()
        _ = client.call(tool, arguments).value

    return play


SCENARIOS: dict[str, Callable[[Client], object]] = {
    "initialize": lambda client: client.ask("tools/list"),
    "tools_call": calling("add_numbers", a=5, b=3),
    "request-metadata": request_metadata,
    "http-standard-headers": standard_headers,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": all_tools,
    "json-schema-ref-no-deref": listing,
    "json-schema-2020-12-preservation": schema_preserved,
    "sep-2322-client-request-state": request_state,
    "elicitation-sep1034-client-defaults": calling("test_client_elicitation_defaults"),
    "sse-retry": calling("test_reconnection"),
}


def main(url: str) -> None:
    capabilities: dict[str, Any] = {"roots": {}, "sampling": {}, "elicitation": {"form": {}}}
    revision = REVISION if REVISION in MODERN_PROTOCOL_VERSIONS else "2025-11-25"
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "mcp-servers.json")
        settings = {"listing": "full", "firstListSeconds": 60}
        path.write_text(json.dumps({"mcpServers": {SERVER: {"url": url}}, "settings": settings}))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        environment |= dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), home)
        with Conversation([*SERVE, "--config", str(path)], Era(revision, capabilities), environment) as conversation:
            SCENARIOS[SCENARIO](Client(conversation))


if __name__ == "__main__":
    main(sys.argv[1])
