"""Edits of one member of a YAML file that keep every other character."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.clients import yaml_text
from search_mcp.model.errors import ConfigError

GOOSE = """\
GOOSE_MODEL: 'gpt'   # mine
extensions:
  developer:
    args: [x, "y"]
    text: |
      extensions:

  # about fetch
  fetch:
    cmd: uvx
    args:
    - a

# the rest
GOOSE_MODE: auto
"""

PATH = ["extensions", "new"]
ENTRY = {"cmd": "/x y", "args": ["on: x", "yes", ""], "envs": {}, "enabled": True}
WRITTEN = """\
  new:
    cmd: /x y
    args:
    - 'on: x'
    - yes
    - ''
    envs: {}
    enabled: true
"""

PUT = [
    ("after the last", GOOSE, GOOSE.replace("    - a\n", "    - a\n" + WRITTEN)),
    ("an empty file", "", "extensions:\n" + WRITTEN),
    ("a comment alone", "# mine", "# mine\nextensions:\n" + WRITTEN),
    ("no such key", "a: 1", "a: 1\nextensions:\n" + WRITTEN),
    ("nothing there", "extensions: # mine\nb: 1\n", "extensions: # mine\n" + WRITTEN + "b: 1\n"),
    ("null there", "extensions: null\n", "extensions:\n" + WRITTEN),
    ("an empty mapping there", "extensions: {}\nb: 1\n", "extensions:\n" + WRITTEN + "b: 1\n"),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in PUT], ids=[row[0] for row in PUT])
def test_put(before: str, after: str) -> None:
    written = yaml_text.put(before, PATH, ENTRY)
    assert written == after
    assert yaml_text.put(written, PATH, ENTRY) == written


DROP = [
    ("the first", ["developer"], GOOSE[: GOOSE.index("  developer")] + GOOSE[GOOSE.index("\n  # about") :]),
    ("the last", ["fetch"], GOOSE[: GOOSE.index("  fetch")] + GOOSE[GOOSE.index("\n# the rest") :]),
]


@pytest.mark.parametrize(("path", "after"), [row[1:] for row in DROP], ids=[row[0] for row in DROP])
def test_drop(path: list[str], after: str) -> None:
    assert yaml_text.drop(GOOSE, ["extensions", *path]) == after


def test_a_mapping_that_becomes_empty() -> None:
    assert yaml_text.drop("a: 1\nextensions:\n  x:\n    b: 1\n", ["extensions", "x"]) == "a: 1\nextensions: {}\n"


def test_line_ends_stay() -> None:
    text = GOOSE.replace("\n", "\r\n")
    longer = yaml_text.put(text, PATH, ENTRY)
    assert longer.count("\n") == longer.count("\r\n")
    assert yaml_text.drop(longer, PATH) == text


NOT_YAML = [
    ("a: [1\nb: 2\n", "f:2: not valid YAML: "),
    ("a: 1\na: 2\n", "f:2: not valid YAML: found duplicate key"),
    ("a: \x00", "f: not valid YAML"),
]


@pytest.mark.parametrize(("text", "problem"), NOT_YAML)
def test_the_line_of_invalid_yaml(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        yaml_text.parse(text, "f")
    assert str(caught.value).startswith(problem)
    assert str(caught.value).count("\n") == 0


VALUES = st.sampled_from(
    [" 1", " 'x: y'", " [a, {b: c}]", "\n    - a\n    - b", " |\n      new:\n\n      x", " # nothing"]
)
COMMENTS = st.sampled_from(["", "\n", "  # about new:\n", "# mine\n\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(["", "# mine\n", "a: 1\n"])) + "extensions:\n"
    for name in draw(st.lists(st.sampled_from(["one", '"two"', "th-ree"]), unique=True, min_size=1, max_size=3)):
        text += f"{draw(COMMENTS)}  {name}:\n    a:{draw(VALUES)}\n"
    return text + draw(COMMENTS) + draw(st.sampled_from(["", "z: 1\n"]))


@given(documents(), st.booleans())
def test_a_new_member_changes_nothing_else_and_can_be_removed_again(text: str, windows: bool) -> None:
    text = text.replace("\n", "\r\n") if windows else text
    value: Any = yaml_text.parse(text, "f")
    longer = yaml_text.put(text, PATH, ENTRY)
    assert yaml_text.parse(longer, "f") == {**value, "extensions": {**value["extensions"], "new": ENTRY}}
    assert yaml_text.drop(longer, PATH) == text


@given(documents())
def test_removing_a_member_removes_nothing_else(text: str) -> None:
    value: Any = yaml_text.parse(text, "f")
    for name in value["extensions"]:
        left = yaml_text.drop(text, ["extensions", name])
        rest = {key: each for key, each in value["extensions"].items() if key != name}
        assert yaml_text.parse(left, "f") == {**value, "extensions": rest}
        assert left.count("# mine") == text.count("# mine")


@given(documents())
def test_a_cut_member_is_restored(text: str) -> None:
    value: Any = yaml_text.parse(text, "f")
    for name in value["extensions"]:
        left, taken = yaml_text.cut(text, ["extensions", name])
        rest = {key: each for key, each in value["extensions"].items() if key != name}
        assert yaml_text.parse(left, "f") == {**value, "extensions": rest}
        assert (left + taken).count("# mine") == text.count("# mine")
        back = yaml_text.paste(left, ["extensions", name], taken)
        assert yaml_text.parse(back, "f") == value
        assert taken in back


def test_a_member_is_shifted_to_the_indent_of_the_others() -> None:
    taken = "  # about a\n  a:\n    text: |\n      x\n"
    assert yaml_text.paste("extensions:\n    b: 1\n", ["extensions", "a"], taken) == (
        "extensions:\n    b: 1\n    # about a\n    a:\n      text: |\n        x\n"
    )
    assert yaml_text.paste("z: 1\n", ["extensions", "a"], taken) == f"z: 1\nextensions:\n{taken}"
