"""Edits of files, as they happen; also those of editors that write another file and rename it."""

import threading
from collections.abc import Callable
from pathlib import Path

from watchfiles import Change, watch

STEP_MS = 500
"""How often the watcher looks whether the system reported anything: the reaction time to an edit."""
_DAY_MS = 86_400_000


def follow(file: Path, folder: Path, on_edit: Callable[[], None]) -> Callable[[], None]:
    """Call `on_edit`, in another thread, after every burst of changes to a file or in a folder; return what stops it.

    Symbolic links are followed. The thread is a daemon: nobody has to wait for it.
    """
    names = {file.absolute(), file.resolve()}
    stopped = threading.Event()

    def concerns(_change: Change, changed: str) -> bool:
        return Path(changed) in names or Path(changed).parent == folder

    def run() -> None:
        changes = watch(
            *{name.parent for name in names},
            *filter(Path.is_dir, [folder]),
            watch_filter=concerns,
            debounce=STEP_MS,
            step=STEP_MS,
            rust_timeout=_DAY_MS,
            stop_event=stopped,
            recursive=False,
        )
        for _ in changes:
            on_edit()

    threading.Thread(target=run, name="edits", daemon=True).start()
    return stopped.set
