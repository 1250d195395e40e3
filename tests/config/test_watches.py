"""Tasks that follow the same files have one watch, and each of them notices every edit."""

from pathlib import Path

import anyio

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


async def test_files_are_watched_again_after_the_last_task_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    watches = Watches()
    for _ in range(2):
        with watches.noticed(file) as edited:
            file.write_text("changed")
            with anyio.fail_after(30):
                await edited.wait()
