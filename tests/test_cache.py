"""What is kept of a catalogue on disk, and for how long."""

import os
from pathlib import Path

from search_mcp import jsonrpc
from search_mcp.cache import KEPT_SECONDS, VERSION, CatalogCache, Record
from search_mcp.jsonrpc import Raw, altered
from search_mcp.model import Entry, Era, Freshness, Kind, Offer, Page

RECORD = Record(Offer("2025-11-25", Era.LEGACY, frozenset({Kind.TOOLS})))
TOOL = Entry("echo", jsonrpc.fields(Raw(b'{"name":"echo","description":"caf\xc3\xa9 \\u00e9","_meta":{"b":1,"a":2}}')))
TOOLS = Page((TOOL,), rejected=("a tool without a name",))
FULL = Record(
    Offer(
        "2026-07-28",
        Era.MODERN,
        frozenset(Kind),
        logging=True,
        completions=True,
        subscribe=True,
        instructions="Use it.",
        title="Echo",
        extensions={"x/y": Raw(b'{"z":[1]}')},
        tasks=Raw(b'{"list":{}}'),
        has_tasks=True,
        notifies=frozenset({Kind.TOOLS, Kind.PROMPTS}),
    ),
    {Kind.TOOLS: TOOLS, Kind.PROMPTS: Page(())},
)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    CatalogCache(tmp_path).store("full", FULL)
    read = CatalogCache(tmp_path).load("full")
    assert read is not None
    assert read == FULL
    (entry,) = read.pages[Kind.TOOLS].entries
    assert {key: bytes(raw) for key, raw in entry.fields.items()} == {
        key: bytes(raw) for key, raw in TOOL.fields.items()
    }


WRITTEN = (
    b'{"offer":{"revision":"2025-11-25","era":"legacy","kinds":["tools"],"logging":true,"completions":true,'
    b'"subscribe":true,"instructions":"Use it.","title":"Echo","extensions":{"x/y":{}},"tasks":{"list":{}},'
    b'"has_tasks":true,"notifies":["tools"]},'
    b'"pages":{"tools":{"entries":[{"key":"echo","fields":{"name":"echo"}}],"rejected":["a tool without a name"]}}}'
)


def test_the_form_of_a_record_is_that_of_its_version(tmp_path: Path) -> None:
    """If this fails, raise `VERSION`: a file of another form is not to be found."""
    assert VERSION == 3
    cache, file = CatalogCache(tmp_path), tmp_path / "one.json"
    file.write_bytes(WRITTEN)
    record = cache.load("one")
    assert record is not None
    file.unlink()
    cache.store("one", record)
    assert file.read_bytes() == WRITTEN


def test_how_fresh_a_list_was_and_what_had_changed_in_it_is_not_remembered(tmp_path: Path) -> None:
    page = altered(TOOLS, freshness=Freshness(60_000, True), changed=frozenset({"echo"}))
    cache = CatalogCache(tmp_path)
    cache.store("full", altered(FULL, pages={**FULL.pages, Kind.TOOLS: page}))
    assert cache.load("full") == FULL


def test_a_record_that_says_nothing_new_is_not_written_again(tmp_path: Path) -> None:
    cache, file = CatalogCache(tmp_path), tmp_path / "full.json"
    cache.store("full", FULL)
    written = file.stat().st_ino, file.stat().st_mtime_ns
    cache.store("full", FULL)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == written
    cache.store("full", altered(FULL, pages={}))
    assert cache.load("full") == altered(FULL, pages={})


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
