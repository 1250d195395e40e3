"""The script that makes the pictures."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from docs.pages import DOCS, PAGES, SECONDS, text

SVG = "{http://www.w3.org/2000/svg}"


def test_every_picture_is_taken_and_shown(tmp_path: Path) -> None:
    command = [sys.executable, str(DOCS / "pictures.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    taken = {picture.name: picture for picture in tmp_path.iterdir()}
    assert taken.keys() == {picture.name for picture in (DOCS / "pictures").iterdir()}
    assert taken.keys() == {*re.findall(r"\(pictures/(.*?)\)", "".join(map(text, PAGES)))}
    for picture in taken.values():
        root = ElementTree.parse(picture).getroot()
        assert root.tag == f"{SVG}svg"
        assert "git" in "".join(root.itertext())
