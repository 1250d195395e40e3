"""Remote servers behind a real `search-mcp serve`, started in an empty home."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
from backends.remote.scripted import Received, scripted
from processes.run import Run

from real.test_remote import EVERYTHING, Started, command, free_port

SERVERS = (*EVERYTHING, "typescript2 stateless", "python2 streamable-http", "fastmcp http")


def config(folder: Path, url: str, **more: Any) -> Path:
    path = folder / "mcp-servers.json"
    servers = {"there": {"url": url, "oauth": False, **more}}
    path.write_text(json.dumps({"mcpServers": servers, "settings": {"engine": "own"}}))
    return path


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_is_listed_called_and_started_again(tmp_path: Path, name: str) -> None:
    port = free_port()
    server = Started(*command(name, port), port)
    tool, arguments = ("there.echo", {"message": "x"}) if name in EVERYTHING else ("there.count", {"to": 3})
    said = "Echo: x" if name in EVERYTHING else "counted to 3"
    try:
        with Run(tmp_path, config(tmp_path, server.url)) as run:
            run.opens()
            assert run.calls(tool, **arguments) == said
            assert tool in [each["name"] for each in run.asks("tools/list")["tools"]]
            server.stop()
            error = run.is_refused(tool, **arguments)
            assert error["code"] == -32000
            server.start()
            run.waits_until(lambda: "result" in run.answer(run.sends("tools/call", name=tool, arguments=arguments)))
            assert run.calls(tool, **arguments) == said
    finally:
        server.stop()


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
async def test_a_signal_ends_calls_under_way(tmp_path: Path) -> None:
    async with scripted() as server:

        async def call(request: Received) -> None:
            await request.stream(b": working\n\n")
            await request.closed()

        server.on["tools/call"] = call

        def opens(run: Run) -> None:
            run.opens()
            run.sends("tools/call", name="there.do", arguments={})

        run = await anyio.to_thread.run_sync(Run(tmp_path, config(tmp_path, server.url)).__enter__)
        try:
            with anyio.fail_after(60):
                await anyio.to_thread.run_sync(opens, run)
                await server.until("tools/call")
                run.process.send_signal(signal.SIGTERM)
                assert await anyio.to_thread.run_sync(run.ended) == 128 + signal.SIGTERM
        finally:
            await anyio.to_thread.run_sync(run.__exit__, None, None, None)


async def test_an_idle_session_is_deleted_and_opened_again(tmp_path: Path) -> None:
    async with scripted() as server:

        async def call(request: Received) -> None:
            await request.result({"content": [{"type": "text", "text": "done"}]})

        server.on["tools/call"] = call

        def uses(run: Run) -> None:
            run.opens()
            assert run.calls("there.do") == "done"

        def uses_again(run: Run) -> None:
            assert run.calls("there.do") == "done"

        path = config(tmp_path, server.url, startup="lazy", idleStopSeconds=0.2)
        run = await anyio.to_thread.run_sync(Run(tmp_path, path).__enter__)
        try:
            with anyio.fail_after(60):
                await anyio.to_thread.run_sync(uses, run)
                deleted = await server.until("DELETE")
                assert deleted.headers["mcp-session-id"] == "s1"
                await anyio.to_thread.run_sync(uses_again, run)
                await server.until("DELETE", 2)
        finally:
            await anyio.to_thread.run_sync(run.__exit__, None, None, None)
    assert server.sessions == 2
