"""The date of the last tool call of each server, shared by processes: the modification time of one empty file each.

`startup: "auto"` starts only servers that were used lately.
"""

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from search_mcp.background import QueueOperation, run_now
from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.files import make_folder

log = logging.getLogger(__name__)

RECENT_SECONDS = 3 * 86_400.0
"""A server called within this time starts with the client: three days."""
PRECISION_SECONDS = 3600.0
"""A process does not write a date again before this time has passed."""


class LastUses:
    """A folder of dates; if it cannot be written, every server counts as unused."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._clock = folder, clock

    def record(self, config: ServerConfig, later: QueueOperation = run_now) -> None:
        """Record that a tool of this server is called now; `later` carries out the file operation."""
        later(partial(self._date, config, self._clock()))

    def _date(self, config: ServerConfig, now: float) -> None:
        path = self._path(config)
        try:
            make_folder(path.parent)
            path.touch(0o600)
            os.utime(path, (now, now))
        except OSError as exc:
            log.debug("= %s: the date of its last use cannot be written: %s", config.name, exc)

    def is_recent(self, config: ServerConfig) -> bool:
        """Return whether a tool of this server was called in the last three days."""
        with contextlib.suppress(OSError):
            return self._clock() - self._path(config).stat().st_mtime < RECENT_SECONDS
        return False

    def _path(self, config: ServerConfig) -> Path:
        return self._folder / hashlib.sha256(identity.last_use(config)).hexdigest()[:32]
