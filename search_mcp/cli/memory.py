"""What a command believes of the catalogue cache: all of it, the eras only, or nothing.

All of them write what they find, so that the next command need not wait.
"""

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal

from search_mcp.backends.cache import CatalogCache, Failure, Key, Record
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Kind
from search_mcp.model.servers import ServerList
from search_mcp.wire.structs import altered

_NO_PAGES: Mapping[Kind, ServerList] = MappingProxyType({})


class Memory(CatalogCache):
    """The catalogue cache, as a command uses it."""

    startup: ClassVar[Literal["eager", "lazy"]] = "eager"
    """Whether a server is started of which everything is known."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.age_seconds_used: float | None = None
        """How old the oldest catalogue is that was believed; None if none was."""


class Remembered(Memory):
    """Believe what is remembered: only servers without a record are started."""

    startup = "lazy"

    def load(self, key: Key) -> Record | None:
        record = super().load(key)
        if record is not None:
            self._note_age(self._path(key))
        return record

    def load_similar(self, key: Key) -> Record | None:
        found = self._find_similar(key)
        if found is None:
            return None
        path, record = found
        self._note_age(path)
        return record

    def _note_age(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # it was deleted since it was read
            self.age_seconds_used = max(self.age_seconds_used or 0.0, time.time() - path.stat().st_mtime)


class Eras(Memory):
    """Believe how servers are opened, and read their lists anew."""

    def load(self, key: Key) -> Record | None:
        record = super().load(key)
        return altered(record, pages=_NO_PAGES) if record is not None else None

    def load_similar(self, key: Key) -> Record | None:
        return None

    def load_failure(self, key: Key, config: ServerConfig) -> Failure | None:
        return None


class Renewed(Memory):
    """Believe nothing: what is remembered afterwards is as old as this command."""

    def load(self, key: Key) -> Record | None:
        return None

    def load_similar(self, key: Key) -> Record | None:
        return None

    def load_failure(self, key: Key, config: ServerConfig) -> Failure | None:
        return None

    def store(self, key: Key, record: Record) -> None:
        super().store(key, record)
        with contextlib.suppress(OSError):  # it could not be written, and a warning was logged
            os.utime(self._path(key))
