"""Record of the servers that `install --replace` removed from clients' files, for `uninstall` to restore.

It is kept in the user's state folder, readable by the user only, because entries may hold secrets.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from search_mcp.clients import storage
from search_mcp.clients.document import Document
from search_mcp.files import write_whole
from search_mcp.model.errors import ConfigError

FILE_NAME = "moved.json"


@dataclass(frozen=True)
class Moved:
    """The servers removed from one file, and the file before and after."""

    servers: Mapping[str, Any]
    before: str
    """The whole text, to restore the file with its comments if it has not been changed since."""
    after: str
    """SHA-256 of the text, in hexadecimal digits."""
    texts: Mapping[str, str]
    """Text of the servers' entries in the file, with their comments."""

    def matches(self, document: Document) -> bool:
        return self.after == digest(document)


def digest(document: Document) -> str:
    return hashlib.sha256(document.text.encode()).hexdigest()


class MovedServers:
    """The record of all files, in a JSON file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    def find(self, file: Path) -> Moved | None:
        """Return the record of one file, if there is one.

        Raises:
            ConfigError: the record cannot be read.
        """
        kept = self._read().get(_key(file))
        return Moved(**kept) if kept is not None else None

    def keep(self, file: Path, moved: Moved) -> None:
        """Record the servers removed from a file.

        Raises:
            ConfigError: the record cannot be written.
        """
        self._write({**self._read(), _key(file): asdict(moved)})

    def forget(self, file: Path) -> None:
        """Remove the record of one file, whose servers are restored."""
        kept = self._read()
        if kept.pop(_key(file), None) is not None:
            self._write(kept)

    def _read(self) -> dict[str, Any]:
        data = storage.read(self._path)
        try:
            kept: dict[str, Any] = json.loads(data or b"{}")
        except ValueError as exc:
            problem = "this record of the servers moved to search-mcp is damaged"
            remedy = "repair it: `uninstall` has no other copy of these servers"
            raise ConfigError(str(self._path), problem, remedy) from exc
        return kept

    def _write(self, kept: Mapping[str, Any]) -> None:
        try:
            write_whole(self._path, json.dumps(kept, indent=2).encode())
        except OSError as exc:
            problem = f"the record of the servers moved to search-mcp cannot be written ({exc.strerror})"
            raise ConfigError(str(self._path), problem, "check that you may write there") from exc


def _key(file: Path) -> str:
    return str(file.resolve())
