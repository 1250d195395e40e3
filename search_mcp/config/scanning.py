"""One look at the watched files of a server: which there are, and in which state.

The work of a look is bounded, whatever the patterns, the folder and its files are. Links to files count as the files.
Links to folders are followed only where a pattern names them, so no loop of links is ever entered.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias

from search_mcp.config.watch_patterns import Patterns, Positions
from search_mcp.wire.structs import Struct

MOST_FILES = 10_000
"""Files whose changes are noticed."""

FileState: TypeAlias = tuple[int, int, int]
"""Time of the last change in nanoseconds, size, and number of the file, which differs if an editor replaced it."""


class Snapshot(Struct, frozen=True):
    """The watched files at one time."""

    files: Mapping[str, FileState]
    """By path relative to the folder, with `/`."""
    is_cut: bool = False
    """Whether there is more than a look reads."""


class Limits(Struct, frozen=True):
    """The most work of one look."""

    files: int = MOST_FILES
    names: int = 50_000
    """Names in folders that are read: about a tenth of a second."""
    steps: int = 300_000
    """Comparisons of a name with a part of a pattern: about half a second."""


LIMITS: Final = Limits()


class Watched(Struct, frozen=True):
    """The files to watch."""

    folder: str
    patterns: tuple[str, ...]


class _Folder(Struct):
    path: str
    prefix: str
    included: Positions
    excluded: Positions


def scan(watched: Watched, limits: Limits = LIMITS) -> Snapshot:
    """Look at the watched files; may block. What cannot be read is not there."""
    included = Patterns(each for each in watched.patterns if not each.startswith("!"))
    excluded = Patterns((each[1:] for each in watched.patterns if each.startswith("!")), matches_hidden=True)
    files: dict[str, FileState] = {}
    names, steps = limits.names, limits.steps
    waiting = [_Folder(watched.folder, "", included.start, excluded.start)]
    while waiting:
        folder = waiting.pop()
        entries = _entries(folder.path, names + 1)
        names -= len(entries)
        steps -= len(entries) * (len(folder.included) + len(folder.excluded))
        if names < 0 or steps < 0:
            return Snapshot(files, is_cut=True)
        for entry in entries:
            found = included.match(folder.included, entry.name)
            left_out = excluded.match(folder.excluded, entry.name)
            if left_out.is_file or not (found.is_file or found.beyond):
                continue
            path = folder.prefix + entry.name
            if found.beyond and _is_folder(entry, follows=found.is_named):
                waiting.append(_Folder(entry.path, f"{path}/", found.beyond, left_out.beyond))
            elif found.is_file and (state := _state(entry)) is not None:
                if len(files) == limits.files:
                    return Snapshot(files, is_cut=True)
                files[path] = state
    return Snapshot(files)


def changes(before: Mapping[str, FileState], after: Mapping[str, FileState]) -> Iterator[str]:
    """Yield the files that were changed, added or removed between two looks."""
    yield from (path for path, state in after.items() if before.get(path) != state)
    yield from (path for path in before if path not in after)


def _entries(folder: str, most: int) -> "Sequence[os.DirEntry[str]]":
    """Return what is in a folder, always in the same order."""
    try:
        with os.scandir(folder) as found:
            return sorted(islice(found, most), key=lambda entry: entry.name)
    except OSError:
        return ()


def _is_folder(entry: "os.DirEntry[str]", *, follows: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follows)
    except OSError:
        return False


def _state(entry: "os.DirEntry[str]") -> FileState | None:
    try:
        state = entry.stat()
    except OSError:  # a link to nothing, or just removed
        return None
    return (state.st_mtime_ns, state.st_size, state.st_ino) if stat.S_ISREG(state.st_mode) else None
