"""The process that makes vectors: `python -m search_mcp.semantic.worker MODEL_FOLDER VECTOR_FILE`.

A sentence model needs 100 to 300 MB and all of a processor, so it is loaded in a process of its own, of low priority.
It answers queries between small batches of texts, and ends when its stdin does or when it was not asked for a while.
Several such processes share the file of vectors: one of them at a time encodes a batch, the others find it in the file.
"""

import contextlib
import logging
import os
import queue
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from search_mcp.files import locked
from search_mcp.semantic import models
from search_mcp.semantic.encoder import Encoder
from search_mcp.semantic.lines import Compared, Failure, Query, Texts
from search_mcp.semantic.models import Model, ModelError
from search_mcp.semantic.vector_store import VectorStore
from search_mcp.wire import payload

log = logging.getLogger(__name__)

PROGRAM = "-m", "search_mcp.semantic.worker"
IDLE_SECONDS = 300.0
"""The process ends after this time without a request; loading the model again takes half a second."""
BATCH = 4
"""Texts encoded at once, about 100 ms; a query that arrives meanwhile waits."""
SHARED_BATCH = 32
"""Texts looked for in the file at once, because another process may have encoded them."""
BUSY_SECONDS = 0.1
"""Pause while another process encodes."""
MOST_REFUSALS = 100
"""Refusals of the lock, about ten seconds, after which the texts that are missing are encoded without it."""
NICENESS = 19
STORED = "<f2"
"""Type of the numbers of a vector in the file. New vectors are rounded to it, too, so that they compare as later."""
DIGITS = 4
"""Digits of a similarity; later ones depend on the texts that were encoded together."""
_REQUEST: Any = Texts | Query


class Comparison:
    """The texts of one catalogue with their vectors, and the comparison of queries with them."""

    def __init__(self, encoder: Encoder, model: Model, store: VectorStore, lock: Path) -> None:
        self._encoder, self._model, self._store, self._lock = encoder, model, store, lock
        self._numpy: Any = import_module("numpy")
        self._texts: Sequence[str] = ()
        self._vectors: dict[str, Any] = {}
        self._missing: list[str] = []  # the last is the next
        self._matrix: Any = None  # one row for each text, made when it is needed
        self._has_warned = False
        self._refusals = 0  # of the lock, one after another

    def use(self, texts: Sequence[str]) -> None:
        """Compare with these texts from now on; vectors of texts that stay are kept."""
        known = self._vectors
        self._texts, self._matrix = texts, None
        self._vectors = {text: known[text] for text in texts if text in known}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        self._add(self._stored(missing))
        # Short texts first: most tools are compared early, and texts of one length are encoded without padding.
        self._missing = sorted((text for text in missing if text not in self._vectors), key=len, reverse=True)

    @property
    def is_complete(self) -> bool:
        return not self._missing

    def compare(self, asked: Query) -> Compared:
        """Compare a query with all texts."""
        numpy, unrelated = self._numpy, self._model.unrelated
        vector = self._encoder.query(asked.query)
        if self._matrix is None:
            nothing = numpy.full_like(vector, numpy.nan)
            rows = [self._vectors.get(text, nothing) for text in self._texts]
            self._matrix = numpy.stack(rows) if rows else numpy.empty((0, len(vector)), numpy.float32)
        # Not a matrix product: its last digits depend on the position of a row, so equal texts would not tie.
        cosines = numpy.einsum("ij,j->i", self._matrix, vector)
        found = numpy.round((cosines - unrelated) / (1.0 - unrelated), DIGITS)
        order = numpy.argsort(-found, kind="stable")[: asked.most_nearest]
        nearest = [int(position) for position in order if not numpy.isnan(found[position])]
        return Compared(asked.number, found.astype("<f4").tobytes(), nearest, len(self._missing))

    def encode_some(self) -> bool:
        """Make the vectors of a few texts; return false if another process is doing so.

        They are kept in memory even if the file cannot be written. A process that was stopped while it had the lock is
        not waited for.
        """
        has_waited = self._refusals >= MOST_REFUSALS
        try:
            with contextlib.nullcontext() if has_waited else locked(self._lock, 0.0):
                self._add(self._stored(self._missing[-SHARED_BATCH:]))
                self._missing = [text for text in self._missing if text not in self._vectors]
                batch = self._missing[-BATCH:]
                if batch:
                    rows = self._encoder.texts(batch).astype(STORED)
                    vectors = {text: row.tobytes() for text, row in zip(batch, rows, strict=True)}
                    self._add(vectors)
                    del self._missing[-len(batch) :]
                    self._keep(vectors)
        except TimeoutError:
            self._refusals += 1
            return False
        self._matrix = None
        self._refusals = MOST_REFUSALS if has_waited and not self.is_complete else 0
        return True

    def _add(self, stored: dict[str, bytes]) -> None:
        numpy = self._numpy
        self._vectors |= {
            text: numpy.frombuffer(vector, STORED).astype(numpy.float32) for text, vector in stored.items()
        }

    def _stored(self, texts: Sequence[str]) -> dict[str, bytes]:
        try:
            return self._store.read(texts) if texts else {}
        except (OSError, sqlite3.Error) as exc:
            self._warn(exc)
            return {}

    def _keep(self, vectors: dict[str, bytes]) -> None:
        try:
            self._store.write(vectors)
        except (OSError, sqlite3.Error) as exc:
            self._warn(exc)

    def _warn(self, exc: Exception) -> None:
        log.log(logging.DEBUG if self._has_warned else logging.WARNING, "! vectors are not kept on disk: %s", exc)
        self._has_warned = True


def run(comparison: Comparison, lines: "queue.SimpleQueue[bytes | None]", write: Callable[[bytes], None]) -> None:
    """Answer lines until there is no further one, or none for a long time; make vectors between them."""
    pause = 0.0
    while True:
        try:
            line = lines.get(timeout=IDLE_SECONDS if comparison.is_complete else pause)
        except queue.Empty:
            if comparison.is_complete:
                return
            pause = 0.0 if comparison.encode_some() else BUSY_SECONDS
            continue
        if line is None:
            return
        asked: Texts | Query = payload.typed(line, _REQUEST)
        if isinstance(asked, Texts):
            comparison.use(asked.texts)
        else:
            write(payload.encode_bytes(comparison.compare(asked)) + b"\n")


def main(folder: Path, file: Path, given: BinaryIO, write: Callable[[bytes], None]) -> None:
    """Load the model and answer the lines of a stream."""
    if hasattr(os, "nice"):  # on Windows, the process is started with a low priority
        os.nice(NICENESS)
    try:
        model = models.read(folder)
        comparison = Comparison(
            Encoder(folder, model), model, VectorStore(file, model.identity), file.with_name(f"{file.name}.lock")
        )
    except ModelError as exc:
        write(payload.encode_bytes(Failure(str(exc))) + b"\n")
        return
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(given, lines), name="stdin", daemon=True).start()
    run(comparison, lines, write)


def _read(given: BinaryIO, lines: "queue.SimpleQueue[bytes | None]") -> None:
    for line in given:
        lines.put(line)
    lines.put(None)


if __name__ == "__main__":
    with open(0, "rb", closefd=False) as stdin, open(1, "wb", closefd=False) as stdout:

        def write(line: bytes) -> None:
            stdout.write(line)
            stdout.flush()

        with contextlib.suppress(BrokenPipeError):
            main(Path(sys.argv[1]), Path(sys.argv[2]), stdin, write)
