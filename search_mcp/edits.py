"""Edits of files, as they happen; also those of editors that write another file and rename it."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from watchfiles import Change, watch

log = logging.getLogger(__name__)

STEP_MS = 500
"""How often the watcher looks whether the system reported anything: the reaction time to an edit."""
_DAY_MS = 86_400_000


def follow(file: Path, folder: Path, on_edit: Callable[[], None]) -> Callable[[], None]:
    """Call `on_edit`, in another thread, after every burst of changes to a file or in a folder; return what stops it.

    Symbolic links are followed. The thread is a daemon: nobody has to wait for it.
    """
    names = {file.absolute(), file.resolve()}
    folders = {folder, folder.resolve()}
    stopped = threading.Event()

    def concerns(_change: Change, changed: str) -> bool:
        return Path(changed) in names or Path(changed).parent in folders

    def run(*, by_polling: bool) -> None:
        changes = watch(
            *{name.parent for name in names},
            *filter(Path.is_dir, [folder]),
            watch_filter=concerns,
            debounce=STEP_MS,
            step=STEP_MS,
            rust_timeout=_DAY_MS,
            stop_event=stopped,
            recursive=False,
            force_polling=by_polling,
        )
        for _ in changes:
            on_edit()

    def run_somehow() -> None:
        try:
            run(by_polling=False)
        except (OSError, RuntimeError) as exc:  # the system has no watch left, or none for this kind of folder
            log.warning("! edits of %s are looked for and not told of: %s", file, exc)
            run(by_polling=True)

    threading.Thread(target=run_somehow, name="edits", daemon=True).start()
    return stopped.set
