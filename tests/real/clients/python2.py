"""A client built on the Python SDK 2.x. `mode`: absent for its default, "legacy", or a modern revision."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import get_default_environment
from steps import answer, heard, plain, play, reporter, say, script  # type: ignore[import-not-found]


async def on_message(message: Any) -> None:
    method = getattr(message, "method", None)
    if method not in (None, "notifications/progress"):  # progress is recorded by the step
        heard(method, plain(message.params) if message.params else None)


REFERENCES: dict[str, Any] = {
    "ref/prompt": types.PromptReference,
    "ref/resource": types.ResourceTemplateReference,
}
CALLS: dict[str, Callable[[Client, dict[str, Any], Any], Awaitable[Any]]] = {
    "completion/complete": lambda client, params, report: client.complete(
        REFERENCES[params["ref"]["type"]].model_validate(params["ref"]), params["argument"]
    ),
    "prompts/get": lambda client, params, report: client.get_prompt(params["name"], params.get("arguments")),
    "prompts/list": lambda client, params, report: client.list_prompts(),
    "resources/list": lambda client, params, report: client.list_resources(),
    "resources/read": lambda client, params, report: client.read_resource(params["uri"]),
    "resources/templates/list": lambda client, params, report: client.list_resource_templates(),
    "tools/call": lambda client, params, report: client.call_tool(
        params["name"], params.get("arguments"), progress_callback=report
    ),
    "tools/list": lambda client, params, report: client.list_tools(),
}


async def take(client: Client, number: int, step: dict[str, Any]) -> Any:
    with anyio.CancelScope() as scope:
        report = reporter(number, step, scope.cancel)
        return plain(await CALLS[step["do"]](client, step.get("params", {}), report))
    raise TimeoutError("the script says so")


async def main() -> None:
    command, *args = script["command"]
    environment = {**get_default_environment(), **script.get("env", {})}
    client = Client(
        StdioServerParameters(command=command, args=args, env=environment),
        mode=script.get("mode", "auto"),
        client_info=types.Implementation(name="python-2", version="1.0.0"),
        message_handler=on_message,
        elicitation_callback=answer("elicitation/create", types.ElicitResult),
        list_roots_callback=answer("roots/list", types.ListRootsResult),
        sampling_callback=answer("sampling/createMessage", types.CreateMessageResult),
    )
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(client)
        say(
            "connected",
            protocol=client.protocol_version,
            server=plain(client.server_info) if client.server_info else None,
            capabilities=plain(client.server_capabilities),
            instructions=client.instructions,
        )
        if "listen" in script and client.protocol_version >= "2026":
            wanted = {"tools_list_changed": script["listen"].get("toolsListChanged", False)}
            subscription = await stack.enter_async_context(client.listen(**wanted))
            say("listening", honored=plain(subscription.honored))
        await play(lambda number, step: take(client, number, step), MCPError)
    say("closed")


anyio.run(main)
