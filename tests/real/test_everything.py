"""The Python SDK's example server for all features: real clients see the same directly and through search-mcp."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from fork_server import ForkServer, forked

from real import packages
from real.conftest import Aggregator
from real.peers import CLIENTS, HERE, Run, Step, Visit, as_asked, judge, visit

ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"response": "yes", "name": "Ada", "username": "ada"}},
    "roots/list": {"roots": [{"uri": "file:///work", "name": "work"}]},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "a sample"},
        "model": "none",
    },
}
# Except `test_tool_with_progress`, which returns its progress token: each hop has its own tokens.
TOOLS: dict[str, dict[str, Any]] = {
    "test_simple_text": {},
    "test_image_content": {},
    "test_audio_content": {},
    "test_embedded_resource": {},
    "test_multiple_content_types": {},
    "test_tool_with_logging": {},
    "test_sampling": {"prompt": "a poem"},
    "test_elicitation": {"message": "Who?"},
    "test_elicitation_sep1034_defaults": {},
    "test_elicitation_sep1330_enums": {},
    "test_error_handling": {},
    "test_missing_capability": {},
    "test_streaming_elicitation": {},
    "test_input_required_result_elicitation": {},
    "test_input_required_result_sampling": {},
    "test_input_required_result_list_roots": {},
    "test_input_required_result_multiple_inputs": {},
    "test_input_required_result_multi_round": {},
    "json_schema_2020_12_tool": {},
}
URIS = ("test://static-text", "test://static-binary", "test://template/7/data", "test://nobody")
PROMPTS: dict[str, dict[str, str]] = {
    "test_simple_prompt": {},
    "test_prompt_with_arguments": {"arg1": "a", "arg2": "☃"},
    "test_prompt_with_embedded_resource": {"resourceUri": "test://static-text"},
    "test_prompt_with_image": {},
    "test_input_required_result_prompt": {},
}
COMPLETION: dict[str, Any] = {
    "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
    "argument": {"name": "arg1", "value": "a"},
    "context": {"arguments": {"arg2": "b"}},
}
STEPS: dict[str, Step] = {
    "tools": {"do": "tools/list"},
    **{
        name: {"do": "tools/call", "params": {"name": name, "arguments": arguments}}
        for name, arguments in TOOLS.items()
    },
    **{uri: {"do": "resources/read", "params": {"uri": uri}} for uri in URIS},
    **{
        name: {"do": "prompts/get", "params": {"name": name, "arguments": arguments}}
        for name, arguments in PROMPTS.items()
    },
    **{kind: {"do": f"{kind}/list"} for kind in ("prompts", "resources", "resources/templates")},
    "completion": {"do": "completion/complete", "params": COMPLETION},
}
OWN_TOOLS = {"search_tools", "describe_tools", "call_tool", "call_read_only_tool", "list_servers"}


@pytest.fixture(scope="module", params=["python-2-legacy", "python-2-modern", "typescript-2-modern"])
def visits(
    request: pytest.FixtureRequest,
    new_run: Callable[[], Run],
    aggregator: Aggregator,
    server_fork_server: ForkServer | None,
) -> tuple[Visit, Visit]:
    """Let a client visit the server directly, then as the only one behind search-mcp, under its own names."""
    program = str(HERE / "servers" / "python2_everything.py")
    server = forked(server_fork_server, [sys.executable, program, str(packages.everything_server())])
    entry = {"command": server[0], "args": server[1:], "prefix": ""}
    through = aggregator({"everything": entry}, listing="full")
    direct, behind = (
        visit(CLIENTS[request.param], each, STEPS, new_run(), answers=ANSWERS) for each in (server, through)
    )
    return direct, behind


@pytest.mark.parametrize("step", STEPS)
def test_every_step_has_the_same_result_as_directly(step: str, visits: tuple[Visit, Visit]) -> None:
    direct, through = (seen(each, step) for each in visits)
    assert through == [as_passed_on(event) for event in direct]


def test_all_questions_are_the_same_as_directly(visits: tuple[Visit, Visit]) -> None:
    direct, through = ([essence(event) for event in each.all("asked")] for each in visits)
    assert sorted(map(json.dumps, through)) == sorted(json.dumps(as_passed_on(event)) for event in direct)
    assert len(direct) >= 5


def test_every_line_is_legal(visits: tuple[Visit, Visit]) -> None:
    for conversation in visits[1].conversations:
        assert judge(conversation).waiting() == []


def seen(visited: Visit, step: str) -> list[dict[str, Any]]:
    """Return the client's events in a step, without those that search-mcp adds by its contract."""
    events = []
    for event in visited.seen:
        if event.get("step") != step:
            continue
        kept = {key: essence(value) for key, value in event.items()}
        if event["saw"] == "error":
            kept = {"saw": "error", "code": inner_code(event)}
        events.append(kept)
    return events


def as_passed_on(event: dict[str, Any]) -> dict[str, Any]:
    """Put the server's name in front of a question."""
    if event["saw"] != "asked" or "params" not in event:
        return event
    return {**event, "params": as_asked(event["params"], "everything")}


def inner_code(error: dict[str, Any]) -> int:
    data = error.get("data")
    if error["code"] == -32000 and isinstance(data, dict) and "tool" in data:
        error = data
    code: int = error["code"]
    return code


def essence(value: Any) -> Any:
    """Leave out the envelope that each hop sets, ids and states, and our own tools."""
    if not isinstance(value, dict):
        return value
    kept = {
        k: essence(v)
        for k, v in value.items()
        if k not in ("resultType", "ttlMs", "cacheScope", "_meta", "requestState")
    }
    if isinstance(kept.get("tools"), list):
        kept["tools"] = [tool for tool in kept["tools"] if tool.get("name") not in OWN_TOOLS]
    return kept
