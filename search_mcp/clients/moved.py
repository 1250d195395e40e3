"""What `install --replace` took out of the clients' files, so that `uninstall` can bring it back.

It is kept in the per-user state folder, readable for the user alone: entries may hold secrets.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from search_mcp.clients import storage
from search_mcp.clients.document import Document
from search_mcp.files import write_whole
from search_mcp.model.errors import ConfigError

FILE_NAME = "moved.json"


@dataclass(frozen=True)
class Moved:
    """What one file lost, and how it looked before and after."""

    servers: Mapping[str, Any]
    before: str
    """Its whole text: if nobody touched the file since, it can be as it was, comments and all."""
    after: str
    """A digest."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The servers' entries as they stood in the file, with their comments; files of older versions have none."""

    def left_it_like(self, document: Document) -> bool:
        return self.after == digest(document)


def digest(document: Document) -> str:
    return hashlib.sha256(document.text.encode()).hexdigest()


class Memory:
    """All that was moved, by file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    def recall(self, file: Path) -> Moved | None:
        """Say what was taken out of a file, if anything.

        Raises:
            ConfigError: what was kept cannot be read.
        """
        kept = self._read().get(_key(file))
        return Moved(**kept) if kept is not None else None

    def keep(self, file: Path, moved: Moved) -> None:
        """Remember what is taken out of a file.

        Raises:
            ConfigError: it cannot be written down.
        """
        self._write({**self._read(), _key(file): asdict(moved)})

    def forget(self, file: Path) -> None:
        """Forget what was taken out of a file: it is there again."""
        kept = self._read()
        if kept.pop(_key(file), None) is not None:
            self._write(kept)

    def _read(self) -> dict[str, Any]:
        data = storage.read(self._path)
        try:
            kept: dict[str, Any] = json.loads(data or b"{}")
        except ValueError as exc:
            problem = "what was moved behind search-mcp is remembered here, and it is damaged"
            raise ConfigError(
                str(self._path), problem, "mend it: it is the only copy of what `uninstall` is to bring back"
            ) from exc
        return kept

    def _write(self, kept: Mapping[str, Any]) -> None:
        try:
            write_whole(self._path, json.dumps(kept, indent=2).encode())
        except OSError as exc:
            problem = f"what is moved cannot be remembered ({exc.strerror})"
            raise ConfigError(str(self._path), problem, "check that you may write there") from exc


def _key(file: Path) -> str:
    return str(file.resolve())
