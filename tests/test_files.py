"""Atomic writes and locks: readers see a whole file or none, and one process at a time holds a lock."""

import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from search_mcp import files

SECONDS = 60.0
"""Time limit for an expected event, in seconds."""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_is_replaced_in_a_folder_that_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    for data in (b"one", b"", b"two"):
        files.write_whole(path, data)
        assert path.read_bytes() == data
    assert names(path.parent) == {"b"}


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.parametrize("make", [lambda path: files.write_whole(path, b"x"), files.make_private])
def test_a_file_is_private_to_its_user(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "a" / "b"
    make(path)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]


@pytest.fixture(params=[0o002, 0o000])
def wide_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.usefixtures("wide_umask")
def test_every_folder_of_ours_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """In a folder that others write to, they could put a record of their own in the place of ours."""
    above, ours = tmp_path / "state", tmp_path / "state" / "search-mcp"
    for path in (ours / "tools" / "x", ours / "programs" / "x"):
        files.write_whole(path, b"")
    with files.locked(ours / "log" / "engine" / "x.lock", 1):
        assert {stat.S_IMODE(each.stat().st_mode) for each in (above, ours, *ours.glob("**/"))} == {0o700}
    above.chmod(0o775)
    for each in (ours, ours / "programs"):
        each.chmod(0o777)
    files.write_whole(ours / "programs" / "x", b"")
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (above, ours, ours / "programs")]
    assert modes == [0o775, 0o700, 0o700]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.parametrize(
    ("mode", "uid", "is_believed"),
    [(0o600, 0, True), (0o644, 0, True), (0o660, 0, False), (0o602, 0, False), (0o600, 1, False)],
)
def test_a_record_is_believed_if_only_its_user_could_have_written_it(mode: int, uid: int, is_believed: bool) -> None:
    found = os.stat_result((stat.S_IFREG | mode, 1, 1, 1, os.geteuid() + uid, 0, 0, 0, 0, 0))
    assert files.is_only_ours(found) is is_believed


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell")
@pytest.mark.parametrize("linked", ["search-mcp", "search-mcp/programs"])
@pytest.mark.parametrize(("uid", "is_believed"), [(0, True), (1, False)])
def test_a_record_is_not_believed_behind_a_link_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: str, uid: int, is_believed: bool
) -> None:
    """The link leads to files of this user, such as a clone, whose words are another user's."""
    files.write_whole(tmp_path / "search-mcp" / "programs" / "record", b"")
    link = tmp_path / linked
    link.replace(tmp_path / "clone")
    link.symlink_to(tmp_path / "clone")
    lstat = Path.lstat

    def seen(path: Path) -> os.stat_result:
        found = lstat(path)
        return os.stat_result((*found[:4], found.st_uid + uid, *found[5:])) if path == link else found

    monkeypatch.setattr(Path, "lstat", seen)
    expected = contextlib.nullcontext() if is_believed else pytest.raises(files.NotBelievedError)
    with expected:
        files.open_own(tmp_path / "search-mcp" / "programs" / "record").close()


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    files.make_private(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"x"


def test_a_file_that_takes_the_place_of_another_has_another_identity(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert files.identity(path) is None
    path.touch()
    before = files.identity(path)
    path.write_bytes(b"x")
    assert files.identity(path) == before
    files.write_whole(path, b"x")
    assert files.identity(path) != before


def test_a_path_that_cannot_be_replaced_stays_without_leftovers(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").touch()
    with pytest.raises((IsADirectoryError, PermissionError)):
        files.write_whole(tmp_path / "a", b"x")
    assert names(tmp_path) == {"a"}
    assert names(tmp_path / "a") == {"b"}


def test_an_unused_temporary_file_is_removed(tmp_path: Path) -> None:
    with files.beside(tmp_path / "a", b"x") as new:
        assert (new.parent, new.read_bytes()) == (tmp_path, b"x")
    assert names(tmp_path) == set()


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_a_temporary_file_never_follows_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even if another process has guessed the name."""
    monkeypatch.setattr("os.urandom", lambda count: b"\0" * count)
    victim = tmp_path / "victim"
    (tmp_path / f".a-{'00' * 8}").symlink_to(victim)
    with pytest.raises(FileExistsError):
        files.write_whole(tmp_path / "a", b"x")
    assert not victim.exists()


def test_a_file_that_is_open_for_a_moment_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to replace a file while it is open."""
    replace, refusals = Path.replace, iter([PermissionError(), PermissionError()])

    def refused_twice(new: Path, path: Path) -> Path:
        for refusal in refusals:
            raise refusal
        return replace(new, path)

    monkeypatch.setattr(files, "PAUSES_SECONDS", (0.0, 0.0, 0.0))
    monkeypatch.setattr(Path, "replace", refused_twice)
    files.write_whole(tmp_path / "a", b"x")
    assert (tmp_path / "a").read_bytes() == b"x"


WRITER = """
import sys
from pathlib import Path
from search_mcp.files import write_whole
for _ in range(200):
    write_whole(Path(sys.argv[1]), sys.argv[2].encode() * 1_000_000)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot replace a file that is open for reading")
def test_a_reader_sees_a_whole_file_while_several_processes_write_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write_whole(path, b"0" * 1_000_000)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), letter]) for letter in "abc"]
    while any(writer.poll() is None for writer in writers):
        data = path.read_bytes()
        assert data == data[:1] * 1_000_000
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert names(tmp_path) == {"file"}


HOLDER = """
import sys
from pathlib import Path
from search_mcp.files import locked
with locked(Path(sys.argv[1]), 0):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", [subprocess.Popen.communicate, subprocess.Popen.kill])
def test_a_lock_keeps_others_out_until_its_holder_is_done_or_dead(
    tmp_path: Path, end: Callable[["subprocess.Popen[bytes]"], object]
) -> None:
    lock = tmp_path / "folder" / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(TimeoutError, match="another process has held it for 0 s"):
            files.locked(lock, 0).__enter__()
        end(holder)
        holder.wait(SECONDS)
    with files.locked(lock, SECONDS):
        pass


def test_without_locks_no_process_is_kept_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with files.locked(tmp_path / "file" / "lock", 0), files.locked(tmp_path / "file" / "lock", 0):
        pass
