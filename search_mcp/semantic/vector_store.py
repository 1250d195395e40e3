"""The file of vectors: an SQLite database that all processes of the user share.

A vector is found by the identity of its model and the digest of its text, so a changed definition has no vector, and an
unchanged one keeps it in every client. All of it can be made again: a damaged file is deleted, and one that cannot be
written costs time and no search.
"""

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from search_mcp.files import first_irregular, make_private

FORMAT = 1
"""The `user_version` of the database; a file of another format is made anew."""
MOST_VECTORS = 40_000
"""Vectors that are kept, of all models: about 45 MB with 384 numbers. The longest unused are removed by the first write
of a process, because that reads the whole file."""
BUSY_SECONDS = 2.0
"""Time that a read or a write waits for another process."""
DAY_SECONDS = 86_400
_PART = 500  # digests of one query; the database takes 999

_TABLE = """CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, day INTEGER NOT NULL, PRIMARY KEY (model, text))"""
_INSERT = "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)"
_PRUNE = """DELETE FROM vectors WHERE (model, text) IN (
    SELECT model, text FROM vectors ORDER BY day DESC, model, text LIMIT -1 OFFSET ?)"""


class VectorStore:
    """The vectors of one model. Errors of the file are those of `sqlite3` and `OSError`."""

    def __init__(
        self, path: Path, model: str, wall_clock: Callable[[], float] = time.time, most_vectors: int = MOST_VECTORS
    ) -> None:
        self._path, self._model, self._wall_clock, self._most_vectors = path, model, wall_clock, most_vectors
        self._is_pruned = False

    def read(self, texts: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors of those texts that have one, and mark these as used today.

        Raises:
            OSError, sqlite3.Error: the file cannot be read.
        """
        if not self._path.exists():
            return {}
        by_digest = {_digest(text): text for text in texts}
        digests = list(by_digest)
        found: dict[str, bytes] = {}
        with self._opened() as database:
            for start in range(0, len(digests), _PART):
                part = digests[start : start + _PART]
                some = f"model = ? AND text IN ({', '.join('?' * len(part))})"
                rows = database.execute(f"SELECT text, vector FROM vectors WHERE {some}", (self._model, *part))
                found.update((by_digest[digest], vector) for digest, vector in rows)
                changed = f"UPDATE vectors SET day = ? WHERE {some} AND day < ?"
                database.execute(changed, (self._day, self._model, *part, self._day))
        return found

    def write(self, vectors: Mapping[str, bytes]) -> None:
        """Add vectors by text, and remove the longest unused if there are too many.

        Raises:
            OSError, sqlite3.Error: the file cannot be written.
        """
        rows = [(self._model, _digest(text), vector, self._day) for text, vector in vectors.items()]
        with self._opened() as database:
            database.executemany(_INSERT, rows)
            if not self._is_pruned:
                database.execute(_PRUNE, (self._most_vectors,))
        self._is_pruned = True

    @property
    def _day(self) -> int:
        return int(self._wall_clock() // DAY_SECONDS)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the database for one transaction; a damaged one is deleted, and so is one of another format."""
        try:
            database = self._connected()
        except sqlite3.DatabaseError as exc:
            if exc.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            _delete(self._path)
            database = self._connected()
        with contextlib.closing(database):
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")

    def _connected(self) -> sqlite3.Connection:
        _check_regular(self._path)
        make_private(self._path)
        database = sqlite3.connect(self._path, BUSY_SECONDS, isolation_level=None)
        try:
            (known,) = database.execute("PRAGMA user_version").fetchone()
            if known not in (0, FORMAT):
                database.execute("DROP TABLE IF EXISTS vectors")
            database.execute(_TABLE)
            if known != FORMAT:  # otherwise, the file would be written for nothing
                database.execute(f"PRAGMA user_version = {FORMAT}")
        except BaseException:
            database.close()
            raise
        return database


def counts(path: Path) -> dict[str, int]:
    """Return the number of vectors of each model in a file, by its identity; none without a file of this format.

    Raises:
        OSError, sqlite3.Error: the file cannot be read.
    """
    if not path.exists():
        return {}
    _check_regular(path)
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", BUSY_SECONDS, uri=True)) as database:
        (known,) = database.execute("PRAGMA user_version").fetchone()
        if known != FORMAT:
            return {}
        return dict(database.execute("SELECT model, COUNT(*) FROM vectors GROUP BY model"))


def _check_regular(path: Path) -> None:
    irregular = first_irregular((path, _journal_of(path)))
    if irregular is not None:
        raise OSError(f"{irregular.name} is not a regular file")


def _journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _delete(path: Path) -> None:
    for each in (path, _journal_of(path)):
        each.unlink(missing_ok=True)
