"""Tasks that follow the same files have one watch, and each of them notices every edit."""

import sys
from pathlib import Path

import anyio
import pytest

from search_mcp.config.watches import Watches


async def test_tasks_share_the_watch_of_the_same_files(tmp_path: Path) -> None:
    file, other = tmp_path / "file.json", tmp_path / "other.json"
    watches = Watches()
    with watches.noticed(file) as first:
        with watches.noticed(file) as second, watches.noticed(other):
            assert len(watches) == 2
            file.write_text("made")
            with anyio.fail_after(30):
                await first.wait()
                await second.wait()
        assert len(watches) == 1
        first.clear()
        file.write_text("changed")
        with anyio.fail_after(30):
            await first.wait()
    assert len(watches) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a watched folder cannot be replaced there")
@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "renamed"])
async def test_a_folder_that_was_replaced_is_watched_once_another_task_joins(tmp_path: Path, is_deleted: bool) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    watches = Watches()
    with watches.noticed(folder / "file.json") as first, anyio.fail_after(30):
        if is_deleted:
            folder.rmdir()
        else:
            folder.rename(tmp_path / "other")
        folder.mkdir()
        was_told = False
        while not was_told:  # the system tells late that the folder is gone
            await anyio.sleep(0.01)
            first.clear()
            with watches.noticed(folder / "file.json"):
                was_told = first.is_set()  # it may have missed an edit
        first.clear()
        (folder / "file.json").write_text("changed")
        await first.wait()
        assert len(watches) == 1
    assert len(watches) == 0


async def test_files_are_watched_again_after_the_last_task_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    watches = Watches()
    for _ in range(2):
        with watches.noticed(file) as edited:
            file.write_text("changed")
            with anyio.fail_after(30):
                await edited.wait()
