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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

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
    with Path(wanted.file).open(encoding="utf-8", newline="\n") as file:
        if wanted.pattern is not None:
            return _lines(file, wanted.pattern, wanted.offset, wanted.room)
        return _part(file.read(), wanted)


# Lines


class _Line(Struct, frozen=True):
    number: int
    start: int
    text: str
    """Without the line feed."""


def _lines(file: TextIO, pattern: str, offset: int, room: int) -> Found:
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as exc:
        return Found("", f"pattern is not a regular expression of Python: {exc}", is_error=True)
    answer, line = _Answer(room), None
    for line in _read(file):
        answer.pass_line(line, _hits(line, compiled, offset - line.start))
    if not answer.count:
        where = f" from offset {offset:,} on" if offset else ""
        return Found("", f"no line matches{where}; the text has {line.number if line else 0:,} lines")
    about = f"{answer.count:,} {'match' if answer.count == 1 else 'matches'}, each as line:offset: text"
    rest = "all are shown" if answer.next_offset is None else f"next offset {answer.next_offset}"
    return Found("\n".join(answer.shown), f"{about}; {rest}")


def _read(file: TextIO) -> Iterator[_Line]:
    start = 0
    for number, text in enumerate(file, 1):
        yield _Line(number, start, text.removesuffix("\n"))
        start += len(text)


class _Answer:
    """Matches, and the line before and after each matching line, as far as there is room."""

    def __init__(self, room: int) -> None:
        self.shown: list[str] = []
        self.count = 0
        self.next_offset: int | None = None
        """That of the first match without room."""
        self._room = room
        self._last = 0  # number of the last line that is shown
        self._before: _Line | None = None  # the line before, if it is not long
        self._is_after_match = False

    def pass_line(self, line: _Line, hits: Iterable[tuple[int, str]]) -> None:
        """Go on to the next line, with the offsets and texts of what matches in it."""
        is_long, before = len(line.text) > LONG_LINE, self.count
        for offset, text in hits:
            self.count += 1
            if self.next_offset is None and not self._add_match(line.number, offset, text, is_long=is_long):
                self.next_offset = offset
        is_match = self.count > before
        if self._is_after_match and not (is_match or is_long) and self.next_offset is None:
            self._add(line.number, [_context(line)])
        self._before = None if is_long else line
        self._is_after_match = is_match and not is_long

    def _add_match(self, number: int, offset: int, text: str, *, is_long: bool) -> bool:
        before = self._before
        context = [_context(before)] if before and before.number > self._last and not is_long else []
        apart = ["--"] if self._last and number - len(context) > self._last + 1 else []
        return self._add(number, [*apart, *context, f"{number}:{offset}: {text}"])

    def _add(self, number: int, lines: Sequence[str]) -> bool:
        """Show lines, the last of which has this number; return false if there is no room."""
        size = sum(len(line) + 1 for line in lines)
        if size > self._room and self.shown:
            return False
        self.shown += lines
        self._room -= size
        self._last = number
        return True


def _context(line: _Line) -> str:
    return f"{line.number}-{line.start}- {line.text}"


def _hits(line: _Line, pattern: re.Pattern[str], begin: int) -> Iterator[tuple[int, str]]:
    """Yield offset and text of a matching line; of a long one, the surroundings of each match from a position on."""
    text, end = line.text, len(line.text)
    position = begin = max(0, begin)
    while position <= end and (found := pattern.search(text, position)) is not None:
        if end <= LONG_LINE:
            yield line.start, text
            return
        first = boundary_before(text, max(begin, found.start() - AROUND))
        last = boundary_before(text, min(end, max(found.start(), min(found.end(), found.start() + AROUND)) + AROUND))
        yield line.start + first, f"{'…' if first > begin else ''}{text[first:last]}{'…' if last < end else ''}"
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
