"""Real clients: all that they see of a server directly, they see through search-mcp.

Each client visits once for all its tests. The lines of the visit are judged by the official types, and its results
are compared with those of the same SDK and the same server without search-mcp.
"""

import json
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from fork_server import ForkServer, forked

from real import packages
from real.conftest import Aggregator
from real.peers import CLIENTS, HERE, Line, Run, Step, Visit, as_asked, exchanges, inspect, judge, judge_client, visit
from real.processes import engines, stop_engines, wait_until_gone

MODERN = ("typescript-2-auto", "typescript-2-modern", "python-2", "python-2-modern")
OWN_TOOLS = ["search_tools", "describe_tools", "list_servers"]
CALL_TOOLS = ["call_tool", "call_read_only_tool"]

ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ada", "check": True}},
    "roots/list": {"roots": [{"uri": "file:///work", "name": "work"}]},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "a sample"},
        "model": "none",
    },
}

# Calls of server-everything with the same result every time; the second value is the question to the client.
CALLS: dict[str, tuple[dict[str, Any], str | None]] = {
    "echo": ({"message": "héllo, wörld ✓ 日本語 \u2028"}, None),
    "get-annotated-message": ({"messageType": "error", "includeImage": True}, None),
    "get-resource-links": ({"count": 3}, None),
    "get-structured-content": ({"location": "New York"}, None),
    "get-sum": ({"a": 1e21, "b": 0.1}, None),
    "get-tiny-image": ({}, None),
    "trigger-elicitation-request": ({}, "elicitation/create"),
    "trigger-sampling-request": ({"prompt": "hello", "maxTokens": 7}, "sampling/createMessage"),
    "get-roots-list": ({}, None),  # the server decides whether the roots are asked for again
}
URI = "demo://resource/static/document/features.md"
COUNTING = "trigger-long-running-operation"
SHORT, ENDLESS = {"duration": 0.3, "steps": 3}, {"duration": 600, "steps": 6000}


def tour(prefix: str) -> dict[str, Step]:
    """Return steps through server-everything, its tools and prompts under a prefix."""

    def call(tool: str, arguments: dict[str, Any], **more: Any) -> Step:
        return {"do": "tools/call", "params": {"name": prefix + tool, "arguments": arguments}, **more}

    completion = {"ref": {"type": "ref/prompt", "name": f"{prefix}completable-prompt"}}
    return {
        "tools": {"do": "tools/list"},
        **{tool: call(tool, arguments) for tool, (arguments, _) in CALLS.items()},
        "progress": call(COUNTING, SHORT, progress=True),
        "resources": {"do": "resources/list"},
        "templates": {"do": "resources/templates/list"},
        "read": {"do": "resources/read", "params": {"uri": URI}},
        "prompts": {"do": "prompts/list"},
        "prompt": {
            "do": "prompts/get",
            "params": {"name": f"{prefix}args-prompt", "arguments": {"city": "Paris", "state": "Texas"}},
        },
        "completion": {
            "do": "completion/complete",
            "params": {**completion, "argument": {"name": "department", "value": "E"}},
        },
    }


def refused(prefix: str) -> dict[str, Step]:
    """Return steps that only search-mcp handles correctly: server-everything sends progress after a cancellation."""
    after = {"name": f"{prefix}echo", "arguments": {"message": "still here"}}
    log = {"name": f"{prefix}toggle-simulated-logging", "arguments": {}}  # logs once in the call, and every 5 s
    return {
        "cancel": {
            "do": "tools/call",
            "params": {"name": prefix + COUNTING, "arguments": ENDLESS},
            "cancel": True,
        },
        "after": {"do": "tools/call", "params": after},
        "log": {"do": "tools/call", "params": log},
        "no log": {"do": "tools/call", "params": log},
        "unknown": {"do": "tools/call", "params": {"name": "invalid.tool", "arguments": {}}},
    }


@pytest.fixture(scope="session")
def direct(new_run: Callable[[], Run]) -> Callable[[str], Visit]:
    """Let a client's SDK visit server-everything directly, in the newest era of both."""
    legacy = {"typescript-1": "typescript-1", "python-1": "python-1"}

    @cache
    def baseline(client: str) -> Visit:
        return visit(CLIENTS[client], packages.server("everything"), tour(""), new_run(), answers=ANSWERS)

    return lambda name: baseline(
        legacy.get(name) or ("typescript-2" if name.startswith("typescript") else "python-2-legacy")
    )


@pytest.fixture(scope="session", params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def run(client: str, new_run: Callable[[], Run]) -> Run:
    return new_run()


@pytest.fixture(scope="session")
def through(client: str, run: Run, aggregator_by_default: Aggregator, server_fork_server: ForkServer | None) -> Visit:
    """Let the client visit server-everything, with two other servers, through search-mcp."""

    def backend(command: list[str]) -> dict[str, Any]:
        return {"command": command[0], "args": command[1:], "env": run.mark}

    servers = {
        "everything": backend(run.tapped(packages.server("everything"), "everything")),
        "memory": backend(packages.server("memory")),
        "time": backend(
            forked(server_fork_server, [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"])
        ),
    }
    steps = tour("everything.") | refused("everything.")
    visited = visit(CLIENTS[client], aggregator_by_default(servers), steps, run, answers=ANSWERS)
    assert engines(run.folder.name) or sys.platform != "linux", "the default is a shared engine"
    stop_engines()
    return visited


def without_envelope(result: dict[str, Any]) -> dict[str, Any]:
    """Leave out the members that each hop sets: the modern envelope, which SDKs also add where there was none."""
    return {k: v for k, v in result.items() if k not in ("resultType", "ttlMs", "cacheScope", "_meta")}


def test_it_connects_in_its_era(client: str, through: Visit) -> None:
    expected = "2026-07-28" if client in MODERN else "2025-11-25"
    assert through.one("connected")["protocol"] in (expected, None)  # the TypeScript SDK 1.x does not keep it
    listing = through.exchanges("tools/list")[0]
    claimed = listing.params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion", "2025-11-25")
    assert claimed == expected


def test_it_sees_every_tool_and_then_ours(through: Visit, direct: Callable[[str], Visit], client: str) -> None:
    names = [tool["name"] for tool in through.result("tools")["tools"]]
    everything = [f"everything.{tool['name']}" for tool in direct(client).result("tools")["tools"]]
    memory = [name for name in names if name.startswith("memory.")]
    assert len(memory) == 9
    time = ["time.get_current_time", "time.convert_time"]
    ours = [name for name in names if "." not in name and name not in CALL_TOOLS]
    assert [name for name in names if name not in CALL_TOOLS] == [*everything, *memory, *time, *ours]
    assert sorted(ours) == sorted(OWN_TOOLS)


@pytest.mark.parametrize("tool", CALLS)
def test_a_result_is_the_same_as_directly(
    tool: str, client: str, through: Visit, direct: Callable[[str], Visit]
) -> None:
    assert without_envelope(through.result(tool)) == without_envelope(direct(client).result(tool))
    arguments, _ = CALLS[tool]
    # A modern client repeats a call with the answers to its questions: the last request got the result.
    here = through.exchanges("tools/call", name=f"everything.{tool}", arguments=arguments)[-1].reply
    there = direct(client).exchanges("tools/call", name=tool, arguments=arguments)[-1].reply
    assert here is not None and there is not None
    assert here.payload == there.payload


@pytest.mark.parametrize(("tool", "asked"), [(t, asked) for t, (_, asked) in CALLS.items() if asked])
def test_the_questions_are_the_same_as_directly(
    tool: str, asked: str, client: str, through: Visit, direct: Callable[[str], Visit]
) -> None:
    here, there = through.one("asked", method=asked), direct(client).one("asked", method=asked)
    assert without_envelope(here["params"]) == as_asked(without_envelope(there["params"]), "everything")


@pytest.mark.parametrize("step", ["templates", "read", "completion", "prompt"])
def test_resources_prompts_and_completions_are_the_same_as_directly(
    step: str, client: str, through: Visit, direct: Callable[[str], Visit]
) -> None:
    assert without_envelope(through.result(step)) == without_envelope(direct(client).result(step))


def test_resources_of_all_servers_are_listed_as_they_are(
    client: str, through: Visit, direct: Callable[[str], Visit]
) -> None:
    *everything, graph = through.result("resources")["resources"]
    assert everything == direct(client).result("resources")["resources"]
    assert graph["uri"].startswith("memory:")  # the only one of server-memory; server-time has none


def test_prompts_are_listed_under_their_server(client: str, through: Visit, direct: Callable[[str], Visit]) -> None:
    there = direct(client).result("prompts")["prompts"]
    expected = [prompt | {"name": f"everything.{prompt['name']}"} for prompt in there]
    assert through.result("prompts")["prompts"] == expected


def test_progress_arrives_before_the_result(client: str, through: Visit) -> None:
    # More than one request, if the server asked for the roots of a modern client at that moment.
    requests = through.exchanges("tools/call", name=f"everything.{COUNTING}", arguments=SHORT)
    assert [report for request in requests for report in request.progress] == [1, 2, 3]
    seen = [report["progress"] for report in through.all("progress", step="progress")]
    # The TypeScript SDKs lose a report that arrives in one read with the result, perhaps the last one here.
    assert seen in ([1, 2, 3], [1, 2])
    assert "completed" in json.dumps(through.result("progress"))


def test_a_cancellation_reaches_the_one_request_it_concerns(client: str, through: Visit, run: Run) -> None:
    through.one("error", step="cancel")
    abandoned = through.exchanges("tools/call", name=f"everything.{COUNTING}", arguments=ENDLESS)[-1]
    assert abandoned.cancelled and abandoned.reply is None
    (backend,) = run.conversations("everything")  # one process, even if a client starts us several times to probe
    calls = [exchange for exchange in exchanges(backend) if exchange.method == "tools/call"]
    assert [call.params["arguments"] for call in calls if call.cancelled] == [ENDLESS]
    assert "still here" in json.dumps(through.result("after"))


def test_an_unknown_tool_is_an_error_with_suggestions(through: Visit) -> None:
    error = through.one("error", step="unknown")
    assert error["code"] == -32602
    assert error["message"].removeprefix("MCP error -32602: ").startswith("Tool not found: invalid.tool")
    assert isinstance(error["data"]["suggestions"], list)


def test_a_log_message_arrives_once_where_it_is_wanted(client: str, through: Visit, run: Run) -> None:
    # A modern client that did not opt in gets none.
    sent = [] if client in MODERN else notified(run.conversations("everything"), "notifications/message")
    assert notified(through.conversations, "notifications/message") == sent


def notified(conversations: list[list[Line]], method: str) -> list[Any]:
    """Return the parameters of every notification of this kind from a server."""
    messages = [json.loads(line) for lines in conversations for direction, line in lines if direction == "<"]
    return [message["params"] for message in messages if message.get("method") == method]


def test_no_error_is_logged(through: Visit) -> None:
    assert "Traceback" not in through.stderr
    assert " ERROR " not in through.stderr


def test_every_line_to_the_client_is_legal(through: Visit) -> None:
    for conversation in through.conversations:
        assert judge(conversation).waiting() == []


def test_every_line_to_a_backend_is_legal(through: Visit, run: Run) -> None:
    for conversation in run.conversations("everything"):
        judge_client(conversation)


def test_no_process_is_left(through: Visit, run: Run) -> None:
    assert wait_until_gone(run.folder.name) == set()


# Backends on the current SDKs speak both eras; the client's era must be used.

BACKENDS = ("typescript", "python")


def growth(server: str) -> dict[str, Step]:
    def call(tool: str, **more: Any) -> Step:
        return {"do": "tools/call", "params": {"name": f"{server}.{tool}", "arguments": {}}, **more}

    endless = {"name": f"{server}.count", "arguments": {"to": 10**9}}
    return {
        f"{server} era": call("era"),
        f"{server} ask": call("ask"),
        f"{server} cancel": {"do": "tools/call", "params": endless, "cancel": True},
        f"{server} grow": call("grow"),
        f"{server} news": {"await": "notifications/tools/list_changed"},
        f"{server} tools": {"do": "tools/list"},
        f"{server} grown": call("grown"),
    }


@pytest.fixture(scope="session")
def paired(
    client: str, new_run: Callable[[], Run], aggregator: Aggregator, server_fork_server: ForkServer | None
) -> Visit:
    """Let the client visit servers that speak both eras."""
    run = new_run()
    typescript = [str(HERE / "servers" / "typescript2.mjs"), str(packages.modules())]
    python = forked(server_fork_server, [sys.executable, str(HERE / "servers" / "python2.py")])
    servers: dict[str, Any] = {
        "typescript": {"command": packages.node(), "args": typescript},
        "python": {"command": python[0], "args": python[1:]},
    }
    steps: dict[str, Step] = {"tools": {"do": "tools/list"}}
    for server in BACKENDS:
        steps |= growth(server)
    answers = {"elicitation/create": {"action": "accept", "content": {"name": "Ada"}}}
    return visit(CLIENTS[client], aggregator(servers), steps, run, answers=answers, listen={"toolsListChanged": True})


@pytest.mark.parametrize("server", BACKENDS)
def test_a_backend_is_spoken_to_in_the_era_of_the_client(server: str, client: str, paired: Visit) -> None:
    (content,) = paired.result(f"{server} era")["content"]
    assert content["text"] == ("modern" if client in MODERN else "legacy")


@pytest.mark.parametrize("server", BACKENDS)
def test_a_backend_that_asks_is_answered(server: str, paired: Visit) -> None:
    (content,) = paired.result(f"{server} ask")["content"]
    assert content["text"] == "hello Ada"
    assert [event["method"] for event in paired.all("asked")] == ["elicitation/create"] * len(BACKENDS)


@pytest.mark.parametrize("server", BACKENDS)
def test_a_counting_backend_is_cancelled(server: str, paired: Visit) -> None:
    paired.one("error", step=f"{server} cancel")
    (exchange,) = paired.exchanges("tools/call", name=f"{server}.count")
    assert exchange.cancelled and exchange.reply is None


@pytest.mark.parametrize("server", BACKENDS)
def test_a_new_tool_is_announced_and_listed_and_called(server: str, paired: Visit) -> None:
    before = [tool["name"] for tool in paired.result("tools")["tools"]]
    after = [tool["name"] for tool in paired.result(f"{server} tools")["tools"]]
    assert f"{server}.grown" not in before
    assert f"{server}.grown" in after
    assert paired.result(f"{server} grown")["content"][0]["text"] == "a new tool"


def test_every_line_about_both_eras_is_legal(paired: Visit) -> None:
    for conversation in paired.conversations:
        assert judge(conversation).waiting() == []


# The Inspector connects anew for each method.


@pytest.fixture(scope="session")
def inspected(new_run: Callable[[], Run], aggregator_by_default: Aggregator) -> Callable[..., Visit]:
    """Run one method of the Inspector against server-everything through search-mcp."""
    everything = packages.server("everything")

    def once(*arguments: str) -> Visit:
        run = new_run()
        server = {"command": everything[0], "args": everything[1:], "env": run.mark}
        visited = inspect(aggregator_by_default({"everything": server}), list(arguments), run)
        stop_engines()
        assert visited.seen, f"the Inspector failed\n{visited}"
        for conversation in visited.conversations:
            judge(conversation)
        assert wait_until_gone(run.folder.name) == set()
        return visited

    return once


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
def test_the_inspector_calls_a_tool(era: str, inspected: Callable[..., Visit], direct: Callable[[str], Visit]) -> None:
    tool = "get-structured-content"
    arguments = json.dumps(CALLS[tool][0])
    method = ("--method", "tools/call", "--tool-name", f"everything.{tool}", "--tool-args-json", arguments)
    seen = inspected(*method, "--protocol-era", era).result("inspect")
    assert without_envelope(seen) == without_envelope(direct("typescript-2").result(tool))


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_tools(era: str, inspected: Callable[..., Visit]) -> None:
    tools = inspected("--method", "tools/list", "--protocol-era", era).result("inspect")["tools"]
    names = [tool["name"] for tool in tools]
    assert names[0] == "everything.echo"
    assert sorted(set(names) - {*CALL_TOOLS} - {n for n in names if "." in n}) == sorted(OWN_TOOLS)


def test_the_inspector_reads_a_resource(inspected: Callable[..., Visit], direct: Callable[[str], Visit]) -> None:
    seen = inspected("--method", "resources/read", "--uri", URI).result("inspect")
    assert seen == without_envelope(direct("typescript-2").result("read"))


def test_the_inspector_gets_a_prompt(inspected: Callable[..., Visit], direct: Callable[[str], Visit]) -> None:
    prompt = ("--prompt-name", "everything.args-prompt", "--prompt-args", "city=Paris", "state=Texas")
    seen = inspected("--method", "prompts/get", *prompt).result("inspect")
    assert seen == without_envelope(direct("typescript-2").result("prompt"))
