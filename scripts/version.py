"""Write a version into every file that has it: `python scripts/version.py 0.2.0`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = {
    "search_mcp/__init__.py": '(?<=__version__ = ")[^"]+',
    "server.json": '(?<="version": ")[^"]+',
    "packaging/plugin/plugin.json": '(?<="version": ")[^"]+',
    "packaging/plugin/mcp.json": '(?<="search-mcp@)[^"]+',
}
"""The files, with the regular expression of a version in each."""


def written(name: str, version: str) -> str:
    """Return the text of a file with another version."""
    return re.sub(PLACES[name], version, (ROOT / name).read_text("utf-8"))


if __name__ == "__main__":
    for place in PLACES:
        (ROOT / place).write_text(written(place, sys.argv[1]), "utf-8", newline="\n")
