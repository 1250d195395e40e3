"""JSON with comments and trailing commas; every value keeps its line and column."""

import codecs
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.config import json_comments, jsonc
from search_mcp.model.errors import ConfigError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
GAPS = st.sampled_from(["", " ", "\n", "\r\n", "\t", '// a, "b" }\n', "/* , ] */", "/**/", "/* \n // */", "/*/ é */"])


FORGIVEN = [
    # given, value
    ("", {}),
    (" \n", {}),
    ("// nothing yet", {}),
    ("\ufeff{}", {}),
    ("[1, 2,]", [1, 2]),
    ('{"a": 1,\n}', {"a": 1}),
    ('{"a": [1, /* one */\n], // a\n}', {"a": [1]}),
    ('/*/ still open */ {"a": 1}', {"a": 1}),
    ('{"url": "http://x/*y*/", "list": ",]"}', {"url": "http://x/*y*/", "list": ",]"}),
    (
        r'{"quote": "\"// no comment", "slash": "\\" /* a comment */}',
        {"quote": '"// no comment', "slash": "\\"},
    ),
    ('{"a": 1} // the end, without a line end', {"a": 1}),
]


@pytest.mark.parametrize(("text", "value"), FORGIVEN)
def test_comments_and_trailing_commas_are_accepted(text: str, value: object) -> None:
    assert jsonc.parse(text, source="f").value == value
    assert jsonc.parse(text.encode(), source="f").value == value


COMMA = "put a comma between the entries, here or at the end of the line above"
END = "the file ends too early: close it with the brace or bracket that is missing"
QUOTE = "close the string with a double quote on the same line"
LOOK = "look for a missing quote, comma or brace there or on the line above"
TWICE = "rename or remove one of the two"
HUGE = "nested too deeply, or a number with too many digits"

NOT_FORGIVEN = [
    # given, place and problem, remedy
    ('{"a": 1', "f:1: not valid JSON: Expecting ',' delimiter at column 8", END),
    ('{"a": {"b": 1}\n', "f:2: not valid JSON: Expecting ',' delimiter at column 1", END),
    ('{"a": [1,\n', "f:2: not valid JSON: Expecting value at column 1", END),
    ('{"a": 1\n "b": 2}', "f:2: not valid JSON: Expecting ',' delimiter at column 2", COMMA),
    (
        "{\n  a: 1}",
        "f:2: not valid JSON: Expecting property name enclosed in double quotes at column 3",
        "close the object, or put double quotes around the key",
    ),
    ('{"a": "b\n}', "f:1: not valid JSON: Invalid control character at column 9", QUOTE),
    ('{"a": "b', "f:1: not valid JSON: Unterminated string starting at column 7", QUOTE),
    (
        r'{"a": "C:\Users"}',
        r"f:1: not valid JSON: Invalid \escape at column 10",
        r'write "\\" or "/" where a Windows path has a backslash',
    ),
    ("{} {}", "f:1: not valid JSON: Extra data at column 4", "remove what follows the closing brace"),
    (
        '{"a":\n 1, /* b }',
        "f:2: not valid JSON: Comment is never closed at column 5",
        "end the comment with */",
    ),
    ("[,]", "f:1: not valid JSON: Expecting value at column 2", LOOK),
    ('{"a": [\n1 /**/,,]}', "f:2: not valid JSON: Expecting value at column 8", LOOK),
    ('{"a": {"b": 1,\n"c": 2, "b": 3}}', "f:2: a.b: this key is already on line 1", TWICE),
    ('{"a": [0, {"b": 1, "\\u0062": 3}]}', "f:1: a.1.b: this key is already on line 1", TWICE),
    (r'["\ud800"]', r"f: \ud800 to \udfff stand for no character alone", "write the character itself"),
    ("[" * 100_000, f"f: {HUGE}", "simplify the file"),
    ("1" * 5_000, f"f: {HUGE}", "simplify the file"),
]


@pytest.mark.parametrize(("text", "problem", "remedy"), NOT_FORGIVEN, ids=range(len(NOT_FORGIVEN)))
def test_a_syntax_error_has_a_place_and_a_remedy(text: str, problem: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        jsonc.parse(text, source="f")
    assert str(caught.value) == f"{problem}; {remedy}"


def test_reads_utf_8_with_its_mark() -> None:
    assert jsonc.parse(codecs.BOM_UTF8 + b'{"a": "\xc3\xa9"}', source="f").value == {"a": "é"}


OTHER_ENCODINGS = [
    (codecs.BOM_UTF16_LE + "{}".encode("utf-16-le"), "f:1: the file is UTF-16; save it as UTF-8"),
    (codecs.BOM_UTF16_BE + "{}".encode("utf-16-be"), "f:1: the file is UTF-16; save it as UTF-8"),
    (codecs.BOM_UTF8 + b'{\n"a": "\xe9"}', "f:2: the file is not UTF-8; save it as UTF-8"),
]


@pytest.mark.parametrize(("data", "message"), OTHER_ENCODINGS)
def test_another_encoding_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        jsonc.parse(data, source="f")
    assert str(caught.value) == message


def test_every_key_has_its_line() -> None:
    text = '{"a": {\n"b": [1, {"c": "x: y"},\n/*\n*/ {"c": {}}],\n"d,\\"": "e"}, "f":\n[]}'
    assert jsonc.parse(text, source="f").lines == {
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "b", 1, "c"): 2,
        ("a", "b", 2, "c"): 4,
        ("a", 'd,"'): 5,
        ("f",): 5,
    }


PLACES = [
    (("a", "b"), "f:2: a.b: wrong; mend it"),
    (("a", "b", 3, "absent"), "f:2: a.b: wrong; mend it"),
    (("absent",), "f:1: wrong; mend it"),
    ((), "f:1: wrong; mend it"),
]


@pytest.mark.parametrize(("path", "message"), PLACES)
def test_an_error_stands_at_the_innermost_key_there_is(path: jsonc.KeyPath, message: str) -> None:
    document = jsonc.parse('{"a":\n{"b": []}}', source="f")
    assert str(document.error(path, "wrong", "mend it")) == message


@given(JSON, st.sampled_from([None, 2]), st.booleans())
def test_plain_json_is_not_changed(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert json_comments.blank(text) == text


@given(JSON, st.data())
def test_comments_between_tokens_change_no_value_and_no_place(value: object, data: st.DataObject) -> None:
    text = ""
    for token in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        closes = token[0] in "]}" and text.rstrip()[-1:] not in ("[", "{") and data.draw(st.booleans())
        text += data.draw(GAPS) + ("," + data.draw(GAPS) if closes else "") + token
    text += data.draw(GAPS)
    plain = json_comments.blank(text)
    assert json.loads(plain) == value
    assert len(plain) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, plain, strict=True))
    assert [i for i, c in enumerate(plain) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]


@given(st.binary() | st.text(alphabet='{}[]",:/*\\\n a1').map(str.encode))
def test_arbitrary_bytes_raise_only_our_error(data: bytes) -> None:
    with contextlib.suppress(ConfigError):
        jsonc.parse(data, source="f")
