"""A server on FastMCP that serves the skills in a folder: `python fastmcp_skills.py FOLDER`."""

import sys

from fastmcp import FastMCP  # type: ignore[import-not-found]
from fastmcp.server.providers.skills import SkillsDirectoryProvider  # type: ignore[import-not-found]
from fastmcp.skills.extension import SkillsExtension  # type: ignore[import-not-found]

provider = SkillsDirectoryProvider(sys.argv[1], supporting_files="resources", experimental_skills=True)
server = FastMCP("skills", version="1.0.0")
server.add_provider(provider)
server.add_extension(SkillsExtension(providers=[provider]))


@server.tool  # type: ignore[untyped-decorator]
def refund(amount: int) -> str:
    """Refund an amount."""
    return f"refunded {amount}"


if __name__ == "__main__":
    server.run(transport="stdio", show_banner=False)
