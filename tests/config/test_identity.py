"""The parts of an entry that make it the same server, for each purpose; one row for each edit."""

from collections.abc import Callable
from typing import Any

import pytest

from search_mcp.config import identity
from search_mcp.config.schema import Entry, OAuth, Remote, ServerConfig
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
    ({"principal": "anna"}, {"last failure"}),  # its login or secret may be missing
    ({"startup": "lazy"}, set()),
    ({"watch": ("src/**",), "watch_folder": "/a"}, set()),
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


REMOTE = ServerConfig(
    name="hub",
    command="",
    remote=Remote(url="https://x/mcp?key=one1", public_url="https://x/mcp?key=***", headers={"Authorization": "one"}),
)
REMOTE_EDITS: list[tuple[dict[str, Any], set[str]]] = [
    ({"url": "https://x/mcp?key=two2"}, {"start", "last failure"}),
    (
        {"url": "https://y/mcp", "public_url": "https://y/mcp"},
        {"start", "cached", "last failure", "last use", "definitions"},
    ),
    ({"headers": {"Authorization": "two"}}, {"start", "last failure"}),
    ({"headers": {"authorization": "one"}}, {"start", "last failure"}),
    ({"headers": {"X-Key": "one"}}, {"start", "cached", "last failure"}),
    ({"transport": "sse"}, {"start", "last failure"}),
    ({"oauth": None}, {"start", "last failure"}),
    ({"ca_file": "/ca.pem"}, {"start", "last failure"}),
]


@pytest.mark.parametrize(("edit", "others"), REMOTE_EDITS)
def test_an_edit_of_an_address_makes_another_server_for_these_purposes(edit: dict[str, Any], others: set[str]) -> None:
    assert REMOTE.remote is not None
    edited = replace(REMOTE, remote=replace(REMOTE.remote, **edit))
    found = {purpose for purpose, of in PURPOSES.items() if of(edited) != of(REMOTE)}
    if not identity.is_started_alike(edited, REMOTE):
        found.add("start")
    assert found == others


ADDRESSES = [
    {"url": "https://y"},
    {"headers": {"A": "b"}},
    {"ca_file": "x.pem"},
    {"oauth": False},
    {"oauth": OAuth(client_id="x")},
    {"oauth": OAuth(resource=False)},
    {"oauth": OAuth(scopes=("read",))},
]


@pytest.mark.parametrize("edit", ADDRESSES)
def test_everything_that_decides_where_a_secret_goes_is_part_of_the_program(edit: dict[str, Any]) -> None:
    plain = Entry(url="https://x")
    assert identity.program(replace(plain, **edit), False) != identity.program(plain, False)


def test_a_login_with_all_defaults_is_none() -> None:
    one, other = Entry(url="https://x", oauth=OAuth()), Entry(url="https://x")
    assert identity.program(one, False) == identity.program(other, False) == b'{"url":"https://x"}'


def test_a_program_is_the_same_in_any_order_of_its_variables() -> None:
    one, other = (Entry(command="x", env=env) for env in ({"A": "1", "B": "2"}, {"B": "2", "A": "1"}))
    assert identity.program(one, False) == identity.program(other, False)
    assert identity.program(one, False) != identity.program(one, True)


def test_no_value_of_a_variable_names_a_file_of_the_cache() -> None:
    assert "one" not in str(identity.cached(SERVER))
    assert "one" not in str([identity.cached(REMOTE), identity.definitions(REMOTE), identity.last_use(REMOTE)])
