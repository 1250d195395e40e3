"""The lines that an adapter passes on: unchanged, whole if they are short, and understood however they are cut."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.engine import client_lines
from search_mcp.engine.client_lines import HELD_BYTES, PARSED_BYTES, Lines, Outline, Piece, is_one_line

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(['"id":7', "}", "\\", '"', "[{"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
IDS = st.integers(-(10**17), 10**17) | st.text()


def read(stream: bytes, cuts: list[int]) -> list[Piece]:
    lines = Lines()
    pieces: list[Piece] = []
    bounds = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    for start, end in itertools.pairwise(bounds):
        chunk = stream[start:end]
        is_line = lines.passes_lines_unread and chunk and is_one_line(chunk)
        fed = lines.feed(chunk)
        assert not is_line or [piece._replace(line=b"") for piece in fed] == [Piece(chunk, b"", True, True)]
        pieces += fed
    return [*pieces, *lines.flush()]


@given(st.lists(st.dictionaries(st.sampled_from(["id", "method", "params", "x"]), VALUES), max_size=4), st.data())
def test_bytes_pass_unchanged_and_messages_are_read_however_they_are_cut(
    messages: list[dict[str, Any]], data: st.DataObject
) -> None:
    stream = b"".join(json.dumps(each).encode() + b"\n" for each in messages)
    pieces = read(stream, data.draw(st.lists(st.integers(0, 10_000), max_size=5)))
    assert b"".join(piece.data for piece in pieces) == stream
    assert [message for piece in pieces for message in piece.read()[0]] == messages
    assert all(piece.begins and piece.ends for piece in pieces)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_any_bytes_pass_unchanged(stream: bytes, cuts: list[int]) -> None:
    assert b"".join(piece.data for piece in read(stream, cuts)) == stream


@given(VALUES, IDS, st.booleans(), st.lists(st.integers(0, 10_000), max_size=5))
def test_the_outline_has_the_outermost_members(params: Any, identifier: Any, is_batch: bool, cuts: list[int]) -> None:
    message = {"method": "m", "params": {"deep": params}, "jsonrpc": "2.0", "id": identifier}
    text = json.dumps([message, message] if is_batch else message).encode()
    outline = Outline()
    bounds = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for start, end in itertools.pairwise(bounds):
        outline.feed(text[start:end])
    expected = {**message, "params": None}
    assert json.loads(outline.text()) == ([expected, expected] if is_batch else expected)


@pytest.mark.parametrize("size", [PARSED_BYTES * 2, HELD_BYTES * 3], ids=["whole", "in pieces"])
@pytest.mark.parametrize("is_answer", [True, False])
def test_the_id_of_a_long_line_is_found(size: int, is_answer: bool) -> None:
    inner = {"id": 1, "words": 'x\\"{' * (size // 8), "more": [{"id": 2}]}
    message = (
        {"jsonrpc": "2.0", "id": "nine", "result": inner} if is_answer else {"method": "m", "params": inner, "id": 9}
    )
    stream = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    pieces = read(stream, list(range(0, len(stream), 50_000)))
    assert b"".join(piece.data for piece in pieces) == stream
    assert pieces[0].begins
    assert pieces[-1].ends
    (read_message,), _ = pieces[-1].read()
    assert read_message["id"] == ("nine" if is_answer else 9)
    assert max(len(piece.data) for piece in pieces) <= HELD_BYTES + 50_000


@pytest.mark.parametrize("value", [b"9" * 5_000, b"[" * 20_000 + b"]" * 20_000], ids=["a huge number", "very deep"])
def test_a_message_is_read_although_python_refuses_a_part_of_it(value: bytes) -> None:
    (piece,) = Lines().feed(b'{"id": 7, "method": "tools/call", "params": {"x": %b}}\n' % value)
    (message,), _ = piece.read()
    assert (message["id"], message["method"]) == (7, "tools/call")


def test_memory_for_a_long_line_is_bounded() -> None:
    lines = Lines()
    for _ in range(100):
        list(lines.feed(b'{"id": 1, "a": "' + b"x" * 100_000))
    assert lines.is_inside_line
    assert len(lines._held) == 0
    assert len(lines._outline.text()) <= client_lines.OUTLINE_BYTES * 2 + 2  # type: ignore[union-attr]


FRAMED = b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\r\n \n"], ids=["nothing", "a BOM", "blank lines"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_messages_behind_headers_pass_unread(before: bytes, size: int) -> None:
    stream = before + FRAMED
    lines = Lines()
    pieces = [piece for start in range(0, len(stream), size) for piece in lines.feed(stream[start : start + size])]
    assert lines.is_framed
    assert b"".join(piece.data for piece in pieces) == stream
    assert not any(piece.read()[0] for piece in pieces)
    assert list(lines.flush()) == []


def test_only_the_first_message_decides_that_there_are_headers() -> None:
    lines = Lines()
    pieces = [*lines.feed(b'{"id":1}\n'), *lines.feed(FRAMED), *lines.flush()]
    assert not lines.is_framed
    assert b"".join(piece.data for piece in pieces) == b'{"id":1}\n' + FRAMED


def test_a_long_batch_is_understood() -> None:
    batch = [{"jsonrpc": "2.0", "id": each, "method": "m", "params": {"x": "y" * 1000}} for each in range(500)]
    (piece,) = read(json.dumps(batch).encode() + b"\n", [])
    messages, is_batch = piece.read()
    assert is_batch
    assert [message["id"] for message in messages] == list(range(500))


@pytest.mark.parametrize("line", [b"\n", b"no JSON\n", b"7\n", b'{"id":\n', b"[" * 100_000 + b"\n", b'{"id":"\xff"}\n'])
def test_a_line_that_is_no_message_passes_without_one(line: bytes) -> None:
    (piece,) = Lines().feed(line)
    assert piece == Piece(line, line, True, True)
    assert piece.read() == ((), False)
