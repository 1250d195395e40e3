"""The file of recorded tool calls: an SQLite database that several processes write.

Decides what is kept and for how long, and how a file is treated that is locked, full or damaged: that costs a warning,
never a call. The file is open only while it is written or read: it may be deleted or moved at any time, and nothing has
to be closed if the process is killed.
"""

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from search_mcp.files import first_irregular, identity, locked, make_private
from search_mcp.model.visible import quoted
from search_mcp.usage.ended_calls import Row, principal_and_name
from search_mcp.wire.structs import Struct

log = logging.getLogger(__name__)

FORMAT = 1
"""The `user_version` of the database; a higher one is of a later search-mcp."""
KEPT_DAYS = 90
MOST_CALLS = 500_000
"""Calls that are kept: about 50 MB. A client in a loop makes a thousand a second."""
PRUNE_SECONDS = 3600.0
"""The oldest calls are removed with the first write of a process, and again after this time."""
PRUNE_PART = 25
"""The oldest calls are removed earlier if a process has written `MOST_CALLS / PRUNE_PART` calls."""
BUSY_SECONDS = 1.0
"""Time that a write waits for another process, which needs a few milliseconds."""
LOOK_SECONDS = 0.02
"""Poll interval for a locked file, in seconds."""
DAY_SECONDS = 86_400

_TABLE = """CREATE TABLE IF NOT EXISTS calls (
    time REAL NOT NULL, client TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, seconds REAL NOT NULL,
    ending TEXT NOT NULL, characters_in INTEGER NOT NULL, characters_out INTEGER NOT NULL, text_out INTEGER)"""
_COLUMNS = "time, client, server, tool, seconds, ending, characters_in, characters_out, text_out"
_INSERT = f"INSERT INTO calls ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PRUNE_OLD = "DELETE FROM calls WHERE time < ?"
_PRUNE_MANY = "DELETE FROM calls WHERE rowid <= (SELECT max(rowid) FROM calls) - ?"
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class LaterFormatError(Exception):
    """The file was written by a later search-mcp."""

    def __str__(self) -> str:
        return "it was written by a later search-mcp"


class UsageStore:
    """The file, for one process that writes to it."""

    def __init__(
        self,
        path: Path,
        wall_clock: Callable[[], float] = time.time,
        *,
        most_calls: int = MOST_CALLS,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        self._path, self._wall_clock = path, wall_clock
        self._most_calls, self._busy_seconds = most_calls, busy_seconds
        self._has_warned = False
        self._pruned_at = -float("inf")
        self._added = 0  # since then

    def write(self, rows: Sequence[Row]) -> bool:
        """Write calls; return false if the file is locked, so that they should be written later.

        If they cannot be written at all, they are dropped.
        """
        try:
            self._write(rows)
        except sqlite3.Error as exc:
            if _code(exc) in _LOCKED:
                log.info("= another process has locked %s; calls are recorded once it is free", _shown(self._path))
                return False
            self._warn(f"calls are not recorded in {_shown(self._path)}: {exc}")
        except (OSError, LaterFormatError) as exc:
            self._warn(f"calls are not recorded in {_shown(self._path)}: {exc}")
        return True

    def _warn(self, text: str) -> None:
        log.log(logging.DEBUG if self._has_warned else logging.WARNING, "! %s", text)
        self._has_warned = True

    def _write(self, rows: Sequence[Row]) -> None:
        """Write calls; wait while the file is locked, and begin a new one if it is damaged."""
        until = time.monotonic() + self._busy_seconds
        while True:
            tried = identity(self._path)
            try:
                return self._add(rows)
            except sqlite3.DatabaseError as exc:
                if _code(exc) in _DAMAGED:
                    _move_aside(self._path, tried)
                    self._warn(f"{_shown(self._path)} is damaged and was moved to {_shown(_aside(self._path))}: {exc}")
                    return self._add(rows)
                # The library itself does not wait while two processes make the same database.
                if _code(exc) not in _LOCKED or time.monotonic() > until:
                    raise
            time.sleep(LOOK_SECONDS)

    def _add(self, rows: Sequence[Row]) -> None:
        make_private(self._path)
        with _opened(self._path, "mode=rw", self._busy_seconds) as database:
            # Once; several processes may do this at the same time.
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("BEGIN IMMEDIATE")
            if not _format(database):
                database.execute(_TABLE)
                database.execute(f"PRAGMA user_version = {FORMAT}")
            database.executemany(_INSERT, rows)
            self._prune(database, len(rows))
            database.execute("COMMIT")

    def _prune(self, database: sqlite3.Connection, added: int) -> None:
        now = self._wall_clock()
        self._added += added
        if now - self._pruned_at < PRUNE_SECONDS and self._added < self._most_calls / PRUNE_PART:
            return
        self._pruned_at, self._added = now, 0
        database.execute(_PRUNE_OLD, (now - KEPT_DAYS * DAY_SECONDS,))
        database.execute(_PRUNE_MANY, (self._most_calls,))


@contextlib.contextmanager
def _opened(path: Path, options: str, busy_seconds: float = BUSY_SECONDS) -> Iterator[sqlite3.Connection]:
    if (irregular := first_irregular((path, *_beside(path)))) is not None:
        raise sqlite3.DatabaseError(f"{irregular.name} is not a regular file")
    address = f"{path.absolute().as_uri()}?{options}"
    with contextlib.closing(sqlite3.connect(address, busy_seconds, isolation_level=None, uri=True)) as database:
        yield database


def _format(database: sqlite3.Connection) -> int:
    """Return the format of a database; 0 if it is new.

    Raises:
        LaterFormatError: it is unknown.
    """
    (found,) = database.execute("PRAGMA user_version").fetchone()
    if found > FORMAT:
        raise LaterFormatError
    return int(found)


def _code(exc: sqlite3.Error) -> int:
    """Return the primary result code of an error; 0 if it is not of the database."""
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")


def _beside(path: Path) -> tuple[Path, ...]:
    """Return the files that the database library may put beside a database."""
    return tuple(path.with_name(path.name + ending) for ending in ("-journal", "-wal", "-shm"))


def _move_aside(path: Path, damaged: tuple[int, int] | None) -> None:
    """Move a damaged file out of the way, unless another process has done so.

    Raises:
        OSError: it cannot be moved.
    """
    with locked(path.with_name(f"{path.name}.lock"), BUSY_SECONDS):
        if identity(path) == damaged:
            for each in _beside(path):  # before the database: with a new one they would damage it
                each.unlink(missing_ok=True)
            path.replace(_aside(path))


def _shown(path: Path) -> str:
    return quoted(str(path), 300)[1:-1]


# For the commands


class Largest(Struct, frozen=True):
    """The largest result of a tool that one client got."""

    client: str
    server: str
    tool: str
    characters: int
    """Of the text that the client may give to its model."""

    @property
    def client_name(self) -> str:
        """The name that the client gives itself."""
        return principal_and_name(self.client)[1]


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Open the file for reading; `None` if there is none yet.

    Raises:
        LaterFormatError: it was written by a later search-mcp.
        sqlite3.Error: it cannot be read.
    """
    if not path.exists():
        yield None
        return
    may_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    with contextlib.ExitStack() as stack:
        try:
            # Only a connection that may write removes the files beside the database when it is closed.
            database = stack.enter_context(_opened(path, "mode=rw" if may_write else "mode=ro"))
            known = _format(database)
        except sqlite3.OperationalError:
            if may_write:
                raise
            # In a read-only folder, the library cannot make the files that let several processes share the database.
            database = stack.enter_context(_opened(path, "mode=ro&immutable=1"))
            known = _format(database)
        yield database if known else None


def calls_since(database: sqlite3.Connection, since: float) -> Iterable[Row]:
    """Return the calls since a time, in order of time.

    Raises:
        sqlite3.Error: they cannot be read.
    """
    rows: Iterable[Row] = database.execute(f"SELECT {_COLUMNS} FROM calls WHERE time >= ? ORDER BY time", (since,))
    return rows


def last_calls(path: Path, most: int, includes: Callable[[Row], bool] = lambda _call: True) -> list[Row]:
    """Return the calls that were recorded last, the latest first; only those that `includes` returns true for.

    Raises:
        LaterFormatError, sqlite3.Error: the file cannot be read.
    """
    with reading(path) as database:
        if database is None:
            return []
        # By their numbers, which are an index: the clients of a file write in turn, so they are nearly in order.
        found: Iterable[Row] = database.execute(f"SELECT {_COLUMNS} FROM calls ORDER BY rowid DESC")
        return sorted(islice(filter(includes, found), most), key=lambda call: -call[0])


def largest_results(path: Path, since: float) -> list[Largest]:
    """Return the largest result of each tool and client since a time, the largest first.

    Results of up to `result_sizes.LEAST_OF_INTEREST` characters are left out, and images are not counted.

    Raises:
        LaterFormatError, sqlite3.Error: the file cannot be read.
    """
    with reading(path) as database:
        if database is None:
            return []
        found = database.execute(
            "SELECT client, server, tool, max(text_out) AS size FROM calls WHERE time >= ? AND text_out IS NOT NULL "
            "GROUP BY client, server, tool ORDER BY size DESC, client, server, tool",
            (since,),
        )
        return [Largest(*each) for each in found]


def delete(path: Path) -> bool:
    """Delete the file and a damaged one; return whether there was any.

    Raises:
        OSError: one cannot be deleted.
    """
    found = [each for each in (*_beside(path), path, _aside(path)) if each.exists()]
    for each in found:
        each.unlink(missing_ok=True)
    return bool(found)
