"""What is kept of a catalogue on disk, and for how long."""

import os
from pathlib import Path

from search_mcp.cache import KEPT_SECONDS, CatalogCache, Record
from search_mcp.model import Era, Kind, Offer

RECORD = Record(Offer("2025-11-25", Era.LEGACY, frozenset({Kind.TOOLS})))


def test_what_is_too_old_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    cache = CatalogCache(tmp_path)
    for key in ("old", "new"):
        cache.store(key, RECORD)
    (tmp_path / ".old-half-written").write_bytes(b"{")
    for name in ("old.json", ".old-half-written"):
        os.utime(tmp_path / name, (0, 0))
    cache.prune(now=(tmp_path / "new.json").stat().st_mtime + KEPT_SECONDS)
    assert [path.name for path in tmp_path.iterdir()] == ["new.json"]
    assert cache.load("new") == RECORD


def test_a_folder_that_is_not_there_needs_no_tidying(tmp_path: Path) -> None:
    CatalogCache(tmp_path / "none").prune(now=0)
    assert not (tmp_path / "none").exists()
