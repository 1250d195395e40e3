"""Byte streams are split into the same lines for every chunking."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.wire.framing import Line, LineDecoder, Oversize, framed
from wire.streams import LIMIT, LONG, body, cut, one_by_one

NEXT = b'{"next":1}'

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
    # A server may log lines that look like headers: no later message may be lost.
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


def test_the_end_is_reported_once() -> None:
    decoder = LineDecoder(LIMIT)
    assert not list(decoder.feed(b"1"))
    assert list(decoder.flush()) == [b"1"]
    assert not list(decoder.flush())


@pytest.mark.parametrize(
    ("given_", "then"),
    [(b"1\n", False), (b"Content-Length: 1\r\n", False), (body(b"1"), True), (body(b"1") + b"2\n", True)],
)
def test_the_framing_of_the_other_side_is_recognised(given_: bytes, then: bool) -> None:
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


@pytest.mark.parametrize("line", [b"{}\n", '{"a":"名"}\n'.encode()])
def test_a_framed_message_is_read_as_the_line(line: bytes) -> None:
    assert cut([framed(line)]) == [line.strip()]
