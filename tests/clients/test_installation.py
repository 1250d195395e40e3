"""Adding search-mcp to a client's file, and removing it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.clients import document
from search_mcp.clients.document import Document
from search_mcp.clients.installation import InstallResult, add, other_servers, remove, variables, without
from search_mcp.clients.known import BY_NAME, Client
from search_mcp.clients.moved import Moved, digest
from search_mcp.model.errors import ConfigError

CLAUDE = BY_NAME["claude-desktop"]
X: dict[str, Any] = {"command": "x"}
REMOTE: dict[str, Any] = {"url": "wss://x"}


def file(text: str, client: Client = CLAUDE) -> Document:
    return document.read(text.encode(), client.format, "f")


def put(before: Document, command: Sequence[str] = ("/a/search-mcp",)) -> tuple[Document, InstallResult]:
    return add(before, CLAUDE, command, "/c.json", [])


def test_put_in_twice() -> None:
    once, result = put(file("{}"))
    assert result == "added"
    assert put(once) == (once, "present")
    moved, result = put(once, ("/b/search-mcp",))
    assert result == "updated"
    assert moved.members(("mcpServers",)).keys() == {"search-mcp"}


def test_add_updates_an_entry_under_another_name() -> None:
    changed, result = put(file('{"mcpServers": {"mine": {"command": "search-mcp", "env": {"A": "b"}}}}'))
    assert result == "updated"
    assert changed.members(("mcpServers", "mine", "env")) == {"A": "b"}
    assert "search-mcp" not in changed.members(("mcpServers",))


def test_add_refuses_a_taken_name() -> None:
    with pytest.raises(ConfigError, match='f: another server is called "search-mcp"; rename or remove it'):
        put(file('{"mcpServers": {"search-mcp": {"command": "x"}}}'))


@pytest.mark.parametrize("client", BY_NAME.values(), ids=BY_NAME)
def test_a_round_through_every_format(client: Client) -> None:
    entry = {"opencode": {"type": "local", "command": ["x"]}, "goose": {"type": "stdio", "cmd": "x"}}.get(
        client.name, X
    )
    before = file("", client).put((client.root, "a"), entry)
    inside, _ = add(before, client, ("/search-mcp",), "/c.json", ["A"])
    outside, result, kept_out = remove(inside, client, None)
    assert (outside.text, result, kept_out) == (before.text, "removed", [])
    assert remove(outside, client, None) == (outside, "absent", [])


def test_only_servers_that_run_without_changes_are_moved() -> None:
    servers = {"a": X, "b": REMOTE, "c": {"command": "x", "disabled": True}, "me": {"command": "search-mcp"}, "d": 3}
    movable, others = other_servers(file(json.dumps({"mcpServers": servers})), CLAUDE)
    assert [server.name for server in movable] == ["a", "c"]
    assert [server.name for server in others] == ["b"]


BEFORE = """{
  "mcpServers": {
    "a": {"command": "x"}, // the first
    "b": {"url": "wss://x"},
    "c": {"command": "y"}
  }
}
"""


def replaced() -> tuple[Document, Moved]:
    before = file(BEFORE)
    movable, _ = other_servers(before, CLAUDE)
    rest, texts = without(before, movable)
    after, _ = put(rest)
    assert after.members(("mcpServers",)).keys() == {"b", "search-mcp"}
    return after, Moved({server.name: server.raw for server in movable}, before.text, digest(after), texts)


def test_moved_servers_are_restored_exactly() -> None:
    after, moved = replaced()
    assert remove(after, CLAUDE, moved)[0].text == BEFORE


def test_moved_servers_are_restored_into_an_edited_file() -> None:
    after, moved = replaced()
    edited = after.put(("theme",), "dark").put(("mcpServers", "c"), {"command": "another"})
    back, result, kept_out = remove(edited, CLAUDE, moved)
    assert (result, kept_out) == ("removed", ["c"])
    assert back.value == {"mcpServers": {"b": REMOTE, "c": {"command": "another"}, "a": X}, "theme": "dark"}


def test_servers_whose_texts_could_not_be_separated_are_restored_by_value() -> None:
    after, moved = replaced()
    back, _, _ = remove(after.put(("theme",), "dark"), CLAUDE, replace(moved, texts={}))
    assert back.value == {**file(BEFORE).value, "theme": "dark"}


# Any file, with comments wherever its format allows them; moved servers are restored exactly

JSON_ENTRIES = [
    '    "{}": {{"command": "x"}}',
    '    // needs node 20\n    // and more\n    "{}": {{"command": "x"}}',
    '    "{}": {{\n      // needs node 20\n      "command":   "x", // "y"\n      "args": [\n"a"],\n    }}',
    '    /* one\n       two */\n    "{}": {{ "command": "x", "env": {{"A": "b"}} /* inside */ }}',
    '\t"{}" : // why\n\t{{"command": "x"}}',
]
TOML_ENTRIES = [
    '[mcp_servers.{}]\ncommand = "x"\n',
    '# needs node 20\n[mcp_servers.{}] # here\ncommand   = "x" # why\nargs = [\n  "a", # one\n]\n',
    "[mcp_servers.{0}]\n# inside\ncommand = 'x'\n\n# its env\n[mcp_servers.{0}.env]\nA = \"b\"\n",
    '# a\n# b\n[mcp_servers."{0}"]\ncommand = """\n# x"""\n\n# apart\n\n[mcp_servers.{0}.env]\nA = "b" # c\n',
]
YAML_ENTRIES = [
    "  {}:\n    cmd: x\n",
    "  # needs node 20\n  {}: # here\n    cmd:   'x' # why\n    # inside\n    args: [ a,\n      b ]\n",
    '# not indented\n  {}:\n    cmd: x\n    args:\n    - a\n    - "b" # two\n    envs: {{A: b}}\n',
    "  {}:\n    cmd: x\n    description: |\n      # no comment\n\n      text\n",
]


@st.composite
def files_with_comments(draw: st.DrawFn) -> tuple[Client, str, dict[str, str]]:
    """Draw a client, its file, and the texts of the file's entries."""
    name, templates = draw(
        st.sampled_from([("cursor", JSON_ENTRIES), ("codex", TOML_ENTRIES), ("goose", YAML_ENTRIES)])
    )
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, min_size=1, max_size=4))
    texts = {each: draw(st.sampled_from(templates)).format(each) for each in names}
    gap = st.sampled_from(["", "\n"])
    comment = "//" if name == "cursor" else "#"
    parts = [draw(gap) + text for text in texts.values()]
    if name == "cursor":
        behind = [draw(st.sampled_from(["", " // end"])) for _ in parts]
        last = draw(st.sampled_from([",", ""]))
        commas = [","] * (len(parts) - 1) + [last]
        body = "".join(f"{part}{comma}{end}\n" for part, comma, end in zip(parts, commas, behind, strict=True))
        text = f'{{\n  {comment} all\n\n  "mcpServers": {{\n{body}  }},\n  "theme": "dark" {comment} mine\n}}\n'
    elif name == "codex":
        text = f'theme = "dark" {comment} mine\n\n' + "".join(f"{part}\n" for part in parts) + "[tui]\nx = 1\n"
    else:
        text = f"theme: dark {comment} mine\nextensions:\n" + "".join(parts) + "tui:\n  x: 1\n"
    return BY_NAME[name], text, texts


@given(files_with_comments(), st.sampled_from(["theme", "tui", "server", "search-mcp"]))
def test_a_moved_entry_is_restored_with_its_text(
    written: tuple[Client, str, dict[str, str]], what_is_edited: str
) -> None:
    client, text, texts = written
    before = file(text, client)
    movable, _ = other_servers(before, client)
    assert {server.name for server in movable} == {*texts}
    rest, taken = without(before, movable)
    inside, _ = add(rest, client, ("/search-mcp",), "/c.json", [])
    assert "needs node 20" not in inside.text
    moved = Moved({server.name: server.raw for server in movable}, text, digest(inside), taken)
    assert remove(inside, client, moved)[0].text == text

    entry = {"cmd": "/other"} if client.shape == "goose" else {"command": "/other"}
    edited = {
        "theme": lambda: file(inside.text.replace("dark", "light"), client),
        "tui": lambda: inside.put(("tui",), {"y": 2}),
        "server": lambda: inside.put((client.root, "other"), entry),
        "search-mcp": lambda: inside.drop((client.root, "search-mcp")),
    }[what_is_edited]()
    back, _, kept_out = remove(edited, client, moved)
    assert kept_out == []
    for each in texts.values():
        assert each in back.text
    expected = {key: value for key, value in edited.value.items() if key != client.root}
    others = {"other": entry} if what_is_edited == "server" else {}
    assert back.value == {**expected, client.root: {**before.members((client.root,)), **others}}
    assert back.text.count("mine") == 1


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
