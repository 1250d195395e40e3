"""Server-sent events: fields, line endings, limits, and any chunking."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.backends.remote.sse import Event, EventParser

LIMIT = 1000


def parsed(*chunks: bytes, limit: int = LIMIT) -> list[Event]:
    parser = EventParser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: {}\n\n", [Event(b"{}")]),
        (b"data:{}\n\n", [Event(b"{}")]),
        (b"data:  {}\n\n", [Event(b" {}")]),  # one space is removed
        (b"data: {}\r\n\r\n", [Event(b"{}")]),
        (b"data: {}\r\r", [Event(b"{}")]),
        (b"\xef\xbb\xbfdata: {}\n\n", [Event(b"{}")]),
        (b"data: {\ndata: }\n\n", [Event(b"{\n}")]),
        (b"data\ndata: x\n\n", [Event(b"\nx")]),
        (b": a comment\n\ndata: 1\n\n", [Event(b"1")]),
        (b"event: endpoint\ndata: /m?s=1\n\ndata: 2\n\n", [Event(b"/m?s=1", "endpoint"), Event(b"2")]),
        (b"id: 7\ndata:\n\n", []),  # an event that only carries an id
        (b"event: ping\n\ndata: 1\n\n", [Event(b"1")]),
        (b"unknown: 1\ndata: 1\n\n", [Event(b"1")]),
        (b"data: never ended\n", []),
        (b"data: a\xe2\x80\xa8b\x85c\x0bd\n\n", [Event(b"a\xe2\x80\xa8b\x85c\x0bd")]),  # no line endings
    ],
)
def test_events(stream: bytes, events: list[Event]) -> None:
    assert parsed(stream) == events
    assert parsed(*(bytes([byte]) for byte in stream)) == events


def test_id_and_delay() -> None:
    parser = EventParser(10 * LIMIT)
    assert list(parser.feed(b"id: a-1\nretry: 500\ndata:\n\n")) == []
    assert (parser.last_id, parser.retry_ms) == ("a-1", 500)
    assert list(parser.feed(b"id: b\0\nretry: soon\nretry: 12345678901\nid: %b\n\n" % (b"x" * 2000))) == []
    assert (parser.last_id, parser.retry_ms) == ("a-1", 500)


def test_another_connection_begins_with_a_new_event() -> None:
    parser = EventParser(LIMIT)
    assert list(parser.feed(b"id: 1\nretry: 5\nevent: e\ndata: half of a")) == []
    parser.restart()
    assert list(parser.feed(b"\xef\xbb\xbfdata: {}\n\n")) == [Event(b"{}")]
    assert (parser.last_id, parser.retry_ms) == ("1", 5)


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_an_event_over_the_limit_costs_only_itself(size: int) -> None:
    long = b"data: " + b"x" * (2 * LIMIT) + b"\n\n"
    many = b"data: xxxxxxxx\n" * LIMIT + b"\n"
    stream = b"data: 1\n\n" + long + b"data: 2\n\n" + many + b"data: 3\n\n"
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    oversize = Event(b"", is_oversize=True)
    assert parsed(*chunks) == [Event(b"1"), oversize, Event(b"2"), oversize, Event(b"3")]


@pytest.mark.parametrize("piece", [b"xx", b"data:xx\n"])
def test_what_arrives_in_tiny_pieces_takes_no_more_memory_than_its_bytes(piece: bytes) -> None:
    parser, count = EventParser(16 << 20), 100_000
    tracemalloc.start()
    assert not list(parser.feed(b"data: "))
    for _ in range(count):
        assert not list(parser.feed(piece))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * count * len(piece)


LINES = st.sampled_from(
    [
        b"data: {}",
        b"data:",
        b"data",
        b"id: 1",
        b"retry: 5",
        b"event: e",
        b": comment",
        b"",
        b"x" * 30,
        b"data: \xc3\xa9",
    ]
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"]))).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@given(STREAMS | st.binary(), st.lists(st.integers(0, 200)), st.sampled_from([5, 40, LIMIT]))
def test_chunking_never_changes_the_events(stream: bytes, cuts: list[int], limit: int) -> None:
    ends = sorted({min(cut, len(stream)) for cut in cuts} | {len(stream)})
    chunks = [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    whole, pieces = EventParser(limit), EventParser(limit)
    assert list(whole.feed(stream)) == [event for chunk in chunks for event in pieces.feed(chunk)]
    assert (whole.last_id, whole.retry_ms) == (pieces.last_id, pieces.retry_ms)


@given(st.lists(st.binary(min_size=1).filter(lambda data: b"\n" not in data and b"\r" not in data), max_size=5))
def test_data_survives(messages: list[bytes]) -> None:
    stream = b"".join(b"event: message\ndata: %b\n\n" % message for message in messages)
    assert parsed(stream) == [Event(message) for message in messages]
