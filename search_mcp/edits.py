"""Edits of one file, as they happen; also those of editors that write another file and rename it."""

import threading
from collections.abc import Callable
from pathlib import Path

from watchfiles import Change, watch

STEP_MS = 300
"""How often the watcher looks whether the system reported anything: the reaction time to an edit."""
_DAY_MS = 86_400_000


def follow(path: Path, on_edit: Callable[[], None]) -> Callable[[], None]:
    """Call `on_edit`, in another thread, after every burst of changes to a file; return what stops it.

    Symbolic links are followed. The thread is a daemon: nobody has to wait for it.
    """
    names = {path.absolute(), path.resolve()}
    stopped = threading.Event()

    def concerns(_change: Change, changed: str) -> bool:
        return Path(changed) in names

    def run() -> None:
        changes = watch(
            *{name.parent for name in names},
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
