# mypy: ignore-errors
# (run by the interpreter of its own virtual environment, whose SDK 1.x is not the one that mypy sees)
"""A client built on the Python SDK 1.x, which speaks the legacy era only."""

import anyio
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import get_default_environment, stdio_client
from pydantic import AnyUrl
from steps import answer, heard, plain, play, reporter, say, script


async def on_message(message):
    notification = getattr(message, "root", None)
    if isinstance(message, types.ServerNotification) and notification.method != "notifications/progress":
        heard(notification.method, plain(notification.params) if notification.params else None)


REFERENCES = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
CALLS = {
    "completion/complete": lambda session, params, report: session.complete(
        REFERENCES[params["ref"]["type"]].model_validate(params["ref"]), params["argument"]
    ),
    "prompts/get": lambda session, params, report: session.get_prompt(params["name"], params.get("arguments")),
    "prompts/list": lambda session, params, report: session.list_prompts(),
    "resources/list": lambda session, params, report: session.list_resources(),
    "resources/read": lambda session, params, report: session.read_resource(AnyUrl(params["uri"])),
    "resources/templates/list": lambda session, params, report: session.list_resource_templates(),
    "tools/call": lambda session, params, report: session.call_tool(
        params["name"], params.get("arguments"), progress_callback=report
    ),
    "tools/list": lambda session, params, report: session.list_tools(),
}


async def take(session, number, step):
    with anyio.CancelScope() as scope:
        # This SDK does not tell the server about an abandoned call, so the program does, as its users must.
        request = session._request_id  # the id of the next request; the SDK has no public name for it

        async def cancel():
            params = types.CancelledNotificationParams(requestId=request, reason="the script says so")
            notification = types.CancelledNotification(method="notifications/cancelled", params=params)
            await session.send_notification(types.ClientNotification(notification))
            scope.cancel()

        report = reporter(number, step, cancel)
        return plain(await CALLS[step["do"]](session, step.get("params", {}), report))
    raise TimeoutError("the script says so")


async def main():
    command, *args = script["command"]
    environment = {**get_default_environment(), **script.get("env", {})}
    server = StdioServerParameters(command=command, args=args, env=environment)
    async with (
        stdio_client(server) as (read, write),
        ClientSession(
            read,
            write,
            client_info=types.Implementation(name="python-1", version="1.0.0"),
            message_handler=on_message,
            elicitation_callback=answer("elicitation/create", types.ElicitResult),
            list_roots_callback=answer("roots/list", types.ListRootsResult),
            sampling_callback=answer("sampling/createMessage", types.CreateMessageResult),
        ) as session,
    ):
        told = await session.initialize()
        say(
            "connected",
            protocol=told.protocolVersion,
            server=plain(told.serverInfo),
            capabilities=plain(told.capabilities),
            instructions=told.instructions,
        )
        await play(lambda number, step: take(session, number, step), McpError)
    say("closed")


anyio.run(main)
