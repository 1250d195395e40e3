"""ARCHITECTURE.md names the modules and tests that exist, and its map has every module."""

import re
from pathlib import Path

import pytest
from checkout import ROOT

import search_mcp

PACKAGE = Path(search_mcp.__file__).parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
CODE_MAP = TEXT.partition("## Code map")[2].partition("\n## ")[0]


def read_map() -> dict[str, set[str]]:
    """Return the modules that the map lists, by the folder of their room; an empty first cell continues a room."""
    listed: dict[str, set[str]] = {}
    room = ""
    for first, second in re.findall(r"^\| (.*?) ?\| (.*?) ?\|", CODE_MAP, re.MULTILINE)[2:]:
        room = "" if first == "root" else first.strip("`/") or room
        listed.setdefault(room, set()).update(name.strip("/") for name in re.findall(r"`([a-z_]+/?)`", second))
    return listed


MAP = read_map()


def contents(folder: Path) -> set[str]:
    """Return the names of the modules and packages in a folder."""
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


def test_the_map_has_every_room() -> None:
    assert MAP.keys() - {""} == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@pytest.mark.parametrize("room", [room for room, modules in MAP.items() if modules], ids=lambda room: room or "root")
def test_the_map_has_every_module_of_a_room(room: str) -> None:
    """A room whose modules are not listed is described as a whole."""
    others = MAP.keys() if room == "" else set()
    assert MAP[room] == contents(PACKAGE / room) - others


def test_every_path_exists() -> None:
    named = re.findall(r"`([\w./]*(?:/|\.py))`", TEXT.replace(CODE_MAP, ""))
    assert [path for path in named if not any((base / path).exists() for base in (ROOT, PACKAGE))] == []
