"""Patterns of watched files, such as `src/**/*.py`: which are usable, and which paths they match.

Paths are relative, with `/`. `*` and `?` match within a name, `**` matches any folders, and a plain path means the
file, or everything in the folder. `!` before a pattern leaves out what it matches. Wildcards match neither hidden names
nor the folders in `SKIPPED`, which a pattern has to name: they hold thousands of files that nobody edits. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import Final, TypeAlias

from search_mcp.config.placeholders import Complaint
from search_mcp.wire.structs import Struct

MOST_PATTERNS = 100
LONGEST_PATTERN = 400
"""Characters; with the number of patterns, it bounds the work for each name."""
SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv"})
"""Folders, besides hidden ones such as `.git` and `.venv`, that wildcards do not match."""
_ANY_FOLDERS: Final = "**"
_RELATIVE = 'write it relative to "cwd", or to the folder of this file, as in "src/**/*.py"'

Position: TypeAlias = tuple[int, int]
"""A pattern and one of its segments."""
Positions: TypeAlias = frozenset[Position]
"""The segments that the next name of a path may match."""


def usable(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns that can be used; `complaints` says why not the others."""
    return tuple(each for each in patterns[:MOST_PATTERNS] if _fault(each) is None)


def complaints(patterns: Sequence[str], *, is_remote: bool) -> Iterator[Complaint]:
    """Yield why patterns are ignored."""
    if is_remote:
        yield ("watch",), "a remote server cannot be restarted when files change", "remove it"
        return
    if len(patterns) > MOST_PATTERNS:
        yield ("watch",), f"only the first {MOST_PATTERNS} patterns are used", "use ** to match many folders"
    for pattern in patterns[:MOST_PATTERNS]:
        if (fault := _fault(pattern)) is not None:
            problem, remedy = fault
            yield ("watch",), f'"{pattern[:LONGEST_PATTERN]}" {problem} and is ignored', remedy


def _fault(pattern: str) -> tuple[str, str] | None:
    """Return the problem of a pattern and the remedy, if there is one."""
    path = pattern.removeprefix("!").replace("\\", "/")
    if not path.strip("./"):
        return "names no file", _RELATIVE if ".." in path else 'write a pattern, such as "src/**/*.py"'
    if path.startswith(("/", "~")) or re.match("[A-Za-z]:", path):
        return "is absolute", _RELATIVE
    if ".." in path.split("/"):
        return "leads out of its folder", _RELATIVE
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters", "write a shorter one"
    if "{" in path:
        return "contains {", "write one pattern for each of the alternatives"
    return None


class _Found(Struct, frozen=True):
    """The match of one name after some positions."""

    is_file: bool
    """Whether a file of this name is matched."""
    beyond: Positions
    """The positions for the names in a folder of this name."""
    is_named: bool
    """Whether a pattern names this very name, without wildcards."""


class Patterns:
    """Patterns, each as a sequence of segments."""

    def __init__(self, patterns: Iterable[str], *, matches_hidden: bool = False) -> None:
        self._patterns = [each for pattern in patterns for each in _segments(pattern)]
        self._matches_hidden = matches_hidden
        self.start: Positions = self._closed((number, 0) for number in range(len(self._patterns)))

    def _closed(self, positions: Iterable[Position]) -> Positions:
        """Add the positions after `**`, which matches no folder, too."""
        found = set[Position]()
        for number, at in positions:
            found.add((number, at))
            if self._patterns[number][at] == _ANY_FOLDERS:  # never followed by another one
                found.add((number, at + 1))
        return frozenset(found)

    def match(self, positions: Positions, name: str) -> _Found:
        """Match the next name of a path."""
        is_plain = self._matches_hidden or not (name.startswith(".") or name in SKIPPED)
        is_file = is_named = False
        beyond: list[Position] = []
        for number, at in positions:
            pattern = self._patterns[number]
            segment = pattern[at]
            if segment == _ANY_FOLDERS:
                if is_plain:
                    beyond.append((number, at))
                continue
            is_literal = segment == name
            if not is_literal and not (
                (is_plain or (segment.startswith(".") and name not in SKIPPED)) and _expression(segment).match(name)
            ):
                continue
            if at + 1 == len(pattern):
                is_file = True
            else:
                beyond.append((number, at + 1))
                is_named = is_named or is_literal
        return _Found(is_file, self._closed(beyond), is_named)


def _segments(pattern: str) -> Iterator[Sequence[str]]:
    """Yield the segments of a pattern; of a plain path also those that match everything in such a folder."""
    path = [each for each in pattern.replace("\\", "/").split("/") if each not in ("", ".")]
    # `**` after `**` matches the same; each would be another position.
    path = [each for at, each in enumerate(path) if each != _ANY_FOLDERS or path[at - 1 : at] != [_ANY_FOLDERS]]
    if path[-1] == _ANY_FOLDERS:
        yield [*path, "*"]
        return
    yield path
    if not re.search(r"[*?\[]", path[-1]):
        yield [*path, _ANY_FOLDERS, "*"]


@lru_cache(1000)
def _expression(segment: str) -> re.Pattern[str]:
    return re.compile(translate(segment))
