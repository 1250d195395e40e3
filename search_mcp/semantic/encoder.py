"""Texts to vectors, with a sentence model in a folder; here the models in the ONNX format.

onnxruntime and tokenizers are used directly: a library on top of them (fastembed) takes three times as long to import
and 32 MB more memory, and fetches models by itself. Loaded only by the process that makes vectors.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from search_mcp.files import first_irregular
from search_mcp.semantic import models
from search_mcp.semantic.encoding import ModelEncoder, TextEncoder
from search_mcp.semantic.models import NETWORK, TOKENIZER, WEIGHTS, Model, ModelError, Pooling

THREADS = 1
"""More would compete with the servers, although their priority is low."""

BATCH = 4
"""Texts encoded at once, about 100 ms."""
NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Variable without which onnxruntime, from 1.29 on, sends data about the system and the model to its makers."""


def loaded(folder: Path) -> TextEncoder:
    """Load the model in a folder.

    Raises:
        ModelError: there is none, a library is missing, a file is no model, or another model took its place.
    """
    model = models.read(folder)
    found: TextEncoder
    if WEIGHTS in model.digests:
        from search_mcp.semantic.averaging_encoder import AveragingEncoder

        found = AveragingEncoder(folder, model)
    else:
        found = OnnxEncoder(folder, model)
    if models.read(folder) != model:  # the files may be of both, and the vectors would be kept as those of one
        raise ModelError(f"the model in {folder} was replaced while it was loaded")
    return found


class OnnxEncoder(ModelEncoder):
    """A loaded model: a `TextEncoder`."""

    batch = BATCH

    def __init__(self, folder: Path, model: Model) -> None:
        """Load a model.

        Raises:
            ModelError: a library is missing, or a file is no model.
        """
        super().__init__(model)
        try:
            import numpy

            self._numpy: Any = numpy
            runtime = _runtime()
            import tokenizers
        except ImportError as exc:
            raise ModelError(f"a library for sentence models is missing: {exc}") from exc
        if (irregular := first_irregular((folder / NETWORK, folder / TOKENIZER))) is not None:
            raise ModelError(f"{irregular} is not a regular file")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = THREADS
        options.log_severity_level = 3  # errors only; stderr belongs to search-mcp
        try:
            self._session = runtime.InferenceSession(str(folder / NETWORK), options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as exc:  # both libraries raise their own types, some of them plain Exception
            raise ModelError(f"the model in {folder} cannot be loaded: {exc}") from exc
        self._tokenizer.enable_truncation(model.most_tokens)
        self._tokenizer.enable_padding()
        self._inputs = {given.name for given in self._session.get_inputs()}

    def query(self, text: str) -> Any:
        """Return the vector of a query."""
        return self._encode([self._model.query_prefix + text])[0]

    def texts(self, texts: Sequence[str]) -> Any:
        """Return the vectors of some texts, as rows of 32-bit floats."""
        return self._encode([self._model.text_prefix + text for text in texts])

    def _encode(self, texts: Sequence[str]) -> Any:
        numpy = self._numpy
        tokens = self._tokenizer.encode_batch(list(texts))
        ids = numpy.array([each.ids for each in tokens], numpy.int64)
        mask = numpy.array([each.attention_mask for each in tokens], numpy.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        found = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        if self._model.pooling is Pooling.FIRST:
            vectors = found[:, 0]
        else:
            shown = mask[..., None]
            vectors = (found * shown).sum(1) / numpy.maximum(shown.sum(1), 1)
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / numpy.maximum(lengths, 1e-12)).astype(numpy.float32)


def _runtime() -> Any:
    """Load onnxruntime without its telemetry, which would also keep an identifier of the system in the user's cache."""
    os.environ[NO_TELEMETRY] = "1"  # read once, when the library is loaded
    import onnxruntime as runtime

    runtime.disable_telemetry_events()  # on Windows, the variable has no effect
    return runtime
