"""Servers of entries: why they cannot be started, what is secret of them, and what is odd about them."""

import json
from typing import Any

import pytest

from config.samples import parse, server
from search_mcp.config import entries
from search_mcp.config.schema import ServerConfig
from search_mcp.wire.structs import replace

NO_COMMAND = (
    'it has no "command"; write the program that starts it, such as "command": "npx", or the "url" of a remote server'
)


OF_ANOTHER_CLIENT = "is a placeholder of another client; set an environment variable and write ${VAR}"


PROBLEMS = [
    # entry, problem
    ({}, NO_COMMAND),
    ({"command": "${ABSENT:-} "}, NO_COMMAND),
    (
        {"command": "c", "args": ["x", "a${ABSENT}"]},
        (
            "environment variable ABSENT, used in args, is not set; "
            "set it where search-mcp is started, or write ${ABSENT:-default}"
        ),
    ),
    (
        {"command": "${env:ABSENT}", "cwd": "${OTHER}"},
        (
            "environment variable ABSENT, used in command, is not set; "
            "set it where search-mcp is started, or write ${ABSENT:-default}"
        ),
    ),
    (
        {"url": "https://x", "headers": {"Authorization": "Bearer ${ABSENT}"}},
        (
            "environment variable ABSENT, used in headers.Authorization, is not set; "
            "store it with `search-mcp secret s Authorization`, or set it where search-mcp is started"
        ),
    ),
    (
        {"httpUrl": "https://x", "headers": {"Authorization": "${input:hidden}"}},
        f"${{input:hidden}} in headers.Authorization {OF_ANOTHER_CLIENT}",
    ),
    ({"url": "hidden"}, 'its url is not an http or https address; write "https://example.com/mcp"'),
    *(
        (entry, 'it has no "url"; write its "url"; if it is a program, remove "type"')
        for entry in (
            {"type": "http", "command": "c"},
            {"type": "sse"},
            {"type": "streamable-http"},
            {"type": "streamableHttp"},
        )
    ),
    *(
        (entry, "WebSocket servers are not supported; use its https address")
        for entry in ({"url": "wss://hidden"}, {"type": "ws", "url": "https://hidden"})
    ),
    (
        {"command": "https://hidden"},
        "its command is the address of a remote server; `search-mcp enable s` writes it as its url",
    ),
]


@pytest.mark.parametrize(("entry", "problem"), PROBLEMS)
def test_a_server_that_cannot_start_says_why_and_the_others_start(entry: object, problem: str) -> None:
    good = {"command": "c"}
    first, second = parse(json.dumps({"mcpServers": {"s": entry, "good": good}})).servers
    assert first.problem == problem
    assert replace(second, program=b"") == ServerConfig(name="good", command="c")


SECRETS = [
    # entry besides its command, secrets
    ({}, set()),
    ({"env": {"KEY": "abcd", "PORT": "808", "NONE": ""}}, {"abcd"}),
    ({"args": ["--token=${TOKEN}", "plain"]}, {"s3cret-token"}),
    ({"env": {"KEY": "Bearer ${env:TOKEN}"}}, {"s3cret-token", "Bearer s3cret-token", "Bearer%20s3cret-token"}),
    ({"args": ["--api-key", "sk-1111", "--header", "X-Mine: sk-2222"]}, {"sk-1111", "sk-2222"}),
    ({"env": {"LOG_LEVEL": "error", "DEBUG": "true", "PATH": "/usr/bin:/bin", "PASSWORD": "test"}}, {"test"}),
    ({"args": ["${HOME}/x", "~", "${home}", "${configDir}", "${python}", "${ABSENT:-default}"]}, set()),
    ({"env": {"DIR": "${HOME}"}}, set()),
    ({"url": "https://x", "headers": {"Authorization": "Bearer abc"}}, {"Bearer abc", "Bearer%20abc"}),
]


@pytest.mark.parametrize(("entry", "secrets"), SECRETS)
def test_the_secrets_of_an_entry(entry: dict[str, Any], secrets: set[str]) -> None:
    assert server({"command": "c", **entry}).secrets == secrets


def test_a_part_of_the_server_s_name_is_no_secret() -> None:
    entry = {"command": "c", "env": {"USER": "postgres", "DB": "local-postgres", "PASSWORD": "postgres1"}}
    (only,) = parse(json.dumps({"mcpServers": {"local-postgres": entry}})).servers
    assert only.secrets == {"postgres1"}


def test_a_secret_is_known_in_every_form() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nx\n"
    secrets = server({"command": "c", "env": {"A": 'hunter"2 é', "B": "ab/cd", "KEY": key}}).secrets
    assert {'hunter"2 é', r"hunter\"2 é", r"hunter\"2 \u00e9", key, "MIIEvQIBADANBgkqhkiG9w0"} <= secrets
    assert {"ab/cd", r"ab\/cd"} <= secrets
    assert "x" not in secrets


IN_WORDS = [
    # command, the remedy
    ("npx", None),
    ("", None),
    ("npx -y pkg", 'write "command": "npx", "args": ["-y", "pkg"]'),
    ("npx --token s3cret", 'write "command": "npx", "args": ["--token", "***"]'),
    ("/my files/program -y", None),
    ("C:\\my files\\program -y", None),
    ("${PROGRAM} -y", None),
]


@pytest.mark.parametrize(("command", "remedy"), IN_WORDS)
def test_a_command_that_holds_its_arguments_is_split(command: str, remedy: str | None) -> None:
    assert entries.in_words(command) == remedy


def test_a_command_that_holds_its_arguments_is_warned_of() -> None:
    (warning,) = parse('{"mcpServers": {"s": {"command": "npx -y pkg"}}}').warnings
    remedy = 'write "command": "npx", "args": ["-y", "pkg"]'
    assert warning == f"f:1: mcpServers.s.command: contains its arguments; {remedy}"


def test_an_argument_that_holds_its_value_is_warned_of() -> None:
    (warning,) = parse('{"mcpServers": {"s": {"command": "c", "args": ["--port 80"]}}}').warnings
    split = '"--port ..." is one argument; write two: "--port" and the rest'
    assert warning == f"f:1: mcpServers.s.args: {split}"


def test_a_watch_that_cannot_be_used_is_ignored_with_a_warning() -> None:
    (warning,) = parse('{"mcpServers": {"s": {"command": "c", "watch": ["../x", "ok"]}}}').warnings
    assert 'mcpServers.s.watch: "../x" leads out of its folder and is ignored' in warning
    got = parse('{"mcpServers": {"s": {"url": "https://example.com/mcp", "watch": ["src"]}}}')
    assert (got.servers[0].watch, ["remote" in each for each in got.warnings]) == ((), [True])
