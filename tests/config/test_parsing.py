"""What mcp-servers.json means: every key, every placeholder, every complaint."""

import contextlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from rich.pretty import pretty_repr

from search_mcp.config import location, parsing, schema, validation
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import Config, ServerConfig, Settings, command_line
from search_mcp.config.secrets import redact
from search_mcp.model.errors import ConfigError
from search_mcp.wire.structs import replace

SHIPPED = Path(__file__).parents[2] / "config" / "mcp-servers.json"
VARIABLES = {"HOME": "/home/ada", "TOKEN": "s3cret-token"}


def parse(text: str | bytes, variables: Mapping[str, str] = VARIABLES) -> Config:
    return parsing.parse(
        text,
        source="f",
        variables=variables,
        home="/home/ada",
        config_dir="/etc/conf",
        python="/usr/bin/python3",
    )


def server(entry: object, settings: object = None, **options: Any) -> ServerConfig:
    """Parse a file whose one server, "s", is `entry`."""
    text = json.dumps({"mcpServers": {"s": entry}, "settings": settings})
    (only,) = parse(text, **options).servers
    return replace(only, program=b"")


# What a file says.

PLAIN = ServerConfig(name="s", command="c")

ENTRIES = [
    # the entry besides its command, what differs from the plain server
    ({}, {}),
    ({"args": ["-y", "pkg"]}, {"args": ("-y", "pkg")}),
    ({"enabled": True, "disabled": False}, {}),
    ({"enabled": False}, {"enabled": False}),
    ({"disabled": True}, {"enabled": False}),
    ({"enabled": True, "disabled": True}, {"enabled": False}),
    ({"cwd": "/srv"}, {"cwd": str(PurePath("/srv"))}),
    ({"cwd": "sub/dir"}, {"cwd": str(PurePath("/etc/conf/sub/dir"))}),
    ({"cwd": ""}, {}),
    ({"type": "stdio"}, {}),
    ({"type": "local", "url": "http://unused"}, {}),
    ({"description": "What for", "tags": ["a", "b"]}, {"description": "What for", "tags": ("a", "b")}),
    ({"prefix": ""}, {"prefix": ""}),
    ({"prefix": "fs"}, {"prefix": "fs"}),
    ({"tools": {"allow": ["read_*"], "deny": ["*_all"]}}, {"allow": ("read_*",), "deny": ("*_all",)}),
    ({"tools": {"deny": ["x"]}}, {"deny": ("x",)}),
    ({"tools": ["*"]}, {"allow": ("*",)}),
    ({"tools": []}, {"deny": ("*",)}),
    ({"pinned": ["p"], "rename": {"a": "b"}}, {"pinned": ("p",), "rename": {"a": "b"}}),
    ({"describe": {"a": "Does."}}, {"describe": {"a": "Does."}}),
    ({"startup": "lazy", "idleStopSeconds": 0.5}, {"startup": "lazy", "idle_stop_seconds": 0.5}),
    ({"callTimeoutSeconds": 5, "maxCallSeconds": 9}, {"call_timeout_seconds": 5.0, "max_call_seconds": 9.0}),
    ({"startTimeoutSeconds": 1}, {"start_timeout_seconds": 1.0}),
    ({"protocol": "2025-06-18"}, {"protocol": "2025-06-18"}),
    ({"inheritEnv": True}, {"inherit_env": True}),
    ({"readOnly": True}, {"read_only": True}),
    ({"inheritEnv": ["A", "B"]}, {"inherit_env": ("A", "B")}),
    (dict.fromkeys(("args", "env", "cwd", "enabled", "type", "tools", "startup", "callTimeoutSeconds")), {}),
]


@pytest.mark.parametrize(("entry", "difference"), ENTRIES)
def test_an_entry(entry: dict[str, Any], difference: dict[str, Any]) -> None:
    assert server({"command": "c", **entry}) == replace(PLAIN, **difference)


def test_settings_and_their_defaults() -> None:
    assert parse('{"mcpServers": {}}') == Config((), Settings(), ())
    given = {
        "listing": "light", "separator": "__", "maxNameLength": 64, "descriptionLength": 80,
        "maxMessageBytes": 1024, "logLevel": "debug", "firstListSeconds": 2, "protocol": "2026-07-28",
        "callTool": "read-only",
    }  # fmt: skip
    assert parse(json.dumps({"mcpServers": {}, "settings": given})).settings == Settings(
        listing="light", separator="__", max_name_length=64, description_length=80,
        max_message_bytes=1024, log_level="debug", first_list_seconds=2, protocol="2026-07-28",
        call_tool="read-only",
    )  # fmt: skip


DEFAULTS = [
    # settings, entry, what differs from the plain server
    ({"startup": "lazy"}, {}, {"startup": "lazy"}),
    ({"startup": "lazy"}, {"startup": "eager"}, {"startup": "eager"}),
    ({"startup": "lazy"}, {"startup": None}, {"startup": "lazy"}),
    ({"callTimeoutSeconds": 60}, {}, {"call_timeout_seconds": 60.0}),
    ({"callTimeoutSeconds": 60}, {"callTimeoutSeconds": None}, {}),
    ({"readOnly": True}, {}, {"read_only": True}),
    ({"readOnly": True}, {"readOnly": False}, {}),
    (
        {"inheritEnv": ["A"], "startTimeoutSeconds": 9},
        {},
        {"inherit_env": ("A",), "start_timeout_seconds": 9.0},
    ),
]


@pytest.mark.parametrize(("settings", "entry", "difference"), DEFAULTS)
def test_a_server_has_the_last_word(settings: object, entry: dict[str, Any], difference: dict[str, Any]) -> None:
    assert server({"command": "c", **entry}, settings) == replace(PLAIN, **difference)


def test_servers_keep_the_order_of_the_file() -> None:
    servers = parse('{"mcpServers": {"b": {"command": "c"}, "a": {"command": "c"}, "c.d": {"command": "c"}}}').servers
    assert [server.name for server in servers] == ["b", "a", "c.d"]


def test_the_shipped_file_is_strict_json_and_runs_with_python_alone() -> None:
    json.loads(SHIPPED.read_text(encoding="utf-8"))
    shipped = parse(SHIPPED.read_bytes(), variables={})
    assert shipped.warnings == ()
    assert [server.problem for server in shipped.servers] == [None] * 5
    assert {server.name: server.command for server in shipped.servers if server.enabled} == {
        "time": "/usr/bin/python3",
        "git": "/usr/bin/python3",
    }


# Placeholders.


def test_placeholders_are_filled_in() -> None:
    got = server({"command": "${home}/c", "args": ["-t", "${TOKEN}"], "env": {"KEY": "${TOKEN}"}})
    assert (got.command, got.args, got.env) == ("/home/ada/c", ("-t", "s3cret-token"), {"KEY": "s3cret-token"})
    assert got.problem is None


def test_the_directory_is_expanded_before_it_is_joined() -> None:
    assert server({"command": "c", "cwd": "~/x"}).cwd == str(PurePath("/home/ada/x"))
    assert server({"command": "c", "cwd": "${ABSENT:-x}"}).cwd == str(PurePath("/etc/conf/x"))


REMOTE = "it is a remote (HTTP) server, which this version does not reach by itself"
PROBLEMS = [
    # entry, problem
    ({}, 'it has no "command"; write the program that starts it, such as "command": "npx"'),
    (
        {"command": "${ABSENT:-} "},
        'it has no "command"; write the program that starts it, such as "command": "npx"',
    ),
    (
        {"command": "c", "args": ["x", "a${ABSENT}"]},
        "environment variable ABSENT, used in args, is not set; set it or write ${ABSENT:-default}",
    ),
    (
        {"command": "${env:ABSENT}", "cwd": "${OTHER}"},
        "environment variable ABSENT, used in command, is not set; set it or write ${ABSENT:-default}",
    ),
    *(
        (entry, f"{REMOTE}; `search-mcp enable s` makes it run through npx mcp-remote")
        for entry in (
            {"url": "https://hidden"},
            {"serverUrl": "https://hidden"},
            {"httpUrl": "https://hidden", "headers": {"Authorization": "${input:hidden}"}},
        )
    ),
    *(
        (entry, f'{REMOTE}; write its "url"; if it is a program, remove "type"')
        for entry in (
            {"type": "http", "command": "c"},
            {"type": "sse"},
            {"type": "streamable-http"},
            {"type": "streamableHttp"},
        )
    ),
    *(
        (entry, "it is a WebSocket server, which this version does not reach; use its https address")
        for entry in ({"url": "wss://hidden"}, {"type": "ws", "url": "https://hidden"})
    ),
    (
        {"command": "https://hidden"},
        "its command is the address of a remote server; `search-mcp enable s` makes it run through npx mcp-remote",
    ),
]


@pytest.mark.parametrize(("entry", "problem"), PROBLEMS)
def test_a_server_that_cannot_start_says_why_and_the_others_start(entry: object, problem: str) -> None:
    good = {"command": "c"}
    first, second = parse(json.dumps({"mcpServers": {"s": entry, "good": good}})).servers
    assert first.problem == problem
    assert replace(second, program=b"") == ServerConfig(name="good", command="c")


# Secrets.

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
def test_secrets(entry: dict[str, Any], secrets: set[str]) -> None:
    assert server({"command": "c", **entry}).secrets == secrets


def test_a_part_of_the_server_s_name_is_no_secret() -> None:
    entry = {"command": "c", "env": {"USER": "postgres", "DB": "local-postgres", "PASSWORD": "postgres1"}}
    (only,) = parse(json.dumps({"mcpServers": {"local-postgres": entry}})).servers
    assert only.secrets == {"postgres1"}


REPRESENTATIONS = [
    ({"command": "c", "args": ["${TOKEN}"], "env": {"K": "hidden"}}, "<ServerConfig s: enabled>"),
    ({"command": "c", "enabled": False}, "<ServerConfig s: disabled>"),
    ({}, '<ServerConfig s: it has no "command"; write the program that starts it, such as "command": "npx">'),
]


@pytest.mark.parametrize(("entry", "representation"), REPRESENTATIONS)
def test_a_server_shows_no_secret(entry: object, representation: str) -> None:
    assert repr(server(entry)) == representation


def test_a_pretty_printer_is_shown_no_secret_either() -> None:
    assert "s3cret" not in pretty_repr(server({"command": "c", "args": ["--token=s3cret"], "env": {"TOKEN": "s3cret"}}))


REDACTIONS = [
    # text, secrets, result
    ("nothing", [], "nothing"),
    ("nothing", [""], "nothing"),
    ("a key and a key", ["key"], "a *** and a ***"),
    ("token-long token", ["token", "token-long"], "*** ***"),
    ("1abcdefg", ["abcd", "bcdefg"], "1a***"),
]


@pytest.mark.parametrize(("text", "secrets", "result"), REDACTIONS)
def test_redact(text: str, secrets: list[str], result: str) -> None:
    assert redact(text, secrets) == result


@given(st.text(alphabet="abc "), st.lists(st.text(alphabet="abc", min_size=1)))
def test_redact_leaves_no_secret(text: str, secrets: list[str]) -> None:
    redacted = redact(text + "".join(secrets), secrets)
    assert not any(secret in redacted for secret in secrets)
    assert redacted == redact(redacted, secrets) == redact(text + "".join(secrets), reversed(secrets))


def test_a_secret_is_one_in_every_form_it_may_be_shown_in() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nx\n"
    secrets = server({"command": "c", "env": {"A": 'hunter"2 é', "B": "ab/cd", "KEY": key}}).secrets
    assert {'hunter"2 é', r"hunter\"2 é", r"hunter\"2 \u00e9", key, "MIIEvQIBADANBgkqhkiG9w0"} <= secrets
    assert {"ab/cd", r"ab\/cd"} <= secrets
    assert "x" not in secrets


# Complaints: place, key, problem, remedy.

COMMAND = '{"command": "npx", "args": ["-y", "pkg"]}'
OF_STRINGS = "an object of strings"
SECONDS = "a positive number"

ERRORS = [
    # given, message
    ("[]", 'f:1: the file must hold one object; write {"mcpServers": {}}'),
    ("", 'f:1: no "mcpServers"; write {"mcpServers": {}} and the servers inside'),
    (
        '{"mcpServers": null}',
        'f:1: mcpServers: no "mcpServers"; write {"mcpServers": {}} and the servers inside',
    ),
    ('\n{"mcpServers": []}', 'f:2: mcpServers: "mcpServers" must be an object; write "mcpServers": {}'),
    (
        '{"mcpServers": {},\n"settings": 1}',
        'f:2: settings: "settings" must be an object; write "settings": {}',
    ),
    ('{"mcpServers": {\n"s": "npx"}}', f"f:2: mcpServers.s: a server must be an object; write {COMMAND}"),
    (
        '{"mcpServers": {\n"": {"command": "c"}}}',
        'f:2: mcpServers.: a server\'s name must not be empty; write a name, such as "files"',
    ),
    (
        '{"mcpServers": {"s": {}, // one\n"s": {}}}',
        "f:2: mcpServers.s: this key is already on line 1; rename or remove one of the two",
    ),
    (
        '{\n"servers": {}}',
        (
            "f:2: servers: this looks like VS Code's format; the root key here is mcpServers; "
            'write "mcpServers" for "servers"'
        ),
    ),
    (
        '{\n"context_servers": {}}',
        (
            "f:2: context_servers: this looks like Zed's format; the root key here is mcpServers; "
            'write "mcpServers" for "context_servers"'
        ),
    ),
    (
        '{"mcpServers": {"a": {"command": "c"},\n"b": {"command": "c",\n"prefix": "a"}}}',
        (
            'f:3: mcpServers.b.prefix: servers "a" and "b" have the same prefix "a"; '
            'give one of them another "prefix", or "enabled": false'
        ),
    ),
    (
        '{"mcpServers": {"b": {"command": "c", "prefix": "a"},\n"a": {"command": "c"}}}',
        (
            'f:2: mcpServers.a: servers "b" and "a" have the same prefix "a"; '
            'give one of them another "prefix", or "enabled": false'
        ),
    ),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_a_file_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert str(caught.value) == message


WRONG_VALUES = [
    # key, value, what it must be, what to write
    ("command", ["npx"], "a string", '"npx", and what follows it in "args"'),
    ("args", "-y pkg", "a list of strings", '["-y", "pkg"]'),
    ("args", {"-y": "pkg"}, "a list of strings", '["-y", "pkg"]'),
    ("args", ["-p", 8080], "a list of strings", '["-y", "pkg"]'),
    ("env", ["KEY=hidden"], OF_STRINGS, '{"NAME": "value"}, numbers in quotes too'),
    ("headers", "hidden", OF_STRINGS, '{"Name": "value"}'),
    ("cwd", 1, "a string", '"${home}/project"'),
    ("enabled", "false", "true or false", "true without quotes"),
    ("disabled", 0, "true or false", "true without quotes"),
    ("type", 1, "a string", '"stdio"'),
    ("description", [], "a string", '"What the server is for"'),
    ("tags", "a", "a list of strings", '["one", "two"]'),
    ("prefix", False, "a string", '"fs", or "" for bare names'),
    ("tools", "*", "an object of lists of strings", '{"allow": ["read_*"], "deny": ["write_*"]}'),
    ("pinned", True, "a list of strings", '["one", "two"]'),
    ("rename", {"a": 1}, OF_STRINGS, '{"itsName": "yours"}'),
    ("describe", [], OF_STRINGS, '{"itsName": "yours"}'),
    ("readOnly", 1, "true or false", "true without quotes"),
    ("startup", "later", '"auto", "eager" or "lazy"', '"auto"'),
    ("callTimeoutSeconds", 0, SECONDS, "60 for a minute, or null for no limit"),
    ("maxCallSeconds", True, SECONDS, "60 for a minute, or null for no limit"),
    ("idleStopSeconds", "9", SECONDS, "60 for a minute, or null for no limit"),
    ("startTimeoutSeconds", float("inf"), SECONDS, "60 for a minute"),
    ("inheritEnv", "PATH", "true, false or a list of names", '["SSH_AUTH_SOCK"]'),
    (
        "protocol",
        "1.0.0",
        '"auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25" or "2026-07-28"',
        '"auto"',
    ),
]


@pytest.mark.parametrize(("key", "value", "must_be", "write"), WRONG_VALUES)
def test_a_wrong_value_of_a_server(key: str, value: object, must_be: str, write: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse('{"mcpServers": {"s": {\n' + json.dumps({key: value})[1:] + "}}")
    assert str(caught.value).startswith(f"f:2: mcpServers.s.{key}")
    assert str(caught.value).endswith(f': "{key}" must be {must_be}; write {write}')


WRONG_SETTINGS = [
    ("listing", "all", '"auto", "light", "full" or "search"', '"auto"'),
    ("separator", "", '"auto" or one to four of the characters . _ -', '"__"'),
    ("separator", "/", '"auto" or one to four of the characters . _ -', '"__"'),
    ("maxNameLength", 15, '"auto" or a whole number, 16 or more', "64"),
    ("maxNameLength", True, '"auto" or a whole number, 16 or more', "64"),
    ("descriptionLength", 0, "a positive whole number", "120"),
    ("descriptionLength", 1.5, "a positive whole number", "120"),
    ("maxMessageBytes", "64 MiB", "a positive whole number", "67108864 for 64 MiB"),
    ("logLevel", "INFO", '"debug", "info", "warning" or "error"', '"info"'),
    ("firstListSeconds", -1, '"auto" or a positive number', '"auto"'),
    ("startup", 1, '"auto", "eager" or "lazy"', '"auto"'),
    ("readOnly", "true", "true or false", "true without quotes"),
    ("callTool", True, '"all", "read-only" or "off"', "one of them"),
    ("callTool", "none", '"all", "read-only" or "off"', "one of them"),
    ("callTool", "raed-only", '"all", "read-only" or "off"', '"read-only"'),
    ("callTool", "readOnly", '"all", "read-only" or "off"', '"read-only"'),
]


@pytest.mark.parametrize(("key", "value", "must_be", "write"), WRONG_SETTINGS)
def test_a_wrong_value_of_the_settings(key: str, value: object, must_be: str, write: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse('{"mcpServers": {}, "settings": {\n' + json.dumps({key: value})[1:] + "}")
    assert str(caught.value) == f'f:2: settings.{key}: "{key}" must be {must_be}; write {write}'


def test_the_innermost_key_is_named_and_no_value_is_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        parse('{"mcpServers": {"s": {"env": {\n"A": "hidden",\n"PORT": 987654}}}}')
    assert str(caught.value) == (
        'f:3: mcpServers.s.env.PORT: "env" must be an object of strings; write {"NAME": "value"}, numbers in quotes too'
    )
    assert "987654" not in f"{caught.value} {caught.value.__cause__}"


SEVERAL_FAULTS = """{"mcpServers": {
"a": {"comand": "x", "inheritEnv": 1, "env": {"A": 1, "B": "hidden", "C": [987654]}},
"b": {"command": "c", "startup": null, "args": ["${ABSENT}"], "cwd": "${ABSENT}"},
"off": {"command": "${ABSENT}", "enabled": false},
"c": "npx",
"": {"command": "c"},
"d": {"command": "c", "prefix": "b"}},
"settings": {"listing": "all", "logLevel": "debug"}
}"""


def test_all_faults_are_found_and_the_rest_is_read() -> None:
    with pytest.raises(FaultyFile) as caught:
        parse(SEVERAL_FAULTS)
    first, *others = [(fault.line, fault.key) for fault in caught.value.faults]
    assert first == (2, "mcpServers.a.inheritEnv")
    assert others == [
        (2, "mcpServers.a.env.A"),
        (2, "mcpServers.a.env.C"),
        (5, "mcpServers.c"),
        (6, "mcpServers."),
        (7, "mcpServers.d.prefix"),
        (8, "settings.listing"),
    ]
    assert str(caught.value) == (
        f"{caught.value.faults[0]} (and 6 more: search-mcp config validate --config f names all)"
    )
    rest = caught.value.rest
    assert [server.name for server in rest.servers] == ["b", "off", "d"]
    assert rest.settings == Settings(log_level="debug")
    assert [(problem.line, problem.key) for problem in rest.problems] == [
        (3, "mcpServers.b.args"),
        (3, "mcpServers.b.cwd"),
    ]
    assert rest.warnings == ('f:2: mcpServers.a.comand: unknown key, ignored; did you mean "command"?',)
    assert not any(secret in str(fault) for fault in caught.value.faults for secret in ("hidden", "987654"))


@pytest.mark.parametrize("text", ["[1]", '{"mcpServers": [{"a": 1}], "settings": 1}', '{"mcpServers": {"a": 1}}'])
def test_of_a_file_without_a_sound_part_nothing_is_left(text: str) -> None:
    with pytest.raises(FaultyFile) as caught:
        parse(text)
    assert caught.value.rest == schema.EMPTY_CONFIG


def test_a_file_that_is_nested_too_deeply_for_those_who_explain_it() -> None:
    with pytest.raises(FaultyFile, match="f:1: nested too deeply; simplify the file"):
        parse('{"mcpServers": {"a": {"env": ' + '{"b": ' * 300 + "1" + "}" * 303)


def test_where_a_problem_stands_does_not_make_a_configuration_another_one() -> None:
    text = '{"mcpServers": {"a": {"command": "${ABSENT}"}}}'
    above, below = parse(text), parse(f"\n\n{text}")
    assert above == below
    assert [problem.line for problem in (*above.problems, *below.problems)] == [1, 3]


PREFIXES_THAT_GO_TOGETHER = [
    '{"a": {"command": "c", "prefix": ""}, "b": {"command": "c", "prefix": ""}}',
    '{"a": {"command": "c", "prefix": "x"}, "b": {"command": "c", "prefix": "x", "enabled": false}}',
    '{"a": {"command": "c", "prefix": "b"}, "b": {"command": "c", "prefix": "a"}}',
]


@pytest.mark.parametrize("servers", PREFIXES_THAT_GO_TOGETHER)
def test_prefixes_that_go_together(servers: str) -> None:
    assert len(parse('{"mcpServers": ' + servers + "}").servers) == 2


WARNINGS = [
    # more keys of the server, warning
    ('"comand": "x"', 'mcpServers.s.comand: unknown key, ignored; did you mean "command"?'),
    ('"Enabled": false', 'mcpServers.s.Enabled: unknown key, ignored; did you mean "enabled"?'),
    (
        '"call_timeout_seconds": 5',
        'mcpServers.s.call_timeout_seconds: unknown key, ignored; did you mean "callTimeoutSeconds"?',
    ),
    ('"zebra": 1', "mcpServers.s.zebra: unknown key, ignored; remove it"),
    (
        '"autoApprove": ["x"]',
        "mcpServers.s.autoApprove: a key of other clients, ignored here; use the client's own approval",
    ),
    (
        '"timeout": 60000',
        'mcpServers.s.timeout: a key of other clients, ignored here; use "callTimeoutSeconds"',
    ),
    ('"envFile": ".env"', 'mcpServers.s.envFile: a key of other clients, ignored here; use "env"'),
    ('"type": "docker"', 'mcpServers.s.type: unknown type, taken for stdio; write "stdio" or remove it'),
]


@pytest.mark.parametrize(("keys", "warning"), WARNINGS)
def test_warnings(keys: str, warning: str) -> None:
    got = parse('{"mcpServers": {"s": {"command": "c",\n' + keys + "}}}")
    assert got.warnings == (f"f:2: {warning}",)
    assert [replace(each, program=b"") for each in got.servers] == [PLAIN]


MISSPELT = [
    # more keys of the server, path of the wrong one, the right one
    ({"readonly": True}, "readonly", "readOnly"),
    ({"pinTool": True}, "pinTool", "pinTools"),
    ({"tool": {"deny": ["x"]}}, "tool", "tools"),
    ({"tools": {"denny": ["x"]}}, "tools.denny", "deny"),
    ({"tools": {"alow": []}}, "tools.alow", "allow"),
]


@pytest.mark.parametrize(("keys", "path", "meant"), MISSPELT)
def test_a_server_with_a_misspelt_key_that_protects_is_not_started(
    keys: dict[str, object], path: str, meant: str
) -> None:
    """It would run without the protection that was meant."""
    got = parse(json.dumps({"mcpServers": {"s": {"command": "c", **keys}}}))
    wrong = f'unknown key "{path.split(".")[-1]}", most like "{meant}"; write "{meant}", or remove it'
    assert [each.problem for each in got.servers] == [wrong]
    assert [str(problem) for problem in got.problems] == [f"f:1: mcpServers.s.{path}: {wrong}"]
    assert got.warnings == ()


@pytest.mark.parametrize(
    ("key", "meant"), [("readonly", "readOnly"), ("CallTool", "callTool"), ("confirmCommand", "confirmCommands")]
)
def test_a_misspelt_key_that_protects_is_an_error_in_the_settings(key: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(json.dumps({"mcpServers": {}, "settings": {key: True}}))
    wrong = f'unknown key "{key}", most like "{meant}"; write "{meant}", or remove it'
    assert str(caught.value) == f"f:1: settings.{key}: {wrong}"


@pytest.mark.parametrize(
    ("key", "meant"), [("evn", "env"), ("nev", "env"), ("ars", "args"), ("cdw", "cwd"), ("xyz", None), ("to", None)]
)
def test_a_misspelt_short_key_is_recognised(key: str, meant: str | None) -> None:
    (warning,) = parse(json.dumps({"mcpServers": {"s": {"command": "c", key: {}}}})).warnings
    assert warning.endswith(f'did you mean "{meant}"?' if meant is not None else "remove it")


def test_a_search_without_anything_that_calls_is_warned_of() -> None:
    settings = {"listing": "search", "callTool": "off"}
    (warning,) = parse(json.dumps({"mcpServers": {}, "settings": settings})).warnings
    assert warning.startswith("f:1: settings.callTool: ")
    assert "pinned" in warning


def test_warnings_about_the_root_and_the_settings() -> None:
    text = '{"$schema": "x",\n"inputs": [],\n"mcpServers": {}, "settings": {\n"$comment": 1, "listings": "x"}}'
    assert parse(text).warnings == (
        "f:2: inputs: unknown key, ignored; remove it",
        "f:4: settings.$comment: unknown key, ignored; remove it",
        'f:4: settings.listings: unknown key, ignored; did you mean "listing"?',
    )


def test_warnings_come_in_the_order_of_the_text() -> None:
    text = '{"mcpServers": {"s": {"command": "c", "zebra": 1}}, "inputs": []}'
    assert parse(text).warnings == (
        "f:1: mcpServers.s.zebra: unknown key, ignored; remove it",
        "f:1: inputs: unknown key, ignored; remove it",
    )


def test_free_names_are_no_unknown_keys() -> None:
    entry = '{"command": "c", "env": {"COMAND": "x"}, "rename": {"comand": "x"}, "headers": {"X": "y"}}'
    assert parse('{"mcpServers": {"tools": ' + entry + "}}").warnings == ()


@given(
    st.dictionaries(
        st.sampled_from(["command", "args", "env", "cwd", "tools", "type", "timeout", "inheritEnv", "prefix", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(alphabet="${}:-~aA/"),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
def test_any_entry_is_read_or_refused_with_our_error(entry: dict[str, object]) -> None:
    with contextlib.suppress(ConfigError):
        server(entry)


# Where the file is looked for.

CWD, USER = Path("/work"), Path("/user")

SEARCHES = [
    # explicit, variables, candidates
    (None, {}, (CWD / "config" / "mcp-servers.json", USER / "mcp-servers.json")),
    (None, {"SEARCH_MCP_CONFIG": ""}, (CWD / "config" / "mcp-servers.json", USER / "mcp-servers.json")),
    (None, {"SEARCH_MCP_CONFIG": "/x.json"}, (Path("/x.json"),)),
    ("a.json", {"SEARCH_MCP_CONFIG": "/x.json"}, (CWD / "a.json",)),
    ("~/a.json", {"HOME": "/home/ada"}, (Path("/home/ada/a.json"),)),
    ("~/a.json", {"USERPROFILE": "/home/ada"}, (Path("/home/ada/a.json"),)),
    ("./~/a.json", {}, (CWD / "~" / "a.json",)),
]
UNCLEAR = [
    # explicit, variables, the current folder, problem
    ("~/a.json", {}, CWD, "~/a.json: HOME is not set, so ~ means nothing"),
    (None, {"SEARCH_MCP_CONFIG": "~/a.json"}, CWD, "~/a.json: HOME is not set, so ~ means nothing"),
    (None, {"SEARCH_MCP_CONFIG": "a.json"}, CWD, "SEARCH_MCP_CONFIG: a.json is a relative path"),
    ("a.json", {}, None, "a.json: the current folder is gone"),
]


@pytest.mark.parametrize(("explicit", "variables", "candidates"), SEARCHES)
def test_candidates(explicit: str | None, variables: dict[str, str], candidates: tuple[Path, ...]) -> None:
    assert location.candidates(explicit, variables, CWD, USER) == candidates


@pytest.mark.parametrize(("explicit", "variables", "cwd", "problem"), UNCLEAR)
def test_a_path_that_may_mean_another_file_is_refused(
    explicit: str | None, variables: dict[str, str], cwd: Path | None, problem: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        location.candidates(explicit, variables, cwd, USER)


def test_without_a_current_folder_the_users_own_file_is_looked_for() -> None:
    assert location.candidates(None, {}, None, USER) == (USER / "mcp-servers.json",)


# The models are read by two libraries: one that is fast, one that says where a fault is.

VALUES = st.recursive(
    st.booleans() | st.integers(-1, 2**70) | st.floats() | st.sampled_from(["", "auto", "lazy", "light", "__", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["A", "allow", "deny"]), inner),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from(sorted(schema.SERVER_KEYS - {"tools", "url", "serverUrl", "httpUrl"})), VALUES),
    st.dictionaries(st.sampled_from(["startup", "separator", "maxNameLength", "logLevel", "maxCallSeconds"]), VALUES),
)
@example({}, {"maxCallSeconds": math.inf})
@example({"args": {}}, {"maxCallSeconds": math.inf})
def test_what_reads_a_file_and_what_explains_it_agree(entry: dict[str, object], settings: dict[str, object]) -> None:
    text = json.dumps({"mcpServers": {"s": entry}, "settings": settings}).replace("NaN", "1e999")
    try:
        validation.as_pydantic(schema.File).model_validate_json(text.replace("Infinity", "1e999"))
    except ValidationError:
        with pytest.raises(ConfigError):
            parse(text.replace("Infinity", "1e999"))
    else:
        parse(text)


def test_a_file_that_is_right_does_not_load_pydantic() -> None:
    """It takes longer to load than all the rest of `serve`."""
    code = 'import sys, search_mcp.config.parsing as c; c.parse(\'{"mcpServers": {"s": {"command": "x"}}}\', '
    code += "source='f', variables={}, home='', config_dir='', python=''); sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_command_line_hides_no_code_and_fills_in_no_placeholder() -> None:
    args = ["-c", "TOKEN=1;evil", "$" + "{TOKEN}", "--api-key", "s3cret", "s3cret"]
    text = json.dumps({"mcpServers": {"a": {"command": "sh", "args": args, "env": {"KEY": "TOKEN=1;evil"}}}})
    (server,) = parse(text).servers
    assert command_line(server) == "sh -c 'TOKEN=1;evil' '${TOKEN}' --api-key '***' s3cret"
