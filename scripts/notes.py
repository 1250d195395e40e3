"""Print what CHANGELOG.md says of a release, by its tag: `python scripts/notes.py v0.1.0`.

Without a tag, print what is not released yet. A tag that differs from the version of the package is refused.
"""

import re
import runpy
import sys

from environment import ROOT

SECTION = r"^## \[{}\].*?\n(.*?)(?=^## |\Z)"


def main(tag: str) -> str | None:
    """Print the section of a tag; return what is wrong with the tag."""
    version = runpy.run_path(str(ROOT / "search_mcp" / "__init__.py"))["__version__"]
    if tag not in ("", f"v{version}"):
        return f"{tag} is not the tag of version {version}"
    heading = version if tag else "Unreleased"
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    section = re.search(SECTION.format(re.escape(heading)), changelog, re.MULTILINE | re.DOTALL)
    if section is None or not section[1].strip():
        return f"CHANGELOG.md has no entries under [{heading}]"
    print(section[1].strip())
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if sys.argv[1:] else ""))
