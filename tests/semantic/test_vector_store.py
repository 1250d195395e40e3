"""The file of vectors: what is kept, for whom, and faults of the file."""

import os
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from search_mcp.semantic.vector_store import DAY_SECONDS, VectorStore, counts


class Clock:
    def __init__(self) -> None:
        self.seconds = 1e9

    def __call__(self) -> float:
        return self.seconds

    def next_day(self) -> None:
        self.seconds += DAY_SECONDS


def test_a_vector_is_found_by_text_and_model(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "vectors.sqlite3"
    assert VectorStore(path, "one").read(["a"]) == {}
    VectorStore(path, "one").write({"a": b"1", "b": b"2"})
    assert VectorStore(path, "one").read(["a", "c"]) == {"a": b"1"}
    assert VectorStore(path, "two").read(["a"]) == {}


def test_more_texts_than_the_database_takes_at_once(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "vectors.sqlite3", "one")
    vectors = {str(number): bytes([number % 256]) for number in range(1_700)}
    store.write(vectors)
    assert store.read(list(vectors)) == vectors


def test_a_read_does_not_write_the_file(tmp_path: Path) -> None:
    """On a slow disk, that takes longer than the vectors of a batch."""
    path = tmp_path / "vectors.sqlite3"
    VectorStore(path, "one").write({"a": b"1"})
    before = path.read_bytes()
    assert VectorStore(path, "one").read(["a"]) == {"a": b"1"}
    assert path.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_only_the_user_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "vectors.sqlite3"
    VectorStore(path, "one").write({"a": b"1"})
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)


def test_the_longest_unused_are_removed(tmp_path: Path) -> None:
    clock = Clock()
    store = VectorStore(tmp_path / "vectors.sqlite3", "one", clock, most_vectors=2)
    store.write({"used": b"1", "unused": b"2"})
    clock.next_day()
    store.read(["used"])
    VectorStore(tmp_path / "vectors.sqlite3", "one", clock, most_vectors=2).write({"new": b"3"})
    assert store.read(["used", "unused", "new"]) == {"used": b"1", "new": b"3"}


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite3"
    path.write_bytes(b"not a database, and long enough for its header " * 50)
    store = VectorStore(path, "one")
    assert store.read(["a"]) == {}
    store.write({"a": b"1"})
    assert store.read(["a"]) == {"a": b"1"}


def test_another_format_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite3"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE vectors (other TEXT)")
    database.execute("PRAGMA user_version = 9")
    database.close()
    store = VectorStore(path, "one")
    store.write({"a": b"1"})
    assert store.read(["a"]) == {"a": b"1"}


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        VectorStore(tmp_path / "file" / "vectors.sqlite3", "one").write({"a": b"1"})


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
@pytest.mark.parametrize("ending", ["", "-journal"])
def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "vectors.sqlite3"
    if ending:
        VectorStore(file, "a model").write({"text": b"12"})
    os.mkfifo(tmp_path / f"{file.name}{ending}")
    for act in (lambda: counts(file), lambda: VectorStore(file, "a model").write({"text": b"12"})):
        with pytest.raises(OSError, match="is not a regular file"):
            act()
