"""Edited files on disk: read whole, replaced in one step, with backups beside them.

Decides that links and permissions are kept, that a file changed by another program meanwhile is not overwritten, and
which backups are kept: the first, and the newest few.
"""

import contextlib
import glob
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from search_mcp import files
from search_mcp.clients import document
from search_mcp.clients.document import Document, Format
from search_mcp.folders import config_folder
from search_mcp.model.errors import ConfigError

BACKUP_SUFFIX = ".search-mcp.bak"
NEWEST_KEPT = 4
"""Number of backups kept besides the first."""
_PRIVATE = 0o600
"""Mode of a new file and of backups: they may hold secrets."""


@dataclass(frozen=True)
class File:
    """A file as it was read; a missing file counts as empty."""

    path: Path
    before: bytes | None
    document: Document

    def save(self, changed: Document) -> Path | None:
        """Write another version; returns the path of the backup.

        Raises:
            ConfigError: the file has changed since it was read, or cannot be written.
        """
        return write(self.path, self.before, changed.data)


def load(path: Path, format_: Format) -> File:
    """Read a file to edit.

    Raises:
        ConfigError: the file cannot be read, or is not valid in that format.
    """
    before = read(path)
    return File(path, before, document.read(before or b"", format_, str(path)))


def read(path: Path) -> bytes | None:
    """Read a file; None if there is none.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise ConfigError(str(path), f"it cannot be read ({exc.strerror})", "check that you may read it") from exc


def write(path: Path, before: bytes | None, after: bytes) -> Path | None:
    """Replace a file that was read as `before`; returns the path of the backup, if there was a file.

    Raises:
        ConfigError: the file has changed since it was read, or cannot be written.
    """
    target = path.resolve()  # the target of a link is replaced, not the link
    try:
        if path.parent == config_folder():  # whoever writes there can have commands run
            files.make_folder(path.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _next_backup(target)
        mode = _PRIVATE if before is None else stat.S_IMODE(target.stat().st_mode)
        with contextlib.ExitStack() as ready:
            new = ready.enter_context(_beside(target, after, mode))
            old = ready.enter_context(_beside(backup, before, _PRIVATE)) if before is not None else None
            if read(target) != before:  # checked last, after the slow steps
                raise ConfigError(str(path), "it changed while it was being edited", "run the same command again")
            if old is not None:
                files.take_place(old, backup)
                for each in backups(target)[1:-NEWEST_KEPT]:
                    each.unlink(missing_ok=True)
            files.take_place(new, target)
    except OSError as exc:
        remedy = "check that you may write there, and that no other program has the file open"
        raise ConfigError(str(path), f"it cannot be written ({exc.strerror})", remedy) from exc
    return backup if before is not None else None


def backups(path: Path) -> list[Path]:
    """Find the backups of a file, oldest first; the first is from before the first edit.

    Links are left out: search-mcp creates only regular files, and must not read or change another program's files.
    """
    target = path.resolve()
    first = target.with_name(target.name + BACKUP_SUFFIX)
    numbered = [each for each in target.parent.glob(f"{glob.escape(first.name)}.*") if each.suffix[1:].isdecimal()]
    return [each for each in (first, *sorted(numbered, key=_number)) if each.is_file() and not each.is_symlink()]


def forget_backups(path: Path) -> bool:
    """Remove the backups of a file; returns whether none is left."""
    for each in backups(path):
        with contextlib.suppress(OSError):  # for example in a read-only folder
            each.unlink()
    return not backups(path)


def _next_backup(target: Path) -> Path:
    kept = backups(target)
    first = target.with_name(target.name + BACKUP_SUFFIX)
    return first.with_name(f"{first.name}.{_number(kept[-1]) + 1}") if kept else first


def _number(backup: Path) -> int:
    return int(backup.suffix[1:]) if backup.suffix[1:].isdecimal() else 0


@contextlib.contextmanager
def _beside(target: Path, data: bytes, mode: int) -> Iterator[Path]:
    """Write a synced file with these permissions in the same folder, ready to replace the target."""

    def prepare(descriptor: int) -> None:
        os.fsync(descriptor)
        if hasattr(os, "fchmod"):  # Windows has no such permissions
            os.fchmod(descriptor, mode)

    with files.beside(target, data, prepare) as new:
        yield new
