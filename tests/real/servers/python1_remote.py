"""A legacy server on the Python SDK 1.x over HTTP that asks and counts: `python1_remote.py TRANSPORT PORT`"""

# mypy: ignore-errors
# The SDK 2.x, which the other tests use, has other names.

import sys
from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

server = FastMCP("python-1-server", host="127.0.0.1", port=int(sys.argv[2]))


class Who(BaseModel):
    name: str


@server.tool(structured_output=False)
async def ask(ctx: Context[Any, Any, Any]) -> str:
    """Does ask."""
    answer = await ctx.elicit("Your name?", Who)
    return f"hello {answer.data.name}"


@server.tool(structured_output=False)
async def count(to: int, ctx: Context[Any, Any, Any]) -> str:
    """Does count."""
    for done in range(1, to + 1):
        await ctx.report_progress(done, to)
    return f"counted to {to}"


server.run(sys.argv[1])
