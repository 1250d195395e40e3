"""What a host starts: search-mcp, with the configuration that was chosen in the host's settings."""

import os
import sys
from collections.abc import MutableMapping

from search_mcp.__main__ import main
from search_mcp.config import location
from search_mcp.config.location import FILE_VARIABLE
from search_mcp.files import write_whole

BEGINNING = b"""{
  // Your servers, as other clients have them: "name": {"command": "npx", "args": ["-y", "package"]}.
  // Saved edits take effect at once.
  "mcpServers": {}
}
"""


def choose(variables: MutableMapping[str, str]) -> None:
    """Leave what was chosen in the variable for it; where nothing was, begin the user's own file if need be."""
    # What was left empty arrives as it stands in the manifest: modelcontextprotocol/mcpb#251
    if variables.get(FILE_VARIABLE, "").startswith("${"):
        del variables[FILE_VARIABLE]
    places = location.places(None, variables)
    if variables.get(FILE_VARIABLE) or any(place.is_file() for place in places):
        return
    write_whole(places[-1], BEGINNING)
    sys.stderr.write(f"search-mcp: put your servers into {places[-1]}\n")


if __name__ == "__main__":
    choose(os.environ)
    sys.exit(main([]))
