"""FastMCP's proxy for the servers of a configuration, run by the interpreter where FastMCP is installed.

    python fastmcp_proxy.py CONFIG [persistent]

By default the proxy opens a session to the servers for each request; with `persistent` it keeps a connected client.
"""

import asyncio
import json
import sys
from pathlib import Path

from fastmcp import Client
from fastmcp.server import create_proxy


async def serve(config: dict[str, object]) -> None:
    await create_proxy(config).run_stdio_async(show_banner=False)


async def serve_persistent(config: dict[str, object]) -> None:
    async with Client(config) as client:
        await create_proxy(client).run_stdio_async(show_banner=False)


if __name__ == "__main__":
    servers = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    asyncio.run(serve_persistent(servers) if sys.argv[2:] == ["persistent"] else serve(servers))
