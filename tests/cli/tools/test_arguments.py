"""Conversion of arguments on the command line to arguments of a tool."""

import pytest

from search_mcp.cli.problem import Misuse
from search_mcp.cli.tools.arguments import fit, read, refuse_unknown, types_of

USAGE = "tool(list: string[])"
SCHEMA = {
    "properties": {
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "text": {"type": "string"},
        "either": {"type": ["string", "integer"]},
        "maybe": {"anyOf": [{"$ref": "#/$defs/count"}, {"type": "null"}]},
        "level": {"enum": [1, 2]},
        "list": {"type": "array"},
        "open": {"anyOf": [{"type": "integer"}, {}]},
    },
    "$defs": {"count": {"type": "integer"}},
}


def no_stdin() -> str:
    raise AssertionError("stdin is read only where - asks for it")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("count=3", b"3"),
        ("count=123456789012345678901234567890", b"123456789012345678901234567890"),
        ("ratio=3", b"3"),
        ("ratio=.5", b"0.5"),
        ("flag=True", b"true"),
        ("text=3", b'"3"'),
        ("text=", b'""'),
        ("text=a=b:=c", b'"a=b:=c"'),
        ("either=3", b'"3"'),
        ("maybe=3", b"3"),
        ("maybe=null", b"null"),
        ("level=2", b"2"),
        ("open=3", b'"3"'),
        ("unknown=3", b'"3"'),
        ("unknown:=3", b"3"),
        ("ratio:=1.50e3", b"1.50e3"),
        ('list:=["a",\n 1]', b'["a",  1]'),
        ("text:=null", b"null"),
        ('list=["a", 1]', b'["a", 1]'),
        ('text=["a"]', b'"[\\"a\\"]"'),
    ],
)
def test_a_word_is_converted_by_the_schema(word: str, value: bytes) -> None:
    assert [bytes(raw) for raw in fit(read([word], no_stdin)[1], SCHEMA, USAGE).values()] == [value]


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("count=three", "'count' must be a whole number, not 'three'; the signature is tool(list: string[])"),
        ('list={"a": 1}', "'list' must be an array"),
        ("list=[", "'list' must be an array"),
        ("list=[NaN]", "'list' must be an array"),
        ("count=3.5", "'count' must be a whole number, not '3.5'"),
        ("ratio=nan", "'ratio' must be a number, not 'nan'"),
        ("flag=yes", "'flag' must be true or false, not 'yes'"),
        ("maybe=", "'maybe' must be a whole number, not ''"),
        ("list=a,b", "'list' must be an array; write it as JSON: list='[...]', as in tool(list: string[])"),
    ],
)
def test_a_word_that_does_not_fit(word: str, complaint: str) -> None:
    with pytest.raises(Misuse) as caught:
        fit(read([word], no_stdin)[1], SCHEMA, USAGE)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["text"], "'text' is not an argument"),
        (["=3"], "'=3' is not an argument"),
        (["a=1", "a=2"], "'a' is given twice"),
        (["a:={"], "the value of 'a' is not JSON"),
        (["a:=NaN"], "the value of 'a' is not JSON: there is no NaN in it"),
        (["a:=" + "[" * 100_000], "the value of 'a' is not JSON"),
        (['a:="\udcff"'], "the value of 'a' is not JSON"),
        (["{"], "'{...}' is not JSON"),
        (["{}", '{"a": 1}'], "there is more than one JSON object"),
        (["[]"], "'[]' is not an argument"),
    ],
)
def test_words_that_cannot_be_read(words: list[str], complaint: str) -> None:
    with pytest.raises(Misuse) as caught:
        read(words, no_stdin)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(("words", "stdin"), [(["-"], '{"a": 1.50,\n"b": []}'), ([' {"a": 1.50,\n"b": []}'], "")])
def test_all_arguments_in_one_object(words: list[str], stdin: str) -> None:
    given, over = read([*words, "b=1"], lambda: stdin)
    assert {key: bytes(raw) for key, raw in given.items()} == {"a": b"1.50", "b": b"[]"}
    assert [word.key for word in over] == ["b"]


@pytest.mark.parametrize("text", ["[]", "", "{"])
def test_a_value_that_is_not_an_object(text: str) -> None:
    with pytest.raises(Misuse, match="stdin is n"):
        read(["-"], lambda: text)


@pytest.mark.parametrize(
    ("schema", "is_refused"),
    [
        ({"properties": {"a": {}}, "additionalProperties": False}, True),
        ({"properties": {"a": {}}}, False),
        ({"properties": {"a": {}}, "additionalProperties": {}}, False),
        ({"properties": {"a": {}}, "additionalProperties": False, "patternProperties": {"^b": {}}}, False),
        ({"properties": {"a": {}, "b": {}}, "additionalProperties": False}, False),
    ],
)
def test_keys_that_a_closed_schema_does_not_have(schema: dict[str, object], is_refused: bool) -> None:
    if is_refused:
        with pytest.raises(Misuse, match=r"there is no parameter 'b'; the signature is tool\(a: any\)"):
            refuse_unknown(["a", "b"], schema, "tool(a: any)")
    else:
        refuse_unknown(["a", "b"], schema, "tool(a: any)")


def test_a_schema_that_repeats_its_parts_endlessly_is_read_once() -> None:
    parts = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 300} for level in range(9)}
    assert types_of({"$ref": "#/$defs/d0"}, {"$defs": parts}) == set()
    circular = {"$defs": {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/a"}]}}}
    assert types_of({"$ref": "#/$defs/a"}, circular) == set()
