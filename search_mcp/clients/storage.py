"""Files on the disk: read whole, replaced in one step, with the previous version kept beside them.

Decides that a link stays a link, that permissions stay, and that a file somebody else changed meanwhile is
not overwritten.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from search_mcp import files
from search_mcp.clients import document
from search_mcp.clients.document import Document, Format
from search_mcp.errors import ConfigError

BACKUP_SUFFIX = ".search-mcp.bak"
_PRIVATE = 0o600
"""Of a new file: it may come to hold secrets."""


@dataclass(frozen=True)
class File:
    """A file as it was read; one that is not there counts as empty."""

    path: Path
    before: bytes | None
    document: Document

    def save(self, changed: Document) -> Path | None:
        """Write it; return where the previous version is kept.

        Raises:
            ConfigError: it is not as it was read any more, or it cannot be written.
        """
        return write(self.path, self.before, changed.data)

    def previous(self) -> Document | None:
        """Read the version before the last edit, if one was kept and still can be read."""
        try:
            kept = read(_backup(self.path.resolve()))
            return document.read(kept, self.document.format, str(self.path)) if kept is not None else None
        except ConfigError:
            return None


def load(path: Path, format_: Format) -> File:
    """Read a file that is to be edited.

    Raises:
        ConfigError: it cannot be read, or is not of that format.
    """
    before = read(path)
    return File(path, before, document.read(before or b"", format_, str(path)))


def read(path: Path) -> bytes | None:
    """Read a file; None if there is none.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise ConfigError(str(path), f"it cannot be read ({exc.strerror})", "check that you may read it") from exc


def write(path: Path, before: bytes | None, after: bytes) -> Path | None:
    """Replace a file that was read as `before`; return where that is kept.

    Raises:
        ConfigError: it is not as it was read any more, or it cannot be written.
    """
    target = path.resolve()  # of a link, what it points to is replaced
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _backup(target)
        mode = _PRIVATE if before is None else stat.S_IMODE(target.stat().st_mode)
        with contextlib.ExitStack() as ready:
            new = ready.enter_context(_beside(target, after, mode))
            old = ready.enter_context(_beside(backup, before, mode)) if before is not None else None
            if read(target) != before:  # looked at last, when all that takes time is done
                raise ConfigError(str(path), "it changed while it was being edited", "run the same command again")
            if old is not None:
                files.take_place(old, backup)
            files.take_place(new, target)
    except OSError as exc:
        remedy = "check that you may write there, and that no other program has the file open"
        raise ConfigError(str(path), f"it cannot be written ({exc.strerror})", remedy) from exc
    return backup if before is not None else None


def _backup(target: Path) -> Path:
    return target.with_name(target.name + BACKUP_SUFFIX)


@contextlib.contextmanager
def _beside(target: Path, data: bytes, mode: int) -> Iterator[Path]:
    """Write a file in the same folder, safe on the disk and with these permissions, to take the other's place."""
    with files.beside(target, data) as new:
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        new.chmod(mode)
        yield new
