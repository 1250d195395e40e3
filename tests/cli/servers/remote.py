"""A server over Streamable HTTP on loopback: prints its port, and returns the credentials it was sent."""

import socket
import sys
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("remote")
credentials = ""


@server.tool()
def credentials_sent() -> str:
    """Return the Authorization header of the request."""
    return credentials


async def app(scope: Any, receive: Any, send: Any) -> None:
    global credentials
    credentials = dict(scope.get("headers", ())).get(b"authorization", b"").decode()
    await inner(scope, receive, send)


inner = server.streamable_http_app()
listening = socket.create_server(("127.0.0.1", 0))
sys.stdout.write(f"{listening.getsockname()[1]}\n")
sys.stdout.flush()
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])
