"""Texts to vectors, at an address with the interface of OpenAI for embeddings.

Decides how many texts a request has, and what is done with refused ones. The first request of a process shows whether
the model is still the one whose vectors are kept: another model may have been installed under its name.
"""

import contextlib
import hashlib
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from search_mcp.config.addresses import public
from search_mcp.config.secrets import Redactor, find_secrets, spellings
from search_mcp.semantic import calibration, embeddings
from search_mcp.semantic.address_client import AddressClient, endpoint
from search_mcp.semantic.calibration import Scale
from search_mcp.semantic.embeddings import UnacceptableTextsError
from search_mcp.semantic.encoding import ChangedError, EncodingError
from search_mcp.semantic.lines import Address
from search_mcp.semantic.models import ModelError
from search_mcp.semantic.prefixes import prefixes_of
from search_mcp.semantic.vector_store import VectorStore
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

BATCH = 16
"""Texts of one request; services take 10 to 2,048. After a failure, requests have half as many."""
LONGEST_QUERY = 1_000
"""Characters of a query that are sent."""
MOST_QUERIES = 256
"""Queries whose vectors are remembered: a query is asked again while the vectors of texts are made."""
SHORTEST_TEXT = 100
"""Characters of a text that is not shortened further; each model takes so many."""
SAME = 0.9
"""Least cosine of two vectors that one model made of one text; it may be loaded with fewer digits than before."""
_RECORD = "calibration"


class _Known(Struct, frozen=True):
    """What is kept about an address beside its vectors."""

    generation: int = 0
    """Increased when another model answers under the same name."""
    control: bytes = b""
    """The vector of a fixed text, as 32-bit floats; empty before the first answer."""
    scale: Scale = Scale()


class AddressEncoder:
    """Makes vectors at an address: a `TextEncoder`."""

    def __init__(self, opening: Address, file: Path) -> None:
        """Prepare requests, without contacting the address; `file` is that of the vectors.

        Raises:
            ModelError: the address cannot be used.
        """
        try:
            import numpy

            self._numpy: Any = numpy
        except ImportError as exc:
            raise ModelError(f"a library for vectors is missing: {exc}") from exc
        try:
            self._client = AddressClient(endpoint(opening.url), opening.api_key, opening.ca_file)
        except ValueError as exc:
            raise ModelError(f"the address of the vectors cannot be used: {exc}") from exc
        self._model = opening.model
        secrets = {*find_secrets({"url": opening.url, "apiKey": opening.api_key})}
        # The host of a redirect is in small letters.
        self._conceal = Redactor(spellings(secrets | {each.lower() for each in secrets}))
        self._prefixes = prefixes_of(opening.model)
        self._name = public(endpoint(opening.url)), opening.model, *self._prefixes, str(calibration.VERSION)
        self._records = VectorStore(file, f"address {_digest(*self._name)}")
        self._known = self._remembered()
        self._verifying = threading.Lock()
        self._is_verified = False
        self.batch = BATCH
        self._format = ""
        self._queries: dict[str, Any] = {}
        self._refusals = 0
        self._change: ChangedError | None = None

    @property
    def identity(self) -> str:
        """A short text that no encoder with other vectors has."""
        return _digest(*self._name, str(self._known.generation))

    @property
    def unrelated(self) -> float:
        """The usual cosine of two texts that have nothing in common; 0.0 before the first answer."""
        return self._known.scale.unrelated

    @property
    def knows_all_languages(self) -> bool:
        """Whether texts in other languages than English are compared as well; false before the first answer."""
        return self._known.scale.knows_all_languages

    def query(self, text: str) -> Any:
        """Return the vector of a query; zeros for one that the model refuses, so that nothing is similar to it.

        Raises:
            EncodingError: it cannot be made now.
        """
        self._verify()
        asked = self._prefixes.query + (text.strip()[:LONGEST_QUERY] or "?")
        if (row := self._queries.get(asked)) is None:
            row = self._queries[asked] = self._numpy.nan_to_num(self._encoded([asked])[0])
            if len(self._queries) > MOST_QUERIES:
                del self._queries[next(iter(self._queries))]
        return row

    def texts(self, texts: Sequence[str]) -> Any:
        """Return the vectors of some texts, as rows; NaN for a text that the model refuses.

        Raises:
            EncodingError: they cannot be made now.
        """
        self._verify()
        return self._numpy.stack(
            self._encoded([self._prefixes.text + (text if text.strip() else "?") for text in texts])
        )

    def close(self) -> None:
        """Close the connections; requests that are under way fail."""
        self._client.close()

    # The model

    def _verify(self) -> None:
        """Compare the model with the one whose vectors are kept, with the first request; measure a new one."""
        with self._verifying:
            if self._change is not None:
                raise self._change
            if self._is_verified:
                return
            first = calibration.texts(*self._prefixes)
            if not self._known.control:
                rows = self._numpy.stack(self._encoded(first))
                if self._numpy.isnan(rows).any():
                    raise EncodingError(self._sentence("answers with vectors that are zero or not finite"))
                self._remember(_Known(self._known.generation, _bytes(rows[0]), calibration.scale(rows)))
            else:
                (row,) = self._encoded(first[:1])
                before = self._numpy.frombuffer(self._known.control, "<f4")
                if len(before) != len(row) or not float(before @ row) >= SAME:
                    raise self._changed()
            self._is_verified = True

    def _changed(self) -> ChangedError:
        """Forget the model, so that the next process gives its vectors another identity; this one must not go on."""
        self._remember(_Known(self._known.generation + 1))
        self._change = ChangedError(
            self._sentence(f"makes other vectors for {self._model} than before, so all are made again")
        )
        return self._change

    def _remembered(self) -> _Known:
        try:
            stored = self._records.read([_RECORD]).get(_RECORD)
            return _Known() if stored is None else payload.typed(stored, _Known)
        except (OSError, sqlite3.Error, ValueError):
            return _Known()  # measured again

    def _remember(self, known: _Known) -> None:
        self._known = known
        with contextlib.suppress(OSError, sqlite3.Error):  # a full disk: measured again by the next process
            self._records.write({_RECORD: payload.encode_bytes(known)})

    # Requests

    def _encoded(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return the vectors of some texts, with further requests if one with all of them is refused."""
        try:
            return [*self._asked(texts)]
        except UnacceptableTextsError as exc:
            if len(texts) == 1:
                return [self._of_refused(texts[0], exc)]
        self._refusals += 1
        before, half = self._refusals, (len(texts) + 1) // 2
        rows = [*self._encoded(texts[:half]), *self._encoded(texts[half:])]
        if self._refusals == before:  # there were too many, and none is refused alone
            self.batch = min(self.batch, half)
        return rows

    def _of_refused(self, text: str, reason: UnacceptableTextsError) -> Any:
        """Return the vector of the beginning of a text that is too long, or NaN if the model refuses that, too."""
        self._refusals += 1
        while len(text) > SHORTEST_TEXT:
            text = text[: len(text) // 2]
            with contextlib.suppress(UnacceptableTextsError):
                return self._asked([text])[0]
        if not self._known.control:
            raise self._failed(reason)
        try:
            (accepted,) = self._asked([calibration.texts(*self._prefixes)[0]])
        except UnacceptableTextsError as exc:
            raise self._failed(exc) from None  # it refuses everything
        return self._numpy.full_like(accepted, self._numpy.nan)

    def _asked(self, texts: Sequence[str]) -> Any:
        """Return the vectors of some texts, with one request."""
        try:
            rows = self._exchanged(texts)
        except UnacceptableTextsError:
            raise
        except EncodingError as exc:
            if len(texts) > 1:  # perhaps too many for the time limit
                self.batch = max(1, self.batch // 2)
            raise self._failed(exc) from None
        known = len(self._known.control) // 4
        if known and rows.shape[1] != known:
            raise self._changed()
        return rows

    def _exchanged(self, texts: Sequence[str]) -> Any:
        reply = self._client.post(embeddings.request(self._model, texts, self._format))
        try:
            return embeddings.rows(reply, len(texts), self._conceal)
        except UnacceptableTextsError as exc:
            if self._format or not exc.wants_format:
                raise
        self._format = "float"
        reply = self._client.post(embeddings.request(self._model, texts, self._format))
        return embeddings.rows(reply, len(texts), self._conceal)

    def _failed(self, exc: EncodingError) -> EncodingError:
        """Return the error with the whole sentence."""
        return EncodingError(self._sentence(str(exc)), exc.pause_seconds)

    def _sentence(self, predicate: str) -> str:
        return f"{self._client.where} {self._conceal(predicate)}"


def _digest(*parts: str) -> str:
    return hashlib.sha256(payload.encode_bytes(parts)).hexdigest()[:32]


def _bytes(row: Any) -> bytes:
    stored: bytes = row.astype("<f4").tobytes()
    return stored
