"""Following the configuration file: what a gateway that shares its process uses of it."""

from collections.abc import Callable
from pathlib import Path

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.gate import Gate, Origin
from search_mcp.config.location import read
from search_mcp.config.trust import Approvals
from search_mcp.config.watches import Watches
from search_mcp.gateway.gateway import Gateway
from search_mcp.gateway.reloading import LogSettings, follow_edits
from search_mcp.pool.pool import Pool


async def test_the_file_is_followed_with_the_thread_for_files_of_the_process(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text('{"mcpServers": {}}')
    is_queued = anyio.Event()

    def queue(_operation: Callable[[], None]) -> None:
        is_queued.set()

    config = read(file, {})
    gateway = Gateway(config, Dependencies(file_queue=queue), Pool())
    follow = Gate(file, Origin.OWN, Approvals(tmp_path / "approvals"))
    async with gateway.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(follow_edits, follow, gateway, config, LogSettings(None), Watches(), {})
        with anyio.fail_after(10):
            await is_queued.wait()
        tasks.cancel_scope.cancel()
