"""Entry point of the MCP bundle: runs search-mcp with the configuration file from the client's settings."""

import os
import sys
from collections.abc import MutableMapping

from search_mcp.__main__ import main
from search_mcp.config import location
from search_mcp.config.location import FILE_VARIABLE
from search_mcp.files import write_whole

BEGINNING = b"""{
  // Your servers, in the format of other clients: "name": {"command": "npx", "args": ["-y", "package"]}.
  // Saved edits take effect at once.
  "mcpServers": {}
}
"""


def choose(variables: MutableMapping[str, str]) -> None:
    """Keep a chosen file in its variable; without one, create the user's own file if it does not exist."""
    # An empty setting arrives as the placeholder in the manifest: modelcontextprotocol/mcpb#251
    if variables.get(FILE_VARIABLE, "").startswith("${"):
        del variables[FILE_VARIABLE]
    places = location.places(None, variables)
    if variables.get(FILE_VARIABLE) or any(place.is_file() for place in places):
        return
    write_whole(places[-1], BEGINNING)
    sys.stderr.write(f"search-mcp: created {places[-1]}; add your servers to this file\n")


if __name__ == "__main__":
    choose(os.environ)
    sys.exit(main([]))
