"""The record of one server in the disk cache: results of earlier processes, and records for later ones."""

from collections.abc import Callable
from functools import partial

from search_mcp.backends.cache import (
    FAILURE_SECONDS,
    RENEWAL_SECONDS,
    VERDICT_SECONDS,
    CatalogCache,
    Failure,
    Key,
    Record,
    SharingRecord,
    failure,
    fingerprint,
    with_state,
)
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.backends.transports import transport_to
from search_mcp.model.names import Era
from search_mcp.model.servers import Opening, ServerCapabilities
from search_mcp.wire.structs import UNSET, replace


class Remembered:
    """What is cached of one server; written for later processes, unless there is no cache."""

    def __init__(self, entry: ServerEntry, dependencies: Dependencies) -> None:
        self._entry, self._dependencies = entry, dependencies
        self.era: Era | None = None
        """The era that it was last opened in, in this process or an earlier one; `None` while unknown."""
        self.spares_start = False
        """Whether its cached lists are recent and for such a client, so that it need not be started."""
        self.failure: Failure | None = None
        """The failure of its last start, in this process or an earlier one."""
        self.sharing = SharingRecord()
        """Signs in this process or an earlier one about sharing it between clients."""
        self._key: Key | None = None

    @property
    def has_failed_lately(self) -> bool:
        """Return whether its last start failed in the last minutes, and not for lack of a login."""
        if self.failure is None or self.failure.needs_login:
            return False
        return self._dependencies.wall_clock() - self.failure.at < FAILURE_SECONDS

    def recall(self, opening: Opening) -> Record | None:
        """Read the record of its program or address for such a client, else for any other client.

        Return `None` if there is none, or if it was read before.

        Raises:
            CannotOpenChannelError: the program does not exist.
        """
        cache, config = self._dependencies.cache, self._entry.config
        transport = transport_to(config, self._dependencies)
        program = transport.program()
        if cache is None:
            return None
        if not transport.is_http:
            try:
                program = with_state(program)
            except OSError:
                return None
        key = fingerprint(config, program, opening)
        if key == self._key:
            return None
        self._key, self.era = key, None
        self.failure, self.sharing = cache.load_failure(key, config), cache.load_sharing(key)
        age_seconds, self.spares_start = cache.age_seconds(key, self._dependencies.wall_clock()), False
        if (record := cache.load(key)) is not None:
            self.spares_start = bool(record.pages) and age_seconds < RENEWAL_SECONDS
            is_era_known = age_seconds < VERDICT_SECONDS
        elif (similar := cache.load_similar(key)) is not None:
            record = replace(similar, capabilities=_for_another_client(similar.capabilities))
            is_era_known = False
        else:
            return None
        if is_era_known or record.capabilities.era is opening.era:
            self.era = record.capabilities.era
        return record

    def record(self, record: Record) -> None:
        """Record the capabilities and lists."""
        self._write(CatalogCache.store, record)

    def record_failure(self, reason: str, remedy: str = "") -> None:
        """Record for the next start that this one failed."""
        self.failure = failure(self._entry.config, reason, self._dependencies.wall_clock(), remedy)
        self._write(CatalogCache.store_failure, self.failure)

    def clear_failure(self) -> None:
        """Record that its start succeeded."""
        self.failure = None
        self._write(CatalogCache.clear_failure)

    def record_sharing(self, record: SharingRecord) -> None:
        """Record signs about sharing it."""
        if record != self.sharing:
            self.sharing = record
            self._write(CatalogCache.store_sharing, record)

    def _write(self, store: Callable[..., None], *written: object) -> None:
        cache, key = self._dependencies.cache, self._key
        if cache is not None and key is not None:
            self._dependencies.file_queue(partial(store, cache, key, *written))


def _for_another_client(server_capabilities: ServerCapabilities) -> ServerCapabilities:
    """Remove from cached capabilities those that may differ between clients."""
    return replace(server_capabilities, extensions=None, tasks=UNSET, has_tasks=False)
