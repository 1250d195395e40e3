"""An edit is noticed, also where the system has no watch to give."""

import threading
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from search_mcp import edits

SECONDS = 30.0


def _is_noticed(path: Path) -> bool:
    noticed = threading.Event()
    stop = edits.follow(path, path.parent / "none", noticed.set)
    try:
        for number in range(100):  # the first of them may come before the watch is in place
            path.write_text(str(number))
            if noticed.wait(SECONDS / 100):
                return True
        return False
    finally:
        stop()


def test_an_edit_is_noticed(tmp_path: Path) -> None:
    assert _is_noticed(tmp_path / "file.json")


def test_an_edit_is_looked_for_where_there_is_no_watch_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def watch(*paths: Path, force_polling: bool, **options: Any) -> Any:
        if not force_polling:
            raise OSError(24, "Too many open files")  # as for a user who has used up all of them
        return watchfiles.watch(*paths, force_polling=True, **options)

    monkeypatch.setattr(edits, "watch", watch)
    assert _is_noticed(tmp_path / "file.json")
    assert "are looked for and not told of" in caplog.text
