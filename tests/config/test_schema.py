"""The models of a configuration: how they are shown and compared."""

import json

import pytest
from rich.pretty import pretty_repr

from config.samples import parse, server
from search_mcp.config.schema import command_line

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


def test_where_a_problem_stands_does_not_make_a_configuration_another_one() -> None:
    text = '{"mcpServers": {"a": {"command": "${ABSENT}"}}}'
    above, below = parse(text), parse(f"\n\n{text}")
    assert above == below
    assert [problem.line for problem in (*above.problems, *below.problems)] == [1, 3]


def test_a_command_line_hides_no_code_and_fills_in_no_placeholder() -> None:
    args = ["-c", "TOKEN=1;evil", "$" + "{TOKEN}", "--api-key", "s3cret", "s3cret"]
    text = json.dumps({"mcpServers": {"a": {"command": "sh", "args": args, "env": {"KEY": "TOKEN=1;evil"}}}})
    (server,) = parse(text).servers
    assert command_line(server) == "sh -c 'TOKEN=1;evil' '${TOKEN}' --api-key '***' s3cret"
