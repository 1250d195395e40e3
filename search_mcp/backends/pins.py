"""The accepted definitions of each server: a folder with one record a server.

Decides when a record is read and written. A record that cannot be used accepts nothing. `pin_records` decides what
counts as a change. Several processes share the folder; a lock lets one at a time change a record. Everything here may
block and is called in a thread.
"""

import hashlib
import threading
from collections.abc import Callable, Collection
from pathlib import Path

from search_mcp.backends import pin_format, pin_records
from search_mcp.backends.pin_records import Listed, Open, Record, Verdict
from search_mcp.catalog.items import fold
from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.files import NotBelievedError, locked, open_own, write_whole

PATIENCE_SECONDS = 5.0
"""Time that another process may hold the lock before recording fails; it needs milliseconds unless it is stopped."""


class TrustStore:
    """A folder of records."""

    def __init__(self, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.folder = folder
        self._lock = folder.with_name(f"{folder.name}.lock")  # not in it: edits in it are followed
        self._patience_seconds = patience_seconds
        self._turn = threading.Lock()  # between threads, which would poll the file lock

    def compare(self, config: ServerConfig, label: str, listed: Listed) -> Verdict:
        """Compare the lists for a kind of client with the accepted definitions, without writing."""
        try:
            _, verdict = pin_records.judge(self._load(config), label, pin_records.seen(listed))
        except (OSError, ValueError) as exc:
            return _trouble(config, self._path(config), exc)
        return verdict

    def record(self, config: ServerConfig, label: str, listed: Listed) -> Verdict:
        """Compare in the same way, and record a baseline and open differences."""
        listing = pin_records.seen(listed)
        verdicts: list[Verdict] = []

        def judged(record: Record) -> Record:
            after, verdict = pin_records.judge(record, label, listing)
            verdicts.append(verdict)
            return after

        try:
            self._revise(config, judged)
        except ValueError as exc:
            return _trouble(config, self._path(config), exc)
        except OSError as exc:
            verdict = verdicts[-1] if verdicts else self.compare(config, label, listed)
            # Open differences are recorded for other processes only; a baseline that is not recorded does not count.
            return verdict if not verdict.begins else _trouble(config, self._path(config), exc)
        return verdicts[-1]

    def accepted_about(self, config: ServerConfig) -> tuple[str, str] | None:
        """Return the accepted title and instructions; reads one short line."""
        try:
            with open_own(self._path(config)) as file:
                return pin_format.read_about(file.readline())
        except (OSError, ValueError):
            return None  # the comparison that follows reports it

    def state(self, config: ServerConfig) -> object:
        """Return a value that changes whenever the record does."""
        try:
            state = self._path(config).stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino

    def opened(self, config: ServerConfig, label: str, listed: Listed) -> Collection[Open]:
        """Return every difference between the accepted definitions and the lists for this and other kinds of clients.

        A record that is damaged or of another version accepts nothing: everything is new.

        Raises:
            OSError: the record cannot be read.
        """
        listing = pin_records.seen(listed)
        try:
            record = self._load(config)
        except ValueError:
            record = Record(sections=frozenset(listing))
        return pin_records.opened(record, label, listing)

    def accept(self, config: ServerConfig, accepted: Collection[Open]) -> None:
        """Accept these definitions, and the absence of those that are gone; replace a damaged record.

        Raises:
            OSError: the record cannot be written.
        """
        self._revise(config, lambda record: pin_records.with_all_accepted(record, accepted), is_damage_final=False)

    def _path(self, config: ServerConfig) -> Path:
        digest = hashlib.sha256(identity.definitions(config)).hexdigest()[:16]
        return self.folder / f"{fold(config.name)[:40]}-{digest}.jsonl"

    def _load(self, config: ServerConfig) -> Record:
        """Read a record; an empty one if there is none.

        Raises:
            OSError, ValueError: it cannot be read, or it is damaged.
        """
        try:
            with open_own(self._path(config)) as file:
                return pin_format.read(file)
        except (FileNotFoundError, NotADirectoryError):
            return Record()

    def _revise(
        self, config: ServerConfig, change: Callable[[Record], Record], *, is_damage_final: bool = True
    ) -> None:
        """Change a record, reading it under the lock.

        Raises:
            OSError: it cannot be read or written, or another process keeps the lock.
            ValueError: it is damaged.
        """
        if not self._turn.acquire(timeout=self._patience_seconds):
            raise TimeoutError("another thread has held it too long")
        try:
            with locked(self._lock, self._patience_seconds):
                try:
                    record = self._load(config)
                except ValueError:
                    if is_damage_final:
                        raise
                    record = Record(sections=frozenset(pin_records.SECTIONS))
                after = change(record)
                if after != record:
                    write_whole(self._path(config), pin_format.written(after))
        finally:
            self._turn.release()


def _trouble(config: ServerConfig, path: Path, exc: Exception) -> Verdict:
    """Return a verdict with the reason why nothing can be compared, and the remedy."""
    what = f"the record of its accepted definitions {path}"
    if isinstance(exc, ValueError):
        remedy = f"`{config.check('--accept')}` starts a new one"
        fault = "not used" if isinstance(exc, NotBelievedError) else "damaged, or of another version"
        why = f"{what} is {fault}: {exc}; {remedy}"
    else:
        assert isinstance(exc, OSError)
        why = f"{what} cannot be read or written: {exc.strerror or exc}; check the permissions there"
    return Verdict(trouble=why)
