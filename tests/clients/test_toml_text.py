"""Edits of one table of a TOML file that keep every other character."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.clients import toml_text
from search_mcp.model.errors import ConfigError

CODEX = """\
model = "gpt" # mine

# the first
[mcp_servers.alpha]
command = "npx"   # one
args = [
  "[mcp_servers.fake]",
[]]

[mcp_servers.alpha.env]
TEXT = '''
[mcp_servers.fake]
'''

# about the rest
[tui]
theme = "dark"
"""

PATH = ["mcp_servers", "new"]
ENTRY = {"command": "/x y", "args": ["--client", "codex"], "env": {"A": "b"}}
WRITTEN = """\
[mcp_servers.new]
command = "/x y"
args = ["--client", "codex"]

[mcp_servers.new.env]
A = "b"
"""


def test_put_writes_at_the_end() -> None:
    assert toml_text.put(CODEX, PATH, ENTRY) == CODEX + "\n" + WRITTEN
    assert toml_text.put("", PATH, ENTRY) == WRITTEN
    assert toml_text.put('a = "b"', PATH, ENTRY) == 'a = "b"\n\n' + WRITTEN


def test_put_replaces_a_member_in_its_place() -> None:
    replaced = toml_text.put(CODEX, ["mcp_servers", "alpha"], {"command": "uvx"})
    before, after = CODEX.split("[mcp_servers.alpha]\n")[0], CODEX[CODEX.index("\n# about") :]
    assert replaced == before + '[mcp_servers.alpha]\ncommand = "uvx"\n' + after


def test_drop_leaves_the_comments_around() -> None:
    dropped = toml_text.drop(CODEX, ["mcp_servers", "alpha"])
    assert dropped == 'model = "gpt" # mine\n\n# the first\n\n# about the rest\n[tui]\ntheme = "dark"\n'


def test_line_ends_stay() -> None:
    text = CODEX.replace("\n", "\r\n")
    longer = toml_text.put(text, PATH, ENTRY)
    assert longer.count("\n") == longer.count("\r\n")
    assert toml_text.drop(longer, PATH) == text


def test_the_line_of_invalid_toml() -> None:
    with pytest.raises(ConfigError) as caught:
        toml_text.parse("a = 1\nb = \n", "f")
    assert str(caught.value).startswith("f:2: not valid TOML: ")


COMMENTS = st.sampled_from(["", "\n", "# mine [mcp_servers.x]\n", "\n\n# mine\n\n"])
LINES = st.sampled_from(['a = "[b]"', "a = [\n[1],\n]", "a = '''\n[c]\n'''", "a = 1 # [d]", "a = { b = [\n1] }"])
NAMES = st.sampled_from(["one", "two", '"a.b"', "three"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    text = draw(COMMENTS) + draw(st.sampled_from(["", "model = 1\n"]))
    for name in draw(st.lists(NAMES, unique=True, max_size=3)):
        group = draw(st.sampled_from(["mcp_servers.", "profiles.", ""]))
        text += f"{draw(COMMENTS)}[{group}{name}]\n{draw(LINES)}\n"
        if draw(st.booleans()):
            text += f"{draw(COMMENTS)}[{group}{name}.env]\n{draw(LINES)}\n"
    return text + draw(COMMENTS)


@given(documents(), st.booleans())
def test_a_new_table_changes_nothing_else_and_can_be_removed_again(text: str, windows: bool) -> None:
    text = text.replace("\n", "\r\n") if windows else text
    value: Any = toml_text.parse(text, "f")
    longer = toml_text.put(text, PATH, ENTRY)
    assert toml_text.parse(longer, "f") == {**value, "mcp_servers": {**value.get("mcp_servers", {}), "new": ENTRY}}
    assert toml_text.put(longer, PATH, ENTRY) == longer
    assert toml_text.drop(longer, PATH) == text


@given(documents())
def test_removing_a_table_removes_nothing_else(text: str) -> None:
    value: dict[str, Any] = tomllib.loads(text)
    servers = value.pop("mcp_servers", {})
    for name in servers:
        left = toml_text.drop(text, ["mcp_servers", name])
        rest = {key: each for key, each in servers.items() if key != name}
        assert tomllib.loads(left) == ({**value, "mcp_servers": rest} if rest else value)
        assert left.count("# mine") == text.count("# mine")


@given(documents())
def test_a_cut_table_is_restored(text: str) -> None:
    value: dict[str, Any] = tomllib.loads(text)
    for name in value.get("mcp_servers", {}):
        left, taken = toml_text.cut(text, ["mcp_servers", name])
        rest = {key: each for key, each in value["mcp_servers"].items() if key != name}
        others = {key: each for key, each in value.items() if key != "mcp_servers"}
        assert tomllib.loads(left) == ({**others, "mcp_servers": rest} if rest else others)
        assert (left + taken).count("# mine") == text.count("# mine")
        back = toml_text.paste(left, ["mcp_servers", name], taken)
        assert tomllib.loads(back) == value
        assert taken in back
