"""One look at the watched files of a server: which there are, and in which state.

The work of a look is bounded, whatever the patterns, the folder and its files are. Links to files count as the files.
Links to folders are followed only where a pattern names them, so no loop of links is ever entered.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from search_mcp.config.watch_patterns import Pattern, rest, segments
from search_mcp.wire.structs import Struct

MOST_FILES = 10_000
"""Files whose changes are noticed."""
MOST_NAMES = 50_000
"""Names in folders that one look reads: about a tenth of a second."""

FileState: TypeAlias = tuple[int, int, int]
"""Time of the last change in nanoseconds, size, and number of the file, which differs if an editor replaced it."""


class Snapshot(Struct, frozen=True):
    """The watched files at one time."""

    files: Mapping[str, FileState]
    """By path relative to the folder, with `/`."""
    is_cut: bool = False
    """Whether there is more than a look reads."""


class Watched(Struct, frozen=True):
    """The files to watch."""

    folder: str
    patterns: tuple[str, ...]


class _Folder(Struct):
    path: str
    prefix: str
    included: frozenset[Pattern]
    excluded: frozenset[Pattern]


def scan(watched: Watched, most_files: int = MOST_FILES, most_names: int = MOST_NAMES) -> Snapshot:
    """Look at the watched files; may block. What cannot be read is not there."""
    included = frozenset(each for pattern in watched.patterns if pattern[0] != "!" for each in segments(pattern))
    excluded = frozenset(each for pattern in watched.patterns if pattern[0] == "!" for each in segments(pattern[1:]))
    files: dict[str, FileState] = {}
    waiting = [_Folder(watched.folder, "", included, excluded)]
    while waiting:
        folder = waiting.pop()
        entries = _entries(folder.path, most_names + 1)
        most_names -= len(entries)
        if most_names < 0:
            return Snapshot(files, is_cut=True)
        for entry in entries:
            left = rest(folder.included, entry.name)
            left_out = rest(folder.excluded, entry.name, matches_hidden=True)
            if not left or () in left_out:
                continue
            path = folder.prefix + entry.name
            is_named = any(entry.name in pattern for pattern in folder.included)
            if left != {()} and _is_folder(entry, follows=is_named):
                waiting.append(_Folder(entry.path, f"{path}/", left, left_out))
            elif () in left and (state := _state(entry)) is not None:
                if len(files) == most_files:
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
