"""Edits of one table in the text of a TOML file; every other character stays. Pure.

Decides where a table begins and ends: a comment above the next header belongs to the next table. tomlkit formats the
new table but does not place it: it would insert it between the next table and that table's comment, and remove that
comment together with the table before.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError

from search_mcp.clients.document import line_end_of
from search_mcp.model.errors import ConfigError

_EMPTY_LINE = re.compile(r"\A\r?\n")
_EMPTY_LINE_AT_END = re.compile(r"(?<=\n)\r?\n\Z")


def parse(text: str, source: str) -> object:
    """Parse the value.

    Raises:
        ConfigError: the text is not TOML.
    """
    try:
        return tomlkit.parse(text).unwrap()
    except ParseError as exc:
        problem = f"not valid TOML: {str(exc).removesuffix(f' at line {exc.line} col {exc.col}')}"
        raise ConfigError(source, problem, "correct that line", line=exc.line) from exc


def put(text: str, path: Sequence[str], value: object) -> str:
    """Set the table at a path of a valid document, in its place; a new table is added at the end."""
    line_end = line_end_of(text)
    written = _written(path, value).replace("\n", line_end)
    sections = _sections(text, path)
    if sections:
        for section in reversed(sections[1:]):
            text = _without(text, section)
        return text[: sections[0].start] + written + text[sections[0].end :]
    if text and not text.endswith("\n"):
        text += line_end
    return text + (line_end if text else "") + written


def drop(text: str, path: Sequence[str]) -> str:
    """Remove the table at a path, and the tables inside it."""
    for section in reversed(_sections(text, path)):
        text = _without(text, section)
    return text


def cut(text: str, path: Sequence[str]) -> tuple[str, str]:
    """Remove the table at a path, and the tables inside it, with the comments directly above each.

    Returns the remaining text, and the text of the tables.
    """
    taken: list[str] = []
    for section in reversed(_with_comments(text, _sections(text, path))):
        taken.insert(0, text[section.start : section.end])
        text = _without(text, section)
    return text, line_end_of(text).join(taken)


def paste(text: str, _path: Sequence[str], taken: str) -> str:
    """Add tables that were cut, at the end."""
    line_end = line_end_of(text)
    if text and not text.endswith("\n"):
        text += line_end
    return text + (line_end if text else "") + taken + ("" if taken.endswith("\n") else line_end)


@dataclass(frozen=True, slots=True)
class _Section:
    """Range of a header and the lines under it."""

    start: int
    end: int


def _without(text: str, section: _Section) -> str:
    """Remove a section and one empty line: the one above it, or below the first section."""
    before, after = text[: section.start], text[section.end :]
    if not before:
        return _EMPTY_LINE.sub("", after, count=1)
    return _EMPTY_LINE_AT_END.sub("", before) + after


def _sections(text: str, path: Sequence[str]) -> list[_Section]:
    """Find the tables at a path and below it."""
    headers = [*_headers(text), (len(text), ())]
    return [
        _Section(start, start + len(_content(text[start:following])))
        for (start, named), (following, _) in pairwise(headers)
        if named[: len(path)] == tuple(path)
    ]


def _with_comments(text: str, sections: Sequence[_Section]) -> list[_Section]:
    """Extend each section to the comments directly above it, and join adjacent sections."""
    joined: list[_Section] = []
    for section in sections:
        lines = text[: section.start].splitlines(keepends=True)
        start = section.start
        while lines and lines[-1].lstrip().startswith("#"):
            start -= len(lines.pop())
        between = text[joined[-1].end : start] if joined else None
        if between is not None and all(_is_comment(line) for line in between.splitlines()):
            joined[-1] = _Section(joined[-1].start, section.end)
        else:
            joined.append(_Section(start, section.end))
    return joined


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _content(section: str) -> str:
    """Return a section without the empty lines and comments at its end, which belong to the next one."""
    lines = section.splitlines(keepends=True)
    while lines[1:] and _is_comment(lines[-1]):
        lines.pop()
    return "".join(lines)


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the position of each table's header, and the path in it."""
    start = position = 0
    for line in text.splitlines(keepends=True):
        # Inside a string or list over several lines, the text before is incomplete and cannot be parsed.
        if line.lstrip().startswith("[") and _is_whole(text[start:position]):
            start = position
            yield start, _named(tomllib.loads(line))
        position += len(line)


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _named(header: Any) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(header, dict) and header:
        name, header = next(iter(header.items()))
        names.append(name)
    return tuple(names)


def _written(path: Sequence[str], value: object) -> str:
    inner: Any = tomlkit.item(value)
    for name in reversed(path):
        outer = tomlkit.table(is_super_table=True)
        outer.append(name, inner)
        inner = outer
    return tomlkit.dumps(inner)
