"""The stderr of a backend: its tail for error messages, all of it for a log file.

Every line of the file begins with the time in UTC, so that lines of several files sort as text; every start has a line
of its own. The file holds no secrets and is limited in size; one older file is kept beside it. Several search-mcp
processes may write the same file: it is opened for every write, because another process may have replaced it, and
because Windows renames no open file. Failures to write are logged and have no other effect.
"""

import contextlib
import logging
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from search_mcp.background import QueueOperation, run_now
from search_mcp.catalog.items import fold, stable_suffix
from search_mcp.files import make_folder, without_waiting

log = logging.getLogger(__name__)

TAIL_BYTES = 4096
"""Bytes of the stderr tail, for error messages."""
LINE_BYTES = 1 << 16
"""Bytes of an incomplete line that are kept before it is written in parts."""
FILE_BYTES = 1 << 20
"""Bytes of a log file after which it becomes the older one."""
UNWRITTEN_BYTES = 4 << 20
"""Bytes that may wait for the file system: more than both files hold."""
_WRITE_BYTES = 1 << 16
"""Bytes that are written before the length of the file is checked again."""
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ "
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z) ")
_DEVICE = r"con|prn|aux|nul|(com|lpt)\d"
"""Names that Windows takes for a device, with any ending."""


def file_name(server: str) -> str:
    """Return the name of a server's log file: valid on every file system, and different for every server."""
    folded = fold(server).lower()  # `GitHub.log` and `github.log` are one file on Windows and macOS
    is_plain = folded == server and re.fullmatch(_DEVICE, folded) is None
    return f"{folded}.log" if is_plain else f"{folded}-{stable_suffix(server)}.log"


def split_time(line: str) -> tuple[str | None, str]:
    """Split a line of a log file into its time and its text; it has no time if two processes wrote it in parts."""
    match = _TIME.match(line)
    return (match[1], line[match.end() :]) if match else (None, line)


class StderrLog:
    """One backend's stderr. Without a path only the tail is kept."""

    def __init__(
        self,
        path: Path | None,
        secrets: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
        later: QueueOperation = run_now,
    ) -> None:
        self._path, self._clock = path, clock
        self._later = later  # carries out file operations
        self._handed_over = self._written = 0  # bytes; the first is changed here, the second where files are written
        longest_first = sorted(secrets, key=len, reverse=True)
        self._secrets = [secret.encode(errors="surrogateescape") for secret in longest_first]  # as `os.environ` has it
        self._longest_secret = max(map(len, self._secrets), default=0)
        self._line = b""  # an incomplete line, which may hold a part of a secret
        self._is_inside_line = False  # the file has the beginning of that line
        self._fails = False  # a failure to write was logged
        self._is_cut = False  # a part was left out, which was logged
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    def started(self, pid: int) -> None:
        """Write a line about the start of a process to the file."""
        if self._path is not None:
            mark = b"%s--- started, pid %d ---\n" % (self._time(), pid)
            self._later(partial(self._write_mark, self._path, mark))

    def write(self, data: bytes) -> None:
        """Add output of the backend."""
        self._tail.append(data[-TAIL_BYTES:])
        self._tail_size += len(self._tail[-1])
        while self._tail_size - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_size -= len(self._tail.popleft())
        if self._path is not None:
            lines, newline, self._line = (self._line + data).rpartition(b"\n")
            whole = self._redacted(lines + newline)
            if len(self._line) > LINE_BYTES:
                begin = self._redacted(self._line)
                cut = max(0, len(begin) - self._longest_secret)  # after it a secret may have begun
                whole, self._line = whole + begin[:cut], begin[cut:]
            if whole:
                self._hand_over(self._path, self._timed(whole))

    def close(self) -> None:
        """Write the last line if it is incomplete."""
        if self._path is not None and (self._line or self._is_inside_line):
            self._hand_over(self._path, self._timed(self._redacted(self._line) + b"\n"))
            self._line = b""

    def _timed(self, data: bytes) -> bytes:
        """Put the time before every line that begins in the data."""
        time_before = self._time()
        begin = b"" if self._is_inside_line else time_before
        self._is_inside_line = not data.endswith(b"\n")
        return begin + data[:-1].replace(b"\n", b"\n" + time_before) + data[-1:]

    def _time(self) -> bytes:
        return time.strftime(_TIME_FORMAT, time.gmtime(self._clock())).encode()

    def _redacted(self, data: bytes) -> bytes:
        for secret in self._secrets:
            data = data.replace(secret, b"***")
        return data

    def tail(self) -> str:
        """Return the stderr tail as text."""
        return b"".join(self._tail)[-TAIL_BYTES:].decode(errors="replace").strip()

    def _write_mark(self, path: Path, mark: bytes) -> None:
        self._write_file(path, mark if _ends_with_whole_line(path) else b"\n" + mark)

    def _hand_over(self, path: Path, data: bytes) -> None:
        """Queue data for the file; drop it if the file system falls too far behind."""
        if self._handed_over - self._written > UNWRITTEN_BYTES:
            if not self._is_cut:  # once: a server that goes on would fill the log of search-mcp instead
                log.warning("! %s cannot be written as fast as its server writes; a part is left out", path)
            self._is_cut = True
            return
        if self._later(partial(self._write_part, path, data)) is not False:
            self._handed_over += len(data)

    def _write_part(self, path: Path, data: bytes) -> None:
        self._write_file(path, data)
        self._written += len(data)

    def _write_file(self, path: Path, data: bytes) -> None:
        try:
            for part in _parts(data):
                _append(path, part)
        except OSError as exc:
            if not self._fails:
                log.warning("! %s cannot be written: %s", path, exc)
            self._fails = True
        else:
            self._fails = False


def _parts(data: bytes) -> Iterator[bytes]:
    """Cut at ends of lines: with their times, many short lines may be longer than a file may grow."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _WRITE_BYTES) + 1 or len(data)
        yield data[start:end]
        start = end


def _append(path: Path, data: bytes) -> None:
    with _opened(path) as file:
        file.write(data)
        is_full = file.tell() > FILE_BYTES
    if is_full:
        # Another process may have the file open just now (Windows), then a later write puts it aside; or it
        # was quicker, and what it left must not take the older file's place.
        with contextlib.suppress(PermissionError, FileNotFoundError):
            if path.stat().st_size > FILE_BYTES:
                path.replace(path.with_suffix(".old.log"))


def _ends_with_whole_line(path: Path) -> bool:
    """Return whether the file ends with a newline; it does not after a process that was killed within a line."""
    try:
        with open(path, "rb", opener=without_waiting) as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"
    except OSError:  # there is no file, or it is empty
        return True


def _opened(path: Path) -> BinaryIO:
    try:
        return _open(path)
    except FileNotFoundError:
        make_folder(path.parent)
        return _open(path)


def _open(path: Path) -> BinaryIO:
    """Open a file for one write at its end, readable by the user only."""
    return open(path, "ab", buffering=0, opener=without_waiting)
