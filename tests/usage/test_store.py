"""The file of recorded calls: a real database, several processes, and what may be wrong with a file."""

import logging
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from search_mcp.usage.ended_calls import Row
from search_mcp.usage.store import (
    FORMAT,
    KEPT_DAYS,
    LaterFormatError,
    UsageStore,
    delete,
    largest_results,
    last_calls,
    reading,
)

NOW = 1_800_000_000.0
DAY = 86_400


def row(
    tool: str = "echo",
    at: float = NOW,
    *,
    client: str = "a client",
    text: int | None = None,
) -> Row:
    return (at, client, "alpha", tool, 0.25, "ok", 12, 34, text)


def tools(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [tool for (tool,) in database.execute("SELECT tool FROM calls ORDER BY rowid")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "usage" / "calls.sqlite3"


def store(path: Path, now: float = NOW) -> UsageStore:
    return UsageStore(path, lambda: now)


def test_calls_are_written_in_a_file_that_only_the_user_can_read(path: Path) -> None:
    before = os.umask(0)
    try:
        assert store(path).write([row("a"), row("b")])
        assert store(path).write([row("c")])
    finally:
        os.umask(before)
    assert tools(path) == ["a", "b", "c"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_files_beside_the_database_are_as_private_as_the_database(path: Path) -> None:
    store(path).write([row()])
    with reading(path) as database:
        assert database is not None
        database.execute("SELECT * FROM calls").fetchone()
        assert store(path).write([row()])
        beside = [each for each in path.parent.iterdir() if each != path]
        assert beside
        if os.name == "posix":
            assert {stat.S_IMODE(each.stat().st_mode) for each in beside} == {0o600}


WRITER = """
import sys
from pathlib import Path
from search_mcp.usage.store import Row, UsageStore
store = UsageStore(Path(sys.argv[1]))
for number in range(25):
    assert store.write([(1.8e9, "a client", "alpha", f"{sys.argv[2]}-{number}", 0.1, "ok", 1, 2, None)] * 4)
"""


def test_no_call_is_lost_when_several_processes_write(path: Path) -> None:
    """Also while they make the file."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE) for name in "abc"
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert (writer.returncode, errors) == (0, b"")
    found = tools(path)
    assert len(found) == len(writers) * 100
    assert len(set(found)) == len(writers) * 25


def test_a_locked_file_is_written_later_without_a_warning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is lost, and on a busy machine another process may need longer than a second."""
    caplog.set_level(logging.INFO)
    written = UsageStore(path, lambda: NOW, busy_seconds=0.05)
    assert written.write([row("a")])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert not written.write([row("b")])
        assert not written.write([row("b")])
        other.execute("ROLLBACK")
    assert written.write([row("b")])
    assert tools(path) == ["a", "b"]
    assert {each.levelno for each in caplog.records} == {logging.INFO}
    assert "another process has locked" in caplog.text


def test_a_damaged_file_that_cannot_be_moved_is_not_said_to_be_moved(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written = store(path)
    assert written.write([row()])
    path.write_bytes(b"a text file\n" * 100)
    path.with_name("calls.sqlite3.damaged").mkdir()
    assert written.write([row()])
    (warning,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert warning.startswith("! calls are not recorded in ")


@pytest.mark.parametrize("damage", ["no database", "a torn page", "no header"])
def test_a_damaged_file_is_moved_aside(path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    written = store(path)
    written.write([row(f"tool {number}") for number in range(2000)])
    whole = path.read_bytes()
    torn = whole[:4096] + bytes(reversed(whole[4096:8192])) * (len(whole) // 4096 - 1)
    data = {"no database": b"a text file\n" * 100, "a torn page": torn, "no header": bytes(100) + whole[100:]}[damage]
    path.write_bytes(data)
    assert written.write([row("new")])
    assert written.write([row("newer")])
    assert tools(path) == ["new", "newer"]
    assert path.with_name("calls.sqlite3.damaged").read_bytes() == data
    (warning,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert "is damaged and was moved to" in warning


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state").write_text("a file")
    written = store(tmp_path / "state" / "usage" / "calls.sqlite3")
    for _ in range(3):
        assert written.write([row()])
    (warning,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert "calls are not recorded in" in warning


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the root user may write everywhere")
def test_a_read_only_folder_is_read_and_not_written(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert store(path).write([row("a", text=9000)])
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert store(path).write([row("b")])
        assert [each.tool for each in largest_results(path, 0)] == ["a"]
    finally:
        path.parent.chmod(0o700)
    assert len(caplog.records) == 1


FULL_DISK = """
import logging, resource, sys
from pathlib import Path
from search_mcp.usage.store import Row, UsageStore
logging.basicConfig(format="%(message)s")
store, row = UsageStore(Path(sys.argv[1])), (1.8e9, "a client", "alpha", "x" * 200, 0.1, "ok", 1, 2, None)
assert store.write([row])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for _ in range(3):
    assert store.write([row] * 2000)
"""


@pytest.mark.skipif(os.name != "posix", reason="no limit of the size of files")
def test_a_full_disk_costs_one_warning_and_the_file_stays_good(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    (warning,) = done.stderr.splitlines()
    assert "calls are not recorded in" in warning
    assert store(path).write([row("after")])
    assert tools(path)[-1] == "after"
    assert len(tools(path)) == 2


def test_a_file_of_a_later_version_is_left_alone(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store(path).write([row("a")])
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {FORMAT + 1}")
    assert store(path).write([row("b")])
    assert tools(path) == ["a"]
    assert "later search-mcp" in caplog.text
    with pytest.raises(LaterFormatError), reading(path):
        pass


def test_calls_are_kept_for_ninety_days(path: Path) -> None:
    first = store(path)
    first.write([row("old", NOW - (KEPT_DAYS + 1) * DAY), row("young", NOW - (KEPT_DAYS - 1) * DAY)])
    assert tools(path) == ["young"]
    later = UsageStore(path, lambda: NOW + 2 * DAY)
    later.write([row("new", NOW + 2 * DAY)])
    assert tools(path) == ["new"]


def test_a_loop_of_calls_does_not_fill_the_disk(path: Path) -> None:
    written = UsageStore(path, lambda: NOW, most_calls=100)
    for number in range(30):
        written.write([row(f"{number}")] * 10)
    assert len(tools(path)) <= 110
    assert tools(path)[-1] == "29"


def test_a_file_that_is_deleted_is_begun_anew(path: Path) -> None:
    written = store(path)
    written.write([row("a")])
    assert delete(path)
    assert not delete(path)
    written.write([row("b")])
    assert tools(path) == ["b"]


def test_the_largest_results_by_client_and_tool(path: Path) -> None:
    store(path).write(
        [
            row("small"),
            row("big", text=9_000),
            row("big", text=60_000),
            row("big", text=70_000, client="another"),
            row("old", NOW - 40 * DAY, text=99_000),
        ]
    )
    found = largest_results(path, NOW - 30 * DAY)
    assert [(each.client, each.server, each.tool, each.characters) for each in found] == [
        ("another", "alpha", "big", 70_000),
        ("a client", "alpha", "big", 60_000),
    ]


def test_the_last_calls_are_read_the_latest_first(path: Path) -> None:
    store(path).write([row("a", NOW - 9), row("c", NOW - 5)])
    store(path).write([row("b", NOW - 7), row("d", NOW)])  # of another process
    assert [call[3] for call in last_calls(path, 3)] == ["d", "c", "b"]
    assert len(last_calls(path, 50)) == 4


def test_a_file_that_does_not_exist_has_no_calls(path: Path) -> None:
    assert last_calls(path, 50) == []
    assert largest_results(path, 0) == []
    assert not path.parent.exists()


def test_a_reader_does_not_hinder_a_writer(path: Path) -> None:
    written = store(path)
    written.write([row("a")] * 10)
    with reading(path) as database:
        assert database is not None
        cursor = database.execute("SELECT tool FROM calls")
        cursor.fetchone()
        assert written.write([row("b")])
        assert [tool for (tool,) in cursor] == ["a"] * 9


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes in folders")
def test_a_pipe_beside_the_file_is_a_warning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert store(path).write([row()])
    os.mkfifo(path.with_name(f"{path.name}-journal"))
    assert store(path).write([row()])
    assert "calls.sqlite3-journal is not a regular file" in caplog.text
