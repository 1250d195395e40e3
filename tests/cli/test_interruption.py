"""Work that a signal ends."""

import os
import signal
import sys

import anyio
import pytest

from search_mcp.cli.interruption import interruptible
from search_mcp.cli.problem import InterruptionError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")


async def test_a_server_that_ignores_the_first_signal_is_killed_without_a_second() -> None:
    killed = anyio.Event()

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        with anyio.CancelScope(shield=True), anyio.fail_after(10):  # as long as the server runs
            await killed.wait()

    with pytest.raises(InterruptionError):
        await interruptible(work, kill=killed.set)
