"""ARCHITECTURE.md names the rooms, and the modules and tests that exist."""

import re
from pathlib import Path

from checkout import ROOT

import search_mcp

PACKAGE = Path(search_mcp.__file__).parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
CODE_MAP = TEXT.partition("## Code map")[2].partition("\n## ")[0]


def test_the_map_has_every_room() -> None:
    rooms = re.findall(r"^\| `([a-z_]+)/`", CODE_MAP, re.MULTILINE)
    assert sorted(rooms) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def test_every_path_exists() -> None:
    named = re.findall(r"`([\w./]*(?:/|\.py))`", TEXT)
    assert [path for path in named if not any((base / path).exists() for base in (ROOT, PACKAGE))] == []
