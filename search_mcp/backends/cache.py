"""Disk cache of each backend's capabilities and lists, and of its last failure to start.

A backend has one record for each kind of client that opened it (era and capabilities), because servers may
list different tools to different clients. Until a client of one kind has a record of its own, it is served
the newest record of the same program. A damaged record, or one of another version, counts as none.
Files are replaced whole, so several processes can share the folder: the last writer wins.
"""

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path

from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.files import read_whole, write_whole
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import Entry, Opening, ServerCapabilities, ServerList
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw, Struct, field

log = logging.getLogger(__name__)

VERSION = 6
"""Version of the file format, the model's structs in it included; it is part of every file's name."""
VERDICT_SECONDS = 86_400.0
"""Time that a backend counts as not speaking the client's era; after that it is probed again."""
RENEWAL_SECONDS = 7 * 86_400.0
"""Age at which a record no longer spares a start: servers that are started by `npx` or `uvx` change under it."""
FAILURE_SECONDS = 600.0
"""Time in which no client's first list waits for a server that could not be started: ten minutes."""
PROGRAM_LENGTH = 32
"""Characters of the digest that stands for a program."""
KEPT_SECONDS = 180 * 86_400.0
"""Age at which an unused file is deleted."""


class Record(Struct, frozen=True):
    """The cached state of a backend; lists that are not in it were unavailable."""

    capabilities: ServerCapabilities
    pages: Mapping[Kind, ServerList] = field(default_factory=dict)


class Failure(Struct, frozen=True):
    """The last attempt to start a backend, which failed."""

    reason: str
    at: float
    """Seconds since the epoch."""
    salt: str
    entry: str
    """Salted digest of the configuration entry: any edit of it ends the failure."""
    remedy: str = ""
    """The command that logs in, if it only lacks a login, which may be made at any time."""

    @property
    def needs_login(self) -> bool:
        return bool(self.remedy)


class SharingRecord(Struct, frozen=True):
    """What earlier connections showed about sharing a server between clients."""

    private_because: str = ""
    """The reason why clients must not share it; empty if none was seen."""
    has_session: bool = True
    """Whether it keeps state of its connection."""


class _WrittenPage(Struct, frozen=True):
    """A list as written to its file, without its freshness, which is over when the file is read."""

    entries: tuple[Entry, ...]
    rejected: tuple[str, ...]


class _Written(Struct, frozen=True):
    """A record as written to its file."""

    capabilities: ServerCapabilities
    pages: dict[str, _WrittenPage]


class _Unread(Struct, frozen=True):
    """The same with its lists as raw bytes."""

    capabilities: ServerCapabilities
    pages: Raw


class Key(Struct, frozen=True):
    """Names of a backend's files: of all that is about the program, and of the record for one kind of client."""

    program: str
    opening: str

    @property
    def record(self) -> str:
        return f"{self.program}-{self.opening}"


def fingerprint(config: ServerConfig, program: str, opening: Opening) -> Key:
    """Name the files of a backend that is started like this, for a client with this era and these capabilities.

    `program` stands for the executable and its state. Values of `env` may be secrets and are left out.
    """
    capabilities = {name: bytes(raw).decode("utf-8", "replace") for name, raw in sorted(opening.capabilities.items())}
    return Key(program_digest(config, program), _digest([opening.era is Era.MODERN, capabilities])[:16])


def with_state(file: str) -> str:
    """Return a file's path with its date and size: another version of a program lists other tools.

    Raises:
        OSError: there is no such file.
    """
    state = os.stat(file)  # noqa: PTH116  # a string is what there is
    return f"{file} {state.st_mtime_ns} {state.st_size}"


def program_digest(config: ServerConfig, program: str) -> str:
    """Return the beginning of the names of all files about a program."""
    return _digest([VERSION, *identity.cached(config), program])[:PROGRAM_LENGTH]


def failure(config: ServerConfig, reason: str, now: float, remedy: str = "") -> Failure:
    """Make the record of a failed start; `reason` must hold no secret."""
    salt = os.urandom(16).hex()
    return Failure(reason, now, salt, _entry_digest(config, salt), remedy)


def _entry_digest(config: ServerConfig, salt: str) -> str:
    """Digest a whole entry, values of `env` included; the salt hides equal values in several files."""
    return _digest([salt, identity.last_failure(config)])[:16]


def _digest(value: object) -> str:
    return hashlib.sha256(payload.encode_bytes(value)).hexdigest()


class CatalogCache:
    """A folder of records, one file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: Key) -> Record | None:
        """Read the record for this kind of client; `None` if there is none that can be used."""
        return self._read(self._path(key))

    def load_similar(self, key: Key) -> Record | None:
        """Read the newest usable record of the same program, whichever kind of client it was made for."""
        found = self._find_similar(key)
        return found[1] if found is not None else None

    def _find_similar(self, key: Key) -> tuple[Path, Record] | None:
        with contextlib.suppress(OSError):  # another process deletes old files at this moment
            others = [path for path in self._records_of(key.program) if path != self._path(key)]
            for path in sorted(others, key=lambda path: (-self._modified_at(path), path.name)):
                if (record := self._read(path)) is not None and record.pages:
                    return path, record
        return None

    def _read(self, path: Path) -> Record | None:
        try:
            written = payload.typed(self._content(path), _Written)
            pages = {
                Kind(name): ServerList(page.entries, rejected=page.rejected) for name, page in written.pages.items()
            }
            return Record(written.capabilities, pages)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as exc:
            log.warning("! the cached catalogue %s is ignored: %s", path, exc)
            return None

    def age_seconds(self, key: Key, now: float) -> float:
        """Age of the record for this kind of client, by the clock of the file system; infinite if there is none."""
        try:
            return now - self._modified_at(self._path(key))
        except OSError:
            return float("inf")

    def store(self, key: Key, record: Record) -> None:
        """Write a record; a folder that cannot be written costs the cache and nothing else."""
        pages = {kind.value: _WrittenPage(page.entries, page.rejected) for kind, page in record.pages.items()}
        written = _Unread(record.capabilities, payload.encode(pages))
        path = self._path(key)
        with contextlib.suppress(OSError, ValueError):
            # The lists are compared as bytes: decoding long ones holds the interpreter lock, in any thread.
            if payload.typed(read_whole(path), _Unread) == written:
                if self.age_seconds(key, time.time()) > VERDICT_SECONDS:
                    path.touch()  # it is confirmed
                return
        self._write(path, payload.encode_bytes(written))

    # Failures

    def load_failure(self, key: Key, config: ServerConfig) -> Failure | None:
        """Read how the last start of this very entry failed; `None` if it did not, or the entry was edited since."""
        try:
            failure = payload.typed(self._content(self._failure_path(key)), Failure)
        except (OSError, ValueError):
            return None
        return failure if failure.entry == _entry_digest(config, failure.salt) else None

    def store_failure(self, key: Key, failure: Failure) -> None:
        """Record a failed start."""
        self._write(self._failure_path(key), payload.encode_bytes(failure))

    def clear_failure(self, key: Key) -> None:
        """Delete the last failure, after the backend answered."""
        with contextlib.suppress(OSError):  # mostly there is none
            self._failure_path(key).unlink()

    # Sharing

    def load_sharing(self, key: Key) -> SharingRecord:
        """Read what was seen of this program; the default if nothing was."""
        try:
            return payload.typed(self._content(self._sharing_path(key)), SharingRecord)
        except (OSError, ValueError):
            return SharingRecord()

    def store_sharing(self, key: Key, record: SharingRecord) -> None:
        """Record what was seen of this program."""
        self._write(self._sharing_path(key), payload.encode_bytes(record))

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_whole(path, data)
        except OSError as exc:
            log.warning("! the catalogue cannot be cached in %s: %s", self._folder, exc)

    def prune(self, now: float) -> None:
        """Delete old files: records of servers that are gone, and what a killed process left half-written."""
        for path in self._folder.glob("*"):
            with contextlib.suppress(OSError):  # another process deleted it first, or the folder is read-only
                if now - path.stat().st_mtime > KEPT_SECONDS:
                    path.unlink()

    def _records_of(self, program: str) -> list[Path]:
        """Return the paths of a program's records.

        Raises:
            OSError: the folder cannot be read.
        """
        return list(self._folder.glob(f"{program}-*.json"))

    def _content(self, path: Path) -> bytes:
        """Read a file of the folder.

        Raises:
            OSError: it cannot be read.
        """
        return read_whole(path)

    def _modified_at(self, path: Path) -> float:
        """Return the time of a file's last change, in seconds since the epoch.

        Raises:
            OSError: there is no such file.
        """
        return path.stat().st_mtime

    def _path(self, key: Key) -> Path:
        return self._folder / f"{key.record}.json"

    def _failure_path(self, key: Key) -> Path:
        return self._folder / f"{key.program}.failed"

    def _sharing_path(self, key: Key) -> Path:
        return self._folder / f"{key.program}.sharing"
