"""The texts of catalogues with their vectors, and the comparison of queries with them.

Several processes share the file of vectors: one of them at a time encodes a batch, the others find it in the file.
"""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from search_mcp.files import locked
from search_mcp.semantic.encoding import EncodingError, TextEncoder
from search_mcp.semantic.lines import Compared, Query
from search_mcp.semantic.vector_store import VectorStore

SHARED_BATCH = 32
"""Texts looked up in the file in one step, at least those of a batch: another process may have encoded them."""
BUSY_SECONDS = 0.1
"""Pause while another process encodes."""
RETRY_SECONDS = 60.0
"""Pause after vectors could not be made."""
STORED = "<f2"
"""Type of the numbers of a vector in the file. New vectors are rounded to it, too, so that they compare as later."""
STORED_BYTES = 2
DIGITS = 4
"""Digits of a similarity; later ones depend on the texts that were encoded together."""


class _Rows:
    """The vectors of texts, as the first rows of a matrix; all have one length."""

    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy
        self._rows: Any = None
        self.positions: dict[str, int] = {}

    @property
    def width(self) -> int:
        """The length of a vector; 0 without any."""
        return 0 if self._rows is None else int(self._rows.shape[1])

    @property
    def matrix(self) -> Any:
        return self._rows[: len(self.positions)]

    def add(self, vectors: Iterable[tuple[str, Any]]) -> None:
        for text, vector in vectors:
            count = len(self.positions)
            if self._rows is None:
                self._rows = self._numpy.empty((64, len(vector)), self._numpy.float32)
            elif count == len(self._rows):
                self._rows = self._numpy.concatenate([self._rows, self._numpy.empty_like(self._rows)])
            self._rows[self.positions.setdefault(text, count)] = vector

    def keep(self, texts: Iterable[str]) -> None:
        """Keep only the vectors of these texts."""
        kept = [text for text in dict.fromkeys(texts) if text in self.positions]
        if len(kept) < len(self.positions):
            self._rows = self._rows[[self.positions[text] for text in kept]] if kept else None
            self.positions = {text: position for position, text in enumerate(kept)}


class Comparison:
    """The texts of catalogues with their vectors, and the comparison of queries with one catalogue."""

    def __init__(
        self, encoder: TextEncoder, store: VectorStore, lock: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._encoder, self._store, self._lock, self._clock = encoder, store, lock, clock
        import numpy

        self._numpy: Any = numpy
        self._catalogues: dict[int, Sequence[str]] = {}
        self._rows = _Rows(self._numpy)
        self._places: dict[int, Any] = {}  # see `_places_of`; until a vector comes or goes
        self._missing: list[str] = []  # the last is the next
        self._due = 0.0  # when texts are encoded again
        self._of_encoder = self._of_file = ""
        self._under_way: tuple[Sequence[str], contextlib.ExitStack] | None = None  # a batch, and the lock

    @property
    def problem(self) -> str:
        """The reason why vectors cannot be made, or are not kept; empty if there is none."""
        return self._of_encoder or self._of_file

    @property
    def is_complete(self) -> bool:
        return not self._missing

    @property
    def is_encoding(self) -> bool:
        """Whether the vectors of a batch are being made."""
        return self._under_way is not None

    @property
    def is_given_up(self) -> bool:
        """Whether no vectors are made for some time."""
        return bool(self._of_encoder)

    @property
    def pause(self) -> float:
        """The time until texts are to be encoded, in seconds."""
        return max(0.0, self._due - self._clock())

    def use(self, catalogue: int, texts: Sequence[str]) -> None:
        """Compare queries of a catalogue with these texts from now on; vectors of texts that stay are kept."""
        self._catalogues[catalogue] = texts
        self._look_again()

    def forget(self, catalogue: int) -> None:
        if self._catalogues.pop(catalogue, None) is not None:
            self._look_again()

    def _look_again(self) -> None:
        every = dict.fromkeys(text for texts in self._catalogues.values() for text in texts)
        self._rows.keep(every)
        missing = [text for text in every if text not in self._rows.positions]
        asked_for = set(self._missing)
        self._add(self._stored([text for text in missing if text not in asked_for]))
        self._missing = self._in_order(asked_for)

    def _in_order(self, asked_for: Container[str]) -> list[str]:
        """Return the texts without a vector, the next one last, so that no catalogue and no text waits for ever.

        Catalogues take turns. In each, new texts come after those that wait already, because some servers change their
        texts all the time. Short texts come first: most tools are compared early, and texts of one length are encoded
        without padding.
        """
        turns: dict[str, int] = {}
        for texts in self._catalogues.values():
            missing = (text for text in dict.fromkeys(texts) if text not in self._rows.positions)
            for turn, text in enumerate(sorted(missing, key=lambda text: (text not in asked_for, len(text)))):
                turns[text] = min(turn, turns.get(text, turn))
        return sorted(turns, key=turns.__getitem__, reverse=True)

    def compare(self, asked: Query) -> Compared:
        """Compare a query with all texts of its catalogue; without a vector of the query, with none."""
        numpy = self._numpy
        texts = self._catalogues.get(asked.catalogue, ())
        vector = self._vector(asked.query)
        if vector is None or not self._rows.positions:
            return Compared(asked.number, numpy.full(len(texts), numpy.nan, "<f4").tobytes(), [], len(texts))
        # Not a matrix product: its last digits depend on the position of a row, so equal texts would not tie.
        cosines = numpy.einsum("ij,j->i", self._rows.matrix, vector)
        unrelated = self._encoder.unrelated
        found = numpy.append(numpy.round((cosines - unrelated) / (1.0 - unrelated), DIGITS), numpy.nan)
        places = self._places_of(asked.catalogue)
        found = found[places].astype("<f4")
        order = numpy.argsort(-found, kind="stable")[: asked.most_nearest]
        nearest = [int(position) for position in order if not numpy.isnan(found[position])]
        missing = int((places < 0).sum())
        return Compared(asked.number, found.tobytes(), nearest, missing, self._encoder.knows_all_languages)

    def _places_of(self, catalogue: int) -> Any:
        """Return the position of the vector of each text; -1 without one, where `compare` has no number."""
        if catalogue not in self._places:
            found = (self._rows.positions.get(text, -1) for text in self._catalogues.get(catalogue, ()))
            self._places[catalogue] = self._numpy.fromiter(found, self._numpy.intp)
        return self._places[catalogue]

    def _vector(self, query: str) -> Any:
        """Return the vector of a query; `None` if it cannot be made now."""
        if self._of_encoder and self.pause:
            return None
        try:
            vector = self._encoder.query(query)
        except EncodingError as exc:
            self._fail(exc)
            return None
        self._of_encoder = ""
        return vector

    def begin(self) -> Callable[[], Any] | None:
        """Return a function that makes the vectors of a few texts; `finish` takes its result.

        Another thread can run it, so that queries do not wait. The lock is held until `finish`; without the lock, which
        another process has, and without texts, there is no function.
        """
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(locked(self._lock, 0.0))
            except TimeoutError:
                self._take_stored()
                self._due = self._clock() + BUSY_SECONDS
                return None
            self._due = 0.0
            self._take_stored()
            batch = self._missing[-self._encoder.batch :]
            if not batch:
                return None
            self._under_way = batch, held.pop_all()
        return partial(_encoded, self._encoder, batch)

    def _take_stored(self) -> None:
        """Take vectors of the next texts that another process made."""
        self._add(self._stored(self._missing[-SHARED_BATCH:]))
        self._missing = [text for text in self._missing if text not in self._rows.positions]

    def finish(self, encoded: Any) -> None:
        """Take the vectors that were made.

        Raises:
            ChangedError: the process must end.
        """
        assert self._under_way is not None
        (batch, held), self._under_way = self._under_way, None
        with held:
            self._take(batch, encoded)

    def _take(self, batch: Sequence[str], encoded: Any) -> None:
        if isinstance(encoded, EncodingError):
            self._fail(encoded)
            return
        if isinstance(encoded, Exception):
            raise encoded
        rows = encoded.astype(STORED)
        self._of_encoder = ""
        vectors = {text: row.tobytes() for text, row in zip(batch, rows, strict=True)}
        self._add(vectors)
        self._missing = [text for text in self._missing if text not in vectors]
        try:
            self._store.write(vectors)
            self._of_file = ""
        except (OSError, sqlite3.Error) as exc:
            self._note_file(exc)

    def _add(self, stored: dict[str, bytes]) -> None:
        numpy = self._numpy
        # A damaged file may have anything.
        whole = ((text, vector) for text, vector in stored.items() if vector and not len(vector) % STORED_BYTES)
        vectors = {text: numpy.frombuffer(vector, STORED) for text, vector in whole}
        width = self._rows.width or max(map(len, vectors.values()), default=0)
        self._rows.add((text, vector) for text, vector in vectors.items() if len(vector) == width)
        self._places.clear()

    def _stored(self, texts: Sequence[str]) -> dict[str, bytes]:
        try:
            return self._store.read(texts) if texts else {}
        except (OSError, sqlite3.Error) as exc:
            self._note_file(exc)
            return {}

    def _fail(self, exc: EncodingError) -> None:
        self._of_encoder = str(exc)
        self._due = self._clock() + max(RETRY_SECONDS, exc.pause_seconds)

    def _note_file(self, exc: Exception) -> None:
        self._of_file = f"vectors are not kept on disk: {exc}"


def _encoded(encoder: TextEncoder, batch: Sequence[str]) -> Any:
    """Return the vectors of some texts, or the exception."""
    try:
        return encoder.texts(batch)
    except Exception as exc:  # raised again by `finish`
        return exc
