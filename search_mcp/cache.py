"""What is remembered of a backend between two starts: what it offers, its lists, its era.

Decides what a record holds and when it is to be believed: never when damaged, of another version or of
a backend that is started differently now. Written whole or not at all, so that several processes may
share the folder; the last to write is believed, and what it did not see is asked for again.
"""

import contextlib
import hashlib
import logging
import time
from collections.abc import Mapping
from pathlib import Path

from search_mcp import jsonrpc
from search_mcp.config import ServerConfig
from search_mcp.files import write_whole
from search_mcp.jsonrpc import Struct, field
from search_mcp.model import Entry, Era, Kind, Offer, Opening, Page

log = logging.getLogger(__name__)

VERSION = 3
"""Of what a file says, and how, the model's structs in it included: it is part of its name."""
VERDICT_SECONDS = 86_400.0
"""How long it is believed that a backend does not speak the client's era; then it is asked again."""
KEPT_SECONDS = 180 * 86_400.0
"""How long a record is kept that nothing has changed since; then it is made anew, if anybody still needs it."""


class Record(Struct, frozen=True):
    """A backend as it was when last seen. Lists that are not in it could not be had."""

    offer: Offer
    pages: Mapping[Kind, Page] = field(default_factory=dict)


class _WrittenPage(Struct, frozen=True):
    """A list without what is true for a time only: no client is told to keep one that may be stale."""

    entries: tuple[Entry, ...]
    rejected: tuple[str, ...]


class _Written(Struct, frozen=True):
    """A record as its file has it."""

    offer: Offer
    pages: dict[str, _WrittenPage]


def fingerprint(config: ServerConfig, program: str, opening: Opening) -> str:
    """Name the record of a backend started like this, for a client that can do that.

    `program` stands for the file that is run and its state. Values of `env` are secrets and stay out;
    the client's capabilities are in, because servers offer tools by them.
    """
    started = [config.command, config.args, config.cwd, sorted(config.env), config.protocol, program]
    capabilities = {name: bytes(raw).decode("utf-8", "replace") for name, raw in sorted(opening.capabilities.items())}
    identity = [VERSION, started, opening.era is Era.MODERN, capabilities]
    return hashlib.sha256(jsonrpc.encode_bytes(identity)).hexdigest()[:40]


class CatalogCache:
    """A folder of records, one file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: str) -> Record | None:
        """Read a record; `None` if there is none that can be used."""
        try:
            written = jsonrpc.typed(self._path(key).read_bytes(), _Written)
            pages = {Kind(name): Page(page.entries, rejected=page.rejected) for name, page in written.pages.items()}
            return Record(written.offer, pages)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as exc:
            log.warning("! the cached catalogue %s is ignored: %s", self._path(key), exc)
            return None

    def age_seconds(self, key: str, now: float) -> float:
        """How old a record is, by the clock of the file system."""
        try:
            return now - self._path(key).stat().st_mtime
        except OSError:
            return float("inf")

    def store(self, key: str, record: Record) -> None:
        """Write a record; a folder that cannot be written costs the cache and nothing else."""
        pages = {kind.value: _WrittenPage(page.entries, page.rejected) for kind, page in record.pages.items()}
        written = _Written(record.offer, pages)
        path = self._path(key)
        with contextlib.suppress(OSError, ValueError):
            if jsonrpc.typed(path.read_bytes(), _Written) == written:
                if self.age_seconds(key, time.time()) > VERDICT_SECONDS:
                    path.touch()  # the verdict was found out anew
                return
        self._write(path, jsonrpc.encode_bytes(written))
        with contextlib.suppress(OSError):  # there mostly is none
            self._silence(key).unlink()

    def was_silent(self, key: str) -> bool:
        """Whether a backend there is no record of did not answer when it was last started."""
        return self._silence(key).exists()

    def store_silence(self, key: str) -> None:
        """Remember that a backend did not answer."""
        self._write(self._silence(key), b"")

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_whole(path, data)
        except OSError as exc:
            log.warning("! the catalogue cannot be cached in %s: %s", self._folder, exc)

    def prune(self, now: float) -> None:
        """Delete what is too old: records of servers that are gone, and what a killed process left half-written."""
        for path in self._folder.glob("*"):
            with contextlib.suppress(OSError):  # another process was faster, or the folder is not ours to tidy
                if now - path.stat().st_mtime > KEPT_SECONDS:
                    path.unlink()

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _silence(self, key: str) -> Path:
        return self._folder / f"{key}.silent"
