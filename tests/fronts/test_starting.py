"""The start of processes: how an engine becomes independent of the one that starts it, and how it is waited for."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import IO, Any

import pytest

from search_mcp.fronts import starting
from search_mcp.fronts.starting import ChildConnection, detachments, interpreter, start_child, start_engine

posix = pytest.mark.skipif(sys.platform == "win32", reason="the functions of POSIX")
SECONDS = 30.0


@pytest.mark.parametrize(
    ("platform", "ways"),
    [
        ("linux", [{"start_new_session": True, "cwd": "/"}]),
        ("darwin", [{"start_new_session": True, "cwd": "/"}]),
        # With an invisible console, and out of the client's job if it permits that.
        (
            "win32",
            [
                {"creationflags": 0x01000000 | 0x08000000, "cwd": "D:\\Windows"},
                {"creationflags": 0x08000000, "cwd": "D:\\Windows"},
            ],
        ),
    ],
)
def test_an_engine_is_independent_of_the_process_that_starts_it(platform: str, ways: list[dict[str, object]]) -> None:
    assert detachments(platform, {"SYSTEMROOT": "D:\\Windows"}) == ways


@pytest.mark.parametrize(
    ("platform", "base", "started"),
    [
        ("linux", "/base", ("/venv", {})),
        ("win32", "/venv", ("/venv", {})),
        ("win32", None, ("/venv", {})),
        ("win32", "/base", ("/base", {"__PYVENV_LAUNCHER__": "/venv"})),
    ],
)
def test_on_windows_the_python_is_that_of_which_the_virtual_environment_was_made(
    platform: str, base: str | None, started: tuple[str, dict[str, str]]
) -> None:
    assert interpreter(platform, "/venv", base) == started


@posix
def test_a_start_that_the_job_of_the_client_forbids_is_tried_without_leaving_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[object] = []

    def start(*_: object, creationflags: int, **__: object) -> None:
        tried.append(creationflags)
        raise PermissionError

    monkeypatch.setattr(starting, "detachments", lambda _platform, variables: detachments("win32", variables))
    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(PermissionError):
        start_engine("one", 0, SECONDS)
    assert tried == [0x09000000, 0x08000000]


@posix
def test_a_child_is_a_connection_by_its_stdin_and_stdout() -> None:
    pipes = ChildConnection(*start_child(["cat"]))
    pipes.settimeout(None)
    pipes.sendall(b"one")
    assert pipes.recv(100) == b"one"
    pipes.shutdown(1)
    assert (pipes.recv(100), pipes.recv(100)) == (b"", b"")
    with pytest.raises(BrokenPipeError):
        pipes.sendall(b"two")
    pipes.close()


def test_the_end_of_a_connection_does_not_wait_for_a_thread_that_writes() -> None:
    read, write = os.pipe()
    with FileIO(write, "w") as stdin, FileIO(read) as stdout:
        pipes = ChildConnection(stdout, stdin)
        with pipes._writing:
            pipes.close()
        pipes.sendall(b"one")
        pipes.close()
        assert stdin.closed


Listen = Callable[[IO[bytes], float], bytes | None]


@pytest.mark.parametrize("listen", [pytest.param(starting._said, marks=posix), starting._said_in_thread])
@pytest.mark.parametrize(
    ("program", "seconds", "said"),
    [
        ("import sys; sys.stdout.buffer.write(b'wrong')", SECONDS, b"wrong"),
        (f"import os; os.write(1, {starting.READY!r}); input()", SECONDS, starting.READY),
        ("input()", 0.05, None),
    ],
)
def test_an_engine_is_waited_for_until_it_is_ready_has_failed_or_is_late(
    listen: Listen, program: str, seconds: float, said: bytes | None
) -> None:
    command: list[Any] = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path.cwd()) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert listen(child.stdout, time.monotonic() + seconds) == said
