"""A search in the text of a kept result, in a process of its own: `python -m search_mcp.results.result_search`.

A model writes the expression, so it may be one that would run for years, or take all memory: regular expressions of
Python can, and JMESPath can double a value with every five characters. In a process of its own, either ends in an error
and nothing else waits. The process ends itself, however the one that started it ends.
"""

import contextlib
import faulthandler
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from search_mcp.results.characters import boundary_before
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

PROGRAM = "-m", "search_mcp.results.result_search"
SECONDS = 10
"""Time limit of a search; 60 MB take two."""
MOST_MEMORY = 1 << 30
"""Memory limit of the process, in bytes, where the system has one; 60 MB of JSON take half of it."""
LONGEST_EXPRESSION = 2000
"""Most characters of a pattern or path."""
LONG_LINE = 300
"""Characters of a line of which only the surroundings of each match are shown."""
AROUND = 100
"""Characters shown before and after a match in such a line."""
MOST_NAMED = 20
"""Keys that the error for a path names."""


class Search(Struct, frozen=True):
    """What is looked for: one of `pattern` and `path`."""

    file: str
    spans: Sequence[tuple[int, int]]
    """Where JSON may be in the text."""
    room: int
    """Most characters of the answer."""
    offset: int = 0
    pattern: str | None = None
    path: str | None = None


class Found(Struct, frozen=True):
    """A text for the model, with a sentence about it."""

    text: str
    about: str
    is_error: bool = False


def search(wanted: Search) -> Found:
    """Carry out a search here, however long it takes."""
    with Path(wanted.file).open(encoding="utf-8", newline="") as file:
        text = file.read()
    if wanted.pattern is not None:
        return _lines(text, wanted.pattern, wanted.offset, wanted.room)
    return _part(text, wanted)


# Lines


def _lines(text: str, pattern: str, offset: int, room: int) -> Found:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as exc:
        return Found("", f"pattern is not a regular expression of Python: {exc}", is_error=True)
    count, rest, lines = 0, None, _Lines(text, room)
    for hit in _hits(text, compiled, offset):
        count += 1
        if rest is None and not lines.add(hit):
            rest = hit.start
    if not count:
        where = f" from offset {offset:,} on" if offset else ""
        lines_in_all = text.count("\n") + (text[-1:] not in ("", "\n"))
        return Found("", f"no line matches{where}; the text has {lines_in_all:,} lines")
    about = f"{count:,} {'match' if count == 1 else 'matches'}, each as line:offset: text"
    return Found(lines.written(), f"{about}; {'all are shown' if rest is None else f'next offset {rest}'}")


class _Hit(Struct, frozen=True):
    """A matching line, or the surroundings of a match in a long one."""

    number: int
    start: int
    end: int
    shown: str | None = None
    """The surroundings; `None` for a whole line."""


class _Lines:
    """The lines of an answer: matches, and the line before and after each."""

    def __init__(self, text: str, room: int) -> None:
        self._text, self._room = text, room
        self._shown: list[str] = []
        self._after: _Hit | None = None  # a whole line that was shown last, whose next line is not shown yet
        self._last = 0  # number of the last line that is shown

    def add(self, hit: _Hit) -> bool:
        """Add a match; return false if there is no room for it."""
        after = self._line_after(hit.number)
        last = self._last + len(after)
        before = [] if hit.shown is not None else self._context(hit.number - 1, hit.start - 1, last)
        apart = ["--"] if self._last and hit.number - len(before) > last + 1 else []
        text = self._text[hit.start : hit.end] if hit.shown is None else hit.shown
        added = [*after, *apart, *before, f"{hit.number}:{hit.start}: {text}"]
        size = sum(len(line) + 1 for line in added)
        if size > self._room and self._shown:
            return False
        self._shown += added
        self._room -= size
        self._last, self._after = hit.number, hit if hit.shown is None else None
        return True

    def written(self) -> str:
        after = self._line_after(0)
        return "\n".join([*self._shown, *(after if len("".join(after)) < self._room else [])])

    def _line_after(self, number: int) -> list[str]:
        """Return the line after the last match, unless it is the one with this number."""
        if self._after is None or self._after.number + 1 == number:
            return []
        start = self._after.end + 1
        end = self._text.find("\n", start)
        return self._line(self._after.number + 1, start, end if end != -1 else len(self._text))

    def _context(self, number: int, end: int, last: int) -> list[str]:
        """Return the line before a match, unless it is shown already."""
        if number <= last:
            return []
        return self._line(number, self._text.rfind("\n", 0, end) + 1, end)

    def _line(self, number: int, start: int, end: int) -> list[str]:
        """Return a line of the surroundings, unless it is long or there is none."""
        if number < 1 or start >= len(self._text) or end - start > LONG_LINE:
            return []
        return [f"{number}-{start}- {self._text[start:end]}"]


def _hits(text: str, pattern: re.Pattern[str], offset: int) -> Iterator[_Hit]:
    """Yield each matching line; of a long one, the surroundings of each match."""
    number = text.count("\n", 0, offset) + 1
    position = offset
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end == -1 else end
        found = pattern.search(text, position, end)
        if found is not None:
            start = text.rfind("\n", 0, position) + 1
            if end - start <= LONG_LINE:
                yield _Hit(number, start, end)
            else:
                yield from _extracts(text, pattern, number, position, end)
        position, number = end + 1, number + 1


def _extracts(text: str, pattern: re.Pattern[str], number: int, position: int, end: int) -> Iterator[_Hit]:
    """Yield the surroundings of the matches in a long line."""
    begin = position
    while position <= end and (found := pattern.search(text, position, end)) is not None:
        first = boundary_before(text, max(begin, found.start() - AROUND))
        last = boundary_before(text, min(end, max(found.start(), min(found.end(), found.start() + AROUND)) + AROUND))
        extract = f"{'…' if first > begin else ''}{text[first:last]}{'…' if last < end else ''}"
        yield _Hit(number, first, last, extract)
        position = max(last, found.end(), found.start() + 1)


# Parts of JSON


def _part(text: str, wanted: Search) -> Found:
    decoded = [payload.value(text[start:end].encode("utf-8", "replace")) for start, end in wanted.spans]
    if not decoded or None in decoded:
        return Found("", "path needs JSON, and this text is not JSON; use pattern or offset", is_error=True)
    value, path = decoded[0] if len(decoded) == 1 else decoded, wanted.path or ""
    try:
        found = _pointed(value, path) if path.startswith("/") else _projected(value, path)
    except _PathError as exc:
        return Found("", str(exc), is_error=True)
    if found is None:
        return Found("null", f"path selects nothing; {_shape(value)}")
    written = found if isinstance(found, str) else payload.encode_text(found)
    start = min(wanted.offset, len(written))
    end = boundary_before(written, start + wanted.room)
    about = f"{_shape(found)}, {len(written):,} characters"
    if start == 0 and end == len(written):
        return Found(written, about)
    rest = f"next offset {end}, with the same path" if end < len(written) else "this is the end"
    return Found(written[start:end], f"{about}, of which {start:,} to {end:,} are shown; {rest}")


class _PathError(Exception):
    """A path that is malformed or leads nowhere; the text says why."""


def _projected(value: Any, path: str) -> Any:
    import jmespath

    try:
        return jmespath.search(path, value)
    except (jmespath.exceptions.JMESPathError, RecursionError, ValueError, TypeError) as exc:
        reason = " ".join(str(exc).split())
        raise _PathError(f"path fails as JMESPath: {reason[:300]}") from exc


def _pointed(value: Any, pointer: str) -> Any:
    """Follow a JSON Pointer (RFC 6901)."""
    reached = ""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and key.isascii() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise _PathError(f"path: {reached or 'the whole'} has no {key[:100]!r}; it is {_shape(value)}")
        reached += f"/{token}"
    return value


def _shape(value: Any) -> str:
    """Describe a JSON value in a few words."""
    if isinstance(value, dict):
        more = f" and {len(value) - MOST_NAMED:,} more" if len(value) > MOST_NAMED else ""
        return f"an object with {', '.join(key[:100] for key in list(value)[:MOST_NAMED]) or 'no members'}{more}"
    if isinstance(value, list):
        first = f", the first {_shape(value[0])}" if value and isinstance(value[0], dict) else ""
        return f"an array of {len(value):,}{first}"
    return {str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


# In a process of its own


def search_apart(wanted: Search) -> Found:
    """Carry out a search in another process, and wait for it; one that takes too long or too much ends.

    Raises:
        OSError: there is no file.
    """
    for name, expression in (("pattern", wanted.pattern), ("path", wanted.path)):
        if expression is not None and len(expression) > LONGEST_EXPRESSION:
            return Found("", f"{name} is longer than {LONGEST_EXPRESSION:,} characters", is_error=True)
    Path(wanted.file).stat()
    began = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-P", *PROGRAM],
            input=payload.encode_bytes(wanted),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS + 2,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        return payload.typed(done.stdout, Found)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        name = "pattern" if wanted.pattern is not None else "path"
        is_slow = time.monotonic() - began >= SECONDS
        why = f"takes more than {SECONDS} s" if is_slow else "fails: it may need too much memory"
        return Found("", f"{name}: the search {why}; simplify it", is_error=True)


def main() -> None:
    """Carry out the search on stdin, and write what was found to stdout."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)  # works during a long regular expression, too
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no such limits, macOS not all
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    with open(0, "rb", closefd=False) as given:
        wanted = payload.typed(given.read(), Search)
    answer = payload.encode_bytes(search(wanted))
    with open(1, "wb", closefd=False) as out, contextlib.suppress(BrokenPipeError):
        out.write(answer)


if __name__ == "__main__":
    main()
