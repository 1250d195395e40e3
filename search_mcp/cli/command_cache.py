"""The catalog cache as commands use it: all of it is read, or only the eras, or nothing.

In each case the lists of started servers are written, so that the next command need not wait.
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
from search_mcp.wire.structs import replace

_NO_PAGES: Mapping[Kind, ServerList] = MappingProxyType({})


class CommandCache(CatalogCache):
    """The catalog cache, as commands use it."""

    startup: ClassVar[Literal["eager", "lazy"]] = "eager"
    """Whether a server with a complete record is started: `lazy` if not."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.age_seconds_used: float | None = None
        """Age of the oldest record in use; None if none is."""


class CachedLists(CommandCache):
    """Uses all records: only servers without one are started."""

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
        with contextlib.suppress(OSError):  # deleted after it was read
            self.age_seconds_used = max(self.age_seconds_used or 0.0, time.time() - path.stat().st_mtime)


class CachedEras(CommandCache):
    """Uses the eras in the records, and lists every server again."""

    def load(self, key: Key) -> Record | None:
        record = super().load(key)
        return replace(record, pages=_NO_PAGES) if record is not None else None

    def load_similar(self, key: Key) -> Record | None:
        return None

    def load_failure(self, key: Key, config: ServerConfig) -> Failure | None:
        return None


class FreshLists(CommandCache):
    """Uses no record; what is written is as old as this command."""

    def load(self, key: Key) -> Record | None:
        return None

    def load_similar(self, key: Key) -> Record | None:
        return None

    def load_failure(self, key: Key, config: ServerConfig) -> Failure | None:
        return None

    def store(self, key: Key, record: Record) -> None:
        super().store(key, record)
        with contextlib.suppress(OSError):  # writing failed, which was logged
            os.utime(self._path(key))
