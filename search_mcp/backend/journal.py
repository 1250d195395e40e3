"""What a backend writes to its stderr: the end of it for error messages, all of it for its log file.

The file is limited in size; one older file is kept beside it. A log that cannot be written costs the
log and nothing else.
"""

import contextlib
import logging
from collections import deque
from pathlib import Path
from typing import BinaryIO

log = logging.getLogger(__name__)

TAIL_BYTES = 4096
"""How much of a backend's last words is kept for error messages."""
FILE_BYTES = 1 << 20
"""How long a log file may grow before it becomes the older one."""


class Journal:
    """One backend's stderr. Without a path only the tail is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    def write(self, data: bytes) -> None:
        """Take in what the backend wrote."""
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_size -= len(self._tail.popleft())
        if self._path is not None:
            self._write_file(self._path, data)

    def tail(self) -> str:
        """The last words, as text."""
        return b"".join(self._tail)[-TAIL_BYTES:].decode(errors="replace").strip()

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _write_file(self, path: Path, data: bytes) -> None:
        try:
            if self._file is None:
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._file = path.open("ab")
            self._file.write(data)
            self._file.flush()
            if self._file.tell() > FILE_BYTES:
                self.close()
                path.replace(path.with_suffix(".old.log"))
        except OSError as exc:
            log.warning("! %s cannot be written: %s", path, exc)
            self._path = None
            self.close()
