"""The page without an engine: in a process of its own, for a configuration whose clients share no engine.

It shows what is configured, remembered and tried here; the servers that clients run themselves are not seen.
"""

import asyncio
import contextlib
import os
import sys

import anyio

from search_mcp import logs
from search_mcp.backends.process.launching import without_threads
from search_mcp.backends.process.reaper import last_resort
from search_mcp.background import run_in_thread
from search_mcp.engine import hello
from search_mcp.engine.hello import Json
from search_mcp.engine.host import Host
from search_mcp.gateway.reloading import LogSettings
from search_mcp.model.errors import ConfigError
from search_mcp.page.opening import OpenPage


def main() -> None:
    """Show the page until stdin ends.

    Its first line is that of the command; the answer is written to stdout.
    """
    first = hello.decode(sys.stdin.buffer.readline())
    log_to = LogSettings("warning")
    with logs.to_stderr("WARNING", log_to.clean, log_to.conceal), contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_show(first, log_to))


async def _show(first: Json, log_to: LogSettings) -> None:
    without_threads()
    open_page = OpenPage()
    host = Host(float("inf"), log_to, open_page)
    last_resort()
    async with anyio.create_task_group() as tasks, anyio.create_task_group() as of_page:
        tasks.start_soon(host.run)
        try:
            answer = await open_page(host, first, of_page)
        except (ConfigError, OSError) as exc:
            answer = {"alone": str(exc)}
        os.write(1, hello.encode(answer))
        await run_in_thread(sys.stdin.buffer.read)
        host.stop()
        of_page.cancel_scope.cancel()
    host.finish()
