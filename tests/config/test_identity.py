"""The parts of an entry that make it the same server, for each purpose; one row for each edit."""

from collections.abc import Callable
from typing import Any

import pytest

from search_mcp.config import identity
from search_mcp.config.schema import Entry, ServerConfig
from search_mcp.wire.structs import replace

SERVER = ServerConfig(name="git", command="uvx", args=("mcp-server-git",), env={"TOKEN": "one"}, cwd="/a")
PURPOSES: dict[str, Callable[[ServerConfig], object]] = {
    "cached": identity.cached,
    "last failure": identity.last_failure,
    "last use": identity.last_use,
    "definitions": identity.definitions,
    "texts": identity.texts,
}
EDITS: list[tuple[dict[str, Any], set[str]]] = [
    # an edit of the entry, and the purposes for which it is another server
    ({"name": "hub"}, {"start", "last failure", "definitions"}),
    ({"command": "npx"}, {"start", "cached", "last failure", "last use", "definitions"}),
    ({"args": ()}, {"start", "cached", "last failure", "last use", "definitions"}),
    ({"cwd": "/b"}, {"start", "cached", "last failure", "last use", "definitions"}),
    ({"env": {"TOKEN": "two"}}, {"start", "last failure"}),
    ({"env": {"KEY": "one"}}, {"start", "cached", "last failure"}),
    ({"protocol": "2025-11-25"}, {"start", "cached", "last failure"}),
    ({"inherit_env": True}, {"start", "last failure"}),
    ({"problem": "it has no command"}, {"start", "last failure"}),
    ({"description": "x"}, {"last failure", "texts"}),
    ({"rename": {"a": "b"}}, {"last failure", "texts"}),
    ({"describe": {"a": "b"}}, {"last failure", "texts"}),
    ({"call_timeout_seconds": 1.0}, {"last failure"}),
    ({"startup": "lazy"}, set()),
    ({"enabled": False}, set()),
    ({"held": "not accepted"}, set()),
]


@pytest.mark.parametrize(("edit", "others"), EDITS)
def test_an_edit_makes_another_server_for_these_purposes(edit: dict[str, Any], others: set[str]) -> None:
    edited = replace(SERVER, **edit)
    found = {purpose for purpose, of in PURPOSES.items() if of(edited) != of(SERVER)}
    if not identity.is_started_alike(edited, SERVER):
        found.add("start")
    assert found == others


def test_a_program_is_the_same_in_any_order_of_its_variables() -> None:
    one, other = (Entry(command="x", env=env) for env in ({"A": "1", "B": "2"}, {"B": "2", "A": "1"}))
    assert identity.program(one, False) == identity.program(other, False)
    assert identity.program(one, False) != identity.program(one, True)


def test_no_value_of_a_variable_names_a_file_of_the_cache() -> None:
    assert "one" not in str(identity.cached(SERVER))
