"""Files that are replaced in one step or not at all, and their backups."""

import stat
import sys
from pathlib import Path

import pytest

from search_mcp.clients import storage
from search_mcp.clients.storage import BACKUP_SUFFIX
from search_mcp.model.errors import ConfigError

ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="permissions and links of POSIX")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_previous_version_is_kept_as_a_backup(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"old")
    kept = storage.write(path, b"old", b"new")
    assert kept == tmp_path / f"mcp.json{BACKUP_SUFFIX}"
    assert (path.read_bytes(), kept.read_bytes()) == (b"new", b"old")
    assert names(tmp_path) == {"mcp.json", kept.name}


def edited(path: Path, *versions: bytes) -> None:
    for version in versions:
        storage.write(path, storage.read(path), version)


def test_the_first_backup_and_the_newest_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    edited(path, *(f"{number}".encode() for number in range(9)))
    kept = storage.backups(path)
    assert [each.read_bytes() for each in kept] == [b"0", b"4", b"5", b"6", b"7"]
    assert [each.name for each in kept[:2]] == ["mcp.json.search-mcp.bak", "mcp.json.search-mcp.bak.4"]


def test_a_removed_backup_does_not_change_the_order_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    edited(path, b"0", b"1", b"2")
    storage.backups(path)[0].unlink()
    edited(path, b"3")
    assert [each.read_bytes() for each in storage.backups(path)] == [b"1", b"2"]


def test_all_backups_are_removed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    (tmp_path / "mcp.json.search-mcp.bak.mine").touch()
    edited(path, b"old", b"new", b"newer")
    assert len(storage.backups(path)) == 2
    assert storage.forget_backups(path)
    assert names(tmp_path) == {"mcp.json", "mcp.json.search-mcp.bak.mine"}


@ON_POSIX
@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_link_in_place_of_a_backup_is_neither_followed_nor_read(tmp_path: Path, is_dangling: bool) -> None:
    path, victim = tmp_path / "mcp.json", tmp_path / "victim"
    if not is_dangling:
        victim.write_bytes(b"precious")
        victim.chmod(0o644)
    path.write_bytes(b"{}")
    for suffix in ("", ".1"):
        (tmp_path / f"mcp.json{BACKUP_SUFFIX}{suffix}").symlink_to(victim)
    kept = storage.write(path, b"{}", b"new")
    assert kept is not None
    assert not kept.is_symlink()
    assert kept.read_bytes() == b"{}"
    assert victim.exists() != is_dangling
    if not is_dangling:
        assert victim.read_bytes() == b"precious"
        assert stat.S_IMODE(victim.stat().st_mode) == 0o644
    assert storage.forget_backups(path)


def test_a_new_file_and_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "mcp.json"
    assert storage.read(path) is None
    assert storage.write(path, None, b"new") is None
    assert path.read_bytes() == b"new"
    assert names(path.parent) == {"mcp.json"}


@pytest.mark.parametrize("before", [b"old", None])
def test_a_file_changed_meanwhile_is_not_overwritten(tmp_path: Path, before: bytes | None) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"somebody else's")
    with pytest.raises(ConfigError, match="it changed while it was being edited; run the same command again"):
        storage.write(path, before, b"new")
    assert path.read_bytes() == b"somebody else's"
    assert names(tmp_path) == {"mcp.json"}


@ON_POSIX
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_permissions_stay(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"old")
    path.chmod(mode)
    kept = storage.write(path, b"old", b"new")
    assert kept is not None
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, kept)] == [mode, 0o600]


@ON_POSIX
def test_a_new_file_is_private(tmp_path: Path) -> None:
    storage.write(tmp_path / "mcp.json", None, b"new")
    assert stat.S_IMODE((tmp_path / "mcp.json").stat().st_mode) == 0o600


@ON_POSIX
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    target, link = tmp_path / "dotfiles" / "mcp.json", tmp_path / "mcp.json"
    target.write_bytes(b"old")
    link.symlink_to(Path("dotfiles") / "mcp.json")
    kept = storage.write(link, b"old", b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert kept == target.with_name(f"mcp.json{BACKUP_SUFFIX}")


def test_errors_of_reading_and_writing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="it cannot be read"):
        storage.read(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="it cannot be written"):
        storage.write(tmp_path / "file" / "mcp.json", None, b"new")
