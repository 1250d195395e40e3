"""Unknown keys of a file: warnings, suggestions, and misspellings of keys that protect."""

import json

import pytest

from config.samples import PLAIN, parse
from search_mcp.model.errors import ConfigError
from search_mcp.wire.structs import replace

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
]


@pytest.mark.parametrize(("keys", "warning"), WARNINGS)
def test_an_unknown_key_is_reported_by_a_warning(keys: str, warning: str) -> None:
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
    """It would run without the intended protection."""
    got = parse(json.dumps({"mcpServers": {"s": {"command": "c", **keys}}}))
    wrong = f'unknown key "{path.split(".")[-1]}", similar to "{meant}"; write "{meant}", or remove it'
    assert [each.problem for each in got.servers] == [wrong]
    assert [str(problem) for problem in got.problems] == [f"f:1: mcpServers.s.{path}: {wrong}"]
    assert got.warnings == ()


@pytest.mark.parametrize(
    ("key", "meant"), [("readonly", "readOnly"), ("CallTool", "callTool"), ("confirmCommand", "confirmCommands")]
)
def test_a_misspelt_key_that_protects_is_an_error_in_the_settings(key: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(json.dumps({"mcpServers": {}, "settings": {key: True}}))
    wrong = f'unknown key "{key}", similar to "{meant}"; write "{meant}", or remove it'
    assert str(caught.value) == f"f:1: settings.{key}: {wrong}"


@pytest.mark.parametrize(
    ("key", "meant"), [("evn", "env"), ("nev", "env"), ("ars", "args"), ("cdw", "cwd"), ("xyz", None), ("to", None)]
)
def test_a_misspelt_short_key_is_recognised(key: str, meant: str | None) -> None:
    (warning,) = parse(json.dumps({"mcpServers": {"s": {"command": "c", key: {}}}})).warnings
    assert warning.endswith(f'did you mean "{meant}"?' if meant is not None else "remove it")


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


def test_unknown_keys_are_counted_after_the_first_of_them() -> None:
    servers = {f"s{number}": {"command": "c", "zebra": 1} for number in range(1_000)}
    *named, counted = parse(json.dumps({"mcpServers": servers})).warnings
    assert named == [f"f:1: mcpServers.s{number}.zebra: unknown key, ignored; remove it" for number in range(10)]
    assert counted == "f: 990 more unknown keys are ignored"


def test_a_misspelt_key_that_protects_is_found_behind_many_unknown_keys() -> None:
    entry = {"command": "c", **{f"zebra{number}": 1 for number in range(100)}, "readonly": True}
    (found,) = parse(json.dumps({"mcpServers": {"s": entry}})).servers
    assert found.problem == 'unknown key "readonly", similar to "readOnly"; write "readOnly", or remove it'


def test_a_file_with_more_unknown_keys_than_are_compared_is_refused() -> None:
    """To compare half a million takes minutes."""
    entry = {"command": "c", **{f"zebra{number}": 1 for number in range(1_000)}}
    with pytest.raises(ConfigError, match="f: it has 1,000 different unknown keys; remove them"):
        parse(json.dumps({"mcpServers": {"s": entry}}))


def test_names_chosen_by_the_user_are_no_unknown_keys() -> None:
    entry = '{"command": "c", "env": {"COMAND": "x"}, "rename": {"comand": "x"}, "headers": {"X": "y"}}'
    assert parse('{"mcpServers": {"tools": ' + entry + "}}").warnings == ()
