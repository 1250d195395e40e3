"""Patterns of watched files, such as `src/**/*.py`: which are usable, and which paths they match.

Paths are relative, with `/`. `*` and `?` match within a name, `**` matches any folders, and a plain path means the
file, or everything in the folder. `!` before a pattern leaves out what it matches. Wildcards match neither hidden names
nor the folders in `SKIPPED`, which a pattern has to name: they hold thousands of files that nobody edits. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from search_mcp.config.placeholders import Complaint

MOST_PATTERNS = 100
LONGEST_PATTERN = 400
"""Characters; with the number of patterns, it bounds the work for each name."""
SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv"})
"""Folders, besides hidden ones such as `.git` and `.venv`, that wildcards do not match."""
_ANY_FOLDERS: Final = "**"
_RELATIVE = 'write it relative to "cwd", or to the folder of this file, as in "src/**/*.py"'

Pattern: TypeAlias = tuple[str, ...]
"""The segments of a pattern, of which each matches one name of a path, and `**` any number of them."""


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


def segments(pattern: str) -> Iterator[Pattern]:
    """Yield the segments of a pattern; of a plain path also those that match everything in such a folder."""
    path = tuple(each for each in pattern.replace("\\", "/").split("/") if each not in ("", "."))
    if path[-1] == _ANY_FOLDERS:
        yield (*path, "*")
        return
    yield path
    if not re.search(r"[*?\[]", path[-1]):
        yield (*path, _ANY_FOLDERS, "*")


def rest(patterns: Iterable[Pattern], name: str, *, matches_hidden: bool = False) -> frozenset[Pattern]:
    """Return what is left of patterns after the next name of a path: nothing, `()`, of one that matches the path."""
    is_plain = matches_hidden or not (name.startswith(".") or name in SKIPPED)
    return frozenset(left for pattern in patterns for left in _rest(pattern, name, is_plain=is_plain))


def _rest(pattern: Pattern, name: str, *, is_plain: bool) -> Iterator[Pattern]:
    if not pattern:
        return
    first, others = pattern[0], pattern[1:]
    if first == _ANY_FOLDERS:
        if is_plain:
            yield pattern
        yield from _rest(others, name, is_plain=is_plain)
    elif first == name or ((is_plain or (first.startswith(".") and name not in SKIPPED)) and fnmatchcase(name, first)):
        yield others
