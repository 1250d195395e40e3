"""Real child processes: started, abandoned during the start, and stopped in order."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import proactor
import pytest
from rich.pretty import pretty_repr

from search_mcp.backends.process.child import DEFER_SECONDS, ChildProcess
from search_mcp.backends.process.launching import Command, Spawner, is_program, spawn_options
from search_mcp.backends.process.reaper import Reaper
from search_mcp.backends.process.stderr_log import split_time

SECONDS = 30.0
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither groups nor signals")


@pytest.fixture(scope="module", params=["ours", "Windows'"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """The event loop of this platform, and the transports of Windows."""
    if request.param == "ours":
        return "asyncio", {}
    if sys.platform == "win32":
        pytest.skip("they are ours")
    return "asyncio", {"loop_factory": proactor.Loop}


class Recorded(Reaper):
    """A reaper that records its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def start(self) -> None:
        self.told.append("start")
        super().start()

    def watch(self, group: int) -> None:
        self.told.append("watch")
        super().watch(group)

    @contextlib.contextmanager
    def expecting(self) -> Iterator[Callable[[], None]]:
        try:
            with super().expecting() as announce:
                yield announce
        except OSError:
            self.told.append("lost")
            raise

    def signal(self, group: int, number: int) -> None:
        self.told.append(signal.Signals(number))
        super().signal(group, number)

    def dismiss(self, group: int) -> None:
        self.told.append("dismiss")
        super().dismiss(group)


def python(script: str, log: Path | None = None) -> Command:
    return Command(sys.executable, ["-c", script], dict(os.environ), None, log)


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(3600)
"""


@posix
async def test_a_child_that_stays_is_asked_then_killed() -> None:
    trees, up = Recorded(), anyio.Event()
    child = await Spawner(trees)(python(STUBBORN), lambda _data: up.set(), lambda: None)
    with anyio.fail_after(SECONDS):
        await up.wait()
        await child.stop()
    assert child.exit_code() == -signal.SIGKILL
    assert trees.told == ["start", "watch", signal.SIGTERM, signal.SIGKILL, "dismiss"]


@posix
async def test_a_child_that_is_abandoned_during_its_start_can_be_stopped_like_any_other() -> None:
    class Impatient(Recorded):
        def start(self) -> None:
            super().start()
            asyncio.get_running_loop().call_soon(scope.cancel)

    trees, child = Impatient(), None
    with anyio.CancelScope() as scope:
        child = await Spawner(trees)(python("input()"), lambda _data: None, lambda: None)
    assert child is not None
    with anyio.fail_after(SECONDS):
        await child.stop()
    assert trees.told[-1] == "dismiss"
    assert child.exit_code() is not None


@posix
async def test_a_child_is_watched_before_the_next_starts() -> None:
    """Otherwise many children would for a while be unknown to the reaper."""
    trees = Recorded()
    children: list[ChildProcess] = []
    spawn = Spawner(trees)

    async def start() -> None:
        children.append(await spawn(python("input()"), lambda _data: None, lambda: None))

    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(start)
        assert trees.told == ["start", "watch"] * 5
        for child in children:
            await child.stop()


async def test_the_exit_is_reported_once_with_its_code_and_the_stderr_tail(tmp_path: Path) -> None:
    ended, heard, ends = anyio.Event(), b"", 0

    def hear(data: bytes) -> None:
        nonlocal heard
        heard += data

    def end() -> None:
        nonlocal ends
        ends += 1
        ended.set()

    script = "import sys; print('out'); print('alas', file=sys.stderr); sys.exit(7)"
    log = tmp_path / "logs" / "child.log"
    child = await Spawner()(python(script, log), hear, end)
    with anyio.fail_after(SECONDS):
        await ended.wait()
        await child.stop()
    assert (heard.strip(), child.exit_code(), child.stderr_tail(), ends) == (b"out", 7, "alas", 1)
    lines = [split_time(line) for line in log.read_text().splitlines()]
    assert [text for _, text in lines] == [f"--- started, pid {child.pid} ---", "alas"]
    assert all(time for time, _ in lines)


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = Command(sys.executable, [], {}, str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match="nowhere does not exist"):
        await Spawner()(command, lambda _data: None, lambda: None)


@pytest.mark.parametrize(
    ("platform", "options"),
    [
        ("linux", {"start_new_session": True}),
        ("darwin", {"start_new_session": True}),
        ("win32", {"creationflags": 0x08000000}),
    ],
)
def test_a_child_has_its_own_session_and_no_window(platform: str, options: dict[str, Any]) -> None:
    assert spawn_options(platform) == options


@posix
async def test_the_reaper_is_told_that_a_start_failed(tmp_path: Path) -> None:
    """The reaper watches a child before its program is executed."""
    path = tmp_path / "file"
    path.write_bytes(b"\x00")
    path.chmod(0o755)
    trees = Recorded()
    with pytest.raises(OSError, match="Exec format error"):
        await Spawner(trees)(Command(str(path), [], {}, None), lambda _data: None, lambda: None)
    assert trees.told == ["start", "lost"]


def test_a_command_does_not_show_its_environment() -> None:
    command = Command("x", [], {"TOKEN": "secret"}, None)
    assert "secret" not in repr(command) + pretty_repr(command)


def test_a_path_that_cannot_be_examined_is_no_program(tmp_path: Path) -> None:
    """A name over the system's limit, or a folder without access, once turned the first answer into an error."""
    assert not is_program("/" + "x" * 300)
    assert not is_program(str(tmp_path))


async def test_the_output_of_a_child_is_bytes() -> None:
    """The proactor's own buffer is a `bytearray`, and protocols were given it until Python 3.12."""
    said: list[bytes] = []
    ended = anyio.Event()
    with anyio.fail_after(SECONDS):
        child = await Spawner()(python("print('up')"), said.append, ended.set)
        await ended.wait()
        await child.stop()
    assert b"".join(said).rstrip() == b"up"
    assert {type(data) for data in said} == {bytes}


FLOOD = """
import sys
sys.stdout.write("".join(f"{number}\\n" for number in range(50_000)))
sys.stdout.flush()
sys.stdin.read()
"""
FLOODED = "".join(f"{number}\n" for number in range(50_000)).encode()


async def test_a_flood_that_is_read_with_rests_is_read_completely() -> None:
    said = bytearray()
    children: list[ChildProcess] = []
    begun, whole = anyio.Event(), anyio.Event()

    def hear(data: bytes) -> None:
        said.extend(data.replace(b"\r", b""))
        for child in children:
            child.defer_reading()
        begun.set()
        if len(said) >= len(FLOODED):
            whole.set()

    with anyio.fail_after(SECONDS):
        child = await Spawner()(python(FLOOD), hear, lambda: None)
        children.append(child)
        await begun.wait()
        child.defer_reading()
        child.pause_reading()  # as when the client does not read
        child.defer_reading()
        await anyio.lowlevel.checkpoint()  # data already read is delivered one turn of the loop later
        before = len(said)
        await anyio.sleep(10 * DEFER_SECONDS)
        assert len(said) == before, "the end of a rest does not end a pause"
        child.resume_reading()
        await whole.wait()
        await child.stop()
    assert said == FLOODED


async def test_a_child_that_does_not_read_its_answers_is_killed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("search_mcp.backends.process.child.WRITE_LIMIT_BYTES", 1 << 16)
    unhandled: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unhandled.append(context))
    ended = anyio.Event()
    with anyio.fail_after(SECONDS):
        child = await Spawner()(python("import time; time.sleep(600)"), lambda data: None, ended.set)
        for _ in range(40):  # more than pipes hold; all that it wrote before it was killed is still answered
            child.write(b"x" * (1 << 16))
        await ended.wait()
        child.write(b"x" * (1 << 20))
        await child.stop()
    assert child.stderr_tail().count("does not read the answers to its requests") == 1
    assert unhandled == []
