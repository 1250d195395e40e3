"""The models of a configuration: how they are shown and compared."""

import json
import sys
from typing import Any

import pytest
from rich.pretty import pretty_repr

from config.samples import PLAIN, parse, server
from search_mcp.config.schema import (
    EMPTY_CONFIG,
    Entry,
    ServerConfig,
    Settings,
    ToolFilter,
    keys,
)
from search_mcp.wire.structs import replace

REPRESENTATIONS = [
    ({"command": "c", "args": ["${TOKEN}"], "env": {"K": "hidden"}}, "<ServerConfig s: enabled>"),
    ({"command": "c", "enabled": False}, "<ServerConfig s: disabled>"),
    ({"url": "https://hidden"}, "<ServerConfig s: enabled>"),
    ({"type": "http"}, '<ServerConfig s: it has no "url"; write its "url"; if it is a program, remove "type">'),
]


@pytest.mark.parametrize(("entry", "representation"), REPRESENTATIONS)
def test_the_repr_of_a_server_shows_no_secret(entry: object, representation: str) -> None:
    assert repr(server(entry)) == representation


def test_a_pretty_printer_shows_no_secret() -> None:
    assert "s3cret" not in pretty_repr(server({"command": "c", "args": ["--token=s3cret"], "env": {"TOKEN": "s3cret"}}))


def test_the_place_of_a_problem_does_not_affect_equality() -> None:
    text = '{"mcpServers": {"a": {"command": "${ABSENT}"}}}'
    above, below = parse(text), parse(f"\n\n{text}")
    assert above == below
    assert [problem.line for problem in (*above.problems, *below.problems)] == [1, 3]


@pytest.mark.parametrize(("prefix", "then"), [(None, "s"), ("", ""), ("fs", "fs")], ids=["its name", "bare", "another"])
def test_the_effective_prefix(prefix: str | None, then: str) -> None:
    assert replace(PLAIN, prefix=prefix).effective_prefix == then


COMMANDS = [
    # the server, the command that checks it
    (PLAIN, "search-mcp check s"),
    (replace(PLAIN, file="/my files/a.json"), "search-mcp check s --config '/my files/a.json'"),
    (replace(PLAIN, name="a; rm x"), "search-mcp check 'a; rm x'"),
]


@pytest.mark.skipif(sys.platform == "win32", reason="quotes of POSIX")
@pytest.mark.parametrize(("config", "then"), COMMANDS)
def test_a_command_for_a_server_can_be_copied(config: ServerConfig, then: str) -> None:
    assert (config.check(), config.check("--accept")) == (then, then.replace("check", "check --accept", 1))


@pytest.mark.parametrize(
    ("change", "then"), [({}, True), ({"enabled": False}, False), ({"held": "not accepted"}, False)]
)
def test_a_server_may_run_if_it_is_enabled_and_not_held(change: dict[str, Any], then: bool) -> None:
    assert replace(PLAIN, **change).may_run is then


def test_a_configuration_has_the_secrets_of_all_servers() -> None:
    env = {name: {"command": "c", "env": {"KEY": f"secret-{name}"}} for name in "ab"}
    assert parse(json.dumps({"mcpServers": env})).secrets == {"secret-a", "secret-b"}
    assert EMPTY_CONFIG.secrets == frozenset()


def test_a_redactor_takes_out_the_secrets_of_its_servers() -> None:
    servers = {name: {"command": "c", "env": {"KEY": f"secret-{name}"}} for name in "ab"}
    config = parse(json.dumps({"mcpServers": servers}))
    text = "secret-a secret-b"
    assert (config.redactor(text), config.servers[0].redactor(text)) == ("*** ***", "*** secret-b")


REMOTE = [
    # type, url, whether it is remote
    ("", None, False),
    ("", "https://x", True),
    ("stdio", "https://x", False),
    ("Streamable_HTTP", None, True),
    ("docker", None, False),
]


@pytest.mark.parametrize(("kind", "url", "then"), REMOTE)
def test_an_entry_is_remote_by_its_type_or_its_url(kind: str, url: str | None, then: bool) -> None:
    assert Entry(type=kind, url=url).is_remote is then


def test_the_keys_of_a_model_are_its_names_in_camel_case() -> None:
    assert keys(ToolFilter) == {"allow": "allow", "deny": "deny"}
    assert keys(Settings)["maxMessageBytes"] == "max_message_bytes"
