"""Bytes to messages and back: whatever comes, in whatever pieces, and nothing is lost or rebuilt on the way."""

import json
from collections.abc import Callable
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.wire import framing, messages, payload, structs
from search_mcp.wire.framing import Line, LineDecoder, Oversize
from search_mcp.wire.messages import Invalid, Message
from search_mcp.wire.structs import UNSET, ErrorObject, Raw, RequestId

LIMIT = 64
NEXT = b'{"next":1}'
DEEP = 100_000


def cut(chunks: list[bytes], limit: int = LIMIT) -> list[Line]:
    """What a decoder makes of a stream that comes in these pieces and then ends; white space at the ends aside."""
    decoder = LineDecoder(limit)
    lines = [line for chunk in chunks for line in decoder.feed(chunk)]
    lines += decoder.flush()
    return [line.strip() if isinstance(line, bytes) else line for line in lines]


def one_by_one(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def body(text: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(text) + text


LONG = bytes(range(ord("0"), ord("9") + 1)) * 20  # 200 bytes

LINES = [
    # given, then
    pytest.param(b'{"a":1}\n', [b'{"a":1}'], id="a line"),
    pytest.param(b'{"a":1}\n[2]\n', [b'{"a":1}', b"[2]"], id="two lines"),
    pytest.param(b'{"a":1}\r\n[2]\r\n', [b'{"a":1}', b"[2]"], id="CRLF"),
    pytest.param(b'\n\r\n  \t\n{"a":1}\n\n', [b'{"a":1}'], id="blank lines are dropped"),
    pytest.param(b'\xef\xbb\xbf{"a":1}\n', [b'{"a":1}'], id="a BOM is dropped"),
    pytest.param(b"1\n\xef\xbb\xbf2\n", [b"1", b"\xef\xbb\xbf2"], id="a BOM is one only at the start"),
    pytest.param(b"not json\n\xff\xfe\n", [b"not json", b"\xff\xfe"], id="noise is a line like any other"),
    pytest.param("名前\u2028\x85\n".encode(), ["名前\u2028\x85".encode()], id="only a newline ends a line"),
    pytest.param(b"1" * LIMIT + b"\n", [b"1" * LIMIT], id="at the limit"),
    pytest.param(LONG + b"\n", [Oversize(200, LONG, LONG)], id="over the limit"),
    pytest.param(b"1\n" + LONG + b"\n2\n", [b"1", Oversize(200, LONG, LONG), b"2"], id="around an oversize line"),
    pytest.param(LONG * 10 + b"\n", [Oversize(2000, (LONG * 3)[:512], (LONG * 3)[-512:])], id="far over the limit"),
    pytest.param(body(b'{"a":1}'), [b'{"a":1}'], id="LSP"),
    pytest.param(body(b"1") + body(b"2") + body(b"3"), [b"1", b"2", b"3"], id="LSP: body behind body"),
    pytest.param(body(b'{"a":1}') + b"\r\n" + body(b"2"), [b'{"a":1}', b"2"], id="LSP: a line end behind the body"),
    pytest.param(body(b'{"a":1}', b"content-LENGTH:%d\n\n"), [b'{"a":1}'], id="LSP: case, spaces and CR"),
    pytest.param(
        body(b'{"a":1}', b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n"),
        [b'{"a":1}'],
        id="LSP: another header",
    ),
    pytest.param(body(b'{\r\n  "a":\n1}'), [b'{    "a": 1}'], id="LSP: pretty-printed"),
    pytest.param(body(b"1") + b"2\n" + body(b"3"), [b"1", b"2", b"3"], id="LSP: a bare line between bodies"),
    pytest.param(body(b""), [], id="LSP: an empty body"),
    pytest.param(body(LONG), [Oversize(200, LONG, LONG)], id="LSP: over the limit"),
    # A server that prints headers of its own as log lines must not cost the messages behind them.
    pytest.param(b"Content-Length: 5\n[1]\n[2]\n", [b"[1]", b"[2]"], id="a header with a message right behind it"),
    pytest.param(b"Content-Length: x\n[1]\n[2]\n", [b"[1]", b"[2]"], id="a header without a number"),
]


@pytest.mark.parametrize("trailing", [b"", NEXT + b"\n"], ids=["alone", "with trailing data"])
@pytest.mark.parametrize("pieces", [lambda data: [data], one_by_one], ids=["whole", "byte by byte"])
@pytest.mark.parametrize(("given_", "then"), LINES)
def test_lines(given_: bytes, then: list[Line], pieces: Callable[[bytes], list[bytes]], trailing: bytes) -> None:
    assert cut(pieces(given_ + trailing)) == then + ([NEXT] if trailing else [])


@pytest.mark.parametrize(
    ("given_", "then"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"1\n2", [b"1", b"2"], id="a line"),
        pytest.param(b"1\n  ", [b"1"], id="a blank line"),
        pytest.param(LONG, [Oversize(200, LONG, LONG)], id="over the limit"),
        pytest.param(body(b'{"a":1}')[:-1], [b'{"a":1'], id="part of a body"),
        pytest.param(b"Content-Length: 5\r\n", [], id="headers"),
    ],
)
def test_the_end_of_the_stream_ends_the_last_line(given_: bytes, then: list[Line]) -> None:
    assert cut([given_]) == cut(one_by_one(given_)) == then


def test_the_end_comes_once() -> None:
    decoder = LineDecoder(LIMIT)
    assert not list(decoder.feed(b"1"))
    assert list(decoder.flush()) == [b"1"]
    assert not list(decoder.flush())


@pytest.mark.parametrize(
    ("given_", "then"),
    [(b"1\n", False), (b"Content-Length: 1\r\n", False), (body(b"1"), True), (body(b"1") + b"2\n", True)],
)
def test_tells_how_the_other_side_frames(given_: bytes, then: bool) -> None:
    decoder = LineDecoder(LIMIT)
    assert len(list(decoder.feed(given_))) <= 2
    assert decoder.speaks_headers is then


PIECES = st.one_of(
    st.sampled_from([b"\n", b"\r\n", b"\xef\xbb\xbf", b"{}", b'"\\n"', LONG, LONG * 6, b"Content-Length: 3\r\n\r\n"]),
    st.binary(max_size=20),
    st.binary(max_size=20).map(body),
)


@given(st.lists(PIECES).map(b"".join), st.data(), st.sampled_from([8, LIMIT, 600]))
def test_no_chunking_changes_the_result(stream: bytes, data: st.DataObject, limit: int) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=30), label="cuts"))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert cut(chunks, limit) == cut([stream], limit)


# Messages


def message(**members: object) -> Message:
    return Message(jsonrpc="2.0", **members)  # type: ignore[arg-type]


MESSAGES = [
    # the line as we write it, what it means
    pytest.param(messages.request(1, "m", None), message(id=1, method="m"), id="a request"),
    pytest.param(messages.request("1", "m", None), message(id="1", method="m"), id="a request with a string id"),
    pytest.param(messages.request('é\n"', "m", None), message(id='é\n"', method="m"), id="a request with an odd id"),
    pytest.param(messages.request(-1, "m", None), message(id=-1, method="m"), id="a negative id"),
    pytest.param(messages.request(2**63, "m", None), message(id=2**63, method="m"), id="a large id"),
    pytest.param(
        messages.request(1, "a/b", Raw(b'{"x":1.0}')),
        message(id=1, method="a/b", params=Raw(b'{"x":1.0}')),
        id="parameters",
    ),
    pytest.param(messages.notification("m", None), message(method="m"), id="a notification"),
    pytest.param(messages.notification("m", Raw(b"{}")), message(method="m", params=Raw(b"{}")), id="its parameters"),
    pytest.param(messages.result(1, Raw(b'{"a":1}')), message(id=1, result=Raw(b'{"a":1}')), id="a result"),
    pytest.param(messages.result("1", Raw(b"null")), message(id="1", result=Raw(b"null")), id="an empty result"),
    pytest.param(
        messages.failure(1, ErrorObject(-1, "x", Raw(b"[1]"))),
        message(id=1, error=Raw(b'{"code":-1,"message":"x","data":[1]}')),
        id="an error",
    ),
    pytest.param(
        messages.failure(None, ErrorObject(-1, "x")),
        message(id=None, error=Raw(b'{"code":-1,"message":"x"}')),
        id="an error with no id and no data",
    ),
]


@pytest.mark.parametrize(("line", "then"), MESSAGES)
def test_what_we_write_we_read(line: bytes, then: Message) -> None:
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert json.loads(line)["jsonrpc"] == "2.0"
    assert messages.decode(line) == messages.decode(line.strip()) == messages.decode(b" \t" + line) == then
    assert messages.decode(b"[" + line + b"," + line + b"]") == [then, then]
    (framed,) = cut([framing.framed(line)], 1000)
    assert framed == line.strip()


READ = [
    # given, then
    pytest.param(b'{"id":1,"method":"m","jsonrpc":"2.0"}', message(id=1, method="m"), id="any order"),
    pytest.param(b'{"jsonrpc":"2.0","method":"m","x":{"y":1}}', message(method="m"), id="unknown members"),
    pytest.param(b'{"jsonrpc":"2.0","method":"m","params":[1]}', message(method="m", params=Raw(b"[1]")), id="a list"),
    pytest.param(
        b'{"jsonrpc":"2.0","id":null,"error":{}}', message(id=None, error=Raw(b"{}")), id="null id of an error"
    ),
    pytest.param(
        rb'{"jsonrpc":"2.0","method":"m","params":{"a":"\ud83d\ude00"}}',
        message(method="m", params=Raw(rb'{"a":"\ud83d\ude00"}')),
        id="a surrogate pair stays",
    ),
    pytest.param(
        rb'{"jsonrpc":"2.0","method":"m","params":{"a":"\ud83d","b":"\uDE00 \ud83d\ud83d\ude00\\ud83d"}}',
        message(method="m", params=Raw(rb'{"a":"\ufffd","b":"\ufffd \ufffd\ud83d\ude00\\ud83d"}')),
        id="unpaired surrogates are replaced",
    ),
    pytest.param(
        rb'{"jsonrpc":"2.0","method":"m","params":["\ud83d"]}',
        message(method="m", params=Raw(rb'["\ufffd"]')),
        id="an unpaired surrogate and nothing behind it",
    ),
    pytest.param(
        rb'[{"jsonrpc":"2.0","id":"\ud83d","method":"m\ude00"}]',
        [message(id="\ufffd", method="m\ufffd")],
        id="unpaired surrogates in a batch",
    ),
    pytest.param(
        '{"jsonrpc":"2.0","method":"m","params":"名"}'.encode(),
        message(method="m", params=Raw('"名"'.encode())),
        id="UTF-8",
    ),
]


@pytest.mark.parametrize(("given_", "then"), READ)
def test_reads(given_: bytes, then: object) -> None:
    assert messages.decode(given_) == then


def call(members: bytes) -> bytes:
    return b'{"jsonrpc":"2.0",' + members + b"}"


PARSE, REQUEST = messages.PARSE_ERROR, messages.INVALID_REQUEST
REFUSED = [
    # given, code, id
    pytest.param(b"", PARSE, None, id="nothing"),
    pytest.param(b"hello", PARSE, None, id="a word"),
    pytest.param(b'{"jsonrpc":"2.0"', PARSE, None, id="cut short"),
    pytest.param(call(b'"id":7,"method":"m"') + b" x", PARSE, None, id="text behind it"),
    pytest.param(call(b'"id":7,"method":"m","params":[1,]'), PARSE, None, id="a trailing comma"),
    pytest.param(call(b'"id":7,"method":"m","params":NaN'), PARSE, None, id="NaN"),
    pytest.param(call(b'"id":7,"method":"m","params":01'), PARSE, None, id="a leading zero"),
    pytest.param(call(b'"id":7,"method":"m","params":"\x01"'), PARSE, None, id="a control character"),
    pytest.param(call(rb'"id":7,"method":"m","params":"\x"'), PARSE, None, id="an unknown escape"),
    pytest.param(call(rb'"id":7,"method":"m","params":"\u12"'), PARSE, None, id="a short escape"),
    pytest.param(call(b'"id":7,"method":"m","params":"\xff"'), PARSE, None, id="no UTF-8"),
    pytest.param(call(b'"id":7,"method":"m","params":"\xc3'), PARSE, None, id="half a character"),
    pytest.param(call(b'"id":7,"method":"m","params":"\xed\xa0\x80"'), PARSE, None, id="a surrogate in UTF-8"),
    pytest.param(call(b'"id":7,"method":"m","x":"\xff"'), PARSE, None, id="no UTF-8 in an unknown member"),
    pytest.param(call(b'"id":7,"method":"m","params":' + b"[" * DEEP + b"]" * DEEP), PARSE, 7, id="deep parameters"),
    pytest.param(b"[" * DEEP + b"]" * DEEP, PARSE, None, id="deep"),
    pytest.param(b"[1,2", PARSE, None, id="a batch cut short"),
    pytest.param(b"null", REQUEST, None, id="null"),
    pytest.param(b"5", REQUEST, None, id="a number"),
    pytest.param(b'"hello"', REQUEST, None, id="a string"),
    pytest.param(b"{}", REQUEST, None, id="an empty object"),
    pytest.param(b"[]", REQUEST, None, id="an empty batch"),
    pytest.param(b'{"id":7,"method":"m"}', REQUEST, 7, id="no version"),
    pytest.param(b'{"jsonrpc":"1.0","id":"7","method":"m"}', REQUEST, "7", id="another version"),
    pytest.param(b'{"jsonrpc":2.0,"id":7,"method":"m"}', REQUEST, 7, id="a number for a version"),
    pytest.param(call(b'"id":7'), REQUEST, 7, id="neither method nor answer"),
    pytest.param(call(b'"id":7,"method":null'), REQUEST, 7, id="null for a method"),
    pytest.param(call(b'"id":7,"method":1'), REQUEST, 7, id="a number for a method"),
    pytest.param(call(b'"id":null,"method":"m"'), REQUEST, None, id="null for an id"),
    pytest.param(call(b'"id":true,"method":"m"'), REQUEST, None, id="true for an id"),
    pytest.param(call(b'"id":1.5,"method":"m"'), REQUEST, None, id="a fraction for an id"),
    pytest.param(call(b'"id":1.0,"method":"m"'), REQUEST, None, id="a float for an id"),
    pytest.param(call(b'"id":{},"method":"m"'), REQUEST, None, id="an object for an id"),
    pytest.param(call(b'"id":%b,"method":"m"' % (b"9" * 5000)), REQUEST, None, id="an endless number for an id"),
    pytest.param(b'{"id":7,"x":' + b"[" * DEEP + b"]" * DEEP + b"}", PARSE, 7, id="deep, and no version"),
    pytest.param(b"[" + b"{}," * 20_000 + b"{}]", REQUEST, None, id="a batch longer than any answer"),
    pytest.param(
        b'{"id":7,"jsonrpc":"1.0","x":' + b"[" * DEEP + b"]" * DEEP + b"}",
        REQUEST,
        None,
        id="deep, and another version",
    ),
]


@pytest.mark.parametrize(("given_", "code", "message_id"), REFUSED)
def test_refuses(given_: bytes, code: int, message_id: RequestId | None) -> None:
    refused = messages.decode(given_)
    assert isinstance(refused, Invalid)
    assert (refused.code, refused.id) == (code, message_id)
    assert refused.message.startswith("Parse error: " if code == PARSE else "Invalid Request: ")


def test_a_batch_costs_only_its_bad_elements() -> None:
    good = call(b'"id":1,"method":"m"')
    bad = call(b'"id":2,"method":"\xff"')
    elements = messages.decode(b"[" + b",".join([good, b"5", bad, b"[" + good + b"]", good]) + b"]")
    assert isinstance(elements, list)
    codes = [element.code if isinstance(element, Invalid) else element for element in elements]
    assert codes == [message(id=1, method="m"), REQUEST, PARSE, REQUEST, message(id=1, method="m")]


@given(st.binary() | st.text().map(str.encode))
def test_never_raises(line: bytes) -> None:
    for decoded in (messages.decode(line), messages.decode(b"[" + line + b"]"), messages.decode(call(line))):
        assert isinstance(decoded, Message | Invalid | list)


@given(st.lists(st.binary() | st.sampled_from([b"\n", b'"', b"{", b"[", b"\\", b'{"a":', LONG * 3])).map(b"".join))
def test_noise_never_costs_the_line_behind_it(noise: bytes) -> None:
    *_, last = cut([noise + b"\n" + call(b'"method":"m"') + b"\n"], 256)
    assert isinstance(last, bytes)
    assert messages.decode(last) == message(method="m")


# Payloads

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
def test_what_is_no_object(raw: Raw) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        payload.fields(raw)
    assert payload.object_or_empty(raw) == {}


def test_objects_and_their_absence() -> None:
    assert payload.fields(UNSET) == payload.object_or_empty(None) == payload.fields(structs.EMPTY) == {}
    assert payload.fields(Raw(b' {"b": 1.0, "a" : [ ] } ')) == {"b": Raw(b"1.0"), "a": Raw(b"[ ]")}
    assert list(payload.object_or_empty(Raw(b'{"b":1,"a":2}'))) == ["b", "a"]
    assert payload.without({"a": Raw(b"1"), "b": Raw(b"2")}, "a", "c") == {"b": Raw(b"2")}


@pytest.mark.parametrize("raw", [b"{}", b"null", b"1", b"[1", b"", bytes(DEEP_LIST)], ids=lambda raw: repr(raw[:6]))
def test_what_is_no_list(raw: bytes) -> None:
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


def test_absent_values() -> None:
    assert payload.string(None) is None
    assert payload.request_id(None) is None


@pytest.mark.parametrize(
    ("raw", "then"),
    [
        pytest.param(b'{"code":-5,"message":"m"}', ErrorObject(-5, "m"), id="bare"),
        pytest.param(b'{"code":1,"message":"m","data":1.0,"x":1}', ErrorObject(1, "m", Raw(b"1.0")), id="with data"),
        pytest.param(b'{"code":"1","message":"m"}', None, id="a string for a code"),
        pytest.param(b'{"message":"m"}', None, id="no code"),
        pytest.param(b'"it failed"', None, id="a string"),
        pytest.param(b"null", None, id="null"),
        pytest.param(b'{"code":1,"message":"m","data":' + bytes(DEEP_LIST) + b"}", None, id="deep"),
    ],
)
def test_errors(raw: bytes, then: ErrorObject | None) -> None:
    shown = ErrorObject(messages.INTERNAL_ERROR, "malformed error object", Raw(raw))
    assert messages.error_object(Raw(raw)) == (then or shown)


FAR = b"x" * 600

GLIMPSES = [
    # the line, then
    pytest.param(b'{"jsonrpc":"2.0","id":12,"result":' + FAR, 12, id="at the head"),
    pytest.param(b'{"result":"' + FAR + b'","id" : -3 }', -3, id="at the tail"),
    pytest.param(b'{"result":{"id":1,"x":"' + FAR + b'","id":2},"id":3}', 1, id="the first at the head"),
    pytest.param(b'{"result":{"x":"' + FAR + b'","id":2},"id":3}', 3, id="the last at the tail"),
    pytest.param(FAR + b'"id":1,' + FAR, None, id="in the middle"),
    pytest.param(b'{"id":"1"}', "1", id="a string"),
    pytest.param(b'{"id":1.5}', None, id="a fraction"),
    pytest.param(b'{"id":' + b"9" * 30 + b"}", None, id="an endless number"),
    pytest.param(b'{"id":1', None, id="cut short"),
    # A request's id is of the other side's counting, not ours.
    pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"' + FAR, None, id="of a request"),
    pytest.param(
        b'{"jsonrpc":"2.0","method":"m","params":{"a":"' + FAR + b'"},"id":1}', None, id="of one, at the tail"
    ),
    pytest.param(b'{"jsonrpc":"2.0","method":"m","id":1,"params":{"a":"' + FAR, None, id="of one, in between"),
    pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{"method":"m","x":"' + FAR, 1, id="of an answer that says method"),
    pytest.param(b"hello", None, id="noise"),
]


@pytest.mark.parametrize(("line", "then"), GLIMPSES)
def test_glimpses_the_id_of_a_line_it_cannot_read(line: bytes, then: RequestId | None) -> None:
    (oversize,) = cut([line], limit=1)
    assert isinstance(oversize, Oversize)
    for each in (line, oversize):
        glimpsed = messages.glimpsed(each)
        assert (glimpsed.id if glimpsed.is_answer else None) == then


def test_glimpses_which_request_is_too_long() -> None:
    (oversize,) = cut([b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"' + FAR], limit=1)
    glimpsed = messages.glimpsed(oversize)
    assert (glimpsed.id, glimpsed.is_answer) == (7, False)


# Unpaired surrogates of our own: a configuration may hold them, `json` reads them.


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
    assert not any(
        0xD800 <= ord(character) <= 0xDFFF for character in json.dumps(json.loads(written), ensure_ascii=False)
    )


def test_an_error_with_an_unpaired_surrogate_is_written() -> None:
    assert json.loads(messages.failure(1, ErrorObject(-1, "a\ud83d")))["error"]["code"] == -1


# Parts of large payloads

json_values = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(json_values, max_size=5), st.sampled_from([None, 1]))
def test_the_elements_of_a_long_array_are_its_items(values: list[object], indent: int | None) -> None:
    filler = [0] * 200_000  # more commas than are opened at once
    raw = Raw(json.dumps([*values, *filler], indent=indent).encode())
    found = (each for each in payload.elements(raw, 1 << 30) if each is not None)
    assert [json.loads(bytes(each)) for each in islice(found, len(values) + 1)] == [*values, 0]


def test_of_an_array_that_is_too_long_only_the_beginning_is_looked_at() -> None:
    raw = Raw(b"[" + b"12, " * 1_000_000 + b"12]")
    found = [bytes(each) for each in payload.elements(raw, 400_001) if each is not None]
    assert found == [b"12"] * 100_000
    with pytest.raises(ValueError, match="array"):
        list(payload.elements(Raw(b"{" + b'"a":1,' * 1_000_000 + b'"a":1}'), 400_000))


def test_some_members_are_picked_whatever_stands_beside_them() -> None:
    raw = Raw(b'{"b":[1],"x":{"a":0},"a":null,"b":2}')
    assert payload.picked(raw, "a", "b", "c") == {"a": Raw(b"null"), "b": Raw(b"2")}
    assert payload.picked(Raw(b"[1]"), "a") == {}
    assert payload.picked(None, "a") == {}


def test_very_many_half_characters_are_not_replaced() -> None:
    """A program that cuts strings inside a character leaves a few; the line is refused like any that is no JSON."""
    half = rb"\ud83d"
    few, many = (
        b'{"jsonrpc":"2.0","id":1,"result":"' + half * count + b'"}'
        for count in (messages.REPAIRS, 1 + messages.REPAIRS)
    )
    assert isinstance(messages.decode(few), messages.Message)
    assert isinstance(messages.decode(many), messages.Invalid)
