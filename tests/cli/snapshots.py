"""Comparison of screens with files."""

import os
from pathlib import Path


def compare(file: Path, text: str) -> None:
    """Compare a text with a file; with `UPDATE_SCREENS` in the environment, write the file."""
    if "UPDATE_SCREENS" in os.environ:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")
