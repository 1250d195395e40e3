"""Translation between a client's entry and ours."""

from typing import Any

import pytest

from search_mcp.clients.entries import is_bridge, is_ours, registration, translate
from search_mcp.clients.known import BY_NAME, PASTED

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
]
INPUTS = {"with-default": {"default": "eu"}, "token": {"description": "Your token"}}


@pytest.mark.parametrize(("client", "theirs", "ours"), TRANSLATED)
def test_translate(client: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    translation = translate(theirs, BY_NAME.get(client, PASTED), INPUTS, "|")
    assert translation is not None
    assert (translation.entry, translation.notes, translation.runs) == (ours, (), True)


def bridged(*args: str, url: str = "https://x/mcp", **env: str) -> dict[str, Any]:
    """Return the entry that reaches a URL through mcp-remote."""
    entry = {"command": "npx", "args": ["-y", "mcp-remote", url, *args]}
    return {**entry, "env": env} if env else entry


URL: dict[str, Any] = {"url": "https://x/mcp"}
TOKEN = "Authorization:$${HEADER_AUTHORIZATION}"
BRIDGED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # client, its entry, ours
    ("windsurf", {"serverUrl": "https://x/mcp"}, bridged()),
    ("opencode", {"type": "remote", **URL}, bridged()),
    ("gemini-cli", {"httpUrl": "https://x/mcp"}, bridged()),
    ("goose", {"type": "streamable_http", "uri": "https://x/mcp"}, bridged()),
    ("cursor", {"type": "http", **URL, "disabled": True}, {**bridged(), "enabled": False}),
    ("claude-code", {"type": "sse", **URL}, bridged("--transport", "sse-only")),
    ("", {**URL, "transport": "sse"}, bridged("--transport", "sse-only")),
    ("", {**URL, "description": "d", "env": {"A": "b"}}, {**bridged(A="b"), "description": "d"}),
    ("", {"url": "http://localhost:8000/mcp"}, bridged(url="http://localhost:8000/mcp")),
    ("", {"url": "http://127.0.0.1/mcp"}, bridged(url="http://127.0.0.1/mcp")),
    ("", {"url": "http://localhost.example"}, bridged("--allow-http", url="http://localhost.example")),
    ("", {"url": "http://intern/mcp"}, bridged("--allow-http", url="http://intern/mcp")),
    (
        "cursor",
        {**URL, "headers": {"Authorization": "Bearer ${env:T}", "X-A": "b c"}},
        bridged(
            "--header", TOKEN, "--header", "X-A:$${HEADER_X_A}", HEADER_AUTHORIZATION="Bearer ${T}", HEADER_X_A="b c"
        ),
    ),
    (
        "",
        {**URL, "headers": {"X-A": "1", "X_A": "2"}},
        bridged("--header", "X-A:$${HEADER_X_A}", "--header", "X_A:$${HEADER_X_A_}", HEADER_X_A="1", HEADER_X_A_="2"),
    ),
    ("codex", {**URL, "bearer_token_env_var": "T"}, bridged("--header", TOKEN, HEADER_AUTHORIZATION="Bearer ${T}")),
    ("codex", {**URL, "env_http_headers": {"X": "T"}}, bridged("--header", "X:$${HEADER_X}", HEADER_X="${T}")),
    ("", {"command": "https://x/mcp"}, bridged()),
]


@pytest.mark.parametrize(("client", "theirs", "ours"), BRIDGED)
def test_a_remote_server_is_reached_through_a_bridge(client: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    translation = translate(theirs, BY_NAME.get(client, PASTED), INPUTS, "|")
    assert translation is not None
    assert (translation.entry, translation.notes, translation.runs) == (ours, (), True)
    assert is_bridge(translation.entry)


def test_placeholders_of_mcp_remote_are_kept() -> None:
    """In the clients' files, placeholders of mcp-remote name variables in the entry's own environment."""
    entry = {
        "command": "npx",
        "args": ["mcp-remote@latest", "https://x", "--header", "A:${T}", "${B}"],
        "env": {"T": "t"},
    }
    translation = translate(entry, BY_NAME["claude-desktop"], {}, "/")
    assert translation is not None
    assert translation.entry["args"][3:] == ["A:$${T}", "${B}"]
    assert translate(translation.entry, PASTED, {}, "/") == translation


WINDOW = "depends on the client's open window; write a path instead"
LACKING: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (
        "cursor",
        {"url": "wss://x", "headers": {"A": "${env:B}"}},
        {"type": "ws", "url": "wss://x", "headers": {"A": "${B}"}, "enabled": False},
        "it uses a WebSocket, which neither search-mcp nor mcp-remote supports",
    ),
    (
        "vscode",
        {**URL, "headers": {"A": "${input:token}"}},
        bridged("--header", "A:$${HEADER_A}", HEADER_A="${TOKEN}"),
        "only VS Code asks for ${input:token} (Your token); set the environment variable TOKEN",
    ),
    (
        "claude-code",
        {**URL, "oauth": {"clientId": "x"}},
        bridged(),
        'its "oauth" is not passed on: mcp-remote logs in by itself',
    ),
    (
        "cursor",
        {"url": "https://x/mcp?api_key=s3cret"},
        bridged(url="https://x/mcp?api_key=s3cret"),
        "its URL holds a secret, which mcp-remote would show in the process list; use a header",
    ),
    (
        "cursor",
        {**URL, "headers": {"A b": "c"}},
        bridged("--header", "A b:$${HEADER_A_B}", HEADER_A_B="c"),
        "mcp-remote does not take a header named 'A b'",
    ),
    (
        "cursor",
        {"command": "https://x/mcp", "args": ["-y"]},
        bridged(),
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
        "only VS Code asks for ${input:token} (Your token); set the environment variable TOKEN",
    ),
    (
        "vscode",
        {"command": "x", "envFile": ".env"},
        {"command": "x"},
        "search-mcp does not read its envFile; copy the variables into env",
    ),
    (
        "opencode",
        {"command": ["x", "{file:~/a}"]},
        {"command": "x", "args": ["{file:~/a}"]},
        "search-mcp does not support {file:...}; set an environment variable and write ${VAR}",
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
