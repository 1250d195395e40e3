"""search-mcp is put into a client's file and taken out again."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from search_mcp.clients import document
from search_mcp.clients.document import Document
from search_mcp.clients.installation import Result, behind, put_in, take_out, variables, without
from search_mcp.clients.known import BY_NAME, Client
from search_mcp.clients.moved import Moved, digest
from search_mcp.errors import ConfigError

CLAUDE = BY_NAME["claude-desktop"]
X: dict[str, Any] = {"command": "x"}
REMOTE: dict[str, Any] = {"url": "https://x"}


def file(text: str, client: Client = CLAUDE) -> Document:
    return document.read(text.encode(), client.format, "f")


def put(before: Document, command: Sequence[str] = ("/a/search-mcp",)) -> tuple[Document, Result]:
    return put_in(before, CLAUDE, command, "/c.json", [])


def test_put_in_twice() -> None:
    once, result = put(file("{}"))
    assert result == "added"
    assert put(once) == (once, "present")
    moved, result = put(once, ("/b/search-mcp",))
    assert result == "updated"
    assert moved.members(("mcpServers",)).keys() == {"search-mcp"}


def test_put_in_where_it_is_under_another_name() -> None:
    changed, result = put(file('{"mcpServers": {"mine": {"command": "search-mcp", "env": {"A": "b"}}}}'))
    assert result == "updated"
    assert changed.members(("mcpServers", "mine", "env")) == {"A": "b"}
    assert "search-mcp" not in changed.members(("mcpServers",))


def test_put_in_where_the_name_is_taken() -> None:
    with pytest.raises(ConfigError, match='f: "search-mcp" is something else there; rename or remove it'):
        put(file('{"mcpServers": {"search-mcp": {"command": "x"}}}'))


@pytest.mark.parametrize("client", BY_NAME.values(), ids=BY_NAME)
def test_a_round_through_every_format(client: Client) -> None:
    entry = {"opencode": {"type": "local", "command": ["x"]}, "goose": {"type": "stdio", "cmd": "x"}}.get(
        client.name, X
    )
    before = file("", client).put((client.root, "a"), entry)
    inside, _ = put_in(before, client, ("/search-mcp",), "/c.json", ["A"])
    outside, result, kept_out = take_out(inside, client, None)
    assert (outside.text, result, kept_out) == (before.text, "removed", [])
    assert take_out(outside, client, None) == (outside, "absent", [])


def test_behind_are_only_those_that_run_here() -> None:
    servers = {"a": X, "b": REMOTE, "c": {"command": "x", "disabled": True}, "me": {"command": "search-mcp"}, "d": 3}
    movable, others = behind(file(json.dumps({"mcpServers": servers})), CLAUDE)
    assert [server.name for server in movable] == ["a", "c"]
    assert [server.name for server in others] == ["b"]


BEFORE = """{
  "mcpServers": {
    "a": {"command": "x"}, // the first
    "b": {"url": "https://x"},
    "c": {"command": "y"}
  }
}
"""


def replaced() -> tuple[Document, Moved]:
    before = file(BEFORE)
    movable, _ = behind(before, CLAUDE)
    after, _ = put(without(before, movable))
    assert after.members(("mcpServers",)).keys() == {"b", "search-mcp"}
    return after, Moved({server.name: server.raw for server in movable}, before.text, digest(after))


def test_what_was_moved_comes_back_to_the_character() -> None:
    after, moved = replaced()
    assert take_out(after, CLAUDE, moved)[0].text == BEFORE


def test_what_was_moved_comes_back_into_a_file_that_was_edited() -> None:
    after, moved = replaced()
    edited = after.put(("theme",), "dark").put(("mcpServers", "c"), {"command": "another"})
    back, result, kept_out = take_out(edited, CLAUDE, moved)
    assert (result, kept_out) == ("removed", ["c"])
    assert back.value == {"mcpServers": {"b": REMOTE, "c": {"command": "another"}, "a": X}, "theme": "dark"}


def test_variables() -> None:
    own = file(
        json.dumps(
            {
                "mcpServers": {
                    "a": {"command": "${A}", "args": ["${home}/${B:-x}", "~"], "env": {"C": "${env:C}"}},
                    "b": {"command": "x", "inheritEnv": ["D", "A"]},
                    "c": {"command": "x", "inheritEnv": True},
                    "d": 3,
                }
            }
        )
    )
    assert variables(own) == ["A", "B", "C", "D"]
