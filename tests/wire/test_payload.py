"""Payloads are parsed as far as needed and written back byte for byte."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.wire import messages, payload, structs
from search_mcp.wire.messages import Message
from search_mcp.wire.structs import UNSET, Raw, RequestId
from wire.streams import DEEP

NUMBERS = st.sampled_from(
    [b"0", b"-0", b"1.0", b"1.50", b"1e5", b"1E+05", b"-0.0e-0", b"12345678901234567890123", b"1e999"]
)
SCALARS = st.one_of(
    NUMBERS,
    st.sampled_from([b"null", b"true", b"false", rb'"\u00e9\/"', '"é\U0001f600"'.encode(), b"[ ]", b'{ "b":1,"b":2}']),
    st.text().map(payload.encode_bytes),
)
KEYS = st.sampled_from(["_meta", "a", "b", "", "é", '"', "\\", "\n", "0"]) | st.text()
OBJECTS = st.dictionaries(KEYS, SCALARS).map(
    lambda members: b"{" + b",".join(payload.encode_bytes(key) + b":" + raw for key, raw in members.items()) + b"}"
)


@given(OBJECTS)
def test_a_payload_survives_byte_for_byte(given_bytes: bytes) -> None:
    decoded = messages.decode(messages.request(1, "m", Raw(given_bytes)))
    assert isinstance(decoded, Message)
    assert decoded.params == Raw(given_bytes)
    opened = payload.fields(decoded.params)
    assert payload.encode_bytes(opened) == given_bytes
    assert payload.encode_bytes({**payload.without(opened, "b"), "b": Raw(b"1.0")}).endswith(b'"b":1.0}')


@given(st.lists(SCALARS))
def test_a_list_survives_byte_for_byte(elements: list[bytes]) -> None:
    given_bytes = b"[" + b",".join(elements) + b"]"
    opened = payload.items(Raw(given_bytes))
    assert opened == [Raw(element) for element in elements]
    assert payload.encode_bytes(opened) == given_bytes


DEEP_LIST = Raw(b"[" * DEEP + b"]" * DEEP)
DEEP_OBJECT = Raw(b'{"a":' + bytes(DEEP_LIST) + b"}")

NO_OBJECT = [
    pytest.param(Raw(text), id=name)
    for name, text in {
        "a list": b"[]",
        "null": b"null",
        "a string": b'"a"',
        "a number": b"1",
        "nothing": b"",
        "cut short": b'{"a"',
        "deep": bytes(DEEP_OBJECT),
    }.items()
]


@pytest.mark.parametrize("raw", NO_OBJECT)
def test_a_payload_that_is_no_object_has_no_fields(raw: Raw) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        payload.fields(raw)
    assert payload.object_or_empty(raw) == {}


def test_objects_and_their_absence() -> None:
    assert payload.fields(UNSET) == payload.object_or_empty(None) == payload.fields(structs.EMPTY) == {}
    assert payload.fields(Raw(b' {"b": 1.0, "a" : [ ] } ')) == {"b": Raw(b"1.0"), "a": Raw(b"[ ]")}
    assert list(payload.object_or_empty(Raw(b'{"b":1,"a":2}'))) == ["b", "a"]
    assert payload.without({"a": Raw(b"1"), "b": Raw(b"2")}, "a", "c") == {"b": Raw(b"2")}


@pytest.mark.parametrize("raw", [b"{}", b"null", b"1", b"[1", b"", bytes(DEEP_LIST)], ids=lambda raw: repr(raw[:6]))
def test_a_payload_that_is_no_list_has_no_items(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        payload.items(Raw(raw))


@pytest.mark.parametrize(
    ("raw", "value", "string", "request_id"),
    [
        pytest.param(b'"1"', "1", "1", "1", id="a string"),
        pytest.param(rb'"\u00e9"', "é", "é", "é", id="an escape"),
        pytest.param(b"1", 1, None, 1, id="an integer"),
        pytest.param(b"1.0", 1.0, None, None, id="a float"),
        pytest.param(b"true", True, None, None, id="true"),
        pytest.param(b"null", None, None, None, id="null"),
        pytest.param(b'{"a":[1]}', {"a": [1]}, None, None, id="an object"),
        pytest.param(b"", None, None, None, id="nothing"),
        pytest.param(b"[1", None, None, None, id="cut short"),
        pytest.param(bytes(DEEP_LIST), None, None, None, id="deep"),
    ],
)
def test_values(raw: bytes, value: object, string: str | None, request_id: RequestId | None) -> None:
    assert (payload.value(Raw(raw)), payload.string(Raw(raw))) == (value, string)
    found = payload.request_id(Raw(raw))
    assert (found, type(found)) == (request_id, type(request_id))


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["lists", "objects"])
def test_a_value_that_is_nested_too_deeply_is_not_decoded(opening: bytes, closing: bytes) -> None:
    def nested(levels: int) -> bytes:
        return opening * levels + b"1" + closing * levels

    assert payload.encode_bytes(payload.value(nested(payload.MOST_LEVELS))) == nested(payload.MOST_LEVELS)
    for levels in (payload.MOST_LEVELS + 1, 900, 5_000, DEEP):
        assert payload.value(nested(levels)) is None


def test_absent_values() -> None:
    assert payload.string(None) is None
    assert payload.request_id(None) is None


# Unpaired surrogates in our own data: a configuration may contain them, because `json` reads them.


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("a\ud83d", id="a string"),
        pytest.param({"description": "\ud83d", "schema": Raw(b'{"x":1.0}')}, id="beside raw"),
        pytest.param([Raw(b"1"), {"\ude00": "x"}], id="a key"),
    ],
)
def test_writes_an_unpaired_surrogate_so_that_every_reader_takes_it(given: object) -> None:
    written = payload.encode_bytes(given)
    assert payload.encode_text(given).encode() == written
    assert not any(
        0xD800 <= ord(character) <= 0xDFFF for character in json.dumps(json.loads(written), ensure_ascii=False)
    )


# Parts of large payloads

json_values = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(json_values, max_size=5), st.sampled_from([None, 1]))
def test_the_first_elements_of_a_long_array_are_its_items(values: list[object], indent: int | None) -> None:
    filler = [0] * 200_000  # more commas than are parsed at once
    raw = Raw(json.dumps([*values, *filler], indent=indent).encode())
    found = payload.first_items(raw, len(values) + 1)
    assert [json.loads(bytes(each)) for each in found] == [*values, 0]


def test_an_object_of_many_members_is_no_array() -> None:
    with pytest.raises(ValueError, match="array"):
        payload.first_items(Raw(b"{" + b'"a":1,' * 1_000_000 + b'"a":1}'), 4)


def test_members_are_picked_from_any_object() -> None:
    raw = Raw(b'{"b":[1],"x":{"a":0},"a":null,"b":2}')
    assert payload.members(raw, "a", "b", "c") == {"a": Raw(b"null"), "b": Raw(b"2")}
    assert payload.members(Raw(b"[1]"), "a") == {}
    assert payload.members(None, "a") == {}


@pytest.mark.parametrize(
    ("compact", "indented"),
    [
        (b'{"a":[1e999,{}],"b":[]}', b'{\n  "a": [\n    1e999,\n    {}\n  ],\n  "b": []\n}'),
        (b'{"a":"\\ud800"}', b'{"a":"\\ud800"}'),
        (b"[" * DEEP + b"]" * DEEP, b"[" * DEEP + b"]" * DEEP),
    ],
    ids=["all", "half a surrogate pair", "deep"],
)
def test_json_is_indented_for_a_person(compact: bytes, indented: bytes) -> None:
    assert payload.indented(Raw(compact)) == indented
