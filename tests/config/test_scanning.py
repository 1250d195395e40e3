"""Looks at watched files: what is found, what is left out, and that the work is bounded."""

import os
import sys
from pathlib import Path

import pytest

from search_mcp.config.scanning import Snapshot, Watched, changes, scan


def look(folder: Path, *patterns: str) -> Snapshot:
    return scan(Watched(str(folder), patterns))


def found(folder: Path, *patterns: str) -> list[str]:
    return sorted(look(folder, *patterns).files)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/deep/c.log", ".git/d.py", ".venv/e.py", "node_modules/f.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    return tmp_path


def test_files_are_found_in_folders_that_somebody_edits(folder: Path) -> None:
    assert found(folder, "**/*.py") == ["a.py", "src/b.py", "src/deep/c.py"]
    assert found(folder, "src", ".git/*") == [".git/d.py", "src/b.py", "src/deep/c.log", "src/deep/c.py"]


def test_files_can_be_left_out(folder: Path) -> None:
    assert found(folder, "src/**", "!**/*.log") == ["src/b.py", "src/deep/c.py"]
    assert found(folder, "**", "!src/deep") == ["a.py", "src/b.py"]
    assert found(folder, "!src") == []


def test_a_folder_that_does_not_exist_has_no_files(tmp_path: Path) -> None:
    assert found(tmp_path / "none", "**") == []


def test_changed_added_and_removed_files_are_noticed(folder: Path) -> None:
    before = look(folder, "**/*.py").files
    assert list(changes(before, look(folder, "**/*.py").files)) == []
    (folder / "a.py").write_text("longer")
    (folder / "new.py").write_text("x")
    (folder / "src" / "b.py").unlink()
    replaced = folder / "other"
    replaced.write_text("x")
    os.utime(replaced, ns=(before["src/deep/c.py"][0],) * 2)
    replaced.replace(folder / "src" / "deep" / "c.py")  # as some editors save: same time and size, another file
    expected = ["a.py", "new.py", "src/b.py"] + ([] if sys.platform == "win32" else ["src/deep/c.py"])
    assert sorted(changes(before, look(folder, "**/*.py").files)) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_to_folders_are_followed_only_where_a_pattern_names_them(folder: Path) -> None:
    (folder / "src" / "loop").symlink_to(folder)
    (folder / "lib").symlink_to(folder / "src")
    (folder / "file.py").symlink_to(folder / "a.py")
    (folder / "broken.py").symlink_to(folder / "none")
    assert found(folder, "**/*.py") == ["a.py", "file.py", "src/b.py", "src/deep/c.py"]
    assert found(folder, "lib/*.py", "src/loop/src/loop/*.py") == [
        "lib/b.py",
        "src/loop/src/loop/a.py",
        "src/loop/src/loop/file.py",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")
def test_only_files_are_watched(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    assert found(tmp_path, "*.py") == []


def test_a_look_ends_after_so_many_files(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.py").write_text("x")
    cut = scan(Watched(str(tmp_path), ("*",)), most_files=3)
    assert (sorted(cut.files), cut.is_cut) == (["0.py", "1.py", "2.py"], True)
    assert not scan(Watched(str(tmp_path), ("*",)), most_files=5).is_cut


def test_a_look_ends_after_so_many_names(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number}.txt").write_text("x")
    assert not look(tmp_path, "*.py").is_cut
    assert scan(Watched(str(tmp_path), ("*.py",)), most_names=20).is_cut
