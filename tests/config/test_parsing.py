"""Every key, placeholder, warning and error of mcp-servers.json."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.samples import PLAIN, parse, server
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import Config, Settings
from search_mcp.model.errors import ConfigError
from search_mcp.wire.structs import replace

SHIPPED = Path(__file__).parents[2] / "config" / "mcp-servers.json"


ENTRIES = [
    # the entry besides its command, difference from the plain server
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
    ({"maxResultCharacters": 1000, "resultSize": 500000}, {"max_result_characters": 1000, "result_size": 500_000}),
    ({"inheritEnv": ["A", "B"]}, {"inherit_env": ("A", "B")}),
    ({"watch": ["src/*.py"]}, {"watch": ("src/*.py",), "watch_folder": "/etc/conf"}),
    ({"watch": ["/etc/*", "../x", "*.py"]}, {"watch": ("*.py",), "watch_folder": "/etc/conf"}),
    (
        {"watch": ["*"], "cwd": "sub"},
        {"watch": ("*",), "cwd": str(PurePath("/etc/conf/sub")), "watch_folder": str(PurePath("/etc/conf/sub"))},
    ),
    (dict.fromkeys(("args", "env", "cwd", "enabled", "type", "tools", "startup", "callTimeoutSeconds")), {}),
]


@pytest.mark.parametrize(("entry", "difference"), ENTRIES)
def test_the_keys_of_an_entry(entry: dict[str, Any], difference: dict[str, Any]) -> None:
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
    # settings, entry, difference from the plain server
    ({"startup": "lazy"}, {}, {"startup": "lazy"}),
    ({"startup": "lazy"}, {"startup": "eager"}, {"startup": "eager"}),
    ({"startup": "lazy"}, {"startup": None}, {"startup": "lazy"}),
    ({"callTimeoutSeconds": 60}, {}, {"call_timeout_seconds": 60.0}),
    ({"callTimeoutSeconds": 60}, {"callTimeoutSeconds": None}, {}),
    ({"readOnly": True}, {}, {"read_only": True}),
    ({"readOnly": True}, {"readOnly": False}, {}),
    ({"maxResultCharacters": 2000}, {}, {"max_result_characters": 2000}),
    ({"maxResultCharacters": 2000}, {"maxResultCharacters": 3000}, {"max_result_characters": 3000}),
    ({"maxResultCharacters": 2000}, {"maxResultCharacters": None}, {}),
    (
        {"inheritEnv": ["A"], "startTimeoutSeconds": 9},
        {},
        {"inherit_env": ("A",), "start_timeout_seconds": 9.0},
    ),
]


@pytest.mark.parametrize(("settings", "entry", "difference"), DEFAULTS)
def test_an_entry_overrides_the_settings(settings: object, entry: dict[str, Any], difference: dict[str, Any]) -> None:
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


def test_placeholders_are_filled_in() -> None:
    got = server({"command": "${home}/c", "args": ["-t", "${TOKEN}"], "env": {"KEY": "${TOKEN}"}})
    assert (got.command, got.args, got.env) == ("/home/ada/c", ("-t", "s3cret-token"), {"KEY": "s3cret-token"})
    assert got.problem is None


def test_the_directory_is_expanded_before_it_is_joined() -> None:
    assert server({"command": "c", "cwd": "~/x"}).cwd == str(PurePath("/home/ada/x"))
    assert server({"command": "c", "cwd": "${ABSENT:-x}"}).cwd == str(PurePath("/etc/conf/x"))


COMMAND = '{"command": "npx", "args": ["-y", "pkg"]}'


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
    (
        r'{"mcpServers": {"new one\n- x": {"command": "c"}}}',
        (
            r"f:1: mcpServers: 'new one\n- x' has characters that cannot be printed; "
            "leave them out of names and prefixes"
        ),
    ),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_a_file_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert str(caught.value) == message


PREFIXES_THAT_GO_TOGETHER = [
    '{"a": {"command": "c", "prefix": ""}, "b": {"command": "c", "prefix": ""}}',
    '{"a": {"command": "c", "prefix": "x"}, "b": {"command": "c", "prefix": "x", "enabled": false}}',
    '{"a": {"command": "c", "prefix": "b"}, "b": {"command": "c", "prefix": "a"}}',
]


@pytest.mark.parametrize("servers", PREFIXES_THAT_GO_TOGETHER)
def test_equal_prefixes_that_are_allowed(servers: str) -> None:
    assert len(parse('{"mcpServers": ' + servers + "}").servers) == 2


def test_an_unknown_type_is_treated_as_stdio() -> None:
    (warning,) = parse('{"mcpServers": {"s": {"command": "c", "type": "docker"}}}').warnings
    assert warning == 'f:1: mcpServers.s.type: unknown type, treated as stdio; write "stdio" or remove it'


def test_a_search_without_anything_that_calls_is_warned_of() -> None:
    settings = {"listing": "search", "callTool": "off"}
    (warning,) = parse(json.dumps({"mcpServers": {}, "settings": settings})).warnings
    assert warning.startswith("f:1: settings.callTool: ")
    assert "pinned" in warning


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


def test_a_file_that_is_right_does_not_load_pydantic() -> None:
    """It takes longer to load than all the rest of `serve`."""
    code = 'import sys, search_mcp.config.parsing as c; c.parse(\'{"mcpServers": {"s": {"command": "x"}}}\', '
    code += "source='f', variables={}, home='', config_dir='', python=''); sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_file_reads_as_its_first_fault_and_the_number_of_the_others() -> None:
    for faults, others in ((1, ""), (3, " (and 2 more: search-mcp config validate --config f names all)")):
        with pytest.raises(FaultyFile) as caught:
            parse(json.dumps({"mcpServers": dict.fromkeys("abc"[:faults], 1)}))
        assert str(caught.value) == f"{caught.value.faults[0]}{others}"
        assert len(caught.value.faults) == faults


LONG_TEXTS: list[tuple[dict[str, Any], str]] = [
    # an entry, the beginning of its problem
    ({"command": "x", "args": ["-y", "${A:-" * 7_000]}, "args.1 is longer than 32,768 characters; keep it in a file"),
    ({"url": "https://x/" + "?k" * 20_000}, "url is longer than 32,768 characters; keep it in a file"),
    ({"command": "x", "env": {"A" * 40_000: "b"}}, "a key in it is longer than 32,768 characters"),
]


@pytest.mark.parametrize(("entry", "problem"), LONG_TEXTS)
def test_a_server_with_a_text_that_is_too_long_does_not_start(entry: dict[str, Any], problem: str) -> None:
    first, other = parse(
        json.dumps({"mcpServers": {"a": entry, "b": {"command": "x", "args": ["y" * 32_768]}}})
    ).servers
    assert first.problem is not None
    assert first.problem.startswith(problem)
    assert other.problem is None


def test_a_name_of_a_server_that_is_too_long_is_a_fault_of_the_file() -> None:
    with pytest.raises(FaultyFile, match=r"mcpServers: a key in it is longer than 32,768 characters"):
        parse(json.dumps({"mcpServers": {"a" * 40_000: {"command": "x"}}}))
