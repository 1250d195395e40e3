"""Data written to a pipe: complete, in order, in few writes, and without delay."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from search_mcp.wire.write_buffer import LARGE_BYTES, WriteBuffer


class Pipe(asyncio.WriteTransport):
    """A pipe that nothing reads: it keeps the data that is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.pieces.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.pieces))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True


async def turn() -> None:
    """Let the event loop run one turn."""
    await asyncio.sleep(0)


async def test_the_first_write_of_a_turn_leaves_at_once_and_the_others_together() -> None:
    pipe = Pipe()
    outlet = WriteBuffer(pipe)
    for data in (b"a", b"b", b"c"):
        outlet.write(data)
    assert pipe.pieces == [b"a"]
    assert outlet.unwritten() == 3
    await turn()
    assert pipe.pieces == [b"a", b"bc"]


async def test_after_many_writes_the_first_of_the_next_turn_waits_too() -> None:
    pipe = Pipe()
    outlet = WriteBuffer(pipe)
    for expected in ([b"a", b"bc"], [b"a", b"bc", b"abc"]):
        for data in (b"a", b"b", b"c"):
            outlet.write(data)
        await turn()
        assert pipe.pieces == expected
    outlet.write(b"d")
    await turn()
    outlet.write(b"e")
    assert pipe.pieces[3:] == [b"d", b"e"]


async def test_buffered_data_is_written_before_the_end_and_nothing_after_it() -> None:
    pipe = Pipe()
    outlet = WriteBuffer(pipe)
    outlet.write(b"a")
    outlet.write(b"b")
    outlet.close()
    outlet.write(b"c")
    await turn()
    assert pipe.pieces == [b"a", b"b"]
    assert pipe.is_closed


async def test_buffered_data_is_dropped_at_an_abort() -> None:
    pipe = Pipe()
    outlet = WriteBuffer(pipe)
    outlet.write(b"a")
    outlet.write(b"b")
    outlet.abort()
    await turn()
    assert pipe.pieces == [b"a"]
    assert outlet.unwritten() == 1


async def test_a_full_buffer_is_written_at_once() -> None:
    pipe = Pipe()
    outlet = WriteBuffer(pipe)
    outlet.write(b"a")
    outlet.write(b"x" * (LARGE_BYTES + 1))
    assert outlet.unwritten() == pipe.get_write_buffer_size() == LARGE_BYTES + 2


@given(st.lists(st.one_of(st.none(), st.binary(max_size=10), st.just(b"x" * LARGE_BYTES))))
def test_nothing_is_lost_and_the_order_stays(steps: list[bytes | None]) -> None:
    async def write() -> list[bytes]:
        pipe = Pipe()
        outlet = WriteBuffer(pipe)
        for data in steps:
            if data is None:
                await turn()
            else:
                outlet.write(data)
        await turn()
        return pipe.pieces

    assert b"".join(asyncio.run(write())) == b"".join(filter(None, steps))
