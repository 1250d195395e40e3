"""Every error of a call, in the order of the contract's table (its first row is in test_calls)."""

from typing import Any

import pytest

from conversations.back import Back, exits, leaves_to_the_test, refuses, stays_silent
from conversations.eras import legacy_legacy, legacy_modern, modern_client, modern_legacy, modern_modern
from conversations.front import Asked
from conversations.pair import Pair
from conversations.words import ECHO, GREET, SERVER_INFO, Json, encode, names, text, tool
from search_mcp.wire.payload import LARGE_BYTES
from search_mcp.wire.structs import Raw

# no such tool


def test_a_tool_that_does_not_exist_is_not_found_with_suggestions(pair: Pair) -> None:
    pair.front.opens()
    said = pair.front.calls("invalid.tool").fails(-32602, "Tool not found: invalid.tool")
    assert isinstance(said.body["error"]["data"]["suggestions"], list)
    said = pair.front.calls("alpha.gret").fails(-32602, "Tool not found: alpha.gret")
    assert said.body["error"]["data"]["suggestions"][0] == "alpha.greet"
    message: str = said.body["error"]["message"]
    assert message.startswith("Tool not found: alpha.gret. Nearest: alpha.greet")
    assert message.endswith(". The first is called as alpha.greet(name: string)")


def test_so_are_a_prompt_and_a_resource(pair: Pair) -> None:
    pair.alpha.prompts = [{"name": "hello"}]
    pair.alpha.resources = [{"uri": "file:///a.txt", "name": "a"}]
    pair.with_server("beta").resources = [{"uri": "mail://b", "name": "b"}]
    pair.front.opens()
    said = pair.front.asks("prompts/get", {"name": "alpha.helo"}).fails(-32602)
    assert said.body["error"]["message"] == "Prompt not found: alpha.helo. Nearest: alpha.hello"
    code = -32602 if pair.front.is_modern else -32002
    said = pair.front.asks("resources/read", {"uri": "fil:///b.txt"}).fails(code)
    assert said.body["error"]["message"].startswith("Resource not found: fil:///b.txt. Nearest: file:///a.txt")


@pytest.mark.parametrize("name", ["gret", "alpha.", "alpha", ".greet", "beta.greet", "ALPHA.GREET "])
def test_nearly_a_name_is_none(pair: Pair, name: str) -> None:
    pair.front.opens()
    pair.front.calls(name).fails(-32602, f"Tool not found: {name}")


@pytest.mark.parametrize(
    "name",
    [
        "greet",
        "mcp__search-mcp__alpha__greet",
        "mcp_search-mcp_alpha.greet",
        "search-mcp-alpha.greet",
        "search-mcp_alpha_greet",
        "mcp__search_mcp__greet",
    ],
)
@pytest.mark.parametrize("by", ["itself", "call_tool"])
def test_a_bare_name_and_one_with_a_clients_prefix_for_us_are_found(pair: Pair, name: str, by: str) -> None:
    pair.with_server("beta").tools = [tool("add"), tool("echo")]
    pair.front.opens()
    call = (
        pair.front.calls(name, name="Ada")
        if by == "itself"
        else pair.front.calls("call_tool", name=name, arguments={"name": "Ada"})
    )
    pair.alpha.is_called("greet", name="Ada").returns(text("hello"))
    call.gets(text("hello"))


def test_our_own_tools_are_found_with_a_clients_prefix_for_us(pair: Pair) -> None:
    pair.alpha.tools = [tool("search_tools")]
    pair.front.opens()
    own = ["search_tools", "mcp__search-mcp__describe_tools"]
    described = pair.front.calls("mcp__search-mcp__describe_tools", names=own).result()["structuredContent"]
    assert names(described["tools"]) == ["search_tools", "describe_tools"]
    assert described["tools"][0]["description"].startswith("Find tools")
    pair.front.calls("call_tool", name="mcp__search-mcp__call_tool").fails(-32602)


def test_a_server_may_be_called_as_we_are(pair: Pair) -> None:
    _call_waits_for_the_first_list(pair, pair.with_server("search-mcp"))


def test_a_bare_name_that_two_servers_have_is_not_unique_and_both_are_named(pair: Pair) -> None:
    pair.with_server("beta")
    pair.front.opens()
    error = pair.front.calls("echo").fails(-32602).body["error"]
    assert error["message"] == "2 servers have echo: alpha, beta; write alpha.echo"
    assert error["data"] == {"suggestions": ["alpha.echo", "beta.echo"]}


def test_a_bare_name_waits_until_it_is_known_who_has_it(pair: Pair) -> None:
    beta = pair.with_server("beta")
    beta.on("tools/list", leaves_to_the_test)
    listing = _opens_slowly(pair)
    call = pair.front.calls("echo")
    pair.front.hears_nothing()
    pair.alpha.hears_nothing()
    beta.receives("tools/list").returns({"tools": [ECHO]})
    listing.result()
    call.fails(-32602, "2 servers have echo: alpha, beta; write alpha.echo")


@pytest.mark.parametrize("state", [{}, {"enabled": False}, {"problem": "it has no key; set it"}, {"deny": ("status",)}])
def test_no_server_takes_a_bare_name_that_begins_with_anothers_prefix(pair: Pair, state: dict[str, Any]) -> None:
    """Whatever state that other server is in: a call may hold what only that server is trusted with."""
    git = pair.with_server("git", **state)
    git.tools = [tool("status")] if state == {} else []
    pair.alpha.tools = [tool("git_status"), tool("git_log"), tool("git.push")]
    pair.front.opens()
    for name in ("git_log", "git-log", "mcp__search-mcp__git_log"):
        pair.front.calls(name).fails(-32602)
    if state == {}:
        call = pair.front.calls("git_status")
        git.is_called("status").returns(text("x"))
        call.gets(text("x"))
    else:
        pair.front.calls("git_status").fails(-32602)


def test_its_own_server_is_called_by_a_bare_name_that_begins_with_its_prefix(pair: Pair) -> None:
    pair.with_server("git").tools = [tool("git_status")]
    pair.alpha.tools = [tool("git_status")]
    pair.front.opens()
    call = pair.front.calls("git_status")
    pair.backs["git"].is_called("git_status").returns(text("x"))
    call.gets(text("x"))


def test_a_prompt_is_found_in_the_same_ways(pair: Pair) -> None:
    pair.alpha.prompts = [{"name": "hello"}]
    pair.front.opens()
    for name in ("hello", "mcp__search-mcp__alpha__hello", "mcp__search-mcp__hello"):
        call = pair.front.asks("prompts/get", {"name": name})
        pair.alpha.receives("prompts/get").returns({"messages": []})
        call.gets({"messages": []})


def test_call_tool_finds_nothing_either(pair: Pair) -> None:
    pair.front.opens()
    said = pair.front.calls("call_tool", name="alpha.gret").fails(-32602, "Tool not found: alpha.gret")
    assert said.body["error"]["data"]["suggestions"][0] == "alpha.greet"


# malformed tools/call params


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "name"),
        ({"name": 7}, "name"),
        ({"name": None}, "name"),
        ({"name": ""}, "name"),
        ({"name": "alpha.echo", "arguments": [1]}, "arguments"),
        ({"name": "alpha.echo", "arguments": 7}, "arguments"),
        ({"name": "alpha.echo", "arguments": "not json"}, "arguments"),
        ({"name": "search_tools", "arguments": [1]}, "arguments"),
        ({"name": "call_tool", "arguments": {}}, "name"),
        ({"name": "call_tool", "arguments": {"name": "alpha.echo", "arguments": [1]}}, "arguments"),
    ],
    ids=repr,
)
def test_malformed_params_are_refused_by_name(pair: Pair, params: Json, field: str) -> None:
    pair.front.opens()
    said = pair.front.asks("tools/call", params).fails(-32602)
    assert field in said.body["error"]["message"]


# the backend answers tools/call with a JSON-RPC error


def test_a_backends_error_is_wrapped_with_all_it_said(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo", x=1)
    pair.alpha.fails(-32603, "it broke", {"why": [1, "☃"]})
    data = {"server": "alpha", "tool": "echo", "code": -32603, "message": "it broke", "data": {"why": [1, "☃"]}}
    pair.front.fails(-32000, "Backend MCP server error: it broke", data)


def test_an_error_over_arguments_that_do_not_fit_brings_the_schema(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.greet", nome="Ada")
    pair.alpha.fails(-32602, "name is required")
    data = {"server": "alpha", "tool": "greet", "code": -32602, "message": "name is required"}
    said = pair.front.fails(
        -32000, "Backend MCP server error: name is required", {**data, "inputSchema": GREET["inputSchema"]}
    )
    hint = said.body["error"]["message"].splitlines()[1]
    wrong = "Wrong arguments: name is missing; nome is not a parameter"
    assert hint == f"{wrong}. Call it as alpha.greet(name: string)"


def test_an_error_over_a_schema_that_fans_out_is_passed_on_at_once(pair: Pair) -> None:
    """Each of these few lines doubles the work of a validator that follows them all."""
    steps = {f"s{level}": {"anyOf": [{"$ref": f"#/$defs/s{level + 1}"}] * 10} for level in range(18)}
    schema = {"properties": {"a": {"$ref": "#/$defs/s0"}}, "$defs": {**steps, "s18": {"type": "string"}}}
    pair.alpha.tools = [{"name": "fan", "inputSchema": {"type": "object", **schema}}]
    pair.front.opens()
    pair.front.calls("alpha.fan", a=1)
    pair.alpha.fails(-32602, "no")
    pair.front.fails(-32000, "Backend MCP server error: no")
    pair.front.calls("alpha.fan", a=1)
    pair.alpha.returns(text("no", isError=True))
    pair.front.gets(text("no", isError=True))


def test_an_error_over_arguments_that_fit_does_not(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("call_tool", name="alpha.greet", arguments={"name": "Ada"})
    pair.alpha.fails(-32603, "no")
    pair.front.fails(-32000, data={"server": "alpha", "tool": "greet", "code": -32603, "message": "no"})


def test_a_backends_error_has_its_own_name_of_the_tool(pair: Pair) -> None:
    pair.alpha.config = {"rename": {"greet": "hello"}}
    pair.front.opens()
    pair.front.calls("alpha__hello", name="Ada")
    pair.alpha.fails(1, "no")
    pair.front.fails(-32000, data={"server": "alpha", "tool": "greet", "code": 1, "message": "no"})


def test_an_unlisted_tools_error_is_wrapped_like_any_other(pair: Pair) -> None:
    pair.alpha.on("tools/list", refuses(-32601, "Method not found"))
    pair.front.opens()
    call = pair.front.calls("alpha.any")
    pair.alpha.is_called("any").fails(-1, "no")
    call.fails(-32000, "Backend MCP server error: no")


@pytest.mark.parametrize("kind", ["tool", "prompt"])
def test_no_error_shows_a_secret(pair: Pair, kind: str) -> None:
    pair.alpha.config = {"env": {"T": "hunter2-secret"}, "secrets": frozenset({"hunter2-secret"})}
    pair.alpha.prompts = [{"name": "p"}]
    pair.front.opens()
    if kind == "tool":
        call = pair.front.calls("alpha.echo")
        pair.alpha.is_called("echo").fails(-32603, "hunter2-secret refused", {"token": "hunter2-secret"})
    else:
        call = pair.front.asks("prompts/get", {"name": "alpha.p"})
        pair.alpha.receives("prompts/get").fails(-32603, "hunter2-secret refused", {"token": "hunter2-secret"})
    said = call.fails(-32000 if kind == "tool" else -32603).body
    assert "hunter2" not in str(said)
    assert "***" in str(said)


@pytest.mark.parametrize(
    "error", [7, None, [], {}, {"code": "x", "message": "y"}, {"code": 1}, {"code": 1.5, "message": ""}]
)
def test_an_error_that_is_none_is_still_an_answer(pair: Pair, error: Any) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.says(id=served.said.id, error=error)
    pair.front.fails(-32000)


# disabled, failed or not yet started in time


def test_a_disabled_server_is_not_running(pair: Pair) -> None:
    pair.with_server("beta", enabled=False)
    pair.front.opens()
    said = pair.front.calls("beta.echo").fails(-32000, "MCP server 'beta' is not running")
    data = said.body["error"]["data"]
    assert (data["server"], data["state"]) == ("beta", "disabled")
    assert data["reason"]
    assert "`search-mcp enable beta`" in said.body["error"]["message"]


def test_a_server_that_cannot_be_started_is_not_running(pair: Pair) -> None:
    pair.with_server("beta", problem="environment variable X is not set; set it")
    pair.front.opens()
    said = pair.front.calls("beta.echo").fails(-32000, "MCP server 'beta' is not running")
    data = {"server": "beta", "state": "failed", "reason": "environment variable X is not set; set it"}
    assert said.body["error"]["data"] == data


def test_a_server_that_failed_says_how_it_ended_and_its_last_words(pair: Pair) -> None:
    beta = pair.with_server("beta")
    beta.on("initialize", _dies)
    beta.on("server/discover", _dies)
    pair.front.opens()
    error = pair.front.calls("beta.echo").fails(-32000, "MCP server 'beta' is not running").body["error"]
    assert "code 3" in error["message"]
    assert 'no such module". search-mcp tries again in 1 s; call again after that' in error["message"]
    data = error["data"]
    assert (data["server"], data["state"]) == ("beta", "backing off")
    assert "code 3" in data["reason"]
    assert "no such module" in data["reason"]
    assert data["retryAfterSeconds"] > 0
    pair.after(300)
    assert len(beta.channels) == 5 * 2  # each try in both eras, then it is given up
    data = pair.front.calls("beta.echo").fails(-32000, "MCP server 'beta' is not running").body["error"]["data"]
    assert data["state"] == "failed"
    assert "retryAfterSeconds" not in data


def test_a_start_that_fails_for_a_cause_that_only_the_user_can_remove_is_not_repeated(pair: Pair) -> None:
    beta = pair.with_server("beta")
    for method in ("initialize", "server/discover"):
        beta.on(method, lambda back, _said: back.exits(127, "sh: 1: my-server: not found"))
    pair.front.opens()
    pair.after(300)
    assert len(beta.channels) == 1
    listed = pair.front.calls("list_servers").result()
    assert "\nbeta: failed 5 min ago, 0 tools (" in listed["content"][0]["text"]
    assert listed["structuredContent"]["servers"][1]["since"].endswith("Z")
    error = pair.front.calls("beta.echo").fails(-32000, "MCP server 'beta' is not running").body["error"]
    assert len(beta.channels) == 2
    assert error["message"].endswith('not found". Tell the user: calling again helps only after that is fixed')
    assert "retryAfterSeconds" not in error["data"]


def test_what_a_server_says_last_is_told_without_its_secrets(pair: Pair) -> None:
    beta = pair.with_server("beta", secrets=frozenset({"such module"}))
    beta.on("initialize", _dies)
    beta.on("server/discover", _dies)
    pair.front.opens()
    data = pair.front.calls("beta.echo").fails(-32000).body["error"]["data"]
    assert "no ***" in data["reason"]


def _dies(back: Any, said: Any) -> None:
    back.exits(3, "Error: no such module")


def test_a_call_waits_for_a_server_that_is_starting(pair: Pair) -> None:
    """An unlisted name of a server that has not listed yet: it may exist in a moment."""
    pair.alpha.on("tools/list", leaves_to_the_test)
    listing = _opens_slowly(pair)
    call, other = pair.front.calls("alpha.echo"), pair.front.calls("alpha.nothing")
    pair.front.hears_nothing()
    pair.alpha.receives("tools/list").returns({"tools": [ECHO]})
    listing.result()
    served = pair.alpha.is_called("echo")
    other.fails(-32602, "Tool not found: alpha.nothing")
    served.returns(text("x"))
    call.gets(text("x"))


def test_a_call_waits_for_the_server_that_is_starting_of_two_whose_names_begin_alike(pair: Pair) -> None:
    pair.with_server("fs")
    _call_waits_for_the_first_list(pair, pair.with_server("fs.backup"))


def test_a_call_to_a_server_that_does_not_start_in_time_is_told_so(pair: Pair) -> None:
    pair.with_server("beta", start_timeout_seconds=7.0).on("initialize", stays_silent)
    pair.backs["beta"].on("server/discover", stays_silent)
    listing = _opens_slowly(pair)
    pair.after(5)
    listing.result()
    call = pair.front.calls("beta.echo")
    pair.after(1.9)
    pair.front.hears_nothing()
    pair.after(0.1)
    data = call.fails(-32000, "MCP server 'beta' is not running").body["error"]["data"]
    assert (data["state"], data["server"]) == ("backing off", "beta")
    assert "7 s" in data["reason"]


@pytest.mark.parametrize("is_alive", [True, False])
def test_a_server_that_writes_text_instead_of_an_answer_is_said_to_write_no_mcp(pair: Pair, *, is_alive: bool) -> None:
    beta = pair.with_server("beta", start_timeout_seconds=7.0, secrets=frozenset({"s3cret"}))

    def write(back: Any, _said: Any) -> None:
        back.says_line(b"hello s3cret")
        if not is_alive:
            back.exits(1)

    beta.on("initialize", write)
    beta.on("server/discover", write)
    listing = _opens_slowly(pair)
    pair.after(7)
    listing.result()
    message = pair.front.calls("beta.echo").fails(-32000).body["error"]["message"]
    how = "it did not answer within 7 s of being started" if is_alive else "it exited with code 1"
    assert f"{how}, and wrote text that is not MCP to stdout: \"'hello ***'\"" in message


def test_a_call_of_a_listed_tool_waits_while_its_server_is_started_again(pair: Pair) -> None:
    """ "a call that arrives meanwhile waits within its timeout": DESIGN 7."""
    pair.front.opens()
    pair.alpha.exits(1)
    call = pair.front.calls("alpha.echo")
    pair.front.hears_nothing()
    pair.after(1)
    assert len(pair.alpha.channels) == 2
    pair.alpha.is_called("echo").returns(text("back again"))
    call.gets(text("back again"))


def test_a_call_that_waits_for_a_start_waits_no_longer_than_its_timeout(pair: Pair) -> None:
    pair.alpha.config = {"call_timeout_seconds": 2.0}
    pair.front.opens()
    pair.alpha.on("initialize", stays_silent)
    pair.alpha.on("server/discover", stays_silent)
    pair.alpha.exits(1)
    call = pair.front.calls("alpha.echo")
    pair.after(2.1)
    call.fails(-32000)


def test_a_failed_server_is_tried_again_when_it_is_asked_for(pair: Pair) -> None:
    """ "gives up after repeated failures until its config changes or it is asked for again": DESIGN 7."""
    pair.front.opens()
    pair.alpha.on_opening(exits)
    pair.alpha.exits(1)
    pair.after(300)
    channels = len(pair.alpha.channels)
    call = pair.front.calls("alpha.echo")
    assert len(pair.alpha.channels) > channels
    call.fails(-32000, "MCP server 'alpha' is not running")


def test_a_failed_server_is_not_tried_again_for_a_tool_that_it_never_had(pair: Pair) -> None:
    pair.front.opens()
    pair.alpha.on_opening(exits)
    pair.alpha.exits(1)
    pair.after(300)
    channels = len(pair.alpha.channels)
    pair.front.calls("alpha.nope").fails(-32602, "Tool not found: alpha.nope")
    assert len(pair.alpha.channels) == channels


def test_the_tools_of_a_server_whose_list_cannot_be_had_are_forwarded_unseen(pair: Pair) -> None:
    pair.alpha.on("tools/list", refuses(-32601, "Method not found"))
    pair.front.opens()
    pair.front.calls("alpha.any.thing", a=1)
    pair.alpha.is_called("any.thing", a=1).returns(text("x"))
    pair.front.gets(text("x"))


# died during the call, timed out


def test_a_backend_that_dies_during_a_call_may_have_run_it(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo")
    pair.alpha.exits(-9, "out of memory")
    error = pair.front.fails(-32000, "MCP server 'alpha' ended during the call").body["error"]
    assert error["message"].endswith("out of memory. The call may still have run")
    data = error["data"]
    assert (data["server"], data["mayHaveRun"]) == ("alpha", True)
    assert "out of memory" in data["reason"]
    pair.after(5)
    assert len(pair.alpha.channels) == 2
    pair.alpha.hears_nothing()  # "never retried silently"


def test_a_death_costs_only_the_calls_of_that_backend(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.front.opens()
    dying, living, other = (pair.front.calls(name) for name in ("alpha.echo", "beta.echo", "alpha.greet"))
    pair.alpha.is_called("echo")
    pair.alpha.is_called("greet")
    served = beta.is_called("echo")
    pair.alpha.exits(1)
    dying.fails(-32000)
    other.fails(-32000)
    served.returns(text("alive"))
    living.gets(text("alive"))


def test_a_call_that_takes_too_long_may_have_run(pair: Pair) -> None:
    pair.alpha.config = {"call_timeout_seconds": 10.0}
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.after(9.9)
    pair.front.hears_nothing()
    pair.after(0.1)
    served.is_cancelled("timed out")
    data = pair.front.fails(-32000).body["error"]["data"]
    assert (data["server"], data["mayHaveRun"]) == ("alpha", True)
    pair.alpha.answer(served.said.id, text("too late"))
    pair.front.hears_nothing()


def test_progress_restarts_the_timeout_but_not_the_last_one(pair: Pair) -> None:
    pair.alpha.config = {"call_timeout_seconds": 10.0, "max_call_seconds": 25.0}
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    for done in (1, 2, 3):
        pair.after(8)
        served.reports(done)
    pair.front.hears_nothing()  # it asked for no progress
    pair.after(1)
    served.is_cancelled("timed out")
    pair.front.fails(-32000)


def test_a_call_without_a_limit_takes_its_time(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.after(100_000)
    served.returns(text("at last"))
    pair.front.gets(text("at last"))


# isError


def test_a_result_with_is_error_is_a_result(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    pair.alpha.returns(text("no", isError=True, extra=1))
    pair.front.gets(text("no", isError=True, extra=1))


WRONG = "Wrong arguments: name is missing; nome is not a parameter. Call it as alpha__greet(name: string)"
HINT = {"type": "text", "text": WRONG}


@pytest.mark.parametrize("by", ["itself", "call_tool"])
def test_a_result_with_is_error_brings_the_signature_if_the_arguments_do_not_fit(pair: Pair, by: str) -> None:
    pair.front.opens()
    if by == "itself":
        pair.front.calls("alpha__greet", nome="Ada")
    else:
        pair.front.calls("call_tool", name="alpha__greet", arguments={"nome": "Ada"})
    said = {"structuredContent": {"why": [1.0, "☃"]}, "_meta": {"a": {}}, "isError": True, "extra": 1}
    pair.alpha.returns(text("name is required", **said))
    pair.front.gets({"content": [{"type": "text", "text": "name is required"}, HINT], **said})


def test_a_result_with_is_error_over_arguments_that_fit_is_as_it_was(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.greet", name="Ada")
    pair.alpha.returns(text("there is no such person", isError=True))
    pair.front.gets(text("there is no such person", isError=True))


NOTE = {"type": "text", "text": "Note: nome is not a parameter of alpha__greet; its parameters: name, style?"}
STYLED = {"name": "greet", "inputSchema": {"properties": {"name": {}, "style": {}}, "required": ["name"]}}


@pytest.mark.parametrize("by", ["itself", "call_tool"])
def test_a_good_result_says_which_arguments_are_no_parameters(pair: Pair, by: str) -> None:
    """A server may ignore them; a light list does not show the schema from which a model would know them."""
    pair.alpha.tools = [STYLED]
    pair.front.opens()
    if by == "itself":
        pair.front.calls("alpha__greet", name="Ada", nome="Ada")
    else:
        pair.front.calls("call_tool", name="alpha__greet", arguments={"name": "Ada", "nome": "Ada"})
    said = {"structuredContent": {"a": [1.0, "☃"]}, "_meta": {"a": {}}, "isError": False, "extra": 1}
    pair.alpha.returns(text("hello", **said))
    pair.front.gets({"content": [{"type": "text", "text": "hello"}, NOTE], **said})


def test_a_very_long_result_is_not_opened_to_say_so(pair: Pair) -> None:
    pair.alpha.tools = [STYLED]
    pair.front.opens()
    pair.front.calls("alpha__greet", name="Ada", nome="Ada")
    pair.alpha.returns(text("x" * LARGE_BYTES))
    pair.front.gets(text("x" * LARGE_BYTES))


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        pytest.param(STYLED, {"name": "Ada", "style": 5}, id="all are parameters"),
        pytest.param({**STYLED, "inputSchema": {"type": "object"}}, {"any": 1}, id="no parameters are declared"),
        pytest.param(
            {**STYLED, "inputSchema": {"properties": {"a": {}}, "additionalProperties": {"type": "string"}}},
            {"a": 1, "b": "2"},
            id="others are allowed",
        ),
        pytest.param(
            {**STYLED, "inputSchema": {"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}]}},
            {"a": 1, "b": 2},
            id="others may be declared elsewhere",
        ),
    ],
)
def test_a_good_result_is_as_it_was_if_its_arguments_may_be_right(pair: Pair, tool: Json, given: Json) -> None:
    pair.alpha.tools = [tool]
    pair.front.opens()
    pair.front.calls("alpha.greet", **given)
    pair.alpha.returns(text("hello", isError=False))
    pair.front.gets(text("hello", isError=False))


def test_a_client_that_was_shown_the_schema_gets_a_good_result_as_it_was(pair: Pair) -> None:
    pair.settings = {"listing": "full"}
    pair.front.opens()
    pair.front.calls("alpha.greet", name="Ada", nome="Ada")
    pair.alpha.returns(text("hello"))
    pair.front.gets(text("hello"))


# any other method


@pytest.mark.parametrize("error", [(-32602, "no", {"a": 1}), (-32603, "", None), (5, "five", [1])])
def test_an_error_to_any_other_method_is_passed_on_unchanged(pair: Pair, error: tuple[int, str, Any]) -> None:
    code, message, data = error
    pair.alpha.prompts = [{"name": "hello"}]
    pair.alpha.resources = [{"uri": "x://1", "name": "1"}]
    pair.alpha.completes = True
    pair.front.opens()
    reference = {"type": "ref/prompt", "name": "alpha.hello"}
    for method, params in (
        ("prompts/get", {"name": "alpha.hello"}),
        ("resources/read", {"uri": "x://1"}),
        ("completion/complete", {"ref": reference, "argument": {"name": "a", "value": ""}}),
    ):
        pair.front.asks(method, params)
        pair.alpha.receives(method).fails(code, message, data)
        pair.front.fails(code, message, data)


# errors a client acts on


@legacy_legacy
def test_url_elicitation_required_passes_with_the_name_of_who_asks(pair: Pair) -> None:
    pair.front.opens(elicitation={"url": {}})
    url = {"mode": "url", "elicitationId": "1", "url": "https://x", "message": "go"}
    pair.front.calls("alpha.echo")
    pair.alpha.fails(-32042, "URL elicitation required", {"elicitations": [url]})
    named = {"elicitations": [{**url, "message": "[alpha] go"}]}
    pair.front.fails(-32042, "URL elicitation required", named)


@modern_modern
def test_a_missing_capability_passes_unchanged(pair: Pair) -> None:
    pair.front.opens()
    data: Json = {"requiredCapabilities": {"elicitation": {}}}
    for params in ({"name": "alpha.echo"}, {"name": "call_tool", "arguments": {"name": "alpha.echo"}}):
        pair.front.asks("tools/call", params)
        pair.alpha.fails(-32021, "Missing required client capability", data)
        pair.front.fails(-32021, "Missing required client capability", data)


# no such prompt, no such resource


def test_a_prompt_that_does_not_exist_is_not_found(pair: Pair) -> None:
    pair.alpha.prompts = [{"name": "hello"}]
    pair.front.opens()
    said = pair.front.asks("prompts/get", {"name": "alpha.helo"}).fails(-32602)
    assert said.body["error"]["data"]["suggestions"] == ["alpha.hello"]


def test_a_resource_that_does_not_exist_is_not_found_in_the_words_of_the_era(pair: Pair) -> None:
    pair.alpha.resources = [{"uri": "note://one", "name": "1"}]
    pair.with_server("beta").resources = [{"uri": "note://two", "name": "2"}]  # so that the scheme tells nothing
    pair.front.opens()
    code = -32602 if pair.front.is_modern else -32002
    said = pair.front.asks("resources/read", {"uri": "note://onne"}).fails(code)
    assert "note://one" in said.body["error"]["data"]["suggestions"]


@modern_legacy
def test_a_legacy_code_for_a_missing_resource_is_not_passed_to_a_modern_client(pair: Pair) -> None:
    """ "Implementations of this protocol version MUST NOT emit these codes: `-32002`"."""
    pair.alpha.resources = [{"uri": "note://one", "name": "1"}]
    pair.front.opens()
    pair.front.asks("resources/read", {"uri": "note://one"})
    pair.alpha.receives("resources/read").fails(-32002, "Resource not found", {"uri": "note://one"})
    pair.front.fails(-32602, "Resource not found", {"uri": "note://one"})


# a bug here


def test_a_bug_in_a_list_that_was_waited_for_is_an_internal_error(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    def has_a_bug(*_: object) -> Raw:
        raise LookupError("a bug")

    pair.alpha.on("tools/list", leaves_to_the_test)
    listing = _opens_slowly(pair)
    with monkeypatch.context() as patched:
        patched.setattr("search_mcp.gateway.listings.tool_list", has_a_bug)
        with pytest.raises(AssertionError, match="LookupError: a bug"):  # as the log has it
            pair.alpha.receives("tools/list").returns({"tools": [ECHO]})
    listing.fails(-32603)
    assert pair.front.asks("tools/list").result()["tools"][0]["name"] == "alpha.echo"


def _opens_slowly(pair: Pair) -> Asked:
    """Open, and leave the first list to the test."""
    if not pair.front.is_modern:
        pair.front.initializes()
    return pair.front.asks("tools/list")


def _call_waits_for_the_first_list(pair: Pair, back: Back) -> None:
    """Call a tool of a server that has not listed yet, and get its result once it has."""
    back.on("tools/list", leaves_to_the_test)
    listing = _opens_slowly(pair)
    call = pair.front.calls(f"{back.name}.echo")
    pair.front.hears_nothing()
    back.receives("tools/list").returns({"tools": [ECHO]})
    listing.result()
    back.is_called("echo").returns(text("x"))
    call.gets(text("x"))


@legacy_modern
def test_an_unreadable_result_is_an_error_and_not_a_silence(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.says_line(b'{"jsonrpc":"2.0","id":%b,"result":{"content":[}}' % encode(served.said.id))
    pair.front.fails(-32000)


def test_a_result_that_is_no_object_is_an_error(pair: Pair) -> None:
    """ "The `result` MAY follow any JSON object structure": a client would drop anything else."""
    pair.front.opens()
    nonsense: Any
    for nonsense in (7, None, [], "x"):
        pair.front.calls("alpha.echo")
        served = pair.alpha.is_called("echo")
        served.is_over()
        pair.alpha.says(id=served.said.id, result=nonsense)
        pair.front.fails(-32000)


@modern_client
def test_every_modern_error_is_one_of_the_protocols_or_ours(pair: Pair) -> None:
    pair.front.opens()
    said = pair.front.calls("nothing").fails(-32602)
    assert SERVER_INFO not in said.body["error"]
