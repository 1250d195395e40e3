"""Lines are parsed into JSON-RPC messages, for any content, and messages are written as lines."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.wire import framing, messages
from search_mcp.wire.framing import Oversize
from search_mcp.wire.messages import Invalid, Message
from search_mcp.wire.structs import ErrorObject, Raw, RequestId
from wire.streams import DEEP, LONG, cut

DEEP_LIST = Raw(b"[" * DEEP + b"]" * DEEP)


def message(**members: object) -> Message:
    return Message(jsonrpc="2.0", **members)  # type: ignore[arg-type]


MESSAGES = [
    # the line as we write it, its message
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
def test_a_written_message_is_read_back(line: bytes, then: Message) -> None:
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


def test_a_batch_loses_only_its_bad_elements() -> None:
    good = call(b'"id":1,"method":"m"')
    bad = call(b'"id":2,"method":"\xff"')
    elements = messages.decode(b"[" + b",".join([good, b"5", bad, b"[" + good + b"]", good]) + b"]")
    assert isinstance(elements, list)
    codes = [element.code if isinstance(element, Invalid) else element for element in elements]
    assert codes == [message(id=1, method="m"), REQUEST, PARSE, REQUEST, message(id=1, method="m")]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"[" + b"1," * 500_000 + b"1]", id="a long batch"),
        pytest.param(b'{"jsonrpc":1,' + b",".join(b'"%d":1' % n for n in range(100_000)) + b"}", id="no message"),
    ],
)
def test_no_part_is_kept_of_a_line_that_is_refused(line: bytes) -> None:
    messages.decode(b"[1]")  # makes what every batch needs
    tracemalloc.start()
    refused = messages.decode(line)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(refused, Invalid)
    assert peak < 2 * len(line)


@given(st.binary() | st.text().map(str.encode))
def test_never_raises(line: bytes) -> None:
    for decoded in (messages.decode(line), messages.decode(b"[" + line + b"]"), messages.decode(call(line))):
        assert isinstance(decoded, Message | Invalid | list)


def test_very_many_half_characters_are_not_replaced() -> None:
    """A program that cuts strings inside a character leaves a few; the line is refused as invalid JSON."""
    half = rb"\ud83d"
    few, many = (
        b'{"jsonrpc":"2.0","id":1,"result":"' + half * count + b'"}'
        for count in (messages.REPAIRS, 1 + messages.REPAIRS)
    )
    assert isinstance(messages.decode(few), messages.Message)
    assert isinstance(messages.decode(many), messages.Invalid)


@given(st.lists(st.binary() | st.sampled_from([b"\n", b'"', b"{", b"[", b"\\", b'{"a":', LONG * 3])).map(b"".join))
def test_noise_never_affects_the_next_line(noise: bytes) -> None:
    *_, last = cut([noise + b"\n" + call(b'"method":"m"') + b"\n"], 256)
    assert isinstance(last, bytes)
    assert messages.decode(last) == message(method="m")


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


def test_an_error_with_an_unpaired_surrogate_is_written() -> None:
    assert json.loads(messages.failure(1, ErrorObject(-1, "a\ud83d")))["error"]["code"] == -1


FAR = b"x" * 600

UNREADABLE = [
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
    # Request ids are chosen by the other side; they are not ours.
    pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"' + FAR, None, id="of a request"),
    pytest.param(
        b'{"jsonrpc":"2.0","method":"m","params":{"a":"' + FAR + b'"},"id":1}', None, id="of one, at the tail"
    ),
    pytest.param(b'{"jsonrpc":"2.0","method":"m","id":1,"params":{"a":"' + FAR, None, id="of one, in between"),
    pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{"method":"m","x":"' + FAR, 1, id="of an answer that says method"),
    pytest.param(b"hello", None, id="noise"),
]


@pytest.mark.parametrize(("line", "then"), UNREADABLE)
def test_finds_the_id_of_a_line_it_cannot_read(line: bytes, then: RequestId | None) -> None:
    (oversize,) = cut([line], limit=1)
    assert isinstance(oversize, Oversize)
    for each in (line, oversize):
        described = messages.describe_unreadable(each)
        assert (described.id if described.is_answer else None) == then


def test_finds_the_id_of_a_request_that_is_too_long() -> None:
    (oversize,) = cut([b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"' + FAR], limit=1)
    described = messages.describe_unreadable(oversize)
    assert (described.id, described.is_answer) == (7, False)
