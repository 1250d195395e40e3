"""Our stdin and stdout: read and written in threads if the event loop cannot wait for them, with bounds everywhere."""

import asyncio
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from search_mcp.fronts import stdio
from search_mcp.fronts.standard_streams import is_pollable
from search_mcp.fronts.stdio import (
    CONGESTED_BYTES,
    READ_CHUNK,
    ThreadReader,
    ThreadWriter,
    Writer,
    connect,
)

SECONDS = 30.0


class Ear:
    """A listener that records its events; each `Event` is set when its callback ran."""

    def __init__(self) -> None:
        self.heard = b""
        self.eofs = 0
        self.on_chunk: Callable[[], None] = lambda: None
        self.eof, self.gone, self.congested, self.clear = (anyio.Event() for _ in range(4))

    def on_bytes(self, chunk: bytes) -> None:
        self.heard += chunk
        self.on_chunk()

    def on_eof(self) -> None:
        self.eofs += 1
        self.eof.set()

    def on_gone(self) -> None:
        self.gone.set()

    def on_congested(self) -> None:
        self.congested.set()

    def on_clear(self) -> None:
        self.clear.set()


@pytest.mark.parametrize(
    ("platform", "mode", "verdict"),
    [
        ("linux", stat.S_IFIFO, True),
        ("darwin", stat.S_IFSOCK, True),
        ("linux", stat.S_IFREG, False),
        ("linux", stat.S_IFCHR, False),
        ("win32", stat.S_IFIFO, False),
    ],
)
def test_the_kinds_of_descriptors_that_the_event_loop_can_wait_for(platform: str, mode: int, verdict: bool) -> None:
    assert is_pollable(platform, mode | 0o600) is verdict


def socket_pair() -> tuple[int, int]:
    """Return connected sockets; Node gives its children sockets instead of pipes."""
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows a thread reads, and the writer detects the end")
@pytest.mark.parametrize("pair", [os.pipe, socket_pair])
@pytest.mark.parametrize("left", [b"", b"the last words"])
async def test_an_input_that_is_not_read_is_over_once_nothing_is_left_in_it(
    pair: Callable[[], tuple[int, int]], left: bytes
) -> None:
    ours, theirs = pair()
    reading, writing = os.pipe()
    ear = Ear()
    with anyio.fail_after(SECONDS):
        reader, writer = await connect(ours, writing, ear)
        os.write(theirs, left)
        os.close(theirs)
        reader.pause_reading()
        assert ear.eof.is_set() == (not left)
        reader.resume_reading()
        await ear.eof.wait()
        writer.close()
        await ear.gone.wait()
    os.close(reading)
    assert ear.heard == left


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows a thread reads, and the writer detects the end")
@pytest.mark.parametrize("pair", [os.pipe, socket_pair])
async def test_the_end_of_an_input_that_is_not_read_is_noticed_when_it_comes(
    pair: Callable[[], tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated pauses share a single check of the input."""
    monkeypatch.setattr(stdio, "LOOK_SECONDS", 0.05)
    ours, theirs = pair()
    reading, writing = os.pipe()
    ear = Ear()
    with anyio.fail_after(SECONDS):
        reader, writer = await connect(ours, writing, ear)
        for _ in range(3):
            reader.pause_reading()
            reader.pause_reading()
            reader.resume_reading()
        reader.pause_reading()
        assert not ear.eof.is_set()
        os.close(theirs)
        await ear.eof.wait()
        all_looks = anyio.Event()
        asyncio.get_running_loop().call_later(stdio.LOOK_SECONDS, all_looks.set)  # after every check started before
        await all_looks.wait()
        assert ear.eofs == 1
        ear.eof = anyio.Event()
        reader.resume_reading()
        await ear.eof.wait()
        writer.close()
        await ear.gone.wait()
    os.close(reading)


async def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    path, ear = tmp_path / "in", Ear()
    path.write_bytes(os.urandom(5 * READ_CHUNK + 7))
    with path.open("rb") as file, anyio.fail_after(SECONDS):
        ThreadReader(file.fileno(), ear)
        await ear.eof.wait()
    assert ear.heard == path.read_bytes()


async def test_a_paused_reader_reads_no_further(tmp_path: Path) -> None:
    """A reader that is paused at every chunk delivers no further chunk before it is resumed."""
    path, ear = tmp_path / "in", Ear()
    path.write_bytes(os.urandom(5 * READ_CHUNK))
    came = anyio.Event()

    def pause() -> None:
        reader.pause_reading()
        came.set()

    ear.on_chunk = pause
    with path.open("rb") as file, anyio.fail_after(SECONDS):
        reader = ThreadReader(file.fileno(), ear)
        for chunks in range(1, 6):
            await came.wait()
            assert len(ear.heard) == chunks * READ_CHUNK
            came = anyio.Event()
            reader.resume_reading()
        await ear.eof.wait()
    assert ear.heard == path.read_bytes()


@asynccontextmanager
async def in_the_loop(descriptor: int, ear: Ear) -> AsyncIterator[Writer]:
    ours, theirs = os.pipe()
    _, writer = await connect(ours, descriptor, ear)
    yield writer
    os.close(theirs)
    await ear.eof.wait()


@asynccontextmanager
async def in_a_thread(descriptor: int, ear: Ear) -> AsyncIterator[Writer]:
    yield ThreadWriter(descriptor, ear)
    os.close(descriptor)


WRITERS = [
    pytest.param(in_the_loop, marks=pytest.mark.skipif(sys.platform == "win32", reason="there is none on Windows")),
    in_a_thread,
]
Writing = Callable[[int, Ear], AbstractAsyncContextManager[Writer]]


@pytest.mark.parametrize("opened", WRITERS)
async def test_a_writer_reports_a_stalled_and_a_reading_reader(opened: Writing) -> None:
    reading, writing = os.pipe()
    ear, data = Ear(), os.urandom(3 * CONGESTED_BYTES)
    with anyio.fail_after(SECONDS):
        async with opened(writing, ear) as writer:
            for start in range(0, len(data), 1 << 16):
                writer.write(data[start : start + (1 << 16)])
            await ear.congested.wait()
            assert not ear.clear.is_set()
            writer.close()
            read = await anyio.to_thread.run_sync(_read_to_the_end, reading, len(data))
            await ear.clear.wait()
            await ear.gone.wait()
    assert read == data


@pytest.mark.parametrize("opened", WRITERS)
async def test_a_writer_reports_that_its_reader_is_gone(opened: Writing) -> None:
    reading, writing = os.pipe()
    ear = Ear()
    with anyio.fail_after(SECONDS):
        async with opened(writing, ear) as writer:
            os.close(reading)
            writer.write(b"into the void\n")
            await ear.gone.wait()


def _read_to_the_end(descriptor: int, size: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read(size)
