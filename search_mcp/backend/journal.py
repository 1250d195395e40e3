"""What a backend writes to its stderr: the end of it for error messages, all of it for its log file.

The file holds no secrets and is limited in size; one older file is kept beside it. Several search-mcp
processes may write the same file: it is opened for every write, because another may have put a new one
in its place, and because Windows renames no file that somebody has open. A log that cannot be written
costs the log and nothing else.
"""

import contextlib
import logging
import os
import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from search_mcp.catalog import fold, stable_suffix

log = logging.getLogger(__name__)

TAIL_BYTES = 4096
"""How much of a backend's last words is kept for error messages."""
LINE_BYTES = 1 << 16
"""How much of a line is waited for."""
FILE_BYTES = 1 << 20
"""How long a log file may grow before it becomes the older one."""
_DEVICE = r"con|prn|aux|nul|(com|lpt)\d"
"""What Windows takes for a device, whatever its ending."""


def file_name(server: str) -> str:
    """Name a server's log file, for every file system, and no other server's alike."""
    folded = fold(server).lower()  # `GitHub.log` and `github.log` are one file on Windows and macOS
    is_plain = folded == server and re.fullmatch(_DEVICE, folded) is None
    return f"{folded}.log" if is_plain else f"{folded}-{stable_suffix(server)}.log"


class Journal:
    """One backend's stderr. Without a path only the tail is kept."""

    def __init__(self, path: Path | None, secrets: Iterable[str] = ()) -> None:
        self._path = path
        longest_first = sorted(secrets, key=len, reverse=True)
        self._secrets = [secret.encode(errors="surrogateescape") for secret in longest_first]  # as `os.environ` has it
        self._line = b""  # one that is not complete; a secret may be
        self._fails = False  # it was said that the file cannot be written
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    def write(self, data: bytes) -> None:
        """Take in what the backend wrote."""
        self._tail.append(data[-TAIL_BYTES:])
        self._tail_size += len(self._tail[-1])
        while self._tail_size - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_size -= len(self._tail.popleft())
        if self._path is not None:
            lines, newline, self._line = (self._line + data).rpartition(b"\n")
            if len(self._line) > LINE_BYTES:
                lines, newline, self._line = lines + newline, self._line, b""
            if lines or newline:
                self._write_file(self._path, self._redacted(lines + newline))

    def close(self) -> None:
        """Write what came without the end of its line."""
        if self._path is not None and self._line:
            self._write_file(self._path, self._redacted(self._line))
            self._line = b""

    def _redacted(self, data: bytes) -> bytes:
        for secret in self._secrets:
            data = data.replace(secret, b"***")
        return data

    def tail(self) -> str:
        """The last words, as text."""
        return b"".join(self._tail)[-TAIL_BYTES:].decode(errors="replace").strip()

    def _write_file(self, path: Path, data: bytes) -> None:
        try:
            _append(path, data)
        except OSError as exc:
            if not self._fails:
                log.warning("! %s cannot be written: %s", path, exc)
            self._fails = True
        else:
            self._fails = False


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


def _opened(path: Path) -> BinaryIO:
    try:
        return _open(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _open(path)


def _open(path: Path) -> BinaryIO:
    """Open for one write at the end; what a server says is for its user's eyes only."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    return os.fdopen(descriptor, "ab", buffering=0)
