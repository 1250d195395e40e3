"""FastMCP's proxy for the servers of a configuration, run by the interpreter where FastMCP is installed.

    python fastmcp_proxy.py CONFIG [persistent | PORT]

By default the proxy opens a session to the servers for each request; with `persistent` it keeps a connected client, and
with a port it does so and serves over HTTP.
"""

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path

from fastmcp import Client
from fastmcp.server import create_proxy


async def serve(config: dict[str, object]) -> None:
    await create_proxy(config).run_stdio_async(show_banner=False)


async def serve_persistent(config: dict[str, object]) -> None:
    async with Client(config) as client:
        await create_proxy(client).run_stdio_async(show_banner=False)


async def serve_http(config: dict[str, object], port: int) -> None:
    async with Client(config) as client:
        proxy = create_proxy(client)
        await proxy.run_http_async(show_banner=False, host="127.0.0.1", port=port, path="/mcp", log_level="error")


def chosen(config: dict[str, object], how: str = "") -> Coroutine[None, None, None]:
    if how.isdecimal():
        return serve_http(config, int(how))
    return serve_persistent(config) if how == "persistent" else serve(config)


if __name__ == "__main__":
    servers = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    asyncio.run(chosen(servers, *sys.argv[2:]))
