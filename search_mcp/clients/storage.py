"""Files on the disk: read whole, replaced in one step, with previous versions kept beside them.

Decides that a link stays a link, that permissions stay, that a file somebody else changed meanwhile is not
overwritten, and which previous versions are kept: the first, and the newest few.
"""

import contextlib
import glob
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from search_mcp import files
from search_mcp.clients import document
from search_mcp.clients.document import Document, Format
from search_mcp.model.errors import ConfigError

BACKUP_SUFFIX = ".search-mcp.bak"
NEWEST_KEPT = 4
"""Backups beside the first, which are numbered."""
_PRIVATE = 0o600
"""Mode of a new file and of backups: they may hold secrets."""


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
            newest = backups(self.path)[-1:]
            kept = read(newest[0]) if newest else None
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
        backup = _next_backup(target)
        mode = _PRIVATE if before is None else stat.S_IMODE(target.stat().st_mode)
        with contextlib.ExitStack() as ready:
            new = ready.enter_context(_beside(target, after, mode))
            old = ready.enter_context(_beside(backup, before, _PRIVATE)) if before is not None else None
            if read(target) != before:  # looked at last, when all that takes time is done
                raise ConfigError(str(path), "it changed while it was being edited", "run the same command again")
            if old is not None:
                files.take_place(old, backup)
                kept = backups(target)
                _make_private(kept)
                _drop_old(kept)
            files.take_place(new, target)
    except OSError as exc:
        remedy = "check that you may write there, and that no other program has the file open"
        raise ConfigError(str(path), f"it cannot be written ({exc.strerror})", remedy) from exc
    return backup if before is not None else None


def backups(path: Path) -> list[Path]:
    """Find the previous versions of a file, oldest first; the first is the one from before the first edit.

    A link is none of them: search-mcp makes files only, and what the link leads to is not ours to read or change.
    """
    target = path.resolve()
    first = target.with_name(target.name + BACKUP_SUFFIX)
    numbered = [each for each in target.parent.glob(f"{glob.escape(first.name)}.*") if each.suffix[1:].isdecimal()]
    return [each for each in (first, *sorted(numbered, key=_number)) if each.is_file() and not each.is_symlink()]


def forget_backups(path: Path) -> bool:
    """Remove the previous versions of a file; return whether none is left."""
    for each in backups(path):
        with contextlib.suppress(OSError):  # such as in a folder that is read-only by now
            each.unlink()
    return not backups(path)


def _next_backup(target: Path) -> Path:
    kept = backups(target)
    first = target.with_name(target.name + BACKUP_SUFFIX)
    return first.with_name(f"{first.name}.{_number(kept[-1]) + 1}") if kept else first


def _make_private(kept: Sequence[Path]) -> None:
    """Take away the permissions that older versions gave to their backups."""
    for each in kept:
        with contextlib.suppress(OSError):  # it is another user's, or gone
            if stat.S_IMODE(each.lstat().st_mode) != _PRIVATE:
                each.chmod(_PRIVATE)


def _drop_old(kept: Sequence[Path]) -> None:
    for each in kept[1:-NEWEST_KEPT]:
        each.unlink(missing_ok=True)


def _number(backup: Path) -> int:
    return int(backup.suffix[1:]) if backup.suffix[1:].isdecimal() else 0


@contextlib.contextmanager
def _beside(target: Path, data: bytes, mode: int) -> Iterator[Path]:
    """Write a file in the same folder, safe on the disk and with these permissions, to take the other's place."""

    def prepare(descriptor: int) -> None:
        os.fsync(descriptor)
        if hasattr(os, "fchmod"):  # Windows has no such permissions
            os.fchmod(descriptor, mode)

    with files.beside(target, data, prepare) as new:
        yield new
