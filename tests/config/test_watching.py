"""Edits of files are noticed, with and without file system notifications."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import anyio
import pytest
from watchdog.observers.polling import PollingObserver

from search_mcp.config import watching

SECONDS = 30.0


async def _is_noticed(edit: Callable[[], object], *paths: Path) -> bool:
    edited = asyncio.Event()
    with watching.watched(edited.set, *paths), anyio.move_on_after(SECONDS):
        edit()
        await edited.wait()
    return edited.is_set()


async def test_writing_and_removing_a_file_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    assert await _is_noticed(lambda: file.write_text("made"), file)
    assert await _is_noticed(lambda: file.write_text("changed"), file)
    assert await _is_noticed(file.unlink, file)


async def test_an_editor_that_renames_is_noticed(tmp_path: Path) -> None:
    file, other = tmp_path / "file.json", tmp_path / "file.json~"
    file.write_text("old")
    other.write_text("new")
    assert await _is_noticed(lambda: other.replace(file), file)


async def test_a_link_is_followed(tmp_path: Path) -> None:
    """Some users keep their configuration elsewhere and link to the file, or to its folder."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file.json").write_text("old")
    folder_link, file_link = tmp_path / "folder", tmp_path / "link.json"
    folder_link.symlink_to(kept)
    file_link.symlink_to(folder_link / "file.json")

    assert await _is_noticed(lambda: (kept / "file.json").write_text("new"), file_link)
    assert await _is_noticed(lambda: (kept / "file.json").write_text("newer"), folder_link / "file.json")
    assert await _is_noticed(file_link.unlink, file_link)


async def test_a_file_in_a_folder_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = tmp_path / "elsewhere" / "file.json"
    file.parent.mkdir()
    assert await _is_noticed(lambda: (folder / "any").write_text("new"), file, folder)


async def test_reading_and_neighbours_are_no_edits(tmp_path: Path) -> None:
    file, neighbour = tmp_path / "file.json", tmp_path / "neighbour.json"
    file.write_text("what is read at every edit, which must not be one")
    edited = asyncio.Event()
    with watching.watched(edited.set, file):
        file.read_text()
        assert await _is_noticed(lambda: neighbour.write_text("new"), neighbour)
        assert not edited.is_set()


async def test_edits_are_polled_for_if_no_watch_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def observer() -> NoReturn:
        raise OSError(24, "Too many open files")  # the error for a user who has no watches left

    monkeypatch.setattr(watching, "Observer", observer)
    file = tmp_path / "file.json"
    assert await _is_noticed(lambda: file.write_text("new"), file)
    assert "edits are looked for every 1 s, the system cannot tell of them: [Errno 24]" in caplog.text


@pytest.mark.parametrize(
    ("folder", "release", "expected"),
    [
        ("/mnt/c/Users/me", "5.15.167.4-microsoft-standard-WSL2", True),
        ("/home/me", "5.15.167.4-microsoft-standard-WSL2", False),
        ("/mnt/data", "6.1.0-18-amd64", False),
    ],
)
def test_drives_of_windows_are_polled(folder: str, release: str, expected: bool) -> None:
    assert watching.tells_nothing(Path(folder), release) is expected


async def test_edits_are_polled_for_if_a_watch_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Refused(PollingObserver):
        def start(self) -> None:
            raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(watching, "Observer", Refused)
    file = tmp_path / "file.json"
    assert await _is_noticed(lambda: file.write_text("new"), file)
    assert "inotify watch limit reached" in caplog.text


async def test_edits_on_a_drive_of_windows_are_polled_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def observer() -> NoReturn:
        raise AssertionError("the system is asked to watch a drive of Windows")

    monkeypatch.setattr(watching, "Observer", observer)
    monkeypatch.setattr(watching, "tells_nothing", lambda _folder, _release: True)
    file = tmp_path / "file.json"
    assert await _is_noticed(lambda: file.write_text("new"), file)
