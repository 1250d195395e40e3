"""The server the official conformance suite expects, over stdio, in both eras: `python reference.py`.

What it offers is prescribed by the suite's scenarios ("Server Implementation Requirements"); names and texts are
theirs. A tool that needs something of the client asks for it as the era has it: by a request of its own, or by
an `input_required` result. Written on the low-level server, so that payloads are what stands here.
"""

import hashlib
import hmac
import json
import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.message import ServerMessageMetadata, SessionMessage

Context = ServerRequestContext[Any, Any]
Params = types.CallToolRequestParams | types.GetPromptRequestParams
Result = dict[str, Any]
Tool = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]

KEY = b"the tests' own key"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
PAUSE = 0.05  # seconds; the suite asks for pauses of about this length between notifications

NOTHING: Result = {"type": "object"}
tools: dict[str, tuple[types.Tool, Tool]] = {}
dynamic: set[str] = set()  # "tool" and "prompt" while those that come and go are there
bus = InMemorySubscriptionBus()


def tool(description: str, schema: Result = NOTHING, *names: str) -> Callable[[Tool], Tool]:
    def register(run: Tool) -> Tool:
        for name in names or (run.__name__,):
            tools[name] = types.Tool(name=name, description=description, input_schema=schema), run
        return run

    return register


def text(said: str) -> Result:
    return {"content": [{"type": "text", "text": said}]}


def string_field(name: str, **more: Any) -> Result:
    return {"type": "object", "properties": {name: {"type": "string", **more}}, "required": [name]}


# Asking the client


class InputNeededError(Exception):
    """Thrown through a tool in the modern era: its call ends here, and is made again with the answers."""

    def __init__(self, requests: Mapping[str, Any], state: str | None) -> None:
        self.result: Result = {
            "resultType": "input_required",
            "inputRequests": {
                key: request.model_dump(mode="json", by_alias=True, exclude_none=True)
                for key, request in requests.items()
            },
        }
        if state is not None:
            self.result["requestState"] = state


ANSWERS: dict[type, type[Any]] = {
    types.ElicitRequest: types.ElicitResult,
    types.CreateMessageRequest: types.CreateMessageResult,
    types.ListRootsRequest: types.ListRootsResult,
}


async def ask(ctx: Context, params: Params, requests: Mapping[str, Any], state: str | None = None) -> dict[str, Any]:
    """Ask the client, by whatever means it has."""
    if not is_modern(ctx):
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        return {
            key: await ctx.session.send_request(request, ANSWERS[type(request)], metadata=related)
            for key, request in requests.items()
        }
    given = params.input_responses or {}
    if not requests.keys() <= given.keys():
        raise InputNeededError(requests, state)
    return {key: given[key] for key in requests}


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version >= "2026"


def elicit(message: str, schema: Result) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


WHO = elicit("What is your name?", string_field("name"))
CONFIRM = elicit("Please confirm", {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})


def sealed(known: Result) -> str:
    body = json.dumps(known)
    return f"{hmac.new(KEY, body.encode(), hashlib.sha256).hexdigest()}.{body}"


def unsealed(state: str | None) -> Result:
    if state is None:
        return {}
    _, _, body = state.partition(".")
    try:
        known: Result = json.loads(body)
    except ValueError:
        known = {}
    if not hmac.compare_digest(sealed(known).encode(), state.encode()):
        raise MCPError(types.INVALID_PARAMS, "requestState is not one of ours")
    return known


# Tools of both eras


@tool("Tests simple text content response")
async def test_simple_text(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return text("This is a simple text response for testing.")


@tool("Tests image content response")
async def test_image_content(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}


@tool("Tests audio content response")
async def test_audio_content(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]}


def embedded(uri: str, mime_type: str, content: str) -> Result:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": content}}


@tool("Tests embedded resource content response")
async def test_embedded_resource(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return {"content": [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]}


@tool("Tests response with multiple content types (text, image, resource)")
async def test_multiple_content_types(ctx: Context, params: types.CallToolRequestParams) -> Result:
    resource = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    return {"content": [{"type": "text", "text": "Multiple content types test:"}, image, resource]}


async def tell(ctx: Context, said: str) -> None:
    await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)


@tool("Tests tool that emits log messages during execution")
async def test_tool_with_logging(ctx: Context, params: types.CallToolRequestParams) -> Result:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await tell(ctx, said)
        await anyio.sleep(PAUSE)
    return text("Tool with logging executed successfully")


@tool("Logs once, if the client wants that")
async def test_logging_tool(ctx: Context, params: types.CallToolRequestParams) -> Result:
    await tell(ctx, "Nobody may hear this who did not ask for it")
    return text("Logged")


@tool("Tests tool that reports progress notifications")
async def test_tool_with_progress(ctx: Context, params: types.CallToolRequestParams) -> Result:
    for progress in (0, 50, 100):
        await ctx.session.report_progress(progress, 100, f"Completed step {progress} of 100")
        await anyio.sleep(PAUSE)
    return text("Tool with progress executed successfully")


@tool("Tests error response handling")
async def test_error_handling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return {**text("This tool intentionally returns an error for testing"), "isError": True}


@tool(
    "Tests a parameter that HTTP clients mirror in a header",
    {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
)
async def test_x_mcp_header(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return text(f"region={(params.arguments or {}).get('region')}")


@tool("Tests the error for a capability that the client did not declare")
async def test_missing_capability(ctx: Context, params: types.CallToolRequestParams) -> Result:
    declared = ctx.session.client_capabilities
    if declared is None or declared.sampling is None:
        data: Result = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling", data)
    return text("Client declared sampling capability")


@tool(
    "Tests JSON Schema 2020-12 keyword preservation in tools/list",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def json_schema_2020_12_tool(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return text("json_schema_2020_12_tool")


@tool("Closes the stream of its own response, where there are streams (SEP-1699): over stdio it only talks")
async def test_reconnection(ctx: Context, params: types.CallToolRequestParams) -> Result:
    await tell(ctx, "Before disconnect")
    return text("Reconnection test completed")


@tool("Adds a tool, or takes it away again")
async def test_trigger_tool_change(ctx: Context, params: types.CallToolRequestParams) -> Result:
    dynamic.symmetric_difference_update({"tool"})
    await bus.publish(ToolsListChanged())
    if not is_modern(ctx):
        await ctx.session.send_tool_list_changed()
    return text("tool list changed")


@tool("Adds a prompt, or takes it away again")
async def test_trigger_prompt_change(ctx: Context, params: types.CallToolRequestParams) -> Result:
    dynamic.symmetric_difference_update({"prompt"})
    await bus.publish(PromptsListChanged())
    if not is_modern(ctx):
        await ctx.session.send_prompt_list_changed()
    return text("prompt list changed")


# Tools that ask; the legacy scenarios' first


@tool("Tests sampling", string_field("prompt"))
async def test_sampling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    prompt = (params.arguments or {})["prompt"]
    answer = (await ask(ctx, params, {"sample": sample(prompt, 100)}))["sample"]
    return text(f"LLM response: {answer.content.text}")


async def elicited(ctx: Context, params: types.CallToolRequestParams, message: str, schema: Result) -> Result:
    answer = (await ask(ctx, params, {"user": elicit(message, schema)}))["user"]
    return text(f"User response: action={answer.action}, content={json.dumps(answer.content)}")


@tool("Tests elicitation", string_field("message"))
async def test_elicitation(ctx: Context, params: types.CallToolRequestParams) -> Result:
    user = {"type": "string", "description": "User's response"}
    email = {"type": "string", "description": "User's email address"}
    schema = {
        "type": "object",
        "properties": {"username": user, "email": email},
        "required": ["username", "email"],
    }
    return await elicited(ctx, params, (params.arguments or {})["message"], schema)


@tool("Tests elicitation with default values for all primitive types (SEP-1034)")
async def test_elicitation_sep1034_defaults(ctx: Context, params: types.CallToolRequestParams) -> Result:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicited(ctx, params, "Tell us about you", {"type": "object", "properties": properties})


@tool("Tests elicitation with enum schema variations (SEP-1330)")
async def test_elicitation_sep1330_enums(ctx: Context, params: types.CallToolRequestParams) -> Result:
    untitled = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    properties = {
        "untitledSingle": {"type": "string", "enum": untitled},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": untitled, "enumNames": ["Option 1", "Option 2", "Option 3"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": untitled}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await elicited(ctx, params, "Choose", {"type": "object", "properties": properties})


# The modern scenarios' (SEP-2322)


@tool("Asks for a name, then greets")
async def test_input_required_result_elicitation(ctx: Context, params: types.CallToolRequestParams) -> Result:
    answer = (await ask(ctx, params, {"user_name": WHO}))["user_name"]
    return text(f"Hello, {(answer.content or {}).get('name')}!")


@tool("Asks for an elicitation while it is called as a stream")
async def test_streaming_elicitation(ctx: Context, params: types.CallToolRequestParams) -> Result:
    await ctx.session.report_progress(1, 2, "About to ask")
    await ask(ctx, params, {"user_name": WHO})
    return text("Asked")


@tool("Asks the model")
async def test_input_required_result_sampling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    question = {"capital_question": sample("What is the capital of France?", 100)}
    answer = (await ask(ctx, params, question))["capital_question"]
    return text(f"Model said: {answer.content.text}")


@tool("Asks for the roots")
async def test_input_required_result_list_roots(ctx: Context, params: types.CallToolRequestParams) -> Result:
    answer = (await ask(ctx, params, {"client_roots": types.ListRootsRequest()}))["client_roots"]
    return text(f"Roots: {', '.join(str(root.uri) for root in answer.roots)}")


@tool(
    "Asks for a confirmation, with a state that has to come back as it is",
    NOTHING,
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
)
async def confirm(ctx: Context, params: types.CallToolRequestParams) -> Result:
    known = unsealed(params.request_state)
    await ask(ctx, params, {"confirm": CONFIRM}, sealed({"asked": True}))
    return text("state-ok" if known.get("asked") or not is_modern(ctx) else "the state is missing")


@tool("Asks for three things at once")
async def test_input_required_result_multiple_inputs(ctx: Context, params: types.CallToolRequestParams) -> Result:
    unsealed(params.request_state)
    requests = {
        "user_name": WHO,
        "greeting": sample("Generate a greeting", 50),
        "client_roots": types.ListRootsRequest(),
    }
    answers = await ask(ctx, params, requests, sealed({"asked": sorted(requests)}))
    return text(f"Got {', '.join(sorted(answers))}")


@tool("Asks twice, one after the other")
async def test_input_required_result_multi_round(ctx: Context, params: types.CallToolRequestParams) -> Result:
    known = unsealed(params.request_state)
    steps = {
        "step1": elicit("Step 1: What is your name?", string_field("name")),
        "step2": elicit("Step 2: What is your favorite color?", string_field("color")),
    }
    for key, request in steps.items():
        if key not in known:
            known[key] = (await ask(ctx, params, {key: request}, sealed(known)))[key].content
    return text(json.dumps(known))


@tool("Asks for what the client said it can answer")
async def test_input_required_result_capabilities(ctx: Context, params: types.CallToolRequestParams) -> Result:
    declared = ctx.session.client_capabilities or types.ClientCapabilities()
    requests: dict[str, Any] = {}
    if declared.sampling is not None:
        requests["sample"] = sample("Say hello", 50)
    if declared.elicitation is not None:
        requests["ask"] = WHO
    answers = await ask(ctx, params, requests, sealed({}))
    return text(f"Got {', '.join(sorted(answers))}")


# Prompts

PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


async def prompt_contents(ctx: Context, params: types.GetPromptRequestParams) -> list[Result]:
    given = params.arguments or {}
    if params.name == "test_simple_prompt":
        return text("This is a simple prompt for testing.")["content"]  # type: ignore[no-any-return]
    if params.name == "test_prompt_with_arguments":
        said = f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
        return [{"type": "text", "text": said}]
    if params.name == "test_prompt_with_embedded_resource":
        resource = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
        return [resource, {"type": "text", "text": "Please process the embedded resource above."}]
    if params.name == "test_prompt_with_image":
        image = {"type": "image", "data": PNG, "mimeType": "image/png"}
        return [image, {"type": "text", "text": "Please analyze the image above."}]
    question = elicit("What context should the prompt use?", string_field("context"))
    answer = (await ask(ctx, params, {"user_context": question}))["user_context"]
    return [{"type": "text", "text": f"Use the following context: {(answer.content or {}).get('context')}"}]


# Methods


def completed(ctx: Context, result: Result) -> Result:
    return {**result, "resultType": "complete"} if is_modern(ctx) else result


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    listed = [definition for definition, _ in tools.values()]
    if "tool" in dynamic:
        listed.append(types.Tool(name="test_dynamic_tool", description="Dynamic", input_schema={"type": "object"}))
    return types.ListToolsResult(tools=listed)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if params.name not in tools:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        return completed(ctx, await tools[params.name][1](ctx, params))
    except InputNeededError as needed:
        return needed.result


async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    names = {**PROMPTS, "test_dynamic_prompt": ()} if "prompt" in dynamic else PROMPTS
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=f"The prompt {name}",
                arguments=[types.PromptArgument(name=own, required=True) for own in arguments],
            )
            for name, arguments in names.items()
        ]
    )


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> Result:
    if params.name not in PROMPTS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    try:
        contents = await prompt_contents(ctx, params)
    except InputNeededError as needed:
        return needed.result
    return completed(ctx, {"messages": [{"role": "user", "content": content} for content in contents]})


STATIC: dict[str, Result] = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched resource content"},
}


# Skills

SKILLS = "io.modelcontextprotocol/skills"
FILES: dict[str, str] = {
    f"skill://{path}": content
    for path, content in {
        "reports/quarterly/SKILL.md": "---\nname: quarterly\ndescription: Write a quarterly report ☃\n"
        "metadata:\n  version: '1.0'\n---\n\nFollow references/style.md.\n",
        "reports/quarterly/references/style.md": "Be brief.\n",
        "today/SKILL.md": "---\nname: today\ndescription: Say what is to be done today\n---\n\nIt depends.\n",
        "unlisted/SKILL.md": "---\nname: unlisted\ndescription: Do what no list shows\n---\n\nDo it.\n",
    }.items()
}


def skill(path: str, description: str, **frontmatter: Any) -> Result:
    root = f"skill://{path}"
    files = [
        {"uri": uri, "digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}", "size": len(text.encode())}
        for uri, text in FILES.items()
        if uri.startswith(f"{root}/")
    ]
    name = path.rpartition("/")[2]
    return {
        "uri": f"{root}/SKILL.md",
        "frontmatter": {"name": name, "description": description, **frontmatter},
        "resources": files,
    }


REPORT = skill("reports/quarterly", "Write a quarterly report ☃", metadata={"version": "1.0"})
TODAY = {**skill("today", "Say what is to be done today"), "resources": "dynamic"}
UNLISTED = skill("unlisted", "Do what no list shows")
DIRECTORIES: dict[str, list[Result]] = {
    "skill://reports/quarterly": [
        {"uri": "skill://reports/quarterly/SKILL.md", "name": "SKILL.md", "mimeType": "text/markdown"},
        {"uri": "skill://reports/quarterly/references", "name": "references", "mimeType": "inode/directory"},
    ],
    "skill://reports/quarterly/references": [
        {"uri": "skill://reports/quarterly/references/style.md", "name": "style.md", "mimeType": "text/markdown"}
    ],
    "skill://today": [{"uri": "skill://today/SKILL.md", "name": "SKILL.md", "mimeType": "text/markdown"}],
    "skill://unlisted": [{"uri": "skill://unlisted/SKILL.md", "name": "SKILL.md", "mimeType": "text/markdown"}],
}


class UriParams(types.PaginatedRequestParams):
    """What `skills/get` and `resources/directory/read` are asked with."""

    uri: str


def cached(ctx: Context, result: Result) -> Result:
    return completed(ctx, {**result, "ttlMs": 60_000, "cacheScope": "public"} if is_modern(ctx) else result)


async def list_skills(ctx: Context, params: types.PaginatedRequestParams | None) -> Result:
    return cached(ctx, {"skills": [REPORT, TODAY]})


async def get_skill(ctx: Context, params: UriParams) -> Result:
    for each in (REPORT, TODAY, UNLISTED):
        if each["uri"] == params.uri:
            return cached(ctx, {"skill": each})
    raise MCPError(types.INVALID_PARAMS, "Unknown skill", {"uri": params.uri})


async def read_directory(ctx: Context, params: UriParams) -> Result:
    """Give one child on each page."""
    if params.uri not in DIRECTORIES:
        raise MCPError(types.INVALID_PARAMS, "Not a directory", {"uri": params.uri})
    children, at = DIRECTORIES[params.uri], int(params.cursor or 0)
    more = {"nextCursor": f"{at + 1}"} if at + 1 < len(children) else {}
    return completed(ctx, {"resources": children[at : at + 1], **more})


async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    static = [
        types.Resource(uri=uri, name=uri.removeprefix("test://"), description=f"{uri}", mime_type=content["mimeType"])
        for uri, content in STATIC.items()
    ]
    skills = [
        types.Resource(
            uri=each["uri"],
            mime_type="text/markdown",
            name=each["frontmatter"]["name"],
            description=each["frontmatter"]["description"],
        )
        for each in (REPORT, TODAY)
    ]
    return types.ListResourcesResult(resources=[*static, *skills])


async def list_templates(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template="test://template/{id}/data", name="template", description="Data by id"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    before, _, rest = uri.partition("test://template/")
    if uri in STATIC:
        content = STATIC[uri]
    elif uri in FILES:
        content = {"mimeType": "text/markdown", "text": FILES[uri]}
    elif not before and rest.endswith("/data"):
        own = rest.removesuffix("/data")
        data = {"id": own, "templateTest": True, "data": f"Data for ID: {own}"}
        content = {"mimeType": "application/json", "text": json.dumps(data)}
    else:
        code = types.INVALID_PARAMS if is_modern(ctx) else -32002
        raise MCPError(code, "Resource not found", {"uri": uri})
    return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, **content}]})


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [value for value in ("paris", "park", "party") if value.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def accept(ctx: Context, params: types.RequestParams) -> types.EmptyResult:
    return types.EmptyResult()


FRESH = CacheHint(ttl_ms=60_000, scope="public")
server = Server(
    "conformance-reference",
    version="1.0.0",
    on_list_tools=list_tools,
    on_list_prompts=list_prompts,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    on_completion=complete,
    on_subscriptions_listen=ListenHandler(bus),
    cache_hints={
        "tools/list": FRESH,
        "prompts/list": FRESH,
        "resources/list": FRESH,
        "resources/templates/list": FRESH,
        "resources/read": FRESH,
    },
)
server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
server.add_request_handler("skills/list", types.PaginatedRequestParams, list_skills)
server.add_request_handler("skills/get", UriParams, get_skill)
server.add_request_handler("resources/directory/read", UriParams, read_directory)
server.extensions[SKILLS] = {"directoryRead": True}
server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)
server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, accept)
server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, accept)
server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, accept)


async def main() -> None:
    changes = NotificationOptions(prompts_changed=True, tools_changed=True)
    said, heard = anyio.create_memory_object_stream[SessionMessage](0)
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        tasks.start_soon(declare_skills, heard, write)
        await server.run(read, said, server.create_initialization_options(changes))


async def declare_skills(
    heard: MemoryObjectReceiveStream[SessionMessage], write: MemoryObjectSendStream[SessionMessage]
) -> None:
    """Pass everything on; the SDK leaves extensions out of what it says in the legacy revisions."""
    async with heard, write:
        async for said in heard:
            if isinstance(said.message, types.JSONRPCResponse) and "protocolVersion" in said.message.result:
                said.message.result["capabilities"]["extensions"] = server.extensions
            await write.send(said)


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # sampling and logging are what is tested here
    anyio.run(main)
