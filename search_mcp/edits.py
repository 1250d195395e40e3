"""Edits of one file, as they happen; also those of editors that write another file and rename it."""

from collections.abc import AsyncIterator
from pathlib import Path

from watchfiles import Change, awatch

STEP_MS = 300
"""How often the watcher looks whether the system reported anything: the reaction time to an edit."""


async def of_file(path: Path) -> AsyncIterator[None]:
    """Yield once for every burst of changes to a file, symbolic links followed, until cancelled."""
    names = _spellings(path)

    def concerns(_change: Change, changed: str) -> bool:
        return Path(changed) in names

    folders = {name.parent for name in names}
    async for _ in awatch(*folders, watch_filter=concerns, debounce=STEP_MS, step=STEP_MS, recursive=False):
        yield


def _spellings(path: Path) -> set[Path]:
    return {path.absolute(), path.resolve()}
