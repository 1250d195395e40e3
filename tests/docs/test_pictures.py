"""The scripts that make the pictures."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from page.running import WIDE, chromium
from PIL import Image

from docs.pages import DOCS, PAGES, SECONDS, text

SVG = "{http://www.w3.org/2000/svg}"


def taken_by(script: str, folder: Path) -> dict[str, Path]:
    """Return the pictures that a script takes, by name."""
    command = [sys.executable, str(DOCS / script), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return {picture.name: picture for picture in folder.iterdir()}


def known(kind: str) -> set[str]:
    """Return the names of the pictures of a kind, each of which a page shows."""
    found = {picture.name for picture in (DOCS / "pictures").glob(f"*.{kind}")}
    assert found == {*re.findall(rf"\(pictures/(.*?\.{kind})\)", "".join(map(text, PAGES)))}
    return found


def test_every_picture_of_a_command_is_taken_and_shown(tmp_path: Path) -> None:
    taken = taken_by("pictures.py", tmp_path)
    assert taken.keys() == known("svg")
    for picture in taken.values():
        root = ElementTree.parse(picture).getroot()
        assert root.tag == f"{SVG}svg"
        assert "git" in "".join(root.itertext())


@pytest.mark.skipif(chromium() is None, reason="no Chromium is on PATH")
def test_every_picture_of_the_page_is_taken_and_shown(tmp_path: Path) -> None:
    taken = taken_by("page_pictures.py", tmp_path)
    assert taken.keys() == known("png")
    for name, picture in taken.items():
        with Image.open(picture) as made, Image.open(DOCS / "pictures" / name) as kept:
            assert made.size == kept.size
            assert made.width == WIDE
        assert picture.stat().st_size < 50_000
