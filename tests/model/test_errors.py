"""The code, message and data of every error that a client receives."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from search_mcp.model.errors import (
    ACTED_ON_BY_CLIENTS,
    BackendToolError,
    ConfigError,
    Lost,
    MisbehavedError,
    NeedsLogin,
    NotFound,
    NotRunning,
    NotStarting,
    PromptNotFound,
    ResourceNotFound,
    ToolNotFound,
    ask_user,
)
from search_mcp.model.names import State
from search_mcp.model.sentences import LONGEST_NAME
from search_mcp.model.servers import Status
from search_mcp.model.standing import LONGEST_PART
from search_mcp.wire import messages
from search_mcp.wire.errors import (
    InternalError,
    PeerError,
    ProtocolError,
    SearchMcpError,
    WireError,
    invalid_params,
    invalid_request,
    method_not_found,
)
from search_mcp.wire.messages import Invalid
from search_mcp.wire.structs import ErrorObject, Raw

ANSWERED = ErrorObject(-32602, "no such file", Raw(b'{"path": "x", "size": 1.0}'))
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}

FIND = ". search_tools finds tools by what they do"
ROWS = [
    # given, code, message, data
    pytest.param(method_not_found("no/such"), -32601, "Method not found: no/such", None, id="unknown method"),
    pytest.param(invalid_request("Invalid Request: x"), -32600, "Invalid Request: x", None, id="no JSON-RPC message"),
    pytest.param(
        ToolNotFound("invalid.tool", ["valid.tool", "b"]),
        -32602,
        "Tool not found: invalid.tool. Nearest: valid.tool, b",
        {"suggestions": ["valid.tool", "b"]},
        id="no such tool",
    ),
    pytest.param(
        ToolNotFound("x" * 10_000, ["y" * 10_000, "z\n- forged", "w"]),
        -32602,
        f"Tool not found: {'x' * LONGEST_NAME}…. Nearest: w",
        {"suggestions": ["y" * 10_000, "z\n- forged", "w"]},
        id="names too long or too odd to be repeated",
    ),
    pytest.param(ToolNotFound("x"), -32602, f"Tool not found: x{FIND}", {"suggestions": []}, id="and nothing like it"),
    pytest.param(
        invalid_params("Invalid params: name is missing"),
        -32602,
        "Invalid params: name is missing",
        None,
        id="malformed params",
    ),
    pytest.param(
        ProtocolError(-32022, "Unsupported", {"supported": ["a"]}),
        -32022,
        "Unsupported",
        {"supported": ["a"]},
        id="others",
    ),
    pytest.param(
        BackendToolError("files", "read", ErrorObject(-32602, "no such file")),
        -32000,
        "Backend MCP server error: no such file",
        {"server": "files", "tool": "read", "code": -32602, "message": "no such file"},
        id="the backend answers with an error",
    ),
    pytest.param(
        BackendToolError("files", "read", ANSWERED, SCHEMA, "Parameters: read(path?: string)"),
        -32000,
        "Backend MCP server error: no such file\nParameters: read(path?: string)",
        {
            "server": "files",
            "tool": "read",
            "code": -32602,
            "message": "no such file",
            "data": {"path": "x", "size": 1.0},
            "inputSchema": SCHEMA,
        },
        id="with data, and arguments that do not fit",
    ),
    pytest.param(
        NeedsLogin("notion", "search-mcp auth login notion"),
        -32000,
        "MCP server 'notion' needs a login. "
        "Ask the user to run `search-mcp auth login notion` in a terminal, or `search-mcp ui`",
        {
            "server": "notion",
            "remedy": "Ask the user to run `search-mcp auth login notion` in a terminal, or `search-mcp ui`",
        },
        id="without a login",
    ),
    pytest.param(
        NeedsLogin("notion", "search-mcp auth login notion", "a call needs more permissions: write"),
        -32000,
        "MCP server 'notion' needs a login (a call needs more permissions: write). "
        "Ask the user to run `search-mcp auth login notion` in a terminal, or `search-mcp ui`",
        {
            "server": "notion",
            "remedy": "Ask the user to run `search-mcp auth login notion` in a terminal, or `search-mcp ui`",
            "reason": "a call needs more permissions: write",
        },
        id="without enough permissions",
    ),
    pytest.param(
        NotRunning(Status("filesystem", State.FAILED, "exit code 1: no such module")),
        -32000,
        "MCP server 'filesystem' is not running: exit code 1: \"no such module\". "
        "After fixing that, call again: the call makes search-mcp try again",
        {"server": "filesystem", "state": "failed", "reason": "exit code 1: no such module"},
        id="failed",
    ),
    pytest.param(
        NotRunning(Status("filesystem", State.BACKING_OFF, None, 1.23456)),
        -32000,
        "MCP server 'filesystem' is not running. search-mcp tries again in 2 s; call again after that",
        {"server": "filesystem", "state": "backing off", "reason": None, "retryAfterSeconds": 1.235},
        id="not yet started in time",
    ),
    pytest.param(
        NotRunning(
            Status("filesystem", State.DISABLED, "it is disabled in the configuration", remedy="search-mcp enable x")
        ),
        -32000,
        "MCP server 'filesystem' is not running: it is disabled in the configuration. "
        "Ask the user to run `search-mcp enable x` in a terminal, or `search-mcp ui`",
        {
            "server": "filesystem",
            "state": "disabled",
            "reason": "it is disabled in the configuration",
            "remedy": "Ask the user to run `search-mcp enable x` in a terminal, or `search-mcp ui`",
        },
        id="disabled",
    ),
    pytest.param(
        NotRunning(Status("filesystem", State.STARTING, "it did not send its lists in time.")),
        -32000,
        "MCP server 'filesystem' is not running: it did not send its lists in time. Call again in a few seconds",
        {"server": "filesystem", "state": "starting", "reason": "it did not send its lists in time."},
        id="still starting",
    ),
    pytest.param(
        NotRunning(Status("filesystem", State.FAILED, "program 'npxx' was not found on PATH; did you mean 'npx'?")),
        -32000,
        "MCP server 'filesystem' is not running: program 'npxx' was not found on PATH; did you mean 'npx'? "
        "Tell the user: calling again helps only after that is fixed",
        {
            "server": "filesystem",
            "state": "failed",
            "reason": "program 'npxx' was not found on PATH; did you mean 'npx'?",
        },
        id="a reason that is a question",
    ),
    pytest.param(
        NotRunning(Status("notion", State.BACKING_OFF, "the name mcp.example cannot be resolved: not known", 1.6)),
        -32000,
        "MCP server 'notion' is not running: the name mcp.example cannot be resolved: \"not known\". "
        "Tell the user: calling again helps only after that is fixed",
        {
            "server": "notion",
            "state": "backing off",
            "reason": "the name mcp.example cannot be resolved: not known",
            "retryAfterSeconds": 1.6,
        },
        id="a cause that only the user can remove",
    ),
    pytest.param(
        NotStarting(
            Status("dev", State.BACKING_OFF, "it exited with code 1; end of its stderr: a\n\tSyntaxError\x1b", 2.0)
        ),
        -32000,
        "MCP server 'dev' is not running: it exited with code 1. End of its stderr:\n| a\n| \tSyntaxError\\u{1b}\n"
        "It is started again as soon as one of its watched files changes",
        {
            "server": "dev",
            "state": "backing off",
            "reason": "it exited with code 1; end of its stderr: a\n\tSyntaxError\x1b",
            "retryAfterSeconds": 2.0,
        },
        id="a fault in a server under development",
    ),
    pytest.param(
        NotStarting(Status("dev", State.STOPPING, "the configuration changed")),
        -32000,
        "MCP server 'dev' is not running: the configuration changed. Call again in a few seconds",
        {"server": "dev", "state": "stopping", "reason": "the configuration changed"},
        id="a server under development that was stopped",
    ),
    pytest.param(
        NotRunning(Status("filesystem", State.HELD, "the user has to accept it")),
        -32000,
        "MCP server 'filesystem' is not running: the user has to accept it",
        {"server": "filesystem", "state": "held", "reason": "the user has to accept it"},
        id="held",
    ),
    pytest.param(
        NotRunning(Status("filesystem", State.BACKING_OFF, None, 0.0)),
        -32000,
        "MCP server 'filesystem' is not running. search-mcp tries again in 1 s; call again after that",
        {"server": "filesystem", "state": "backing off", "reason": None, "retryAfterSeconds": 0.0},
        id="about to be started",
    ),
    pytest.param(
        Lost("git", "died during the call", "exit code 1"),
        -32000,
        "MCP server 'git' died during the call: exit code 1. The call may still have run",
        {"server": "git", "mayHaveRun": True, "reason": "exit code 1"},
        id="died during the call",
    ),
    pytest.param(
        Lost("git", "did not answer within 60 s"),
        -32000,
        "MCP server 'git' did not answer within 60 s. The call may still have run",
        {"server": "git", "mayHaveRun": True},
        id="timed out",
    ),
    pytest.param(
        MisbehavedError("it asked 17 times"),
        -32000,
        "Backend MCP server error: it asked 17 times",
        None,
        id="breaks the protocol",
    ),
    pytest.param(
        PeerError(ANSWERED),
        -32602,
        "no such file",
        {"path": "x", "size": 1.0},
        id="any other method's error, unchanged",
    ),
    pytest.param(PeerError(ErrorObject(-32042, "open it")), -32042, "open it", None, id="-32042, unchanged"),
    pytest.param(
        PromptNotFound("x", ["y"]),
        -32602,
        "Prompt not found: x. Nearest: y",
        {"suggestions": ["y"]},
        id="no such prompt",
    ),
    pytest.param(
        ResourceNotFound("file:///x", ["file:///y"]),
        -32602,
        "Resource not found: file:///x. Nearest: file:///y",
        {"uri": "file:///x", "suggestions": ["file:///y"]},
        id="no such resource",
    ),
    pytest.param(InternalError(), -32603, "Internal error", None, id="a bug here"),
]


@pytest.mark.parametrize(("error", "code", "message", "data"), ROWS)
def test_an_error_has_its_code_message_and_data(
    error: WireError, code: int, message: str, data: Mapping[str, Any] | None
) -> None:
    assert isinstance(error, SearchMcpError)
    written = json.loads(messages.failure(7, error.error_object()))
    wanted: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        wanted["data"] = data
    assert written == {"jsonrpc": "2.0", "id": 7, "error": wanted}
    assert str(error) == message
    assert error.code == code


def test_a_message_has_the_cause_of_a_long_reason() -> None:
    words = "\x1b[31mTraceback\n" + "  in a file\n" * 100 + "KeyError: 'TOKEN'\nwaiting for the debugger\n"
    message = str(NotRunning(Status("git", State.FAILED, f"it exited with code 1; end of its stderr: {words}")))
    said = "it exited with code 1: \"KeyError: 'TOKEN'\". After fixing"
    assert message.startswith(f"MCP server 'git' is not running: {said}")


def test_a_message_has_the_head_of_a_long_text() -> None:
    message = str(NotRunning(Status("git", State.FAILED, "the answer was " + "\x1b[31mlong " * 100 + "and strange")))
    assert message.startswith("MCP server 'git' is not running: the answer was \\u{1b}[31mlong")
    assert "…. After fixing that" in message
    assert len(message) < LONGEST_PART + 150
    assert message.isprintable()


def test_a_message_begins_with_the_problem() -> None:
    for error in (NotRunning(Status("git", State.FAILED, "x")), Lost("git", "died", "x"), ToolNotFound("a.b", ["a.c"])):
        assert str(error).startswith(error.what)
        assert str(error) != error.what


@pytest.mark.parametrize(("line", "code"), [(b"hello", -32700), (b'{"jsonrpc":"2.0"}', -32600)])
def test_an_invalid_message_is_answered_with_a_null_id(line: bytes, code: int) -> None:
    invalid = messages.decode(line)
    assert isinstance(invalid, Invalid)
    written = json.loads(messages.failure(invalid.id, ErrorObject(invalid.code, invalid.message)))
    assert (written["id"], written["error"]["code"]) == (None, code)


def test_an_error_of_a_backend_is_not_changed() -> None:
    assert PeerError(ANSWERED).error_object() is ANSWERED
    wrapped = BackendToolError("s", "t", ANSWERED).error_object().data
    assert isinstance(wrapped, Raw)
    assert bytes(wrapped).endswith(b'"data":{"path": "x", "size": 1.0}}')


def test_clients_act_on_these_codes() -> None:
    assert frozenset({-32042, -32021}) == ACTED_ON_BY_CLIENTS


@pytest.mark.parametrize("kind", [ToolNotFound, PromptNotFound, ResourceNotFound])
def test_a_not_found_error_has_its_suggestions(kind: type[NotFound]) -> None:
    error = kind("x", ["b", "a"])
    assert (error.name, error.suggestions) == ("x", ("b", "a"))


@pytest.mark.parametrize(
    ("error", "then"),
    [
        (ConfigError("f.json", "it is broken", "mend it"), "f.json: it is broken; mend it"),
        (ConfigError("f.json", "it is broken", "mend it", line=3), "f.json:3: it is broken; mend it"),
        (ConfigError("f.json", "it is broken", "mend it", line=3, key="a.b"), "f.json:3: a.b: it is broken; mend it"),
        (ConfigError("f.json", "it is broken", "mend it", key="a.b"), "f.json: a.b: it is broken; mend it"),
    ],
)
def test_a_config_error_has_place_problem_and_remedy(error: ConfigError, then: str) -> None:
    assert str(error) == then
    assert not isinstance(error, WireError)


@pytest.mark.parametrize("command", ["auth login notion --config F --for ben", "token secret ben KEY"])
def test_what_is_for_one_name_of_the_front_over_http_is_not_done_on_the_page(command: str) -> None:
    assert ask_user(f"search-mcp {command}") == (
        f"Ask the user to run `search-mcp {command}` in a terminal of the computer where search-mcp runs"
    )


def test_the_command_for_the_user_is_never_shortened() -> None:
    """The configuration's path may be longer than the limit for a reason."""
    path = f"{'/folder' * 50}/mcp-servers.json"
    held = NotRunning(
        Status("a", State.HELD, f"its command is new in {path}", remedy=f"search-mcp check --config {path}")
    )
    assert str(held).endswith(
        f". Ask the user to run `search-mcp check --config {path}` in a terminal, or `search-mcp ui --config {path}`"
    )
