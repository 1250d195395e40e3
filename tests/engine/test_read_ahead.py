"""The catalog cache with files that were read before."""

import os
import sys
from pathlib import Path

from search_mcp.backends.cache import CatalogCache, Key, Record, SharingRecord, failure, fingerprint, with_state
from search_mcp.backends.dependencies import Dependencies
from search_mcp.config.schema import ServerConfig
from search_mcp.engine.read_ahead import ReadAhead, read_ahead
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import Entry, Opening, ServerCapabilities, ServerList

CONFIG = ServerConfig(name="a", command=sys.executable)
OPENING = Opening(Era.LEGACY, "2025-11-25", {}, None)
KNOWN, OTHER = (fingerprint(CONFIG, program, OPENING) for program in (with_state(sys.executable), "other"))
ANOTHER_CLIENT = Key(KNOWN.program, "another")


def record(title: str) -> Record:
    capabilities = ServerCapabilities("2025-11-25", Era.LEGACY, frozenset({Kind.TOOLS}), title=title)
    return Record(capabilities, {Kind.TOOLS: ServerList((Entry("echo", {}),))})


def everything(cache: CatalogCache, key: Key) -> list[object]:
    """Return all that a cache gives for a key."""
    loaded = [cache.load(key), cache.load(Key(key.program, "new")), cache.load_similar(Key(key.program, "new"))]
    return [*loaded, cache.load_failure(key, CONFIG), cache.load_sharing(key), cache.age_seconds(key, 1e9)]


def filled(folder: Path, title: str) -> CatalogCache:
    """Write a cache; every file is as old as the others would be on any disk."""
    cache = CatalogCache(folder)
    for key in (KNOWN, ANOTHER_CLIENT, OTHER):
        cache.store(key, record(f"{title} {key.opening}"))
        cache.store_failure(key, failure(CONFIG, title, 1.0))
        cache.store_sharing(key, SharingRecord(title))
    for path in folder.iterdir():
        os.utime(path, (2e8, 2e8 + (path.name[-6:] == "r.json")))
    return cache


def ahead_of(folder: Path) -> ReadAhead:
    missing = ServerConfig(name="b", command="/does/not/exist")
    off = ServerConfig(name="c", command=sys.executable, args=("c",), enabled=False)
    return read_ahead(folder, [CONFIG, missing, off], Dependencies())


def test_files_are_as_they_were_until_they_are_dropped(tmp_path: Path) -> None:
    cache = filled(tmp_path, "before")
    before = everything(cache, KNOWN)
    ahead = ahead_of(tmp_path)
    assert before[2] == record(f"before {ANOTHER_CLIENT.opening}")
    filled(tmp_path, "after")
    assert everything(ahead, KNOWN) == before
    assert everything(ahead, OTHER) == everything(cache, OTHER), "of another program"
    for path in tmp_path.iterdir():
        path.unlink()
    assert everything(ahead, KNOWN) == before
    ahead.drop()
    assert everything(ahead, KNOWN) == everything(cache, KNOWN)


def test_there_may_be_no_folder_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert everything(ahead_of(tmp_path / "none"), KNOWN) == everything(CatalogCache(tmp_path), KNOWN)
    (tmp_path / f"{KNOWN.record}.json").mkdir()
    assert ahead_of(tmp_path).load(KNOWN) is None


def test_what_is_stored_is_written(tmp_path: Path) -> None:
    ahead = ahead_of(tmp_path)
    ahead.store(KNOWN, record("new"))
    assert ahead.load(KNOWN) is None
    assert CatalogCache(tmp_path).load(KNOWN) == record("new")
