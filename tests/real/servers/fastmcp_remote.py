"""A server on FastMCP over HTTP that asks and counts: `fastmcp_remote.py TRANSPORT PORT`"""

# mypy: ignore-errors
# FastMCP is installed on its own.

import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP

server = FastMCP("fastmcp-server")


@dataclass
class Who:
    name: str


@server.tool
async def ask(ctx: Context) -> str:
    """Does ask."""
    answer = await ctx.elicit("Your name?", Who)
    return f"hello {answer.data.name}"


@server.tool
async def count(to: int, ctx: Context) -> str:
    """Does count."""
    for done in range(1, to + 1):
        await ctx.report_progress(done, to)
    return f"counted to {to}"


if __name__ == "__main__":
    server.run(transport=sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
