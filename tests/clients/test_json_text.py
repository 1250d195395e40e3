"""Edits of one member of a JSON file that keep every other character."""

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from search_mcp.clients import json_text
from search_mcp.config import json_comments

PUT = [
    # case, before, path, value, after
    ("an empty file", "", "a.b", 1, '{\n  "a": {\n    "b": 1\n  }\n}\n'),
    ("nothing but a comment", "// mine", "a", 1, '// mine\n{\n  "a": 1\n}\n'),
    ("an empty object", "{}", "a", 1, '{\n  "a": 1\n}'),
    ("an empty object on two lines", "{\n}\n", "a", 1, '{\n  "a": 1\n}\n'),
    ("a comment in an empty object", "{ // mine\n}", "a", 1, '{ // mine\n  "a": 1\n}'),
    ("one line stays one line", '{"a": 1}', "b", [2], '{"a": 1, "b": [2]}'),
    ("a trailing comma on one line", '{"a": 1,}', "b", 2, '{"a": 1, "b": 2,}'),
    ("a comment on one line", '{"a": 1 // mine\n}', "b", 2, '{"a": 1, "b": 2 // mine\n}'),
    ("its own line", '{\n  "a": 1\n}', "b", 2, '{\n  "a": 1,\n  "b": 2\n}'),
    ("a trailing comma", '{\n  "a": 1,\n}', "b", 2, '{\n  "a": 1,\n  "b": 2,\n}'),
    ("tabs", '{\n\t"a": {}\n}', "a.b", 2, '{\n\t"a": {\n\t\t"b": 2\n\t}\n}'),
    ("four spaces", '{\n    "a": 1\n}', "b.c", 2, '{\n    "a": 1,\n    "b": {\n        "c": 2\n    }\n}'),
    ("line ends", '{\r\n  "a": 1\r\n}', "b", {"c": 2}, '{\r\n  "a": 1,\r\n  "b": {\r\n    "c": 2\r\n  }\r\n}'),
    (
        "commented-out neighbours",
        '{\n  "a": 1 // one\n  // "x": 2\n}',
        "b",
        2,
        '{\n  "a": 1, // one\n  // "x": 2\n  "b": 2\n}',
    ),
    ("another value", '{\n  "a": 1, // one\n  "b": 2\n}', "a", [3], '{\n  "a": [3], // one\n  "b": 2\n}'),
    ("another value on one line", '{"a": {"b": 1}, "c": 2}', "a.b", {}, '{"a": {"b": {}}, "c": 2}'),
    ("null for an object", '{"a": null}', "a.b", 1, '{"a": {"b": 1}}'),
    ("what it is called", '{"a": 1}', 'q"é', "é\\", '{"a": 1, "q\\"é": "é\\\\"}'),
    ("a brace in a string", '{"a": "}", "b": {}}', "b.c", 1, '{"a": "}", "b": {\n  "c": 1\n}}'),
]


@pytest.mark.parametrize(("before", "path", "value", "after"), [row[1:] for row in PUT], ids=[row[0] for row in PUT])
def test_put(before: str, path: str, value: object, after: str) -> None:
    assert json_text.put(before, path.split("."), value) == after


DROP = [
    ("the only one", '{"a": 1}', "a", "{}"),
    ("the only one on its line", '{\n  "a": 1\n}\n', "a", "{}\n"),
    ("the only one beside a comment", '{\n  // mine\n  "a": 1\n}', "a", "{\n  // mine\n}"),
    ("the first", '{"a": 1, "b": 2}', "a", '{"b": 2}'),
    ("the last", '{"a": 1, "b": 2}', "b", '{"a": 1}'),
    ("one between", '{"a": 1, "b": 2, "c": 3}', "b", '{"a": 1, "c": 3}'),
    ("the first line", '{\n  "a": 1,\n  "b": 2\n}', "a", '{\n  "b": 2\n}'),
    ("the last line", '{\n  "a": 1,\n  "b": 2\n}', "b", '{\n  "a": 1\n}'),
    ("the last line with a comma", '{\n  "a": 1,\n  "b": 2,\n}', "b", '{\n  "a": 1,\n}'),
    ("its comment", '{\n  "a": 1, // one\n  "b": 2 // two\n}', "b", '{\n  "a": 1 // one\n}'),
    ("not its neighbour's comment", '{\n  "a": 1, // one\n  "b": 2 // two\n}', "a", '{\n  "b": 2 // two\n}'),
    ("not the comment above", '{\n  // one\n  "a": 1,\n  "b": 2\n}', "a", '{\n  // one\n  "b": 2\n}'),
    ("beside one that stays", '{ // mine\n  "a": 1, "b": 2\n}', "a", '{ // mine\n  "b": 2\n}'),
    ("before a brace and after a comment", '{\n  "a": 1, // one\n  "b": 2}', "b", '{\n  "a": 1 // one\n  }'),
    (
        "a comment over lines",
        '{\n  "a": 1, // one\n  "b": 2 /*\n two */\n}',
        "b",
        '{\n  "a": 1 // one\n  /*\n two */\n}',
    ),
    ("inside", '{"a": {"b": {"c": 1}, "d": 2}}', "a.b", '{"a": {"d": 2}}'),
]


@pytest.mark.parametrize(("before", "path", "after"), [row[1:] for row in DROP], ids=[row[0] for row in DROP])
def test_drop(before: str, path: str, after: str) -> None:
    assert json_text.drop(before, path.split(".")) == after


# Any document, in any common layout

KEYS = st.sampled_from(["a", "b", 'c "c"', "é", "}"])
VALUES = st.recursive(
    st.none() | st.integers(0, 9) | st.sampled_from(["", "x", ",", "//", "}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)
GAPS = st.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", " // c, }\n", "/* , } */", " /* \n // */ ", "// */\n"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw an object, and a text with that value."""
    value = draw(OBJECTS)
    text = draw(GAPS)
    for token in json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).iterencode(value):
        closes = token[0] in "]}" and json_comments.blank(text).rstrip()[-1:] not in ("[", "{") and draw(st.booleans())
        text += draw(GAPS) + ("," + draw(GAPS) if closes else "") + token
    return text + draw(GAPS), value


@st.composite
def places(draw: st.DrawFn) -> tuple[str, dict[str, Any], list[str], dict[str, Any]]:
    """Draw a document, the path of one of its objects, and that object."""
    text, value = draw(documents())
    path: list[str] = []
    here = value
    while inner := [key for key, each in here.items() if isinstance(each, dict)]:
        if draw(st.booleans()):
            break
        path.append(draw(st.sampled_from(inner)))
        here = here[path[-1]]
    return text, value, path, here


def reads(text: str) -> object:
    return json_text.parse(text, "f")


def changed(value: dict[str, Any], path: list[str], new: dict[str, Any]) -> dict[str, Any]:
    return new if not path else {**value, path[0]: changed(value[path[0]], path[1:], new)}


@given(places(), VALUES)
def test_a_new_member_changes_nothing_else_and_can_be_removed_again(
    place: tuple[str, dict[str, Any], list[str], dict[str, Any]], value: object
) -> None:
    text, whole, path, here = place
    longer = json_text.put(text, [*path, "new"], value)
    assert reads(longer) == changed(whole, path, {**here, "new": value})
    shorter = json_text.drop(longer, [*path, "new"])
    assert reads(shorter) == whole
    if here:
        assert shorter == text
    else:  # an empty object loses the space between its braces
        assert "".join(shorter.split()) == "".join(text.split())


@given(places())
def test_another_value_changes_nothing_else(place: tuple[str, dict[str, Any], list[str], dict[str, Any]]) -> None:
    text, whole, path, here = place
    assume(here)
    key = next(iter(here))
    replaced = json_text.put(text, [*path, key], "another")
    assert reads(replaced) == changed(whole, path, {**here, key: "another"})
    before, after = replaced.split('"another"')
    assert text.startswith(before)
    assert text.endswith(after)


@given(places())
def test_removing_a_member_removes_nothing_else(
    place: tuple[str, dict[str, Any], list[str], dict[str, Any]],
) -> None:
    text, whole, path, here = place
    for key in here:
        left = json_text.drop(text, [*path, key])
        assert reads(left) == changed(whole, path, {name: each for name, each in here.items() if name != key})


@given(places())
def test_a_cut_member_keeps_its_own_comments_and_is_restored(
    place: tuple[str, dict[str, Any], list[str], dict[str, Any]],
) -> None:
    text, whole, path, here = place
    for key in here:
        left, taken = json_text.cut(text, [*path, key])
        assert reads(left) == changed(whole, path, {name: each for name, each in here.items() if name != key})
        assert reads(f"{{{taken}\n}}") == {key: here[key]}
        assert sorted(characters(left + taken)) == sorted(characters(text))
        back = json_text.paste(left, [*path, key], taken)
        assert reads(back) == whole
        assert sorted(characters(back)) == sorted(characters(text))


def characters(text: str) -> str:
    """Return everything but space and commas, whose number depends on the layout."""
    return "".join(text.replace(",", "").split())


CUT = [
    ("its comments", '{\n  // one\n  "a": 1, // two\n  "b": 2\n}', "a", '{\n  "b": 2\n}', '  // one\n  "a": 1 // two'),
    ("not a comment apart", '{\n  // all\n\n  "a": 1\n}', "a", "{\n  // all\n}", '  "a": 1'),
    ("not its neighbour's", '{\n  "a": 1, // a\n  "b": 2\n}', "b", '{\n  "a": 1 // a\n}', '  "b": 2'),
    ("not its object's", '{ // all\n  "a": 1\n}', "a", "{ // all\n}", '  "a": 1'),
    ("beside others", '{"a": 1, /* b */ "b": 2, "c": 3}', "b", '{"a": 1, "c": 3}', '/* b */ "b": 2'),
    ("first on its line", '{\n  "a": 1, "b": 2\n}', "a", '{\n  "b": 2\n}', '  "a": 1'),
]


@pytest.mark.parametrize(("before", "key", "after", "taken"), [row[1:] for row in CUT], ids=[row[0] for row in CUT])
def test_cut(before: str, key: str, after: str, taken: str) -> None:
    assert json_text.cut(before, [key]) == (after, taken)


@given(documents())
def test_missing_objects_on_the_path_are_created(document: tuple[str, dict[str, Any]]) -> None:
    text, value = document
    assert reads(json_text.put(text, ["new", "newer"], 1)) == {**value, "new": {"newer": 1}}
