"""Adding servers of several clients to our configuration."""

from dataclasses import replace
from typing import Any

import pytest

from search_mcp.clients import document, found
from search_mcp.clients.known import BY_NAME
from search_mcp.clients.merging import fault, is_same, merge

X = {"command": "x", "args": ["a"], "env": {"B": "c"}}
Y: dict[str, Any] = {"command": "y"}
MOVED_OUT = {**X, "env": {"B": "${file:~/b}"}}
OFF = {**Y, "enabled": False}
ON = [("added", "a"), ("enabled", "a")]
REMOTE = {"type": "http", "url": "https://x"}
OURS = {"url": "https://x"}


def merged(own: dict[str, Any], *servers: tuple[str, dict[str, Any]]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    file = document.read(b"", "jsonc", "f")
    for name, entry in own.items():
        file = file.put(("mcpServers", name), entry)
    changed, results = merge(file, [found.typed(name, entry) for name, entry in servers])
    return dict(changed.members(("mcpServers",))), [(each.result, each.name) for each in results]


def bridged(*args: str, **rest: Any) -> dict[str, Any]:
    return {"command": "npx", "args": ["-y", "mcp-remote", "https://x", *args], **rest}


SERVERS: list[tuple[str, dict[str, Any], list[tuple[str, dict[str, Any]]], dict[str, Any], list[tuple[str, str]]]] = [
    ("new ones", {"a": X}, [("b", Y)], {"a": X, "b": Y}, [("added", "b")]),
    ("one that is there", {"a": X}, [("b", {**X, "tools": {"deny": ["x"]}})], {"a": X}, [("present", "a")]),
    (
        "another folder",
        {"a": X},
        [("a", {**X, "cwd": "/c"}), ("b", {**X, "cwd": "/d"})],
        {"a": X, "a-2": {**X, "cwd": "/c"}, "b": {**X, "cwd": "/d"}},
        [("added", "a-2"), ("added", "b")],
    ),
    (
        "other inherited variables",
        {"a": Y},
        [("b", {**Y, "inheritEnv": ["TOKEN"]})],
        {"a": Y, "b": {**Y, "inheritEnv": ["TOKEN"]}},
        [("added", "b")],
    ),
    (
        "other headers",
        {"a": {**REMOTE, "headers": {"A": "1"}}},
        [("b", {**REMOTE, "headers": {"A": "2"}})],
        {"a": {**REMOTE, "headers": {"A": "1"}}, "b": {**OURS, "headers": {"A": "2"}}},
        [("added", "b")],
    ),
    ("another login", {"a": OURS}, [("b", {**OURS, "oauth": False})],
        {"a": OURS, "b": {**OURS, "oauth": False}}, [("added", "b")]),
    ("a remote one", {}, [("a", REMOTE)], {"a": OURS}, [("added", "a")]),
    ("a remote one twice", {"a": OURS}, [("b", REMOTE)], {"a": OURS}, [("present", "a")]),
    ("a remote one under another key", {"a": {"serverUrl": "https://x"}}, [("b", REMOTE)],
        {"a": {"serverUrl": "https://x"}}, [("present", "a")]),
    ("a remote one behind a bridge", {"a": bridged()}, [("b", REMOTE)], {"a": bridged()}, [("present", "a")]),
    ("a bridge to one that is there", {"a": OURS}, [("b", bridged())], {"a": OURS}, [("present", "a")]),
    (
        "a bridge with a header",
        {"a": bridged("--header", "A:$${HEADER_A}", env={"HEADER_A": "1"})},
        [("b", {**REMOTE, "headers": {"A": "1"}})],
        {"a": bridged("--header", "A:$${HEADER_A}", env={"HEADER_A": "1"})},
        [("present", "a")],
    ),
    (
        "a remote one that is off",
        {"a": {**REMOTE, "description": "d", "enabled": False}},
        [("b", REMOTE)],
        {"a": {**REMOTE, "description": "d", "enabled": True}},
        [("enabled", "a")],
    ),
    ("an address as the command", {"a": {"command": "https://x"}}, [("b", REMOTE)],
        {"a": OURS}, [("enabled", "a")]),
    ("one that is off", {"a": {**X, "enabled": False}}, [("b", X)], {"a": {**X, "enabled": True}}, [("enabled", "a")]),
    ("one that is off by itself", {}, [("a", OFF), ("b", Y)], {"a": {**Y, "enabled": True}}, ON),
    ("one off in another way", {"a": {**Y, "disabled": True}}, [("b", Y)], {"a": {**Y, "disabled": False}}, ON[1:]),
    ("two that are off", {"a": OFF}, [("b", OFF)], {"a": OFF}, [("present", "a")]),
    ("one that is off, of one that is on", {"a": Y}, [("b", OFF)], {"a": Y}, [("present", "a")]),
    ("one that is there, off and on", {"a": Y, "b": OFF}, [("b", Y)], {"a": Y, "b": OFF}, [("present", "a")]),
    ("arguments that are none", {"a": Y}, [("b", {**Y, "args": "text"})], {"a": Y}, [("skipped", "")]),
    ("one twice", {}, [("a", X), ("b", X)], {"a": X}, [("added", "a"), ("present", "a")]),
    (
        "one name for three",
        {"a": X},
        [("a", Y), ("a", {"command": "z"})],
        {"a": X, "a-2": Y, "a-3": {"command": "z"}},
        [("added", "a-2"), ("added", "a-3")],
    ),
    (
        "another environment",
        {"a": X},
        [("a", {**X, "env": {}})],
        {"a": X, "a-2": {"command": "x", "args": ["a"]}},
        [("added", "a-2")],
    ),
    ("one whose secret was moved out", {"a": MOVED_OUT}, [("a", X)], {"a": MOVED_OUT}, [("present", "a")]),
    (
        "one whose secret was moved out, beside another of its name",
        {"a": Y, "a-2": MOVED_OUT},
        [("a", X)],
        {"a": Y, "a-2": MOVED_OUT},
        [("present", "a-2")],
    ),
    ("another account of one program", {"a": MOVED_OUT}, [("b", X)], {"a": MOVED_OUT, "b": X}, [("added", "b")]),
    (
        "two accounts under one name",
        {},
        [("a", X), ("a", {**X, "env": {"B": "d"}})],
        {"a": X, "a-2": {**X, "env": {"B": "d"}}},
        [("added", "a"), ("added", "a-2")],
    ),
    ("ourselves", {}, [("a", {"command": "search-mcp"})], {}, []),
    ("no server", {}, [("a", {"type": "builtin"})], {}, [("skipped", "")]),
    ("what cannot be read", {}, [("a", {**X, "prefix": 3})], {}, [("skipped", "")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("own", "servers", "after", "results"), [row[1:] for row in SERVERS], ids=[row[0] for row in SERVERS]
)
def test_merge(own: dict[str, Any], servers: list[Any], after: dict[str, Any], results: list[Any]) -> None:
    assert merged(own, *servers) == (after, results)


def test_an_invalid_entry_of_ours_equals_no_other() -> None:
    own: dict[str, Any] = {"a": 3, "b": {"command": "x", "args": "a", "env": []}}
    after, _ = merged(own, ("c", X))
    assert after == {**own, "c": X}


def test_notes() -> None:
    own = document.read(b'{"mcpServers": {"a": {"command": "z"}}}', "jsonc", "f")
    _, [a] = merge(own, [found.typed("a", {"url": "https://x"})])
    assert (a.name, a.is_disabled) == ("a-2", False)
    assert a.notes == ("named a-2, because another server is called a",)
    _, [b] = merge(own, [found.typed("b", {"url": "wss://x"})])
    assert (b.name, b.is_disabled) == ("b", True)
    assert b.notes == ("it uses a WebSocket, which search-mcp does not support; use its https address",)


def test_filters_of_a_server_that_is_there_already_are_named() -> None:
    own = document.read(b'{"mcpServers": {"a": {"url": "https://x/mcp"}}}', "jsonc", "f")
    entry = {"command": "npx", "args": ["mcp-remote", "https://x/mcp", "--ignore-tool", "get-*"]}
    _, [twin] = merge(own, [found.typed("b", entry)])
    assert (twin.result, twin.name) == ("present", "a")
    assert twin.notes == ('its "tools" are not taken over: {"deny": ["get-*"]}',)


def test_the_variables_with_other_values_are_named() -> None:
    theirs = {"command": "x", "env": {"A": "theirs", "B": "theirs", "C": "same"}}
    own = document.read(b"", "jsonc", "f").put(
        ("mcpServers", "wiki"), {"command": "x", "env": {"A": "${A_TOKEN}", "B": "ours", "C": "same"}}
    )
    _, [wiki] = merge(own, [replace(found.typed("wiki", theirs), client=BY_NAME["cursor"])])
    assert (wiki.result, wiki.notes) == ("present", ("kept yours; it differs from Cursor's in B",))
    _, [wiki] = merge(own, [found.typed("wiki", theirs)])
    assert wiki.notes == ("kept yours; it differs from that in B",)


def test_a_chosen_name() -> None:
    own = document.read(
        b'{"mcpServers": {"a": {"command": "y"}, "b": {"command": "y", "enabled": false}}}', "jsonc", "f"
    )
    for name, result in (("a", "present"), ("b", "enabled"), ("c", "added")):
        changed, [each] = merge(own, [found.typed(name, Y)], [name])
        assert (each.name, each.result) == (name, result)
        assert changed.members(("mcpServers", name)) in (Y, {**Y, "enabled": True})


def test_is_same() -> None:
    assert is_same(found.typed("a", X), {**X, "enabled": False})
    assert not is_same(found.typed("a", X), Y)
    assert not is_same(found.typed("a", X), {**X, "cwd": "/c"})
    assert not is_same(found.typed("a", X), 3)


def test_fault() -> None:
    assert fault("a", X) is None
    assert fault("a", {"url": "https://x", "enabled": False}) is None
    assert (
        fault("a", {"command": "x", "tags": "t"})
        == '"tags" must be a list of strings; write a list, such as ["one", "two"]'
    )
