"""The files of shortened results: who may read them, how many there are, and when they are deleted."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from search_mcp.results.kept_results import KEPT_SECONDS, YOUNG_SECONDS, KeptFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "results"


def results(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*/*") if path.name != "lock"]


def is_later(seconds: float) -> float:
    return time.time() + seconds


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_only_the_user_can_read_them(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o755)
    path = KeptFiles(folder).keep(b"secret")
    assert path.read_bytes() == b"secret"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, folder)] == [0o600, 0o700, 0o700]


def test_each_has_a_name_of_its_own_and_can_be_deleted(folder: Path) -> None:
    files = KeptFiles(folder)
    one, other = files.keep(b"1"), files.keep(b"2")
    files.delete(one)
    files.delete(one)
    assert results(folder) == [other]
    files.end()
    assert list(folder.iterdir()) == []
    assert files.keep(b"3").read_bytes() == b"3"


def test_the_oldest_make_room_also_those_of_other_processes(folder: Path) -> None:
    mine, other = KeptFiles(folder, most_bytes=100), KeptFiles(folder, most_bytes=100)
    paths = [each.keep(b"x" * 40) for each in (mine, other)]
    for age, path in enumerate(reversed(paths)):
        os.utime(path, (time.time() - 100 * (age + 1),) * 2)
    third = mine.keep(b"x" * 40)
    assert set(results(folder)) == {paths[1], third}


def test_what_is_larger_than_all_may_be_is_not_kept(folder: Path) -> None:
    files = KeptFiles(folder, most_bytes=100)
    first = files.keep(b"1")
    with pytest.raises(OSError, match="larger than 100 bytes"):
        files.keep(b"x" * 101)
    assert results(folder) == [first]


def test_a_folder_that_cannot_be_written_is_an_error(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_bytes(b"a file in its place")
    with pytest.raises(OSError, match=r"File exists|Not a directory|cannot find"):
        KeptFiles(folder).keep(b"1")


def test_a_folder_that_was_deleted_is_made_again(folder: Path) -> None:
    files = KeptFiles(folder)
    first = files.keep(b"1")
    first.unlink()
    (first.parent / "lock").unlink()
    first.parent.rmdir()
    assert files.keep(b"2").read_bytes() == b"2"


KILLED = """
import os, sys
from pathlib import Path
from search_mcp.results.kept_results import KeptFiles
KeptFiles(Path(sys.argv[1])).keep(b"left")
os._exit(9)
"""


def test_a_start_deletes_what_a_killed_process_left_and_nothing_of_one_that_runs(folder: Path) -> None:
    running = KeptFiles(folder)
    kept = running.keep(b"in use")
    assert subprocess.run([sys.executable, "-c", KILLED, folder], check=False, timeout=60).returncode == 9
    assert len(results(folder)) == 2
    KeptFiles(folder).sweep()
    assert len(results(folder)) == 2, "it might not have locked its folder yet"
    KeptFiles(folder, clock=lambda: is_later(YOUNG_SECONDS + 1)).sweep()
    assert results(folder) == [kept]
    assert list(folder.iterdir()) == [kept.parent]


def test_a_start_deletes_what_is_too_old_whoever_made_it(folder: Path) -> None:
    running = KeptFiles(folder)
    old, new = running.keep(b"old"), running.keep(b"new")
    os.utime(old, (time.time() - KEPT_SECONDS - YOUNG_SECONDS - 60,) * 2)
    KeptFiles(folder).sweep()
    assert results(folder) == [new]


def test_nothing_is_made_by_a_sweep(folder: Path) -> None:
    KeptFiles(folder).sweep()
    assert not folder.exists()


def age(path: Path) -> Path:
    """Make a file or a folder, and what is in it, as old as what a sweep deletes."""
    for each in (*path.rglob("*"), path):
        os.utime(each, (time.time() - KEPT_SECONDS - YOUNG_SECONDS - 60,) * 2)
    return path


@pytest.mark.parametrize("name", ["thesis", "0123456789abcdef"])
def test_a_sweep_leaves_what_search_mcp_did_not_make(folder: Path, name: str) -> None:
    work = folder / name / "chapter.txt"
    work.parent.mkdir(parents=True)
    work.write_text("mine")
    age(folder)
    KeptFiles(folder).sweep()
    assert work.read_text() == "mine"
    assert list(work.parent.iterdir()) == [work], "nothing was made there either"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few users make links")
def test_a_sweep_leaves_what_is_behind_a_link(folder: Path, tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    work = documents / "fedcba9876543210"
    documents.mkdir()
    work.write_text("mine")
    age(documents)
    folder.mkdir(parents=True)
    (folder / "0123456789abcdef").symlink_to(documents)
    files = KeptFiles(folder, most_bytes=100)
    files.sweep()
    files.keep(b"x" * 100)  # makes room
    assert work.read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few users make links")
def test_a_folder_that_the_user_put_elsewhere_keeps_its_permissions(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "disk"
    elsewhere.mkdir(mode=0o755)
    folder.parent.mkdir(parents=True)
    folder.symlink_to(elsewhere)
    path = KeptFiles(folder).keep(b"secret")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, elsewhere)] == [0o600, 0o700, 0o755]
