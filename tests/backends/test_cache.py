"""Records of server lists on disk, and their lifetime."""

import os
from pathlib import Path
from typing import Any

import pytest

from search_mcp.backends.cache import KEPT_SECONDS, VERSION, CatalogCache, Key, Record, failure, fingerprint
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import Entry, Freshness, Opening, ServerCapabilities, ServerList
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw, replace

RECORD = Record(ServerCapabilities("2025-11-25", Era.LEGACY, frozenset({Kind.TOOLS})))
FULL_KEY, ONE_KEY = Key("full", "x"), Key("one", "x")
TOOL = Entry("echo", payload.fields(Raw(b'{"name":"echo","description":"caf\xc3\xa9 \\u00e9","_meta":{"b":1,"a":2}}')))
TOOLS = ServerList((TOOL,), rejected=("a tool without a name",))
FULL = Record(
    ServerCapabilities(
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
        reads_directories=True,
    ),
    {Kind.TOOLS: TOOLS, Kind.PROMPTS: ServerList(())},
)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    CatalogCache(tmp_path).store(FULL_KEY, FULL)
    read = CatalogCache(tmp_path).load(FULL_KEY)
    assert read is not None
    assert read == FULL
    (entry,) = read.pages[Kind.TOOLS].entries
    assert {key: bytes(raw) for key, raw in entry.fields.items()} == {
        key: bytes(raw) for key, raw in TOOL.fields.items()
    }


WRITTEN = (
    b'{"capabilities":{"revision":"2025-11-25","era":"legacy","kinds":["tools"],"logging":true,"completions":true,'
    b'"subscribe":true,"instructions":"Use it.","title":"Echo","extensions":{"x/y":{}},"tasks":{"list":{}},'
    b'"has_tasks":true,"notifies":["tools"],"reads_directories":true},'
    b'"pages":{"tools":{"entries":[{"key":"echo","fields":{"name":"echo"}}],"rejected":["a tool without a name"]}}}'
)


def test_the_format_of_a_record_is_that_of_its_version(tmp_path: Path) -> None:
    """If this fails, raise `VERSION`: files in another format must not be found."""
    assert VERSION == 6
    cache, file = CatalogCache(tmp_path), tmp_path / "one-x.json"
    file.write_bytes(WRITTEN)
    record = cache.load(ONE_KEY)
    assert record is not None
    file.unlink()
    cache.store(ONE_KEY, record)
    assert file.read_bytes() == WRITTEN


def test_freshness_and_changed_tools_of_a_list_are_not_stored(tmp_path: Path) -> None:
    page = replace(TOOLS, freshness=Freshness(60_000, True), changed=frozenset({"echo"}))
    cache = CatalogCache(tmp_path)
    cache.store(FULL_KEY, replace(FULL, pages={**FULL.pages, Kind.TOOLS: page}))
    assert cache.load(FULL_KEY) == FULL


def test_an_unchanged_record_is_not_written_again(tmp_path: Path) -> None:
    cache, file = CatalogCache(tmp_path), tmp_path / "full-x.json"
    cache.store(FULL_KEY, FULL)
    written = file.stat().st_ino, file.stat().st_mtime_ns
    cache.store(FULL_KEY, FULL)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == written
    cache.store(FULL_KEY, replace(FULL, pages={}))
    assert cache.load(FULL_KEY) == replace(FULL, pages={})


def test_only_files_that_are_too_old_are_deleted(tmp_path: Path) -> None:
    cache = CatalogCache(tmp_path)
    for name in ("old", "new"):
        cache.store(Key(name, "x"), RECORD)
    (tmp_path / ".old-half-written").write_bytes(b"{")
    for name in ("old-x.json", ".old-half-written"):
        os.utime(tmp_path / name, (0, 0))
    cache.prune(now=(tmp_path / "new-x.json").stat().st_mtime + KEPT_SECONDS)
    assert [path.name for path in tmp_path.iterdir()] == ["new-x.json"]
    assert cache.load(Key("new", "x")) == RECORD


def test_a_folder_that_is_not_there_needs_no_tidying(tmp_path: Path) -> None:
    CatalogCache(tmp_path / "none").prune(now=0)
    assert not (tmp_path / "none").exists()


# Records of other clients


def test_the_newest_record_of_the_same_program_is_similar(tmp_path: Path) -> None:
    cache = CatalogCache(tmp_path)
    for age, (name, record) in enumerate({"mine": FULL, "older": RECORD, "new": FULL, "empty": RECORD}.items()):
        cache.store(Key("p", name), record)
        os.utime(tmp_path / f"p-{name}.json", (1000 + age, 1000 + age))
    cache.store(Key("other", "newest"), replace(FULL, pages={}))
    assert cache.load_similar(Key("p", "mine")) == FULL, "a record without lists is useless"
    assert cache.load_similar(Key("other", "x")) is None
    (tmp_path / "p-new.json").write_bytes(b"{")
    assert cache.load_similar(Key("p", "mine")) is None


@pytest.mark.parametrize("change", [{"capabilities": {"roots": Raw(b"{}")}}, {"era": Era.MODERN}])
def test_another_kind_of_client_has_a_record_of_its_own_of_the_same_program(change: dict[str, Any]) -> None:
    opening = Opening(Era.LEGACY, "2025-11-25", {}, None)
    one, other = (fingerprint(SERVER, "x", each) for each in (opening, replace(opening, **change)))
    assert one.program == other.program
    assert one.opening != other.opening


@pytest.mark.parametrize(
    "change", [{"command": "y"}, {"args": ("a",)}, {"cwd": "/"}, {"env": {"A": "1"}}, {"protocol": "2025-11-25"}]
)
def test_another_program_has_no_record_in_common(change: dict[str, Any]) -> None:
    opening = Opening(Era.LEGACY, "2025-11-25", {}, None)
    other = replace(SERVER, **change)
    assert fingerprint(SERVER, "x", opening).program != fingerprint(other, "x", opening).program
    assert fingerprint(SERVER, "x", opening).program != fingerprint(SERVER, "y", opening).program


# Failures

SERVER = ServerConfig(name="s", command="x", env={"TOKEN": "secret-value"}, secrets=frozenset({"secret-value"}))


def test_a_failure_is_remembered_until_it_is_cleared(tmp_path: Path) -> None:
    cache, failed = CatalogCache(tmp_path), failure(SERVER, "it exited with code 1", now=5.0)
    cache.store_failure(FULL_KEY, failed)
    assert CatalogCache(tmp_path).load_failure(FULL_KEY, SERVER) == failed
    assert CatalogCache(tmp_path).load_failure(ONE_KEY, SERVER) is None
    assert b"secret-value" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    cache.clear_failure(FULL_KEY)
    assert cache.load_failure(FULL_KEY, SERVER) is None
    cache.clear_failure(FULL_KEY)


@pytest.mark.parametrize("change", [{"start_timeout_seconds": 90.0}, {"env": {"TOKEN": "other"}}, {"tags": ("a",)}])
def test_an_edit_of_its_entry_ends_a_failure(tmp_path: Path, change: dict[str, Any]) -> None:
    cache = CatalogCache(tmp_path)
    cache.store_failure(FULL_KEY, failure(SERVER, "why", now=5.0))
    assert cache.load_failure(FULL_KEY, replace(SERVER, **change)) is None
    assert cache.load_failure(FULL_KEY, replace(SERVER, startup="lazy")) is not None


def test_a_damaged_failure_is_ignored(tmp_path: Path) -> None:
    cache = CatalogCache(tmp_path)
    cache.store_failure(FULL_KEY, failure(SERVER, "why", now=5.0))
    (file,) = tmp_path.iterdir()
    file.write_bytes(b'{"reason": 1}')
    assert cache.load_failure(FULL_KEY, SERVER) is None
