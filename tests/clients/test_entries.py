"""Translation between a client's entry and ours."""

from typing import Any

import pytest

from search_mcp.clients.entries import is_bridge, is_ours, registration, translate
from search_mcp.clients.known import BY_NAME, PASTED
from search_mcp.clients.mcp_remote import LOG_IN_ONCE

TRANSLATED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # client, its entry, ours
    (
        "",
        {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
        {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
    ),
    (
        "",
        {"command": "x", "args": [1, True], "env": {"PORT": 80, "B": None}},
        {"command": "x", "args": ["1", "true"], "env": {"PORT": "80"}},
    ),
    ("", {"command": "x", "autoApprove": ["a"], "trust": True, "cwd": "/c"}, {"command": "x", "cwd": "/c"}),
    (
        "",
        {"command": "x", "prefix": "p", "startup": "lazy", "tools": {"deny": ["a"]}},
        {"command": "x", "prefix": "p", "startup": "lazy", "tools": {"deny": ["a"]}},
    ),
    (
        "cline",
        {"command": "x", "disabled": True, "timeout": 90},
        {"command": "x", "callTimeoutSeconds": 90, "enabled": False},
    ),
    ("cline", {"command": "x", "disabled": False}, {"command": "x"}),
    (
        "gemini-cli",
        {"command": "x", "timeout": 1500, "includeTools": ["a"], "excludeTools": ["b"]},
        {"command": "x", "callTimeoutSeconds": 1.5, "tools": {"allow": ["a"], "deny": ["b"]}},
    ),
    ("gemini-cli", {"command": "x", "args": ["$A/$B_C", "${D}"]}, {"command": "x", "args": ["${A}/${B_C}", "${D}"]}),
    (
        "cursor",
        {"command": "${userHome}/x", "args": ["${env:A}", "a${/}b", "$A"]},
        {"command": "${home}/x", "args": ["${A}", "a|b", "$A"]},
    ),
    ("copilot-cli", {"type": "local", "command": "x", "tools": ["*"]}, {"command": "x"}),
    ("copilot-cli", {"type": "local", "command": "x", "tools": ["a"]}, {"command": "x", "tools": {"allow": ["a"]}}),
    (
        "codex",
        {"command": "x", "env_vars": ["A", {"name": "B"}], "startup_timeout_sec": 20.0, "tool_timeout_sec": 5},
        {"command": "x", "startTimeoutSeconds": 20.0, "callTimeoutSeconds": 5, "inheritEnv": ["A", "B"]},
    ),
    (
        "codex",
        {"command": "x", "enabled": False, "enabled_tools": ["a"]},
        {"command": "x", "tools": {"allow": ["a"]}, "enabled": False},
    ),
    (
        "opencode",
        {"type": "local", "command": ["x", "{env:A}"], "environment": {"B": "{env:B}"}},
        {"command": "x", "args": ["${A}"], "env": {"B": "${B}"}},
    ),
    (
        "zed",
        {"command": {"path": "x", "args": ["a"], "env": {"B": "c"}}, "settings": {}},
        {"command": "x", "args": ["a"], "env": {"B": "c"}},
    ),
    (
        "goose",
        {"type": "stdio", "cmd": "x", "args": ["a"], "envs": {}, "env_keys": [], "timeout": 300, "description": ""},
        {"command": "x", "args": ["a"], "callTimeoutSeconds": 300},
    ),
    (
        "vscode",
        {"command": "x", "env": {"A": "${input:with-default}"}},
        {"command": "x", "env": {"A": "${WITH_DEFAULT:-eu}"}},
    ),
    ("windsurf", {"command": "x", "env": {"A": "${file:~/a}"}}, {"command": "x", "env": {"A": "${file:~/a}"}}),
    ("opencode", {"command": ["x"], "environment": {"A": "{file:~/a}"}}, {"command": "x", "env": {"A": "${file:~/a}"}}),
    ("", {"command": "x", "env": {"A": "${command:b c}"}}, {"command": "x", "env": {"A": "${command:b c}"}}),
]
INPUTS = {"with-default": {"default": "eu"}, "token": {"description": "Your token"}}


@pytest.mark.parametrize(("client", "theirs", "ours"), TRANSLATED)
def test_translate(client: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    translation = translate(theirs, BY_NAME.get(client, PASTED), INPUTS, "|")
    assert translation is not None
    assert (translation.entry, translation.notes, translation.runs) == (ours, (), True)


URL: dict[str, Any] = {"url": "https://x/mcp"}
SSE: dict[str, Any] = {**URL, "type": "sse"}
REMOTE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # client, its entry, ours
    ("windsurf", {"serverUrl": "https://x/mcp"}, URL),
    ("opencode", {"type": "remote", **URL, "oauth": False}, {**URL, "oauth": False}),
    ("opencode", {"type": "remote", **URL, "headers": {"A": "{env:T}"}}, {**URL, "headers": {"A": "${T}"}}),
    ("gemini-cli", {"httpUrl": "https://x/mcp", "headers": {"A": "$T"}}, {**URL, "headers": {"A": "${T}"}}),
    ("gemini-cli", {"httpUrl": "https://x/mcp", "url": "https://x/sse"}, URL),
    ("gemini-cli", {**URL, "timeout": 5000}, {**URL, "callTimeoutSeconds": 5}),
    ("goose", {"type": "streamable_http", "uri": "https://x/mcp", "enabled": True}, URL),
    (
        "goose",
        {"type": "streamable_http", "uri": "https://x/mcp", "headers": {"A": "${T}"}, "envs": {"T": "t"}},
        {**URL, "headers": {"A": "t"}},
    ),
    ("cursor", {"type": "http", **URL, "disabled": True}, {**URL, "enabled": False}),
    ("cursor", {**URL, "auth": {"CLIENT_ID": "${env:ID}"}}, {**URL, "oauth": {"clientId": "${ID}"}}),
    ("claude-code", {"type": "sse", **URL}, SSE),
    ("claude-code", {"type": "http", **URL, "oauth": {"clientId": "c", "callbackPort": 8080}},
        {**URL, "oauth": {"clientId": "c", "callbackPort": 8080, "callbackHost": "localhost"}}),
    ("vscode", {"type": "http", **URL, "headers": {"A": "${env:T}"}}, {**URL, "headers": {"A": "${T}"}}),
    ("copilot-cli", {"type": "http", **URL, "tools": ["*"]}, URL),
    ("cline", {"transport": {"type": "streamableHttp", **URL}}, URL),
    ("cline", {"type": "sse", **URL, "autoApprove": ["a"]}, SSE),
    ("zed", {**URL, "headers": {"A": "b"}}, {**URL, "headers": {"A": "b"}}),
    ("lm-studio", URL, URL),
    ("", {**URL, "transport": "sse"}, SSE),
    ("", {**URL, "description": "d"}, {**URL, "description": "d"}),
    ("", {"url": "https://x/mcp?api_key=s3cret"}, {"url": "https://x/mcp?api_key=s3cret"}),
    ("", {"url": "${BASE}/mcp"}, {"url": "${BASE}/mcp"}),
    ("codex", {**URL, "bearer_token_env_var": "T"}, {**URL, "headers": {"Authorization": "Bearer ${T}"}}),
    ("codex", {**URL, "env_http_headers": {"X": "T"}}, {**URL, "headers": {"X": "${T}"}}),
    ("codex", {**URL, "http_headers": {"X": "y"}, "enabled_tools": ["a"]},
        {**URL, "headers": {"X": "y"}, "tools": {"allow": ["a"]}}),
    ("", {"command": "https://x/mcp"}, URL),
]  # fmt: skip


@pytest.mark.parametrize(("client", "theirs", "ours"), REMOTE)
def test_a_remote_server(client: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    translation = translate(theirs, BY_NAME.get(client, PASTED), INPUTS, "|")
    assert translation is not None
    assert (translation.entry, translation.notes, translation.runs) == (ours, (), True)


def test_a_command_line_of_mcp_remote_becomes_a_remote_server() -> None:
    args = ["-y", "mcp-remote", "https://x/mcp", "--header", "A:${T}", "--header", "B:${env:U}", "--ignore-tool", "d*"]
    entry = {"command": "npx", "args": args, "env": {"T": "Bearer ${env:V}"}, "excludeTools": ["e"]}
    translation = translate(entry, BY_NAME["cursor"], {}, "/")
    assert translation is not None
    headers = {"A": "Bearer ${V}", "B": "${U}"}
    assert translation.entry == {**URL, "headers": headers, "tools": {"deny": ["d*", "e"]}}
    assert (translation.notes, translation.runs) == ((LOG_IN_ONCE,), True)


def test_a_command_line_of_mcp_remote_without_counterpart_is_kept() -> None:
    """In the clients' files, placeholders of mcp-remote name variables in the entry's own environment."""
    entry = {
        "command": "npx",
        "args": ["mcp-remote@latest", "https://x", "--device-code", "--header", "A:${T}", "${B}"],
        "env": {"T": "t"},
    }
    translation = translate(entry, BY_NAME["claude-desktop"], {}, "/")
    assert translation is not None
    assert translation.entry["args"][4:] == ["A:$${T}", "${B}"]
    assert is_bridge(translation.entry)
    assert translation.notes == ("it still runs through mcp-remote, because --device-code has no counterpart",)
    assert translate(translation.entry, PASTED, {}, "/") == translation


WINDOW = "depends on the client's open window; write a path instead"
LACKING: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (
        "cursor",
        {"url": "wss://x", "headers": {"A": "${env:B}"}},
        {"type": "ws", "url": "wss://x", "headers": {"A": "${B}"}, "enabled": False},
        "it uses a WebSocket, which search-mcp does not support; use its https address",
    ),
    (
        "vscode",
        {"url": "unix:///x"},
        {"url": "unix:///x", "enabled": False},
        "its address is a local socket, which search-mcp does not support",
    ),
    (
        "vscode",
        {**URL, "headers": {"A": "${input:token}"}},
        {**URL, "headers": {"A": "${TOKEN}"}},
        "only VS Code asks for ${input:token} (Your token); set the variable TOKEN, or use `search-mcp secret`",
    ),
    (
        "goose",
        {"uri": "https://x/mcp", "headers": {"A": "${T}"}, "env_keys": ["T"]},
        {**URL, "headers": {"A": "${T}"}},
        "goose keeps T in the system's keyring; set the environment variable T",
    ),
    ("claude-code", {**URL, "headersHelper": "x"}, URL, 'its "headersHelper" has no counterpart'),
    (
        "cursor",
        {"command": "https://x/mcp", "args": ["-y"]},
        URL,
        "its command is a URL; its arguments are left out",
    ),
    (
        "cursor",
        {"command": "x", "args": ["${workspaceFolder}/a"]},
        {"command": "x", "args": ["${workspaceFolder}/a"]},
        "${workspaceFolder} " + WINDOW,
    ),
    (
        "vscode",
        {"command": "x", "args": ["${workspaceFolder:one}"]},
        {"command": "x", "args": ["${workspaceFolder:one}"]},
        "${workspaceFolder:one} " + WINDOW,
    ),
    (
        "vscode",
        {"command": "x", "args": ["${config:a.b}"]},
        {"command": "x", "args": ["${config:a.b}"]},
        "only VS Code supports ${config:a.b}; write the value instead",
    ),
    (
        "vscode",
        {"command": "x", "env": {"A": "${input:token}"}},
        {"command": "x", "env": {"A": "${TOKEN}"}},
        "only VS Code asks for ${input:token} (Your token); set the variable TOKEN, or use `search-mcp secret`",
    ),
    (
        "vscode",
        {"command": "x", "envFile": ".env"},
        {"command": "x"},
        "search-mcp does not read its envFile; copy the variables into env",
    ),
    (
        "opencode",
        {"command": ["x", "{file:./a}"]},
        {"command": "x", "args": ["{file:./a}"]},
        "{file:./a} is relative to the client's file; write ${file:PATH} with the whole path",
    ),
    (
        "vscode",
        {"command": "x", "env": {"A": "${command:some.command}"}},
        {"command": "x", "env": {"A": "$${command:some.command}"}},
        "only VS Code supports ${command:some.command}; write the value instead",
    ),
    (
        "claude-code",
        {"command": "x", "env": {"A": "${command:a {b} c}", "B": "${file:~/a}"}},
        {"command": "x", "env": {"A": "$${command:a {b} c}", "B": "$${file:~/a}"}},
        "only Claude Code supports ${file:~/a}; write the value instead",
    ),
    (
        "goose",
        {"cmd": "x", "env_keys": ["A"]},
        {"command": "x", "env": {"A": "${A}"}},
        "goose keeps A in the system's keyring; set the environment variable A",
    ),
]


@pytest.mark.parametrize(("client", "theirs", "ours", "note"), LACKING)
def test_translate_notes_unsupported_settings(
    client: str, theirs: dict[str, Any], ours: dict[str, Any], note: str
) -> None:
    translation = translate(theirs, BY_NAME[client], INPUTS, "|")
    assert translation is not None
    assert (translation.entry, translation.notes, translation.runs) == (ours, (note,), False)


@pytest.mark.parametrize("entry", [{}, {"command": ""}, {"command": 3}, {"type": "builtin"}, {"command": []}])
def test_translate_an_entry_that_is_not_a_server(entry: dict[str, Any]) -> None:
    assert translate(entry, PASTED, {}, "/") is None


OURS: list[tuple[object, bool]] = [
    ({"command": "/a/search-mcp", "args": []}, True),
    ({"command": r"C:\a\search-mcp.exe"}, True),
    ({"command": ["search-mcp", "serve"]}, True),
    ({"cmd": "/usr/bin/python3", "args": ["-m", "search_mcp", "serve"]}, True),
    ({"command": "/usr/bin/python3", "args": ["-P", "-m", "search_mcp"]}, True),
    ({"command": ["py.exe", "-P", "-m", "search_mcp", "serve"]}, True),
    ({"command": "python", "args": ["-P", "-m", "mcp_server_time"]}, False),
    ({"command": "uvx", "args": ["--from", "x", "search-mcp"]}, True),
    ({"command": "npx", "args": ["-y", "server-filesystem", "/a/search-mcp"]}, False),
    ({"command": "python", "args": ["-m", "mcp_server_time"]}, False),
    ({"url": "https://search-mcp"}, False),
    ("search-mcp", False),
    ({"command": "cmd", "args": ["/c", "uvx", "search-mcp"]}, True),
    ({"command": r"C:\Windows\System32\CMD.EXE", "args": ["/d", "/s", "/c", "search-mcp"]}, True),
    ({"command": "cmd", "args": ["/c", "npx", "-y", "search-mcp-server"]}, False),
    ({"command": "cmd", "args": ["/c"]}, False),
    ({"command": "cmd"}, False),
]


@pytest.mark.parametrize(("entry", "ours"), OURS)
def test_is_ours(entry: object, ours: bool) -> None:
    assert is_ours(entry) == ours


def args(client: str) -> list[str]:
    return ["serve", "--client", client, "--config", "/c.json"]


REGISTERED: dict[str, dict[str, Any]] = {
    "claude-desktop": {"command": "/s", "args": args("claude-desktop")},
    "claude-code": {"type": "stdio", "command": "/s", "args": args("claude-code")},
    "cursor": {"type": "stdio", "command": "/s", "args": args("cursor")},
    "vscode": {"type": "stdio", "command": "/s", "args": args("vscode")},
    "windsurf": {"command": "/s", "args": args("windsurf")},
    "codex": {"command": "/s", "args": args("codex"), "startup_timeout_sec": 30, "env_vars": ["A"]},
    "gemini-cli": {"command": "/s", "args": args("gemini-cli")},
    "copilot-cli": {"type": "local", "command": "/s", "args": args("copilot-cli"), "tools": ["*"]},
    "cline": {"command": "/s", "args": args("cline"), "timeout": 60},
    "opencode": {"type": "local", "command": ["/s", *args("opencode")], "enabled": True},
    "zed": {"command": "/s", "args": args("zed")},
    "goose": {
        "name": "search-mcp",
        "type": "stdio",
        "cmd": "/s",
        "args": args("goose"),
        "enabled": True,
        "envs": {},
        "timeout": 300,
    },
    "lm-studio": {"command": "/s", "args": args("lm-studio")},
}


@pytest.mark.parametrize("client", BY_NAME)
def test_registration(client: str) -> None:
    entry = registration(BY_NAME[client], ("/s", "serve"), "/c.json", ["A"], {})
    assert entry == REGISTERED[client]
    assert is_ours({**entry, "command": "search-mcp", "cmd": "search-mcp"})
    assert registration(BY_NAME[client], ("/s", "serve"), "/c.json", ["A"], entry) == entry


def test_registration_keeps_what_the_user_added() -> None:
    present = {"command": "/old", "args": [], "timeout": 5, "env": {"A": "b"}, "disabled": True}
    assert registration(BY_NAME["cline"], ("/s",), "/c.json", [], present) == {
        "command": "/s",
        "args": ["--client", "cline", "--config", "/c.json"],
        "timeout": 5,
        "env": {"A": "b"},
        "disabled": True,
    }
    codex = registration(BY_NAME["codex"], ("/s",), "/c.json", ["A", "B"], {"command": "/old", "env_vars": ["C", "A"]})
    assert codex["env_vars"] == ["C", "A", "B"]
