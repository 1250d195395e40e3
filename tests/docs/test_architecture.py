"""ARCHITECTURE.md and docs/internals/ name rooms, modules and tests that exist, and the first stays short."""

import re
from pathlib import Path

import pytest
from checkout import ROOT

import search_mcp

PACKAGE = Path(search_mcp.__file__).parent
PAGES = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs" / "internals").glob("*.md"))]
TEXT = PAGES[0].read_text("utf-8")
MOST_WORDS = 1500
"""What a newcomer reads in ten minutes."""


def test_the_table_has_every_room() -> None:
    table = TEXT.partition("## Rooms")[2].partition("\n## ")[0]
    rooms = re.findall(r"^\| `([a-z_]+)/`", table, re.MULTILINE)
    assert sorted(rooms) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def test_it_is_short() -> None:
    assert len(TEXT.split()) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_path_exists(page: Path) -> None:
    """A path is a code span with a slash: a folder, a file, or a module without its suffix."""
    named = re.findall(r"`([a-z_.][\w.]*/[\w./]*)`", page.read_text("utf-8"))
    assert [
        path for path in named if path not in METHODS and not (is_there(ROOT / path) or is_there(PACKAGE / path))
    ] == []


def is_there(path: str) -> bool:
    files = ROOT / path, PACKAGE / path
    return any(file.exists() or file.with_suffix(".py").exists() for file in files)


METHODS = {"subscriptions/listen", "server/discover"}
"""Methods of MCP, which look like paths."""


def test_every_page_is_linked() -> None:
    linked = re.findall(r"\]\((docs/internals/[\w.]+)\)", TEXT)
    assert sorted(linked) == sorted(page.relative_to(ROOT).as_posix() for page in PAGES[1:])
