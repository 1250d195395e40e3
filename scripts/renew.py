"""Write the files that are made from the code: `python scripts/renew.py`.

These are the JSON Schema, the tables of docs/, the man page, the completion scripts and the screens of the tests; a
test fails while one is out of date. Read the difference before you commit it. The pictures of the page are taken where
Chromium is. The other pictures of docs/ are left alone, because they show how long things took.
"""

from environment import ROOT, python

if __name__ == "__main__":
    python("-m", "search_mcp", "config", "schema", output=ROOT / "config" / "mcp-servers.schema.json")
    python("docs/tables.py")
    python("packaging/share.py")
    python("docs/page_pictures.py")
    python("-m", "pytest", "tests/cli/test_help.py", "tests/cli/test_rendered.py", UPDATE_SCREENS="1")
