"""The start of processes: how an engine becomes independent of the one that starts it, and how it is waited for."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from search_mcp.engine import starting

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the functions of POSIX")
SECONDS = 30.0


@pytest.mark.parametrize(
    ("program", "seconds", "said"),
    [
        ("import sys; sys.stdout.buffer.write(b'wrong')", SECONDS, b"wrong"),
        (f"import os; os.write(1, {starting.READY!r}); input()", SECONDS, starting.READY),
        ("input()", 0.05, None),
    ],
)
def test_an_engine_is_waited_for_until_it_is_ready_has_failed_or_is_late(
    program: str, seconds: float, said: bytes | None
) -> None:
    command: list[Any] = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path.cwd()) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert starting._said(child.stdout, time.monotonic() + seconds) == said
