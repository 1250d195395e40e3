"""A backend's stderr: the end of it is kept, its file is limited."""

from pathlib import Path

from search_mcp.backend.journal import FILE_BYTES, TAIL_BYTES, Journal


def test_the_end_is_kept_whatever_came_before() -> None:
    journal = Journal(None)
    for number in range(2000):
        journal.write(b"line %d\n" % number)
    assert journal.tail().endswith("line 1999")
    assert len(journal.tail()) <= TAIL_BYTES


def test_a_file_is_limited_and_one_older_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "s.log"
    journal = Journal(path)
    for _ in range(5):
        journal.write(b"x" * (FILE_BYTES // 2))
    journal.close()
    sizes = {each.name: each.stat().st_size for each in path.parent.iterdir()}
    assert sizes.keys() == {"s.log", "s.old.log"}
    assert all(size <= 2 * FILE_BYTES for size in sizes.values())


def test_a_folder_that_cannot_be_written_costs_the_file_only(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    journal = Journal(tmp_path / "taken" / "s.log")
    journal.write(b"last words")
    assert journal.tail() == "last words"
