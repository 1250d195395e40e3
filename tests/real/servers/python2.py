"""A server on the Python SDK 2.x for both eras, with tools that ask, that report progress, and that add a tool.

Started as `python2.py`, or as `python2.py TRANSPORT PORT` for one over HTTP.
"""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("python-2-server", version="1.0.0")


class Who(BaseModel):
    name: str


def who() -> Elicit[Who]:
    return Elicit("Your name?", Who)


@server.tool(structured_output=False)
def ask(answer: Annotated[Who, Resolve(who)]) -> str:
    """Does ask."""
    return f"hello {answer.name}"


@server.tool(structured_output=False)
async def count(to: int, ctx: Context) -> str:
    """Does count."""
    for done in range(1, to + 1):
        await ctx.report_progress(done, to)
    return f"counted to {to}"


@server.tool(structured_output=False)
def era(ctx: Context) -> str:
    """Does era."""
    return "modern" if ctx.request_context.protocol_version >= "2026" else "legacy"


@server.tool(structured_output=False)
async def grow(ctx: Context) -> str:
    """Does grow."""
    server.add_tool(lambda: "a new tool", name="grown", description="Does grown.", structured_output=False)
    await ctx.notify_tools_changed()  # to the clients that listen
    if ctx.request_context.protocol_version < "2026":
        await ctx.session.send_tool_list_changed()
    return "grown"


if sys.argv[1:]:
    server.run(sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]))  # type: ignore[call-overload]
else:
    server.run("stdio")
