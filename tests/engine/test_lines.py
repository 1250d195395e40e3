"""The lines that a relay passes on: unchanged, whole if they are short, and read however they are cut."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.engine.lines import HELD_BYTES, OUTLINE_BYTES, Lines, Outline, Piece, messages

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(['"id":7', "}", "\\", '"', "[{"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
IDS = st.integers(-(10**17), 10**17) | st.text()
CUTS = st.lists(st.integers(0, 10_000), max_size=5)


def chunks(stream: bytes, cuts: list[int]) -> list[bytes]:
    bounds = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(bounds)]


def pieces(stream: bytes, cuts: list[int]) -> list[Piece]:
    lines = Lines()
    return [piece for chunk in chunks(stream, cuts) for piece in lines.feed(chunk)] + lines.flush()


@given(st.lists(st.dictionaries(st.sampled_from(["id", "method", "params", "x"]), VALUES), max_size=4), CUTS)
def test_lines_pass_whole_and_are_read_however_they_are_cut(said: list[dict[str, Any]], cuts: list[int]) -> None:
    lines = [json.dumps(each).encode() + b"\n" for each in said]
    found = pieces(b"".join(lines), cuts)
    assert found == [Piece(line, line) for line in lines]
    assert [message for piece in found for message in messages(piece.line)] == said


@given(st.binary(max_size=200), CUTS)
def test_any_bytes_pass_unchanged(stream: bytes, cuts: list[int]) -> None:
    passed = b"".join(piece.data for piece in pieces(stream, cuts))
    assert passed in (stream, stream + b"\n")  # a last line is ended


@given(VALUES, IDS, st.booleans(), CUTS)
def test_the_outline_has_the_outermost_members(params: Any, identifier: Any, is_batch: bool, cuts: list[int]) -> None:
    message = {"method": "m", "params": {"deep": params}, "jsonrpc": "2.0", "id": identifier}
    text = json.dumps([message, message] if is_batch else message).encode()
    beginning, *others = filter(None, chunks(text, cuts))
    outline = Outline(beginning)
    for chunk in others:
        outline.feed(chunk)
    expected = {**message, "params": None}
    assert json.loads(outline.text()) == ([expected, expected] if is_batch else expected)


@pytest.mark.parametrize("is_answer", [True, False])
def test_the_id_of_a_long_line_is_found(is_answer: bool) -> None:
    inner = {"id": 1, "words": 'x\\"{' * (HELD_BYTES // 2), "more": [{"id": 2}]}
    message = (
        {"jsonrpc": "2.0", "id": "nine", "result": inner} if is_answer else {"method": "m", "params": inner, "id": 9}
    )
    stream = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    lines = Lines()
    found = [piece for start in range(0, len(stream), 50_000) for piece in lines.feed(stream[start : start + 50_000])]
    assert b"".join(piece.data for piece in found) == stream
    assert max(len(piece.data) for piece in found) <= HELD_BYTES + 50_000
    assert [bool(piece.line) for piece in found] == [False] * (len(found) - 1) + [True]
    assert [each["id"] for each in messages(found[-1].line)] == ["nine" if is_answer else 9]
    assert not lines.is_inside_line


@pytest.mark.parametrize("value", [b"9" * 5_000, b"[" * 20_000 + b"]" * 20_000], ids=["a huge number", "very deep"])
def test_a_message_is_read_although_python_refuses_a_part_of_it(value: bytes) -> None:
    (message,) = messages(b'{"id": 7, "method": "tools/call", "params": {"x": %b}}\n' % value)
    assert (message["id"], message["method"]) == (7, "tools/call")


@pytest.mark.parametrize("inner", [b'{"id": 1, "a": "', b'{"id": 1, "a": ['], ids=["a string", "an array"])
def test_memory_for_a_long_line_is_bounded(inner: bytes) -> None:
    lines = Lines()
    for _ in range(100):
        lines.feed(inner + b"x" * 100_000)
    assert lines.is_inside_line
    assert len(lines._held) <= HELD_BYTES
    assert len(lines._outline.text()) <= OUTLINE_BYTES * 2 + 2  # type: ignore[union-attr]


FRAMED = b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}'


def test_messages_behind_headers_pass_unread() -> None:
    lines = Lines()
    assert lines.feed(b"\r\n" + FRAMED) == [Piece(b"\r\n" + FRAMED, b"")]
    assert lines.is_framed
    assert lines.feed(FRAMED) == [Piece(FRAMED, b"")]
    assert lines.flush() == []


def test_only_the_first_message_decides_that_there_are_headers() -> None:
    lines = Lines()
    lines.feed(b'{"id":1}\n')
    lines.feed(FRAMED)
    assert not lines.is_framed


@pytest.mark.parametrize("line", [b"\n", b"no JSON\n", b"7\n", b'{"id":\n', b"[" * 100_000 + b"\n", b'{"id":"\xff"}\n'])
def test_a_line_that_is_no_message_has_none(line: bytes) -> None:
    assert messages(line) == []


def test_an_answer_is_read_up_to_its_id() -> None:
    assert messages(b'{"jsonrpc":"2.0","id":"a","result":{broken\n') == [{"id": "a"}]
    assert messages(b'{"jsonrpc":"2.0","id":"\xff","result":{}}\n') == []
